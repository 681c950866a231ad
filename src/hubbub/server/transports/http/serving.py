"""Where the door meets aiohttp: one resource for a whole subtree, and our words for what never became a request."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from aiohttp import hdrs, web
from yarl import URL

from hubbub.server.transports.http import answers

log = logging.getLogger(__name__)


class Subtree(web.AbstractResource):
    """Everything below a path, for one handler; aiohttp's own routing would match a pattern for each request."""

    def __init__(self, prefix: str, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        super().__init__()
        self._prefix = prefix
        self._route = web.ResourceRoute("*", handler, self)

    @property
    def canonical(self) -> str:
        return self._prefix

    async def resolve(self, request: web.Request) -> tuple[web.UrlMappingMatchInfo, set[str]]:
        return web.UrlMappingMatchInfo({}, self._route), set()

    def url_for(self, **_: str) -> URL:
        return URL(self._prefix)

    def add_prefix(self, prefix: str) -> None:
        self._prefix = prefix + self._prefix

    def get_info(self) -> Any:
        return {"path": self._prefix}

    def raw_match(self, path: str) -> bool:
        return path == self._prefix

    def freeze(self) -> None:
        """Nothing of it changes."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter((self._route,))


class _Protocol(web.RequestHandler):
    """aiohttp's connection, with our words for what never became a request."""

    ends_with_client = False
    """Whether what is being answered is of no use once its client is gone."""

    def connection_lost(self, exc: BaseException | None) -> None:
        task: asyncio.Task[None] | None = self._task_handler
        super().connection_lost(exc)
        if self.ends_with_client and task is not None:
            task.cancel()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the answer is already under way")
        if status >= 500:
            log.error("a request outside the API failed", exc_info=exc)
        response = answers.plain_error(status)
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if isinstance(resp, web.HTTPException) and resp.status >= 400:
            # aiohttp's own refusals: a WebSocket without its handshake, a target that is no path.
            resp = answers.plain_error(resp.status)
        return await super().finish_response(request, resp, start_time)


@contextlib.contextmanager
def ending_with_client(request: web.BaseRequest) -> Iterator[None]:
    """What is done inside is cancelled when its client goes; usually it is finished, for it may have been written already."""
    protocol = request.protocol
    if request.transport is None or not isinstance(protocol, _Protocol):
        raise ConnectionResetError("the client is gone")
    protocol.ends_with_client = True
    try:
        yield
    finally:
        protocol.ends_with_client = False


class _Server(web.Server):
    def __call__(self) -> web.RequestHandler:
        return _Protocol(self, loop=self._loop, **self._kwargs)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Elsewhere(Protocol):
    """Hosts on our port on which nothing of ours is."""

    def owns(self, host: str) -> bool:
        """Whether a request with this Host header is answered there."""
        ...

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer it."""
        ...


class Runner(web.AppRunner):
    """Serves an application over our own kind of connection, and what is below `prefix` by `handler` without asking its router;
    before both, other hosts by `elsewhere`."""

    def __init__(
        self,
        app: web.Application,
        *,
        prefix: str,
        handler: Handler,
        elsewhere: Elsewhere | None = None,
        **options: Any,
    ) -> None:
        super().__init__(app, **options)
        self._prefix = f"{prefix}/"
        self._handler = handler
        self._elsewhere = elsewhere

    # aiohttp offers no public way to choose the connection class of an application.
    async def _make_server(self) -> web.Server:
        made = await super()._make_server()
        prefix, handler, others = self._prefix, self._handler, made.request_handler

        def handle(request: Any) -> Awaitable[web.StreamResponse]:
            # The application answers `Expect` before the handler runs.
            if request.raw_path.startswith(prefix) and hdrs.EXPECT not in request.headers:
                return handler(request)
            return others(request)

        serve, elsewhere = handle, self._elsewhere
        if elsewhere is not None:

            def sort(request: Any) -> Awaitable[web.StreamResponse]:
                if elsewhere.owns(request.headers.get(hdrs.HOST, "")):
                    return elsewhere.handle(request)
                return handle(request)

            serve = sort

        return _Server(serve, request_factory=made.request_factory, loop=made._loop, **made._kwargs)
