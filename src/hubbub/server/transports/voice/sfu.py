"""The media forwarder: decrypts packets of each sender and re-encrypts them for the other members of the call (spec/voice.md#7).

All calls of this process share one UDP socket, which is read in the event loop. Outgoing packets are not queued: a
packet that cannot be sent immediately is dropped.
"""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable
from typing import Final

from hubbub.media import datagrams, rtp
from hubbub.media.ciphers import CIPHERS, TAG_BYTES, PacketError
from hubbub.server.core.metrics import Metrics
from hubbub.server.transports.voice.bitrate import HIGH_LOSS, BitrateLimit
from hubbub.server.transports.voice.peers import Address, Peer
from hubbub.server.transports.voice.reception import Reception
from hubbub.server.transports.voice.webrtc import (
    AUDIO,
    VIDEO,
    BrowserEvents,
    Browsers,
    BrowserTransport,
    Offer,
    SrtpCipher,
    is_stun,
)

READ_BATCH_SIZE: Final = 64
"""Maximum number of datagrams that are read before other event loop callbacks run."""
FIRST_REPORT_SECONDS: Final = 0.15
"""Delay in seconds of the first report after the key; discord.py's reader hangs without packets (spec/voice.md#7)."""
REPORT_INTERVAL_SECONDS: Final = 5.0
"""Interval in seconds between receiver reports."""
DISCOVERY_RESPONSES: Final = 4
"""Maximum number of responses to one discovery request from the IP address of the client's WebSocket."""
DISCOVERY_INTERVAL_SECONDS: Final = 0.15
"""Interval in seconds between responses to one discovery request."""
BYE_COUNT: Final = 3
"""Number of RTCP BYE packets sent to a removed client."""
BYE_INTERVAL_SECONDS: Final = 0.15
"""Interval in seconds between RTCP BYE packets."""
BITRATE_INTERVAL_SECONDS: Final = 1.0
"""Interval in seconds between messages that limit the bitrate of a browser's video."""
VIDEO_PAUSE_SECONDS: Final = 10.0
"""Time in seconds during which a browser receives no video whose lowest bitrate its network cannot carry, the first time."""
PAUSE_DOUBLINGS_MAX: Final = 4
"""Maximum number of times that the pause of a browser's videos doubles."""
KEY_FRAME_INTERVAL_SECONDS: Final = 0.3
"""Time in seconds after a forwarded key frame request during which other requests to the same sender are dropped."""
SOCKET_BUFFER_BYTES: Final = 1024 * 1024
"""Size in bytes of the socket's send and receive buffers."""


class Forwarder:
    """The UDP socket and the peers that use it."""

    def __init__(self, sock: socket.socket, metrics: Metrics, public_ip: str = "127.0.0.1") -> None:
        """Create a forwarder; `public_ip` is the IPv4 address that browsers send to."""
        self._socket = sock
        self._packet_counter = metrics.voice_packets
        self._received_count = self._sent_count = 0
        """Numbers of packets that were forwarded and sent since the metrics were last updated."""
        self._peers_by_ssrc: dict[int, Peer] = {}
        """Peers by SSRC; each peer has three SSRCs."""
        self._bye_timers: set[asyncio.TimerHandle] = set()
        self._browsers = Browsers(self._send, (public_ip, sock.getsockname()[1]))

    def start(self) -> None:
        """Start to read packets."""
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read_datagrams)

    def close(self) -> None:
        """Stop reading and close the socket."""
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        for handle in self._bye_timers:
            handle.cancel()
        for peer in set(self._peers_by_ssrc.values()):
            self._cancel_timers(peer)
            self._close_browser(peer)
        self._peers_by_ssrc.clear()
        self._socket.close()

    # Peers

    def add_peer(self) -> Peer:
        """Create a peer with new SSRCs and without a key."""
        while True:
            ssrc = (secrets.randbits(30) << 2) + 4
            if ssrc < 1 << 32 and ssrc not in self._peers_by_ssrc:
                peer = Peer(ssrc)
                for own_ssrc in peer.ssrcs:
                    self._peers_by_ssrc[own_ssrc] = peer
                return peer

    def create_key(self, peer: Peer, mode: str, on_exhausted: Callable[[], None] = lambda: None) -> bytes:
        """Create a key for a peer and an encryption mode, start the receiver reports, and return the key.

        `on_exhausted` is called before the key would have to encrypt two packets with the same nonce; it ends the session.
        """
        self._close_browser(peer)
        peer.on_key_exhausted = on_exhausted
        key = secrets.token_bytes(32)
        peer.cipher = CIPHERS[mode](key, is_server=True)
        peer.windows.clear()
        self._cancel_timers(peer)
        peer.report_timer = asyncio.get_running_loop().call_later(FIRST_REPORT_SECONDS, self._send_report, peer)
        return key

    def open_browser(self, peer: Peer, offer: Offer, on_failed: Callable[[], None]) -> BrowserTransport:
        """Create the transport of a browser, or new ICE credentials if the offer is an ICE restart.

        `on_failed` is called if the browser's DTLS association fails.
        """
        if peer.browser is not None and peer.browser.can_restart(offer):
            peer.browser.restart(offer)
            self._browsers.renew_credentials(peer.browser)
            return peer.browser
        self._close_browser(peer)
        self._cancel_timers(peer)
        peer.cipher = None
        peer.set_address(None)
        peer.windows.clear()

        def start(cipher: SrtpCipher) -> None:
            peer.cipher = cipher
            loop = asyncio.get_running_loop()
            peer.report_timer = loop.call_later(REPORT_INTERVAL_SECONDS, self._send_report, peer)
            peer.bitrate_timer = loop.call_later(BITRATE_INTERVAL_SECONDS, self._send_bitrate, peer)

        def receive(kind: int, packet: bytes) -> None:
            if kind == AUDIO:
                peer.reception.record(int.from_bytes(packet[2:4], "big"))
            elif kind == VIDEO:
                peer.video_reception.record(int.from_bytes(packet[2:4], "big"))
                peer.bitrate_limit.record_packet(len(packet))
            self._forward(peer, peer.ssrc + kind, packet)

        def drop(reason: str) -> None:
            self._packet_counter(reason).inc()

        def stop() -> None:
            peer.cipher = peer.address = peer.browser = None
            self._cancel_timers(peer)

        def fail() -> None:
            stop()
            on_failed()

        events = BrowserEvents(
            connected=start,
            address_changed=peer.set_address,
            media=receive,
            control=lambda packet: self._receive_browser_control(peer, packet),
            dropped=drop,
            closed=stop,
            failed=fail,
        )
        peer.browser = self._browsers.open(offer, peer.ssrc, events)
        return peer.browser

    def _close_browser(self, peer: Peer) -> None:
        if peer.browser is not None:
            peer.browser.close()
            peer.browser = peer.address = peer.cipher = None

    def confirm_address(self, peer: Peer, address: Address) -> None:
        """Accept an address that the client names on its WebSocket, if a discovery request came from it.

        Clients that only listen send no packet that proves their address.
        """
        if address in peer.discovered_addresses:
            peer.set_address(address)

    def start_speaking(self, peer: Peer) -> None:
        """Mark a peer as speaking, and forward its buffered packets."""
        peer.has_announced_speaking = True
        while peer.early_packets:
            self._forward(peer, peer.ssrc, peer.early_packets.popleft())
        self._update_metrics()

    def set_unwanted(self, peer: Peer, ssrcs: frozenset[int]) -> None:
        """Stop forwarding these streams to a peer, and request key frames of the videos that it wants again."""
        rewanted_ssrcs = peer.unwanted_ssrcs - ssrcs
        peer.unwanted_ssrcs = ssrcs
        for ssrc in rewanted_ssrcs:
            self._request_key_frame(peer, ssrc)

    def remove_peer(self, peer: Peer) -> None:
        """Remove a peer: close the transport of a browser, or send a native client `BYE_COUNT` RTCP BYE packets."""
        for own_ssrc in peer.ssrcs:
            self._peers_by_ssrc.pop(own_ssrc, None)
        self._cancel_timers(peer)
        if peer.browser is not None:
            self._close_browser(peer)
        else:
            self._send_bye(peer, BYE_COUNT)

    def _cancel_timers(self, peer: Peer) -> None:
        """Stop the periodic messages to a peer."""
        for handle in (peer.report_timer, peer.discovery_timer, peer.bitrate_timer, *peer.pause_timers.values()):
            if handle is not None:
                handle.cancel()
        peer.pause_timers.clear()
        peer.report_timer = peer.discovery_timer = peer.bitrate_timer = None

    def _send_report(self, peer: Peer) -> None:
        if peer.needs_new_key():
            peer.report_timer = None
            peer.on_key_exhausted()
            return
        loop = asyncio.get_running_loop()
        peer.report_timer = loop.call_later(REPORT_INTERVAL_SECONDS, self._send_report, peer)
        ssrc = peer.ssrc if peer.browser is None else peer.browser.audio_ssrc
        if ssrc is not None:
            self._send_control(peer, rtp.build_receiver_report(ssrc, peer.reception.highest, peer.reception.lost))

    def _send_bitrate(self, peer: Peer) -> None:
        """Send a browser the bitrate that it may use for its video."""
        loop = asyncio.get_running_loop()
        peer.bitrate_timer = loop.call_later(BITRATE_INTERVAL_SECONDS, self._send_bitrate, peer)
        if peer.sends_video and peer.browser is not None and peer.browser.video_ssrc is not None:
            peer.bitrate_limit.record_loss(peer.video_reception.take_loss())
            limit = peer.bitrate_limit.update(BITRATE_INTERVAL_SECONDS)
            self._send_control(peer, rtp.build_remb(peer.browser.video_ssrc, limit))

    def restart_video(self, peer: Peer) -> None:
        """Accept another video of a browser, with another SSRC."""
        peer.video_reception, peer.bitrate_limit = Reception(), BitrateLimit()
        if peer.browser is not None:
            peer.browser.restart_video()

    def _receive_browser_control(self, peer: Peer, packet: bytes) -> None:
        """Handle a decrypted RTCP packet of a browser: key frame requests, and losses of the videos that it receives."""
        self._relay_key_frame_requests(peer, packet)
        for ssrc, loss in rtp.reported_losses(packet):
            sender = self._peers_by_ssrc.get(ssrc)
            if sender is None or sender is peer or sender.group is None or sender.group is not peer.group:
                continue
            if ssrc != sender.ssrc + 1 or ssrc in peer.pause_timers:
                continue
            if sender.bitrate_limit.is_lowest and loss > HIGH_LOSS:
                self._pause_video(peer, ssrc)
            else:
                sender.bitrate_limit.record_loss(loss)

    def _pause_video(self, peer: Peer, ssrc: int) -> None:
        """Stop forwarding a video for a while, so that the audio of the call fits into the network of the receiver."""

        def resume() -> None:
            peer.pause_timers.pop(ssrc, None)
            self._request_key_frame(peer, ssrc)

        seconds = VIDEO_PAUSE_SECONDS * 2 ** min(peer.pause_count, PAUSE_DOUBLINGS_MAX)
        peer.pause_count += 1
        peer.pause_timers[ssrc] = asyncio.get_running_loop().call_later(seconds, resume)

    def _relay_key_frame_requests(self, peer: Peer, packet: bytes) -> None:
        """Forward the key frame requests in a decrypted RTCP packet to the senders of the streams."""
        for ssrc in rtp.key_frame_request_ssrcs(packet):
            self._request_key_frame(peer, ssrc)

    def _request_key_frame(self, peer: Peer, ssrc: int) -> None:
        """Request a key frame of a video for a peer that receives it."""
        sender = self._peers_by_ssrc.get(ssrc)
        if sender is None or sender is peer or sender.group is None or sender.group is not peer.group:
            return
        own_ssrc = ssrc if sender.browser is None else sender.browser.video_ssrc
        if own_ssrc is None or ssrc != sender.ssrc + 1 or not sender.sends_video:
            return
        now = asyncio.get_running_loop().time()
        if now - sender.key_frame_requested_at >= KEY_FRAME_INTERVAL_SECONDS:
            sender.key_frame_requested_at = now
            self._send_control(sender, rtp.build_picture_loss(own_ssrc))

    def _send_bye(self, peer: Peer, remaining_count: int) -> None:
        self._send_control(peer, rtp.build_bye())
        if remaining_count > 1:
            loop = asyncio.get_running_loop()
            self._bye_timers = {
                handle for handle in self._bye_timers if handle.when() > loop.time() and not handle.cancelled()
            }
            self._bye_timers.add(loop.call_later(BYE_INTERVAL_SECONDS, self._send_bye, peer, remaining_count - 1))

    def _send_control(self, peer: Peer, packet: bytes) -> None:
        """Encrypt an RTCP packet and send it to a peer."""
        if peer.cipher is None or peer.address is None:
            return
        if peer.cipher.can_encrypt_control:
            with contextlib.suppress(PacketError):
                self._send(peer.cipher.encrypt_control(packet), peer.address)
        else:
            # RTCP cannot be encrypted in this mode; any datagram serves to keep discord.py's reader running.
            self._send(datagrams.PONG + bytes(4), peer.address)

    # Packets

    def _read_datagrams(self) -> None:
        for _ in range(READ_BATCH_SIZE):
            try:
                packet, address = self._socket.recvfrom(rtp.PACKET_BYTES_MAX)
            except BlockingIOError:
                break
            except OSError:
                # On some systems, `recvfrom` reports delivery errors of earlier datagrams.
                continue
            self.handle_datagram(packet, address)
        self._update_metrics()

    def _update_metrics(self) -> None:
        """Add the packets of a batch to the metrics, which would cost as much as an encryption for each packet."""
        if self._received_count:
            self._packet_counter("received").inc(self._received_count)
            self._packet_counter("sent").inc(self._sent_count)
            self._received_count = self._sent_count = 0

    def handle_datagram(self, packet: bytes, address: Address) -> None:
        """Handle a datagram from any address."""
        packet_bytes = len(packet)
        # hikari-wave sends four bytes more than the length in the header says.
        if packet_bytes >= datagrams.DISCOVERY_BYTES and packet.startswith(datagrams.DISCOVERY_REQUEST):
            self._handle_discovery(packet, address)
        elif packet_bytes == datagrams.KEEPALIVE_BYTES:
            if packet.startswith(datagrams.PING):
                self._send(datagrams.PONG + packet[4:], address)
            # Other datagrams of this size are keepalives, which need no response.
        elif (
            self._browsers.by_address
            and (browser := self._browsers.by_address.get(address)) is not None
            and (browser.has_proven(address) or not self._is_native_packet(packet))
        ):
            if not is_stun(packet):
                browser.receive(packet, address)
            elif not self._browsers.handle_stun(packet, address):
                self._packet_counter("unknown").inc()
        elif packet_bytes < rtp.RTCP_HEADER_BYTES + TAG_BYTES or packet[0] >> 6 != 2:
            if not is_stun(packet) or not self._browsers.handle_stun(packet, address):
                self._packet_counter("malformed").inc()
        elif packet[1] in rtp.RTCP_TYPES:
            self._handle_control(packet, address)
        else:
            self._handle_media(packet, address)

    def _is_native_packet(self, packet: bytes) -> bool:
        """Return whether a datagram looks like an RTP or RTCP packet of a native client."""
        if len(packet) < rtp.FIXED_HEADER_BYTES or packet[0] >> 6 != 2:
            return False
        offset = 4 if packet[1] in rtp.RTCP_TYPES else 8
        peer = self._peers_by_ssrc.get(int.from_bytes(packet[offset : offset + 4], "big"))
        return peer is not None and peer.browser is None

    def _handle_discovery(self, packet: bytes, address: Address) -> None:
        """Answer a client's request for its own public address, which does not become the address of its media.

        The responses have at most the size of the request, unless the IP address is known to belong to the client.
        """
        ssrc = int.from_bytes(packet[4:8], "big")
        peer = self._peers_by_ssrc.get(ssrc)
        if peer is None or peer.ssrc != ssrc:
            self._packet_counter("unknown").inc()
            return
        if address not in peer.discovered_addresses:
            peer.discovered_addresses.append(address)
        self._send_discovery_response(peer, address, DISCOVERY_RESPONSES if address[0] == peer.proven_ip else 1)

    def _send_discovery_response(self, peer: Peer, address: Address, remaining_count: int) -> None:
        """Send a discovery response, and repeat it until the client has selected a mode.

        discord.py sends one request, and its packet reader may consume the response before the discovery code waits for
        it.
        """
        self._send(datagrams.discovery_response(peer.ssrc, address), address)
        if peer.discovery_timer is not None:
            peer.discovery_timer.cancel()
            peer.discovery_timer = None
        if remaining_count > 1 and peer.cipher is None:
            peer.discovery_timer = asyncio.get_running_loop().call_later(
                DISCOVERY_INTERVAL_SECONDS, self._send_discovery_response, peer, address, remaining_count - 1
            )

    def _handle_control(self, packet: bytes, address: Address) -> None:
        peer = self._peers_by_ssrc.get(int.from_bytes(packet[4:8], "big"))
        if peer is None or peer.cipher is None:
            self._packet_counter("unknown").inc()
            return
        body = (
            self._decrypt(peer, peer.ssrc, packet, rtp.RTCP_HEADER_BYTES, address)
            if peer.cipher.packet_number_bits == 32
            # The numbers of these modes are sequence numbers, which RTCP does not have.
            else self._decrypt_unnumbered(peer, packet, rtp.RTCP_HEADER_BYTES)
        )
        if body is not None:
            self._relay_key_frame_requests(peer, packet[: rtp.RTCP_HEADER_BYTES] + body)

    def _handle_media(self, packet: bytes, address: Address) -> None:
        ssrc = int.from_bytes(packet[8:12], "big")
        peer = self._peers_by_ssrc.get(ssrc)
        if peer is None or peer.cipher is None:
            self._packet_counter("unknown").inc()
            return
        header_length = rtp.header_length(packet) if peer.cipher.has_rtpsize_header else rtp.FIXED_HEADER_BYTES
        body = self._decrypt(peer, ssrc, packet, header_length, address)
        if body is None:
            return
        if ssrc == peer.ssrc:
            peer.reception.record(int.from_bytes(packet[2:4], "big"))
        self._forward(peer, ssrc, packet[:header_length] + body)

    def _decrypt(self, peer: Peer, ssrc: int, packet: bytes, header_length: int, address: Address) -> bytes | None:
        """Return the decrypted body of a packet, or None if it is forged or replayed.

        Authentic packets from another address than the peer's can change it; see `Peer.record_source`.
        """
        assert peer.cipher is not None
        try:
            body, number = peer.cipher.decrypt(packet, header_length)
        except PacketError:
            self._packet_counter("forged").inc()
            return None
        is_new = peer.record_packet(ssrc, number)
        if address != peer.address or peer.new_address is not None:
            now = asyncio.get_running_loop().time()
            peer.record_source(address, ssrc, number, is_new=is_new, now=now)
        if not is_new:
            self._packet_counter("replayed").inc()
            return None
        return body

    def _decrypt_unnumbered(self, peer: Peer, packet: bytes, header_length: int) -> bytes | None:
        """Return the decrypted body of a packet without a number, which proves no address; None if it is forged."""
        assert peer.cipher is not None
        try:
            return peer.cipher.decrypt(packet, header_length)[0]
        except PacketError:
            self._packet_counter("forged").inc()
            return None

    def _forward(self, peer: Peer, ssrc: int, packet: bytes) -> None:
        """Forward a decrypted packet to the other peers of the sender's group, or drop it."""
        group = peer.group
        frame: bytes | None
        if packet[0] == rtp.PLAIN_FIRST_BYTE:
            header_length, frame = rtp.FIXED_HEADER_BYTES, packet[rtp.FIXED_HEADER_BYTES :]
        else:
            header_length = rtp.header_length(packet)
            frame = rtp.extract_frame(packet, header_length) if header_length <= len(packet) else None
        if frame is None:
            self._packet_counter("malformed").inc()
            return
        is_audio = ssrc == peer.ssrc
        if is_audio and not peer.has_announced_speaking:
            # The announcement arrives over the WebSocket, possibly after the first packets.
            peer.early_packets.append(packet)
            return
        if group is None or peer.is_suppressed or (peer.is_muted if is_audio else not peer.sends_video):
            self._packet_counter("muted").inc()
            return
        is_encrypted = frame.endswith(rtp.E2EE_TRAILER)
        # A video frame spans several packets; the last one has the marker bit and the trailer.
        is_plain = not is_encrypted and frame != rtp.SILENCE_FRAME and (is_audio or packet[1] & 0x80)
        if is_plain and not group.allows_unencrypted():
            self._packet_counter("plain").inc()
            return
        header, body = packet[:header_length], packet[header_length:]
        # All packets are encrypted before the first one is sent: alternating with system calls makes both slower.
        outgoing: list[tuple[bytes, Address]] = []
        for receiver in group.peers:
            address, cipher = receiver.address, receiver.cipher
            if receiver is peer or address is None or cipher is None or ssrc in receiver.unwanted_ssrcs:
                continue
            if receiver.is_deaf if is_audio else ssrc in receiver.pause_timers:
                continue
            if is_encrypted and not receiver.supports_dave:
                continue
            try:
                if cipher.has_rtpsize_header:
                    encrypted_packet = cipher.encrypt(header, body)
                else:
                    encrypted_packet = cipher.encrypt(
                        packet[: rtp.FIXED_HEADER_BYTES], packet[rtp.FIXED_HEADER_BYTES :]
                    )
            except PacketError:
                # The packet is too large, or the receiver is a browser that cannot decode it or has received it before.
                self._packet_counter("unsent").inc()
                continue
            if receiver.allowance is not None and not receiver.allowance.take(len(encrypted_packet)):
                self._packet_counter("foreign").inc()
                continue
            outgoing.append((encrypted_packet, address))
        for datagram in outgoing:
            try:
                self._socket.sendto(*datagram)
            except OSError:
                self._packet_counter("unsent").inc()
        self._received_count += 1
        self._sent_count += len(outgoing)

    def _send(self, packet: bytes, address: Address) -> None:
        try:
            self._socket.sendto(packet, address)
        except OSError:
            # The send buffer is full, or the address is unreachable.
            self._packet_counter("unsent").inc()
