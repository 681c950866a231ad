"""SRTP between the server and a browser, with the keys of their DTLS association (RFC 3711, RFC 5764).

A rehearsal imports pylibsrtp for its first browser, so that it starts faster."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from hubbub.media import rtp
from hubbub.media.ciphers import Cipher, PacketError

_KEY_BYTES: Final = 16
_PACKET_BYTES_MAX: Final = 1356
"""Size limit in bytes of an RTP packet to a browser, as that of pylibsrtp."""
_TRAILER_BYTES_MAX: Final = 144
"""Maximum number of bytes that libsrtp appends to a packet."""


class SrtpProfile(NamedTuple):
    """A protection profile of SRTP."""

    id: int
    """Number of the profile in libsrtp and in DTLS."""
    salt_bytes: int

    @property
    def keying_bytes(self) -> int:
        """The number of bytes that DTLS exports for both directions."""
        return 2 * (_KEY_BYTES + self.salt_bytes)


PROFILES: Final = {
    b"SRTP_AEAD_AES_128_GCM": SrtpProfile(7, 12),
    b"SRTP_AES128_CM_SHA1_80": SrtpProfile(1, 14),
}
"""Protection profiles by their name in DTLS, in order of preference; every browser implements the second."""


class ReplayError(PacketError):
    """Raised for a packet that was received before."""


class SrtpSession:
    """The SRTP keys of both directions, seen from one side. Not thread-safe.

    RTP packets are encrypted by libsrtp directly: pylibsrtp's wrapper takes almost twice as long (spec/voice.md#14).
    """

    def __init__(self, profile: SrtpProfile, keying_material: bytes, *, is_server: bool) -> None:
        """Create a session from exported keying material; `is_server` is the role in DTLS."""
        import pylibsrtp
        from pylibsrtp._binding import ffi, lib  # type: ignore[import-not-found,unused-ignore]

        self._library_error = pylibsrtp.Error
        client_key, server_key = keying_material[:_KEY_BYTES], keying_material[_KEY_BYTES : 2 * _KEY_BYTES]
        salts = keying_material[2 * _KEY_BYTES :]
        client_key_and_salt, server_key_and_salt = (
            client_key + salts[: profile.salt_bytes],
            server_key + salts[profile.salt_bytes :],
        )
        policy = pylibsrtp.Policy
        self._sender = pylibsrtp.Session(
            policy(
                server_key_and_salt if is_server else client_key_and_salt,
                policy.SSRC_ANY_OUTBOUND,
                srtp_profile=profile.id,
            )
        )
        self._receiver = pylibsrtp.Session(
            policy(
                client_key_and_salt if is_server else server_key_and_salt,
                policy.SSRC_ANY_INBOUND,
                srtp_profile=profile.id,
            )
        )
        sender: Any = self._sender
        self._protect_in_place: Any = lib.srtp_protect
        self._context: Any = sender._srtp[0]
        self._buffer: Any = ffi.new("unsigned char[]", _PACKET_BYTES_MAX + _TRAILER_BYTES_MAX)
        self._content: Any = ffi.buffer(self._buffer)
        self._length: Any = ffi.new("int *")

    def protect(self, packet: bytes) -> bytes:
        """Encrypt an RTP packet; raise PacketError for a packet that was sent before, which would repeat a nonce."""
        size = len(packet)
        if not rtp.FIXED_HEADER_BYTES <= size <= _PACKET_BYTES_MAX:
            raise PacketError
        self._content[0:size] = packet
        self._length[0] = size
        if self._protect_in_place(self._context, self._buffer, self._length):
            raise PacketError
        protected: bytes = self._content[0 : self._length[0]]
        return protected

    def protect_control(self, packet: bytes) -> bytes:
        """Encrypt an RTCP packet; raise PacketError if that fails."""
        try:
            return self._sender.protect_rtcp(packet)
        except (self._library_error, ValueError) as error:
            raise PacketError from error

    def unprotect(self, packet: bytes) -> bytes:
        """Decrypt an RTP packet; raise PacketError if it is not authentic or was received before."""
        try:
            return self._receiver.unprotect(packet)
        except (self._library_error, ValueError) as error:
            raise (ReplayError if "replay" in str(error) else PacketError) from error

    def unprotect_control(self, packet: bytes) -> bytes:
        """Decrypt an RTCP packet; raise PacketError if it is not authentic or was received before."""
        try:
            return self._receiver.unprotect_rtcp(packet)
        except (self._library_error, ValueError) as error:
            raise PacketError from error

    def remove_sent_stream(self, ssrc: int) -> None:
        """Free the state of a stream that is no longer sent."""
        try:
            self._sender.remove_stream(ssrc)
        except self._library_error:
            # Nothing was sent with this SSRC.
            pass


class SrtpCipher(Cipher):
    """Encrypts forwarded packets for a browser, with the browser's payload types and without header extensions.

    Packets of the browser are decrypted by its transport, which verifies their address.
    """

    def __init__(self, session: SrtpSession, payload_types: Mapping[int, int]) -> None:
        """Create a cipher; `payload_types` maps the payload types of native clients to those of the browser."""
        super().__init__(b"", is_server=True)
        self._session = session
        self._first_bytes: list[bytes | None] = [None] * 256
        """The first two bytes of a packet to the browser, by the second byte of the forwarded packet."""
        for native_type, browser_type in payload_types.items():
            for marker in (0, 0x80):
                self._first_bytes[marker | native_type] = bytes((0x80, marker | browser_type))

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Reject a packet in the format of native clients."""
        raise PacketError

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`. Raise PacketError if the browser does not receive its codec."""
        first_bytes = self._first_bytes[header[1]]
        if first_bytes is None:
            raise PacketError
        if header[0] == 0x80:
            return self._session.protect(first_bytes + header[2:] + body)
        frame = rtp.extract_frame(header + body, len(header))
        if frame is None:
            raise PacketError
        return self._session.protect(first_bytes + header[2 : rtp.FIXED_HEADER_BYTES] + frame)

    def encrypt_control(self, packet: bytes) -> bytes:
        """Encrypt an RTCP packet."""
        return self._session.protect_control(packet)

    def remove_stream(self, ssrc: int) -> None:
        """Free the state of a stream that is no longer sent to the browser."""
        self._session.remove_sent_stream(ssrc)
