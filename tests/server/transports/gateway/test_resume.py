"""Resumed sessions, replay buffers, the end of sessions, slow clients, and presences on several nodes."""

import asyncio
import random

import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.server.core.presences import Presences
from hubbub.server.transports.gateway.compression import BlockCompressor
from hubbub.server.transports.gateway.packets import Packet
from hubbub.server.transports.gateway.replay import ReplayBuffer
from tests.server.transports.gateway import harness
from tests.server.transports.gateway.harness import (
    PUBLIC_CHANNEL_ID,
    RESUMABLE_CLOSE_CODE,
    ConnectionClosed,
    GatewayPlatform,
    sample_guild,
)


def make_packets(count: int, size: int = 10, created_at: float = 0.0) -> list[Packet]:
    """Return packets with bodies of `size` bytes. `created_at` is a time of the event loop, in seconds."""
    return [Packet("X", b"x" * size, BlockCompressor(), created_at) for _ in range(count)]


def test_a_replay_is_bounded_by_count() -> None:
    replay, sent_packets = ReplayBuffer(3, 10**6), make_packets(5)
    for packet in sent_packets:
        replay.append(packet)
    assert replay.since(2, 10) == sent_packets[2:]
    assert replay.since(3, 1) == [sent_packets[3]]
    assert replay.since(5, 10) == []
    assert replay.since(1, 10) is None
    assert replay.since(6, 10) is None


def test_a_replay_is_bounded_by_bytes() -> None:
    replay, sent_packets = ReplayBuffer(100, 500), make_packets(10, size=100)
    for packet in sent_packets:
        replay.append(packet)
    assert replay.held_bytes <= 500
    assert replay.since(10 - len(replay), 10) == sent_packets[-len(replay) :]


def test_a_replay_discards_old_and_acknowledged_events() -> None:
    replay, sent_packets = (
        ReplayBuffer(100, 10**6),
        [*make_packets(2, created_at=0.0), *make_packets(2, created_at=200.0), *make_packets(1, created_at=290.0)],
    )
    for packet in sent_packets:
        replay.append(packet)
    replay.discard(acknowledged_seq=3, created_before=0.0, now=300.0)
    assert replay.since(3, 10) == sent_packets[3:]
    replay.discard(acknowledged_seq=3, created_before=250.0, now=550.0)
    assert replay.since(4, 10) == sent_packets[4:]
    assert replay.held_bytes == sent_packets[4].size


async def test_resuming_replays_exactly_the_missed_events(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    await platform.publish_message(PUBLIC_CHANNEL_ID, "one")
    await client.next_event("MESSAGE_CREATE")
    seq = client.seq or 0
    client.abort()
    for content in ("two", "three"):
        await platform.publish_message(PUBLIC_CHANNEL_ID, content)
    resumed_client = await platform.connect(
        url=f"{client.resume_url}?v=10&encoding=json&compress=zlib-stream", receives_hello=False
    )
    resumed_client.compression = "zlib-stream"
    assert (await resumed_client.receive())["op"] == GatewayOpcode.HELLO
    await resumed_client.resume(client.session_id, client.token, seq)
    assert await resumed_client.next_event("RESUMED") == {"_trace": []}
    assert [(payload["s"], payload["d"].get("content")) for payload in resumed_client.dispatches] == [
        (seq + 1, "two"),
        (seq + 2, "three"),
        (seq + 3, None),
    ]
    await platform.publish_message(PUBLIC_CHANNEL_ID, "four")
    assert (await resumed_client.next_event("MESSAGE_CREATE"))["content"] == "four"
    assert resumed_client.seq == seq + 4


async def test_a_session_can_be_resumed_from_sequence_zero(platform: GatewayPlatform) -> None:
    await platform.create_guild(sample_guild(), member_roles={5: []})
    client = await platform.start_session(platform.create_bot(user_id=5))
    client.abort()
    resumed_client = await platform.connect()
    await resumed_client.resume(client.session_id, client.token, 0)
    await resumed_client.next_event("RESUMED")
    assert [payload["t"] for payload in resumed_client.dispatches] == ["READY", "GUILD_CREATE", "RESUMED"]


async def test_resuming_closes_the_previous_connection(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    resumed_client = await platform.connect()
    await resumed_client.resume(client.session_id, client.token, client.seq or 0)
    await resumed_client.next_event("RESUMED")
    assert await client.wait_close_code() == CloseCode.UNKNOWN_ERROR
    await resumed_client.wait_processed()


async def test_invalid_resumes_are_rejected(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    other_client = await platform.connect()
    await other_client.resume("0" * 32, client.token, 1)
    assert (await other_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
    stranger = await platform.connect()
    await stranger.resume(client.session_id, platform.create_bot(user_id=6), 1)
    assert (await stranger.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
    await stranger.identify(platform.create_bot(user_id=6))
    unauthenticated_client = await platform.connect()
    await unauthenticated_client.resume(client.session_id, "unknown token", 1)
    assert await unauthenticated_client.wait_close_code() == CloseCode.AUTHENTICATION_FAILED
    ahead = await platform.connect()
    await ahead.resume(client.session_id, client.token, 99)
    assert await ahead.wait_close_code() == CloseCode.INVALID_SEQ


async def test_an_overflowed_replay_buffer_invalidates_the_session() -> None:
    async with GatewayPlatform(replay_events_max=5) as platform:
        await platform.create_guild(sample_guild(), member_roles={5: []})
        client = await platform.start_session(platform.create_bot(user_id=5))
        client.abort()
        for number in range(10):
            await platform.publish_message(PUBLIC_CHANNEL_ID, str(number))
        resumed_client = await platform.connect()
        await resumed_client.resume(client.session_id, client.token, client.seq or 0)
        assert (await resumed_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
        await resumed_client.identify(client.token)


@pytest.mark.parametrize("code", [1000, 1001])
async def test_a_normal_close_ends_the_session(platform: GatewayPlatform, code: int) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    harness.ENDED_SESSIONS.clear()
    await client.close(code)
    await platform.wait_idle()
    assert platform.presences.find(5) is None
    assert [(5, client.session_id)] == harness.ENDED_SESSIONS
    resumed_client = await platform.connect()
    await resumed_client.resume(client.session_id, client.token, client.seq or 0)
    assert (await resumed_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False


async def test_a_disconnected_session_ends_after_the_resume_window(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    harness.ENDED_SESSIONS.clear()
    await client.close(RESUMABLE_CLOSE_CODE)
    await platform.wait_idle()
    await platform.clock.run_for(299_000)
    assert platform.presences.find(5) is not None
    assert harness.ENDED_SESSIONS == []
    await platform.clock.run_for(2_000)
    assert platform.presences.find(5) is None
    assert [(5, client.session_id)] == harness.ENDED_SESSIONS
    resumed_client = await platform.connect()
    await resumed_client.resume(client.session_id, client.token, client.seq or 0)
    assert (await resumed_client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False


async def test_a_node_sends_its_own_resume_url() -> None:
    async with GatewayPlatform(resume_url="wss://gateway-1.example/gateway") as platform:
        client = await platform.connect()
        ready = await client.identify(platform.create_bot(user_id=5))
        assert ready["resume_gateway_url"] == "wss://gateway-1.example/gateway"


async def test_lost_bus_events_invalidate_sessions(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    platform.bus.notify_gap()
    assert (await client.next_payload(GatewayOpcode.INVALID_SESSION))["d"] is False
    await client.identify(client.token)


@pytest.mark.parametrize("seed", range(6))
async def test_random_disconnects_neither_lose_nor_repeat_events(seed: int) -> None:
    rng = random.Random(seed)
    compress = rng.choice(["", "zlib-stream", "zstd-stream"])
    total = 150
    async with GatewayPlatform(rate_limits="off") as platform:
        await platform.create_guild(sample_guild(), member_roles={5: []})
        client = await platform.start_session(platform.create_bot(user_id=5), compress)
        contents: list[int] = []
        sequence_numbers: list[int] = []

        async def send_messages() -> None:
            for number in range(total):
                await platform.publish_message(PUBLIC_CHANNEL_ID, f"{number} " + "x" * rng.randint(0, 3000))

        sending_task = asyncio.ensure_future(send_messages())
        token, session_id, seq = client.token, client.session_id, client.seq or 0
        while len(contents) < total:
            try:
                for _ in range(rng.randint(1, 40)):
                    payload = await client.receive()
                    if payload["op"] == GatewayOpcode.DISPATCH:
                        seq = payload["s"]
                        sequence_numbers.append(seq)
                        if payload["t"] == "MESSAGE_CREATE":
                            contents.append(int(payload["d"]["content"].split()[0]))
                    if len(contents) == total:
                        break
            except ConnectionClosed:
                pass
            if len(contents) < total:
                client.abort()
                client = await platform.connect(compress)
                await client.resume(session_id, token, seq)
        await sending_task
        assert contents == list(range(total))
        assert sequence_numbers == list(range(sequence_numbers[0], sequence_numbers[0] + len(sequence_numbers)))


async def test_a_client_that_does_not_read_is_disconnected_and_can_resume() -> None:
    async with GatewayPlatform(outgoing_buffer_bytes_max=200_000) as platform:
        await platform.create_guild(sample_guild(), member_roles={5: [], 6: []})
        slow, fast = (
            await platform.start_session(platform.create_bot(user_id=5)),
            await platform.start_session(platform.create_bot(user_id=6)),
        )
        transport = slow.socket._response.connection.transport  # type: ignore[union-attr]
        transport.pause_reading()  # type: ignore[union-attr]
        count = 0
        session = platform.gateway.sessions.find(slow.session_id)
        assert session is not None
        while session.connection is not None:
            await platform.publish_message(PUBLIC_CHANNEL_ID, "x" * 50_000)
            await fast.next_event("MESSAGE_CREATE")
            count += 1
            assert count < 1000
        transport.resume_reading()  # type: ignore[union-attr]
        # The close frame follows the unread data. If the server drops the connection before it is sent, the code is 1006.
        assert await slow.wait_close_code() in (CloseCode.UNKNOWN_ERROR, 1006)
        await platform.publish_message(PUBLIC_CHANNEL_ID, "last")
        resumed_client = await platform.connect()
        await resumed_client.resume(slow.session_id, slow.token, slow.seq or 0)
        await resumed_client.next_event("RESUMED")
        messages = [
            payload for payload in slow.dispatches + resumed_client.dispatches if payload["t"] == "MESSAGE_CREATE"
        ]
        assert len(messages) == count + 1
        assert messages[-1]["d"]["content"] == "last"


async def test_two_nodes_share_presences(platform: GatewayPlatform) -> None:
    client = await platform.start_session(platform.create_bot(user_id=5), guild_count=0)
    other_presences = Presences()
    other_gateway = platform.make_gateway(other_presences)
    await other_gateway.start()
    try:
        assert other_presences.find(5) is not None
        await client.send(
            GatewayOpcode.PRESENCE_UPDATE, {"status": "dnd", "activities": [], "since": None, "afk": False}
        )
        await client.wait_processed()
        presence = other_presences.find(5)
        assert presence is not None
        assert presence.status == "dnd"
        await client.close()
        await platform.wait_idle()
        assert other_presences.find(5) is None
    finally:
        await other_gateway.close()
