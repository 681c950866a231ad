"""Attached pictures in the size and type that an address asks for (http.md 1.12: `width`, `height`, `format` of the media proxy).

They are made when asked for and not kept: there are too many sizes to keep, and a file that its message took along must be gone. So
only one is made at a time, which leaves a process to all other pictures."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol.images import sniff_image
from hubbub.server.core.files import FileInfo, Files
from hubbub.server.core.images import Images, InvalidImageError, Picture

SIDE_MAX: Final = 4096
BYTES_MAX: Final = 25 << 20
"""Larger files are shown as they are only."""
WAITING_MAX: Final = 32
"""So many may wait for their turn; more are told to come again."""

_FORMATS: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
}


class Wanted(NamedTuple):
    """How an address asks for an attached picture."""

    width: int | None
    height: int | None
    format: str | None
    moving: bool

    @property
    def name(self) -> str:
        """What tells it from the same picture asked for in another way."""
        kind = self.format or "same"
        return f"{self.width or ''}x{self.height or ''}-{'moving' if self.moving else 'still'}-{kind}"


def read(query: Mapping[str, str]) -> Wanted | None:
    """What an address asks for; None where it wants the file as it is, ValueError for what nobody can have."""
    width, height, kind = (query.get(name) for name in ("width", "height", "format"))
    animated = query.get("animated", "false")
    if animated not in ("true", "false") or not (kind is None or kind in _FORMATS):
        raise ValueError
    if width is None and height is None and kind is None:
        return None
    # http.md 1.12: what moves is a gif, or a webp that is asked to.
    moving = kind in (None, "gif") or (kind == "webp" and animated == "true")
    return Wanted(_side(width), _side(height), kind, moving)


def _side(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 5 and 1 <= int(text) <= SIDE_MAX):
        raise ValueError
    return int(text)


class MediaProxy:
    """Makes attached pictures smaller, one at a time."""

    def __init__(self, files: Files, images: Images) -> None:
        self._files = files
        self._images = images
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0

    async def make(self, key: str, info: FileInfo, wanted: Wanted) -> Picture:
        """A picture within the sides that are wanted, never larger than it is; InvalidImageError where there is none."""
        if info.size > BYTES_MAX:
            raise InvalidImageError("too large")
        if self._waiting >= WAITING_MAX:
            raise errors.RESOURCE_OVERLOADED()
        self._waiting += 1
        try:
            async with self._turn:
                data = await self._files.get(key)
                kept = sniff_image(data)
                if kept is None:
                    raise InvalidImageError("not a picture")
                return await self._images.convert(
                    data,
                    to=kept if wanted.format is None else _FORMATS[wanted.format],
                    side=SIDE_MAX,
                    box=(wanted.width or SIDE_MAX, wanted.height or SIDE_MAX),
                    moving=wanted.moving,
                )
        finally:
            self._waiting -= 1
