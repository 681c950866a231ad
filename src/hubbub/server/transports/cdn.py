"""The CDN: attachments at signed URLs, images at URLs with their hash, assets by ID, and default avatars.

Assets are emoji, stickers, sounds, rich presence assets and images of activity links.

Images with a hash or an ID are converted to the size and type that the URL requests; each result is converted once
and stored. Attachments are converted by `media_proxy`, which stores nothing.

User uploads are served so that no browser executes them: the content type is detected from the bytes, anything other
than images, audio and video is a download, and every file is sandboxed.
"""

import re
import zlib
from collections.abc import Awaitable, Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import quote

from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.protocol.images import DEFAULT_AVATAR_COUNT, IMAGE_SIDE_PIXELS_MAX, detect_image_type
from hubbub.server.core import cdn_urls, media
from hubbub.server.core.clock import Clock
from hubbub.server.core.files import FileInfo, Files, InvalidKeyError
from hubbub.server.core.images import ImageConverter, InvalidImageError
from hubbub.server.transports import media_proxy
from hubbub.server.transports.media_proxy import MediaProxy

# spec/http.md#1.12: kinds of images whose URL consists of an owner ID and a hash.
HASHED_IMAGE_KINDS: Final = (
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
AVATAR_PIXELS: Final = 128
"""Width and height of a default avatar in pixels."""
ANIMATED_PREFIX: Final = "a_"
"""First characters of the hash of an animated image."""

SIZES: Final = frozenset(
    {
        *(1 << power for power in range(4, 13)),
        *(20, 22, 24, 28, 40, 44, 48, 56, 60, 80, 96, 100, 160, 240, 300, 320, 480, 600, 640, 1280, 1536, 3072),
    }
)
"""Allowed values of the query parameter `size` (spec/http.md#1.12)."""

_TYPES_BY_EXTENSION: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "json": "application/json",
}
_IMAGE_NAME_PATTERN: Final = re.compile(r"((?:a_)?[0-9a-f]{32})(?:\.(png|jpg|jpeg|webp|gif))?", re.ASCII)
_ASSET_FILE_ROUTE: Final = r"{asset_id:\d{1,19}}{dot:\.?}{extension:(?:png|jpg|jpeg|webp|gif|json)?}"
_ATTACHMENT_ROUTE: Final = (
    rf"/{{kind:{cdn_urls.ATTACHMENTS_PATH}|{cdn_urls.EPHEMERAL_ATTACHMENTS_PATH}}}/"
    r"{channel_id:\d{1,19}}/{attachment_id:\d{1,19}}/{filename}"
)
_AVATAR_COLORS: Final = ("5865f2", "747f8d", "3ba55c", "faa61a", "ed4245", "eb459f")

SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Access-Control-Allow-Origin": "*",
    "Referrer-Policy": "no-referrer",
}
"""Headers of every file of the CDN."""
_CACHE_FOREVER: Final = "public, max-age=31536000, immutable"
# The file of an ID never changes, but it may be deleted.
_CACHE_FOR_A_DAY: Final = "public, max-age=86400"

FindKey = Callable[[], Awaitable[bytes | None]]
"""Function that reads the URL signing key; it is called for each request, because a rehearsal world may be replaced."""

FindAsset = Callable[[str, int], Awaitable[str | bytes | None]]
"""Function that finds the file of an asset by kind and ID: its key in the file store, its bytes, or None."""


class _ImageRequest(NamedTuple):
    """The image conversion that a URL requests."""

    type: str | None
    """The requested content type; None for the stored one."""
    side: int | None
    """The maximum width and height in pixels; None for the stored size."""
    is_animated: bool
    """Whether to keep the animation."""


class Cdn:
    """Serves attachments, images, assets (emoji, stickers, sounds and others) and default avatars."""

    def __init__(
        self, *, files: Files, images: ImageConverter, clock: Clock, find_key: FindKey, find_asset: FindAsset
    ) -> None:
        self._files = files
        self._images = images
        self._proxy = MediaProxy(files, images)
        self._clock = clock
        self._find_key = find_key
        self._find_asset = find_asset

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount, all below /cdn."""
        kinds = "|".join(HASHED_IMAGE_KINDS)
        return [
            web.get(f"/cdn{_ATTACHMENT_ROUTE}", self.attachment),
            web.get(f"/cdn{cdn_urls.MEDIA_PROXY_PATH}{_ATTACHMENT_ROUTE}", self.proxied_attachment),
            web.get(rf"/cdn/{{kind:{kinds}}}/{{owner_id:\d{{1,19}}}}/{{name}}", self.image),
            web.get(
                r"/cdn/guilds/{guild_id:\d{1,19}}/users/{user_id:\d{1,19}}/{kind:avatars|banners}/{name}", self.image
            ),
            web.get(rf"/cdn/{{kind:emojis|stickers}}/{_ASSET_FILE_ROUTE}", self.asset),
            web.get(
                rf"/cdn/{{kind:app-assets|activity-links}}/{{owner_id:\d{{1,19}}}}/{_ASSET_FILE_ROUTE}", self.asset
            ),
            web.get(r"/cdn/soundboard-sounds/{asset_id:\d{1,19}}", self.sound),
            web.get(r"/cdn/embed/avatars/{index:\d}.png", self.default_avatar),
            web.get("/cdn/{rest:.*}", self.unknown_path),
        ]

    async def attachment(self, request: web.Request) -> web.StreamResponse:
        """Serve an attachment at its signed URL until the URL expires."""
        seconds_left = await self._seconds_left(request)
        if seconds_left is None:
            return not_found()
        attachment_id = int(request.match_info["attachment_id"])
        return await self._serve(
            request,
            cdn_urls.attachment_key(attachment_id),
            etag=f'"{attachment_id}"',
            cache=f"private, max-age={seconds_left}",
            filename=request.match_info["filename"],
        )

    async def proxied_attachment(self, request: web.Request) -> web.StreamResponse:
        """Serve an attachment at its signed URL, converted to the size and type that the query requests."""
        try:
            image_request = media_proxy.parse_query(request.query)
        except ValueError:
            return error_response(400)
        if image_request is None:
            return await self.attachment(request)
        seconds_left = await self._seconds_left(request)
        attachment_id = int(request.match_info["attachment_id"])
        key = cdn_urls.attachment_key(attachment_id)
        info = None if seconds_left is None else await self._files.find_info(key)
        if info is None:
            return not_found()
        etag = f'"{attachment_id}-{image_request.name}"'
        headers = {**SECURITY_HEADERS, "ETag": etag, "Cache-Control": f"private, max-age={seconds_left}"}
        if has_current_version(request, etag):
            return web.Response(status=304, headers=headers)
        try:
            converted_image = await self._proxy.convert(key, info, image_request)
        except FileNotFoundError:
            return not_found()
        except InvalidImageError:
            return error_response(415)
        except errors.ApiError as error:
            return error_response(error.status)
        return web.Response(
            body=converted_image.data, headers={**headers, "Content-Type": converted_image.content_type}
        )

    async def _seconds_left(self, request: web.Request) -> int | None:
        """Return the seconds until an attachment URL expires, or None if it is invalid or expired."""
        match_info, query, now_ms = request.match_info, request.query, self._clock.now_ms()
        path = cdn_urls.attachment_path(
            int(match_info["channel_id"]),
            int(match_info["attachment_id"]),
            match_info["filename"],
            is_ephemeral=match_info["kind"] == cdn_urls.EPHEMERAL_ATTACHMENTS_PATH,
        )
        key, expires = await self._find_key(), query.get("ex", "")
        if key is None or not cdn_urls.verify(key, path, expires, query.get("is", ""), query.get("hm", ""), now_ms):
            return None
        return int(expires, 16) - now_ms // 1000

    async def image(self, request: web.Request) -> web.StreamResponse:
        """Serve an avatar, icon, banner or other image that is addressed by its hash."""
        match = _IMAGE_NAME_PATTERN.fullmatch(request.match_info["name"])
        if match is None:
            return not_found()
        name, extension = match.groups()
        return await self._serve_image(request, cdn_urls.image_key(name), name, extension, cache=_CACHE_FOREVER)

    async def asset(self, request: web.Request) -> web.StreamResponse:
        """Serve a custom emoji, a sticker, a rich presence asset, or the image of an activity link."""
        asset = await self._find_asset(request.match_info["kind"], int(request.match_info["asset_id"]))
        extension = request.match_info["extension"] or None
        if asset is None or (extension is None) is not (request.match_info["dot"] == ""):
            return not_found()
        if isinstance(asset, bytes):
            return _bundled_file(asset, _TYPES_BY_EXTENSION.get(extension or ""))
        name = asset.rpartition("/")[2]
        # spec/http.md#1.12: a sticker has one size.
        has_sizes = request.match_info["kind"] != "stickers"
        return await self._serve_image(request, asset, name, extension, cache=_CACHE_FOR_A_DAY, has_sizes=has_sizes)

    async def sound(self, request: web.Request) -> web.StreamResponse:
        """Serve a soundboard sound."""
        asset = await self._find_asset("soundboard-sounds", int(request.match_info["asset_id"]))
        if asset is None:
            return not_found()
        if isinstance(asset, bytes):
            return _bundled_file(asset, None)
        name = asset.rpartition("/")[2]
        return await self._serve(request, asset, etag=f'"{name}"', cache=_CACHE_FOR_A_DAY, filename=name)

    async def default_avatar(self, request: web.Request) -> web.StreamResponse:
        """Serve a default avatar, for users without an avatar of their own."""
        index = int(request.match_info["index"])
        if index >= DEFAULT_AVATAR_COUNT:
            return not_found()
        return web.Response(
            body=default_avatar(index),
            headers={**SECURITY_HEADERS, "Content-Type": "image/png", "Cache-Control": _CACHE_FOREVER},
        )

    async def unknown_path(self, request: web.Request) -> web.StreamResponse:
        """Respond with 404 to any other path below /cdn."""
        return not_found()

    async def _serve_image(
        self, request: web.Request, key: str, name: str, extension: str | None, *, cache: str, has_sizes: bool = True
    ) -> web.StreamResponse:
        """Serve an image in the type and size that the URL requests, or as stored if it requests neither.

        `cache` is the Cache-Control header. With `has_sizes` the query parameter `size` selects the size.
        """
        size_text = request.query.get("size") if has_sizes else None
        if size_text is not None and not (
            size_text.isascii() and size_text.isdecimal() and int(size_text[:5]) in SIZES
        ):
            return error_response(400)
        animated_text = request.query.get("animated", "false")
        if animated_text not in ("true", "false"):
            return error_response(400)
        image_request = _ImageRequest(
            type=_TYPES_BY_EXTENSION[extension] if extension else None,
            side=int(size_text) if size_text is not None else None,
            # spec/http.md#1.12: only GIF, and WebP with `animated=true`, keep the animation.
            is_animated=extension in (None, "gif") or (extension == "webp" and animated_text == "true"),
        )
        if extension == "gif" and not name.startswith(ANIMATED_PREFIX):
            return error_response(415)
        try:
            served_key = await self._find_or_convert(key, name, image_request)
        except FileNotFoundError:
            return not_found()
        if served_key is None:
            return error_response(415)
        etag = f'"{served_key.partition("/")[2]}"'
        # A Lottie sticker is the only file here that is not an image; it was validated before it was stored.
        lottie_type = image_request.type if image_request.type == _TYPES_BY_EXTENSION["json"] else None
        return await self._serve(request, served_key, etag=etag, cache=cache, filename=name, content_type=lottie_type)

    async def _find_or_convert(self, key: str, name: str, image_request: "_ImageRequest") -> str | None:
        """Return the key of an image in the requested form, or None if the conversion is not possible.

        The image is converted on first use and stored. Raise FileNotFoundError if there is no image.
        """
        if image_request.type is None and image_request.side is None:
            return key
        if image_request.side is None and image_request.type is not None:
            head = await self._read_head(key)
            stored_type = media.displayable_type(head) or (
                _TYPES_BY_EXTENSION["json"] if head.lstrip()[:1] == b"{" else None
            )
            if stored_type == image_request.type and (
                image_request.is_animated or not name.startswith(ANIMATED_PREFIX) or image_request.type == "image/png"
            ):
                return key
        # The key of a converted file holds every parameter of the conversion.
        type_name = (image_request.type or "").rpartition("/")[2] or "same"
        side_text = image_request.side or "full"
        motion_text = "moving" if image_request.is_animated else "still"
        derived_key = f"derived/{name}/{side_text}-{motion_text}-{type_name}"
        if await self._files.exists(derived_key):
            return derived_key
        image_bytes = await self._files.get(key)
        stored_type = detect_image_type(image_bytes)
        if stored_type is None or image_request.type == _TYPES_BY_EXTENSION["json"]:
            return None
        side_max = image_request.side or IMAGE_SIDE_PIXELS_MAX
        try:
            converted_image = await self._images.convert(
                image_bytes, to=image_request.type or stored_type, side=side_max, keeps_frames=image_request.is_animated
            )
        except InvalidImageError:
            return None
        await self._files.put(derived_key, converted_image.data, converted_image.content_type)
        return derived_key

    async def _read_head(self, key: str, info: FileInfo | None = None) -> bytes:
        """Return the first bytes of a file. Raise FileNotFoundError if there is none."""
        info = info or await self._files.find_info(key)
        if info is None:
            raise FileNotFoundError(key)
        head = b""
        if info.size:
            async for chunk in await self._files.stream(key, start=0, end=min(info.size, media.HEAD_BYTES)):
                head += chunk
        return head

    async def _serve(
        self,
        request: web.Request,
        key: str,
        *,
        etag: str,
        cache: str,
        filename: str,
        content_type: str | None = None,
    ) -> web.StreamResponse:
        """Serve a file of the file store, or respond with 304 or 404; `cache` is the Cache-Control header."""
        headers = {**SECURITY_HEADERS, "ETag": etag, "Cache-Control": cache, "Accept-Ranges": "bytes"}
        try:
            info = await self._files.find_info(key)
        except InvalidKeyError:
            info = None
        if info is None:
            return not_found()
        if has_current_version(request, etag):
            return web.Response(status=304, headers=headers)
        try:
            if content_type is not None:
                headers["Content-Type"] = content_type
            else:
                headers |= await self._content_headers(key, info, filename)
            return await self._send(request, key, info, headers)
        except FileNotFoundError:
            return not_found()

    async def _content_headers(self, key: str, info: FileInfo, filename: str) -> dict[str, str]:
        """Return the content headers detected from the bytes; the filename and the uploader's type are not trusted."""
        content_type = media.displayable_type(await self._read_head(key, info))
        if content_type is not None:
            return {"Content-Type": content_type}
        disposition = f"attachment; filename*=UTF-8''{quote(filename, safe='')}"
        return {"Content-Type": "application/octet-stream", "Content-Disposition": disposition}

    async def _send(
        self, request: web.Request, key: str, info: FileInfo, headers: dict[str, str]
    ) -> web.StreamResponse:
        """Stream a file, or the part that the Range header requests."""
        start, end, status = 0, info.size, 200
        range_header = request.headers.get("Range")
        if range_header is not None and request.headers.get("If-Range", headers["ETag"]) == headers["ETag"]:
            requested_range = byte_range(range_header, info.size)
            if requested_range is not None:
                start, end = requested_range
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
        chunks = await self._files.stream(key, start=start, end=end)
        await response.prepare(request)
        async for chunk in chunks:
            await response.write(chunk)
        await response.write_eof()
        return response


def byte_range(header: str, file_size: int) -> tuple[int, int] | None:
    """Parse a Range header with one range into start and end (exclusive).

    An empty range (start >= end) cannot be satisfied. None means that the header is ignored and the whole file is sent.
    """
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", header.strip(), re.ASCII)
    if match is None or match[0] == "bytes=-" or len(header) > 64:
        return None
    first_text, last_text = match.groups()
    if not first_text:
        return max(0, file_size - int(last_text)), file_size
    end = min(int(last_text) + 1, file_size) if last_text else file_size
    if last_text and int(last_text) < int(first_text):
        return None
    return int(first_text), end


def has_current_version(request: web.Request, etag: str) -> bool:
    """Return whether the client has the current version, according to If-None-Match."""
    return etag in [tag.strip().removeprefix("W/") for tag in request.headers.get("If-None-Match", "").split(",")]


def not_found() -> web.Response:
    """Return the platform's 404 response."""
    return error_response(404)


def error_response(status: int) -> web.Response:
    """Return the platform's error response for a status, with the general error code 0."""
    return web.Response(
        status=status,
        body=codec.encode({"message": f"{status}: {HTTPStatus(status).phrase}", "code": 0}),
        headers={"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"},
    )


def _bundled_file(data: bytes, requested_type: str | None) -> web.Response:
    """Serve a file that is part of the program, or respond with 415 if another type is requested."""
    content_type = media.displayable_type(data[: media.HEAD_BYTES]) or "application/octet-stream"
    if requested_type is not None and requested_type != content_type:
        return error_response(415)
    headers = {**SECURITY_HEADERS, "Content-Type": content_type, "Cache-Control": _CACHE_FOREVER}
    return web.Response(body=data, headers=headers)


@lru_cache(maxsize=DEFAULT_AVATAR_COUNT)
def default_avatar(index: int) -> bytes:
    """Return a two-color PNG of a figure on one of six background colors."""
    side_pixels = AVATAR_PIXELS
    rows = bytearray()
    for y in range(side_pixels):
        rows.append(0)
        rows += bytes(_is_in_figure(x / side_pixels, y / side_pixels) for x in range(side_pixels))
    palette = bytes.fromhex(_AVATAR_COLORS[index] + "ffffff")
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _png_chunk(b"IHDR", side_pixels.to_bytes(4, "big") * 2 + bytes((8, 3, 0, 0, 0))),
            _png_chunk(b"PLTE", palette),
            _png_chunk(b"IDAT", zlib.compress(bytes(rows), 9)),
            _png_chunk(b"IEND", b""),
        )
    )


def _is_in_figure(x: float, y: float) -> bool:
    """Return whether a point is inside the head or the shoulders."""
    is_in_head = (x - 0.5) ** 2 + (y - 0.38) ** 2 < 0.03
    is_in_shoulders = (x - 0.5) ** 2 + (y - 1.0) ** 2 < 0.12 and y < 0.9
    return is_in_head or is_in_shoulders


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
