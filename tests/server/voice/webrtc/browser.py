"""A WebRTC client for tests, built on the libraries of the server: ICE checks, DTLS client and SRTP."""

import asyncio
import binascii
import hashlib
import hmac
import re
import secrets
import struct
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL

from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.transports.voice.webrtc.dtls import compute_fingerprint, create_self_signed_certificate, pack_records
from hubbub.server.transports.voice.webrtc.srtp import PROFILES, SrtpSession
from tests.server.voice.caller import Caller, DatagramQueue
from tests.world import WAIT_TIMEOUT_SECONDS

OPUS_PAYLOAD_TYPE = 111
"""Payload type of Opus in Chromium."""
# Types of STUN attributes (RFC 8489 and RFC 8445).
USERNAME, MESSAGE_INTEGRITY, PRIORITY, USE_CANDIDATE, FINGERPRINT, ICE_CONTROLLING = 6, 8, 0x24, 0x25, 0x8028, 0x802A
BINDING_REQUEST, BINDING_RESPONSE = b"\x00\x01", b"\x01\x01"
"""First bytes of STUN messages."""
ICE_PASSWORD = "0123456789abcdef01234567"
"""ICE password in the offers of the tests."""
CODECS = [{"name": "opus", "type": "audio", "priority": 1000, "payload_type": OPUS_PAYLOAD_TYPE}]


def is_dtls(datagram: bytes) -> bool:
    """Return whether a datagram contains DTLS records (RFC 7983)."""
    return 20 <= datagram[0] <= 63


def is_rtp(datagram: bytes) -> bool:
    """Return whether a datagram is an RTP or RTCP packet (RFC 7983)."""
    return 128 <= datagram[0] <= 191


def is_rtcp(packet: bytes) -> bool:
    """Return whether an RTP or RTCP packet is an RTCP packet (RFC 5761)."""
    return 192 <= packet[1] <= 223


def sign_stun(message_type: bytes, transaction_id: bytes, attributes: bytes, password: str) -> bytes:
    """Build a STUN message with MESSAGE-INTEGRITY and FINGERPRINT."""

    def header(length: int) -> bytes:
        return message_type + struct.pack(">HI", length, 0x2112A442) + transaction_id

    body = header(len(attributes) + 24) + attributes
    attributes += struct.pack(">HH", MESSAGE_INTEGRITY, 20) + hmac.digest(password.encode(), body, hashlib.sha1)
    body = header(len(attributes) + 8) + attributes
    return body + struct.pack(">HHI", FINGERPRINT, 4, binascii.crc32(body) ^ 0x5354554E)


def binding_response(request: bytes, password: str) -> bytes:
    """Build the response to a request of the server, with any address."""
    mapped_address = struct.pack(">HHHHI", 0x20, 8, 1, 5, 7)
    return sign_stun(BINDING_RESPONSE, request[8:20], mapped_address, password)


def binding_request(
    username: str, password: str, *, use_candidate: bool = False, has_fingerprint: bool = True, extra: bytes = b""
) -> bytes:
    """Build a STUN binding request; `extra` is added before MESSAGE-INTEGRITY."""
    name = username.encode()
    attributes = struct.pack(">HH", USERNAME, len(name)) + name + bytes(-len(name) % 4)
    attributes += struct.pack(">HHI", PRIORITY, 4, 1845501695) + struct.pack(">HHQ", ICE_CONTROLLING, 8, 7)
    if use_candidate:
        attributes += struct.pack(">HH", USE_CANDIDATE, 0)
    attributes += extra
    request = sign_stun(BINDING_REQUEST, secrets.token_bytes(12), attributes, password)
    # FINGERPRINT follows MESSAGE-INTEGRITY, which does not cover it.
    return request if has_fingerprint else request[:2] + (len(request) - 28).to_bytes(2, "big") + request[4:-8]


class DtlsClient:
    """The DTLS client of a browser, without I/O."""

    def __init__(self, profiles: bytes = b":".join(PROFILES)) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = create_self_signed_certificate(key)
        self.fingerprint = compute_fingerprint(certificate)
        context = SSL.Context(SSL.DTLS_CLIENT_METHOD)
        context.use_privatekey(key)
        context.use_certificate(certificate)
        context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        context.set_tlsext_use_srtp(profiles)
        self.connection = SSL.Connection(context, None)
        self.connection.set_connect_state()
        self.connection.set_ciphertext_mtu(1200)
        self.srtp_session: SrtpSession | None = None

    def advance(self, datagram: bytes | None = None) -> list[bytes]:
        """Handle a datagram of the server, if any, and return the datagrams to send."""
        if datagram is not None:
            self.connection.bio_write(datagram)
        try:
            if self.srtp_session is None:
                self.connection.do_handshake()
                profile = PROFILES[self.connection.get_selected_srtp_profile()]
                keying = self.connection.export_keying_material(b"EXTRACTOR-dtls_srtp", profile.keying_bytes)
                self.srtp_session = SrtpSession(profile, keying, is_server=False)
            else:
                self.connection.recv(65_536)
        except SSL.WantReadError:
            pass
        try:
            return pack_records(self.connection.bio_read(65_536))
        except SSL.WantReadError:
            return []

    @property
    def server_fingerprint(self) -> str:
        """SHA-256 of the server's certificate."""
        certificate = self.connection.get_peer_certificate(as_cryptography=True)
        assert certificate is not None
        return compute_fingerprint(certificate)


class Browser:
    """A browser in a call: signaling over the socket of a `Caller`, media over its own UDP socket."""

    def __init__(self, caller: Caller, profiles: bytes = b":".join(PROFILES)) -> None:
        self.caller = caller
        self.dtls = DtlsClient(profiles)
        self.ufrag = secrets.token_hex(4)
        self.ssrc = secrets.randbits(32)
        """The SSRC that the browser chose for its audio."""
        self.sequence = 0
        self.datagrams = DatagramQueue()
        self.transport: asyncio.DatagramTransport | None = None
        self.description: Any = None

    def offer(self, **fields: str) -> str:
        """Return an SDP offer like that of a browser."""
        values = {"fingerprint": self.dtls.fingerprint, "ufrag": self.ufrag, "session": "4611731400430051336"} | fields
        return (
            f"v=0\r\no=- {values['session']} 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
            "m=audio 9 UDP/TLS/RTP/SAVPF 111 63\r\nc=IN IP4 0.0.0.0\r\n"
            f"a=ice-ufrag:{values['ufrag']}\r\na=ice-pwd:{ICE_PASSWORD}\r\n"
            f"a=fingerprint:sha-256 {values['fingerprint']}\r\na=setup:actpass\r\na=mid:0\r\na=sendrecv\r\n"
            "a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\na=rtpmap:63 red/48000/2\r\n"
        )

    async def select_protocol(self, **fields: Any) -> Any:
        """Send the offer and receive the description of the server."""
        selection = {"protocol": "webrtc", "data": self.offer(), "codecs": CODECS}
        await self.caller.send_json(VoiceOpcode.SELECT_PROTOCOL, selection | fields)
        self.description = await self.caller.next(VoiceOpcode.SESSION_DESCRIPTION)
        return self.description

    def described_attribute(self, name: str) -> str:
        """Return the value of an attribute in the description of the server."""
        match = re.search(rf"^a={name}:(.*)$", self.description["sdp"], re.MULTILINE)
        assert match is not None
        return match[1]

    async def open_udp(self) -> None:
        """Open a UDP socket to the server."""
        ip, port = self.described_attribute("candidate").split()[4:6]
        self.transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: self.datagrams, remote_addr=(ip, int(port))
        )

    def send(self, packet: bytes) -> None:
        """Send a datagram unchanged."""
        assert self.transport is not None
        self.transport.sendto(packet)

    async def receive(self, accepts: Any = lambda _: True) -> bytes:
        """Return the next datagram for which `accepts` returns True."""
        while True:
            async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
                data = await self.datagrams.received.get()
            if accepts(data):
                return data

    async def send_connectivity_check(self, *, use_candidate: bool = True) -> bytes:
        """Send connectivity checks until the server responds, answer its requests, and return the response."""
        while True:
            self.send(self.build_check(use_candidate=use_candidate))
            message = await self.receive(lambda data: data[:2] in (BINDING_REQUEST, BINDING_RESPONSE))
            if message[:2] == BINDING_RESPONSE:
                return message
            self.send(binding_response(message, ICE_PASSWORD))

    def build_check(self, *, use_candidate: bool = True) -> bytes:
        """Build a connectivity check with a new transaction ID."""
        username = f"{self.described_attribute('ice-ufrag')}:{self.ufrag}"
        return binding_request(username, self.described_attribute("ice-pwd"), use_candidate=use_candidate)

    async def handshake(self) -> None:
        """Run the DTLS handshake and verify the certificate of the server."""
        for datagram in self.dtls.advance():
            self.send(datagram)
        while self.dtls.srtp_session is None:
            for datagram in self.dtls.advance(await self.receive(is_dtls)):
                self.send(datagram)
        assert self.described_attribute("fingerprint") == f"sha-256 {self.dtls.server_fingerprint}"

    async def join_and_connect(self, channel_id: int, **identify: Any) -> None:
        """Join a channel and connect completely, until packets can be exchanged."""
        await self.caller.join(channel_id)
        await self.caller.open_socket()
        await self.caller.identify(**identify)
        await self.select_protocol()
        await self.open_udp()
        await self.send_connectivity_check()
        await self.handshake()
        await self.caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": self.ssrc})
        await self.caller.heartbeat()

    def build_packet(self, frame: bytes, *, ssrc: int | None = None, payload_type: int = OPUS_PAYLOAD_TYPE) -> bytes:
        """Build the next SRTP packet."""
        assert self.dtls.srtp_session is not None
        self.sequence += 1
        ssrc = self.ssrc if ssrc is None else ssrc
        header = struct.pack(">BBHII", 0x80, payload_type, self.sequence, self.sequence * 960, ssrc)
        return self.dtls.srtp_session.protect(header + frame)

    def send_frame(self, frame: bytes) -> bytes:
        """Send a frame and return its packet."""
        packet = self.build_packet(frame)
        self.send(packet)
        return packet

    async def receive_packet(self) -> bytes:
        """Return the next media packet, decrypted."""
        assert self.dtls.srtp_session is not None
        packet = await self.receive(lambda data: is_rtp(data) and not is_rtcp(data))
        return self.dtls.srtp_session.unprotect(packet)

    async def receive_media(self) -> tuple[int, bytes]:
        """Return the SSRC and the frame of the next media packet."""
        packet = await self.receive_packet()
        return int.from_bytes(packet[8:12], "big"), packet[12:]

    async def close(self) -> None:
        """Close the UDP socket."""
        if self.transport is not None:
            self.transport.close()
