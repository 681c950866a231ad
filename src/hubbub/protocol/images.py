"""Pictures and sounds inside JSON: data URIs, read into bytes, known by what they are and not by what they say."""

import base64
import binascii
import hashlib
from typing import Final

DATA_URI_MAX: Final = 14 * 1024 * 1024
"""Longer text is no picture we would take: 10 MiB in base64."""

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def sniff_image(data: bytes) -> str | None:
    """What kind of picture these bytes are, by their first ones; None for anything that no browser should show as one."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


class ImageData:
    """A picture sent as a data URI. It is kept under the hash of its bytes."""

    __slots__ = ("animated", "content_type", "data", "hash")

    def __init__(self, data: bytes, content_type: str) -> None:
        self.data = data
        self.content_type = content_type
        self.animated = content_type == "image/gif" or (content_type == "image/webp" and b"ANIM" in data[:64])
        digest = hashlib.sha256(data).hexdigest()[:32]
        self.hash = f"a_{digest}" if self.animated else digest
        """The name assets and CDN addresses use; `a_` marks one that moves."""

    @classmethod
    def parse(cls, text: object) -> "ImageData":
        """Read `data:image/png;base64,...`; ValueError for anything else. The bytes decide what it is, not the label."""
        if not isinstance(text, str) or len(text) > DATA_URI_MAX or not text.startswith("data:image/"):
            raise ValueError("Invalid image data")
        head, comma, payload = text.partition(",")
        if not comma or not head.endswith(";base64"):
            raise ValueError("Invalid image data")
        try:
            data = base64.b64decode(payload, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("Invalid image data") from None
        content_type = sniff_image(data)
        if content_type is None:
            raise ValueError("Invalid image data")
        return cls(data, content_type)

    def uri(self) -> str:
        """The data URI again."""
        return f"data:{self.content_type};base64,{base64.b64encode(self.data).decode()}"
