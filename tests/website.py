"""A website on loopback, and functions that build its pages, for tests of link previews."""

from collections.abc import Awaitable, Callable
from typing import Self

from aiohttp import web

PageHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def build_page(*elements: str, body: str = "") -> str:
    """Return an HTML page with these elements in its head."""
    return f"<!doctype html><html><head>{''.join(elements)}</head><body>{body}</body></html>"


def meta(name: str, content: str) -> str:
    """Return a `meta` element with a property."""
    return f'<meta property="{name}" content="{content}">'


class Website:
    """A server with pages by path that records requests; an async context manager."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, bytes]] = {}
        """Content type and body by path."""
        self.handlers: dict[str, PageHandler] = {}
        """Handlers by path; a handler has precedence over a page with the same path."""
        self.requests: list[web.Request] = []
        self.url = ""
        self._runner: web.AppRunner | None = None

    @property
    def paths(self) -> list[str]:
        """The paths of all requests in order."""
        return [request.path for request in self.requests]

    def add_page(self, path: str, html: str | bytes, content_type: str = "text/html; charset=utf-8") -> str:
        """Add a page or file and return its URL."""
        self.pages[path] = (content_type, html.encode() if isinstance(html, str) else html)
        return self.url + path

    def add_handler(self, path: str, handler: PageHandler) -> str:
        """Add a handler for a path and return the URL."""
        self.handlers[path] = handler
        return self.url + path

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._respond)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if request.path in self.handlers:
            return await self.handlers[request.path](request)
        if request.path not in self.pages:
            return web.Response(status=404)
        content_type, body = self.pages[request.path]
        return web.Response(body=body, headers={"Content-Type": content_type})
