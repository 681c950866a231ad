"""The CDN door: attachments at signed addresses, pictures at addresses that hold their hash, and default avatars.

Whatever people upload is served so that no browser runs it: the type is told from the bytes, anything but pictures, sounds and
films is a download, and every answer is sandboxed.
"""

import re
import zlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from aiohttp import web

from hubbub.protocol import errors, wire
from hubbub.server.core import cdn_urls, media
from hubbub.server.core.clock import Clock
from hubbub.server.core.files import FileInfo, Files, InvalidKeyError

# http.md 1.12: pictures that are known by an owner and a hash.
PICTURES: Final = (
    "icons",
    "splashes",
    "discovery-splashes",
    "banners",
    "avatars",
    "app-icons",
    "team-icons",
    "role-icons",
    "guild-events",
    "guild-tag-badges",
    "channel-icons",
)
DEFAULT_AVATARS: Final = 6
AVATAR_PIXELS: Final = 128

_PICTURE: Final = re.compile(r"((?:a_)?[0-9a-f]{32})(?:\.(?:png|jpg|jpeg|webp|gif|avif))?", re.ASCII)
_AVATAR_COLORS: Final = ("5865f2", "747f8d", "3ba55c", "faa61a", "ed4245", "eb459f")

# What the spec calls `size`, `quality`, `width` and `height` is accepted and changes nothing: pictures are served as they came.
_SAFE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    "Referrer-Policy": "no-referrer",
}
_FOREVER: Final = "public, max-age=31536000, immutable"

FindKey = Callable[[], Awaitable[bytes | None]]
"""Reads the signing key; asked each time, since a rehearsal world may be replaced by another."""


class Cdn:
    """Serves files."""

    def __init__(self, *, files: Files, clock: Clock, find_key: FindKey) -> None:
        self._files = files
        self._clock = clock
        self._find_key = find_key

    def routes(self) -> list[web.RouteDef]:
        """What to mount, below /cdn."""
        kinds = "|".join(PICTURES)
        return [
            web.get(r"/cdn/attachments/{channel_id:\d{1,19}}/{attachment_id:\d{1,19}}/{filename}", self.attachment),
            web.get(rf"/cdn/{{kind:{kinds}}}/{{owner_id:\d{{1,19}}}}/{{name}}", self.picture),
            web.get(
                r"/cdn/guilds/{guild_id:\d{1,19}}/users/{user_id:\d{1,19}}/{kind:avatars|banners}/{name}", self.picture
            ),
            web.get(r"/cdn/embed/avatars/{index:\d}.png", self.default_avatar),
            web.get("/cdn/{rest:.*}", self.missing),
        ]

    async def attachment(self, request: web.Request) -> web.StreamResponse:
        """A file of a message, for who has its address while that lasts."""
        channel_id, attachment_id = int(request.match_info["channel_id"]), int(request.match_info["attachment_id"])
        filename = request.match_info["filename"]
        now_ms = self._clock.now_ms()
        query = request.query
        key = await self._find_key()
        expires = query.get("ex", "")
        if key is None or not cdn_urls.verify(
            key,
            cdn_urls.attachment_path(channel_id, attachment_id, filename),
            expires,
            query.get("is", ""),
            query.get("hm", ""),
            now_ms,
        ):
            return not_found()
        left = int(expires, 16) - now_ms // 1000
        return await self._serve(
            request,
            cdn_urls.attachment_key(attachment_id),
            etag=f'"{attachment_id}"',
            cache=f"private, max-age={left}",
            filename=filename,
        )

    async def picture(self, request: web.Request) -> web.StreamResponse:
        """An avatar, an icon, a banner."""
        match = _PICTURE.fullmatch(request.match_info["name"])
        if match is None:
            return not_found()
        name = match[1]
        return await self._serve(request, cdn_urls.image_key(name), etag=f'"{name}"', cache=_FOREVER, filename=name)

    async def default_avatar(self, request: web.Request) -> web.StreamResponse:
        """What shows for one who chose no avatar."""
        index = int(request.match_info["index"])
        if index >= DEFAULT_AVATARS:
            return not_found()
        return web.Response(
            body=default_avatar(index), headers={**_SAFE, "Content-Type": "image/png", "Cache-Control": _FOREVER}
        )

    async def missing(self, request: web.Request) -> web.StreamResponse:
        """Any other address."""
        return not_found()

    async def _serve(
        self, request: web.Request, key: str, *, etag: str, cache: str, filename: str
    ) -> web.StreamResponse:
        headers = {**_SAFE, "ETag": etag, "Cache-Control": cache, "Accept-Ranges": "bytes"}
        try:
            info = await self._files.find_info(key)
        except InvalidKeyError:
            info = None
        if info is None:
            return not_found()
        if etag in [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]:
            return web.Response(status=304, headers=headers)
        try:
            headers |= await self._described(key, info, filename)
            return await self._send(request, key, info, headers)
        except FileNotFoundError:
            return not_found()

    async def _described(self, key: str, info: FileInfo, filename: str) -> dict[str, str]:
        """What the bytes say the file is; its name and its sender are not asked."""
        head = b""
        if info.size:
            async for piece in await self._files.stream(key, start=0, end=min(info.size, media.HEAD_BYTES)):
                head += piece
        content_type = media.safe_type(head)
        if content_type is not None:
            return {"Content-Type": content_type}
        disposition = f"attachment; filename*=UTF-8''{quote(filename, safe='')}"
        return {"Content-Type": "application/octet-stream", "Content-Disposition": disposition}

    async def _send(
        self, request: web.Request, key: str, info: FileInfo, headers: dict[str, str]
    ) -> web.StreamResponse:
        start, end, status = 0, info.size, 200
        asked = request.headers.get("Range")
        if asked is not None and request.headers.get("If-Range", headers["ETag"]) == headers["ETag"]:
            span = byte_range(asked, info.size)
            if span is not None:
                start, end = span
                if start >= end:
                    headers["Content-Range"] = f"bytes */{info.size}"
                    return web.Response(status=416, headers=headers)
                status = 206
                headers["Content-Range"] = f"bytes {start}-{end - 1}/{info.size}"
        response = web.StreamResponse(status=status, headers=headers)
        response.content_length = end - start
        if request.method == "HEAD" or start == end:
            await response.prepare(request)
            return response
        pieces = await self._files.stream(key, start=start, end=end)
        await response.prepare(request)
        async for piece in pieces:
            await response.write(piece)
        await response.write_eof()
        return response


def byte_range(asked: str, size: int) -> tuple[int, int] | None:
    """The one range of a Range header as start and end; an empty one cannot be met, None means all of it."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.strip(), re.ASCII)
    if match is None or match[0] == "bytes=-" or len(asked) > 64:
        return None
    first, last = match.groups()
    if not first:
        return max(0, size - int(last)), size
    end = min(int(last) + 1, size) if last else size
    if last and int(last) < int(first):
        return None
    return int(first), end


def not_found() -> web.Response:
    """The platform's 404."""
    return web.Response(
        status=404,
        body=wire.encode(errors.NOT_FOUND().body()),
        headers={"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"},
    )


@lru_cache(maxsize=DEFAULT_AVATARS)
def default_avatar(index: int) -> bytes:
    """A figure on a ground of one of six colours, as a PNG of two palette entries."""
    size = AVATAR_PIXELS
    rows = bytearray()
    for y in range(size):
        rows.append(0)
        rows += bytes(_figure(x / size, y / size) for x in range(size))
    palette = bytes.fromhex(_AVATAR_COLORS[index] + "ffffff")
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", size.to_bytes(4, "big") * 2 + bytes((8, 3, 0, 0, 0))),
            _chunk(b"PLTE", palette),
            _chunk(b"IDAT", zlib.compress(bytes(rows), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _figure(x: float, y: float) -> int:
    """1 inside a head and its shoulders."""
    head = (x - 0.5) ** 2 + (y - 0.38) ** 2 < 0.03
    shoulders = (x - 0.5) ** 2 + (y - 1.0) ** 2 < 0.12 and y < 0.9
    return int(head or shoulders)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
