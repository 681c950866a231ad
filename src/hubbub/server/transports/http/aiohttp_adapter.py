"""Adapter to aiohttp: routing by subtree and host, origin checks, error bodies for malformed requests, and cancellation."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from aiohttp import hdrs, web
from yarl import URL

from hubbub.server.core.files import FileStoreError, describe_store_error
from hubbub.server.transports.http import responses
from hubbub.server.transports.http.origin_policy import OriginPolicy

log = logging.getLogger(__name__)


class SubtreeResource(web.AbstractResource):
    """Routes everything below a path to one handler, which avoids aiohttp's pattern matching for each request."""

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
        """Do nothing; the resource is immutable."""

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter((self._route,))


class _ConnectionHandler(web.RequestHandler):
    """aiohttp's connection handler, with the platform's error bodies for malformed requests."""

    cancels_on_disconnect = False
    """Whether the current handler is cancelled when the client disconnects."""

    def connection_lost(self, exc: BaseException | None) -> None:
        task: asyncio.Task[None] | None = self._task_handler
        super().connection_lost(exc)
        if self.cancels_on_disconnect and task is not None:
            task.cancel()

    def log_exception(self, *args: Any, **options: Any) -> None:
        """Log an exception of a connection, unless the body of the client caused it.

        After the response aiohttp reads the rest of the body, which may be impossible to decompress.
        """
        if not isinstance(options.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **options)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("the response has already started")
        if isinstance(exc, FileStoreError):
            status = 503
            log.error("The file store failed: %s", describe_store_error(exc))
        elif status >= 500:
            log.error("Request outside /api failed", exc_info=exc)
        response = responses.plain_error(status)
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if isinstance(resp, web.HTTPException) and resp.status >= 400:
            # aiohttp's own errors, such as a request target that is not a path, or a WebSocket endpoint without a handshake.
            # The latter explains which headers are missing (decisions/0063).
            if isinstance(resp, web.HTTPUpgradeRequired):
                headers = {
                    str(name): resp.headers[name] for name in (hdrs.UPGRADE, hdrs.CONNECTION) if name in resp.headers
                }
                resp = responses.plain_error(resp.status, headers, explanation=resp.text)
            else:
                resp = responses.plain_error(resp.status)
        return await super().finish_response(request, resp, start_time)


@contextlib.contextmanager
def cancel_on_disconnect(request: web.BaseRequest) -> Iterator[None]:
    """Cancel the work inside the block when the client disconnects; raise ConnectionResetError if it already has.

    By default handlers run to completion, because their transaction may already be committed.
    """
    protocol = request.protocol
    if request.transport is None or not isinstance(protocol, _ConnectionHandler):
        raise ConnectionResetError("the client disconnected")
    protocol.cancels_on_disconnect = True
    try:
        yield
    finally:
        protocol.cancels_on_disconnect = False


class _Server(web.Server):
    """aiohttp's server, with `_ConnectionHandler` for each connection."""

    def __call__(self) -> web.RequestHandler:
        return _ConnectionHandler(self, loop=self._loop, **self._kwargs)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HostHandler(Protocol):
    """A handler for other host names on the same port, where none of the platform's routes exist."""

    def handles_host(self, host: str) -> bool:
        """Return whether this handler serves requests with this Host header."""
        ...

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Respond to a request."""
        ...


class ServerRunner(web.AppRunner):
    """Serves an application with the connection handler of this module.

    `policy` rejects requests for unknown hosts or from foreign origins; it does not apply to the hosts of
    `host_handler`, which handles the requests for them. Paths below `prefix` go to `handler` without the application's
    router, and all other requests go to the application.
    """

    def __init__(
        self,
        app: web.Application,
        *,
        prefix: str,
        handler: Handler,
        host_handler: HostHandler | None = None,
        policy: OriginPolicy | None = None,
        **options: Any,
    ) -> None:
        super().__init__(app, **options)
        self._prefix = f"{prefix}/"
        self._handler = handler
        self._host_handler = host_handler
        self._policy = policy

    # aiohttp offers no public way to choose the connection class of an application.
    async def _make_server(self) -> web.Server:
        server = await super()._make_server()
        prefix, handler, handle_by_application = self._prefix, self._handler, server.request_handler

        def handle(request: Any) -> Awaitable[web.StreamResponse]:
            # Requests with `Expect` go through the application, which handles it before the handler runs.
            if request.raw_path.startswith(prefix) and hdrs.EXPECT not in request.headers:
                return handler(request)
            return handle_by_application(request)

        serve, host_handler, policy = handle, self._host_handler, self._policy
        if policy is not None:

            async def handle_accepted(request: Any) -> web.StreamResponse:
                return policy.find_rejection(request) or await handle(request)

            serve = handle_accepted
        if host_handler is not None:
            serve_platform = serve

            def handle_by_host(request: Any) -> Awaitable[web.StreamResponse]:
                if host_handler.handles_host(request.headers.get(hdrs.HOST, "")):
                    return host_handler.handle(request)
                return serve_platform(request)

            serve = handle_by_host

        return _Server(serve, request_factory=server.request_factory, loop=server._loop, **server._kwargs)
