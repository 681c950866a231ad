"""The media forwarder: CPU per forwarded packet against a bare loop of `sendto`, and memory of the peers of a call.

Packets go to a socket of this process that is never read, so that only the server's work is measured.
"""

import asyncio
import os
import socket
import time
import tracemalloc
from collections.abc import Callable
from typing import Final

from hubbub.media import rtp
from hubbub.media.ciphers import CIPHERS
from hubbub.protocol.voice import ENCRYPTION_MODES
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice.peers import ForwardingGroup, Peer
from hubbub.server.transports.voice.sfu import Forwarder
from hubbub.server.transports.voice.webrtc.srtp import PROFILES, SrtpCipher, SrtpSession

FRAME: Final = os.urandom(100) + rtp.E2EE_TRAILER
"""An end-to-end encrypted frame of usual size."""
LISTENER_COUNTS: Final = (5, 24, 99)
"""Numbers of receivers; 99 is a full stage with one speaker."""
SENT_PACKETS, QUICK_SENT_PACKETS = 60_000, 6_000
ROUND_COUNT: Final = 5
"""Number of measurements of which the fastest counts, because other programs use the machine too."""
BROWSER_OPUS_TYPE: Final = 111
PEER_COUNT: Final = 200
NATIVE_COST_MAX_US: Final = 1e6 / 120_000
"""Limit in microseconds of CPU time per packet to a native client: 120,000 packets per second and core."""
BROWSER_RATIO_MAX: Final = 1 / 0.75
"""Limit of the cost of a packet to a browser, as a multiple of one to a native client."""

RecordFigure = Callable[..., None]


class Call:
    """A call of one native speaker and several receivers, all at one address."""

    def __init__(self, forwarder: Forwarder, address: tuple[str, int], count: int, *, has_browsers: bool) -> None:
        self._forwarder = forwarder
        group = ForwardingGroup(lambda: False)
        self.speaker = forwarder.add_peer()
        key = forwarder.create_key(self.speaker, ENCRYPTION_MODES[0])
        self._cipher = CIPHERS[ENCRYPTION_MODES[0]](key)
        forwarder.start_speaking(self.speaker)
        self.peers = [self.speaker, *(create_receiver(forwarder, address, has_browsers) for _ in range(count))]
        for peer in self.peers:
            group.add(peer)
        self._sequence = 0

    def encrypt_packets(self, count: int) -> list[bytes]:
        """Return successive packets of the speaker."""
        packets = []
        for _ in range(count):
            self._sequence += 1
            header = rtp.build_audio_header(self._sequence & 0xFFFF, 960 * self._sequence, self.speaker.ssrc)
            packets.append(self._cipher.encrypt(header, FRAME))
        return packets

    def close(self) -> None:
        """Remove the peers."""
        for peer in self.peers:
            peer.address = None
            if peer.group is not None:
                peer.group.remove(peer)
            self._forwarder.remove_peer(peer)


def create_receiver(forwarder: Forwarder, address: tuple[str, int], is_browser: bool) -> Peer:
    """Add a peer that receives packets at an address."""
    peer = forwarder.add_peer()
    if is_browser:
        profile = next(iter(PROFILES.values()))
        session = SrtpSession(profile, os.urandom(profile.keying_bytes), is_server=True)
        peer.cipher = SrtpCipher(session, {rtp.OPUS_PAYLOAD_TYPE: BROWSER_OPUS_TYPE})
    else:
        forwarder.create_key(peer, ENCRYPTION_MODES[0])
    peer.address = address
    peer.supports_dave = True
    return peer


def measure_sendto(sock: socket.socket, address: tuple[str, int], count: int) -> float:
    """Return the CPU time of a bare `sendto` in microseconds."""
    packet = bytes(len(FRAME) + 32)
    started_at = time.process_time()
    for _ in range(count):
        sock.sendto(packet, address)
    return (time.process_time() - started_at) / count * 1e6


def measure_forwarding(call: Call, address: tuple[str, int], received_count: int, listener_count: int) -> float:
    """Return the CPU time of a forwarded packet in microseconds, including its share of the received packet."""
    packets = call.encrypt_packets(received_count)
    handle_datagram = call._forwarder.handle_datagram
    started_at = time.process_time()
    for packet in packets:
        handle_datagram(packet, address)
    return (time.process_time() - started_at) / (received_count * listener_count) * 1e6


async def run_voice_benchmark(record_figure: RecordFigure, is_quick: bool) -> None:
    """Measure forwarding to native clients and to browsers, and the memory of a peer."""
    sent_count = QUICK_SENT_PACKETS if is_quick else SENT_PACKETS
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", 0))
    source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    source.bind(("127.0.0.1", 0))
    source.setblocking(False)
    forwarder = Forwarder(source, Metrics())
    forwarder.start()
    address = sink.getsockname()
    for listener_count in LISTENER_COUNTS:
        received_count = max(sent_count // listener_count, 1)
        # The rounds alternate, so that a busy moment affects all three.
        costs: dict[str, list[float]] = {"sendto": [], "native": [], "browser": []}
        for _ in range(ROUND_COUNT):
            costs["sendto"].append(measure_sendto(source, address, received_count * listener_count))
            for kind in ("native", "browser"):
                call = Call(forwarder, address, listener_count, has_browsers=kind == "browser")
                costs[kind].append(measure_forwarding(call, address, received_count, listener_count))
                call.close()
                await asyncio.sleep(0)
        sendto_cost, native_cost, browser_cost = (min(costs[kind]) for kind in ("sendto", "native", "browser"))
        figure_name = f"voice, {listener_count} listeners"
        ratio = (
            f"{native_cost / sendto_cost:.2f} x a bare sendto of {sendto_cost:.2f} us; "
            f"{1e6 / native_cost:,.0f} packets out per second and core"
        )
        record_figure(f"{figure_name}, packet to a native client", native_cost, NATIVE_COST_MAX_US, "us", ratio)
        detail = (
            f"{browser_cost:.2f} us, {browser_cost / sendto_cost:.2f} x a bare sendto; "
            f"{1e6 / browser_cost:,.0f} packets out per second and core"
        )
        record_figure(
            f"{figure_name}, browser / native client", browser_cost / native_cost, BROWSER_RATIO_MAX, "x", detail
        )
    for kind in ("native", "browser"):
        tracemalloc.start()
        call = Call(forwarder, address, PEER_COUNT, has_browsers=kind == "browser")
        for packet in call.encrypt_packets(10):
            forwarder.handle_datagram(packet, address)
        traced_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        record_figure(
            f"voice, memory of a {kind} peer",
            traced_bytes / PEER_COUNT / 1024,
            None,
            "KiB",
            "in Python, without libraries",
        )
        call.close()
    forwarder.close()
    sink.close()
