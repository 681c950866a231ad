"""Transport encryption of packets between a client and the server, by mode (spec/voice.md#7); not end-to-end encryption.

Without PyNaCl only the AES-GCM modes are available.
"""

import secrets
import struct
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hubbub.media.rtp import FIXED_HEADER_BYTES, PACKET_BYTES_MAX, RTCP_HEADER_BYTES
from hubbub.protocol import voice as protocol

try:
    from nacl import bindings
    from nacl._sodium import ffi, lib  # type: ignore[import-not-found,unused-ignore]
    from nacl.exceptions import CryptoError
except ImportError:
    HAS_NACL = False
else:
    HAS_NACL = True

TAG_BYTES: Final = 16
"""Length in bytes of the authentication tag, in every mode."""
NONCE_BYTES: Final = 4
"""Length in bytes of the nonce at the end of a packet, in all modes except xsalsa20_poly1305 and xsalsa20_poly1305_suffix."""
PACKETS_MAX: Final = 1 << 31
"""Maximum number of packets that one side encrypts with a key; half of the packet numbers."""
NUMBER_RESERVE: Final = 1 << 20
"""Number of packet numbers that are left when a key must be replaced; 10 s of 100,000 packets per second."""
SERVER_FIRST_NUMBERS: Final = range(PACKETS_MAX - (1 << 29), PACKETS_MAX + (1 << 29))
"""Range from which the server chooses its first packet number at random; clients count from 0 (decisions/0070)."""
_NUMBER_MASK: Final = (1 << 32) - 1
_COUNTER_FORMAT: Final = struct.Struct(">I")
_SEQUENCE_FORMAT: Final = struct.Struct(">H")
_SEQUENCE_OFFSET: Final = 2
"""Offset in bytes of the sequence number in an RTP header."""
_GCM_NONCE_PADDING: Final = bytes(12 - NONCE_BYTES)
"""Zeros that extend a short nonce to the 12 bytes of AES-GCM."""
_LONG_NONCE_BYTES: Final = 24
"""Length in bytes of a nonce of XChaCha20 and XSalsa20."""
_LONG_NONCE_PADDING: Final = bytes(_LONG_NONCE_BYTES - NONCE_BYTES)
"""Zeros that extend a short nonce to `_LONG_NONCE_BYTES`."""


class PacketError(Exception):
    """Raised for a packet that is malformed, too long, or not encrypted with the cipher's key."""


class KeyExhausted(PacketError):
    """Raised for a packet after `PACKETS_MAX` packets with the key: further packet numbers may be those of the remote side."""


class Cipher(ABC):
    """Encryption with one key: decrypts packets of the remote side and encrypts packets to it. Not thread-safe."""

    has_rtpsize_header: ClassVar[bool] = True
    """Whether the unencrypted header includes CSRCs and the extension header (`rtp.header_length`).

    If false, it is the fixed twelve bytes. It is true in the modes whose name ends with "_rtpsize". The body of a header
    extension is encrypted in every mode."""
    packet_number_bits: ClassVar[int] = 32
    """Width in bits of the packet number for replay protection."""
    can_encrypt_control: ClassVar[bool] = True
    """Whether RTCP can be encrypted without reusing a nonce."""

    def __init__(self, key: bytes, *, is_server: bool = False) -> None:
        """Create a cipher; `is_server` selects the first packet number.

        Both directions use the same key, so their packet numbers, which are nonces, must differ (decisions/0070).
        """
        self._key = key
        self.first_number = (secrets.choice(SERVER_FIRST_NUMBERS) if is_server else 0) + 1
        """The number of the first packet that this side sends."""
        self._sent_count = 0

    @abstractmethod
    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet after its first `header_bytes` bytes, which are the unencrypted header.

        For RTP, `header_bytes` is `rtp.header_length(packet)` or `FIXED_HEADER_BYTES`, depending on `has_rtpsize_header`;
        for RTCP, it is `RTCP_HEADER_BYTES`. Return the decrypted body and the packet number. Raise PacketError if the packet
        is not authentic.
        """

    @abstractmethod
    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a body; return the whole packet, which starts with the unencrypted `header`.

        Raise KeyExhausted after `PACKETS_MAX` packets, in the modes with a packet counter. Raise PacketError in `XChaCha20`
        if the body is longer than `PACKET_BYTES_MAX`; the other modes do not check the length.
        """

    def encrypt_control(self, packet: bytes) -> bytes:
        """Encrypt an RTCP packet after its first `RTCP_HEADER_BYTES` bytes, which stay unencrypted."""
        return self.encrypt(packet[:RTCP_HEADER_BYTES], packet[RTCP_HEADER_BYTES:])

    @property
    def has_few_numbers(self) -> bool:
        """Whether almost all packet numbers of this side are used.

        It is always false for `XSalsa20` and `XSalsa20Suffix`, which have no counter."""
        return self._sent_count >= PACKETS_MAX - NUMBER_RESERVE

    def has_number_near(self, first: int, last: int) -> bool:
        """Return whether a number of this side is near those from `first` to `last`, which the remote side used.

        The range may wrap around. Numbers are near within `NUMBER_RESERVE`.
        """
        start = self.first_number - NUMBER_RESERVE
        length = self._sent_count + 2 * NUMBER_RESERVE
        return (first - start) & _NUMBER_MASK <= length or (start - first) & _NUMBER_MASK <= (
            last - first
        ) & _NUMBER_MASK

    def _next_nonce(self) -> bytes:
        """Count a sent packet and return its packet number, which is the short nonce; raise KeyExhausted after the last one."""
        count = self._sent_count
        if count >= PACKETS_MAX:
            raise KeyExhausted
        self._sent_count = count + 1
        return _COUNTER_FORMAT.pack((self.first_number + count) & _NUMBER_MASK)


class AesGcm(Cipher):
    """aead_aes256_gcm_rtpsize: the header is authenticated, and four bytes of nonce follow the tag."""

    def __init__(self, key: bytes, *, is_server: bool = False) -> None:
        super().__init__(key, is_server=is_server)
        self._aead = AESGCM(key)

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet; see `Cipher.decrypt`."""
        short_nonce = packet[-NONCE_BYTES:]
        try:
            body = self._aead.decrypt(
                short_nonce + _GCM_NONCE_PADDING, packet[header_bytes:-NONCE_BYTES], packet[:header_bytes]
            )
        except InvalidTag as error:
            raise PacketError from error
        return body, _COUNTER_FORMAT.unpack(short_nonce)[0]

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`."""
        # As `_next_nonce`, without the cost of a call.
        count = self._sent_count
        if count >= PACKETS_MAX:
            raise KeyExhausted
        self._sent_count = count + 1
        short_nonce = _COUNTER_FORMAT.pack((self.first_number + count) & _NUMBER_MASK)
        return header + self._aead.encrypt(short_nonce + _GCM_NONCE_PADDING, body, header) + short_nonce


class AesGcmShortHeader(AesGcm):
    """aead_aes256_gcm: like `AesGcm`, with only the first twelve bytes of the header unencrypted."""

    has_rtpsize_header = False


class XChaCha20(Cipher):
    """aead_xchacha20_poly1305_rtpsize: the header is authenticated, and four bytes of nonce follow the tag.

    Calls libsodium directly: PyNaCl's wrappers are four times slower (spec/voice.md#14).
    """

    def __init__(self, key: bytes, *, is_server: bool = False) -> None:
        super().__init__(key, is_server=is_server)
        # One buffer per key is enough, because one thread uses a cipher.
        self._buffer: Any = ffi.new("unsigned char[]", PACKET_BYTES_MAX + TAG_BYTES)
        self._length_output: Any = ffi.new("unsigned long long *")

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet; see `Cipher.decrypt`."""
        short_nonce, ciphertext = packet[-NONCE_BYTES:], packet[header_bytes:-NONCE_BYTES]
        if not TAG_BYTES <= len(ciphertext) <= PACKET_BYTES_MAX:
            raise PacketError
        status = lib.crypto_aead_xchacha20poly1305_ietf_decrypt(
            self._buffer,
            self._length_output,
            ffi.NULL,
            ciphertext,
            len(ciphertext),
            packet,
            header_bytes,
            short_nonce + _LONG_NONCE_PADDING,
            self._key,
        )
        if status:
            raise PacketError
        return bytes(ffi.buffer(self._buffer, self._length_output[0])), _COUNTER_FORMAT.unpack(short_nonce)[0]

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`."""
        if len(body) > PACKET_BYTES_MAX:
            raise PacketError
        short_nonce = self._next_nonce()
        lib.crypto_aead_xchacha20poly1305_ietf_encrypt(
            self._buffer,
            self._length_output,
            body,
            len(body),
            header,
            len(header),
            ffi.NULL,
            short_nonce + _LONG_NONCE_PADDING,
            self._key,
        )
        return header + bytes(ffi.buffer(self._buffer, self._length_output[0])) + short_nonce


class XSalsa20Lite(Cipher):
    """xsalsa20_poly1305_lite: the header is not authenticated, and four bytes of nonce are at the end."""

    has_rtpsize_header = False

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet; see `Cipher.decrypt`."""
        short_nonce = packet[-NONCE_BYTES:]
        body = _open_secretbox(packet[header_bytes:-NONCE_BYTES], short_nonce + _LONG_NONCE_PADDING, self._key)
        return body, _COUNTER_FORMAT.unpack(short_nonce)[0]

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`."""
        short_nonce = self._next_nonce()
        return header + bindings.crypto_secretbox(body, short_nonce + _LONG_NONCE_PADDING, self._key) + short_nonce


class XSalsa20LiteRtpsize(XSalsa20Lite):
    """xsalsa20_poly1305_lite_rtpsize: `XSalsa20Lite` with an unencrypted header as long as `rtp.header_length` returns."""

    has_rtpsize_header = True


class XSalsa20Suffix(Cipher):
    """xsalsa20_poly1305_suffix: a random 24-byte nonce at the end. The packet number is the RTP sequence number."""

    has_rtpsize_header = False
    packet_number_bits = 16

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet; see `Cipher.decrypt`."""
        body = _open_secretbox(packet[header_bytes:-_LONG_NONCE_BYTES], packet[-_LONG_NONCE_BYTES:], self._key)
        return body, _SEQUENCE_FORMAT.unpack_from(packet, _SEQUENCE_OFFSET)[0]

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`."""
        nonce = bindings.randombytes(_LONG_NONCE_BYTES)
        return header + bindings.crypto_secretbox(body, nonce, self._key) + nonce


class XSalsa20(Cipher):
    """xsalsa20_poly1305: the header, padded with zeros, is the nonce. The packet number is the RTP sequence number."""

    has_rtpsize_header = False
    packet_number_bits = 16
    can_encrypt_control = False

    def decrypt(self, packet: bytes, header_bytes: int) -> tuple[bytes, int]:
        """Decrypt a packet; see `Cipher.decrypt`."""
        body = _open_secretbox(packet[header_bytes:], _header_nonce(packet[:header_bytes]), self._key)
        return body, _SEQUENCE_FORMAT.unpack_from(packet, _SEQUENCE_OFFSET)[0]

    def encrypt(self, header: bytes, body: bytes) -> bytes:
        """Encrypt a packet; see `Cipher.encrypt`."""
        return header + bindings.crypto_secretbox(body, _header_nonce(header), self._key)


def _header_nonce(header: bytes) -> bytes:
    """Return the 24-byte nonce that consists of an RTP header and zeros."""
    return header[:FIXED_HEADER_BYTES].ljust(_LONG_NONCE_BYTES, b"\0")


def _open_secretbox(ciphertext: bytes, nonce: bytes, key: bytes) -> bytes:
    """Decrypt with XSalsa20-Poly1305; raise PacketError if the ciphertext is not authentic."""
    if len(ciphertext) < TAG_BYTES or len(nonce) != _LONG_NONCE_BYTES:
        raise PacketError
    try:
        return bindings.crypto_secretbox_open(ciphertext, nonce, key)
    except CryptoError as error:
        raise PacketError from error


CIPHERS: Final[dict[str, type[Cipher]]] = {
    protocol.AES_GCM: AesGcm,
    "aead_aes256_gcm": AesGcmShortHeader,
}
"""Cipher classes by the name of their encryption mode."""
if HAS_NACL:
    CIPHERS.update(
        {
            protocol.XCHACHA20: XChaCha20,
            "xsalsa20_poly1305_lite_rtpsize": XSalsa20LiteRtpsize,
            "xsalsa20_poly1305_lite": XSalsa20Lite,
            "xsalsa20_poly1305_suffix": XSalsa20Suffix,
            "xsalsa20_poly1305": XSalsa20,
        }
    )
