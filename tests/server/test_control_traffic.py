"""The traffic of a rehearsal: the timeline, secrets, the stream, replays; the world, and access of the console."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents
from hubbub.server.control.secret_masks import MASK
from hubbub.server.core.traffic import Traffic, TrafficContent
from tests.receiver import Receiver, subscribe_to_events
from tests.rehearsal import Rehearsal, start_rehearsal
from tests.world import WAIT_TIMEOUT_SECONDS

CONSOLE_HEADERS = {"X-Hubbub-Console": "1"}


def general_channel_path(rehearsal: Rehearsal, suffix: str = "/messages") -> str:
    """Return a path below the demo guild's general channel."""
    return f"/channels/{rehearsal.control.built_world.guilds['Town Square'].channels['general']}{suffix}"


async def record_traffic(rehearsal: Rehearsal) -> None:
    """Turn on the recording of traffic."""
    (await rehearsal.control_request("POST", "/traffic", json={"on": True})).ok()


async def list_entries(rehearsal: Rehearsal, query: str = "") -> list[dict[str, Any]]:
    (await rehearsal.control_request("POST", "/settle")).ok()
    entries: list[dict[str, Any]] = (await rehearsal.control_request("GET", f"/traffic{query}")).ok()
    return entries


async def find_entry(rehearsal: Rehearsal, summary: str) -> dict[str, Any]:
    """Return the newest entry with this summary."""
    return [entry for entry in await list_entries(rehearsal) if entry["summary"] == summary][-1]


async def fetch_details(rehearsal: Rehearsal, summary: str, query: str = "") -> dict[str, Any]:
    """Return the newest entry with this summary and its payload."""
    entry = await find_entry(rehearsal, summary)
    details: dict[str, Any] = (await rehearsal.control_request("GET", f"/traffic/{entry['id']}{query}")).ok()
    return details


@asynccontextmanager
async def open_stream(rehearsal: Rehearsal, query: str = "", **headers: str) -> AsyncIterator[AsyncIterator[Any]]:
    """Open the stream, and yield an iterator of its events as (ID, data)."""
    headers = {"Authorization": f"Bearer {rehearsal.control.token}", **headers}
    async with (
        aiohttp.ClientSession() as client,
        client.get(f"{rehearsal.url}/control/traffic/stream{query}", headers=headers) as response,
    ):
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/event-stream"

        async def events() -> AsyncIterator[Any]:
            block: dict[str, str] = {}
            async for line in response.content:
                name, _, field_value = line.decode().rstrip("\n").partition(": ")
                if name:
                    block[name] = field_value
                elif "data" in block:
                    yield int(block["id"]), json.loads(block["data"])
                    block = {}

        yield events()


async def read_until(events: AsyncIterator[Any], summary: str) -> tuple[int, list[dict[str, Any]]]:
    """Read events of the stream until an entry has this summary; return the last ID and all entries."""
    entries: list[dict[str, Any]] = []
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        async for event_id, batch in events:
            entries += batch["entries"]
            if any(entry["summary"] == summary for entry in batch["entries"]):
                return event_id, entries
    raise AssertionError(f"the stream ended without {summary}")


# Timeline


async def test_nothing_is_recorded_until_a_reader_requests_it(rehearsal: Rehearsal) -> None:
    (await rehearsal.actor("alice").get("/users/@me")).ok()
    assert await list_entries(rehearsal) == []


async def test_a_request_and_its_event_are_linked(rehearsal: Rehearsal) -> None:
    alice, bob = rehearsal.actor("alice"), rehearsal.actor("bob")
    await bob.connect()
    await record_traffic(rehearsal)

    response = await alice.post(general_channel_path(rehearsal), json={"content": "hello"})

    request = await find_entry(rehearsal, "POST /channels/{channel_id}/messages")
    event = await find_entry(rehearsal, "MESSAGE_CREATE")
    assert request["request_id"] == event["cause"] == response.headers["X-Request-Id"]
    assert (request["kind"], request["direction"], request["status"]) == ("http", "in", 200)
    assert request["user_id"] == str(alice.id)
    assert request["rate_limit"]["remaining"] == request["rate_limit"]["limit"] - 1
    assert (event["kind"], event["direction"], event["delivered"], event["missed"]) == ("gateway", "out", 1, 0)


async def test_the_details_of_an_event_name_recipients_and_reasons(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    await bot.connect(intents=Intents.GUILDS)
    await rehearsal.actor("bob").connect()
    await record_traffic(rehearsal)
    (await rehearsal.actor("alice").post(general_channel_path(rehearsal), json={"content": "hello"})).ok()

    details = await fetch_details(rehearsal, "MESSAGE_CREATE")

    outcomes = {outcome["name"]: outcome["outcome"] for outcome in details["outcomes"]}
    assert outcomes == {"demo-bot": "missing intent: GUILD_MESSAGES", "bob": "delivered"}
    assert json.loads(details["request"]["body"])["content"] == "hello"
    assert "expect(\"MESSAGE_CREATE\", content='hello'" in details["copies"]["python"]


async def test_a_rejected_request_has_its_cause(rehearsal: Rehearsal) -> None:
    await record_traffic(rehearsal)
    staff_channel_id = rehearsal.control.built_world.guilds["Town Square"].channels["staff"]
    (await rehearsal.actor("carol").post(f"/channels/{staff_channel_id}/messages", json={"content": "x"})).rejected(
        403, 50001
    )

    details = await fetch_details(rehearsal, "POST /channels/{channel_id}/messages")

    assert details["cause"] == "carol lacks the permission VIEW_CHANNEL in #staff."
    assert json.loads(details["response"]["body"])["code"] == 50001
    assert "pytest.raises(RequestRejected)" in details["copies"]["python"]
    assert len(await list_entries(rehearsal, "?failed=true")) == 1


async def test_copies_for_javascript_have_the_caller_and_the_status(rehearsal: Rehearsal) -> None:
    summary = "POST /channels/{channel_id}/messages"
    path = general_channel_path(rehearsal)
    await rehearsal.actor("demo-bot").connect(intents=Intents.GUILD_MESSAGES)
    await rehearsal.actor("bob").connect()
    await record_traffic(rehearsal)
    (await rehearsal.actor("alice").post(path, json={"content": "hello"})).ok()
    person_copy = (await fetch_details(rehearsal, summary))["copies"]["javascript"]
    event_copy = (await fetch_details(rehearsal, "MESSAGE_CREATE"))["copies"]["javascript"]
    (await rehearsal.actor("alice").post(path, json={"content": ""})).rejected(400, 50006)
    rejection_copy = (await fetch_details(rehearsal, summary))["copies"]["javascript"]
    (await rehearsal.actor("demo-bot").post(path, json={"content": ""})).rejected(400, 50006)
    bot_copy = (await fetch_details(rehearsal, summary))["copies"]["javascript"]

    assert 'platform.person("alice")' in person_copy
    assert f'await person.request("POST", "{path}", {{"content": "hello"}});' in person_copy
    assert "assert" not in person_copy
    assert 'platform.person("bob")' in event_copy
    assert f'assert.rejects(person.request("POST", "{path}", {{"content": ""}}), {{ status: 400 }});' in rejection_copy
    assert f'test("{summary} is rejected"' in rejection_copy
    assert 'const token = platform.botToken("demo-bot");' in bot_copy
    assert f'await fetch(platform.api + "{path}", {{' in bot_copy
    assert 'body: JSON.stringify({"content": ""}),' in bot_copy
    assert "assert.equal(response.status, 400);" in bot_copy
    assert "platform.person" not in bot_copy


async def test_requests_and_events_have_the_kind_of_their_subject(rehearsal: Rehearsal) -> None:
    alice, bot = rehearsal.actor("alice"), rehearsal.actor("demo-bot")
    session = await bot.connect(intents=Intents.GUILDS)
    application_id = rehearsal.control.built_world.applications["demo-bot"].id
    (await bot.post(f"/applications/{application_id}/commands", json={"name": "go", "description": "Go"})).ok()
    webhook = (await alice.post(general_channel_path(rehearsal, "/webhooks"), json={"name": "hook"})).ok()
    await record_traffic(rehearsal)

    (await alice.post(f"/webhooks/{webhook['id']}/{webhook['token']}?wait=true", json={"content": "x"})).ok()
    running_task = asyncio.create_task(rehearsal.act("alice", "run", channel="general", command="go"))
    interaction = await session.next("INTERACTION_CREATE")
    callback_path = f"/interactions/{interaction['id']}/{interaction['token']}/callback"
    assert (await bot.post(callback_path, json={"type": 4, "data": {"content": "done"}})).status == 204
    (await running_task).ok()
    (await rehearsal.act("alice", "voice/join", channel="Lounge")).ok()

    kinds = {entry["summary"]: entry["kind"] for entry in await list_entries(rehearsal)}
    assert kinds["POST /webhooks/{webhook_id}/{webhook_token}"] == "webhook"
    assert kinds["INTERACTION_CREATE"] == "interaction"
    assert kinds["POST /interactions/{interaction_id}/{interaction_token}/callback"] == "interaction"
    assert kinds["VOICE_STATE_UPDATE"] == "voice"
    voice_entries = await list_entries(rehearsal, "?kinds=voice")
    assert {entry["kind"] for entry in voice_entries} == {"voice"}
    sent_frames = [entry["summary"] for entry in voice_entries if entry["direction"] == "out"]
    assert {"VOICE HELLO", "VOICE READY", "VOICE SESSION_DESCRIPTION"} <= set(sent_frames)
    assert "VOICE HEARTBEAT_ACK" not in sent_frames
    description = await fetch_details(rehearsal, "VOICE SESSION_DESCRIPTION")
    assert json.loads(description["request"]["body"])["secret_key"] == MASK
    assert description["entry"]["user_id"] == str(alice.id)


async def test_webhook_events_that_the_platform_sends_are_recorded() -> None:
    async with start_rehearsal(allow_private_targets=True) as rehearsal, Receiver() as receiver:
        await subscribe_to_events(receiver, rehearsal.actor("demo-game"), "APPLICATION_AUTHORIZED")
        await record_traffic(rehearsal)
        challenge = {"code_challenge": "c" * 43, "code_challenge_method": "S256"}
        (await rehearsal.act("carol", "authorize", application="demo-game", query=challenge)).ok()
        summary = f"POST 127.0.0.1:{receiver.port}"
        # The entry is added when the receiver has responded.
        async with open_stream(rehearsal, "?kinds=webhook") as events:
            await read_until(events, summary)
        details = await fetch_details(rehearsal, summary)
        webhook_entries = await list_entries(rehearsal, "?kinds=webhook")

    entry = details["entry"]
    assert (entry["kind"], entry["direction"], entry["status"]) == ("webhook", "out", 204)
    assert json.loads(details["request"]["body"])["event"]["type"] == "APPLICATION_AUTHORIZED"
    assert [entry["summary"] for entry in webhook_entries] == [summary]


async def test_frames_of_clients_are_recorded_without_heartbeats(rehearsal: Rehearsal) -> None:
    await record_traffic(rehearsal)
    session = await rehearsal.actor("bob").connect()
    await session.send(GatewayOpcode.PRESENCE_UPDATE, {"since": None, "activities": [], "status": "idle", "afk": False})
    await session.wait_processed()

    frames = [
        entry["summary"] for entry in await list_entries(rehearsal, "?kinds=gateway") if entry["direction"] == "in"
    ]

    assert frames == ["IDENTIFY", "PRESENCE_UPDATE"]
    identify = await fetch_details(rehearsal, "IDENTIFY")
    assert json.loads(identify["request"]["body"])["token"] == MASK


async def test_frames_to_one_client_are_recorded(rehearsal: Rehearsal) -> None:
    bob = rehearsal.actor("bob")
    await record_traffic(rehearsal)
    session = await bob.connect()
    (await rehearsal.actor("alice").post(general_channel_path(rehearsal), json={"content": "missed"})).ok()
    fault = {"transport": "gateway", "user_id": str(bob.id), "effect": "invalid_session", "resumable": True}
    (await rehearsal.control_request("POST", "/faults", json=fault)).ok()
    resume = {"token": bob.header, "session_id": session.ready["session_id"], "seq": 1}
    async with rehearsal.client.ws_connect(f"{rehearsal.gateway}?v=10&encoding=json") as socket:
        await socket.send_json({"op": GatewayOpcode.RESUME, "d": resume})
        while (await socket.receive_json())["t"] != "RESUMED":
            pass
        entries = await list_entries(rehearsal, f"?kinds=gateway&user_id={bob.id}")

    sent_entries = [entry for entry in entries if entry["direction"] == "out" and entry["delivered"] is None]
    first_summaries = [entry["summary"] for entry in sent_entries if entry["note"] is None]
    assert first_summaries == ["READY", "GUILD_CREATE", "INVALID_SESSION", "RESUMED"]
    repeated_summaries = [entry["summary"] for entry in sent_entries if entry["note"] == "Sent again after a resume"]
    assert repeated_summaries[0] == "GUILD_CREATE"
    assert "MESSAGE_CREATE" in repeated_summaries
    details = await fetch_details(rehearsal, "READY")
    assert json.loads(details["request"]["body"])["user"]["username"] == "bob"
    assert not details["can_replay"]


async def test_control_requests_are_recorded_except_reads(rehearsal: Rehearsal) -> None:
    await record_traffic(rehearsal)
    (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 1000})).ok()
    (await rehearsal.control_request("GET", "/clock")).ok()

    entries = await list_entries(rehearsal, "?kinds=control&text=CLOCK")

    assert [entry["summary"] for entry in entries] == ["POST /control/clock/advance"]


async def test_entries_can_be_filtered_by_user_and_limited(rehearsal: Rehearsal) -> None:
    alice, bob = rehearsal.actor("alice"), rehearsal.actor("bob")
    await bob.connect()
    await record_traffic(rehearsal)
    for content in ("one", "two"):
        (await alice.post(general_channel_path(rehearsal), json={"content": content})).ok()

    assert {entry["summary"] for entry in await list_entries(rehearsal, f"?user_id={bob.id}")} == {"MESSAGE_CREATE"}
    entries = await list_entries(rehearsal)
    assert await list_entries(rehearsal, f"?after={entries[-2]['id']}") == entries[-1:]
    assert len(await list_entries(rehearsal, "?limit=1")) == 1


def test_the_number_and_the_size_of_entries_are_bounded() -> None:
    traffic = Traffic(lambda: 0, entries_max=3, stored_bytes_max=100)
    for size in (10, 10, 10, 10, 95):
        traffic.add(TrafficContent(body=b"x" * size), kind="http", direction="in", summary=str(size))

    assert [record.entry.id for record in traffic.after(0)] == [5]
    assert traffic.find(4) is None
    assert traffic.find(5) is not None


# Secrets


async def test_secrets_are_masked_unless_they_are_requested(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    await record_traffic(rehearsal)
    webhook = (await alice.post(general_channel_path(rehearsal, "/webhooks"), json={"name": "hook"})).ok()
    path = f"/webhooks/{webhook['id']}/{webhook['token']}"
    (await alice.post(path, json={"content": f"my token is {alice.token}"})).ok()

    created_details = await fetch_details(rehearsal, "POST /channels/{channel_id}/webhooks")
    executed_details = await fetch_details(rehearsal, "POST /webhooks/{webhook_id}/{webhook_token}")
    revealed_details = await fetch_details(rehearsal, "POST /webhooks/{webhook_id}/{webhook_token}", "?reveal=true")

    shown_details = json.dumps([created_details, executed_details])
    assert webhook["token"] not in shown_details
    assert alice.token not in shown_details
    url = f"{rehearsal.api}{general_channel_path(rehearsal, '/webhooks')}"
    assert created_details["copies"]["curl"].startswith('curl -X POST -H "Authorization: $TOKEN" -H ')
    assert created_details["copies"]["curl"].endswith(f"""--data-raw '{{"name":"hook"}}' {url}""")
    assert webhook["token"] in revealed_details["path"]
    assert alice.token in revealed_details["request"]["body"]


# Stream


async def test_the_stream_sends_stored_and_new_entries(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    await record_traffic(rehearsal)
    (await alice.get("/users/@me")).ok()
    async with open_stream(rehearsal) as events:
        await read_until(events, "GET /users/@me")
        (await alice.get("/users/@me/guilds")).ok()
        last_id, _ = await read_until(events, "GET /users/@me/guilds")
    (await alice.get("/users/@me/settings")).ok()

    async with open_stream(rehearsal, **{"Last-Event-ID": str(last_id)}) as events:
        _, entries = await read_until(events, "GET /users/@me/settings")

    assert [entry["summary"] for entry in entries if entry["kind"] == "http"] == ["GET /users/@me/settings"]


async def test_the_stream_applies_filters_on_the_server(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    async with open_stream(rehearsal, "?text=guilds") as events:
        (await alice.get("/users/@me")).ok()
        (await alice.get("/users/@me/guilds")).ok()
        _, entries = await read_until(events, "GET /users/@me/guilds")
    assert len(entries) == 1


async def test_an_open_stream_records_and_names_missed_entries(rehearsal: Rehearsal) -> None:
    traffic = rehearsal.app.trace.traffic
    async with open_stream(rehearsal, "?after=1") as events:
        (await rehearsal.actor("alice").get("/users/@me")).ok()
        await read_until(events, "GET /users/@me")
        assert traffic.is_enabled
    traffic.clear()
    (await rehearsal.actor("alice").get("/users/@me/guilds")).ok()
    async with open_stream(rehearsal, "?after=0") as events:
        _, batch = await anext(events)
    assert batch["missed"] == 1


async def test_the_stream_needs_the_token(rehearsal: Rehearsal) -> None:
    response = await rehearsal.request("GET", f"{rehearsal.url}/control/traffic/stream")
    assert response.status == 401
    response = await rehearsal.control_request("GET", "/traffic/stream?after=x")
    assert response.errors("after")


# Sending again


async def test_a_request_is_sent_again_as_the_same_caller(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    await record_traffic(rehearsal)
    (await alice.post(general_channel_path(rehearsal), json={"content": "again"})).ok()
    entry = await find_entry(rehearsal, "POST /channels/{channel_id}/messages")

    replay_result = (await rehearsal.control_request("POST", f"/traffic/{entry['id']}/replay")).ok()

    assert replay_result == {"status": 200}
    messages = (await alice.get(general_channel_path(rehearsal))).ok()
    assert [message["content"] for message in messages[:2]] == ["again", "again"]
    repeated_entry = await find_entry(rehearsal, "POST /channels/{channel_id}/messages")
    assert repeated_entry["note"] == f"Repeats entry {entry['id']}"


async def test_an_event_is_published_again_to_its_audience(rehearsal: Rehearsal) -> None:
    session = await rehearsal.actor("bob").connect()
    await record_traffic(rehearsal)
    (await rehearsal.actor("alice").post(general_channel_path(rehearsal), json={"content": "twice"})).ok()
    first_event = await session.next("MESSAGE_CREATE")
    entry = await find_entry(rehearsal, "MESSAGE_CREATE")

    assert (await rehearsal.control_request("POST", f"/traffic/{entry['id']}/replay")).ok() == {"status": None}

    assert await session.next("MESSAGE_CREATE") == first_event


async def test_other_entries_cannot_be_sent_again(rehearsal: Rehearsal) -> None:
    await record_traffic(rehearsal)
    (await rehearsal.control_request("POST", "/clock/freeze")).ok()
    entry = await find_entry(rehearsal, "POST /control/clock/freeze")

    (await rehearsal.control_request("POST", f"/traffic/{entry['id']}/replay")).rejected(400, 0)
    (await rehearsal.control_request("POST", "/traffic/999999/replay")).rejected(404, 0)
    (await rehearsal.control_request("GET", "/traffic/latest")).rejected(404, 0)


# World and time


async def test_dated_changes_and_the_world_are_listed_without_tokens(rehearsal: Rehearsal) -> None:
    await rehearsal.actor("alice").connect()
    (await rehearsal.control_request("POST", "/clock/set", json={"now": "2026-01-01T00:00:00Z"})).ok()
    changes = (await rehearsal.control_request("GET", "/changes")).ok()
    world = (await rehearsal.control_request("GET", "/world")).ok()

    assert [change["at_ms"] for change in changes] == sorted(change["at_ms"] for change in changes)
    assert {change["active"] for change in changes} == {True, False}
    users = {user["name"]: user for user in world["users"]}
    assert (users["alice"]["connected"], users["bob"]["connected"], users["demo-bot"]["bot"]) == (True, False, True)
    [guild] = [guild for guild in world["guilds"] if guild["name"] == "Town Square"]
    assert {"general", "staff"} <= {channel["name"] for channel in guild["channels"]}
    assert users["alice"]["id"] in guild["member_ids"]
    assert rehearsal.actor("alice").token not in json.dumps(world)


async def test_snapshots_and_forks_form_a_tree(rehearsal: Rehearsal) -> None:
    first_snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    second_snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    (await rehearsal.control_request("POST", f"/snapshots/{first_snapshot['id']}/restore")).ok()
    third_snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    fork = (await rehearsal.control_request("POST", "/forks", json={"snapshot_id": second_snapshot["id"]})).ok()

    snapshots = (await rehearsal.control_request("GET", "/snapshots")).ok()
    assert [(snapshot["parent_id"], snapshot["current"]) for snapshot in snapshots] == [
        (None, False),
        (first_snapshot["id"], False),
        (first_snapshot["id"], True),
    ]
    assert third_snapshot["parent_id"] == first_snapshot["id"]
    [listed_fork] = (await rehearsal.control_request("GET", "/forks")).ok()
    assert (listed_fork["fork_id"], listed_fork["snapshot_id"]) == (fork["fork_id"], second_snapshot["id"])
    link = (await rehearsal.control_request("POST", f"/forks/{fork['fork_id']}/console-links")).ok()["url"]
    assert link.startswith(f"{fork['web']}/console/open/")


# Access of the console


async def open_console_link(rehearsal: Rehearsal) -> str:
    """Open a new link to the console, and return the cookie that the browser receives."""
    url = (await rehearsal.control_request("POST", "/console-links")).ok()["url"]
    response = await rehearsal.request("GET", url, allow_redirects=False)
    assert (response.status, response.headers["Location"]) == (303, "/console")
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    return str(cookie.partition(";")[0])


async def test_a_link_opens_the_console_once(rehearsal: Rehearsal) -> None:
    url = (await rehearsal.control_request("POST", "/console-links")).ok()["url"]
    first_response = await rehearsal.request("GET", url, allow_redirects=False)
    second_response = await rehearsal.request("GET", url, allow_redirects=False)
    assert (first_response.status, second_response.status) == (303, 403)
    assert b"already been used" in second_response.body

    cookie = first_response.headers["Set-Cookie"].partition(";")[0]
    page = await rehearsal.request("GET", f"{rehearsal.url}/console", headers={"Cookie": cookie})
    assert page.status == 200
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert rehearsal.control.token.encode() not in page.body


async def test_the_console_asks_for_the_control_token(rehearsal: Rehearsal) -> None:
    url = f"{rehearsal.url}/console"
    assert (await rehearsal.request("GET", url)).status == 403
    rejected_response = await rehearsal.request("POST", url, data={"token": "wrong"}, allow_redirects=False)
    accepted_response = await rehearsal.request(
        "POST", url, data={"token": rehearsal.control.token}, allow_redirects=False
    )
    cross_site_response = await rehearsal.request(
        "POST", url, data={"token": rehearsal.control.token}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert (rejected_response.status, accepted_response.status, cross_site_response.status) == (403, 303, 403)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (CONSOLE_HEADERS, 200),
        ({}, 401),
        ({**CONSOLE_HEADERS, "Sec-Fetch-Site": "cross-site"}, 401),
        ({**CONSOLE_HEADERS, "Origin": "https://evil.example"}, 401),
        ({**CONSOLE_HEADERS, "Authorization": "Bearer wrong"}, 401),
    ],
)
async def test_the_cookie_works_only_for_pages_of_the_console(
    rehearsal: Rehearsal, headers: dict[str, str], status: int
) -> None:
    cookie = await open_console_link(rehearsal)
    response = await rehearsal.request("GET", f"{rehearsal.url}/control/clock", headers={"Cookie": cookie, **headers})
    assert response.status == status


async def test_a_window_logs_in_as_its_user_on_a_host_of_its_own(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/people/zoe/windows")).rejected(404, 0)
    url = (await rehearsal.control_request("POST", "/people/alice/windows")).ok()["url"]
    port = rehearsal.url.rpartition(":")[2]
    host = f"alice.people.localhost:{port}"
    assert url.startswith(f"http://{host}/console/open/")
    path = url.partition(host)[2]

    response = await rehearsal.request("GET", rehearsal.url + path, headers={"Host": host}, allow_redirects=False)

    assert (response.status, response.headers["Location"]) == (303, "/app")
    token = response.headers["Set-Cookie"].partition(";")[0].partition("=")[2]
    me = await rehearsal.request("GET", f"{rehearsal.api}/users/@me", headers={"Authorization": token})
    assert me.ok()["username"] == "alice"
    # Only the page at the name above may frame the chat client, and only on the names of users.
    headers = {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}
    page = await rehearsal.request("GET", f"{rehearsal.url}/app", headers={**headers, "Host": host})
    assert f"frame-ancestors http://people.localhost:{port};" in page.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in page.headers
    other_page = await rehearsal.request("GET", f"{rehearsal.url}/app", headers=headers)
    assert "frame-ancestors 'none'" in other_page.headers["Content-Security-Policy"]
    assert other_page.headers["X-Frame-Options"] == "DENY"


async def test_only_windows_of_users_are_shown_side_by_side(rehearsal: Rehearsal) -> None:
    page_url = f"{rehearsal.url}/console/side-by-side"
    urls = [
        (await rehearsal.control_request("POST", f"/people/{name}/windows")).ok()["url"] for name in ("alice", "bob")
    ]
    response = await rehearsal.request("GET", page_url, params={"left": urls[0], "right": urls[1]})
    assert response.status == 200
    assert all(url.encode() in response.body for url in urls)
    for url in ("", "https://evil.example/", urls[0].replace("people.localhost", "evil.example"), f"{urls[0]}?x"):
        response = await rehearsal.request("GET", page_url, params={"left": url, "right": urls[1]})
        assert response.status == 403
