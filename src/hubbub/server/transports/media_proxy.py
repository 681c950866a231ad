"""Resized and converted attachment images (spec/http.md#1.12: `width`, `height`, `format` of the media proxy).

Results are not stored: there are too many possible sizes, and nothing may remain once a message and its files are
deleted. One image is converted at a time, which leaves an image worker process for all other images.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.images import detect_image_type
from hubbub.server.core.files import FileInfo, Files
from hubbub.server.core.images import EncodedImage, ImageConverter, InvalidImageError

SIDE_MAX: Final = 4096
"""Largest width and height in pixels that a request may name."""
SOURCE_BYTES_MAX: Final = 25 << 20
"""Size in bytes above which a file is not converted."""
WAITING_REQUESTS_MAX: Final = 32
"""Maximum number of conversions that may wait or run; other requests are rejected with RESOURCE_OVERLOADED."""

FORMATS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
}
"""Content types by the value of the query parameter `format`."""


class ImageRequest(NamedTuple):
    """The image conversion that a URL requests."""

    width: int | None
    """The maximum width in pixels; None for no limit."""
    height: int | None
    """The maximum height in pixels; None for no limit."""
    format: str | None
    """The file extension of the requested type; None for the stored type."""
    is_animated: bool
    """Whether to keep the animation."""

    @property
    def name(self) -> str:
        """A string that identifies this conversion, for use in ETags."""
        format_name = self.format or "same"
        return f"{self.width or ''}x{self.height or ''}-{'moving' if self.is_animated else 'still'}-{format_name}"


def parse_query(query: Mapping[str, str]) -> ImageRequest | None:
    """Parse the query of a media proxy URL.

    Return None if it requests the unchanged file; raise ValueError if it is invalid.
    """
    width, height, format_name = (query.get(name) for name in ("width", "height", "format"))
    animated_text = query.get("animated", "false")
    if animated_text not in ("true", "false") or not (format_name is None or format_name in FORMATS):
        raise ValueError
    if width is None and height is None and format_name is None:
        return None
    # spec/http.md#1.12: only GIF, and WebP with `animated=true`, keep the animation.
    is_animated = format_name in (None, "gif") or (format_name == "webp" and animated_text == "true")
    return ImageRequest(_parse_side(width), _parse_side(height), format_name, is_animated)


def _parse_side(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= SIDE_MAX):
        raise ValueError
    return int(text)


class MediaProxy:
    """Converts attachment images, one at a time."""

    def __init__(self, files: Files, images: ImageConverter) -> None:
        self._files = files
        self._images = images
        self._conversion_slot = asyncio.Semaphore(1)
        self._waiting_count = 0

    async def convert(self, key: str, info: FileInfo, image_request: ImageRequest) -> EncodedImage:
        """Convert the attachment with this key in the file store, scaled down to the requested width and height.

        Raise InvalidImageError if it is not an image or too large, RESOURCE_OVERLOADED if too many requests wait.
        """
        if info.size > SOURCE_BYTES_MAX:
            raise InvalidImageError("too large")
        if self._waiting_count >= WAITING_REQUESTS_MAX:
            raise errors.RESOURCE_OVERLOADED()
        self._waiting_count += 1
        try:
            async with self._conversion_slot:
                data = await self._files.get(key)
                stored_type = detect_image_type(data)
                if stored_type is None:
                    raise InvalidImageError("not an image")
                return await self._images.convert(
                    data,
                    to=stored_type if image_request.format is None else FORMATS[image_request.format],
                    side=SIDE_MAX,
                    box=(image_request.width or SIDE_MAX, image_request.height or SIDE_MAX),
                    keeps_frames=image_request.is_animated,
                )
        finally:
            self._waiting_count -= 1
