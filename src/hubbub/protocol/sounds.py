"""Sounds in JSON: data URIs of Ogg and MP3 files, whose media type and duration are determined from their bytes."""

import base64
import hashlib
from typing import ClassVar, Final, NamedTuple

from hubbub.protocol.images import decode_data_uri

OGG: Final = "audio/ogg"
MP3: Final = "audio/mpeg"
SOUND_BYTES_MAX: Final = 512 * 1024

_BITRATES_KBITS: Final = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
"""Bitrates of MPEG audio layer III in kbit/s by index, for version 1 and for versions 2 and 2.5."""
_SAMPLE_RATES_HERTZ: Final = (44100, 48000, 32000)
"""Sample rates of MPEG audio version 1 in Hz by index; version 2 has half of them and version 2.5 a quarter."""
_PAGE_HEADER_BYTES: Final = 27
"""Size of the header of an Ogg page, without the segment table that follows it."""
_NO_GRANULE: Final = (1 << 64) - 1
"""Granule position of an Ogg page on which no packet ends."""
_OPUS_HERTZ: Final = 48000
_ID3_HEADER_BYTES: Final = 10
_TRAILER_BYTES_MAX: Final = 4096
"""Maximum number of bytes of a tag or padding after the last frame of an MP3."""


class Audio(NamedTuple):
    """Properties of a sound, read from its bytes."""

    content_type: str | None
    """Media type; None if the sound is neither Ogg nor MP3."""
    data: bytes
    """Content of the sound, without the tags around an MP3's frames; the whole file if its frames are not recognized."""
    duration_ms: int | None
    """Duration in milliseconds; None if unknown."""


def inspect_audio(data: bytes) -> Audio:
    """Return the media type, content and duration of a sound."""
    if data.startswith(b"OggS"):
        return Audio(OGG, data, _read_ogg_duration_ms(data))
    first_frame_offset = _read_first_frame_offset(data)
    if data.startswith(b"ID3") or _parse_frame(data, first_frame_offset) is not None:
        frames, milliseconds = _parse_mp3(data, first_frame_offset)
        return Audio(MP3, frames, milliseconds)
    return Audio(None, data, None)


def _read_ogg_duration_ms(data: bytes) -> int | None:
    """Return the duration of the first stream of an Ogg file; None if it is unknown or the pages are invalid."""
    offset, sample_rate, skipped_samples, last_granule, serial = 0, 0, 0, -1, b""
    while offset < len(data):
        if data[offset : offset + 4] != b"OggS" or offset + _PAGE_HEADER_BYTES > len(data):
            return None
        # The header has the granule position at byte 6, the stream's serial number at 14 and the segment count at 26.
        page_serial = data[offset + 14 : offset + 18]
        segment_count = data[offset + 26]
        body_start = offset + _PAGE_HEADER_BYTES + segment_count
        segment_sizes = data[offset + _PAGE_HEADER_BYTES : body_start]
        body_end = body_start + sum(segment_sizes)
        if len(segment_sizes) < segment_count or body_end > len(data):
            return None
        if not serial:
            serial = page_serial
            sample_rate, skipped_samples = _parse_codec_header(data[body_start:body_end])
        if page_serial == serial:
            granule = int.from_bytes(data[offset + 6 : offset + 14], "little")
            if granule != _NO_GRANULE:
                if granule < last_granule:
                    return None
                last_granule = granule
        offset = body_end
    if not sample_rate or last_granule <= skipped_samples:
        return None
    return round((last_granule - skipped_samples) * 1000 / sample_rate)


def _parse_codec_header(head: bytes) -> tuple[int, int]:
    """Return the sample rate and the number of samples to skip at the start; (0, 0) for an unknown codec."""
    if head.startswith(b"\x01vorbis") and len(head) >= 16:
        return int.from_bytes(head[12:16], "little"), 0
    if head.startswith(b"OpusHead") and len(head) >= 12:
        return _OPUS_HERTZ, int.from_bytes(head[10:12], "little")
    if head.startswith(b"\x7fFLAC") and len(head) >= 30:
        # STREAMINFO starts at byte 17; the sample rate is the 20 bits after the block and frame sizes.
        return int.from_bytes(head[27:30], "big") >> 4, 0
    return 0, 0


def _read_first_frame_offset(data: bytes) -> int:
    """Return the offset of the first frame of an MP3, after the ID3v2 tag if there is one."""
    if not data.startswith(b"ID3") or len(data) < _ID3_HEADER_BYTES:
        return 0
    # The size of the tag has four bytes of seven bits each.
    tag_bytes = 0
    for byte in data[6:_ID3_HEADER_BYTES]:
        tag_bytes = tag_bytes << 7 | byte & 0x7F
    return _ID3_HEADER_BYTES + tag_bytes


def _parse_frame(data: bytes, offset: int) -> tuple[int, float] | None:
    """Return the size in bytes and the duration in milliseconds of the frame at an offset.

    Return None if there is no MPEG audio layer III frame.
    """
    # The header starts with 11 sync bits; the mask also selects the two bits of the layer, where 01 is layer III.
    if offset + 4 > len(data) or data[offset] != 0xFF or data[offset + 1] & 0xE6 != 0xE2:
        return None
    # 3 is version 1, 2 is version 2, 0 is version 2.5, and 1 is reserved.
    version = data[offset + 1] >> 3 & 3
    bitrate_index, sample_rate_index, padding = (
        data[offset + 2] >> 4,
        data[offset + 2] >> 2 & 3,
        data[offset + 2] >> 1 & 1,
    )
    if version == 1 or not 0 < bitrate_index < 15 or sample_rate_index == 3:
        return None
    is_version_1 = version == 3
    sample_rate = _SAMPLE_RATES_HERTZ[sample_rate_index] >> (0 if is_version_1 else 1 if version == 2 else 2)
    kbits = _BITRATES_KBITS[0 if is_version_1 else 1][bitrate_index]
    samples = 1152 if is_version_1 else 576
    return samples // 8 * kbits * 1000 // sample_rate + padding, samples * 1000 / sample_rate


def _parse_mp3(data: bytes, start: int) -> tuple[bytes, int | None]:
    """Return the frames of an MP3 and their duration in milliseconds.

    Return the whole file and None if it has no frames, or if more than `_TRAILER_BYTES_MAX` bytes follow them.
    """
    offset, milliseconds = start, 0.0
    while (frame := _parse_frame(data, offset)) is not None:
        frame_bytes, frame_ms = frame
        offset += frame_bytes
        milliseconds += frame_ms
    if offset == start or len(data) - offset > _TRAILER_BYTES_MAX:
        return data, None
    return data[start : min(offset, len(data))], round(milliseconds)


class SoundData:
    """A sound sent as a data URI, stored under the hash of its bytes."""

    __slots__ = ("content_type", "data", "duration_ms", "hash")

    bytes_max: ClassVar[int] = SOUND_BYTES_MAX
    """Maximum size in bytes."""

    def __init__(self, data: bytes) -> None:
        self.content_type, self.data, self.duration_ms = inspect_audio(data)
        self.hash = hashlib.sha256(self.data).hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoundData) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    @classmethod
    def from_data_uri(cls, text: object) -> "SoundData":
        """Parse a data URI such as `data:audio/ogg;base64,...`; raise ValueError for invalid input.

        The media type is detected from the bytes; the one in the data URI is ignored.
        """
        return cls(decode_data_uri(text, "audio", cls.bytes_max))

    def to_wire(self) -> str:
        """Return the sound as a data URI."""
        content_type = self.content_type or OGG
        return f"data:{content_type};base64,{base64.b64encode(self.data).decode()}"
