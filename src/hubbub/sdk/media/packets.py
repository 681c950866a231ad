"""Audio packets of a call: RTP with transport encryption (spec/voice.md#7)."""

from typing import Final, NamedTuple

from hubbub.media import rtp
from hubbub.media.ciphers import CIPHERS, NONCE_BYTES, TAG_BYTES, Cipher, PacketError
from hubbub.protocol.voice import ENCRYPTION_MODES

SUPPORTED_MODES: Final = tuple(mode for mode in ENCRYPTION_MODES if mode in CIPHERS)
"""Encryption modes of the client. Every server offers both current modes, so one is enough."""

RTP_VERSION: Final = 2
"""Version in the two highest bits of an RTP or RTCP packet."""


class AudioPacket(NamedTuple):
    """An audio packet after transport decryption; its frame is still end-to-end encrypted."""

    ssrc: int
    sequence: int
    """RTP sequence number, 16 bits."""
    frame: bytes
    """Opus frame, end-to-end encrypted."""


class PacketCodec:
    """Encoder and decoder of encrypted RTP packets; unlike timestamps, sequence numbers are consecutive across silence."""

    def __init__(self, mode: str, key: bytes, ssrc: int) -> None:
        self._cipher: Cipher = CIPHERS[mode](key)
        self._ssrc = ssrc
        self._sequence = 0

    @property
    def needs_new_key(self) -> bool:
        """Whether almost all packet numbers of the key are used."""
        return self._cipher.has_few_numbers

    def seal(self, frame: bytes, timestamp: int) -> bytes:
        """Build an encrypted RTP packet with a frame; `timestamp` counts samples per channel.

        Raise `PacketError` if the key has no packet number left."""
        self._sequence = (self._sequence + 1) & 0xFFFF
        return self._cipher.encrypt(rtp.build_audio_header(self._sequence, timestamp & 0xFFFFFFFF, self._ssrc), frame)

    def open(self, packet: bytes) -> AudioPacket | None:
        """Decrypt a packet; return None if it has no audio; raise `PacketError` if it is malformed or not authentic."""
        if len(packet) < rtp.FIXED_HEADER_BYTES or packet[0] >> 6 != RTP_VERSION:
            raise PacketError
        is_control = packet[1] in rtp.RTCP_TYPES
        header_bytes = rtp.RTCP_HEADER_BYTES if is_control else rtp.header_length(packet)
        if len(packet) < header_bytes + TAG_BYTES + NONCE_BYTES:
            raise PacketError
        body, _ = self._cipher.decrypt(packet, header_bytes)
        if is_control or packet[1] & 0x7F != rtp.OPUS_PAYLOAD_TYPE:
            return None
        frame = rtp.extract_frame(packet[:header_bytes] + body, header_bytes)
        if frame is None:
            raise PacketError
        return AudioPacket(int.from_bytes(packet[8:12], "big"), int.from_bytes(packet[2:4], "big"), frame)
