"""The browsers of this process: ICE-lite, routing of their datagrams, and their transports.

A rehearsal imports `dtls` and its libraries for its first browser, so that it starts faster."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hubbub.media import rtp
from hubbub.media.ciphers import PacketError
from hubbub.server.transports.voice.webrtc import sdp, stun
from hubbub.server.transports.voice.webrtc.sdp import Offer
from hubbub.server.transports.voice.webrtc.srtp import ReplayError, SrtpCipher, SrtpSession

if TYPE_CHECKING:
    from hubbub.server.transports.voice.webrtc.dtls import DtlsIdentity

Address = tuple[str, int]

CONSENT_SECONDS: Final = 30.0
"""Time in seconds without a connectivity check after which a browser receives no more packets (RFC 7675)."""
ADDRESSES_MAX: Final = 8
"""Maximum number of addresses that datagrams of one browser are accepted from."""
SILENCE_SECONDS: Final = 7.0
"""Time in seconds without a check from the selected address after which a check without nomination selects another one.

Browsers whose network address translation changed continue their checks of the pair; Firefox sends one every 4 to 6 s."""
PROOF_INTERVAL_SECONDS: Final = 0.5
"""Time in seconds after which the server repeats a request that proves an address, at the next check from there."""
DTLS_FIRST_BYTES: Final = range(20, 64)
"""First bytes of DTLS datagrams (RFC 7983)."""
RTCP_SECOND_BYTES: Final = range(192, 224)
"""Second bytes of RTCP packets; other packets with the version of RTP are media (RFC 5761)."""
STREAMS_MAX: Final = 32
"""Maximum number of SSRCs that a browser may use until it connects again."""
CONTROL_STREAMS_MAX: Final = 256
"""Maximum number of SSRCs that a browser may send RTCP with until it connects again; Firefox uses one per received stream."""
AUDIO, VIDEO, RETRANSMISSION = 0, 1, 2
"""Kinds of streams; also the distance of their SSRC from that of the audio."""


@dataclass(slots=True)
class CheckedAddress:
    """An address from which authentic connectivity checks of a browser came."""

    is_proven: bool = False
    """Whether the browser has shown that it receives there: by a DTLS cookie or a response (decisions/0176)."""
    transaction_id: bytes = b""
    """ID of the server's latest request to the address; empty if there is none."""
    requested_at: float = float("-inf")
    """Event loop time of that request."""


@dataclass(frozen=True, slots=True)
class BrowserEvents:
    """Callbacks of a transport; each docstring describes the event that the callback reports."""

    connected: Callable[[SrtpCipher], None]
    """The DTLS handshake is complete, and the fingerprint is verified."""
    address_changed: Callable[[Address | None], None]
    """The browser receives at another address; None after its consent has expired."""
    media: Callable[[int, bytes], None]
    """An authentic RTP packet arrived: its kind of stream, and the packet without encryption, in the native format."""
    control: Callable[[bytes], None]
    """An authentic compound RTCP packet arrived, without encryption."""
    dropped: Callable[[str], None]
    """A packet was dropped, with the reason."""
    closed: Callable[[], None]
    """The browser closed the DTLS association, for example to connect again with another offer."""
    failed: Callable[[], None]
    """The DTLS association failed."""


class BrowserTransport:
    """The connection of one browser: ICE credentials, DTLS association and streams."""

    def __init__(self, browsers: "Browsers", offer: Offer, ssrc: int, events: BrowserEvents) -> None:
        """Create a transport; `ssrc` is the SSRC that other clients receive the browser's audio with."""
        self._browsers = browsers
        self._events = events
        self._ssrc = ssrc
        self.offer = offer
        self.ufrag = self.password = ""
        self.address: Address | None = None
        """The address that the browser selected; None before its first check and after its consent has expired.

        Media is sent there. It is proven as soon as the DTLS handshake is complete.
        """
        self.addresses: dict[Address, CheckedAddress] = {}
        """The latest addresses of authentic checks, from which datagrams are accepted."""
        self._nominated_address: Address | None = None
        """The address that the browser selects as soon as it is proven."""
        from hubbub.server.transports.voice.webrtc.dtls import DtlsAssociation

        self._association = DtlsAssociation(browsers.identity, offer.fingerprint)
        self._srtp_session: SrtpSession | None = None
        self._dtls_timer: asyncio.TimerHandle | None = None
        self._consent_timer: asyncio.TimerHandle | None = None
        self._last_check_at = 0.0
        """Event loop time of the last check or proof of an address that the browser has proven."""
        self._ssrcs_by_kind: dict[int, int] = {}
        """SSRCs that the browser chose, by kind of stream; other SSRCs of the kind are rejected."""
        self._used_ssrcs: set[int] = set()
        """All SSRCs of the browser, each of which has a state in libsrtp."""
        self._control_ssrcs: set[int] = set()
        """SSRCs with which the browser sent RTCP, each of which has a state in libsrtp."""
        self._payload_types: dict[int, tuple[int, int]] = {}
        """Kind of stream and payload type of native clients, by payload type of the browser."""
        for native_type, browser_type in offer.payload_types.by_native().items():
            # Native payload types of video are odd, and the next number is that of its retransmission.
            is_video = native_type % 2 == 1
            kind = AUDIO if native_type == rtp.OPUS_PAYLOAD_TYPE else VIDEO if is_video else RETRANSMISSION
            self._payload_types[browser_type] = (kind, native_type)

    @property
    def description(self) -> str:
        """The description of the server for the client's SDP answer."""
        return sdp.build_server_description(
            self._browsers.public_address, self.ufrag, self.password, self._browsers.identity.fingerprint
        )

    @property
    def audio_ssrc(self) -> int | None:
        """The SSRC that the browser chose for its audio; None if no audio arrived yet."""
        return self._ssrcs_by_kind.get(AUDIO)

    @property
    def video_ssrc(self) -> int | None:
        """The SSRC that the browser chose for its video; None if no video arrived yet."""
        return self._ssrcs_by_kind.get(VIDEO)

    def restart_video(self) -> None:
        """Accept video with another SSRC, because the browser starts another video."""
        self._ssrcs_by_kind.pop(VIDEO, None)
        self._ssrcs_by_kind.pop(RETRANSMISSION, None)

    def can_restart(self, offer: Offer) -> bool:
        """Return whether an offer is an ICE restart of the same peer connection, which keeps the DTLS association."""
        return (offer.session_id, offer.fingerprint, offer.payload_types) == (
            self.offer.session_id,
            self.offer.fingerprint,
            self.offer.payload_types,
        )

    def restart(self, offer: Offer) -> None:
        """Continue with the ICE credentials of another offer."""
        self.offer = offer
        for checked_address in self.addresses.values():
            checked_address.transaction_id, checked_address.requested_at = b"", float("-inf")

    def handle_check(self, request: stun.BindingRequest, address: Address) -> None:
        """Handle an authentic connectivity check, which renews the browser's consent and may select its address.

        If the address has to be proven first, the server answers with a request of its own. It responds to the next check,
        so that it sends at most as much as it received.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._browsers.add_address(self, address)
        if self._consent_timer is None:
            self._last_check_at = now
            self._consent_timer = loop.call_later(CONSENT_SECONDS, self._check_consent)
        is_silent = now - self._last_check_at > SILENCE_SECONDS
        if self._srtp_session is None or self.has_proven(address):
            self._last_check_at = now
        if self.address is None or request.has_use_candidate or is_silent:
            self._nominated_address = address
        if self._nominated_address == address != self.address:
            if self._srtp_session is None or self.has_proven(address):
                self._select_address(address)
            elif self._request_proof(request, address, now):
                return
        self._browsers.send(stun.build_binding_response(request, address, self.password), address)

    def _request_proof(self, request: stun.BindingRequest, address: Address, now: float) -> bool:
        """Send a request that only a browser at this address can answer; return False if none is due."""
        checked_address = self.addresses[address]
        if self.offer.password is None or now - checked_address.requested_at < PROOF_INTERVAL_SECONDS:
            return False
        transaction_id = secrets.token_bytes(stun.TRANSACTION_ID_BYTES)
        username = f"{self.offer.ufrag}:{self.ufrag}"
        proof_request = stun.build_binding_request(transaction_id, username, self.offer.password)
        if len(proof_request) > len(request.packet):
            return False
        checked_address.transaction_id, checked_address.requested_at = transaction_id, now
        self._browsers.send(proof_request, address)
        return True

    def handle_response(self, response: stun.StunMessage, address: Address) -> bool:
        """Handle a response to a request of the server, which proves the address; return False if it is not authentic."""
        checked_address = self.addresses.get(address)
        if checked_address is None or not checked_address.transaction_id or self.offer.password is None:
            return False
        if response.transaction_id != checked_address.transaction_id:
            return False
        if not response.is_authentic(self.offer.password):
            return False
        self._prove(checked_address)
        if self._nominated_address == address != self.address:
            self._select_address(address)
        return True

    def has_proven(self, address: Address) -> bool:
        """Return whether the browser has shown that it receives at an address."""
        checked_address = self.addresses.get(address)
        if checked_address is None:
            return False
        if self.offer.password is None:
            # The server cannot send requests that the browser answers.
            return address == self._association.proven_address
        return checked_address.is_proven

    def _prove(self, checked_address: CheckedAddress) -> None:
        checked_address.is_proven, checked_address.transaction_id = True, b""
        self._last_check_at = asyncio.get_running_loop().time()

    def receive(self, packet: bytes, address: Address) -> None:
        """Handle a datagram from an address of the browser that is not STUN."""
        first_byte = packet[0] if packet else 0
        if first_byte in DTLS_FIRST_BYTES:
            self._receive_dtls(packet, address)
        elif first_byte >> 6 != 2 or len(packet) < rtp.FIXED_HEADER_BYTES:
            self._events.dropped("malformed")
        elif self._srtp_session is None:
            self._events.dropped("unknown")
        elif packet[1] in RTCP_SECOND_BYTES:
            self._receive_control(packet, self._srtp_session)
        else:
            self._receive_media(packet, self._srtp_session)

    def close(self) -> None:
        """End the association and remove the browser."""
        if self.address is not None:
            for datagram in self._association.close():
                self._browsers.send(datagram, self.address)
        self._stop()

    def _stop(self) -> None:
        for timer in (self._dtls_timer, self._consent_timer):
            if timer is not None:
                timer.cancel()
        self._dtls_timer = self._consent_timer = None
        self._srtp_session = None
        self._browsers.remove(self)

    # ICE

    def _select_address(self, address: Address | None) -> None:
        previous = None if self.address is None else self.addresses.get(self.address)
        if previous is not None and self._srtp_session is not None:
            # Another browser may get an address that this one has left.
            previous.is_proven = False
        self.address = address
        if self._srtp_session is not None:
            self._events.address_changed(address)

    def _check_consent(self) -> None:
        loop = asyncio.get_running_loop()
        remaining_seconds = self._last_check_at + CONSENT_SECONDS - loop.time()
        if remaining_seconds > 0:
            self._consent_timer = loop.call_later(remaining_seconds, self._check_consent)
        else:
            self._consent_timer = None
            self._browsers.remove_addresses(self)
            self._nominated_address = None
            self._select_address(None)

    # DTLS

    def _receive_dtls(self, packet: bytes, address: Address) -> None:
        from hubbub.server.transports.voice.webrtc.dtls import DtlsClosed, DtlsError

        try:
            self._send_flight(self._association.receive(packet, address))
        except DtlsClosed:
            self._stop()
            self._events.closed()
            return
        except DtlsError:
            self._fail()
            return
        if self._srtp_session is None and self._association.proven_address is not None:
            checked_address = self.addresses.get(self._association.proven_address)
            if checked_address is not None:
                self._prove(checked_address)
        if self._srtp_session is None and self._association.srtp_session is not None:
            if self.address is not None and not self.has_proven(self.address):
                # The next check from the selected address proves it.
                self.address = self._association.proven_address
            self._srtp_session = self._association.srtp_session
            self._events.connected(SrtpCipher(self._srtp_session, self.offer.payload_types.by_native()))
            self._events.address_changed(self.address)

    def _send_flight(self, datagrams: list[bytes]) -> None:
        """Send datagrams of the handshake, and schedule their retransmission."""
        destination = self._association.destination
        if destination is not None:
            for datagram in datagrams:
                self._browsers.send(datagram, destination)
        if self._dtls_timer is not None:
            self._dtls_timer.cancel()
            self._dtls_timer = None
        delay_seconds = self._association.find_timeout_seconds()
        if delay_seconds is not None:
            self._dtls_timer = asyncio.get_running_loop().call_later(delay_seconds, self._retransmit)

    def _retransmit(self) -> None:
        from hubbub.server.transports.voice.webrtc.dtls import DtlsError

        self._dtls_timer = None
        try:
            self._send_flight(self._association.handle_timeout())
        except DtlsError:
            self._fail()

    def _fail(self) -> None:
        self._stop()
        self._events.failed()

    # Packets

    def _receive_control(self, packet: bytes, session: SrtpSession) -> None:
        ssrc = int.from_bytes(packet[4:8], "big")
        if ssrc not in self._control_ssrcs and len(self._control_ssrcs) >= CONTROL_STREAMS_MAX:
            self._events.dropped("unknown")
            return
        try:
            plain_packet = session.unprotect_control(packet)
        except PacketError:
            self._events.dropped("forged")
            return
        self._control_ssrcs.add(ssrc)
        self._events.control(plain_packet)

    def _receive_media(self, packet: bytes, session: SrtpSession) -> None:
        kind_and_type = self._payload_types.get(packet[1] & 0x7F)
        if kind_and_type is None:
            self._events.dropped("unknown")
            return
        kind, native_type = kind_and_type
        ssrc = int.from_bytes(packet[8:12], "big")
        if self._ssrcs_by_kind.get(kind, ssrc) != ssrc:
            self._events.dropped("unknown")
            return
        if ssrc not in self._used_ssrcs and len(self._used_ssrcs) == STREAMS_MAX:
            self._events.dropped("unknown")
            return
        try:
            plain_packet = session.unprotect(packet)
        except PacketError as error:
            self._events.dropped("replayed" if isinstance(error, ReplayError) else "forged")
            return
        if kind not in self._ssrcs_by_kind:
            self._ssrcs_by_kind[kind] = ssrc
            self._used_ssrcs.add(ssrc)
        header_length = rtp.header_length(plain_packet)
        frame = rtp.extract_frame(plain_packet, header_length) if header_length <= len(plain_packet) else None
        if frame is None:
            self._events.dropped("malformed")
            return
        first_bytes = bytes((0x80, packet[1] & 0x80 | native_type))
        self._events.media(kind, first_bytes + plain_packet[2:8] + (self._ssrc + kind).to_bytes(4, "big") + frame)


class Browsers:
    """The transports of all browsers, by address and by ICE user fragment."""

    def __init__(self, send: Callable[[bytes, Address], None], public_address: Address) -> None:
        """Create an empty registry; `send` sends a datagram."""
        self.send = send
        self.public_address = public_address
        """The IPv4 address and UDP port that browsers send to."""
        self.by_address: dict[Address, BrowserTransport] = {}
        self._by_ufrag: dict[str, BrowserTransport] = {}

    @cached_property
    def identity(self) -> "DtlsIdentity":
        """The certificate of this process, created for the first browser."""
        from hubbub.server.transports.voice.webrtc.dtls import DtlsIdentity

        return DtlsIdentity()

    def open(self, offer: Offer, ssrc: int, events: BrowserEvents) -> BrowserTransport:
        """Create the transport of a browser."""
        transport = BrowserTransport(self, offer, ssrc, events)
        self.renew_credentials(transport)
        return transport

    def renew_credentials(self, transport: BrowserTransport) -> None:
        """Give a transport new ICE credentials; checks with the old credentials are no longer answered."""
        self._by_ufrag.pop(transport.ufrag, None)
        transport.ufrag, transport.password = secrets.token_hex(8), secrets.token_hex(16)
        self._by_ufrag[transport.ufrag] = transport

    def add_address(self, transport: BrowserTransport, address: Address) -> None:
        """Route the datagrams of an address to a transport; a full transport loses its oldest address, an unproven one first."""
        if address in transport.addresses:
            return
        if len(transport.addresses) == ADDRESSES_MAX:
            oldest_addresses = (other for other in transport.addresses if other != transport.address)
            replaced_address = next(
                (other for other in oldest_addresses if not transport.has_proven(other)),
                next(other for other in transport.addresses if other != transport.address),
            )
            del transport.addresses[replaced_address], self.by_address[replaced_address]
        previous_transport = self.by_address.get(address)
        if previous_transport is not None:
            del previous_transport.addresses[address]
        transport.addresses[address] = CheckedAddress()
        self.by_address[address] = transport

    def remove_addresses(self, transport: BrowserTransport) -> None:
        """Stop routing datagrams to a transport."""
        for address in transport.addresses:
            self.by_address.pop(address, None)
        transport.addresses.clear()

    def remove(self, transport: BrowserTransport) -> None:
        self.remove_addresses(transport)
        transport.address = None
        if self._by_ufrag.get(transport.ufrag) is transport:
            del self._by_ufrag[transport.ufrag]

    def handle_stun(self, packet: bytes, address: Address) -> bool:
        """Handle a STUN message; return False if it is not an authentic check of a browser or response of one."""
        holder = self.by_address.get(address)
        request = stun.parse_binding_request(packet)
        if request is None:
            response = None if holder is None else stun.parse_binding_response(packet)
            return holder is not None and response is not None and holder.handle_response(response, address)
        transport = self._by_ufrag.get(request.local_ufrag)
        if transport is None or not request.is_authentic(transport.password):
            return False
        if holder is not None and holder is not transport and holder.has_proven(address):
            # A browser must not take over the address of another browser.
            return False
        transport.handle_check(request, address)
        return True
