"""Invalid frames and datagrams of clients, which cause no server error, and packets of every encryption mode."""

import asyncio
import json
import logging
import socket
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.media.ciphers import CIPHERS
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES, VoiceOpcode
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice.peers import ForwardingGroup
from hubbub.server.transports.voice.sfu import Forwarder
from hubbub.server.transports.voice.webrtc import Offer
from tests.server.voice.caller import encrypt_packet, fake_encrypted_frame
from tests.server.voice.conftest import MakeCaller
from tests.server.voice.webrtc.browser import binding_request
from tests.world import Guild

INVALID_VALUES: list[Any] = [None, True, -1, 2**70, 1.5, "", "x" * 3000, "\0", [], {}, [[]], {"": None}]
FIELDS_BY_OPCODE = {
    VoiceOpcode.IDENTIFY: (
        "server_id",
        "user_id",
        "session_id",
        "token",
        "max_dave_protocol_version",
        "streams",
        "channel_id",
    ),
    VoiceOpcode.SELECT_PROTOCOL: ("protocol", "data", "codecs"),
    VoiceOpcode.HEARTBEAT: ("t", "seq_ack"),
    VoiceOpcode.SPEAKING: ("speaking", "delay", "ssrc"),
    VoiceOpcode.RESUME: ("server_id", "session_id", "token", "seq_ack"),
    VoiceOpcode.VIDEO: ("audio_ssrc", "video_ssrc", "rtx_ssrc", "streams"),
    VoiceOpcode.SESSION_UPDATE: ("codecs",),
    VoiceOpcode.MEDIA_SINK_WANTS: ("any", "1", "99999999999999999999"),
    VoiceOpcode.BACKEND_VERSION: ("voice",),
    VoiceOpcode.DAVE_TRANSITION_READY: ("transition_id",),
    VoiceOpcode.MLS_INVALID_COMMIT_WELCOME: ("transition_id",),
    VoiceOpcode.NO_ROUTE: ("x",),
}


def invalid_frames(opcode: int) -> list[str]:
    """Return frames of an opcode with an invalid payload, or with one invalid field."""
    frames: list[Any] = [{"op": opcode}, *({"op": opcode, "d": value} for value in INVALID_VALUES)]
    valid = {
        VoiceOpcode.IDENTIFY: {"server_id": "1", "user_id": "1", "session_id": "s", "token": "t"},
        VoiceOpcode.SELECT_PROTOCOL: {"protocol": "udp", "data": {"mode": "x"}},
        VoiceOpcode.HEARTBEAT: {"t": 1, "seq_ack": 1},
        VoiceOpcode.RESUME: {"server_id": "1", "session_id": "s", "token": "t"},
    }.get(opcode, dict.fromkeys(FIELDS_BY_OPCODE[opcode], 1))
    frames += [
        {"op": opcode, "d": {**valid, field: value}} for field in FIELDS_BY_OPCODE[opcode] for value in INVALID_VALUES
    ]
    return [json.dumps(frame) for frame in frames]


@pytest.mark.parametrize("opcode", FIELDS_BY_OPCODE)
async def test_no_frame_causes_a_server_error(
    guild: Guild, make_caller: MakeCaller, opcode: int, caplog: pytest.LogCaptureFixture
) -> None:
    caller, other_caller = await make_caller(), await make_caller()
    await other_caller.join_and_connect(guild.channels["Lounge"])
    await caller.join(guild.channels["Lounge"])
    is_connected = False
    for frame in invalid_frames(opcode):
        if not is_connected or caller.socket.closed:
            await caller.open_socket()
            if opcode != VoiceOpcode.IDENTIFY:
                if (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).status == 404:
                    # The client was rejected with a valid ticket, so it left the channel.
                    await caller.join(guild.channels["Lounge"])
                await caller.identify()
            is_connected = True
        await caller.socket.send_str(frame)
        await caller.send_json(VoiceOpcode.HEARTBEAT, {"t": 77, "seq_ack": -1})
        message = await caller.socket.receive(timeout=10)
        while message.type.name in ("TEXT", "BINARY") and '"t":77' not in str(message.data):
            message = await caller.socket.receive(timeout=10)
        if message.type.name == "CLOSE":
            assert 4000 < message.data < 4100, (frame, message.data)
            await caller.socket.close()
    await other_caller.heartbeat()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.fixture
def unread_udp_socket() -> Any:
    """A non-blocking UDP socket for a forwarder. No test reads it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
def test_no_datagram_causes_a_forwarder_error(unread_udp_socket: socket.socket, mode: str) -> None:
    address = unread_udp_socket.getsockname()

    async def forward(packets: list[bytes]) -> None:
        forwarder, group = Forwarder(unread_udp_socket, Metrics()), ForwardingGroup(lambda: False)
        sender, receiver = forwarder.add_peer(), forwarder.add_peer()
        key = forwarder.create_key(sender, mode)
        forwarder.create_key(receiver, mode)
        for peer in (sender, receiver):
            peer.address, peer.has_announced_speaking, peer.supports_dave = address, True, True
            group.add(peer)
        ssrc = struct.pack(">I", sender.ssrc)
        for number, packet in enumerate(packets):
            forwarder.handle_datagram(packet, address)
            # The forwarder also receives the bytes with a valid SSRC, and encrypted with a valid key.
            forwarder.handle_datagram(packet[:8] + ssrc + packet[12:], address)
            header = bytes((0x80 | packet[0] & 0x3F if packet else 0x80, 0x78)) + struct.pack(">HI", number, 1) + ssrc
            forwarder.handle_datagram(encrypt_packet(mode, key, header, packet, number), address)
            forwarder.handle_datagram(encrypt_packet(mode, key, header, fake_encrypted_frame("x"), number), address)
            forwarder.handle_datagram(bytes((0x80, 201, 0, 1)) + ssrc + packet, address)
        for peer in (sender, receiver):
            forwarder.remove_peer(peer)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.binary(max_size=200), max_size=8))
    def check(packets: list[bytes]) -> None:
        asyncio.run(forward(packets))

    check()


def test_no_datagram_causes_an_error_in_the_transport_of_a_browser(unread_udp_socket: socket.socket) -> None:
    address = unread_udp_socket.getsockname()
    offer = Offer.parse(
        f"a=fingerprint:sha-256 {':'.join(['AB'] * 32)}\na=ice-ufrag:abcd\na=rtpmap:111 opus/48000/2", None
    )

    async def receive(packets: list[bytes]) -> None:
        forwarder = Forwarder(unread_udp_socket, Metrics())
        peer = forwarder.add_peer()
        for packet in packets:
            browser = forwarder.open_browser(peer, offer, lambda: None)
            valid = binding_request(f"{browser.ufrag}:abcd", browser.password)
            extended_request = binding_request(
                f"{browser.ufrag}:abcd", browser.password, extra=packet[: len(packet) // 4 * 4]
            )
            for request in (valid, extended_request, extended_request[:-1]):
                forwarder.handle_datagram(request, address)
            assert browser.address == address
            for prefix in (b"", b"\x00\x01", b"\x14\xfe\xfd", b"\x16\xfe\xfd", b"\x80\x6f", b"\x80\xc8"):
                forwarder.handle_datagram(prefix + packet, address)
        forwarder.remove_peer(peer)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.binary(max_size=200), max_size=4))
    def check(packets: list[bytes]) -> None:
        asyncio.run(receive(packets))

    check()


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
@given(header=st.binary(min_size=12, max_size=40), body=st.binary(max_size=300))
def test_encrypted_packets_decrypt_to_their_content(mode: str, header: bytes, body: bytes) -> None:
    key = bytes(range(32))
    sender_cipher, receiver_cipher = CIPHERS[mode](key), CIPHERS[mode](key)
    if not sender_cipher.has_rtpsize_header:
        header = header[:12]
    assert receiver_cipher.decrypt(sender_cipher.encrypt(header, body), len(header))[0] == body
