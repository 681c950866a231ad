"""The report of a rehearsal: rate limits, deprecated routes, permissions, intents, responses and upcoming changes."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hubbub.protocol.control.report import LintFinding
from hubbub.protocol.intents import Intents
from hubbub.server import worlds
from hubbub.server.control.lint import format_report
from hubbub.server.control.secret_masks import MASK
from tests.rehearsal import Rehearsal, start_rehearsal

WORLD = """
[users.ann]
[applications.helper]
redirect_uris = ["http://127.0.0.1:3000/callback"]
intents = ["MESSAGE_CONTENT"]
[guilds.Home]
owner = "ann"
bots = { helper = { permissions = ["MANAGE_WEBHOOKS"] } }
[guilds.Home.channels.hall]
[guilds.Home.channels.attic]
overwrites = { "@everyone" = { deny = ["VIEW_CHANNEL"] } }
"""


@pytest.fixture
async def rehearsal() -> AsyncIterator[Rehearsal]:
    """A rehearsal with one bot and an enabled trace."""
    async with start_rehearsal(worlds.read_text(WORLD)) as rehearsal:
        (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
        yield rehearsal


async def find_findings(rehearsal: Rehearsal, rule: str) -> list[dict[str, Any]]:
    """Return the findings of one rule."""
    report = (await rehearsal.control_request("GET", "/report")).ok()
    return [finding for finding in report["findings"] if finding["rule"] == rule]


def channel_path(rehearsal: Rehearsal, name: str) -> str:
    return f"/channels/{rehearsal.control.built_world.guilds['Home'].channels[name]}"


async def test_requests_over_a_rate_limit_are_reported(rehearsal: Rehearsal) -> None:
    helper = rehearsal.actor("helper")
    for number in range(7):
        (await helper.post(f"{channel_path(rehearsal, 'hall')}/messages", json={"content": str(number)})).ok()

    [finding] = await find_findings(rehearsal, "rate_limit")

    assert (finding["application"], finding["times"]) == ("helper", 2)
    assert "create_message (user) would have rejected requests" in finding["message"]


async def test_rate_limits_of_webhooks_and_interactions_are_reported(rehearsal: Rehearsal) -> None:
    helper, ann = rehearsal.actor("helper"), rehearsal.actor("ann")
    session = await helper.connect(intents=Intents.GUILDS)
    application_id = rehearsal.control.built_world.applications["helper"].id
    (await helper.post(f"/applications/{application_id}/commands", json={"name": "go", "description": "Go"})).ok()
    running_task = asyncio.create_task(rehearsal.act("ann", "run", channel="hall", command="go"))
    interaction = await session.next("INTERACTION_CREATE")
    callback_path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    assert (await helper.post(callback_path, json={"type": 4, "data": {"content": "done"}})).status == 204
    (await running_task).ok()
    path = f"{channel_path(rehearsal, 'hall')}/webhooks"
    webhook_of_bot = (await helper.post(path, json={"name": "of the bot"})).ok()
    webhook_of_user = (await ann.post(path, json={"name": "of the user"})).ok()
    tokens_by_id = {
        application_id: interaction["token"],
        webhook_of_bot["id"]: webhook_of_bot["token"],
        webhook_of_user["id"]: webhook_of_user["token"],
    }
    for webhook_id, token in tokens_by_id.items():
        for number in range(6):
            url = f"{rehearsal.api}/webhooks/{webhook_id}/{token}?wait=true"
            (await rehearsal.request("POST", url, json={"content": str(number)})).ok()

    findings = await find_findings(rehearsal, "rate_limit")

    assert {(finding["application"], finding["times"]) for finding in findings} == {("helper", 2), (None, 1)}
    assert all("execute_webhook (user) would have rejected" in finding["message"] for finding in findings)
    report = (await rehearsal.control_request("GET", "/rate-limits")).ok()
    assert [hit["major"] for hit in report["refusals"]] == [[str(webhook_id), MASK] for webhook_id in tokens_by_id]


async def test_rate_limits_of_access_tokens_are_reported(rehearsal: Rehearsal) -> None:
    application = rehearsal.control.built_world.applications["helper"]
    grant = (await rehearsal.act("ann", "authorize", application="helper", scopes=["identify"])).ok()
    form = {
        "grant_type": "authorization_code",
        "code": grant["parameters"]["code"],
        "redirect_uri": grant["redirect_uri"],
        "client_id": str(application.id),
        "client_secret": application.client_secret,
    }
    tokens = (await rehearsal.request("POST", f"{rehearsal.api}/oauth2/token", data=form)).ok()
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    for _ in range(6):
        (await rehearsal.request("GET", f"{rehearsal.api}/oauth2/@me", headers=headers)).ok()

    [finding] = await find_findings(rehearsal, "rate_limit")

    assert (finding["application"], finding["times"]) == ("helper", 1)


async def test_requests_of_users_are_not_reported(rehearsal: Rehearsal) -> None:
    ann = rehearsal.actor("ann")
    for _ in range(12):
        (await ann.get(f"{channel_path(rehearsal, 'hall')}/pins")).ok()
    assert await find_findings(rehearsal, "rate_limit") == await find_findings(rehearsal, "deprecated_route") == []


async def test_deprecated_routes_are_reported_with_their_replacement(rehearsal: Rehearsal) -> None:
    helper = rehearsal.actor("helper")
    for _ in range(2):
        (await helper.get(f"{channel_path(rehearsal, 'hall')}/pins")).ok()
    (await helper.get(f"{channel_path(rehearsal, 'hall')}/messages/pins")).ok()

    assert await find_findings(rehearsal, "deprecated_route") == [
        {
            "rule": "deprecated_route",
            "application": "helper",
            "message": "GET /channels/{channel_id}/pins is deprecated; use `list_pins`.",
            "times": 2,
            "date": None,
            "intents": [],
        }
    ]


async def test_missing_permissions_are_reported_with_their_cause(rehearsal: Rehearsal) -> None:
    helper = rehearsal.actor("helper")
    for _ in range(2):
        response = await helper.post(f"{channel_path(rehearsal, 'attic')}/messages", json={"content": "x"})
        assert response.status == 403

    [finding] = await find_findings(rehearsal, "missing_permission")

    assert finding["times"] == 2
    assert "helper lacks the permission VIEW_CHANNEL in #attic" in finding["message"]


async def test_unused_intents_are_reported(rehearsal: Rehearsal) -> None:
    intents = Intents.GUILDS | Intents.GUILD_MESSAGES | Intents.MESSAGE_CONTENT | Intents.GUILD_INVITES
    session = await rehearsal.actor("helper").connect(intents=intents)
    message = "No event was delivered for these requested intents: "
    [finding] = await find_findings(rehearsal, "unused_intent")
    assert set(finding["message"].removeprefix(message).rstrip(".").split(", ")) == {
        "GUILD_INVITES",
        "GUILD_MESSAGES",
        "MESSAGE_CONTENT",
    }

    (await rehearsal.actor("ann").post(f"{channel_path(rehearsal, 'hall')}/messages", json={"content": "x"})).ok()
    await session.next("MESSAGE_CREATE")

    [finding] = await find_findings(rehearsal, "unused_intent")
    assert finding["message"] == f"{message}GUILD_INVITES."


async def test_events_without_a_following_request_are_reported(rehearsal: Rehearsal) -> None:
    helper = rehearsal.actor("helper")
    session = await helper.connect(intents=Intents.GUILD_MESSAGES | Intents.GUILD_MESSAGE_TYPING)
    assert await find_findings(rehearsal, "ignored_event") == []
    hall = channel_path(rehearsal, "hall")
    ann = rehearsal.actor("ann")
    (await ann.post(f"{hall}/typing")).ok()
    await session.next("TYPING_START")

    [finding] = await find_findings(rehearsal, "ignored_event")
    assert finding["application"] == "helper"
    assert finding["message"].endswith("do not request their intents: TYPING_START (1).")

    (await helper.get(f"{hall}/messages")).ok()
    assert await find_findings(rehearsal, "ignored_event") == []

    for content in ("x", "y"):
        (await ann.post(f"{hall}/messages", json={"content": content})).ok()
        await session.next("MESSAGE_CREATE")
    [finding] = await find_findings(rehearsal, "ignored_event")
    assert finding["message"].endswith(": MESSAGE_CREATE (2).")
    assert finding["times"] == 2


async def test_late_and_missing_responses_are_reported(rehearsal: Rehearsal) -> None:
    helper = rehearsal.actor("helper")
    session = await helper.connect(intents=Intents.GUILDS)
    application_id = rehearsal.control.built_world.applications["helper"].id
    commands = f"/applications/{application_id}/commands"
    (await helper.post(commands, json={"name": "wait", "description": "Wait"})).ok()
    running_task = asyncio.create_task(rehearsal.act("ann", "run", channel="hall", command="wait"))
    interaction = await session.next("INTERACTION_CREATE")
    (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 10_000})).ok()
    assert (await running_task).status == 409
    callback_path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    assert (await helper.post(callback_path, json={"type": 4, "data": {"content": "late"}})).status == 404

    [late_finding], [missing_finding] = (
        await find_findings(rehearsal, "late_response"),
        await find_findings(rehearsal, "missing_response"),
    )

    assert late_finding["application"] == "helper"
    assert "defer the response" in late_finding["message"]
    assert (missing_finding["application"], missing_finding["times"]) == ("helper", 1)
    assert missing_finding["message"] == "The command wait was not answered in time, or the answer was invalid."


async def test_upcoming_changes_are_reported_by_date(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/clock/set", json={"now": "2026-02-20T00:00:00Z"})).ok()
    assert await find_findings(rehearsal, "dated_change") == []
    helper = rehearsal.actor("helper")
    await helper.connect(intents=Intents.GUILDS)
    (await helper.post(f"{channel_path(rehearsal, 'hall')}/messages", json={"content": 'a "poll": b'})).ok()
    (await rehearsal.actor("ann").get(f"/guilds/{rehearsal.control.built_world.guilds['Home'].id}/invites")).ok()

    findings = await find_findings(rehearsal, "dated_change")

    assert [(finding["date"][:10], finding["application"]) for finding in findings] == [
        ("2026-02-23", "helper"),
        ("2026-11-16", "helper"),
    ]
    assert findings[0]["message"].startswith("From 2026-02-23: Pinning, bypassing slowmode")
    assert findings[0]["message"].endswith("The program used: POST /channels/{channel_id}/messages.")
    assert findings[1]["message"].endswith("The program used: intent GUILDS.")


async def test_clearing_the_trace_clears_the_report(rehearsal: Rehearsal) -> None:
    (await rehearsal.actor("helper").get(f"{channel_path(rehearsal, 'hall')}/pins")).ok()
    (await rehearsal.control_request("DELETE", "/trace")).ok()
    assert await find_findings(rehearsal, "deprecated_route") == []


def test_the_text_has_one_line_for_each_finding() -> None:
    findings = [
        LintFinding(rule="rate_limit", application="helper", message="Slow down.", times=3),
        LintFinding(rule="missing_response", message="No answer."),
    ]
    assert format_report(findings).splitlines() == [
        "Report of the rehearsal:",
        "  rate_limit: helper: Slow down. (3 times)",
        "  missing_response: No answer.",
    ]
    assert "No problems were found." in format_report([])
