"""Voice packets: encryption modes, IP discovery, forwarding, dropped packets, replay windows and receiver reports."""

import asyncio
import socket
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.media.rtp import extract_frame, key_frame_request_ssrcs
from hubbub.protocol import changes
from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES, VoiceOpcode
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice.peers import ADDRESS_PROOF_PACKETS
from hubbub.server.transports.voice.reception import Reception, ReplayWindow
from hubbub.server.transports.voice.sfu import Forwarder
from tests.server.voice.caller import (
    AES,
    SILENCE,
    XCHACHA,
    Caller,
    decrypt_packet,
    dropped_packet_count,
    encrypt_packet,
    fake_encrypted_frame,
    is_media_packet,
)
from tests.server.voice.conftest import MakeCaller
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World


async def connect_two_callers(
    make_caller: MakeCaller, guild: Guild, first_mode: str = AES, second_mode: str = AES, **identify: Any
) -> tuple[Caller, Caller]:
    """Connect two callers to one channel."""
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"], first_mode, **identify)
    await second_caller.join_and_connect(guild.channels["Lounge"], second_mode, **identify)
    await first_caller.heartbeat()
    await second_caller.heartbeat()
    return first_caller, second_caller


async def send_and_assert_next_frame(receiver: Caller, sender: Caller, frame: bytes) -> None:
    """Send a frame and assert that it is the next one received, which proves that all frames before it were dropped."""
    await sender.wait_packets_read()
    sender.send_frame(frame)
    assert await receiver.receive_media() == (sender.ready["ssrc"], frame)


@pytest.mark.parametrize("first_mode", ENCRYPTION_MODES)
@pytest.mark.parametrize("second_mode", ENCRYPTION_MODES)
async def test_frames_are_forwarded_in_both_modes(
    guild: Guild, make_caller: MakeCaller, first_mode: str, second_mode: str
) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild, first_mode, second_mode)
    for number in range(20):
        first_caller.send_frame(fake_encrypted_frame(f"frame {number}"))
        assert await second_caller.receive_media() == (
            first_caller.ready["ssrc"],
            fake_encrypted_frame(f"frame {number}"),
        )
        second_caller.send_frame(fake_encrypted_frame(f"response {number}"))
        assert await first_caller.receive_media() == (
            second_caller.ready["ssrc"],
            fake_encrypted_frame(f"response {number}"),
        )


async def test_headers_are_forwarded_unchanged(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild, AES, XCHACHA)
    # Two contributing sources and a header extension, whose body is encrypted with the frame.
    header = struct.pack(">BBHIIII", 0x92, 0x78, 7, 6720, first_caller.ready["ssrc"], 11, 12) + b"\xbe\xde\x00\x01"
    first_caller.send_datagram(
        encrypt_packet(AES, first_caller.secret_key, header, b"\x10\xff\x00\x00" + fake_encrypted_frame("frame"), 9)
    )
    data = await second_caller.receive_datagram(lambda data: data[0] == 0x92)
    assert data[:24] == header
    assert decrypt_packet(XCHACHA, second_caller.secret_key, data, 24) == b"\x10\xff\x00\x00" + fake_encrypted_frame(
        "frame"
    )


async def test_packets_are_forwarded_to_all_callers_of_the_channel_only(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    third_caller, outsider = await make_caller(), await make_caller()
    await third_caller.join_and_connect(guild.channels["Lounge"], XCHACHA)
    await outsider.join_and_connect(guild.channels["Den"])
    first_caller.send_frame(fake_encrypted_frame("all"))
    assert (
        await second_caller.receive_media()
        == await third_caller.receive_media()
        == (first_caller.ready["ssrc"], fake_encrypted_frame("all"))
    )
    for caller in (first_caller, outsider):
        assert not any(is_media_packet(data) for data in await caller.wait_packets_read())


async def test_discovery_requests_and_pings_get_responses(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join(guild.channels["Lounge"])
    await caller.open_socket()
    await caller.identify()
    address, port = await caller.discover_ip()
    assert caller.udp_transport is not None
    assert (address, port) == caller.udp_transport.get_extra_info("sockname")
    # An unknown SSRC and a keepalive get no response.
    caller.send_datagram(struct.pack(">HHI66x", 1, 70, caller.ready["ssrc"] + 1))
    caller.send_datagram(struct.pack("<II", 5, 0))
    caller.send_datagram(b"\x13\x37\xca\xfe" + b"1234")
    ssrc = struct.pack(">I", caller.ready["ssrc"])
    # The discovery response is repeated until a mode is selected.
    assert await caller.receive_datagram(lambda data: data[4:8] != ssrc) == b"\x13\x37\xf0\x0d1234"
    repeated_response = await caller.receive_datagram()
    assert (len(repeated_response), repeated_response[4:8]) == (74, ssrc)


async def test_forged_packets_are_dropped(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    valid_packet = first_caller.build_packet(fake_encrypted_frame("good"))
    first_caller.send_datagram(
        first_caller.build_packet(fake_encrypted_frame("other key"), key=second_caller.secret_key)
    )
    first_caller.send_datagram(
        first_caller.build_packet(fake_encrypted_frame("SSRC of another caller"), ssrc=second_caller.ready["ssrc"])
    )
    first_caller.send_datagram(first_caller.build_packet(fake_encrypted_frame("unknown SSRC"), ssrc=1))
    first_caller.send_datagram(valid_packet[:-1])
    first_caller.send_datagram(valid_packet[:20])
    first_caller.send_datagram(b"\x90" + valid_packet[1:])
    first_caller.send_datagram(b"\xb5" + valid_packet[1:])
    first_caller.send_datagram(valid_packet[:5] + b"\xff" + valid_packet[6:])
    first_caller.send_datagram(b"")
    first_caller.send_datagram(b"\x00" * 40)
    first_caller.send_datagram(b"\x80")
    first_caller.send_datagram(bytes((0x80, 200)) + bytes(30))
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("true"))
    assert dropped_packet_count(world, "forged") >= 6
    assert dropped_packet_count(world, "unknown") >= 1


async def test_a_replayed_packet_is_dropped(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    packet = first_caller.send_frame(fake_encrypted_frame("once"))
    assert await second_caller.receive_media() == (first_caller.ready["ssrc"], fake_encrypted_frame("once"))
    for _ in range(3):
        first_caller.send_datagram(packet)
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("next"))
    assert dropped_packet_count(world, "replayed") == 3


async def test_only_a_client_with_the_key_can_change_its_address(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    second_caller.send_frame(fake_encrypted_frame("here I am"))
    assert await first_caller.receive_media() == (second_caller.ready["ssrc"], fake_encrypted_frame("here I am"))
    # A client that knows only the SSRC gets a discovery response, but no packets.
    other_client = await make_caller()
    other_client.ready = second_caller.ready
    await other_client.discover_ip()
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("still here"))
    # A client with the key may change its address.
    moved_caller = await make_caller()
    moved_caller.ready, moved_caller.session_description, moved_caller.last_nonce, moved_caller.last_sequence = (
        second_caller.ready,
        second_caller.session_description,
        50,
        50,
    )
    await moved_caller.discover_ip()
    for number in range(ADDRESS_PROOF_PACKETS):
        moved_caller.send_frame(fake_encrypted_frame(f"moved {number}"))
        assert await first_caller.receive_media() == (
            second_caller.ready["ssrc"],
            fake_encrypted_frame(f"moved {number}"),
        )
    first_caller.send_frame(fake_encrypted_frame("found"))
    assert await moved_caller.receive_media() == (first_caller.ready["ssrc"], fake_encrypted_frame("found"))


async def test_a_discovery_request_does_not_change_the_address_of_a_listener(
    guild: Guild, make_caller: MakeCaller
) -> None:
    first_caller, listener = await connect_two_callers(make_caller, guild)
    # The listener has sent no packet; another client that knows its SSRC gets a response, but no packets.
    other_client = await make_caller()
    other_client.ready = listener.ready
    await other_client.discover_ip()
    await send_and_assert_next_frame(listener, first_caller, fake_encrypted_frame("for the listener"))


async def test_an_address_that_was_not_discovered_receives_nothing_until_it_sends(
    guild: Guild, make_caller: MakeCaller
) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(guild.channels["Lounge"])
    await second_caller.join(guild.channels["Lounge"])
    await second_caller.open_socket()
    await second_caller.identify()
    address = await second_caller.discover_ip()
    second_caller.discovered_address = (address[0], first_caller.discovered_address[1])
    await second_caller.select_protocol()
    await second_caller.send_json(
        VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": second_caller.ready["ssrc"]}
    )
    await second_caller.heartbeat()
    first_caller.send_frame(fake_encrypted_frame("too early"))
    await first_caller.wait_packets_read()
    second_caller.send_frame(fake_encrypted_frame("here I am"))
    assert await first_caller.receive_media() == (second_caller.ready["ssrc"], fake_encrypted_frame("here I am"))
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("in time"))


def test_a_discovery_request_from_an_unproven_address_gets_one_response_of_at_most_its_size() -> None:
    async def discover(proven_ip: str | None, padding: bytes = b"") -> list[int]:
        server_socket, client_socket = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        with server_socket, client_socket:
            for sock in (server_socket, client_socket):
                sock.bind(("127.0.0.1", 0))
                sock.setblocking(False)
            forwarder = Forwarder(server_socket, Metrics())
            peer = forwarder.add_peer()
            peer.proven_ip = proven_ip
            request = struct.pack(">HHI66x", 1, 70, peer.ssrc) + padding
            forwarder.handle_datagram(request, client_socket.getsockname())
            sizes: list[int] = []
            while peer.discovery_timer is not None or not sizes:
                sizes.append(len(await asyncio.get_running_loop().sock_recv(client_socket, 2048)))
            return sizes

    assert asyncio.run(discover(None)) == [74]
    assert asyncio.run(discover("192.0.2.1")) == [74]
    assert asyncio.run(discover("127.0.0.1")) == [74] * 4
    # hikari-wave sends four bytes too many.
    assert asyncio.run(discover("192.0.2.1", bytes(4))) == [74]


async def test_plain_frames_are_not_forwarded_in_an_encrypted_call(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    assert first_caller.session_description["dave_protocol_version"] == 1
    first_caller.send_frame(b"plain opus")
    await first_caller.wait_packets_read()
    assert dropped_packet_count(world, "plain") == 1
    first_caller.send_frame(SILENCE)
    assert await second_caller.receive_media() == (first_caller.ready["ssrc"], SILENCE)
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("encrypted"))


async def test_packets_before_the_speaking_message_are_buffered(guild: Guild, make_caller: MakeCaller) -> None:
    _, second_caller = await connect_two_callers(make_caller, guild)
    third_caller = await make_caller()
    await third_caller.join(guild.channels["Lounge"])
    await third_caller.open_socket()
    await third_caller.identify()
    await third_caller.discover_ip()
    await third_caller.select_protocol()
    for number in range(20):
        third_caller.send_frame(fake_encrypted_frame(f"early {number}"))
    await third_caller.wait_packets_read()
    await third_caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": third_caller.ready["ssrc"]})
    await third_caller.heartbeat()
    third_caller.send_frame(fake_encrypted_frame("in time"))
    # A limited number of packets from before the Speaking message is buffered.
    received_packets = [await second_caller.receive_media() for _ in range(17)]
    expected = [*(f"early {number}" for number in range(4, 20)), "in time"]
    assert received_packets == [(third_caller.ready["ssrc"], fake_encrypted_frame(text)) for text in expected]


async def wait_voice_state_applied(world: World, caller: Caller, **state: bool) -> None:
    """Wait until the voice server has applied a voice state."""
    assert world.app.voice is not None
    peer = world.app.voice.calls._sessions[caller.guild.id, caller.actor.id].peer
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while {name: getattr(peer, name) for name in state} != state:
            await asyncio.sleep(0)


async def test_muted_callers_send_nothing_and_deafened_callers_receive_nothing(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    third_caller = await make_caller()
    await third_caller.join_and_connect(guild.channels["Lounge"])
    lounge_id = guild.channels["Lounge"]
    path = f"/guilds/{guild.id}/members/{first_caller.actor.id}"
    for mute, unmute in (
        (
            lambda: first_caller.update_voice_state(lounge_id, self_mute=True),
            lambda: first_caller.update_voice_state(lounge_id),
        ),
        (lambda: guild.owner.patch(path, json={"mute": True}), lambda: guild.owner.patch(path, json={"mute": False})),
    ):
        await mute()
        await first_caller.session.wait_processed()
        await wait_voice_state_applied(world, first_caller, is_muted=True)
        first_caller.send_frame(fake_encrypted_frame("muted"))
        await first_caller.wait_packets_read()
        await unmute()
        await first_caller.session.wait_processed()
        await wait_voice_state_applied(world, first_caller, is_muted=False)
        await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("unmuted"))
        assert await third_caller.receive_media() == (first_caller.ready["ssrc"], fake_encrypted_frame("unmuted"))
    await third_caller.update_voice_state(lounge_id, self_deaf=True)
    await third_caller.session.wait_processed()
    await wait_voice_state_applied(world, third_caller, is_deaf=True)
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("for the second"))
    await third_caller.update_voice_state(lounge_id)
    await third_caller.session.wait_processed()
    await wait_voice_state_applied(world, third_caller, is_deaf=False)
    first_caller.send_frame(fake_encrypted_frame("for both"))
    assert await third_caller.receive_media() == (first_caller.ready["ssrc"], fake_encrypted_frame("for both"))


async def test_video_is_forwarded_while_the_sender_is_muted_and_the_receiver_deafened(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    lounge_id = guild.channels["Lounge"]
    video = first_caller.ready["ssrc"] + 1
    await first_caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": video - 1, "video_ssrc": video, "rtx_ssrc": video + 1, "streams": []}
    )
    await first_caller.heartbeat()
    await first_caller.update_voice_state(lounge_id, self_mute=True)
    await wait_voice_state_applied(world, first_caller, is_muted=True, is_suppressed=False)
    await second_caller.update_voice_state(lounge_id, self_deaf=True)
    await wait_voice_state_applied(world, second_caller, is_deaf=True)
    first_caller.send_frame(fake_encrypted_frame("muted"))
    first_caller.send_datagram(first_caller.build_packet(fake_encrypted_frame("picture"), ssrc=video))
    assert await second_caller.receive_media() == (video, fake_encrypted_frame("picture"))


async def test_unwanted_streams_are_not_forwarded(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    await second_caller.send_json(
        VoiceOpcode.MEDIA_SINK_WANTS, {str(first_caller.ready["ssrc"]): 0, "any": 100, "nonsense": 0}
    )
    await second_caller.heartbeat()
    first_caller.send_frame(fake_encrypted_frame("unwanted"))
    await first_caller.wait_packets_read()
    await second_caller.send_json(VoiceOpcode.MEDIA_SINK_WANTS, {str(first_caller.ready["ssrc"]): 100})
    await second_caller.heartbeat()
    await send_and_assert_next_frame(second_caller, first_caller, fake_encrypted_frame("wanted"))


async def test_video_is_forwarded_only_with_an_announced_ssrc(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    video = first_caller.ready["ssrc"] + 1
    first_caller.send_datagram(first_caller.build_packet(fake_encrypted_frame("not announced"), ssrc=video))
    await first_caller.wait_packets_read()
    await first_caller.send_json(
        VoiceOpcode.VIDEO, {"audio_ssrc": video - 1, "video_ssrc": video, "rtx_ssrc": video + 1, "streams": []}
    )
    await first_caller.heartbeat()
    first_caller.send_datagram(first_caller.build_packet(fake_encrypted_frame("picture"), ssrc=video))
    assert await second_caller.receive_media() == (video, fake_encrypted_frame("picture"))


async def test_receiver_reports_and_a_final_bye_are_sent(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, _ = await connect_two_callers(make_caller, guild)
    report = await first_caller.receive_datagram(lambda data: data[1] == 201)
    body = decrypt_packet(AES, first_caller.secret_key, report, 8)
    assert (report[0], report[2:8]) == (0x81, b"\x00\x07\x00\x00\x00\x01")
    assert int.from_bytes(body[:4], "big") == first_caller.ready["ssrc"]
    await first_caller.update_voice_state(None)
    assert await first_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    for _ in range(3):
        bye = await first_caller.receive_datagram(lambda data: data[1] == 203)
        assert decrypt_packet(AES, first_caller.secret_key, bye, 8) == b""


async def test_control_packets_confirm_a_new_address(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller = await connect_two_callers(make_caller, guild)
    moved_caller = await make_caller()
    moved_caller.ready, moved_caller.session_description = second_caller.ready, second_caller.session_description
    await moved_caller.discover_ip()
    header = struct.pack(">BBHI", 0x80, 201, 1, second_caller.ready["ssrc"])
    for number in range(ADDRESS_PROOF_PACKETS):
        moved_caller.send_datagram(encrypt_packet(AES, second_caller.secret_key, header, b"", 99 + number))
    await moved_caller.wait_packets_read()
    first_caller.send_frame(fake_encrypted_frame("found"))
    assert await moved_caller.receive_media() == (first_caller.ready["ssrc"], fake_encrypted_frame("found"))


@pytest.mark.one_postgres_case
@pytest.mark.dated(changes.VOICE_ENCRYPTION)
@pytest.mark.parametrize("mode", OLD_ENCRYPTION_MODES)
async def test_old_modes_are_rejected_since_the_change(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms - 1)
    old_mode_caller, new_mode_caller = await connect_two_callers(
        make_caller, guild, mode, XCHACHA, max_dave_protocol_version=0
    )
    assert old_mode_caller.ready["modes"] == [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES]
    old_mode_caller.send_frame(b"plain opus")
    assert await new_mode_caller.receive_media() == (old_mode_caller.ready["ssrc"], b"plain opus")
    new_mode_caller.send_frame(b"response")
    assert await old_mode_caller.receive_media() == (new_mode_caller.ready["ssrc"], b"response")
    old_mode_caller.send_datagram(old_mode_caller.build_packet(b"forged", key=new_mode_caller.secret_key))
    await send_and_assert_next_frame(new_mode_caller, old_mode_caller, b"true")
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms)
    later_caller = await make_caller()
    await later_caller.join(guild.channels["Lounge"])
    await later_caller.open_socket()
    assert (await later_caller.identify())["modes"] == list(ENCRYPTION_MODES)
    await later_caller.send_json(
        VoiceOpcode.SELECT_PROTOCOL, {"protocol": "udp", "data": {"address": "127.0.0.1", "port": 1, "mode": mode}}
    )
    assert await later_caller.wait_close_code() == VoiceCloseCode.UNKNOWN_ENCRYPTION_MODE


@pytest.mark.parametrize("mode", ["xsalsa20_poly1305", "xsalsa20_poly1305_suffix"])
async def test_old_modes_accept_sequence_numbers_that_wrap_around(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms - 1)
    old, new_mode_caller = await connect_two_callers(make_caller, guild, mode, AES, max_dave_protocol_version=0)
    old.last_sequence = 0xFFFD
    for number in range(2):
        old.send_frame(f"before {number}".encode())
        assert await new_mode_caller.receive_media() == (old.ready["ssrc"], f"before {number}".encode())
    old.last_sequence = -1
    old.send_frame(b"after")
    assert await new_mode_caller.receive_media() == (old.ready["ssrc"], b"after")


@pytest.mark.parametrize("mode", ["aead_aes256_gcm", "xsalsa20_poly1305_lite"])
async def test_short_header_modes_encrypt_all_after_the_fixed_header(
    world: World, guild: Guild, make_caller: MakeCaller, mode: str
) -> None:
    world.clock.set(changes.VOICE_ENCRYPTION.at_ms - 1)
    old_mode_caller, new_mode_caller = await connect_two_callers(
        make_caller, guild, mode, AES, max_dave_protocol_version=0
    )
    header = struct.pack(">BBHII", 0x90, 0x78, 7, 6720, old_mode_caller.ready["ssrc"])
    extension = b"\xbe\xde\x00\x01" + b"\x10\xff\x00\x00"
    old_mode_caller.send_datagram(encrypt_packet(mode, old_mode_caller.secret_key, header, extension + b"opus", 9))
    data = await new_mode_caller.receive_datagram(lambda data: data[0] == 0x90)
    assert decrypt_packet(AES, new_mode_caller.secret_key, data, 16) == extension[4:] + b"opus"


async def test_encrypted_frames_are_not_forwarded_to_clients_without_encryption(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    world.clock.set(changes.E2EE_VOICE_ONLY.at_ms - 1)
    new_caller, old_caller = await make_caller(), await make_caller()
    await new_caller.join_and_connect(guild.channels["Lounge"])
    await old_caller.join_and_connect(guild.channels["Lounge"], max_dave_protocol_version=0)
    assert old_caller.session_description["dave_protocol_version"] == 0
    new_caller.send_frame(fake_encrypted_frame("encrypted"))
    await send_and_assert_next_frame(old_caller, new_caller, b"plain")


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
    accepted_numbers = [number for number in numbers if window.record(number)]
    assert len(accepted_numbers) == len(set(accepted_numbers))


def test_reception_counts_lost_packets() -> None:
    reception = Reception()
    for sequence in (65_533, 65_535, 0, 2, 1):
        reception.record(sequence)
    assert (reception.highest, reception.lost) == (1 << 16 | 2, 1)


@given(st.binary(max_size=80))
def test_any_bytes_can_be_searched_for_key_frame_requests(packet: bytes) -> None:
    assert len(key_frame_request_ssrcs(packet)) <= len(packet)


@given(st.binary(min_size=12, max_size=80), st.integers(12, 80))
def test_any_bytes_can_be_searched_for_a_frame(packet: bytes, clear_length: int) -> None:
    frame = extract_frame(packet, min(clear_length, len(packet)))
    assert frame is None or frame in packet
