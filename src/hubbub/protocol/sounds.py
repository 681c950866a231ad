"""Sounds in JSON: data URIs of Ogg and MP3 files, detected and measured from their bytes."""

import base64
import hashlib
from typing import ClassVar, Final, NamedTuple

from hubbub.protocol.images import read_data_uri

OGG: Final = "audio/ogg"
MP3: Final = "audio/mpeg"

# MPEG audio layer III: bitrates in kbit/s by index, for version 1 and for versions 2 and 2.5; sample rates of version 1 in Hz,
# of which version 2 has half and version 2.5 a quarter.
_KBITS: Final = (
    (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
)
_HERTZ: Final = (44100, 48000, 32000)
_PAGE_HEADER: Final = 27
_NO_GRANULE: Final = (1 << 64) - 1
_OPUS_HERTZ: Final = 48000
_TAIL_MAX: Final = 4096
"""Maximum number of bytes of a tag or padding after the last frame of an MP3."""


class Audio(NamedTuple):
    """Properties of a sound, read from its bytes."""

    content_type: str | None
    """Media type; None if the sound is neither Ogg nor MP3."""
    data: bytes
    """Content of the sound, without the tags around an MP3's frames."""
    duration_ms: int | None
    """Duration in milliseconds; None if unknown."""


def inspect_audio(data: bytes) -> Audio:
    """Return the media type, content and duration of a sound."""
    if data.startswith(b"OggS"):
        return Audio(OGG, data, _ogg_ms(data))
    start = _after_id3(data)
    if data.startswith(b"ID3") or _frame(data, start) is not None:
        frames, milliseconds = _mp3(data, start)
        return Audio(MP3, frames, milliseconds)
    return Audio(None, data, None)


def _ogg_ms(data: bytes) -> int | None:
    """Return the duration of the first stream of an Ogg file; None if its pages are not contiguous."""
    at, hertz, skipped, last, serial = 0, 0, 0, -1, b""
    while at < len(data):
        if data[at : at + 4] != b"OggS" or at + _PAGE_HEADER > len(data):
            return None
        segments = data[at + _PAGE_HEADER : at + _PAGE_HEADER + data[at + 26]]
        body = at + _PAGE_HEADER + data[at + 26]
        if len(segments) < data[at + 26] or body + sum(segments) > len(data):
            return None
        if not serial:
            serial = data[at + 14 : at + 18]
            hertz, skipped = _codec(data[body : body + sum(segments)])
        if data[at + 14 : at + 18] == serial:
            granule = int.from_bytes(data[at + 6 : at + 14], "little")
            if granule != _NO_GRANULE:
                if granule < last:
                    return None
                last = granule
        at = body + sum(segments)
    if not hertz or last <= skipped:
        return None
    return round((last - skipped) * 1000 / hertz)


def _codec(head: bytes) -> tuple[int, int]:
    """Return the sample rate and the number of samples to skip; (0, 0) for an unknown codec."""
    if head.startswith(b"\x01vorbis") and len(head) >= 16:
        return int.from_bytes(head[12:16], "little"), 0
    if head.startswith(b"OpusHead") and len(head) >= 12:
        return _OPUS_HERTZ, int.from_bytes(head[10:12], "little")
    if head.startswith(b"\x7fFLAC") and len(head) >= 30:
        # STREAMINFO starts at byte 17; the sample rate is the 20 bits after the block and frame sizes.
        return int.from_bytes(head[27:30], "big") >> 4, 0
    return 0, 0


def _after_id3(data: bytes) -> int:
    """Return the offset of the first frame of an MP3."""
    if not data.startswith(b"ID3") or len(data) < 10:
        return 0
    size = 0
    for byte in data[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _frame(data: bytes, at: int) -> tuple[int, float] | None:
    """Return the size in bytes and the duration in milliseconds of the MPEG layer III frame at an offset."""
    if at + 4 > len(data) or data[at] != 0xFF or data[at + 1] & 0xE6 != 0xE2:
        return None
    version = data[at + 1] >> 3 & 3
    kbits_index, hertz_index, padding = data[at + 2] >> 4, data[at + 2] >> 2 & 3, data[at + 2] >> 1 & 1
    if version == 1 or not 0 < kbits_index < 15 or hertz_index == 3:
        return None
    first = version == 3
    hertz = _HERTZ[hertz_index] >> (0 if first else 1 if version == 2 else 2)
    kbits = _KBITS[0 if first else 1][kbits_index]
    samples = 1152 if first else 576
    return samples // 8 * kbits * 1000 // hertz + padding, samples * 1000 / hertz


def _mp3(data: bytes, start: int) -> tuple[bytes, int | None]:
    """Return the frames of an MP3 and their duration in milliseconds; None if there is other data between them."""
    at, milliseconds = start, 0.0
    while (frame := _frame(data, at)) is not None:
        at += frame[0]
        milliseconds += frame[1]
    if at == start or len(data) - at > _TAIL_MAX:
        return data, None
    return data[start : min(at, len(data))], round(milliseconds)


class SoundData:
    """A sound sent as a data URI, stored under the hash of its bytes."""

    __slots__ = ("content_type", "data", "duration_ms", "hash")

    bytes_max: ClassVar[int] = 512 * 1024
    """Maximum size in bytes."""

    def __init__(self, data: bytes) -> None:
        self.content_type, self.data, self.duration_ms = inspect_audio(data)
        self.hash = hashlib.sha256(self.data).hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoundData) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    @classmethod
    def parse(cls, text: object) -> "SoundData":
        """Parse `data:audio/ogg;base64,...`; raise ValueError for any other input.

        The bytes determine the media type and the duration.
        """
        return cls(read_data_uri(text, "audio", cls.bytes_max))

    def on_wire(self) -> str:
        """Return the sound as a data URI."""
        kind = self.content_type or OGG
        return f"data:{kind};base64,{base64.b64encode(self.data).decode()}"
