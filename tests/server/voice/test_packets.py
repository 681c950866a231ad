"""Packets: both modes, discovery, what is forwarded to whom, and what is dropped without a word."""

import asyncio
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.protocol import changes
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES
from hubbub.server.transports.voice.rtp import Reception, ReplayWindow, extract_frame
from tests.server.voice.caller import AES, SILENCE, XCHACHA, Caller, opened, opus, sealed
from tests.server.voice.conftest import Call
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World


async def pair(call: Call, guild: Guild, one: str = AES, other: str = AES, **identify: Any) -> tuple[Caller, Caller]:
    """Two in a call."""
    first, second = await call(), await call()
    await first.enter(guild.channels["Lounge"], one, **identify)
    await second.enter(guild.channels["Lounge"], other, **identify)
    await first.beat()
    await second.beat()
    return first, second


async def nothing_but(receiver: Caller, sender: Caller, frame: bytes) -> None:
    """The next frame is this one: whatever was sent before it was dropped."""
    await sender.settled()
    sender.send(frame)
    assert await receiver.hear() == (sender.ready["ssrc"], frame)


def dropped(world: World, fate: str) -> float:
    return float(world.app.metrics.voice_packets(fate)._value.get())


@pytest.mark.parametrize("one", ENCRYPTION_MODES)
@pytest.mark.parametrize("other", ENCRYPTION_MODES)
async def test_frames_arrive_in_both_modes(guild: Guild, call: Call, one: str, other: str) -> None:
    first, second = await pair(call, guild, one, other)
    for number in range(20):
        packet = first.send(opus(f"frame {number}"))
        assert await second.hear() == (first.ready["ssrc"], opus(f"frame {number}"))
        second.send(opus(f"answer {number}"))
        assert await first.hear() == (second.ready["ssrc"], opus(f"answer {number}"))
        assert packet[:12]


async def test_headers_arrive_as_they_were(guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild, AES, XCHACHA)
    # Two sources and an extension, whose body is encrypted with the frame.
    header = struct.pack(">BBHIIII", 0x92, 0x78, 7, 6720, first.ready["ssrc"], 11, 12) + b"\xbe\xde\x00\x01"
    first.throw(sealed(AES, first.key, header, b"\x10\xff\x00\x00" + opus("frame"), 9))
    data = await second.datagram(lambda data: data[0] == 0x92)
    assert data[:24] == header
    assert opened(XCHACHA, second.key, data, 24) == b"\x10\xff\x00\x00" + opus("frame")


async def test_everybody_in_the_call_hears_and_nobody_else(guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    third, outside = await call(), await call()
    await third.enter(guild.channels["Lounge"], XCHACHA)
    await outside.enter(guild.channels["Den"])
    first.send(opus("all"))
    assert await second.hear() == await third.hear() == (first.ready["ssrc"], opus("all"))
    await first.settled()
    for silent in (first, outside):
        await silent.settled()


async def test_discovery_and_pings(guild: Guild, call: Call) -> None:
    caller = await call()
    await caller.get_ticket(guild.channels["Lounge"])
    await caller.open()
    await caller.identify()
    address, port = await caller.discover()
    assert caller.udp is not None
    assert (address, port) == caller.udp.get_extra_info("sockname")
    # For numbers of nobody there is no answer, nor for keepalives.
    caller.throw(struct.pack(">HHI66x", 1, 70, caller.ready["ssrc"] + 1))
    caller.throw(struct.pack("<II", 5, 0))
    caller.throw(b"\x13\x37\xca\xfe" + b"1234")
    own = struct.pack(">I", caller.ready["ssrc"])
    # One's own address may be told again until a mode is chosen.
    assert await caller.datagram(lambda data: data[4:8] != own) == b"\x13\x37\xf0\x0d1234"
    again = await caller.datagram()
    assert (len(again), again[4:8]) == (74, own)


async def test_what_was_not_made_with_the_key_is_dropped(world: World, guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    good = first.packet(opus("good"))
    first.throw(first.packet(opus("other key"), key=second.key))
    first.throw(first.packet(opus("another's number"), ssrc=second.ready["ssrc"]))
    first.throw(first.packet(opus("nobody's number"), ssrc=1))
    first.throw(good[:-1])
    first.throw(good[:20])
    first.throw(b"\x90" + good[1:])
    first.throw(b"\xb5" + good[1:])
    first.throw(good[:5] + b"\xff" + good[6:])
    first.throw(b"")
    first.throw(b"\x00" * 40)
    first.throw(b"\x80")
    first.throw(bytes((0x80, 200)) + bytes(30))
    await nothing_but(second, first, opus("true"))
    assert dropped(world, "forged") >= 6
    assert dropped(world, "unknown") >= 1


async def test_a_packet_is_taken_once(world: World, guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    packet = first.send(opus("once"))
    assert await second.hear() == (first.ready["ssrc"], opus("once"))
    for _ in range(3):
        first.throw(packet)
    await nothing_but(second, first, opus("next"))
    assert dropped(world, "replayed") == 3


async def test_another_address_with_the_key_is_followed_and_without_it_not(guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    second.send(opus("here I am"))
    assert await first.hear() == (second.ready["ssrc"], opus("here I am"))
    # Somebody who knows the number alone gets an answer, and none of the packets.
    thief = await call()
    thief.ready = second.ready
    await thief.discover()
    await nothing_but(second, first, opus("still here"))
    # The client itself may come from elsewhere.
    moved = await call()
    moved.ready, moved.description, moved.number, moved.sequence = second.ready, second.description, 50, 50
    await moved.discover()
    moved.send(opus("moved"))
    assert await first.hear() == (second.ready["ssrc"], opus("moved"))
    first.send(opus("found"))
    assert await moved.hear() == (first.ready["ssrc"], opus("found"))


async def test_plain_frames_are_not_forwarded_in_an_encrypted_call(world: World, guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    assert first.description["dave_protocol_version"] == 1
    first.send(b"plain opus")
    await first.settled()
    assert dropped(world, "plain") == 1
    first.send(SILENCE)
    assert await second.hear() == (first.ready["ssrc"], SILENCE)
    await nothing_but(second, first, opus("encrypted"))


async def test_who_has_not_said_that_they_speak_is_not_heard_before_they_do(guild: Guild, call: Call) -> None:
    _, second = await pair(call, guild)
    third = await call()
    await third.get_ticket(guild.channels["Lounge"])
    await third.open()
    await third.identify()
    await third.discover()
    await third.select()
    for number in range(20):
        third.send(opus(f"early {number}"))
    await third.settled()
    await third.say(5, {"speaking": 1, "delay": 0, "ssrc": third.ready["ssrc"]})
    await third.beat()
    third.send(opus("in time"))
    # What came shortly before is not lost, but not everything is kept.
    heard = [await second.hear() for _ in range(17)]
    told = [*(f"early {number}" for number in range(4, 20)), "in time"]
    assert heard == [(third.ready["ssrc"], opus(text)) for text in told]


async def follows(world: World, caller: Caller, **state: bool) -> None:
    """Wait until the voice server knows of a state."""
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[caller.guild.id, caller.actor.id].peer
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while {name: getattr(peer, name) for name in state} != state:
            await asyncio.sleep(0)


async def test_the_muted_are_not_heard_and_the_deaf_do_not_hear(world: World, guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    third = await call()
    await third.enter(guild.channels["Lounge"])
    lounge = guild.channels["Lounge"]
    path = f"/guilds/{guild.id}/members/{first.actor.id}"
    for mute, unmute in (
        (lambda: first.ask(lounge, self_mute=True), lambda: first.ask(lounge)),
        (lambda: guild.owner.patch(path, json={"mute": True}), lambda: guild.owner.patch(path, json={"mute": False})),
    ):
        await mute()
        await first.session.wait_processed()
        await follows(world, first, silent=True)
        first.send(opus("muted"))
        await first.settled()
        await unmute()
        await first.session.wait_processed()
        await follows(world, first, silent=False)
        await nothing_but(second, first, opus("unmuted"))
        assert await third.hear() == (first.ready["ssrc"], opus("unmuted"))
    await third.ask(lounge, self_deaf=True)
    await third.session.wait_processed()
    await follows(world, third, deaf=True)
    await nothing_but(second, first, opus("for the second"))
    await third.ask(lounge)
    await third.session.wait_processed()
    await follows(world, third, deaf=False)
    first.send(opus("for both"))
    assert await third.hear() == (first.ready["ssrc"], opus("for both"))


async def test_streams_that_are_not_wanted(guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    await second.say(15, {str(first.ready["ssrc"]): 0, "any": 100, "nonsense": 0})
    await second.beat()
    first.send(opus("unwanted"))
    await first.settled()
    await second.say(15, {str(first.ready["ssrc"]): 100})
    await second.beat()
    await nothing_but(second, first, opus("wanted"))


async def test_video_goes_under_the_announced_number_only(guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    video = first.ready["ssrc"] + 1
    first.throw(first.packet(opus("not announced"), ssrc=video))
    await first.settled()
    await first.say(12, {"audio_ssrc": video - 1, "video_ssrc": video, "rtx_ssrc": video + 1, "streams": []})
    await first.beat()
    first.throw(first.packet(opus("picture"), ssrc=video))
    assert await second.hear() == (video, opus("picture"))


async def test_reports_come_and_at_the_end_a_farewell(guild: Guild, call: Call) -> None:
    first, _ = await pair(call, guild)
    report = await first.datagram(lambda data: data[1] == 201)
    body = opened(AES, first.key, report, 8)
    assert (report[0], report[2:8]) == (0x81, b"\x00\x07\x00\x00\x00\x01")
    assert int.from_bytes(body[:4], "big") == first.ready["ssrc"]
    await first.ask(None)
    assert await first.closed() == 4014
    for _ in range(3):
        bye = await first.datagram(lambda data: data[1] == 203)
        assert opened(AES, first.key, bye, 8) == b""


async def test_control_packets_of_clients_prove_their_address(world: World, guild: Guild, call: Call) -> None:
    first, second = await pair(call, guild)
    moved = await call()
    moved.ready, moved.description = second.ready, second.description
    await moved.discover()
    header = struct.pack(">BBHI", 0x80, 201, 1, second.ready["ssrc"])
    moved.throw(sealed(AES, second.key, header, b"", 99))
    await moved.settled()
    first.send(opus("found"))
    assert await moved.hear() == (first.ready["ssrc"], opus("found"))


@pytest.mark.dated(changes.VOICE_ENCRYPTION)
@pytest.mark.parametrize("mode", OLD_ENCRYPTION_MODES)
async def test_old_modes_on_both_sides_of_their_end(world: World, guild: Guild, call: Call, mode: str) -> None:
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms - 1)
    old, new = await pair(call, guild, mode, XCHACHA, max_dave_protocol_version=0)
    assert old.ready["modes"] == [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES]
    old.send(b"plain opus")
    assert await new.hear() == (old.ready["ssrc"], b"plain opus")
    new.send(b"answer")
    assert await old.hear() == (new.ready["ssrc"], b"answer")
    old.throw(old.packet(b"forged", key=new.key))
    await nothing_but(new, old, b"true")
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms)
    late = await call()
    await late.get_ticket(guild.channels["Lounge"])
    await late.open()
    assert (await late.identify())["modes"] == list(ENCRYPTION_MODES)
    await late.say(1, {"protocol": "udp", "data": {"address": "127.0.0.1", "port": 1, "mode": mode}})
    assert await late.closed() == 4016


async def test_encrypted_frames_do_not_reach_who_cannot_open_them(world: World, guild: Guild, call: Call) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    new, old = await call(), await call()
    await new.enter(guild.channels["Lounge"])
    await old.enter(guild.channels["Lounge"], max_dave_protocol_version=0)
    assert old.description["dave_protocol_version"] == 0
    new.send(opus("encrypted"))
    await nothing_but(old, new, b"plain")


def test_a_window_takes_each_number_once() -> None:
    window = ReplayWindow(16)
    assert [window.record(number) for number in (10, 12, 11, 11, 10, 12, 74, 11, 12)] == [
        *(True, True, True),
        *(False, False, False),
        *(True, False, False),
    ]
    assert window.record(75 + 1000)
    assert not window.record(75 + 1000 - 64)
    assert window.record(75 + 1000 - 63)
    wrap = ReplayWindow(16)
    assert [wrap.record(number) for number in (65_534, 65_535, 0, 1, 65_535, 0)] == [True] * 4 + [False] * 2


@given(st.lists(st.integers(0, 100), max_size=60))
def test_no_number_is_taken_twice(numbers: list[int]) -> None:
    window = ReplayWindow(32)
    taken = [number for number in numbers if window.record(number)]
    assert len(taken) == len(set(taken))


def test_how_much_arrived() -> None:
    reception = Reception()
    for sequence in (65_533, 65_535, 0, 2, 1):
        reception.record(sequence)
    assert (reception.highest, reception.lost) == (1 << 16 | 2, 1)


@given(st.binary(min_size=12, max_size=80), st.integers(12, 80))
def test_frames_are_looked_for_in_anything(packet: bytes, clear: int) -> None:
    frame = extract_frame(packet, min(clear, len(packet)))
    assert frame is None or frame in packet
