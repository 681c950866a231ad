"""RTP headers and frames, and the RTCP reports and feedback that the voice server sends and reads (spec/voice.md#7)."""

import struct
from typing import Final

PACKET_BYTES_MAX: Final = 2048
"""Size limit of a datagram in bytes."""
FIXED_HEADER_BYTES: Final = 12
"""Length in bytes of an RTP header without contributing sources and extension."""
RTCP_HEADER_BYTES: Final = 8
"""Length in bytes of the unencrypted part of an RTCP packet."""
RTCP_TYPES: Final = range(200, 207)
"""Packet types of RTCP, the second byte of a packet."""
PLAIN_FIRST_BYTE: Final = 0x80
"""First byte of an RTP packet without contributing sources, extension and padding."""
OPUS_PAYLOAD_TYPE: Final = 0x78
"""RTP payload type of Opus audio."""

E2EE_TRAILER: Final = b"\xfa\xfa"
"""Last bytes of an end-to-end encrypted frame."""
SILENCE_FRAME: Final = b"\xf8\xff\xfe"
"""Opus silence frame that ends a speaker's transmission; it may be sent unencrypted."""

SERVER_SSRC: Final = 1
"""SSRC of the server in its reports; no client has it."""
_SOURCE_COUNT_MASK, _EXTENSION_BIT, _PADDING_BIT = 0x0F, 0x10, 0x20
"""Parts of the first byte of an RTP packet: number of contributing sources, extension flag and padding flag."""
_ONE_ENTRY_FIRST_BYTE: Final = 0x81
"""First byte of an RTCP report with one block, or of a BYE with one SSRC."""
_AUDIO_HEADER_FORMAT: Final = struct.Struct(">BBHII")
# The third field of RTCP packets is their length in words of four bytes, minus one.
_REPORT_FORMAT: Final = struct.Struct(">BBHIIIIIII")
_BYE_FORMAT: Final = struct.Struct(">BBHI")
_FEEDBACK_FORMAT: Final = struct.Struct(">BBHII")
_SENDER_REPORT_TYPE, _RECEIVER_REPORT_TYPE = 200, 201
"""RTCP packet types of reports."""
_REPORT_BLOCK_BYTES: Final = 24
"""Length in bytes of the part of a report about one stream."""
_SENDER_INFO_BYTES: Final = 20
"""Length in bytes of the part of a sender report between its header and its blocks."""
_BYE_TYPE: Final = 203
"""RTCP packet type of BYE."""
_PAYLOAD_FEEDBACK_TYPE: Final = 206
"""RTCP packet type of payload-specific feedback (RFC 4585)."""
_PICTURE_LOSS, _FULL_INTRA_REQUEST, _APPLICATION_FEEDBACK = 1, 4, 15
"""Formats of payload-specific feedback."""
_MANTISSA_BITS: Final = 18
"""Width in bits of the mantissa of the bandwidth in a REMB message; the exponent precedes it."""


def build_audio_header(sequence: int, timestamp: int, ssrc: int) -> bytes:
    """Return the RTP header of an audio packet; `timestamp` counts audio samples."""
    return _AUDIO_HEADER_FORMAT.pack(PLAIN_FIRST_BYTE, OPUS_PAYLOAD_TYPE, sequence, timestamp, ssrc)


def header_length(packet: bytes) -> int:
    """Return the length in bytes of a packet's unencrypted RTP header.

    It includes the contributing sources and the first four bytes of an extension."""
    return FIXED_HEADER_BYTES + 4 * (packet[0] & _SOURCE_COUNT_MASK) + (4 if packet[0] & _EXTENSION_BIT else 0)


def extract_frame(packet: bytes, header_bytes: int) -> bytes | None:
    """Return the frame in a decrypted packet, without extension and padding; None if the lengths are invalid.

    `header_bytes` is the length in bytes of the header, as `header_length` returns it."""
    start, end = header_bytes, len(packet)
    if packet[0] & _EXTENSION_BIT:
        start += 4 * int.from_bytes(packet[header_bytes - 2 : header_bytes], "big")
    if packet[0] & _PADDING_BIT and end > header_bytes:
        end -= packet[-1]
    return packet[start:end] if start <= end else None


def build_receiver_report(ssrc: int, highest_sequence: int, lost_count: int) -> bytes:
    """Return an RTCP receiver report for the sender with this SSRC.

    `highest_sequence` is the highest sequence number received, `lost_count` the number of packets that did not arrive."""
    # The byte above the 24 bits of the lost count is the share of lost packets, which is always 0.
    lost_word = min(max(lost_count, 0), 0x7FFFFF)
    return _REPORT_FORMAT.pack(
        _ONE_ENTRY_FIRST_BYTE, _RECEIVER_REPORT_TYPE, 7, SERVER_SSRC, ssrc, lost_word, highest_sequence, 0, 0, 0
    )


def build_bye() -> bytes:
    """Return an RTCP BYE of the server."""
    return _BYE_FORMAT.pack(_ONE_ENTRY_FIRST_BYTE, _BYE_TYPE, 1, SERVER_SSRC)


def build_picture_loss(ssrc: int) -> bytes:
    """Return an RTCP picture loss indication, which requests a key frame of the stream with this SSRC."""
    return _FEEDBACK_FORMAT.pack(0x80 | _PICTURE_LOSS, _PAYLOAD_FEEDBACK_TYPE, 2, SERVER_SSRC, ssrc)


def build_remb(ssrc: int, bits_per_second: int) -> bytes:
    """Return an RTCP REMB message, which limits the bandwidth of the sender of a stream."""
    exponent = max(bits_per_second.bit_length() - _MANTISSA_BITS, 0)
    limit = exponent << _MANTISSA_BITS | bits_per_second >> exponent
    header = _FEEDBACK_FORMAT.pack(0x80 | _APPLICATION_FEEDBACK, _PAYLOAD_FEEDBACK_TYPE, 5, SERVER_SSRC, 0)
    # The highest byte is the number of SSRCs that follow.
    return header + b"REMB" + struct.pack(">II", 1 << 24 | limit, ssrc)


def key_frame_request_ssrcs(compound: bytes) -> list[int]:
    """Return the SSRCs of the streams whose key frames a decrypted compound RTCP packet requests."""
    ssrcs: list[int] = []
    for packet in _split_compound(compound):
        if packet[1] != _PAYLOAD_FEEDBACK_TYPE or len(packet) < _FEEDBACK_FORMAT.size:
            continue
        feedback_format = packet[0] & 0x1F
        if feedback_format == _PICTURE_LOSS:
            ssrcs.append(int.from_bytes(packet[8:12], "big"))
        elif feedback_format == _FULL_INTRA_REQUEST:
            ssrcs += [int.from_bytes(packet[start : start + 4], "big") for start in range(12, len(packet) - 7, 8)]
    return ssrcs


def reported_losses(compound: bytes) -> list[tuple[int, float]]:
    """Return the streams that a decrypted compound RTCP packet reports on: the SSRC, and the share of lost packets from 0 to 1.

    The share covers the packets since the previous report."""
    losses: list[tuple[int, float]] = []
    for packet in _split_compound(compound):
        if packet[1] not in (_SENDER_REPORT_TYPE, _RECEIVER_REPORT_TYPE):
            continue
        first_offset = RTCP_HEADER_BYTES + (_SENDER_INFO_BYTES if packet[1] == _SENDER_REPORT_TYPE else 0)
        last_offset = min(first_offset + (packet[0] & 0x1F) * _REPORT_BLOCK_BYTES, len(packet)) - _REPORT_BLOCK_BYTES
        for start in range(first_offset, last_offset + 1, _REPORT_BLOCK_BYTES):
            losses.append((int.from_bytes(packet[start : start + 4], "big"), packet[start + 4] / 256))
    return losses


def _split_compound(compound: bytes) -> list[bytes]:
    """Return the packets of a decrypted compound RTCP packet; the last one may be cut off."""
    packets: list[bytes] = []
    offset = 0
    while offset + RTCP_HEADER_BYTES <= len(compound):
        size = 4 + 4 * int.from_bytes(compound[offset + 2 : offset + 4], "big")
        packets.append(compound[offset : offset + size])
        offset += size
    return packets
