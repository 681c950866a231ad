"""Detection of a file's type and of an image's dimensions from the content, and of files that browsers may display."""

import re
from typing import Final, NamedTuple

from hubbub.protocol.images import detect_image_type

_TEXT_BYTES: Final = 4096
"""Number of bytes that decide whether a file is text."""
_JPEG_SEGMENTS_MAX: Final = 512
"""Maximum number of segments that are searched for the dimensions of a JPEG image."""

_SIGNATURES: Final = (
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
)
_TYPES_BY_BRAND: Final = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"M4B ": "audio/mp4",
}
_TEXT_TYPES: Final = {
    "json": "application/json; charset=utf-8",
    "csv": "text/csv; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "xml": "text/xml; charset=utf-8",
    "svg": "image/svg+xml",
}
_TRACKS_BYTES: Final = 4096
"""Number of bytes at the start of a WebM file in which its tracks are described."""
_WEBM_AUDIO_CODECS: Final = (b"A_OPUS", b"A_VORBIS")
_WEBM_VIDEO_CODECS: Final = (b"V_VP8", b"V_VP9", b"V_AV1")
_BINARY_PATTERN: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Media(NamedTuple):
    """The type of a file and, for images, its dimensions."""

    content_type: str | None
    width: int | None = None
    height: int | None = None
    is_animated: bool = False


def inspect_file(data: bytes, filename: str = "") -> Media:
    """Detect the type of a file and the dimensions of an image; the name only distinguishes kinds of text."""
    content_type = detect_image_type(data)
    if content_type is not None:
        width, height = _SIZE_READERS[content_type](data) or (None, None)
        return Media(content_type, width, height, _is_animated(content_type, data))
    return Media(_detect_other_type(data, filename))


def _detect_other_type(data: bytes, filename: str) -> str | None:
    """Return the type of a file that is not an image, or None if it is unknown."""
    for signature, content_type in _SIGNATURES:
        if data.startswith(signature):
            return "audio/webm" if content_type == "video/webm" and _has_only_audio(data) else content_type
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    if data[4:8] == b"ftyp":
        return _TYPES_BY_BRAND.get(data[8:12], "video/mp4")
    head = data[:_TEXT_BYTES]
    if head and not _BINARY_PATTERN.search(head):
        try:
            head.decode()
        except UnicodeDecodeError as error:
            # The cut may have split a character.
            if len(data) <= _TEXT_BYTES or error.start < len(head) - 3:
                return None
        return _TEXT_TYPES.get(filename.rpartition(".")[2].lower(), "text/plain; charset=utf-8")
    return None


def _png_size(data: bytes) -> tuple[int, int] | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif_size(data: bytes) -> tuple[int, int] | None:
    if len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk the segments up to the frame header, which contains the dimensions."""
    position = 2
    for _ in range(_JPEG_SEGMENTS_MAX):
        while position < len(data) and data[position] == 0xFF:
            position += 1
        if position + 8 > len(data):
            return None
        marker = data[position]
        # Start of frame (SOF); DHT, JPG and DAC are in the same range.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[position + 6 : position + 8], "big"), int.from_bytes(
                data[position + 4 : position + 6], "big"
            )
        # RST and SOI have no length.
        if 0xD0 <= marker <= 0xD8:
            position += 1
        else:
            position += 1 + int.from_bytes(data[position + 1 : position + 3], "big")
        if position >= len(data) or data[position] != 0xFF:
            return None
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    chunk_type = data[12:16]
    if chunk_type == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if chunk_type == b"VP8L" and len(data) >= 25:
        packed_size = int.from_bytes(data[21:25], "little")
        return (packed_size & 0x3FFF) + 1, (packed_size >> 14 & 0x3FFF) + 1
    if chunk_type == b"VP8 " and data[23:26] == b"\x9d\x01\x2a" and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    return None


_SIZE_READERS: Final = {
    "image/png": _png_size,
    "image/gif": _gif_size,
    "image/jpeg": _jpeg_size,
    "image/webp": _webp_size,
}
"""Functions that return width and height from the header of an image, by content type."""


def _has_only_audio(data: bytes) -> bool:
    """Return whether a WebM file is a recording of sound, such as a voice message of a browser."""
    head = data[:_TRACKS_BYTES]
    return any(codec in head for codec in _WEBM_AUDIO_CODECS) and not any(codec in head for codec in _WEBM_VIDEO_CODECS)


def _is_animated(content_type: str, data: bytes) -> bool:
    """Return whether an image has more than one frame, judging by the start of the file."""
    if content_type == "image/gif":
        # The extension for repeated animations, or a second graphic control extension.
        return b"NETSCAPE2.0" in data[:4096] or data.count(b"\x21\xf9\x04", 0, 1 << 16) > 1
    if content_type == "image/png":
        # The chunk that only animated PNG files have.
        return b"acTL" in data[:256]
    # The animation flag of the extended WebP header.
    return content_type == "image/webp" and data[12:16] == b"VP8X" and len(data) > 20 and bool(data[20] & 2)


_DISPLAYABLE_TYPES: Final = frozenset(
    {
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
        "image/avif",
        "audio/ogg",
        "audio/mpeg",
        "audio/flac",
        "audio/wav",
        "audio/mp4",
        "audio/webm",
        "video/mp4",
        "video/webm",
        "video/quicktime",
    }
)
"""Types that browsers display and that cannot contain scripts."""
HEAD_BYTES: Final = _TRACKS_BYTES
"""Number of bytes at the start of a file that `displayable_type` needs."""


def displayable_type(head: bytes) -> str | None:
    """Return the type of an image, sound or video that a browser may display from the platform's origin, or None."""
    content_type = detect_image_type(head) or _detect_other_type(head, "")
    return content_type if content_type in _DISPLAYABLE_TYPES else None
