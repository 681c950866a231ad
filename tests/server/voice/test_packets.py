"""Voice packets: encryption modes, IP discovery, forwarding, and packets that are dropped silently."""

import asyncio
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.media.rtp import extract_frame
from hubbub.protocol import changes
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES
from hubbub.server.transports.voice.reception import Reception, ReplayWindow
from tests.server.voice.caller import AES, SILENCE, XCHACHA, Caller, decrypt_packet, encrypt_packet, opus
from tests.server.voice.conftest import MakeCaller
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World


async def pair(
    call: MakeCaller, guild: Guild, one: str = AES, other: str = AES, **identify: Any
) -> tuple[Caller, Caller]:
    """Connect two callers to one channel."""
    first, second = await call(), await call()
    await first.join_and_connect(guild.channels["Lounge"], one, **identify)
    await second.join_and_connect(guild.channels["Lounge"], other, **identify)
    await first.heartbeat()
    await second.heartbeat()
    return first, second


async def require_only(receiver: Caller, sender: Caller, frame: bytes) -> None:
    """Assert that the next received frame is this one, so that all frames before it were dropped."""
    await sender.wait_packets_read()
    sender.send(frame)
    assert await receiver.receive_media() == (sender.ready["ssrc"], frame)


def dropped(world: World, reason: str) -> float:
    return float(world.app.metrics.voice_packets(reason)._value.get())


@pytest.mark.parametrize("one", ENCRYPTION_MODES)
@pytest.mark.parametrize("other", ENCRYPTION_MODES)
async def test_frames_are_forwarded_in_both_modes(guild: Guild, call: MakeCaller, one: str, other: str) -> None:
    first, second = await pair(call, guild, one, other)
    for number in range(20):
        packet = first.send(opus(f"frame {number}"))
        assert await second.receive_media() == (first.ready["ssrc"], opus(f"frame {number}"))
        second.send(opus(f"answer {number}"))
        assert await first.receive_media() == (second.ready["ssrc"], opus(f"answer {number}"))
        assert packet[:12]


async def test_headers_are_forwarded_unchanged(guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild, AES, XCHACHA)
    # Two contributing sources and a header extension, whose body is encrypted with the frame.
    header = struct.pack(">BBHIIII", 0x92, 0x78, 7, 6720, first.ready["ssrc"], 11, 12) + b"\xbe\xde\x00\x01"
    first.send_datagram(encrypt_packet(AES, first.key, header, b"\x10\xff\x00\x00" + opus("frame"), 9))
    data = await second.datagram(lambda data: data[0] == 0x92)
    assert data[:24] == header
    assert decrypt_packet(XCHACHA, second.key, data, 24) == b"\x10\xff\x00\x00" + opus("frame")


async def test_packets_are_forwarded_to_all_callers_of_the_channel_only(guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    third, outsider = await call(), await call()
    await third.join_and_connect(guild.channels["Lounge"], XCHACHA)
    await outsider.join_and_connect(guild.channels["Den"])
    first.send(opus("all"))
    assert await second.receive_media() == await third.receive_media() == (first.ready["ssrc"], opus("all"))
    await first.wait_packets_read()
    for caller in (first, outsider):
        await caller.wait_packets_read()


async def test_discovery_and_pings_are_answered(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join(guild.channels["Lounge"])
    await caller.open()
    await caller.identify()
    address, port = await caller.discover()
    assert caller.udp is not None
    assert (address, port) == caller.udp.get_extra_info("sockname")
    # An unknown SSRC and a keepalive get no response.
    caller.send_datagram(struct.pack(">HHI66x", 1, 70, caller.ready["ssrc"] + 1))
    caller.send_datagram(struct.pack("<II", 5, 0))
    caller.send_datagram(b"\x13\x37\xca\xfe" + b"1234")
    ssrc = struct.pack(">I", caller.ready["ssrc"])
    # The discovery response may be sent again until a mode is selected.
    assert await caller.datagram(lambda data: data[4:8] != ssrc) == b"\x13\x37\xf0\x0d1234"
    again = await caller.datagram()
    assert (len(again), again[4:8]) == (74, ssrc)


async def test_forged_packets_are_dropped(world: World, guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    good = first.packet(opus("good"))
    first.send_datagram(first.packet(opus("other key"), key=second.key))
    first.send_datagram(first.packet(opus("SSRC of another caller"), ssrc=second.ready["ssrc"]))
    first.send_datagram(first.packet(opus("unknown SSRC"), ssrc=1))
    first.send_datagram(good[:-1])
    first.send_datagram(good[:20])
    first.send_datagram(b"\x90" + good[1:])
    first.send_datagram(b"\xb5" + good[1:])
    first.send_datagram(good[:5] + b"\xff" + good[6:])
    first.send_datagram(b"")
    first.send_datagram(b"\x00" * 40)
    first.send_datagram(b"\x80")
    first.send_datagram(bytes((0x80, 200)) + bytes(30))
    await require_only(second, first, opus("true"))
    assert dropped(world, "forged") >= 6
    assert dropped(world, "unknown") >= 1


async def test_a_replayed_packet_is_dropped(world: World, guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    packet = first.send(opus("once"))
    assert await second.receive_media() == (first.ready["ssrc"], opus("once"))
    for _ in range(3):
        first.send_datagram(packet)
    await require_only(second, first, opus("next"))
    assert dropped(world, "replayed") == 3


async def test_only_a_client_with_the_key_can_change_its_address(guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    second.send(opus("here I am"))
    assert await first.receive_media() == (second.ready["ssrc"], opus("here I am"))
    # A client that knows only the SSRC gets a discovery response, but no packets.
    thief = await call()
    thief.ready = second.ready
    await thief.discover()
    await require_only(second, first, opus("still here"))
    # A client with the key may change its address.
    moved = await call()
    moved.ready, moved.description, moved.number, moved.sequence = second.ready, second.description, 50, 50
    await moved.discover()
    moved.send(opus("moved"))
    assert await first.receive_media() == (second.ready["ssrc"], opus("moved"))
    first.send(opus("found"))
    assert await moved.receive_media() == (first.ready["ssrc"], opus("found"))


async def test_plain_frames_are_not_forwarded_in_an_encrypted_call(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    first, second = await pair(call, guild)
    assert first.description["dave_protocol_version"] == 1
    first.send(b"plain opus")
    await first.wait_packets_read()
    assert dropped(world, "plain") == 1
    first.send(SILENCE)
    assert await second.receive_media() == (first.ready["ssrc"], SILENCE)
    await require_only(second, first, opus("encrypted"))


async def test_packets_before_the_speaking_message_are_buffered(guild: Guild, call: MakeCaller) -> None:
    _, second = await pair(call, guild)
    third = await call()
    await third.join(guild.channels["Lounge"])
    await third.open()
    await third.identify()
    await third.discover()
    await third.select()
    for number in range(20):
        third.send(opus(f"early {number}"))
    await third.wait_packets_read()
    await third.send_json(5, {"speaking": 1, "delay": 0, "ssrc": third.ready["ssrc"]})
    await third.heartbeat()
    third.send(opus("in time"))
    # A limited number of packets from before the Speaking message is buffered.
    received = [await second.receive_media() for _ in range(17)]
    expected = [*(f"early {number}" for number in range(4, 20)), "in time"]
    assert received == [(third.ready["ssrc"], opus(text)) for text in expected]


async def wait_applied(world: World, caller: Caller, **state: bool) -> None:
    """Wait until the voice server has applied a voice state."""
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[caller.guild.id, caller.actor.id].peer
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while {name: getattr(peer, name) for name in state} != state:
            await asyncio.sleep(0)


async def test_muted_callers_send_nothing_and_deafened_callers_receive_nothing(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    first, second = await pair(call, guild)
    third = await call()
    await third.join_and_connect(guild.channels["Lounge"])
    lounge = guild.channels["Lounge"]
    path = f"/guilds/{guild.id}/members/{first.actor.id}"
    for mute, unmute in (
        (lambda: first.update_voice_state(lounge, self_mute=True), lambda: first.update_voice_state(lounge)),
        (lambda: guild.owner.patch(path, json={"mute": True}), lambda: guild.owner.patch(path, json={"mute": False})),
    ):
        await mute()
        await first.session.wait_processed()
        await wait_applied(world, first, is_muted=True)
        first.send(opus("muted"))
        await first.wait_packets_read()
        await unmute()
        await first.session.wait_processed()
        await wait_applied(world, first, is_muted=False)
        await require_only(second, first, opus("unmuted"))
        assert await third.receive_media() == (first.ready["ssrc"], opus("unmuted"))
    await third.update_voice_state(lounge, self_deaf=True)
    await third.session.wait_processed()
    await wait_applied(world, third, is_deaf=True)
    await require_only(second, first, opus("for the second"))
    await third.update_voice_state(lounge)
    await third.session.wait_processed()
    await wait_applied(world, third, is_deaf=False)
    first.send(opus("for both"))
    assert await third.receive_media() == (first.ready["ssrc"], opus("for both"))


async def test_unwanted_streams_are_not_forwarded(guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    await second.send_json(15, {str(first.ready["ssrc"]): 0, "any": 100, "nonsense": 0})
    await second.heartbeat()
    first.send(opus("unwanted"))
    await first.wait_packets_read()
    await second.send_json(15, {str(first.ready["ssrc"]): 100})
    await second.heartbeat()
    await require_only(second, first, opus("wanted"))


async def test_video_is_forwarded_only_with_an_announced_ssrc(guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    video = first.ready["ssrc"] + 1
    first.send_datagram(first.packet(opus("not announced"), ssrc=video))
    await first.wait_packets_read()
    await first.send_json(12, {"audio_ssrc": video - 1, "video_ssrc": video, "rtx_ssrc": video + 1, "streams": []})
    await first.heartbeat()
    first.send_datagram(first.packet(opus("picture"), ssrc=video))
    assert await second.receive_media() == (video, opus("picture"))


async def test_receiver_reports_and_a_final_bye_are_sent(guild: Guild, call: MakeCaller) -> None:
    first, _ = await pair(call, guild)
    report = await first.datagram(lambda data: data[1] == 201)
    body = decrypt_packet(AES, first.key, report, 8)
    assert (report[0], report[2:8]) == (0x81, b"\x00\x07\x00\x00\x00\x01")
    assert int.from_bytes(body[:4], "big") == first.ready["ssrc"]
    await first.update_voice_state(None)
    assert await first.closed() == 4014
    for _ in range(3):
        bye = await first.datagram(lambda data: data[1] == 203)
        assert decrypt_packet(AES, first.key, bye, 8) == b""


async def test_a_control_packet_confirms_a_new_address(world: World, guild: Guild, call: MakeCaller) -> None:
    first, second = await pair(call, guild)
    moved = await call()
    moved.ready, moved.description = second.ready, second.description
    await moved.discover()
    header = struct.pack(">BBHI", 0x80, 201, 1, second.ready["ssrc"])
    moved.send_datagram(encrypt_packet(AES, second.key, header, b"", 99))
    await moved.wait_packets_read()
    first.send(opus("found"))
    assert await moved.receive_media() == (first.ready["ssrc"], opus("found"))


@pytest.mark.dated(changes.VOICE_ENCRYPTION)
@pytest.mark.parametrize("mode", OLD_ENCRYPTION_MODES)
async def test_old_modes_are_rejected_since_the_change(world: World, guild: Guild, call: MakeCaller, mode: str) -> None:
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms - 1)
    old, new = await pair(call, guild, mode, XCHACHA, max_dave_protocol_version=0)
    assert old.ready["modes"] == [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES]
    old.send(b"plain opus")
    assert await new.receive_media() == (old.ready["ssrc"], b"plain opus")
    new.send(b"answer")
    assert await old.receive_media() == (new.ready["ssrc"], b"answer")
    old.send_datagram(old.packet(b"forged", key=new.key))
    await require_only(new, old, b"true")
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms)
    late = await call()
    await late.join(guild.channels["Lounge"])
    await late.open()
    assert (await late.identify())["modes"] == list(ENCRYPTION_MODES)
    await late.send_json(1, {"protocol": "udp", "data": {"address": "127.0.0.1", "port": 1, "mode": mode}})
    assert await late.closed() == 4016


async def test_encrypted_frames_are_not_forwarded_to_clients_without_encryption(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    new, old = await call(), await call()
    await new.join_and_connect(guild.channels["Lounge"])
    await old.join_and_connect(guild.channels["Lounge"], max_dave_protocol_version=0)
    assert old.description["dave_protocol_version"] == 0
    new.send(opus("encrypted"))
    await require_only(old, new, b"plain")


def test_a_replay_window_accepts_each_number_once() -> None:
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
def test_no_number_is_accepted_twice(numbers: list[int]) -> None:
    window = ReplayWindow(32)
    accepted = [number for number in numbers if window.record(number)]
    assert len(accepted) == len(set(accepted))


def test_reception_counts_lost_packets() -> None:
    reception = Reception()
    for sequence in (65_533, 65_535, 0, 2, 1):
        reception.record(sequence)
    assert (reception.highest, reception.lost) == (1 << 16 | 2, 1)


@given(st.binary(min_size=12, max_size=80), st.integers(12, 80))
def test_any_bytes_can_be_searched_for_a_frame(packet: bytes, clear: int) -> None:
    frame = extract_frame(packet, min(clear, len(packet)))
    assert frame is None or frame in packet
