"""The control API: time, worlds, users, snapshots, forks, faults, trace, rate limit report and mail."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.intents import Intents
from hubbub.server.app import App
from hubbub.server.control import ControlApi
from tests.rehearsal import Rehearsal, start_rehearsal
from tests.world import NOW_MS, WAIT_TIMEOUT_SECONDS, Actor, small_config

SECOND_MS = 1000


def general_channel_id(rehearsal: Rehearsal) -> int:
    """Return the ID of the demo guild's general channel."""
    return rehearsal.control.built_world.guilds["Town Square"].channels["general"]


async def list_message_contents(actor: Actor, channel_id: int) -> list[str]:
    """Return the message contents of a channel, oldest first."""
    return [message["content"] for message in reversed((await actor.get(f"/channels/{channel_id}/messages")).ok())]


async def test_requests_without_the_token_are_unauthorized(rehearsal: Rehearsal) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": rehearsal.control.token}):
        response = await rehearsal.request("GET", f"{rehearsal.url}/control/clock", headers=headers)
        assert (response.status, response.json) == (401, {"message": "401: Unauthorized", "code": 0})


async def test_the_control_api_requires_a_rehearsal() -> None:
    app = App(small_config(control=False))
    with pytest.raises(ValueError, match="needs a rehearsal"):
        ControlApi(app)


async def test_the_ready_document_is_returned(rehearsal: Rehearsal) -> None:
    document = (await rehearsal.control_request("GET", "")).ok()
    assert document["api"] == rehearsal.api
    assert document["control_token"] == rehearsal.control.token
    assert document["users"]["alice"]["id"] == str(rehearsal.actor("alice").id)


# Time


async def test_the_clock_is_set_advanced_frozen_and_resumed(rehearsal: Rehearsal) -> None:
    assert (await rehearsal.control_request("GET", "/clock")).ok()["now_ms"] == NOW_MS
    clock_state = (await rehearsal.control_request("POST", "/clock/set", json={"now": "2027-01-01T00:00:00Z"})).ok()
    assert clock_state == {"now": "2027-01-01T00:00:00.000000+00:00", "now_ms": 1_798_761_600_000, "running": False}
    clock_state = (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 90 * SECOND_MS})).ok()
    assert clock_state["now"] == "2027-01-01T00:01:30.000000+00:00"
    assert (await rehearsal.control_request("POST", "/clock/resume")).ok()["running"]
    assert not (await rehearsal.control_request("POST", "/clock/freeze")).ok()["running"]


async def test_ids_can_be_created_at_the_latest_time(rehearsal: Rehearsal) -> None:
    (await rehearsal.control_request("POST", "/clock/set", json={"now": "2084-01-01T00:00:00Z"})).ok()
    message = await rehearsal.actor("alice").post(
        f"/channels/{general_channel_id(rehearsal)}/messages", json={"content": "late"}
    )
    assert message.ok()["timestamp"].startswith("2084-01-01T00:00:00")


async def test_an_advance_returns_after_its_timers_have_run(rehearsal: Rehearsal) -> None:
    fired_at_ms: list[int] = []

    async def on_timer() -> None:
        await asyncio.sleep(0)
        fired_at_ms.append(rehearsal.clock.now_ms())

    for seconds in (10, 5, 60):
        rehearsal.clock.call_later(seconds * SECOND_MS, on_timer)

    (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 30 * SECOND_MS})).ok()

    assert fired_at_ms == [NOW_MS + 5 * SECOND_MS, NOW_MS + 10 * SECOND_MS]


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/clock/set", {}, "now"),
        ("/clock/set", {"now": "yesterday"}, "now"),
        ("/clock/set", {"now": "2014-12-31T23:59:59Z"}, "now"),
        ("/clock/set", {"now": "9999-12-31T00:00:00Z"}, "now"),
        ("/clock/advance", {"ms": 90 * 366 * 86_400 * SECOND_MS}, "ms"),
        ("/clock/advance", {"ms": -1}, "ms"),
        ("/clock/advance", {"ms": "soon"}, "ms"),
        ("/users", {}, "username"),
        ("/faults", {"transport": "http", "effect": "explode"}, "effect"),
        ("/faults", {"transport": "http", "effect": "status", "status": 200}, "status"),
        ("/faults", {"transport": "http", "effect": "drop", "route": "/channels/1/messages"}, "route"),
        ("/faults", {"transport": "http", "effect": "drop", "route": "/users/@me", "method": "PUT"}, "method"),
        ("/faults", {"transport": "http", "effect": "drop", "method": "FETCH"}, "method"),
    ],
)
async def test_an_invalid_body_is_rejected_with_its_path(
    rehearsal: Rehearsal, path: str, body: dict[str, Any], field: str
) -> None:
    response = await rehearsal.control_request("POST", path, json=body)
    assert (response.status, response.json["code"]) == (400, 50035)
    assert field in response.json["errors"]


# Worlds and users


async def test_a_world_is_loaded_into_the_running_server(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    session = await alice.connect()
    world_toml = '[users.dora]\n[guilds.Yard]\nowner = "dora"\n[guilds.Yard.channels.gate]\n'

    response = await rehearsal.control_request(
        "POST", "/worlds", data=world_toml, headers={"Content-Type": "application/toml"}
    )

    document = response.ok()
    assert list(document["users"]) == ["dora"]
    dora = rehearsal.actor("dora")
    channel_id = document["guilds"]["Yard"]["channels"]["gate"]
    assert (await dora.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).status == 200
    await session.close()


async def test_a_world_can_be_loaded_as_json_with_a_seed(rehearsal: Rehearsal) -> None:
    first_response = await rehearsal.control_request("POST", "/worlds?seed=5", json={"users": {"dora": {}}})
    assert first_response.ok()["users"]["dora"]["token"]
    second_response = await rehearsal.control_request("POST", "/worlds?seed=5", json={"users": {"dora": {}}})
    assert second_response.status == 400
    assert second_response.json["errors"]["users"]["dora"]["_errors"][0]["code"] == "WORLD_INVALID"


async def test_an_invalid_world_is_rejected_with_the_path_of_its_key(rehearsal: Rehearsal) -> None:
    world_toml = '[users.dora]\n[guilds.Yard]\nowner = "zoe"\n'
    response = await rehearsal.control_request(
        "POST", "/worlds", data=world_toml, headers={"Content-Type": "application/toml"}
    )
    assert (response.status, response.json["code"]) == (400, 50035)
    assert "is not a user" in response.json["errors"]["guilds"]["Yard"]["owner"]["_errors"][0]["message"]


async def test_a_user_is_created_and_gets_further_tokens(rehearsal: Rehearsal) -> None:
    user = (await rehearsal.control_request("POST", "/users", json={"username": "dora"})).ok()
    second_token = (await rehearsal.control_request("POST", f"/users/{user['id']}/tokens")).ok()

    assert user["token"] != second_token["token"]
    for token in (user["token"], second_token["token"]):
        me = await rehearsal.request("GET", "/users/@me", headers={"Authorization": token})
        assert me.ok()["username"] == "dora"
    login = {"login": "dora", "password": user["password"]}
    assert (await rehearsal.request("POST", "/auth/login", json=login)).status == 200
    assert (await rehearsal.control_request("POST", "/users", json={"username": "dora"})).status == 400
    assert (await rehearsal.control_request("POST", "/users/1/tokens")).json["code"] == 10013
    assert (await rehearsal.control_request("POST", "/users/x/tokens")).status == 400


# Snapshots and forks


async def test_restoring_a_snapshot_restores_messages_tokens_and_time(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general_channel_id(rehearsal)
    await alice.post(f"/channels/{channel}/messages", json={"content": "before"})
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    await alice.post(f"/channels/{channel}/messages", json={"content": "after"})
    (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 3600 * SECOND_MS})).ok()
    new_user = (await rehearsal.control_request("POST", "/users", json={"username": "late"})).ok()
    assert (await rehearsal.request("GET", "/users/@me", headers={"Authorization": new_user["token"]})).status == 200

    clock_state = (await rehearsal.control_request("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    assert clock_state["now_ms"] == NOW_MS
    assert await list_message_contents(alice, channel) == ["before"]
    # A token issued after the snapshot is unknown again, although it was cached.
    assert (await rehearsal.request("GET", "/users/@me", headers={"Authorization": new_user["token"]})).status == 401
    # New messages get new IDs.
    assert (await alice.post(f"/channels/{channel}/messages", json={"content": "again"})).status == 200
    assert await list_message_contents(alice, channel) == ["before", "again"]


async def test_a_restore_ends_all_gateway_sessions(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    session = await bot.connect()
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()

    (await rehearsal.control_request("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    assert (await rehearsal.control_request("GET", "/sessions")).ok() == []
    await session.close()
    await bot.connect()
    assert [entry["user_id"] for entry in (await rehearsal.control_request("GET", "/sessions")).ok()] == [str(bot.id)]


async def test_a_restore_disconnects_players_from_lobbies(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    game_id = rehearsal.control.built_world.applications["demo-game"].id
    player = await rehearsal.bearer(alice, game_id)
    session = await player.connect(Intents.LOBBIES)
    lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    await session.close()

    (await rehearsal.control_request("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    (await rehearsal.control_request("POST", "/clock/advance", json={"ms": 301 * SECOND_MS})).ok()
    assert rehearsal.app.worker is not None
    await rehearsal.app.worker.run_due()
    (await player.get(f"/lobbies/{lobby_id}/messages")).rejected(404, 10031)


async def test_a_fork_is_independent(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general_channel_id(rehearsal)
    form = aiohttp.FormData()
    form.add_field("files[0]", b"picture", filename="cat.png", content_type="image/png")
    (await alice.request("POST", f"/channels/{channel}/messages", data=form)).ok()

    fork = (await rehearsal.control_request("POST", "/forks", json={})).ok()

    assert fork["api"] != rehearsal.api
    assert fork["users"]["alice"]["token"] == alice.token
    headers = {"Authorization": alice.token}
    fork_path = f"{fork['api']}/channels/{channel}/messages"
    (await rehearsal.request("POST", fork_path, json={"content": "in the fork"}, headers=headers)).ok()
    assert [message["content"] for message in (await rehearsal.request("GET", fork_path, headers=headers)).ok()] == [
        "in the fork",
        "",
    ]
    assert await list_message_contents(alice, channel) == [""]
    # The fork has its own clock, which starts at the same time.
    control = {"Authorization": f"Bearer {fork['control_token']}"}
    response = await rehearsal.request(
        "POST", f"{fork['control']}/clock/advance", json={"ms": SECOND_MS}, headers=control
    )
    assert response.ok()["now_ms"] == NOW_MS + SECOND_MS
    assert rehearsal.clock.now_ms() == NOW_MS
    assert [entry["fork_id"] for entry in (await rehearsal.control_request("GET", "/forks")).ok()] == [fork["fork_id"]]

    assert (await rehearsal.control_request("DELETE", f"/forks/{fork['fork_id']}")).status == 204
    with pytest.raises(aiohttp.ClientConnectionError):
        await rehearsal.request("GET", fork_path, headers=headers)
    assert (await rehearsal.control_request("DELETE", f"/forks/{fork['fork_id']}")).status == 404


async def test_forks_use_the_ports_that_are_reachable(unused_tcp_port_factory: Callable[[], int]) -> None:
    port = unused_tcp_port_factory()
    async with start_rehearsal(fork_ports=f"{port}-{port}") as rehearsal:
        fork = (await rehearsal.control_request("POST", "/forks", json={})).ok()
        assert fork["web"] == f"http://127.0.0.1:{port}"
        headers = {"Authorization": f"Bearer {fork['control_token']}"}
        (await rehearsal.request("GET", f"{fork['control']}/clock", headers=headers)).ok()

        response = await rehearsal.control_request("POST", "/forks", json={})
        assert (
            response.rejected(400, 0)["message"]
            == f"All ports of --fork-ports {port}-{port} are in use; close a fork first"
        )
        assert (await rehearsal.control_request("DELETE", f"/forks/{fork['fork_id']}")).status == 204
        (await rehearsal.control_request("POST", "/forks", json={})).ok()


async def test_a_fork_can_start_from_a_snapshot(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general_channel_id(rehearsal)
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    await alice.post(f"/channels/{channel}/messages", json={"content": "later"})

    fork = (await rehearsal.control_request("POST", "/forks", json={"snapshot_id": snapshot["id"]})).ok()

    headers = {"Authorization": alice.token}
    assert (await rehearsal.request("GET", f"{fork['api']}/channels/{channel}/messages", headers=headers)).ok() == []
    assert (await rehearsal.control_request("DELETE", f"/snapshots/{snapshot['id']}")).status == 204
    assert (await rehearsal.control_request("POST", "/forks", json={"snapshot_id": snapshot["id"]})).status == 404
    assert (await rehearsal.control_request("GET", "/snapshots")).ok() == []


async def test_a_fork_can_start_with_its_trace_enabled(rehearsal: Rehearsal) -> None:
    for options, is_enabled in (({}, False), ({"trace": True}, True)):
        fork = (await rehearsal.control_request("POST", "/forks", json=options)).ok()
        control = {"Authorization": f"Bearer {fork['control_token']}"}

        trace = (await rehearsal.request("GET", f"{fork['control']}/trace", headers=control)).ok()

        assert (trace["on"], trace["events"]) == (is_enabled, [])


async def test_a_fork_can_have_its_own_time_and_rate_limits(rehearsal: Rehearsal) -> None:
    options = {"now": "2031-05-01T12:00:00Z", "rate_limits": "real"}
    fork = (await rehearsal.control_request("POST", "/forks", json=options)).ok()

    control = {"Authorization": f"Bearer {fork['control_token']}"}
    clock = (await rehearsal.request("GET", f"{fork['control']}/clock", headers=control)).ok()
    assert (clock["now"], clock["running"]) == ("2031-05-01T12:00:00.000000+00:00", False)
    limits = (await rehearsal.request("GET", f"{fork['control']}/rate-limits", headers=control)).ok()
    assert limits["mode"] == "real"
    assert (await rehearsal.control_request("GET", "/rate-limits")).ok()["mode"] == "report"
    assert rehearsal.clock.now_ms() == NOW_MS
    for field, value in (("now", "1999-01-01T00:00:00Z"), ("rate_limits", "maybe")):
        rejected_response = await rehearsal.control_request("POST", "/forks", json={field: value})
        assert (rejected_response.status, list(rejected_response.json["errors"])) == (400, [field])


# Faults


async def test_a_status_fault_applies_to_its_route_and_user_a_number_of_times(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general_channel_id(rehearsal)
    fault = {
        "transport": "http",
        "effect": "status",
        "status": 503,
        "method": "POST",
        "route": "/channels/{channel_id}/messages",
        "user_id": str(alice.id),
        "times": 2,
    }
    assert (await rehearsal.control_request("POST", "/faults", json=fault)).ok()["active_fault"][
        "remaining_occurrences"
    ] == 2

    body = {"content": "hello"}
    assert (await bob.post(f"/channels/{channel}/messages", json=body)).status == 200
    assert (await alice.get(f"/channels/{channel}/messages")).status == 200
    for _ in range(2):
        response = await alice.post(f"/channels/{channel}/messages", json=body)
        assert (response.status, response.json) == (503, {"message": "503: Service Unavailable", "code": 0})
    assert (await alice.post(f"/channels/{channel}/messages", json=body)).status == 200
    assert (await rehearsal.control_request("GET", "/faults")).ok() == []


async def test_a_429_fault_looks_like_a_real_rate_limit(rehearsal: Rehearsal) -> None:
    fault = {"transport": "http", "effect": "status", "status": 429, "retry_after": 2.5, "scope": "shared"}
    (await rehearsal.control_request("POST", "/faults", json=fault)).ok()

    response = await rehearsal.actor("alice").get("/users/@me")

    assert response.status == 429
    assert response.json == {"message": "You are being rate limited.", "retry_after": 2.5, "global": False}
    assert (response.headers["Retry-After"], response.headers["X-RateLimit-Scope"]) == ("3", "shared")


async def test_a_response_dropped_after_the_operation_keeps_its_effect(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general_channel_id(rehearsal)
    fault = {"transport": "http", "effect": "drop", "method": "POST", "moment": "after", "times": None}
    active_fault = (await rehearsal.control_request("POST", "/faults", json=fault)).ok()["active_fault"]

    with pytest.raises(aiohttp.ClientConnectionError):
        await alice.post(f"/channels/{channel}/messages", json={"content": "without a response"})

    assert await list_message_contents(alice, channel) == ["without a response"]
    assert (await rehearsal.control_request("DELETE", f"/faults/{active_fault['id']}")).status == 204
    assert (await alice.post(f"/channels/{channel}/messages", json={"content": "with a response"})).status == 200
    assert (await rehearsal.control_request("DELETE", f"/faults/{active_fault['id']}")).status == 404


async def test_a_close_fault_closes_the_session_with_its_code(rehearsal: Rehearsal) -> None:
    bot, alice = rehearsal.actor("demo-bot"), rehearsal.actor("alice")
    bot_session, alice_session = await bot.connect(), await alice.connect()
    fault = {"transport": "gateway", "effect": "close", "code": 4009, "user_id": str(bot.id)}

    assert (await rehearsal.control_request("POST", "/faults", json=fault)).ok() == {
        "affected_sessions": 1,
        "active_fault": None,
    }

    await wait_until_closed(bot_session)
    assert bot_session.close_code == CloseCode.SESSION_TIMED_OUT
    assert alice_session.close_code is None


async def test_a_fault_can_reject_identify(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    fault = {"transport": "gateway", "effect": "close", "code": 4008, "moment": "identify"}
    (await rehearsal.control_request("POST", "/faults", json=fault)).ok()

    with pytest.raises(AssertionError, match="closed with 4008"):
        await bot.connect()
    assert await bot.connect()


async def test_faults_can_delay_drop_and_invalidate_a_session(rehearsal: Rehearsal) -> None:
    bot, channel = rehearsal.actor("demo-bot"), general_channel_id(rehearsal)
    session = await bot.connect()
    delay_fault = {"transport": "gateway", "effect": "delay", "delay_ms": 50, "session_id": session.ready["session_id"]}
    (await rehearsal.control_request("POST", "/faults", json=delay_fault)).ok()
    await bot.post(f"/channels/{channel}/messages", json={"content": "late"})
    assert (await session.next("MESSAGE_CREATE"))["content"] == "late"

    (await rehearsal.control_request("POST", "/faults", json={"transport": "gateway", "effect": "drop"})).ok()
    await wait_until_closed(session)
    assert session.close_code == 1006

    reconnected_session = await bot.connect()
    (
        await rehearsal.control_request("POST", "/faults", json={"transport": "gateway", "effect": "invalid_session"})
    ).ok()
    sessions = (await rehearsal.control_request("GET", "/sessions")).ok()
    assert reconnected_session.ready["session_id"] not in {entry["session_id"] for entry in sessions}


async def wait_until_closed(session: Any) -> None:
    """Wait until the session's connection is closed."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        await session._task


# Trace and reports


async def test_the_trace_lists_recipients_and_reasons_for_non_delivery(rehearsal: Rehearsal) -> None:
    guild = rehearsal.control.built_world.guilds["Town Square"]
    alice, bot = rehearsal.actor("alice"), rehearsal.actor("demo-bot")
    bob = rehearsal.actor("bob")
    owner_session, bob_session = await alice.connect(), await bob.connect()
    guilds_only_session = await bot.connect(Intents.GUILDS)
    contentless_session = await bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    assert not (await rehearsal.control_request("GET", "/trace")).ok()["on"]
    (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()

    await alice.post(f"/channels/{guild.channels['staff']}/messages", json={"content": "secret"})
    await owner_session.next("MESSAGE_CREATE")
    await alice.post(f"/channels/{guild.channels['general']}/messages", json={"content": "hello"})
    await bob_session.next("MESSAGE_CREATE")

    staff_event, public_event = (await rehearsal.control_request("GET", "/trace?event=MESSAGE_CREATE")).ok()["events"]
    assert staff_event["channel_id"] == str(guild.channels["staff"])
    staff_outcomes = {outcome["session_id"]: outcome["outcome"] for outcome in staff_event["outcomes"]}
    public_outcomes = {outcome["session_id"]: outcome["outcome"] for outcome in public_event["outcomes"]}
    session_ids = [
        session.ready["session_id"]
        for session in (owner_session, bob_session, guilds_only_session, contentless_session)
    ]
    missing_permission = "missing permission: VIEW_CHANNEL in the channel"
    assert [staff_outcomes[session_id] for session_id in session_ids] == [
        "delivered",
        missing_permission,
        "missing intent: GUILD_MESSAGES",
        missing_permission,
    ]
    assert [public_outcomes[session_id] for session_id in session_ids] == [
        "delivered",
        "delivered",
        "missing intent: GUILD_MESSAGES",
        "delivered without message content",
    ]
    bob_trace = (
        await rehearsal.control_request(
            "GET", f"/trace?event=MESSAGE_CREATE&user_id={bob.id}&after={staff_event['number']}"
        )
    ).ok()
    assert [outcome["outcome"] for event in bob_trace["events"] for outcome in event["outcomes"]] == ["delivered"]
    assert (await rehearsal.control_request("DELETE", "/trace")).status == 204
    assert (await rehearsal.control_request("GET", "/trace")).ok()["events"] == []


async def test_the_report_lists_requests_that_a_limit_would_have_rejected(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    # The global limit is 50 requests per second.
    for _ in range(60):
        assert (await alice.get("/users/@me")).status == 200

    report = (await rehearsal.control_request("GET", "/rate-limits")).ok()

    assert report["mode"] == "report"
    assert any(hit["scope"] == "global" and hit["times"] == 10 for hit in report["refusals"])
    assert (await rehearsal.control_request("DELETE", "/rate-limits")).status == 204
    assert (await rehearsal.control_request("GET", "/rate-limits")).ok()["refusals"] == []


async def test_the_report_lists_gateway_commands_over_the_limit(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    guild_id = rehearsal.control.built_world.guilds["Town Square"].id
    session = await bot.connect()
    for _ in range(7):
        await session.send(
            GatewayOpcode.PRESENCE_UPDATE, {"since": None, "activities": [], "status": "idle", "afk": False}
        )
    for _ in range(2):
        await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(guild_id), "query": "", "limit": 0})
        await session.next("GUILD_MEMBERS_CHUNK")
    for _ in range(120):
        await session.send(GatewayOpcode.HEARTBEAT, None)
    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, {"guild_id": str(guild_id), "query": "a", "limit": 1})
    await session.next("GUILD_MEMBERS_CHUNK")

    report = (await rehearsal.control_request("GET", "/rate-limits")).ok()

    hits_by_name = {hit["name"]: hit for hit in report["refusals"] if hit["scope"] == "gateway"}
    assert {name: hit["caller"] for name, hit in hits_by_name.items()} == {
        "presence updates": str(bot.id),
        "all members": str(bot.id),
        "gateway commands": str(bot.id),
    }
    assert hits_by_name["presence updates"]["times"] == 2
    assert hits_by_name["all members"]["major"] == [str(guild_id)]
    assert not any(hit["refused"] for hit in hits_by_name.values())


async def test_the_report_lists_session_starts_that_would_have_waited(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    starts = rehearsal.app.gateway.session_starts
    starts._settings = msgspec.structs.replace(starts._settings, max_concurrency=1)
    for _ in range(2):
        await bot.connect()

    report = (await rehearsal.control_request("GET", "/rate-limits")).ok()

    assert [(hit["name"], hit["times"]) for hit in report["refusals"]] == [("identify", 1)]


async def test_the_moderator_role_of_the_demo_world_gives_access_to_the_staff_channel(rehearsal: Rehearsal) -> None:
    guild = rehearsal.control.built_world.guilds["Town Square"]
    alice, bob = rehearsal.actor("alice"), rehearsal.actor("bob")
    assert (await bob.get(f"/channels/{guild.channels['staff']}")).status == 403

    (await alice.put(f"/guilds/{guild.id}/members/{bob.id}/roles/{guild.roles['mods']}")).ok()

    assert (await bob.get(f"/channels/{guild.channels['staff']}")).status == 200


async def test_the_trace_contains_rejected_requests(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general_channel_id(rehearsal)
    await bob.post(f"/channels/{channel}/messages", json={"content": ""})
    assert (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()["refused"] == []

    await alice.post(f"/channels/{channel}/messages", json={"content": "fine"})
    await bob.post(f"/channels/{channel}/messages", json={"content": "x" * 2001})
    await rehearsal.request("GET", f"{rehearsal.api}/users/@me", headers={"Authorization": "unknown"})

    rejected_requests = (await rehearsal.control_request("GET", "/trace")).ok()["refused"]
    assert [
        (request["method"], request["route"], request["user_id"], request["status"]) for request in rejected_requests
    ] == [
        ("POST", "/channels/{channel_id}/messages", str(bob.id), 400),
        ("GET", "/users/@me", None, 401),
    ]
    assert rejected_requests[0]["body"]["errors"]["content"]["_errors"][0]["code"] == "BASE_TYPE_MAX_LENGTH"
    trace_path = f"/trace?user_id={bob.id}&after={rejected_requests[0]['number']}"
    assert (await rehearsal.control_request("GET", trace_path)).ok()["refused"] == []
    await rehearsal.control_request("DELETE", "/trace")
    assert (await rehearsal.control_request("GET", "/trace")).ok()["refused"] == []


async def test_the_trace_contains_closed_connections(rehearsal: Rehearsal) -> None:
    bot, game = rehearsal.actor("demo-bot"), rehearsal.actor("demo-game")
    (await rehearsal.control_request("POST", "/trace", json={"on": True})).ok()
    session = await bot.connect()
    fault = {"transport": "gateway", "effect": "close", "code": 4001, "user_id": str(bot.id)}
    (await rehearsal.control_request("POST", "/faults", json=fault)).ok()
    assert await session.wait_closed() == CloseCode.UNKNOWN_OPCODE

    # The demo game has no privileged intents.
    with pytest.raises(AssertionError, match="closed with 4014"):
        await game.connect(Intents.GUILD_MEMBERS)
    bot.token = "unknown"
    with pytest.raises(AssertionError, match="closed with 4004"):
        await bot.connect()

    closures = (await rehearsal.control_request("GET", "/trace")).ok()["closed"]
    assert [(closure["user_id"], closure["code"]) for closure in closures] == [
        (str(bot.id), 4001),
        (str(game.id), 4014),
        (None, 4004),
    ]
    assert closures[0]["reason"] == "Requested by the control API"
    game_closures = (
        await rehearsal.control_request("GET", f"/trace?user_id={game.id}&after={closures[0]['number']}")
    ).ok()["closed"]
    assert [closure["code"] for closure in game_closures] == [4014]
    assert "privileged intents that the bot requested: " in game_closures[0]["cause"]


# Delivery and mail


async def test_settle_waits_until_all_events_are_delivered(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general_channel_id(rehearsal)
    guild = rehearsal.control.built_world.guilds["Town Square"]
    session = await bob.connect()
    role_id = guild.roles["players"]

    # The first event makes the gateway reload the guild, and the second waits for that.
    await alice.request("PUT", f"/guilds/{guild.id}/members/{bob.id}/roles/{role_id}")
    await alice.post(f"/channels/{channel}/messages", json={"content": "hello"})
    assert (await rehearsal.control_request("POST", "/settle")).status == 204

    await session.wait_processed()
    assert {"GUILD_MEMBER_UPDATE", "MESSAGE_CREATE"} <= set(session.unread_names())


async def test_mail_is_listed_cleared_and_part_of_snapshots(rehearsal: Rehearsal) -> None:
    body = {"username": "mary", "password": "correct horse", "email": "mary@example.org"}
    (await rehearsal.request("POST", "/auth/register", json=body)).ok()

    (mail,) = (await rehearsal.control_request("GET", "/mail")).ok()

    assert (mail["id"], mail["to"]) == (1, "mary@example.org")
    assert "/confirm-email?token=" in mail["text"]
    assert (await rehearsal.control_request("GET", "/mail?to=bob@example.org")).ok() == []
    assert len((await rehearsal.control_request("GET", "/mail?to=Mary@example.org")).ok()) == 1
    snapshot = (await rehearsal.control_request("POST", "/snapshots")).ok()
    (await rehearsal.control_request("DELETE", "/mail")).ok()
    assert (await rehearsal.control_request("GET", "/mail")).ok() == []
    (await rehearsal.control_request("POST", f"/snapshots/{snapshot['id']}/restore")).ok()
    assert (await rehearsal.control_request("GET", "/mail")).ok() == [mail]
    (await rehearsal.control_request("GET", "/mail", token="wrong")).rejected(401, 0)
