"""Buffered resume of voice connections, the replay buffer, and the timeouts of heartbeats and Identify."""

import asyncio
from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core.config import Config, VoiceConfig
from hubbub.server.transports.voice.replay import MESSAGES_MAX, VoiceReplayBuffer, wire_seq
from tests.server.voice.caller import abort_connection, last_seq, resume_payload, wait_close_code, wait_connection_lost
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.world import Guild, World


async def test_missed_messages_are_sent_after_resumed(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    lounge_id = guild.channels["Lounge"]
    caller, other_caller = await make_caller(), await make_caller()
    await caller.join_and_connect(lounge_id)
    await other_caller.join_and_connect(lounge_id)
    await caller.next(VoiceOpcode.SPEAKING)
    await caller.heartbeat()
    seq = last_seq(caller)
    key_before = caller.secret_key
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    for speaking in (0, 1, 0):
        await other_caller.send_json(VoiceOpcode.SPEAKING, {"speaking": speaking, "delay": 0, "ssrc": 1})
    await other_caller.heartbeat()
    assert VoiceOpcode.CLIENT_DISCONNECT not in other_caller.opcodes()
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller, seq_ack=seq))
    await caller.next(VoiceOpcode.RESUMED)
    replayed_frames = [(await caller.receive_frame()) for _ in range(3)]
    assert [(frame["op"], frame["seq"]) for frame in replayed_frames] == [
        (VoiceOpcode.SPEAKING, seq + number) for number in (1, 2, 3)
    ]
    # The key, SSRC and address are still valid.
    caller.send_frame(b"frame\xfa\xfa")
    other_caller.datagrams.received = asyncio.Queue()
    caller.send_frame(b"again\xfa\xfa")
    ssrc, frame = await other_caller.receive_media()
    assert (ssrc, frame) in {(caller.ready["ssrc"], b"frame\xfa\xfa"), (caller.ready["ssrc"], b"again\xfa\xfa")}
    assert caller.secret_key == key_before


async def test_a_resume_without_an_acknowledgement_replays_from_the_first_message(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    lounge_id = guild.channels["Lounge"]
    caller, other_caller = await make_caller(), await make_caller()
    await other_caller.join_and_connect(lounge_id)
    await caller.join_and_connect(lounge_id)
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller))
    await caller.next(VoiceOpcode.RESUMED)
    assert (await caller.receive_frame())["seq"] == 1


@pytest.mark.one_postgres_case
@pytest.mark.parametrize("fields", [{"token": "0" * 32}, {"session_id": "x"}, {"server_id": "1"}, {"seq_ack": 4711}])
async def test_an_invalid_resume_is_rejected(world: World, guild: Guild, make_caller: MakeCaller, fields: Any) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller, **fields))
    assert await caller.wait_close_code() == VoiceCloseCode.SESSION_NO_LONGER_VALID


async def test_a_resume_after_the_grace_period_is_rejected(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await world.clock.run_for(10_000)
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller, seq_ack=-1))
    assert await caller.wait_close_code() == VoiceCloseCode.SESSION_NO_LONGER_VALID


async def test_a_resume_replaces_an_open_connection(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.heartbeat()
    old_socket = caller.socket
    await caller.open_socket()
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller, seq_ack=last_seq(caller)))
    await caller.next(VoiceOpcode.RESUMED)
    assert await wait_close_code(old_socket) == VoiceCloseCode.DISCONNECTED
    await caller.heartbeat()


async def test_older_versions_resume_without_sequence_numbers(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    lounge_id = guild.channels["Lounge"]
    caller, other_caller = await make_caller(), await make_caller()
    await caller.join_and_connect(lounge_id, query="?v=7")
    await other_caller.join_and_connect(lounge_id)
    await caller.next(VoiceOpcode.SPEAKING)
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await other_caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 0, "delay": 0, "ssrc": 1})
    await other_caller.heartbeat()
    await caller.open_socket("?v=7")
    await caller.send_json(VoiceOpcode.RESUME, resume_payload(caller))
    await caller.next(VoiceOpcode.RESUMED)
    assert (await caller.next(VoiceOpcode.SPEAKING))["speaking"] == 0


class TestHeartbeatTimeout:
    """Network timeouts use the event loop's time (decisions/0005), so this test waits for a short interval."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        voice = VoiceConfig(endpoint=ENDPOINT, heartbeat_interval_ms=100, identify_timeout_ms=60_000)
        return msgspec.structs.replace(store_config, voice=voice)

    async def test_a_connection_without_heartbeats_is_closed(self, guild: Guild, make_caller: MakeCaller) -> None:
        caller = await make_caller()
        await caller.open_socket()
        assert await caller.wait_close_code() == VoiceCloseCode.SESSION_TIMEOUT


class TestIdentifyTimeout:
    """Network timeouts use the event loop's time (decisions/0005), so this test waits for a short timeout."""

    @pytest.fixture
    def world_config(self, store_config: Config) -> Config:
        voice = VoiceConfig(endpoint=ENDPOINT, identify_timeout_ms=100)
        return msgspec.structs.replace(store_config, voice=voice)

    async def test_a_connection_without_identify_is_closed(self, guild: Guild, make_caller: MakeCaller) -> None:
        caller = await make_caller()
        await caller.open_socket()
        assert await caller.wait_close_code() == VoiceCloseCode.NOT_AUTHENTICATED


def test_sequence_numbers_are_never_zero() -> None:
    assert [wire_seq(number) for number in (1, 65_535, 65_536, 131_070, 131_071)] == [1, 65_535, 1, 65_535, 1]


def test_the_replay_buffer_is_bounded() -> None:
    replay = VoiceReplayBuffer()
    for _ in range(MESSAGES_MAX + 10):
        replay.append(0x81, b"x", 0.0)
    assert len(replay) == MESSAGES_MAX
    assert replay.after_seq(9) is None
    messages = replay.after_seq(10)
    assert messages is not None
    assert len(messages) == MESSAGES_MAX
    assert replay.after_seq(-1) is None
    replay.acknowledge(20)
    assert len(replay) == MESSAGES_MAX - 10
    assert replay.after_seq(19) is None
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
    assert replay.after_seq(wire_seq(replay.last_number)) == []


def test_sequence_numbers_wrap_around() -> None:
    replay = VoiceReplayBuffer()
    replay.last_number = 65_530
    for _ in range(10):
        replay.append(0x81, b"x", 0.0)
    messages = replay.after_seq(65_534)
    assert messages is not None
    assert [wire_seq(message.number) for message in messages] == [65_535, 1, 2, 3, 4, 5]
    replay.acknowledge(2)
    assert [wire_seq(message.number) for message in replay.after_seq(2) or []] == [3, 4, 5]
