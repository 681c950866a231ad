"""The gateway handshake: Hello, Identify, READY, the guilds, and every way to be rejected."""

import asyncio
import json
from typing import Any

import pytest

from hubbub.protocol.enums import CloseCode
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.server.core.auth import ACTOR_CHANGED, ActorChanged
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.transports.gateway.sessions import SESSIONS_PER_USER_MAX
from tests.server.transports.gateway.harness import BOT_INTENTS, GUILD, Client, GuildRow, Platform, sample_guild


async def test_hello_comes_first_with_all_four_keys(platform: Platform) -> None:
    client = await platform.connect(hello=False)
    hello = await client.receive()
    assert hello == {"op": 10, "s": None, "t": None, "d": {"heartbeat_interval": 41250, "_trace": []}}


async def test_ready_and_guilds_are_numbered_from_one(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.connect()
    ready = await client.identify(platform.bot(5))
    created = await client.until("GUILD_CREATE")
    assert [payload["s"] for payload in client.received] == [1, 2]
    assert ready["v"] == 10
    assert ready["user"]["id"] == "5"
    assert ready["guilds"] == [{"id": str(GUILD), "unavailable": True}]
    assert ready["resume_gateway_url"].endswith("/gateway")
    assert ready["application"] == {"id": "5", "flags": 565248, "flags_new": "565248"}
    assert ready["private_channels"] == []
    assert len(ready["session_id"]) == 32
    assert "shard" not in ready
    assert created["unavailable"] is False
    assert created["name"] == "Town Square"
    assert created["member_count"] == 1
    assert created["large"] is False
    assert [channel["name"] for channel in created["channels"]] == ["general", "staff"]
    for key in ("members", "presences", "voice_states", "stage_instances", "soundboard_sounds"):
        assert created[key] == []


@pytest.mark.parametrize("prefix", ["", "Bot "])
async def test_a_token_may_have_its_prefix(platform: Platform, prefix: str) -> None:
    client = await platform.connect()
    await client.identify(prefix + platform.bot(5))


async def test_binary_frames_and_unknown_keys_are_accepted(platform: Platform) -> None:
    client = await platform.connect()
    body = {"token": platform.bot(5), "intents": 0, "properties": {}, "more": 1, "compress": "no"}
    await client.socket.send_bytes(json.dumps({"op": 2, "d": body, "extra": True}).encode())
    assert await client.until("READY")


async def test_without_the_guilds_intent_no_guild_create_is_sent(platform: Platform) -> None:
    await platform.guild(sample_guild(), {5: []})
    client = await platform.connect()
    ready = await client.identify(platform.bot(5), intents=Intents.GUILD_MESSAGES)
    assert len(ready["guilds"]) == 1
    await platform.settle()
    await platform.message(10, "hello")
    assert await client.events() == ["READY", "MESSAGE_CREATE"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?v=5&encoding=json", CloseCode.INVALID_API_VERSION),
        ("?v=11", CloseCode.INVALID_API_VERSION),
        ("?v=x", CloseCode.INVALID_API_VERSION),
        ("?v=10&encoding=etf", CloseCode.DECODE_ERROR),
        ("?v=10&encoding=xml", CloseCode.DECODE_ERROR),
        ("?v=10&compress=brotli", CloseCode.DECODE_ERROR),
    ],
)
async def test_a_bad_query_closes_the_connection(platform: Platform, query: str, code: int) -> None:
    client = await platform.connect(query=platform.url + query, hello=False)
    assert await client.closed() == code


@pytest.mark.parametrize("query", ["", "?v=9", "?v=10", "?v=8&encoding=json"])
async def test_good_queries_receive_hello(platform: Platform, query: str) -> None:
    client = await platform.connect(query=platform.url + query)
    ready = await client.identify(platform.bot(5))
    assert ready["v"] == int(query[3:].split("&")[0] or 10)


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"token": "wrong"}, CloseCode.AUTHENTICATION_FAILED),
        ({"token": "Bearer bot-5-0"}, CloseCode.AUTHENTICATION_FAILED),
        ({"token": 5}, CloseCode.DECODE_ERROR),
        ({"intents": ...}, CloseCode.INVALID_INTENTS),
        ({"intents": 1 << 40}, CloseCode.INVALID_INTENTS),
        ({"intents": -1}, CloseCode.INVALID_INTENTS),
        ({"intents": Intents.LOBBIES}, CloseCode.INVALID_INTENTS),
        ({"intents": "all"}, CloseCode.DECODE_ERROR),
        ({"shard": [1, 1]}, CloseCode.INVALID_SHARD),
        ({"shard": [-1, 1]}, CloseCode.INVALID_SHARD),
        ({"shard": [0, 0]}, CloseCode.INVALID_SHARD),
        ({"shard": [0]}, CloseCode.INVALID_SHARD),
        ({"presence": {"status": 1}}, CloseCode.DECODE_ERROR),
    ],
)
async def test_an_invalid_identify_closes_the_connection(platform: Platform, more: dict[str, Any], code: int) -> None:
    token = platform.bot(5)
    client = await platform.connect()
    await client.send_identify(**({"token": token} | more))
    assert await client.closed() == code


@pytest.mark.parametrize(
    ("intent", "flag"),
    [
        (Intents.GUILD_MEMBERS, ApplicationFlags.GATEWAY_GUILD_MEMBERS),
        (Intents.GUILD_PRESENCES, ApplicationFlags.GATEWAY_PRESENCE_LIMITED),
        (Intents.MESSAGE_CONTENT, ApplicationFlags.GATEWAY_MESSAGE_CONTENT),
    ],
)
async def test_privileged_intents_must_be_enabled(platform: Platform, intent: int, flag: int) -> None:
    rejected = await platform.connect()
    await rejected.send_identify(platform.bot(5, flags=0), intents=intent)
    assert await rejected.closed() == CloseCode.DISALLOWED_INTENTS
    accepted = await platform.connect()
    await accepted.identify(platform.bot(6, flags=flag), intents=intent)


async def test_users_need_no_intents_and_oauth2_tokens_need_scopes(platform: Platform) -> None:
    user = await platform.connect()
    ready = await user.identify(platform.user(1), intents=...)
    assert "application" not in ready
    accepted = await platform.connect()
    await accepted.identify("Bearer " + platform.user(2, "bearer", frozenset({"identify", "gateway.connect"})))
    rejected = await platform.connect()
    await rejected.send_identify(platform.user(3, "bearer", frozenset({"identify"})))
    assert await rejected.closed() == CloseCode.AUTHENTICATION_FAILED


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ('{"op": 3, "d": {"status": "online"}}', CloseCode.NOT_AUTHENTICATED),
        ('{"op": 99}', CloseCode.NOT_AUTHENTICATED),
        ("{", CloseCode.DECODE_ERROR),
        ("[]", CloseCode.DECODE_ERROR),
        ('{"op": "1"}', CloseCode.DECODE_ERROR),
        ('{"d": 1}', CloseCode.DECODE_ERROR),
        ('{"op": 1, "d": "x"}', CloseCode.DECODE_ERROR),
        ('{"op": 6, "d": {}}', CloseCode.DECODE_ERROR),
        ("[" * 5000, CloseCode.DECODE_ERROR),
        (" " * 16_000, CloseCode.DECODE_ERROR),
    ],
)
async def test_bad_frames_before_identify_close_the_connection(platform: Platform, frame: str, code: int) -> None:
    client = await platform.connect()
    await client.socket.send_str(frame)
    assert await client.closed() == code


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"op": 99}, CloseCode.UNKNOWN_OPCODE),
        ({"op": 14, "d": {}}, CloseCode.UNKNOWN_OPCODE),
        ({"op": 0, "d": {}}, CloseCode.UNKNOWN_OPCODE),
        ({"op": 2, "d": {"token": "x"}}, CloseCode.ALREADY_AUTHENTICATED),
        ({"op": 6, "d": {"token": "x", "session_id": "x", "seq": 0}}, CloseCode.ALREADY_AUTHENTICATED),
        ({"op": 3, "d": {"status": 7}}, CloseCode.DECODE_ERROR),
        ({"op": 8, "d": {"guild_id": {}}}, CloseCode.DECODE_ERROR),
    ],
)
async def test_bad_frames_after_identify_close_the_connection(
    platform: Platform, frame: dict[str, Any], code: int
) -> None:
    client = await platform.session(platform.bot(5), guilds=0)
    await client.socket.send_str(json.dumps(frame))
    assert await client.closed() == code


async def test_a_heartbeat_is_answered_at_any_time(platform: Platform) -> None:
    client = await platform.connect()
    await client.send(1, None)
    assert await client.opcode(11) == {"op": 11, "d": None, "s": None, "t": None}


async def test_more_than_120_frames_in_a_minute_close_the_connection(platform: Platform) -> None:
    client = await platform.connect()
    for _ in range(121):
        await client.send(1, None)
    assert await client.closed() == CloseCode.RATE_LIMITED


async def test_frames_are_not_counted_when_rate_limits_are_off() -> None:
    async with Platform(rate_limits="off") as platform:
        client = await platform.connect()
        for _ in range(200):
            await client.send(1, None)
        await client.fence()


async def test_a_bot_in_too_many_guilds_must_shard(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.server.transports.gateway.identification.GUILDS_PER_SHARD_MAX", 2)
    for number in range(4):
        await platform.guild(GuildRow(id=number << 22, roles={number << 22: 0}), {5: []})
    client = await platform.connect()
    await client.send_identify(platform.bot(5))
    assert await client.closed() == CloseCode.SHARDING_REQUIRED
    client = await platform.connect()
    assert await client.identify(platform.bot(5), shard=[0, 2])


async def test_each_shard_receives_its_guilds_and_the_first_one_direct_events(platform: Platform) -> None:
    for number in (2, 3):
        guild = number << 22
        await platform.guild(
            GuildRow(id=guild, roles={guild: Permissions.VIEW_CHANNEL}, channels=sample_guild().channels), {5: []}
        )
    token = platform.bot(5)
    shards = []
    for shard in (0, 1):
        client = await platform.connect()
        ready = await client.identify(token, shard=[shard, 2])
        assert ready["shard"] == [shard, 2]
        assert [guild["id"] for guild in ready["guilds"]] == [str((2 + shard) << 22)]
        await client.until("GUILD_CREATE")
        await client.events()
        shards.append(client)
    await platform.message(10, "in the second shard", guild_id=3 << 22)
    await platform.emit(MESSAGE_CREATE, {"content": "direct"}, Audience.of_users(5))
    first = [p["d"].get("content") for p in await _received(shards[0]) if p["t"] == "MESSAGE_CREATE"]
    second = [p["d"].get("content") for p in await _received(shards[1]) if p["t"] == "MESSAGE_CREATE"]
    assert (first, second) == (["direct"], ["in the second shard"])


async def _received(client: Client) -> list[dict[str, Any]]:
    await client.fence()
    return client.received


async def test_identifying_too_fast_invalidates_the_session_but_keeps_the_connection() -> None:
    async with Platform(max_concurrency=1) as platform:
        token = platform.bot(5)
        first = await platform.connect()
        await first.identify(token)
        second = await platform.connect()
        await second.send_identify(token)
        assert (await second.opcode(9))["d"] is False
        await second.fence()
        other = await platform.connect()
        await other.identify(platform.bot(6))
        user = platform.user(7)
        for _ in range(2):
            await (await platform.connect()).identify(user)


async def test_shards_of_different_rate_keys_may_start_together() -> None:
    async with Platform(max_concurrency=2) as platform:
        token = platform.bot(5)
        for shard in (0, 1):
            await (await platform.connect()).identify(token, shard=[shard, 4])
        third = await platform.connect()
        await third.send_identify(token, shard=[2, 4])
        assert (await third.opcode(9))["d"] is False


async def test_a_large_bot_needs_a_multiple_of_its_concurrency_as_shard_count() -> None:
    async with Platform(max_concurrency=1, large_bot_guilds=2, large_bot_concurrency=4) as platform:
        for number in range(2):
            await platform.guild(GuildRow(id=(number + 1) << 22), {5: []})
        await platform.guild(GuildRow(id=3 << 22), {6: []})
        large, small = platform.bot(5), platform.bot(6)
        rejected = await platform.connect()
        await rejected.send_identify(large, shard=[0, 6])
        assert await rejected.closed() == CloseCode.INVALID_SHARD
        for shard in range(4):
            await (await platform.connect()).identify(large, shard=[shard, 8])
        fifth = await platform.connect()
        await fifth.send_identify(large, shard=[4, 8])
        assert (await fifth.opcode(9))["d"] is False
        await (await platform.connect()).identify(small, shard=[0, 6])


async def test_daily_session_starts_are_counted_by_the_platform_clock() -> None:
    async with Platform(session_starts=2, max_concurrency=4) as platform:
        token = platform.bot(5)
        for _ in range(2):
            await (await platform.connect()).identify(token, shard=[_, 4])
        assert platform.gateway.session_starts.remaining(5).remaining == 0
        third = await platform.connect()
        await third.send_identify(token, shard=[2, 4])
        assert (await third.opcode(9))["d"] is False
        platform.clock.advance(24 * 3600 * 1000)
        assert platform.gateway.session_starts.remaining(5).remaining == 2
        await third.identify(token, shard=[2, 4])


async def test_a_connection_that_never_identifies_is_closed() -> None:
    async with Platform(hello_timeout_ms=50, heartbeat_interval_ms=1000) as platform:
        client = await platform.connect()
        assert await client.closed() == CloseCode.SESSION_TIMED_OUT


async def test_a_connection_without_heartbeats_is_closed_and_can_be_resumed() -> None:
    async with Platform(heartbeat_interval_ms=2000, commands=1_000_000) as platform:
        silent = await platform.session(platform.bot(5), guilds=0)
        beating = await platform.session(platform.bot(6), guilds=0)
        closed = asyncio.ensure_future(silent.closed())
        while not closed.done():
            await beating.fence()
            await asyncio.wait([closed], timeout=0.05)
        assert await closed == CloseCode.UNKNOWN_ERROR
        # The connection is older than the heartbeat timeout and still open.
        await beating.fence()
        resumed = await platform.connect()
        await resumed.resume(silent.session_id, silent.token, silent.seq or 0)
        assert await resumed.until("RESUMED") == {"_trace": []}


async def test_concurrent_sessions_of_a_user_are_limited(platform: Platform) -> None:
    user = platform.user(7)
    first = await platform.session(user, guilds=0)
    for _ in range(SESSIONS_PER_USER_MAX - 1):
        await (await platform.connect()).identify(user)
    rejected = await platform.connect()
    await rejected.send_identify(user)
    assert await rejected.closed() == CloseCode.TOO_MANY_SESSIONS
    # Other users are not affected, and closing a session allows another one.
    await (await platform.connect()).identify(platform.user(8))
    await first.leave()
    await platform.settle()
    await (await platform.connect()).identify(user)


async def test_concurrent_sessions_of_a_bot_are_not_limited(platform: Platform) -> None:
    token = platform.bot(5)
    for _ in range(SESSIONS_PER_USER_MAX + 1):
        await (await platform.connect()).identify(token)


async def test_a_revoked_token_closes_only_its_sessions(platform: Platform) -> None:
    token, other = platform.bot(5), platform.bot(5)
    revoked_session, other_session = await platform.session(token, guilds=0), await platform.session(other, guilds=0)
    revoked = platform.tokens.pop(token).token_id
    await platform.emit(ACTOR_CHANGED, ActorChanged(user_id=5, revoked=[revoked]), Audience.of_users(5))  # type: ignore[arg-type]
    assert await revoked_session.closed() == CloseCode.AUTHENTICATION_FAILED
    assert await other_session.events() == []


async def test_draining_makes_old_and_new_connections_reconnect() -> None:
    async with Platform(drain_ms=400) as platform:
        client = await platform.session(platform.bot(5), guilds=0)
        draining = asyncio.ensure_future(platform.gateway.drain())
        assert (await client.receive())["op"] == 7
        assert await client.closed() == CloseCode.UNKNOWN_ERROR
        await draining
        late = await platform.connect(hello=False)
        assert (await late.receive())["op"] == 7
        assert await late.closed() == CloseCode.UNKNOWN_ERROR


async def test_a_legacy_game_in_identify_becomes_the_activity(platform: Platform) -> None:
    client = await platform.connect()
    presence = {"status": "idle", "game": {"name": "Chess", "type": 0}, "since": 0, "afk": False}
    await client.identify(platform.bot(5), presence=presence)
    await platform.settle()
    stored = platform.presences.find(5)
    assert stored is not None
    assert (stored.status, stored.client_status) == ("idle", {"web": "idle"})
    assert [activity["name"] for activity in stored.activities] == ["Chess"]


def test_the_bot_mask_excludes_intents_of_users() -> None:
    assert not BOT_INTENTS & (Intents.LOBBIES | Intents.CALLS | Intents.USER_PRESENCE)
