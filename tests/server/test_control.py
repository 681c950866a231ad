"""The control API: time, worlds, snapshots, forks, faults, the delivery trace and the report of rate limits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.intents import Intents
from hubbub.server import worlds
from hubbub.server.app import App
from hubbub.server.control import Control
from hubbub.server.core.clock import ControlledClock
from tests.world import NOW_MS, PATIENCE, Actor, Answer, World, small_config

SECOND_MS = 1000


class Rehearsal(World):
    """A world with its control API."""

    def __init__(self, app: App, client: aiohttp.ClientSession, control: Control) -> None:
        super().__init__(app, client)
        self.control = control

    async def ask(self, method: str, path: str, *, token: str | None = None, **options: Any) -> Answer:
        """Call the control API."""
        headers = {"Authorization": f"Bearer {token or self.control.token}", **options.pop("headers", {})}
        return await self.request(method, f"{self.url}/control{path}", headers=headers, **options)

    def actor(self, name: str) -> Actor:
        """Somebody of the worlds loaded."""
        built = self.control.built
        if name in built.users:
            return Actor(self, built.users[name].id, built.users[name].token, name)
        bot = built.applications[name].bot
        assert bot is not None
        return Actor(self, bot.id, bot.token, name, bot=True)


@pytest.fixture
async def rehearsal() -> AsyncIterator[Rehearsal]:
    """The demo world with a clock that stands still."""
    app = App(small_config(rate_limits="report"), clock=ControlledClock(NOW_MS, running=False))
    control = Control(app)
    await app.start()
    control.built = await worlds.begin(app, worlds.demo(), 0)
    async with aiohttp.ClientSession() as client:
        made = Rehearsal(app, client, control)
        yield made
        await made.close()
    await control.close()
    await app.stop()


def general(rehearsal: Rehearsal) -> int:
    """The channel where everybody meets."""
    return rehearsal.control.built.guilds["Town Square"].channels["general"]


async def messages(actor: Actor, channel: int) -> list[str]:
    """What was said, oldest first."""
    return [message["content"] for message in reversed((await actor.get(f"/channels/{channel}/messages")).ok())]


async def test_without_the_token_nobody_comes_in(rehearsal: Rehearsal) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": rehearsal.control.token}):
        answer = await rehearsal.request("GET", f"{rehearsal.url}/control/clock", headers=headers)
        assert (answer.status, answer.json) == (401, {"message": "401: Unauthorized", "code": 0})


async def test_a_platform_that_is_no_rehearsal_has_no_control_api() -> None:
    app = App(small_config(control=False))
    with pytest.raises(ValueError, match="needs a rehearsal"):
        Control(app)


async def test_the_ready_document_can_be_asked_for(rehearsal: Rehearsal) -> None:
    document = (await rehearsal.ask("GET", "")).ok()
    assert document["api"] == rehearsal.api
    assert document["control_token"] == rehearsal.control.token
    assert document["users"]["alice"]["id"] == str(rehearsal.actor("alice").id)


# Time


async def test_the_clock_is_set_advanced_frozen_and_resumed(rehearsal: Rehearsal) -> None:
    assert (await rehearsal.ask("GET", "/clock")).ok()["now_ms"] == NOW_MS
    state = (await rehearsal.ask("POST", "/clock/set", json={"now": "2027-01-01T00:00:00Z"})).ok()
    assert state == {"now": "2027-01-01T00:00:00.000000+00:00", "now_ms": 1_798_761_600_000, "running": False}
    state = (await rehearsal.ask("POST", "/clock/advance", json={"ms": 90 * SECOND_MS})).ok()
    assert state["now"] == "2027-01-01T00:01:30.000000+00:00"
    assert (await rehearsal.ask("POST", "/clock/resume")).ok()["running"]
    assert not (await rehearsal.ask("POST", "/clock/freeze")).ok()["running"]


async def test_the_latest_time_still_has_room_for_ids(rehearsal: Rehearsal) -> None:
    (await rehearsal.ask("POST", "/clock/set", json={"now": "2084-01-01T00:00:00Z"})).ok()
    said = await rehearsal.actor("alice").post(f"/channels/{general(rehearsal)}/messages", json={"content": "late"})
    assert said.ok()["timestamp"].startswith("2084-01-01T00:00:00")


async def test_an_advance_answers_after_the_timers_on_the_way_have_run(rehearsal: Rehearsal) -> None:
    rung: list[int] = []

    async def ring() -> None:
        await asyncio.sleep(0)
        rung.append(rehearsal.clock.now_ms())

    for seconds in (10, 5, 60):
        rehearsal.clock.call_later(seconds * SECOND_MS, ring)

    (await rehearsal.ask("POST", "/clock/advance", json={"ms": 30 * SECOND_MS})).ok()

    assert rung == [NOW_MS + 5 * SECOND_MS, NOW_MS + 10 * SECOND_MS]


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
        ("/faults", {"door": "http", "effect": "explode"}, "effect"),
        ("/faults", {"door": "http", "effect": "status", "status": 200}, "status"),
        ("/faults", {"door": "http", "effect": "drop", "route": "/channels/1/messages"}, "route"),
        ("/faults", {"door": "http", "effect": "drop", "route": "/users/@me", "method": "PUT"}, "method"),
        ("/faults", {"door": "http", "effect": "drop", "method": "FETCH"}, "method"),
    ],
)
async def test_a_wrong_body_is_refused_with_its_path(
    rehearsal: Rehearsal, path: str, body: dict[str, Any], field: str
) -> None:
    answer = await rehearsal.ask("POST", path, json=body)
    assert (answer.status, answer.json["code"]) == (400, 50035)
    assert field in answer.json["errors"]


# Worlds and people


async def test_a_world_is_loaded_into_the_running_platform(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    session = await alice.connect()
    text = '[users.dora]\n[guilds.Yard]\nowner = "dora"\n[guilds.Yard.channels.gate]\n'

    answer = await rehearsal.ask("POST", "/worlds", data=text, headers={"Content-Type": "application/toml"})

    document = answer.ok()
    assert list(document["users"]) == ["dora"]
    dora = rehearsal.actor("dora")
    gate = document["guilds"]["Yard"]["channels"]["gate"]
    assert (await dora.post(f"/channels/{gate}/messages", json={"content": "hi"})).status == 200
    await session.close()


async def test_a_world_may_come_as_json_with_a_seed(rehearsal: Rehearsal) -> None:
    first = await rehearsal.ask("POST", "/worlds?seed=5", json={"users": {"dora": {}}})
    assert first.ok()["users"]["dora"]["token"]
    again = await rehearsal.ask("POST", "/worlds?seed=5", json={"users": {"dora": {}}})
    assert again.status == 400
    assert again.json["errors"]["users"]["dora"]["_errors"][0]["code"] == "WORLD_INVALID"


async def test_a_wrong_world_is_refused_with_the_path_of_its_key(rehearsal: Rehearsal) -> None:
    text = '[users.dora]\n[guilds.Yard]\nowner = "zoe"\n'
    answer = await rehearsal.ask("POST", "/worlds", data=text, headers={"Content-Type": "application/toml"})
    assert (answer.status, answer.json["code"]) == (400, 50035)
    assert "is not a user" in answer.json["errors"]["guilds"]["Yard"]["owner"]["_errors"][0]["message"]


async def test_a_person_is_made_and_gets_further_tokens(rehearsal: Rehearsal) -> None:
    made = (await rehearsal.ask("POST", "/users", json={"username": "dora"})).ok()
    more = (await rehearsal.ask("POST", f"/users/{made['id']}/tokens")).ok()

    assert made["token"] != more["token"]
    for token in (made["token"], more["token"]):
        me = await rehearsal.request("GET", "/users/@me", headers={"Authorization": token})
        assert me.ok()["username"] == "dora"
    login = {"login": "dora", "password": made["password"]}
    assert (await rehearsal.request("POST", "/auth/login", json=login)).status == 200
    assert (await rehearsal.ask("POST", "/users", json={"username": "dora"})).status == 400
    assert (await rehearsal.ask("POST", "/users/1/tokens")).json["code"] == 10013
    assert (await rehearsal.ask("POST", "/users/x/tokens")).status == 400


# Snapshots and forks


async def test_a_restored_world_is_as_it_was(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general(rehearsal)
    await alice.post(f"/channels/{channel}/messages", json={"content": "before"})
    snapshot = (await rehearsal.ask("POST", "/snapshots")).ok()
    await alice.post(f"/channels/{channel}/messages", json={"content": "after"})
    (await rehearsal.ask("POST", "/clock/advance", json={"ms": 3600 * SECOND_MS})).ok()
    late = (await rehearsal.ask("POST", "/users", json={"username": "late"})).ok()
    assert (await rehearsal.request("GET", "/users/@me", headers={"Authorization": late["token"]})).status == 200

    state = (await rehearsal.ask("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    assert state["now_ms"] == NOW_MS
    assert await messages(alice, channel) == ["before"]
    # A token that was made later is unknown again, though it had been remembered.
    assert (await rehearsal.request("GET", "/users/@me", headers={"Authorization": late["token"]})).status == 401
    # What is said now gets ids of its own.
    assert (await alice.post(f"/channels/{channel}/messages", json={"content": "again"})).status == 200
    assert await messages(alice, channel) == ["before", "again"]


async def test_whoever_is_connected_starts_a_new_session_after_a_restore(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    session = await bot.connect()
    snapshot = (await rehearsal.ask("POST", "/snapshots")).ok()

    (await rehearsal.ask("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    assert (await rehearsal.ask("GET", "/sessions")).ok() == []
    await session.close()
    await bot.connect()
    assert [each["user_id"] for each in (await rehearsal.ask("GET", "/sessions")).ok()] == [str(bot.id)]


async def test_nobody_is_in_a_game_after_a_restore(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    game_id = rehearsal.control.built.applications["demo-game"].id
    player = await rehearsal.player(alice, game_id)
    session = await player.connect(Intents.LOBBIES)
    lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    snapshot = (await rehearsal.ask("POST", "/snapshots")).ok()
    await session.close()

    (await rehearsal.ask("POST", f"/snapshots/{snapshot['id']}/restore")).ok()

    (await rehearsal.ask("POST", "/clock/advance", json={"ms": 301 * SECOND_MS})).ok()
    assert rehearsal.app.worker is not None
    await rehearsal.app.worker.run_due()
    (await player.get(f"/lobbies/{lobby_id}/messages")).refused(404, 10031)


async def test_a_fork_goes_its_own_way(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general(rehearsal)
    form = aiohttp.FormData()
    form.add_field("files[0]", b"picture", filename="cat.png", content_type="image/png")
    (await alice.request("POST", f"/channels/{channel}/messages", data=form)).ok()

    fork = (await rehearsal.ask("POST", "/forks", json={})).ok()

    assert fork["api"] != rehearsal.api
    assert fork["users"]["alice"]["token"] == alice.token
    headers = {"Authorization": alice.token}
    there = f"{fork['api']}/channels/{channel}/messages"
    (await rehearsal.request("POST", there, json={"content": "in the fork"}, headers=headers)).ok()
    assert [message["content"] for message in (await rehearsal.request("GET", there, headers=headers)).ok()] == [
        "in the fork",
        "",
    ]
    assert await messages(alice, channel) == [""]
    # The fork's clock is its own, and begins at the same time.
    control = {"Authorization": f"Bearer {fork['control_token']}"}
    moved = await rehearsal.request("POST", f"{fork['control']}/clock/advance", json={"ms": SECOND_MS}, headers=control)
    assert moved.ok()["now_ms"] == NOW_MS + SECOND_MS
    assert rehearsal.clock.now_ms() == NOW_MS
    assert [each["fork_id"] for each in (await rehearsal.ask("GET", "/forks")).ok()] == [fork["fork_id"]]

    assert (await rehearsal.ask("DELETE", f"/forks/{fork['fork_id']}")).status == 204
    with pytest.raises(aiohttp.ClientConnectionError):
        await rehearsal.request("GET", there, headers=headers)
    assert (await rehearsal.ask("DELETE", f"/forks/{fork['fork_id']}")).status == 404


async def test_a_fork_may_begin_at_a_snapshot(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general(rehearsal)
    snapshot = (await rehearsal.ask("POST", "/snapshots")).ok()
    await alice.post(f"/channels/{channel}/messages", json={"content": "later"})

    fork = (await rehearsal.ask("POST", "/forks", json={"snapshot_id": snapshot["id"]})).ok()

    headers = {"Authorization": alice.token}
    assert (await rehearsal.request("GET", f"{fork['api']}/channels/{channel}/messages", headers=headers)).ok() == []
    assert (await rehearsal.ask("DELETE", f"/snapshots/{snapshot['id']}")).status == 204
    assert (await rehearsal.ask("POST", "/forks", json={"snapshot_id": snapshot["id"]})).status == 404
    assert (await rehearsal.ask("GET", "/snapshots")).ok() == []


async def test_a_fork_may_have_another_time_and_other_limits(rehearsal: Rehearsal) -> None:
    wish = {"now": "2031-05-01T12:00:00Z", "rate_limits": "real"}
    fork = (await rehearsal.ask("POST", "/forks", json=wish)).ok()

    control = {"Authorization": f"Bearer {fork['control_token']}"}
    clock = (await rehearsal.request("GET", f"{fork['control']}/clock", headers=control)).ok()
    assert (clock["now"], clock["running"]) == ("2031-05-01T12:00:00.000000+00:00", False)
    limits = (await rehearsal.request("GET", f"{fork['control']}/rate-limits", headers=control)).ok()
    assert limits["mode"] == "real"
    assert (await rehearsal.ask("GET", "/rate-limits")).ok()["mode"] == "report"
    assert rehearsal.clock.now_ms() == NOW_MS
    for field, value in (("now", "1999-01-01T00:00:00Z"), ("rate_limits", "maybe")):
        refused = await rehearsal.ask("POST", "/forks", json={field: value})
        assert (refused.status, list(refused.json["errors"])) == (400, [field])


# Faults


async def test_a_route_answers_with_the_status_asked_for_as_often_as_asked(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general(rehearsal)
    fault = {
        "door": "http",
        "effect": "status",
        "status": 503,
        "method": "POST",
        "route": "/channels/{channel_id}/messages",
        "user_id": str(alice.id),
        "times": 2,
    }
    assert (await rehearsal.ask("POST", "/faults", json=fault)).ok()["waiting"]["left"] == 2

    said = {"content": "hello"}
    assert (await bob.post(f"/channels/{channel}/messages", json=said)).status == 200
    assert (await alice.get(f"/channels/{channel}/messages")).status == 200
    for _ in range(2):
        answer = await alice.post(f"/channels/{channel}/messages", json=said)
        assert (answer.status, answer.json) == (503, {"message": "503: Service Unavailable", "code": 0})
    assert (await alice.post(f"/channels/{channel}/messages", json=said)).status == 200
    assert (await rehearsal.ask("GET", "/faults")).ok() == []


async def test_a_429_is_told_like_a_real_one(rehearsal: Rehearsal) -> None:
    fault = {"door": "http", "effect": "status", "status": 429, "retry_after": 2.5, "scope": "shared"}
    (await rehearsal.ask("POST", "/faults", json=fault)).ok()

    answer = await rehearsal.actor("alice").get("/users/@me")

    assert answer.status == 429
    assert answer.json == {"message": "You are being rate limited.", "retry_after": 2.5, "global": False}
    assert (answer.headers["Retry-After"], answer.headers["X-RateLimit-Scope"]) == ("3", "shared")


async def test_an_answer_dropped_after_the_deed_leaves_the_deed_done(rehearsal: Rehearsal) -> None:
    alice, channel = rehearsal.actor("alice"), general(rehearsal)
    fault = {"door": "http", "effect": "drop", "method": "POST", "moment": "after", "times": None}
    waiting = (await rehearsal.ask("POST", "/faults", json=fault)).ok()["waiting"]

    with pytest.raises(aiohttp.ClientConnectionError):
        await alice.post(f"/channels/{channel}/messages", json={"content": "heard by nobody"})

    assert await messages(alice, channel) == ["heard by nobody"]
    assert (await rehearsal.ask("DELETE", f"/faults/{waiting['id']}")).status == 204
    assert (await alice.post(f"/channels/{channel}/messages", json={"content": "heard"})).status == 200
    assert (await rehearsal.ask("DELETE", f"/faults/{waiting['id']}")).status == 404


async def test_a_session_is_closed_with_the_code_asked_for(rehearsal: Rehearsal) -> None:
    bot, alice = rehearsal.actor("demo-bot"), rehearsal.actor("alice")
    hit, spared = await bot.connect(), await alice.connect()
    fault = {"door": "gateway", "effect": "close", "code": 4009, "user_id": str(bot.id)}

    assert (await rehearsal.ask("POST", "/faults", json=fault)).ok() == {"sessions": 1, "waiting": None}

    await gone(hit)
    assert hit.closed_with == 4009
    assert spared.closed_with is None


async def test_an_identify_can_be_refused(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    fault = {"door": "gateway", "effect": "close", "code": 4008, "moment": "identify"}
    (await rehearsal.ask("POST", "/faults", json=fault)).ok()

    with pytest.raises(AssertionError, match="closed with 4008"):
        await bot.connect()
    assert await bot.connect()


async def test_a_session_can_be_invalidated_cut_and_slowed(rehearsal: Rehearsal) -> None:
    bot, channel = rehearsal.actor("demo-bot"), general(rehearsal)
    session = await bot.connect()
    slow = {"door": "gateway", "effect": "delay", "delay_ms": 50, "session_id": session.ready["session_id"]}
    (await rehearsal.ask("POST", "/faults", json=slow)).ok()
    await bot.post(f"/channels/{channel}/messages", json={"content": "late"})
    assert (await session.next("MESSAGE_CREATE"))["content"] == "late"

    (await rehearsal.ask("POST", "/faults", json={"door": "gateway", "effect": "drop"})).ok()
    await gone(session)
    assert session.closed_with == 1006

    again = await bot.connect()
    (await rehearsal.ask("POST", "/faults", json={"door": "gateway", "effect": "invalid_session"})).ok()
    listed = (await rehearsal.ask("GET", "/sessions")).ok()
    assert again.ready["session_id"] not in {each["session_id"] for each in listed}


async def gone(session: Any) -> None:
    """Wait for the end of a connection."""
    async with asyncio.timeout(PATIENCE):
        await session._task


# What happened


async def test_the_trace_says_who_got_an_event_and_why_others_did_not(rehearsal: Rehearsal) -> None:
    square = rehearsal.control.built.guilds["Town Square"]
    alice, bot = rehearsal.actor("alice"), rehearsal.actor("demo-bot")
    bob = rehearsal.actor("bob")
    owner, person = await alice.connect(), await bob.connect()
    thin = await bot.connect(Intents.GUILDS)
    blind = await bot.connect(Intents.GUILDS | Intents.GUILD_MESSAGES)
    assert not (await rehearsal.ask("GET", "/trace")).ok()["on"]
    (await rehearsal.ask("POST", "/trace", json={"on": True})).ok()

    await alice.post(f"/channels/{square.channels['staff']}/messages", json={"content": "secret"})
    await owner.next("MESSAGE_CREATE")
    await alice.post(f"/channels/{square.channels['general']}/messages", json={"content": "hello"})
    await person.next("MESSAGE_CREATE")

    staff, hall = (await rehearsal.ask("GET", "/trace?event=MESSAGE_CREATE")).ok()["events"]
    assert staff["channel_id"] == str(square.channels["staff"])
    secret = {each["session_id"]: each["outcome"] for each in staff["outcomes"]}
    public = {each["session_id"]: each["outcome"] for each in hall["outcomes"]}
    ids = [session.ready["session_id"] for session in (owner, person, thin, blind)]
    missing = "missing permission: VIEW_CHANNEL in the channel"
    assert [secret[each] for each in ids] == ["delivered", missing, "missing intent: GUILD_MESSAGES", missing]
    assert [public[each] for each in ids] == [
        "delivered",
        "delivered",
        "missing intent: GUILD_MESSAGES",
        "delivered without message content",
    ]
    mine = (await rehearsal.ask("GET", f"/trace?event=MESSAGE_CREATE&user_id={bob.id}&after={staff['number']}")).ok()
    assert [each["outcome"] for event in mine["events"] for each in event["outcomes"]] == ["delivered"]
    assert (await rehearsal.ask("DELETE", "/trace")).status == 204
    assert (await rehearsal.ask("GET", "/trace")).ok()["events"] == []


async def test_the_report_names_calls_that_a_limit_would_have_refused(rehearsal: Rehearsal) -> None:
    alice = rehearsal.actor("alice")
    for _ in range(60):
        assert (await alice.get("/users/@me")).status == 200

    report = (await rehearsal.ask("GET", "/rate-limits")).ok()

    assert report["mode"] == "report"
    assert any(each["scope"] == "global" and each["times"] == 10 for each in report["refusals"])
    assert (await rehearsal.ask("DELETE", "/rate-limits")).status == 204
    assert (await rehearsal.ask("GET", "/rate-limits")).ok()["refusals"] == []


async def test_the_report_names_what_the_gateway_would_have_refused(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    guild_id = rehearsal.control.built.guilds["Town Square"].id
    session = await bot.connect()
    for _ in range(7):
        await session.send(3, {"since": None, "activities": [], "status": "idle", "afk": False})
    for _ in range(2):
        await session.send(8, {"guild_id": str(guild_id), "query": "", "limit": 0})
        await session.next("GUILD_MEMBERS_CHUNK")
    for _ in range(120):
        await session.send(1, None)
    await session.send(8, {"guild_id": str(guild_id), "query": "a", "limit": 1})
    await session.next("GUILD_MEMBERS_CHUNK")

    report = (await rehearsal.ask("GET", "/rate-limits")).ok()

    told = {each["name"]: each for each in report["refusals"] if each["scope"] == "gateway"}
    assert {name: each["caller"] for name, each in told.items()} == {
        "presence updates": str(bot.id),
        "all members": str(bot.id),
        "gateway commands": str(bot.id),
    }
    assert told["presence updates"]["times"] == 2
    assert told["all members"]["major"] == [str(guild_id)]
    assert not any(each["refused"] for each in told.values())


async def test_the_report_names_session_starts_that_would_have_waited(rehearsal: Rehearsal) -> None:
    bot = rehearsal.actor("demo-bot")
    starts = rehearsal.app.gateway.starts
    starts._settings = msgspec.structs.replace(starts._settings, max_concurrency=1)
    for _ in range(2):
        await bot.connect()

    report = (await rehearsal.ask("GET", "/rate-limits")).ok()

    assert [(each["name"], each["times"]) for each in report["refusals"]] == [("identify", 1)]


async def test_a_role_given_to_a_member_shows_them_the_staff_channel(rehearsal: Rehearsal) -> None:
    square = rehearsal.control.built.guilds["Town Square"]
    alice, bob = rehearsal.actor("alice"), rehearsal.actor("bob")
    assert (await bob.get(f"/channels/{square.channels['staff']}")).status == 403

    (await alice.put(f"/guilds/{square.id}/members/{bob.id}/roles/{square.roles['mods']}")).ok()

    assert (await bob.get(f"/channels/{square.channels['staff']}")).status == 200


async def test_refused_calls_are_in_the_trace(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general(rehearsal)
    await bob.post(f"/channels/{channel}/messages", json={"content": ""})
    assert (await rehearsal.ask("POST", "/trace", json={"on": True})).ok()["refused"] == []

    await alice.post(f"/channels/{channel}/messages", json={"content": "fine"})
    await bob.post(f"/channels/{channel}/messages", json={"content": "x" * 2001})
    await rehearsal.request("GET", f"{rehearsal.api}/users/@me", headers={"Authorization": "nobody's"})

    refused = (await rehearsal.ask("GET", "/trace")).ok()["refused"]
    assert [(each["method"], each["route"], each["user_id"], each["status"]) for each in refused] == [
        ("POST", "/channels/{channel_id}/messages", str(bob.id), 400),
        ("GET", "/users/@me", None, 401),
    ]
    assert refused[0]["body"]["errors"]["content"]["_errors"][0]["code"] == "BASE_TYPE_MAX_LENGTH"
    query = f"/trace?user_id={bob.id}&after={refused[0]['number']}"
    assert (await rehearsal.ask("GET", query)).ok()["refused"] == []
    await rehearsal.ask("DELETE", "/trace")
    assert (await rehearsal.ask("GET", "/trace")).ok()["refused"] == []


async def test_closed_connections_are_in_the_trace(rehearsal: Rehearsal) -> None:
    bot, game = rehearsal.actor("demo-bot"), rehearsal.actor("demo-game")
    (await rehearsal.ask("POST", "/trace", json={"on": True})).ok()
    session = await bot.connect()
    fault = {"door": "gateway", "effect": "close", "code": 4001, "user_id": str(bot.id)}
    (await rehearsal.ask("POST", "/faults", json=fault)).ok()
    assert await session.closed() == 4001

    # It has no privileged intents.
    with pytest.raises(AssertionError, match="closed with 4014"):
        await game.connect(Intents.GUILD_MEMBERS)
    bot.token = "nobody's"
    with pytest.raises(AssertionError, match="closed with 4004"):
        await bot.connect()

    closed = (await rehearsal.ask("GET", "/trace")).ok()["closed"]
    assert [(each["user_id"], each["code"]) for each in closed] == [
        (str(bot.id), 4001),
        (str(game.id), 4014),
        (None, 4004),
    ]
    assert closed[0]["reason"] == "Requested by the control API"
    mine = (await rehearsal.ask("GET", f"/trace?user_id={game.id}&after={closed[0]['number']}")).ok()["closed"]
    assert [each["code"] for each in mine] == [4014]


async def test_settling_waits_until_all_is_told(rehearsal: Rehearsal) -> None:
    alice, bob, channel = rehearsal.actor("alice"), rehearsal.actor("bob"), general(rehearsal)
    guild = rehearsal.control.built.guilds["Town Square"]
    session = await bob.connect()
    role = guild.roles["players"]

    # The guild is read anew for the first, and the second waits for that.
    await alice.request("PUT", f"/guilds/{guild.id}/members/{bob.id}/roles/{role}")
    await alice.post(f"/channels/{channel}/messages", json={"content": "hello"})
    assert (await rehearsal.ask("POST", "/settle")).status == 204

    await session.obeyed()
    assert {"GUILD_MEMBER_UPDATE", "MESSAGE_CREATE"} <= set(session.names())
