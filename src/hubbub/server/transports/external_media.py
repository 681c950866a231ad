"""Images of link previews, which this server fetches so that clients do not connect to other servers (decisions/0142).

The URL of an image is signed, so the server fetches only images of previews. Images are fetched through the guarded client,
which rejects private addresses, and held in a cache in memory of at most `CACHE_BYTES_MAX` bytes; nothing is stored.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.images import detect_image_type
from hubbub.server.core import cdn_urls
from hubbub.server.core.config import Config
from hubbub.server.core.images import ImageConverter, InvalidImageError
from hubbub.server.core.outbound_http import OutboundClient, UnreachableError
from hubbub.server.transports import media_proxy
from hubbub.server.transports.cdn import SECURITY_HEADERS, error_response, has_current_version, not_found

IMAGE_BYTES_MAX: Final = 8 << 20
"""Maximum size of an image of another server in bytes."""
CACHE_BYTES_MAX: Final = 32 << 20
"""Maximum size in bytes of all images that are held in memory."""
CONCURRENT_FETCHES_MAX: Final = 8
WAITING_FETCHES_MAX: Final = 64
"""Maximum number of images that may wait or be fetched; requests for other images are rejected with status 503."""
TIMEOUT_SECONDS: Final = 10.0
"""Timeout of a request to another server in seconds."""

_CACHE_CONTROL: Final = "public, max-age=86400"
_HEADERS: Final = {"Accept": "image/*", "Accept-Encoding": "identity"}


class ExternalMedia:
    """Serves images of other servers at signed URLs."""

    def __init__(
        self,
        *,
        outbound: OutboundClient,
        images: ImageConverter,
        config: Config,
        find_key: Callable[[], Awaitable[bytes | None]],
    ) -> None:
        self._outbound = outbound
        self._images = images
        self._config = config
        self._find_key = find_key
        self._images_by_url: OrderedDict[str, bytes] = OrderedDict()
        """Images by URL, the most recently used last."""
        self._cached_bytes = 0
        self._fetch_tasks: dict[str, asyncio.Task[bytes]] = {}
        self._slots = asyncio.Semaphore(CONCURRENT_FETCHES_MAX)

    def routes(self) -> list[web.RouteDef]:
        """Return the routes to mount, which must come before the routes of the CDN."""
        path = f"/cdn{cdn_urls.EXTERNAL_MEDIA_PATH}"
        return [web.get(path + r"/{signature:[0-9a-f]{64}}/{target:[A-Za-z0-9_-]{1,4096}}", self.image)]

    async def image(self, request: web.Request) -> web.StreamResponse:
        """Serve an image, converted to the size and type that the query requests."""
        try:
            image_request = media_proxy.parse_query(request.query)
        except ValueError:
            return error_response(400)
        key, match_info = await self._find_key(), request.match_info
        target = match_info["target"]
        url = None if key is None else cdn_urls.find_external_url(key, match_info["signature"], target)
        if url is None:
            return not_found()
        try:
            image_bytes = await self._get(url)
            content_type = detect_image_type(image_bytes)
            if content_type is None:
                return error_response(415)
            if image_request is not None:
                converted_image = await self._images.convert(
                    image_bytes,
                    to=content_type if image_request.format is None else media_proxy.FORMATS[image_request.format],
                    side=media_proxy.SIDE_MAX,
                    box=(image_request.width or media_proxy.SIDE_MAX, image_request.height or media_proxy.SIDE_MAX),
                    keeps_frames=image_request.is_animated,
                )
                image_bytes, content_type = converted_image.data, converted_image.content_type
        except UnreachableError:
            return not_found()
        except InvalidImageError:
            return error_response(415)
        except errors.ApiError as error:
            return error_response(error.status)
        etag = f'"{hashlib.sha256(image_bytes).hexdigest()[:32]}"'
        headers = {**SECURITY_HEADERS, "ETag": etag, "Cache-Control": _CACHE_CONTROL}
        if has_current_version(request, etag):
            return web.Response(status=304, headers=headers)
        return web.Response(body=image_bytes, headers={**headers, "Content-Type": content_type})

    async def _get(self, url: str) -> bytes:
        """Return an image from memory or from its server; concurrent requests for an image share one fetch."""
        if url in self._images_by_url:
            self._images_by_url.move_to_end(url)
            return self._images_by_url[url]
        task = self._fetch_tasks.get(url)
        if task is None:
            if len(self._fetch_tasks) >= WAITING_FETCHES_MAX:
                raise errors.RESOURCE_OVERLOADED()
            task = asyncio.get_running_loop().create_task(self._fetch(url))
            self._fetch_tasks[url] = task
            task.add_done_callback(lambda finished_task: self._on_fetched(url, finished_task))
        # The task is shielded, because other requests still wait for it if the first client disconnects.
        return await asyncio.shield(task)

    def _on_fetched(self, url: str, task: "asyncio.Task[bytes]") -> None:
        self._fetch_tasks.pop(url, None)
        if task.cancelled() or task.exception() is not None:
            return
        image_bytes = task.result()
        self._images_by_url[url] = image_bytes
        self._cached_bytes += len(image_bytes)
        while self._cached_bytes > CACHE_BYTES_MAX:
            _, removed_image = self._images_by_url.popitem(last=False)
            self._cached_bytes -= len(removed_image)

    async def _fetch(self, url: str) -> bytes:
        async with self._slots:
            document = await self._outbound.fetch(
                url,
                headers={**_HEADERS, "User-Agent": self._config.fetch_user_agent},
                timeout_seconds=TIMEOUT_SECONDS,
                response_bytes_max=IMAGE_BYTES_MAX,
                is_host_allowed=self._config.link_previews.is_host_allowed,
            )
        return document.response.body
