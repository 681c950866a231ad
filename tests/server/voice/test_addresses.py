"""Addresses of native clients: copied, late and forged packets do not redirect media, and a client that moves is followed.

The tests run a `Forwarder` on a real UDP socket. Each client and each attacker has a socket of its own.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncIterator

import pytest

from hubbub.media.datagrams import discovery_request
from hubbub.protocol.voice import ENCRYPTION_MODES, OLD_ENCRYPTION_MODES
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice import peers
from hubbub.server.transports.voice.peers import (
    ADDRESS_PROOF_PACKETS,
    DISCOVERED_ADDRESSES_MAX,
    ForwardingGroup,
    Peer,
)
from hubbub.server.transports.voice.sfu import Forwarder
from tests.server.voice.caller import AES, encrypt_packet, fake_encrypted_frame, is_media_packet
from tests.time_bounds import time_bound
from tests.world import WAIT_TIMEOUT_SECONDS

IP, FOREIGN_IP = "127.0.0.1", "127.0.0.2"
"""The IP address of the WebSockets of all clients, and another one."""
PING, PONG = b"\x13\x37\xca\xfemark", b"\x13\x37\xf0\x0dmark"
MOVE_SECONDS_MAX = 1.0
"""Time in seconds in which the server follows a client that sends audio."""


class Endpoint:
    """A UDP socket that sends to the forwarder."""

    def __init__(self, server_address: tuple[str, int], ip: str) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((ip, 0))
        self.socket.connect(server_address)
        self.socket.setblocking(False)

    def send(self, packet: bytes) -> None:
        """Send a datagram."""
        self.socket.send(packet)

    async def receive_earlier(self) -> list[bytes]:
        """Return the datagrams received before the response to a ping; the server has then read all earlier packets."""
        self.send(PING)
        earlier: list[bytes] = []
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while (data := await asyncio.get_running_loop().sock_recv(self.socket, 2048)) != PONG:
                earlier.append(data)
        return earlier


class NativeClient:
    """A native client in the call of a test: its peer, key and current socket."""

    def __init__(self, test_call: "ForwarderCall", mode: str) -> None:
        self.test_call = test_call
        self.mode = mode
        self.peer: Peer = test_call.forwarder.add_peer()
        self.peer.set_proven_ip(IP)
        self.key = test_call.forwarder.create_key(self.peer, mode)
        self.peer.has_announced_speaking = self.peer.supports_dave = True
        self.endpoint = test_call.open_endpoint()
        self.number = 0
        test_call.group.add(self.peer)

    def build_packet(self, text: str = "frame") -> bytes:
        """Build the next audio packet."""
        self.number += 1
        header = struct.pack(">BBHII", 0x80, 0x78, self.number & 0xFFFF, self.number * 960, self.peer.ssrc)
        return encrypt_packet(self.mode, self.key, header, fake_encrypted_frame(text), self.number)

    async def send_packets(self, count: int) -> list[bytes]:
        """Send audio packets, wait until the server has read them, and return them."""
        packets = [self.build_packet() for _ in range(count)]
        for packet in packets:
            self.endpoint.send(packet)
        await self.endpoint.receive_earlier()
        return packets

    def move(self) -> Endpoint:
        """Send from another address from now on, and return the socket of the previous one."""
        previous, self.endpoint = self.endpoint, self.test_call.open_endpoint()
        return previous


class ForwarderCall:
    """A forwarder with one call; `speaker` sends the audio that the other client receives."""

    def __init__(self) -> None:
        server_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server_socket.bind(("127.0.0.1", 0))
        server_socket.setblocking(False)
        self.address: tuple[str, int] = server_socket.getsockname()
        self.metrics = Metrics()
        self.forwarder = Forwarder(server_socket, self.metrics)
        self.group = ForwardingGroup(lambda: False)
        self.endpoints: list[Endpoint] = []
        self.forwarder.start()
        self.speaker = NativeClient(self, AES)

    def open_endpoint(self, ip: str = IP) -> Endpoint:
        """Open a UDP socket at an IP address of this machine, which the fixture closes."""
        endpoint = Endpoint(self.address, ip)
        self.endpoints.append(endpoint)
        return endpoint

    async def receives_media(self, endpoint: Endpoint) -> bool:
        """Let the speaker send a packet, and return whether the endpoint received media since it was last read."""
        await self.speaker.send_packets(1)
        return any(is_media_packet(data) for data in await endpoint.receive_earlier())

    def close(self) -> None:
        """Close all sockets."""
        self.forwarder.close()
        for endpoint in self.endpoints:
            endpoint.socket.close()


@pytest.fixture
async def call() -> AsyncIterator[ForwarderCall]:
    """A call of a forwarder on a real UDP socket."""
    test_call = ForwarderCall()
    yield test_call
    test_call.close()


async def test_a_copied_packet_from_another_address_does_not_redirect_media(call: ForwarderCall) -> None:
    client, attacker = NativeClient(call, AES), call.open_endpoint()
    packets = await client.send_packets(10)
    for _ in range(3):
        for packet in packets:
            attacker.send(packet)
        assert not await call.receives_media(attacker)
        assert await call.receives_media(client.endpoint)
    assert call.metrics.voice_packets("replayed").value == 30


@pytest.mark.parametrize("count", [1, ADDRESS_PROOF_PACKETS - 1])
async def test_packets_that_never_reached_the_server_do_not_redirect_media_until_they_prove_the_address(
    call: ForwarderCall, count: int
) -> None:
    client, attacker = NativeClient(call, AES), call.open_endpoint()
    await client.send_packets(1)
    for _ in range(3):
        for _ in range(count):
            # The attacker keeps the original packets back.
            attacker.send(client.build_packet())
        assert not await call.receives_media(attacker)
        assert await call.receives_media(client.endpoint)
        await client.send_packets(1)


async def test_copies_that_arrive_before_their_originals_do_not_redirect_media(call: ForwarderCall) -> None:
    client, attacker = NativeClient(call, AES), call.open_endpoint()
    await client.send_packets(1)
    for _ in range(4 * ADDRESS_PROOF_PACKETS):
        packet = client.build_packet()
        attacker.send(packet)
        await attacker.receive_earlier()
        client.endpoint.send(packet)
        await client.endpoint.receive_earlier()
    assert not await call.receives_media(attacker)
    assert await call.receives_media(client.endpoint)


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
async def test_a_client_that_moves_receives_at_the_new_address_after_three_packets(
    call: ForwarderCall, mode: str
) -> None:
    client = NativeClient(call, mode)
    await client.send_packets(1)
    assert await call.receives_media(client.endpoint)
    async with time_bound(MOVE_SECONDS_MAX):
        old_endpoint = client.move()
        await client.send_packets(ADDRESS_PROOF_PACKETS - 1)
        assert await call.receives_media(old_endpoint)
        await client.send_packets(1)
        assert await call.receives_media(client.endpoint)
    assert not await call.receives_media(old_endpoint)


async def test_copies_from_the_old_address_do_not_stop_a_client_that_moves(call: ForwarderCall) -> None:
    client = NativeClient(call, AES)
    old_packets = await client.send_packets(20)
    old_endpoint = client.move()
    for packet in old_packets[:ADDRESS_PROOF_PACKETS]:
        await client.send_packets(1)
        # The attacker replays earlier packets with the source address that the client has left.
        old_endpoint.send(packet)
        await old_endpoint.receive_earlier()
    assert await call.receives_media(client.endpoint)


@pytest.mark.skipif(sys.platform != "linux", reason="requires Linux")
async def test_a_client_at_another_ip_than_its_web_socket_receives_a_limited_number_of_bytes(
    call: ForwarderCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member can forge the source address of its packets, so that the media of the call goes to another host."""
    monkeypatch.setattr(peers, "FOREIGN_BITS_PER_SECOND", 0)
    client = NativeClient(call, AES)
    victim = client.endpoint = call.open_endpoint(FOREIGN_IP)
    await client.send_packets(1)

    async def receive_bytes() -> int:
        call.speaker.endpoint.send(call.speaker.build_packet("x" * 1000))
        await call.speaker.endpoint.receive_earlier()
        return sum(len(data) for data in await victim.receive_earlier() if is_media_packet(data))

    received_bytes = sum([await receive_bytes() for _ in range(2 * peers.FOREIGN_BURST_BYTES // 1000)])
    assert peers.FOREIGN_BURST_BYTES - 1100 < received_bytes <= peers.FOREIGN_BURST_BYTES
    assert call.metrics.voice_packets("foreign").value > 0
    # Packets of the client, or from another address in between, do not renew the limit.
    await client.send_packets(ADDRESS_PROOF_PACKETS)
    client.move()
    await client.send_packets(ADDRESS_PROOF_PACKETS)
    client.peer.set_address(victim.socket.getsockname())
    assert await receive_bytes() == 0
    # There is no limit at the address of the WebSocket.
    client.peer.set_proven_ip(FOREIGN_IP)
    assert await receive_bytes() > 1000


@pytest.mark.skipif(sys.platform != "linux", reason="requires Linux")
async def test_a_client_at_another_ip_than_its_web_socket_receives_voices_all_the_time(
    call: ForwarderCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "FOREIGN_BURST_BYTES", 200)
    client = NativeClient(call, AES)
    client.endpoint = call.open_endpoint(FOREIGN_IP)
    await client.send_packets(1)
    for _ in range(3):
        while await call.receives_media(client.endpoint):
            pass
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not await call.receives_media(client.endpoint):
                pass


async def test_discovery_requests_from_many_addresses_are_bounded(call: ForwarderCall) -> None:
    client = NativeClient(call, AES)
    endpoints = [client.endpoint, *(call.open_endpoint() for _ in range(3 * DISCOVERED_ADDRESSES_MAX))]
    for endpoint in endpoints:
        endpoint.send(discovery_request(client.peer.ssrc))
        await endpoint.receive_earlier()
    addresses: list[tuple[str, int]] = [endpoint.socket.getsockname() for endpoint in endpoints]
    assert list(client.peer.discovered_addresses) == addresses[-DISCOVERED_ADDRESSES_MAX:]
    # An address that was forgotten proves nothing.
    call.forwarder.confirm_address(client.peer, addresses[0])
    assert client.peer.address is None
    call.forwarder.confirm_address(client.peer, addresses[-1])
    assert await call.receives_media(endpoints[-1])


async def test_late_packets_from_the_old_address_do_not_move_a_client_back(
    call: ForwarderCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "ADDRESS_CHANGE_INTERVAL_SECONDS", 0.0)
    client = NativeClient(call, AES)
    await client.send_packets(1)
    late_packets = [client.build_packet() for _ in range(4 * ADDRESS_PROOF_PACKETS)]
    old_endpoint = client.move()
    await client.send_packets(ADDRESS_PROOF_PACKETS)
    assert await call.receives_media(client.endpoint)
    for packet in late_packets:
        old_endpoint.send(packet)
    await old_endpoint.receive_earlier()
    assert await call.receives_media(client.endpoint)
    assert not await call.receives_media(old_endpoint)


async def test_the_address_changes_at_most_once_per_interval(
    call: ForwarderCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "ADDRESS_CHANGE_INTERVAL_SECONDS", 3600.0)
    client = NativeClient(call, AES)
    await client.send_packets(1)
    client.move()
    await client.send_packets(ADDRESS_PROOF_PACKETS)
    assert await call.receives_media(client.endpoint)
    first_endpoint = client.move()
    await client.send_packets(10 * ADDRESS_PROOF_PACKETS)
    assert await call.receives_media(first_endpoint)
    monkeypatch.setattr(peers, "ADDRESS_CHANGE_INTERVAL_SECONDS", 0.0)
    await client.send_packets(1)
    assert await call.receives_media(client.endpoint)


@pytest.mark.parametrize("mode", [*ENCRYPTION_MODES, *OLD_ENCRYPTION_MODES])
async def test_control_packets_do_not_disturb_audio(call: ForwarderCall, mode: str) -> None:
    client = NativeClient(call, mode)
    client.number = 40_000
    for _ in range(3):
        await client.send_packets(1)
        assert await call.receives_media(client.endpoint)
        client.number += 1
        header = struct.pack(">BBHI", 0x80, 201, 1, client.peer.ssrc)
        client.endpoint.send(encrypt_packet(mode, client.key, header, b"", client.number))
    await client.send_packets(1)
    assert call.metrics.voice_packets("replayed").value == 0
    assert any(map(is_media_packet, await call.speaker.endpoint.receive_earlier()))
