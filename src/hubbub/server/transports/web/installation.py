"""Files with which browsers install the chat client: the manifest, the icons and the service worker (decisions/0105)."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import codec
from hubbub.server.transports.web import app_icons
from hubbub.server.transports.web.static_files import STATIC_FOLDER, STATIC_PATH

SERVICE_WORKER: Final = "/service_worker.js"
MANIFEST: Final = "/manifest.webmanifest"
SCOPE: Final = "/app"
"""Path of the pages that the service worker controls."""
ICONS: Final = f"{STATIC_PATH}/icons"

LIGHT_COLOR: Final = "#f6f2ea"
DARK_COLOR: Final = "#12181a"
"""Colors of the title bar in the two themes: `--paper` of `style.css`."""

_ICON_DRAWERS: Final[Mapping[str, Callable[[], bytes]]] = {
    "app-192.png": partial(app_icons.draw_icon, 192, is_maskable=False),
    "app-512.png": partial(app_icons.draw_icon, 512, is_maskable=False),
    "app-maskable-512.png": partial(app_icons.draw_icon, 512, is_maskable=True),
    "app-touch-180.png": partial(app_icons.draw_icon, 180, is_maskable=True),
    "badge-96.png": partial(app_icons.draw_badge, 96),
}
_NO_SNIFF_HEADERS: Final = {"X-Content-Type-Options": "nosniff"}
_SERVICE_WORKER_HEADERS: Final = {
    "Content-Type": "text/javascript; charset=utf-8",
    # Browsers compare the file with the installed file at each navigation, so caches must not return an old file.
    "Cache-Control": "no-cache",
    "Service-Worker-Allowed": SCOPE,
    # A service worker has the policy of its own response: no script but this one, and no requests except for icons.
    "Content-Security-Policy": "default-src 'none'; img-src 'self'",
    **_NO_SNIFF_HEADERS,
}


class InstallationFiles:
    """Serves the manifest, the icons and the service worker to everyone."""

    def __init__(self) -> None:
        self._service_worker = (STATIC_FOLDER / "worker" / "service_worker.js").read_bytes()
        self._manifest = codec.encode(build_manifest())

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of the files."""
        return [
            web.get(SERVICE_WORKER, self._serve_worker),
            web.get(MANIFEST, self._serve_manifest),
            web.get(f"{ICONS}/{{name}}", self._serve_icon),
        ]

    async def _serve_worker(self, request: web.Request) -> web.Response:
        return web.Response(body=self._service_worker, headers=_SERVICE_WORKER_HEADERS)

    async def _serve_manifest(self, request: web.Request) -> web.Response:
        headers = {"Content-Type": "application/manifest+json", "Cache-Control": "no-cache", **_NO_SNIFF_HEADERS}
        return web.Response(body=self._manifest, headers=headers)

    async def _serve_icon(self, request: web.Request) -> web.Response:
        draw = _ICON_DRAWERS.get(request.match_info["name"])
        if draw is None:
            raise web.HTTPNotFound
        png = await asyncio.get_running_loop().run_in_executor(None, draw)
        headers = {"Content-Type": "image/png", "Cache-Control": "public, max-age=86400", **_NO_SNIFF_HEADERS}
        return web.Response(body=png, headers=headers)


def build_manifest() -> dict[str, Any]:
    """Return the web app manifest. Its scope includes the login and settings pages, so that they stay in the window of the app."""
    return {
        "id": SCOPE,
        "name": "Hubbub",
        "short_name": "Hubbub",
        "description": "Chat for communities and games.",
        "lang": "en",
        "start_url": SCOPE,
        "scope": "/",
        "display": "standalone",
        "background_color": LIGHT_COLOR,
        "theme_color": LIGHT_COLOR,
        "categories": ["social"],
        "icons": [
            {"src": f"{ICONS}/app-192.png", "sizes": "192x192", "type": "image/png", "purpose": "any"},
            {"src": f"{ICONS}/app-512.png", "sizes": "512x512", "type": "image/png", "purpose": "any"},
            {"src": f"{ICONS}/app-maskable-512.png", "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
        ],
    }
