"""Invalid frames and datagrams of clients cause no server error and do not affect other callers."""

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
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice.sfu import Forwarder, ForwardingGroup
from tests.server.voice.caller import encrypt_packet, opus
from tests.server.voice.conftest import MakeCaller
from tests.world import Guild

VALUES: list[Any] = [None, True, -1, 2**70, 1.5, "", "x" * 3000, "\0", [], {}, [[]], {"": None}]
FIELDS = {
    0: ("server_id", "user_id", "session_id", "token", "max_dave_protocol_version", "streams", "channel_id"),
    1: ("protocol", "data"),
    3: ("t", "seq_ack"),
    5: ("speaking", "delay", "ssrc"),
    7: ("server_id", "session_id", "token", "seq_ack"),
    12: ("audio_ssrc", "video_ssrc", "rtx_ssrc", "streams"),
    14: ("codecs",),
    15: ("any", "1", "99999999999999999999"),
    16: ("voice",),
    23: ("transition_id",),
    31: ("transition_id",),
    32: ("x",),
}


def frames(op: int) -> list[str]:
    """Return frames of an opcode with an invalid payload, or with one invalid field."""
    payloads: list[Any] = [{"op": op}, *({"op": op, "d": value} for value in VALUES)]
    valid = {
        0: {"server_id": "1", "user_id": "1", "session_id": "s", "token": "t"},
        1: {"protocol": "udp", "data": {"mode": "x"}},
        3: {"t": 1, "seq_ack": 1},
        7: {"server_id": "1", "session_id": "s", "token": "t"},
    }.get(op, dict.fromkeys(FIELDS[op], 1))
    payloads += [{"op": op, "d": {**valid, field: value}} for field in FIELDS[op] for value in VALUES]
    return [json.dumps(frame) for frame in payloads]


@pytest.mark.parametrize("op", FIELDS)
async def test_no_frame_causes_a_server_error(
    guild: Guild, call: MakeCaller, op: int, caplog: pytest.LogCaptureFixture
) -> None:
    caller, other = await call(), await call()
    await other.join_and_connect(guild.channels["Lounge"])
    await caller.join(guild.channels["Lounge"])
    connected = False
    for frame in frames(op):
        if not connected or caller.socket.closed:
            await caller.open()
            if op != 0:
                if (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).status == 404:
                    # The client was rejected with a valid ticket, so it left the channel.
                    await caller.join(guild.channels["Lounge"])
                await caller.identify()
            connected = True
        await caller.socket.send_str(frame)
        await caller.send_json(3, {"t": 77, "seq_ack": -1})
        message = await caller.socket.receive(timeout=10)
        while message.type.name in ("TEXT", "BINARY") and '"t":77' not in str(message.data):
            message = await caller.socket.receive(timeout=10)
        if message.type.name == "CLOSE":
            assert 4000 < message.data < 4100, (frame, message.data)
            await caller.socket.close()
    await other.heartbeat()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


@pytest.fixture
def udp() -> Any:
    """A socket that is never read."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
def test_no_datagram_causes_a_forwarder_error(udp: socket.socket, mode: str) -> None:
    address = udp.getsockname()

    async def forward(packets: list[bytes]) -> None:
        forwarder, party = Forwarder(udp, Metrics()), ForwardingGroup(lambda: False)
        sender, receiver = forwarder.add_peer(), forwarder.add_peer()
        key = forwarder.create_key(sender, mode)
        forwarder.create_key(receiver, mode)
        for peer in (sender, receiver):
            peer.address, peer.has_announced_speaking, peer.supports_dave = address, True, True
            party.add(peer)
        ssrc = struct.pack(">I", sender.ssrc)
        for number, packet in enumerate(packets):
            forwarder.handle_datagram(packet, address)
            # The same bytes with a valid SSRC, and encrypted with a valid key.
            forwarder.handle_datagram(packet[:8] + ssrc + packet[12:], address)
            header = bytes((0x80 | packet[0] & 0x3F if packet else 0x80, 0x78)) + struct.pack(">HI", number, 1) + ssrc
            forwarder.handle_datagram(encrypt_packet(mode, key, header, packet, number), address)
            forwarder.handle_datagram(encrypt_packet(mode, key, header, opus("x"), number), address)
            forwarder.handle_datagram(bytes((0x80, 201, 0, 1)) + ssrc + packet, address)
        for peer in (sender, receiver):
            forwarder.remove_peer(peer)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.binary(max_size=200), max_size=8))
    def check(packets: list[bytes]) -> None:
        asyncio.run(forward(packets))

    check()


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
@given(header=st.binary(min_size=12, max_size=40), body=st.binary(max_size=300))
def test_encrypted_packets_decrypt_to_their_content(mode: str, header: bytes, body: bytes) -> None:
    key = bytes(range(32))
    mine, theirs = CIPHERS[mode](key), CIPHERS[mode](key)
    if not mine.has_full_clear_header:
        header = header[:12]
    assert theirs.decrypt(mine.encrypt(header, body), len(header))[0] == body
