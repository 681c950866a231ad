"""Pictures inside JSON: data URIs, read into bytes, known by what they are and not by what they say."""

import base64
import binascii
import hashlib
from collections.abc import Set
from typing import ClassVar, Final, Self

IMAGE_BYTES_MAX: Final = 10 * 1024 * 1024
IMAGE_SIDE_MAX: Final = 2048

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_PREFIX_MAX: Final = 64


class TooLargeError(ValueError):
    """A picture or sound of more bytes than its field takes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"File cannot be larger than {in_words(most)}.")
        self.most = most


def in_words(size: int) -> str:
    """A number of bytes as error messages name it."""
    return f"{size / 1024:.1f} kb" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"


def sniff_image(data: bytes) -> str | None:
    """What kind of picture these bytes are, by their first ones; None for anything that no browser should show as one."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_data_uri(text: object, kind: str, most: int) -> bytes:
    """The bytes of `data:<kind>/...;base64,...`; TooLargeError above so many, ValueError for anything else."""
    if not isinstance(text, str) or not text.startswith(f"data:{kind}/"):
        raise ValueError(f"Invalid {kind} data")
    head, comma, payload = text.partition(",")
    if not comma or len(head) > _PREFIX_MAX or not head.endswith(";base64"):
        raise ValueError(f"Invalid {kind} data")
    # Four letters hold three bytes: what is too long is not even decoded.
    if len(payload) // 4 * 3 > most + 3:
        raise TooLargeError(most)
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"Invalid {kind} data") from None
    if len(data) > most:
        raise TooLargeError(most)
    return data


def data_uri_bytes(size: int) -> int:
    """How long the data URI of so many bytes can be."""
    return (size + 2) // 3 * 4 + _PREFIX_MAX


class ImageData:
    """A picture sent as a data URI. It is kept under the hash of its bytes.

    The server reads it, writes it anew without whatever else was in the file, and keeps that: then `data` and all the rest are
    those of the new file (`become`). A subclass is a field with limits of its own."""

    __slots__ = ("animated", "content_type", "data", "duration_ms", "hash")

    bytes_max: ClassVar[int] = IMAGE_BYTES_MAX
    side_max: ClassVar[int] = IMAGE_SIDE_MAX
    """A longer side is shrunk to this, in proportion."""
    moving: ClassVar[Set[str]] = frozenset({"image/gif", "image/webp"})
    """Kinds that keep all their frames; of others only the first one is kept."""

    def __init__(self, data: bytes, content_type: str) -> None:
        self.become(
            data,
            content_type,
            animated=content_type == "image/gif" or (content_type == "image/webp" and b"ANIM" in data[:64]),
        )

    def become(self, data: bytes, content_type: str, *, animated: bool, duration_ms: int = 0) -> None:
        """Be this file from now on."""
        self.data = data
        self.content_type = content_type
        self.animated = animated
        self.duration_ms = duration_ms
        """How long one round of its frames takes."""
        digest = hashlib.sha256(data).hexdigest()[:32]
        self.hash = f"a_{digest}" if animated else digest
        """The name assets and CDN addresses use; `a_` marks one that moves."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    @property
    def raster(self) -> bool:
        """Whether it is made of pixels."""
        return self.content_type.startswith("image/")

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `data:image/png;base64,...`; ValueError for anything else. The bytes decide what it is, not the label."""
        return cls.read(read_data_uri(text, "image", cls.bytes_max))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """A file that is a picture; TooLargeError for a large one, ValueError for what is none."""
        if len(data) > cls.bytes_max:
            raise TooLargeError(cls.bytes_max)
        content_type = sniff_image(data)
        if content_type is None:
            raise ValueError("Invalid image data")
        return cls(data, content_type)

    def on_wire(self) -> str:
        """The data URI again."""
        return f"data:{self.content_type};base64,{base64.b64encode(self.data).decode()}"
