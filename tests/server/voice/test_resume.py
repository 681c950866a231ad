"""Buffered resume: missed messages are sent once, in order, after Resumed."""

import asyncio
from typing import Any

import msgspec
import pytest

from hubbub.server.core.config import Config, VoiceConfig
from hubbub.server.transports.voice.replay import MESSAGES_MAX, VoiceReplayBuffer, wire_seq
from tests.server.voice.caller import Caller, close_code
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.server.voice.test_tickets import abort_connection, wait_connection_lost
from tests.world import Guild, World


def resume_payload(caller: Caller, **more: Any) -> dict[str, Any]:
    return {
        "server_id": str(caller.server_id),
        "session_id": caller.state["session_id"],
        "token": caller.server["token"],
        **more,
    }


def last_seq(caller: Caller) -> int:
    """Return the last received sequence number, or -1."""
    seqs = [frame[0] if isinstance(frame, tuple) else frame.get("seq") for frame in caller.frames]
    return next((seq for seq in reversed(seqs) if seq), -1)


async def test_missed_messages_are_sent_after_resumed(world: World, guild: Guild, call: MakeCaller) -> None:
    lounge = guild.channels["Lounge"]
    caller, other = await call(), await call()
    await caller.join_and_connect(lounge)
    await other.join_and_connect(lounge)
    await caller.next(5)
    await caller.heartbeat()
    seq = last_seq(caller)
    key = caller.key
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    for speaking in (0, 1, 0):
        await other.send_json(5, {"speaking": speaking, "delay": 0, "ssrc": 1})
    await other.heartbeat()
    assert 13 not in other.ops()
    await caller.open()
    await caller.send_json(7, resume_payload(caller, seq_ack=seq))
    await caller.next(9)
    replayed = [(await caller.frame()) for _ in range(3)]
    assert [(frame["op"], frame["seq"]) for frame in replayed] == [(5, seq + 1), (5, seq + 2), (5, seq + 3)]
    # The key, SSRC and address are still valid.
    caller.send(b"frame\xfa\xfa")
    other.datagrams.received = asyncio.Queue()
    caller.send(b"again\xfa\xfa")
    ssrc, frame = await other.receive_media()
    assert (ssrc, frame) in {(caller.ready["ssrc"], b"frame\xfa\xfa"), (caller.ready["ssrc"], b"again\xfa\xfa")}
    assert key == caller.key


async def test_a_resume_without_an_acknowledgement_replays_from_the_first_message(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    lounge = guild.channels["Lounge"]
    caller, other = await call(), await call()
    await other.join_and_connect(lounge)
    await caller.join_and_connect(lounge)
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await caller.open()
    await caller.send_json(7, resume_payload(caller))
    await caller.next(9)
    assert (await caller.frame())["seq"] == 1


@pytest.mark.parametrize("wrong", [{"token": "0" * 32}, {"session_id": "x"}, {"server_id": "1"}, {"seq_ack": 4711}])
async def test_an_invalid_resume_is_rejected(world: World, guild: Guild, call: MakeCaller, wrong: Any) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await caller.open()
    await caller.send_json(7, resume_payload(caller, **wrong))
    assert await caller.closed() == 4006


async def test_a_resume_after_the_grace_period_is_rejected(world: World, guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await world.clock.run_for(10_000)
    await caller.open()
    await caller.send_json(7, resume_payload(caller, seq_ack=-1))
    assert await caller.closed() == 4006


async def test_a_resume_replaces_an_open_connection(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.heartbeat()
    old = caller.socket
    await caller.open()
    await caller.send_json(7, resume_payload(caller, seq_ack=last_seq(caller)))
    await caller.next(9)
    assert await close_code(old) == 4014
    await caller.heartbeat()


async def test_older_versions_resume_without_sequence_numbers(world: World, guild: Guild, call: MakeCaller) -> None:
    lounge = guild.channels["Lounge"]
    caller, other = await call(), await call()
    await caller.join_and_connect(lounge, query="?v=7")
    await other.join_and_connect(lounge)
    await caller.next(5)
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await other.send_json(5, {"speaking": 0, "delay": 0, "ssrc": 1})
    await other.heartbeat()
    await caller.open("?v=7")
    await caller.send_json(7, resume_payload(caller))
    await caller.next(9)
    assert (await caller.next(5))["speaking"] == 0


class TestHeartbeatTimeout:
    """Network timeouts use the event loop's time (decisions/0005), so this test waits for a short interval."""

    @pytest.fixture
    def voice_config(self, store_config: Config) -> Config:
        voice = VoiceConfig(endpoint=ENDPOINT, heartbeat_interval_ms=100, identify_timeout_ms=60_000)
        return msgspec.structs.replace(store_config, voice=voice)

    async def test_a_connection_without_heartbeats_is_closed(self, guild: Guild, call: MakeCaller) -> None:
        caller = await call()
        await caller.open()
        assert await caller.closed() == 4009


class TestIdentifyTimeout:
    """Network timeouts use the event loop's time (decisions/0005), so this test waits for a short timeout."""

    @pytest.fixture
    def voice_config(self, store_config: Config) -> Config:
        voice = VoiceConfig(endpoint=ENDPOINT, identify_timeout_ms=100)
        return msgspec.structs.replace(store_config, voice=voice)

    async def test_a_connection_without_identify_is_closed(self, guild: Guild, call: MakeCaller) -> None:
        caller = await call()
        await caller.open()
        assert await caller.closed() == 4003


def test_sequence_numbers_are_never_zero() -> None:
    assert [wire_seq(number) for number in (1, 65_535, 65_536, 131_070, 131_071)] == [1, 65_535, 1, 65_535, 1]


def test_the_replay_buffer_is_bounded() -> None:
    replay = VoiceReplayBuffer()
    for _ in range(MESSAGES_MAX + 10):
        replay.append(0x81, b"x", 0.0)
    assert len(replay) == MESSAGES_MAX
    assert replay.since(9) is None
    messages = replay.since(10)
    assert messages is not None
    assert len(messages) == MESSAGES_MAX
    assert replay.since(-1) is None
    replay.acknowledge(20)
    assert len(replay) == MESSAGES_MAX - 10
    assert replay.since(19) is None
    replay.acknowledge(19)
    replay.acknowledge(40_000)
    assert len(replay) == MESSAGES_MAX - 10
    replay.append(0x81, bytes(2_000_000), 50.0)
    assert len(replay) == 0
    replay.append(0x81, b"x", 50.0)
    replay.discard_expired(110.0)
    assert len(replay) == 1
    replay.discard_expired(110.1)
    assert len(replay) == 0
    assert replay.since(wire_seq(replay.last_number)) == []


def test_sequence_numbers_wrap_around() -> None:
    replay = VoiceReplayBuffer()
    replay.last_number = 65_530
    for _ in range(10):
        replay.append(0x81, b"x", 0.0)
    messages = replay.since(65_534)
    assert messages is not None
    assert [wire_seq(message.number) for message in messages] == [65_535, 1, 2, 3, 4, 5]
    replay.acknowledge(2)
    assert [wire_seq(message.number) for message in replay.since(2) or []] == [3, 4, 5]
