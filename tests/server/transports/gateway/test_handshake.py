"""The gateway handshake, rejected frames, heartbeats, shards, session limits, revoked tokens and draining."""

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.messages import MESSAGE_CREATE
from hubbub.server.core.auth import ACTOR_CHANGED, ActorChanged
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.transports.gateway.sessions import SESSIONS_PER_USER_MAX
from tests.server.transports.gateway.harness import (
    GUILD_ID,
    PRIVILEGED_INTENT_FLAGS,
    PUBLIC_CHANNEL_ID,
    GatewayClient,
    GatewayPlatform,
    GuildRow,
    sample_guild,
)


async def test_hello_comes_first_with_all_four_keys(platform: GatewayPlatform) -> None:
    client = await platform.connect(receives_hello=False)
    hello = await client.receive()
    assert hello == {"op": GatewayOpcode.HELLO, "s": None, "t": None, "d": {"heartbeat_interval": 41250, "_trace": []}}


async def test_a_request_that_is_not_a_websocket_gets_an_explanation(platform: GatewayPlatform) -> None:
    async with aiohttp.ClientSession() as client, client.get(platform.url.replace("ws://", "http://")) as response:
        assert response.status == 426
        assert response.headers["Upgrade"] == "websocket"
        assert "configure the proxy to use HTTP/1.1" in await response.text()


async def test_ready_and_guilds_are_numbered_from_one(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.connect()
    ready = await client.identify(platform.create_bot(user_id=5))
    guild_create = await client.next_event("GUILD_CREATE")
    assert [payload["s"] for payload in client.dispatches] == [1, 2]
    assert ready["v"] == 10
    assert ready["user"]["id"] == "5"
    assert ready["guilds"] == [{"id": str(GUILD_ID), "unavailable": True}]
    assert ready["resume_gateway_url"].endswith("/gateway")
    assert ready["application"] == {
        "id": "5",
        "flags": PRIVILEGED_INTENT_FLAGS,
        "flags_new": str(int(PRIVILEGED_INTENT_FLAGS)),
    }
    assert ready["private_channels"] == []
    assert len(ready["session_id"]) == 32
    assert "shard" not in ready
    assert guild_create["unavailable"] is False
    assert guild_create["name"] == "Town Square"
    assert guild_create["member_count"] == 1
    assert guild_create["large"] is False
    assert [channel["name"] for channel in guild_create["channels"]] == ["general", "staff"]
    for key in ("members", "presences", "voice_states", "stage_instances", "soundboard_sounds"):
        assert guild_create[key] == []


@pytest.mark.parametrize("prefix", ["", "Bot "])
async def test_a_token_may_have_its_prefix(platform: GatewayPlatform, prefix: str) -> None:
    client = await platform.connect()
    await client.identify(prefix + platform.create_bot(user_id=5))


async def test_binary_frames_and_unknown_keys_are_accepted(platform: GatewayPlatform) -> None:
    client = await platform.connect()
    body = {"token": platform.create_bot(user_id=5), "intents": 0, "properties": {}, "more": 1, "compress": "no"}
    await client.socket.send_bytes(json.dumps({"op": GatewayOpcode.IDENTIFY, "d": body, "extra": True}).encode())
    assert await client.next_event("READY")


async def test_without_the_guilds_intent_no_guild_create_is_sent(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.connect()
    ready = await client.identify(platform.create_bot(user_id=5), intents=Intents.GUILD_MESSAGES)
    assert len(ready["guilds"]) == 1
    await platform.wait_idle()
    await platform.publish_message(PUBLIC_CHANNEL_ID, "hello")
    assert await client.take_event_names() == ["READY", "MESSAGE_CREATE"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?v=5&encoding=json", CloseCode.INVALID_API_VERSION),
        ("?v=11", CloseCode.INVALID_API_VERSION),
        ("?v=x", CloseCode.INVALID_API_VERSION),
        ("?v=10&encoding=xml", CloseCode.DECODE_ERROR),
        ("?v=10&compress=brotli", CloseCode.DECODE_ERROR),
    ],
)
async def test_an_invalid_query_closes_the_connection(platform: GatewayPlatform, query: str, code: int) -> None:
    client = await platform.connect(url=platform.url + query, receives_hello=False)
    assert await client.wait_close_code() == code


@pytest.mark.parametrize(("query", "version"), [("", 10), ("?v=9", 9), ("?v=10", 10), ("?v=8&encoding=json", 8)])
async def test_the_query_selects_the_version(platform: GatewayPlatform, query: str, version: int) -> None:
    client = await platform.connect(url=platform.url + query)
    ready = await client.identify(platform.create_bot(user_id=5))
    assert ready["v"] == version


@pytest.mark.parametrize(
    ("fields", "code"),
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
async def test_an_invalid_identify_closes_the_connection(
    platform: GatewayPlatform, fields: dict[str, Any], code: int
) -> None:
    token = platform.create_bot(user_id=5)
    client = await platform.connect()
    await client.send_identify(**({"token": token} | fields))
    assert await client.wait_close_code() == code


@pytest.mark.parametrize(
    ("intent", "flag"),
    [
        (Intents.GUILD_MEMBERS, ApplicationFlags.GATEWAY_GUILD_MEMBERS),
        (Intents.GUILD_PRESENCES, ApplicationFlags.GATEWAY_PRESENCE_LIMITED),
        (Intents.MESSAGE_CONTENT, ApplicationFlags.GATEWAY_MESSAGE_CONTENT),
    ],
)
async def test_privileged_intents_must_be_enabled(platform: GatewayPlatform, intent: int, flag: int) -> None:
    rejected_client = await platform.connect()
    await rejected_client.send_identify(platform.create_bot(user_id=5, flags=0), intents=intent)
    assert await rejected_client.wait_close_code() == CloseCode.DISALLOWED_INTENTS
    accepted_client = await platform.connect()
    await accepted_client.identify(platform.create_bot(user_id=6, flags=flag), intents=intent)


async def test_users_need_no_intents_and_oauth2_tokens_need_scopes(platform: GatewayPlatform) -> None:
    user = await platform.connect()
    ready = await user.identify(platform.create_user(user_id=1), intents=...)
    assert "application" not in ready
    accepted_client = await platform.connect()
    await accepted_client.identify(
        "Bearer " + platform.create_user(user_id=2, kind="bearer", scopes=frozenset({"identify", "gateway.connect"}))
    )
    rejected_client = await platform.connect()
    await rejected_client.send_identify(platform.create_user(user_id=3, kind="bearer", scopes=frozenset({"identify"})))
    assert await rejected_client.wait_close_code() == CloseCode.AUTHENTICATION_FAILED


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
async def test_invalid_frames_before_identify_close_the_connection(
    platform: GatewayPlatform, frame: str, code: int
) -> None:
    client = await platform.connect()
    await client.socket.send_str(frame)
    assert await client.wait_close_code() == code


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"op": 99}, CloseCode.UNKNOWN_OPCODE),
        ({"op": GatewayOpcode.GUILD_SUBSCRIPTIONS, "d": {}}, CloseCode.UNKNOWN_OPCODE),
        ({"op": GatewayOpcode.DISPATCH, "d": {}}, CloseCode.UNKNOWN_OPCODE),
        ({"op": GatewayOpcode.IDENTIFY, "d": {"token": "x"}}, CloseCode.ALREADY_AUTHENTICATED),
        (
            {"op": GatewayOpcode.RESUME, "d": {"token": "x", "session_id": "x", "seq": 0}},
            CloseCode.ALREADY_AUTHENTICATED,
        ),
        ({"op": GatewayOpcode.PRESENCE_UPDATE, "d": {"status": 7}}, CloseCode.DECODE_ERROR),
        ({"op": GatewayOpcode.REQUEST_GUILD_MEMBERS, "d": {"guild_id": {}}}, CloseCode.DECODE_ERROR),
    ],
)
async def test_invalid_frames_after_identify_close_the_connection(
    platform: GatewayPlatform, frame: dict[str, Any], code: int
) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    await client.socket.send_str(json.dumps(frame))
    assert await client.wait_close_code() == code


async def test_a_heartbeat_is_acknowledged_before_identify(platform: GatewayPlatform) -> None:
    client = await platform.connect()
    await client.send(GatewayOpcode.HEARTBEAT, None)
    assert await client.next_payload(GatewayOpcode.HEARTBEAT_ACK) == {
        "op": GatewayOpcode.HEARTBEAT_ACK,
        "d": None,
        "s": None,
        "t": None,
    }


async def test_more_than_120_frames_in_a_minute_close_the_connection(platform: GatewayPlatform) -> None:
    client = await platform.connect()
    for _ in range(121):
        await client.send(GatewayOpcode.HEARTBEAT, None)
    assert await client.wait_close_code() == CloseCode.RATE_LIMITED


async def test_pings_before_identify_count_as_frames(platform: GatewayPlatform) -> None:
    client = await platform.connect()
    for _ in range(121):
        await client.socket.ping()
    assert await client.wait_close_code() == CloseCode.RATE_LIMITED


async def test_a_reset_after_a_ping_is_not_an_error(
    platform: GatewayPlatform, caplog: pytest.LogCaptureFixture
) -> None:
    client = await platform.connect()
    for _ in range(20):
        await client.socket.ping(b"x" * 100)
    client.abort()
    other_client = await platform.connect()
    await other_client.send(GatewayOpcode.HEARTBEAT, None)
    await other_client.next_payload(GatewayOpcode.HEARTBEAT_ACK)
    assert not [record for record in caplog.records if record.exc_info]


async def test_frames_are_not_counted_when_rate_limits_are_off() -> None:
    async with GatewayPlatform(rate_limits="off") as platform:
        client = await platform.connect()
        for _ in range(200):
            await client.send(GatewayOpcode.HEARTBEAT, None)
        await client.wait_processed()


async def test_a_bot_in_too_many_guilds_must_shard(platform: GatewayPlatform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.server.transports.gateway.identification.GUILDS_PER_SHARD_MAX", 2)
    for number in range(4):
        await platform.create_guild(GuildRow(id=number << 22, roles={number << 22: 0}), {5: []})
    client = await platform.connect()
    await client.send_identify(platform.create_bot(user_id=5))
    assert await client.wait_close_code() == CloseCode.SHARDING_REQUIRED
    client = await platform.connect()
    assert await client.identify(platform.create_bot(user_id=5), shard=[0, 2])


async def test_each_shard_receives_its_guilds_and_the_first_one_direct_events(platform: GatewayPlatform) -> None:
    for number in (2, 3):
        guild = number << 22
        await platform.create_guild(
            GuildRow(id=guild, roles={guild: Permissions.VIEW_CHANNEL}, channels=sample_guild().channels), {5: []}
        )
    token = platform.create_bot(user_id=5)
    shards = []
    for shard in (0, 1):
        client = await platform.connect()
        ready = await client.identify(token, shard=[shard, 2])
        assert ready["shard"] == [shard, 2]
        assert [guild["id"] for guild in ready["guilds"]] == [str((2 + shard) << 22)]
        await client.next_event("GUILD_CREATE")
        await client.take_event_names()
        shards.append(client)
    await platform.publish_message(PUBLIC_CHANNEL_ID, "in the second shard", guild_id=3 << 22)
    await platform.emit(MESSAGE_CREATE, {"content": "direct"}, UserAudience.of(5))
    first_shard_contents = [
        payload["d"].get("content")
        for payload in await _received_dispatches(shards[0])
        if payload["t"] == "MESSAGE_CREATE"
    ]
    second_shard_contents = [
        payload["d"].get("content")
        for payload in await _received_dispatches(shards[1])
        if payload["t"] == "MESSAGE_CREATE"
    ]
    assert (first_shard_contents, second_shard_contents) == (["direct"], ["in the second shard"])


async def _received_dispatches(client: GatewayClient) -> list[dict[str, Any]]:
    """Return all dispatches that the server sent to the client before now."""
    await client.wait_processed()
    return client.dispatches


async def test_identifying_too_fast_invalidates_the_session_but_keeps_the_connection() -> None:
    async with GatewayPlatform(max_concurrency=1) as platform:
        token = platform.create_bot(user_id=5)
        first_client = await platform.connect()
        await first_client.identify(token)
        second_client = await platform.connect()
        await second_client.send_identify(token)
        assert (await second_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        await second_client.wait_processed()
        other_client = await platform.connect()
        await other_client.identify(platform.create_bot(user_id=6))
        user = platform.create_user(user_id=7)
        for _ in range(2):
            await (await platform.connect()).identify(user)


async def test_shards_of_different_rate_keys_may_start_together() -> None:
    async with GatewayPlatform(max_concurrency=2) as platform:
        token = platform.create_bot(user_id=5)
        for shard in (0, 1):
            await (await platform.connect()).identify(token, shard=[shard, 4])
        third_client = await platform.connect()
        await third_client.send_identify(token, shard=[2, 4])
        assert (await third_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False


async def test_a_large_bot_needs_a_multiple_of_its_concurrency_as_shard_count() -> None:
    async with GatewayPlatform(max_concurrency=1, large_bot_guilds=2, large_bot_concurrency=4) as platform:
        for number in range(2):
            await platform.create_guild(GuildRow(id=(number + 1) << 22), {5: []})
        await platform.create_guild(GuildRow(id=3 << 22), {6: []})
        large_bot, small_bot = platform.create_bot(user_id=5), platform.create_bot(user_id=6)
        rejected_client = await platform.connect()
        await rejected_client.send_identify(large_bot, shard=[0, 6])
        assert await rejected_client.wait_close_code() == CloseCode.INVALID_SHARD
        for shard in range(4):
            await (await platform.connect()).identify(large_bot, shard=[shard, 8])
        fifth = await platform.connect()
        await fifth.send_identify(large_bot, shard=[4, 8])
        assert (await fifth.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        await (await platform.connect()).identify(small_bot, shard=[0, 6])


async def test_daily_session_starts_are_counted_by_the_platform_clock() -> None:
    async with GatewayPlatform(session_starts_max=2, max_concurrency=4) as platform:
        token = platform.create_bot(user_id=5)
        for shard in range(2):
            await (await platform.connect()).identify(token, shard=[shard, 4])
        assert platform.gateway.session_starts.remaining(5).remaining == 0
        third_client = await platform.connect()
        await third_client.send_identify(token, shard=[2, 4])
        assert (await third_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        platform.clock.advance(24 * 3600 * 1000)
        assert platform.gateway.session_starts.remaining(5).remaining == 2
        await third_client.identify(token, shard=[2, 4])


async def test_a_connection_that_never_identifies_is_closed() -> None:
    async with GatewayPlatform(identify_timeout_ms=50, heartbeat_interval_ms=1000) as platform:
        client = await platform.connect()
        assert await client.wait_close_code() == CloseCode.SESSION_TIMED_OUT


async def test_a_connection_without_heartbeats_is_closed_and_can_be_resumed() -> None:
    async with GatewayPlatform(heartbeat_interval_ms=2000, commands_max=1_000_000) as platform:
        client_without_heartbeats = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
        client_with_heartbeats = await platform.start_session(platform.create_bot(user_id=6), guild_count=0)
        close_task = asyncio.ensure_future(client_without_heartbeats.wait_close_code())
        while not close_task.done():
            await client_with_heartbeats.wait_processed()
            await asyncio.wait([close_task], timeout=0.05)
        assert await close_task == CloseCode.UNKNOWN_ERROR
        # The connection is older than the heartbeat timeout and still open.
        await client_with_heartbeats.wait_processed()
        resumed_client = await platform.connect()
        await resumed_client.resume(
            client_without_heartbeats.session_id, client_without_heartbeats.token, client_without_heartbeats.seq or 0
        )
        assert await resumed_client.next_event("RESUMED") == {"_trace": []}


async def test_concurrent_sessions_of_a_user_are_limited(platform: GatewayPlatform) -> None:
    user = platform.create_user(user_id=7)
    first_client = await platform.start_session(user, guild_count=0)
    for _ in range(SESSIONS_PER_USER_MAX - 1):
        await (await platform.connect()).identify(user)
    rejected_client = await platform.connect()
    await rejected_client.send_identify(user)
    assert await rejected_client.wait_close_code() == CloseCode.TOO_MANY_SESSIONS
    # Other users are not affected, and closing a session allows another one.
    await (await platform.connect()).identify(platform.create_user(user_id=8))
    await first_client.close()
    await platform.wait_idle()
    await (await platform.connect()).identify(user)


async def test_concurrent_sessions_of_a_bot_are_not_limited(platform: GatewayPlatform) -> None:
    token = platform.create_bot(user_id=5)
    for _ in range(SESSIONS_PER_USER_MAX + 1):
        await (await platform.connect()).identify(token)


async def test_a_revoked_token_closes_only_its_sessions(platform: GatewayPlatform) -> None:
    token, other_token = platform.create_bot(user_id=5), platform.create_bot(user_id=5)
    revoked_session, other_session = (
        await platform.start_session(token, guild_count=0),
        await platform.start_session(other_token, guild_count=0),
    )
    revoked_token_id = platform.tokens.pop(token).token_id
    await platform.emit(ACTOR_CHANGED, ActorChanged(user_id=5, revoked=[revoked_token_id]), UserAudience.of(5))  # type: ignore[arg-type]
    assert await revoked_session.wait_close_code() == CloseCode.AUTHENTICATION_FAILED
    assert await other_session.take_event_names() == []


async def test_draining_makes_old_and_new_connections_reconnect() -> None:
    async with GatewayPlatform(drain_ms=400) as platform:
        client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
        draining_task = asyncio.ensure_future(platform.gateway.drain())
        assert (await client.receive())["op"] == GatewayOpcode.RECONNECT
        assert await client.wait_close_code() == CloseCode.UNKNOWN_ERROR
        await draining_task
        late_client = await platform.connect(receives_hello=False)
        assert (await late_client.receive())["op"] == GatewayOpcode.RECONNECT
        assert await late_client.wait_close_code() == CloseCode.UNKNOWN_ERROR


async def test_a_legacy_game_in_identify_becomes_the_activity(platform: GatewayPlatform) -> None:
    client = await platform.connect()
    presence = {"status": "idle", "game": {"name": "Chess", "type": 0}, "since": 0, "afk": False}
    await client.identify(platform.create_bot(user_id=5), presence=presence)
    await platform.wait_idle()
    stored_presence = platform.presences.find(5)
    assert stored_presence is not None
    assert (stored_presence.status, stored_presence.client_status) == ("idle", {"web": "idle"})
    assert [activity["name"] for activity in stored_presence.activities] == ["Chess"]


def test_the_bot_mask_excludes_intents_of_users() -> None:
    assert not Intents.BOT_MASK & (Intents.LOBBIES | Intents.CALLS | Intents.USER_PRESENCE)
