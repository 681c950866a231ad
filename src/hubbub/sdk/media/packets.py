"""UDP packets of the voice server: address discovery, RTP and its encryption (spec/voice.md#7)."""

import struct
from typing import Final, NamedTuple, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hubbub.protocol.voice import AES_GCM, XCHACHA20

try:
    from nacl import bindings
    from nacl.exceptions import CryptoError
except ImportError:  # every server offers both modes, so one is enough
    HAS_NACL = False
else:
    HAS_NACL = True

PACKET_BYTES_MAX: Final = 2048
OPUS_PAYLOAD_TYPE: Final = 0x78
SILENCE_FRAME: Final = b"\xf8\xff\xfe"
"""Opus silence frame that ends a speaker's transmission; it may be sent unencrypted (spec/voice.md#7)."""
_HEADER: Final = struct.Struct(">BBHII")
_DISCOVERY: Final = struct.Struct(">HHI64sH")
_COUNTER: Final = struct.Struct(">I")
_TAG: Final = 16


class PacketError(Exception):
    """Raised for a malformed packet, or one that was not encrypted with this key."""


class Cipher(Protocol):
    """Authenticated encryption of packets with one key."""

    def seal(self, number: int, header: bytes, body: bytes) -> bytes:
        """Encrypt a body; `number` is the nonce counter and `header` is authenticated."""

    def open(self, suffix: bytes, header: bytes, sealed: bytes) -> bytes:
        """Decrypt a body; `suffix` is the nonce counter. Raise `UnopenedError` if the packet is not authentic."""


class AesGcm:
    """Cipher for the mode aead_aes256_gcm_rtpsize."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, number: int, header: bytes, body: bytes) -> bytes:
        """Implement `Cipher.encrypt`."""
        return self._aead.encrypt(_COUNTER.pack(number) + bytes(8), body, header)

    def open(self, suffix: bytes, header: bytes, sealed: bytes) -> bytes:
        """Implement `Cipher.decrypt`."""
        try:
            return self._aead.decrypt(suffix + bytes(8), sealed, header)
        except InvalidTag as error:
            raise PacketError from error


class XChaCha20:
    """Cipher for the mode aead_xchacha20_poly1305_rtpsize."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, number: int, header: bytes, body: bytes) -> bytes:
        """Implement `Cipher.encrypt`."""
        nonce = _COUNTER.pack(number) + bytes(20)
        return bytes(bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(body, header, nonce, self._key))

    def open(self, suffix: bytes, header: bytes, sealed: bytes) -> bytes:
        """Implement `Cipher.decrypt`."""
        try:
            return bytes(
                bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, header, suffix + bytes(20), self._key)
            )
        except CryptoError as error:
            raise PacketError from error


CIPHERS: Final[dict[str, type[AesGcm] | type[XChaCha20]]] = {AES_GCM: AesGcm}
if HAS_NACL:
    CIPHERS[XCHACHA20] = XChaCha20


class AudioPacket(NamedTuple):
    """An audio packet after transport decryption; its frame is still end-to-end encrypted."""

    ssrc: int
    sequence: int
    """RTP sequence number, 16 bits."""
    frame: bytes
    """Opus frame, end-to-end encrypted."""


class PacketCodec:
    """Builds and decrypts RTP packets; sequence numbers are consecutive even across silence, unlike timestamps."""

    def __init__(self, mode: str, key: bytes, ssrc: int) -> None:
        self._cipher: Cipher = CIPHERS[mode](key)
        self._ssrc = ssrc
        self._sequence = 0
        self._number = 0

    def seal(self, frame: bytes, timestamp: int) -> bytes:
        """Build an encrypted RTP packet with a frame."""
        self._sequence = (self._sequence + 1) & 0xFFFF
        self._number = (self._number + 1) & 0xFFFFFFFF
        header = _HEADER.pack(0x80, OPUS_PAYLOAD_TYPE, self._sequence, timestamp & 0xFFFFFFFF, self._ssrc)
        return header + self._cipher.seal(self._number, header, frame) + _COUNTER.pack(self._number)

    def open(self, packet: bytes) -> AudioPacket | None:
        """Decrypt a packet; return None for authentic packets without audio, and raise `UnopenedError` for others."""
        if len(packet) < 12 + _TAG + 4 or packet[0] >> 6 != 2:
            raise PacketError
        control = 200 <= packet[1] <= 206
        extended = bool(packet[0] & 0x10) and not control
        clear = 8 if control else 12 + 4 * (packet[0] & 0x0F) + (4 if extended else 0)
        if len(packet) < clear + _TAG + 4:
            raise PacketError
        body = self._cipher.open(packet[-4:], packet[:clear], packet[clear:-4])
        if control or packet[1] & 0x7F != OPUS_PAYLOAD_TYPE:
            return None
        if extended:
            body = body[4 * int.from_bytes(packet[clear - 2 : clear], "big") :]
        _, _, sequence, _, ssrc = _HEADER.unpack_from(packet)
        return AudioPacket(ssrc, sequence, body)


def discovery_request(ssrc: int) -> bytes:
    """Build an address discovery request."""
    return _DISCOVERY.pack(1, 70, ssrc, b"", 0)


def parse_discovery_response(datagram: bytes, ssrc: int) -> tuple[str, int] | None:
    """Parse an address discovery response; return None for any other datagram."""
    if len(datagram) != _DISCOVERY.size:
        return None
    kind, _, found_ssrc, address, port = _DISCOVERY.unpack(datagram)
    if kind != 2 or found_ssrc != ssrc:
        return None
    return address.partition(b"\0")[0].decode("ascii", "replace"), port


def keepalive_packet(count: int) -> bytes:
    """Build a keepalive packet, which keeps NAT mappings open during silence; the server may ignore it."""
    return struct.pack("<I4x", count & 0xFFFFFFFF)
