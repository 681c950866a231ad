"""Images in requests, their limits and media types, and the decoding of data URIs of images and sounds."""

import base64
import binascii
import hashlib
from collections.abc import Set
from typing import ClassVar, Final, Self

IMAGE_BYTES_MAX: Final = 10 * 1024 * 1024
IMAGE_SIDE_PIXELS_MAX: Final = 2048
"""Maximum length of a side in pixels; larger images are scaled down."""

_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_DATA_URI_PREFIX_MAX: Final = 64
"""Maximum number of characters of a data URI before the comma."""

DEFAULT_AVATAR_COUNT: Final = 6
"""Number of avatars for users without an image (spec/http.md#1.12)."""


class TooLargeError(ValueError):
    """Raised for an image or sound that exceeds the maximum size of its field."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"File cannot be larger than {format_bytes(bytes_max)}.")
        self.bytes_max = bytes_max


def format_bytes(byte_count: int) -> str:
    """Format a number of bytes for error messages."""
    # The public platform writes "kb" in lower case.
    return f"{byte_count / 1024:.1f} kb" if byte_count < 1 << 20 else f"{byte_count / (1 << 20):.1f} MB"


def detect_image_type(data: bytes) -> str | None:
    """Return the media type of an image from its first bytes; None if it is not a supported image."""
    for magic, content_type in _MAGIC:
        if data.startswith(magic):
            return content_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def decode_data_uri(text: object, top_level_type: str, bytes_max: int) -> bytes:
    """Decode `data:<top_level_type>/...;base64,...`; `top_level_type` is "image" or "audio".

    Raise TooLargeError above the maximum size, and ValueError for any other invalid input.
    """
    if not isinstance(text, str) or not text.startswith(f"data:{top_level_type}/"):
        raise ValueError(f"Invalid {top_level_type} data")
    prefix, comma, payload = text.partition(",")
    if not comma or len(prefix) > _DATA_URI_PREFIX_MAX or not prefix.endswith(";base64"):
        raise ValueError(f"Invalid {top_level_type} data")
    # Base64 encodes three bytes in four characters: reject oversized data before decoding it.
    if len(payload) // 4 * 3 > bytes_max + 3:
        raise TooLargeError(bytes_max)
    try:
        data = base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"Invalid {top_level_type} data") from None
    if len(data) > bytes_max:
        raise TooLargeError(bytes_max)
    return data


def data_uri_length_max(byte_count: int) -> int:
    """Return the maximum length of a data URI for a number of bytes."""
    return (byte_count + 2) // 3 * 4 + _DATA_URI_PREFIX_MAX


class ImageData:
    """An image sent as a data URI, stored under the hash of its bytes.

    The server re-encodes the image, which removes all other content of the file, and then calls `replace_content`
    with the new file. Subclasses define fields with their own limits.
    """

    __slots__ = ("content_type", "data", "duration_ms", "hash", "is_animated")

    bytes_max: ClassVar[int] = IMAGE_BYTES_MAX
    """Maximum size in bytes."""
    side_pixels_max: ClassVar[int] = IMAGE_SIDE_PIXELS_MAX
    """Maximum length of a side in pixels; larger images are scaled down."""
    animated_types: ClassVar[Set[str]] = frozenset({"image/gif", "image/webp"})
    """Media types whose animations are kept; other images keep their first frame only."""

    def __init__(self, data: bytes, content_type: str) -> None:
        self.replace_content(
            data,
            content_type,
            is_animated=content_type == "image/gif" or (content_type == "image/webp" and b"ANIM" in data[:64]),
        )

    def replace_content(self, data: bytes, content_type: str, *, is_animated: bool, duration_ms: int = 0) -> None:
        """Set the bytes and properties of the image, and derive its hash from the bytes."""
        self.data = data
        self.content_type = content_type
        self.is_animated = is_animated
        self.duration_ms = duration_ms
        """Duration of one loop of the animation in milliseconds; 0 for a still image, and before the image is re-encoded."""
        digest = hashlib.sha256(data).hexdigest()[:32]
        self.hash = f"a_{digest}" if is_animated else digest
        """Name of the image in assets and CDN URLs; animated images have the prefix `a_`."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.data == self.data

    def __hash__(self) -> int:
        return hash(self.data)

    @property
    def is_raster(self) -> bool:
        """Whether the image is a raster image, which the server re-encodes; False for a Lottie animation."""
        return self.content_type.startswith("image/")

    @classmethod
    def from_data_uri(cls, text: object) -> Self:
        """Parse a data URI such as `data:image/png;base64,...`; raise ValueError for invalid input.

        The media type is detected from the bytes; the one in the data URI is ignored.
        """
        return cls.from_bytes(decode_data_uri(text, "image", cls.bytes_max))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the image with the content of a file.

        Raise TooLargeError above the maximum size, and ValueError if the file is not an image of a supported type.
        """
        if len(data) > cls.bytes_max:
            raise TooLargeError(cls.bytes_max)
        content_type = detect_image_type(data)
        if content_type is None:
            raise ValueError("Invalid image data")
        return cls(data, content_type)

    def to_wire(self) -> str:
        """Return the image as a data URI."""
        return f"data:{self.content_type};base64,{base64.b64encode(self.data).decode()}"
