"""Images in JSON: data URIs whose content type is detected from the bytes."""

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

DEFAULT_AVATAR_COUNT: Final = 6
"""Number of avatars for users without an image (spec/http.md#1.12)."""


class TooLargeError(ValueError):
    """An image or sound that exceeds the maximum size of its field."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"File cannot be larger than {format_bytes(bytes_max)}.")
        self.bytes_max = bytes_max


def format_bytes(size: int) -> str:
    """Format a number of bytes for error messages."""
    return f"{size / 1024:.1f} kb" if size < 1 << 20 else f"{size / (1 << 20):.1f} MB"


def detect_image_type(data: bytes) -> str | None:
    """Return the media type of an image from its first bytes; None if it is not a supported image."""
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def read_data_uri(text: object, kind: str, bytes_max: int) -> bytes:
    """Decode `data:<kind>/...;base64,...`.

    Raise TooLargeError above the maximum size, and ValueError for any other invalid input.
    """
    if not isinstance(text, str) or not text.startswith(f"data:{kind}/"):
        raise ValueError(f"Invalid {kind} data")
    head, comma, payload = text.partition(",")
    if not comma or len(head) > _PREFIX_MAX or not head.endswith(";base64"):
        raise ValueError(f"Invalid {kind} data")
    # Base64 encodes three bytes in four characters: reject oversized data before decoding it.
    if len(payload) // 4 * 3 > bytes_max + 3:
        raise TooLargeError(bytes_max)
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"Invalid {kind} data") from None
    if len(data) > bytes_max:
        raise TooLargeError(bytes_max)
    return data


def data_uri_length_max(size: int) -> int:
    """Return the maximum length of a data URI for a number of bytes."""
    return (size + 2) // 3 * 4 + _PREFIX_MAX


class ImageData:
    """An image sent as a data URI, stored under the hash of its bytes.

    The server re-encodes the image, which removes all other content of the file, and replaces `data` and the other
    attributes by those of the new file (`replace_content`). Subclasses define fields with their own limits.
    """

    __slots__ = ("animated", "content_type", "data", "duration_ms", "hash")

    bytes_max: ClassVar[int] = IMAGE_BYTES_MAX
    """Maximum size in bytes."""
    side_max: ClassVar[int] = IMAGE_SIDE_MAX
    """Maximum length of a side in pixels; larger images are scaled down."""
    moving: ClassVar[Set[str]] = frozenset({"image/gif", "image/webp"})
    """Media types whose animations are kept; other images keep their first frame only."""

    def __init__(self, data: bytes, content_type: str) -> None:
        self.replace_content(
            data,
            content_type,
            animated=content_type == "image/gif" or (content_type == "image/webp" and b"ANIM" in data[:64]),
        )

    def replace_content(self, data: bytes, content_type: str, *, animated: bool, duration_ms: int = 0) -> None:
        """Replace the content of the image."""
        self.data = data
        self.content_type = content_type
        self.animated = animated
        self.duration_ms = duration_ms
        """Duration of one loop of the animation, in milliseconds."""
        digest = hashlib.sha256(data).hexdigest()[:32]
        self.hash = f"a_{digest}" if animated else digest
        """Name of the image in assets and CDN URLs; animated images have the prefix `a_`."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    @property
    def is_raster(self) -> bool:
        """Whether the image is a raster image."""
        return self.content_type.startswith("image/")

    @classmethod
    def parse(cls, text: object) -> Self:
        """Parse `data:image/png;base64,...`; raise ValueError for any other input.

        The bytes determine the media type, not the label.
        """
        return cls.read(read_data_uri(text, "image", cls.bytes_max))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Return the image in a file.

        Raise TooLargeError above the maximum size, and ValueError if the file is not an image.
        """
        if len(data) > cls.bytes_max:
            raise TooLargeError(cls.bytes_max)
        content_type = detect_image_type(data)
        if content_type is None:
            raise ValueError("Invalid image data")
        return cls(data, content_type)

    def on_wire(self) -> str:
        """Return the image as a data URI."""
        return f"data:{self.content_type};base64,{base64.b64encode(self.data).decode()}"
