"""Ogg Opus files: the Opus packets of a file, and a file of Opus packets (RFC 3533, RFC 7845). No I/O."""

import struct
from collections.abc import Iterator, Sequence
from typing import Final

SAMPLES_PER_MS: Final = 48
"""Samples per channel and millisecond; Opus always counts 48 kHz."""

_PAGE_HEADER: Final = struct.Struct("<4sBBqIIIB")
"""Magic bytes, version, flags, position, serial number, page number, checksum, number of segments."""
_MAGIC: Final = b"OggS"
_FIRST_PAGE, _LAST_PAGE = 2, 4
"""Header flags of the first and last page."""
_SEGMENT_BYTES_MAX: Final = 255
_HEAD_MAGIC, _TAGS_MAGIC = b"OpusHead", b"OpusTags"
_SERIAL: Final = 1
_CHECKSUM_OFFSET: Final = 22
_SILK_MS: Final = (10, 20, 40, 60)
_HYBRID_MS: Final = (10, 20)
_CELT_MS: Final = (2.5, 5, 10, 20)
"""Frame durations in milliseconds by configuration number."""
_HYBRID_CONFIG, _CELT_CONFIG = 12, 16
"""First configuration numbers of the hybrid and CELT modes."""


class OggError(ValueError):
    """Raised for data that is not an Ogg Opus file."""


def read_packets(data: bytes) -> list[bytes]:
    """Return the Opus packets of a file; raise `OggError` if it is not an Ogg Opus file.

    Checksums are not verified, and a truncated last packet is not detected."""
    packets = list(_iter_packets(data))
    if len(packets) < 2 or not packets[0].startswith(_HEAD_MAGIC) or not packets[1].startswith(_TAGS_MAGIC):
        raise OggError(
            "the file is not Ogg Opus; convert it with: ffmpeg -i FILE -c:a libopus -frame_duration 20 FILE.ogg"
        )
    return [packet for packet in packets[2:] if packet]


def _iter_packets(data: bytes) -> Iterator[bytes]:
    offset, packet = 0, b""
    while offset + _PAGE_HEADER.size <= len(data):
        magic, _, _, _, _, _, _, count = _PAGE_HEADER.unpack_from(data, offset)
        if magic != _MAGIC:
            return
        lengths = data[offset + _PAGE_HEADER.size : offset + _PAGE_HEADER.size + count]
        offset += _PAGE_HEADER.size + count
        for length in lengths:
            packet += data[offset : offset + length]
            offset += length
            # A shorter segment ends a packet; a packet may continue on the next page.
            if length < _SEGMENT_BYTES_MAX:
                yield packet
                packet = b""


def encode_file(packets: Sequence[bytes]) -> bytes:
    """Return an Ogg Opus file with these packets, one per page."""
    head = _HEAD_MAGIC + struct.pack("<BBHIHB", 1, 2, 0, 1000 * SAMPLES_PER_MS, 0, 0)
    vendor = b"hubbub"
    tags = _TAGS_MAGIC + struct.pack("<I", len(vendor)) + vendor + struct.pack("<I", 0)
    pages = [_build_page(head, 0, 0, _FIRST_PAGE), _build_page(tags, 0, 1, 0)]
    position = 0
    for number, packet in enumerate(packets, 1):
        position += count_samples(packet)
        pages.append(_build_page(packet, position, number + 1, _LAST_PAGE if number == len(packets) else 0))
    return b"".join(pages)


def count_samples(packet: bytes) -> int:
    """Return the duration of an Opus packet in samples per channel (RFC 6716, section 3.1)."""
    config = packet[0] >> 3
    if config < _HYBRID_CONFIG:
        frame_ms: float = _SILK_MS[config % 4]
    elif config < _CELT_CONFIG:
        frame_ms = _HYBRID_MS[config % 2]
    else:
        frame_ms = _CELT_MS[config % 4]
    code = packet[0] & 3
    frames = 1 if code == 0 else 2 if code < 3 else packet[1] & 0x3F if len(packet) > 1 else 0
    return int(frames * frame_ms * SAMPLES_PER_MS)


def compute_duration_ms(packets: Sequence[bytes]) -> int:
    """Return the duration of Opus packets in milliseconds."""
    return sum(map(count_samples, packets)) // SAMPLES_PER_MS


def _build_page(packet: bytes, position: int, number: int, flags: int) -> bytes:
    full_segments, rest = divmod(len(packet), _SEGMENT_BYTES_MAX)
    lengths = bytes((_SEGMENT_BYTES_MAX,)) * full_segments + bytes((rest,))
    header = _PAGE_HEADER.pack(_MAGIC, 0, flags, position, _SERIAL, number, 0, len(lengths))
    page = bytearray(header + lengths + packet)
    struct.pack_into("<I", page, _CHECKSUM_OFFSET, _checksum(page))
    return bytes(page)


def _build_checksum_table() -> list[int]:
    table = []
    for index in range(256):
        value = index << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
        table.append(value)
    return table


_CHECKSUM_TABLE: Final = _build_checksum_table()


def _checksum(page: bytes | bytearray) -> int:
    value = 0
    for byte in page:
        value = (value << 8 & 0xFFFFFFFF) ^ _CHECKSUM_TABLE[value >> 24 ^ byte]
    return value
