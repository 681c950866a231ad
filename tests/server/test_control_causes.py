"""The causes of rejected requests: missing permissions, the role hierarchy and unknown interactions."""

import json
from typing import Any

import pytest

from hubbub.server import worlds
from hubbub.server.control.causes import GENERAL_CAUSES
from tests.rehearsal import Rehearsal, start_rehearsal

WORLD: dict[str, Any] = {
    "users": {"alice": {}, "bob": {}, "carol": {}, "dora": {}},
    "applications": {"helper": {}},
    "guilds": {
        "Town": {
            "owner": "alice",
            "members": {"bob": {"roles": ["chiefs"]}, "carol": {}},
            "bots": {"helper": {"roles": ["helpers"]}},
            "roles": {
                "chiefs": {},
                "helpers": {"permissions": ["MANAGE_ROLES", "KICK_MEMBERS", "VIEW_CHANNEL"]},
                "players": {},
            },
            "channels": {
                "general": {
                    "overwrites": {"@everyone": {"deny": ["SEND_MESSAGES"]}, "chiefs": {"allow": ["BAN_MEMBERS"]}}
                },
                "staff": {"overwrites": {"@everyone": {"deny": ["VIEW_CHANNEL"]}}},
            },
        }
    },
}
"""A guild whose bot is below the chiefs and above the players."""
MODERATION = "KICK_MEMBERS and BAN_MEMBERS and MODERATE_MEMBERS"


@pytest.mark.parametrize(
    ("caller", "method", "path", "body", "cause"),
    [
        (
            "helper",
            "PUT",
            "/guilds/{guild}/members/{carol}/roles/{chiefs}",
            None,
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to give to carol.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{bob}/roles/{chiefs}",
            None,
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to remove from bob.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/roles/{chiefs}",
            None,
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to change.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{bob}",
            None,
            "The highest role of helper, helpers, is not above the highest role of bob, chiefs.",
        ),
        (
            "helper",
            "DELETE",
            "/guilds/{guild}/members/{alice}",
            None,
            "alice owns the guild, so no other member can moderate alice.",
        ),
        (
            "helper",
            "PUT",
            "/guilds/{guild}/bans/{carol}",
            None,
            "helper lacks the permission BAN_MEMBERS in Town.",
        ),
        (
            "carol",
            "POST",
            "/channels/{general}/messages",
            {"content": "hello"},
            "carol lacks the permission SEND_MESSAGES in #general.",
        ),
        (
            "carol",
            "POST",
            "/channels/{staff}/messages",
            {"content": "hello"},
            "carol lacks the permission VIEW_CHANNEL in #staff.",
        ),
        ("dora", "POST", "/channels/{general}/messages", {"content": "hello"}, "dora is not a member of Town."),
        ("dora", "GET", "/guilds/{guild}/channels", None, "dora is not a member of Town."),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/members/{carol}",
            {"roles": ["{chiefs}"]},
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to give to carol.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/members/{bob}",
            {"roles": []},
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to remove from bob.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/members/{carol}",
            {"nick": "C"},
            "helper lacks the permission MANAGE_NICKNAMES in Town.",
        ),
        (
            "carol",
            "PATCH",
            "/guilds/{guild}/members/{bob}",
            {"flags": 4},
            f"carol lacks the permissions MANAGE_GUILD or MANAGE_ROLES or {MODERATION} in Town.",
        ),
        (
            "helper",
            "POST",
            "/guilds/{guild}/roles",
            {"name": "new", "permissions": "6"},
            "helper lacks the permission BAN_MEMBERS in Town, so helper cannot change such permissions of a role.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/roles",
            [{"id": "{chiefs}", "position": 1}],
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to move.",
        ),
        (
            "helper",
            "PATCH",
            "/guilds/{guild}/roles",
            [{"id": "{players}", "position": 3}],
            "The highest role of helper, helpers, is not above the role chiefs, which helper tried to move.",
        ),
        (
            "helper",
            "PUT",
            "/channels/{general}/permissions/{players}",
            {"type": 0, "allow": "4"},
            "helper lacks the permission BAN_MEMBERS in #general, so helper cannot change such permissions in an overwrite.",
        ),
        (
            "helper",
            "PUT",
            "/channels/{general}/permissions/{players}",
            {"type": 0, "deny": "268435456"},
            "helper is not an administrator, and only administrators can change MANAGE_ROLES in an overwrite.",
        ),
        (
            "helper",
            "DELETE",
            "/channels/{general}/permissions/{chiefs}",
            None,
            "helper lacks the permission BAN_MEMBERS in #general, so helper cannot change such permissions in an overwrite.",
        ),
        ("bob", "DELETE", "/guilds/{guild}", None, "bob does not own the guild."),
    ],
)
async def test_a_rejected_request_is_explained(caller: str, method: str, path: str, body: Any, cause: str) -> None:
    async with start_rehearsal(worlds.read_mapping(WORLD)) as rehearsal:
        (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
        (await rehearsal.control_request("POST", "/traffic", json={"on": True})).ok()
        built_world = rehearsal.control.built_world
        guild = built_world.guilds["Town"]
        user_ids = {name: user.id for name, user in built_world.users.items()}
        ids = {"guild": guild.id, **guild.channels, **guild.roles, **user_ids}
        text = json.dumps(body)
        for name, object_id in ids.items():
            text = text.replace(f"{{{name}}}", str(object_id))
        response = await rehearsal.actor(caller).request(method, path.format(**ids), json=json.loads(text))

        assert response.status == 403
        [rejected_requests] = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
        assert rejected_requests["cause"] == cause
        [entry] = [
            entry for entry in (await rehearsal.control_request("GET", "/traffic")).ok() if entry["status"] == 403
        ]
        assert (await rehearsal.control_request("GET", f"/traffic/{entry['id']}")).ok()["cause"] == cause
        if caller == "helper":
            findings = (await rehearsal.control_request("GET", "/report")).ok()["findings"]
            [finding] = [finding for finding in findings if finding["rule"] == "missing_permission"]
            assert finding["message"].endswith(f" was rejected: {cause}")


async def test_the_error_of_a_person_contains_the_cause(rehearsal: Rehearsal) -> None:
    response = await rehearsal.act("bob", "say", channel="staff", content="let me in")
    assert response.json["cause"] == "bob lacks the permission VIEW_CHANNEL in #staff."
    assert response.json["message"].endswith("\n  bob lacks the permission VIEW_CHANNEL in #staff.")


async def test_a_missing_event_names_rejected_requests_of_bots() -> None:
    async with start_rehearsal(worlds.read_mapping(WORLD)) as rehearsal:
        (await rehearsal.act("carol", "connect")).ok()
        guild, carol_id = rehearsal.control.built_world.guilds["Town"], rehearsal.actor("carol").id
        path = f"/guilds/{guild.id}/members/{carol_id}"
        (await rehearsal.actor("helper").patch(path, json={"roles": [str(int(guild.roles["chiefs"]))]})).rejected(
            403, 50013
        )

        response = await rehearsal.act("carol", "expect", event="GUILD_MEMBER_UPDATE", timeout_ms=1)

        assert response.status == 409
        assert (
            "helper PATCH /guilds/{guild_id}/members/{user_id} was rejected with 403: The highest role of helper, helpers, is "
            "not above the role chiefs, which helper tried to give to carol."
        ) in response.json["message"]


async def test_a_response_to_an_unknown_interaction_is_explained(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
    bot = rehearsal.actor("demo-bot")
    assert (await bot.post("/interactions/1/unknown/callback", json={"type": 5})).json["code"] == 10062
    [rejected_requests] = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
    assert rejected_requests["cause"] == GENERAL_CAUSES[10062]
    # The token of the interaction is not part of the trace.
    assert rejected_requests["parameters"] == {"interaction_id": "1"}
