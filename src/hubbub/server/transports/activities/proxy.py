"""Forwarding of one request of an activity to its target; the request and response bodies are streamed as they arrive.

Bodies are not buffered, so a slow reader slows down the writer. Both bodies have a size limit, and there is an idle
timeout. An error before the response has started becomes an error page. After a later error the connection is aborted,
so that the client does not mistake a partial response for a complete one.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import hdrs, http_exceptions, web
from multidict import CIMultiDict
from yarl import URL

from hubbub.server.core.outbound_http import ForbiddenTargetError, UnreachableError
from hubbub.server.core.outbound_streams import OutboundStreams
from hubbub.server.transports.activities.pages import ClientDisconnected, ProxyError
from hubbub.server.transports.http.aiohttp_adapter import cancel_on_disconnect

log = logging.getLogger(__name__)

DECODED_ENCODINGS: Final = frozenset({"br", "deflate", "gzip", "zstd"})
"""Content encodings that aiohttp's server decodes itself."""
FORBIDDEN_TEXT: Final = "The application's server is at an address that this platform does not connect to."


class ForwardLimits(NamedTuple):
    """Size limits of the bodies in bytes, and the idle timeout in seconds."""

    request_bytes_max: int
    response_bytes_max: int
    idle_timeout_seconds: float


MakeResponseHeaders = Callable[[aiohttp.ClientResponse], CIMultiDict[str]]
"""Function that returns the headers of the response to the client from the target's response."""


class _IdleTimeout:
    """A context manager that raises TimeoutError in its block when `restart` was not called for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> "_IdleTimeout":
        await self._timeout.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._timeout.__aexit__(*exc_info)

    def restart(self) -> None:
        """Restart the timeout, unless the block has ended: request bodies are sent by another task."""
        with contextlib.suppress(RuntimeError):
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._seconds)


class _RequestBody:
    """The body of a request, read while it is forwarded."""

    def __init__(self, request: web.Request, bytes_max: int, idle_timeout: _IdleTimeout) -> None:
        self._request = request
        self._bytes_max = bytes_max
        self._idle_timeout = idle_timeout
        self.is_waiting = False
        """Whether a read from the client is in progress; a timeout is then the client's fault (408)."""
        self.error_status = 0
        """Status of the error that the body caused, or 0."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received_bytes = 0
        while not self._request.content.at_eof():
            self.is_waiting = True
            try:
                chunk = await self._request.content.readany()
            except (http_exceptions.HttpProcessingError, web.RequestPayloadError):
                # The body is incomplete, or does not match its encoding.
                self.error_status = 400
                raise
            self.is_waiting = False
            received_bytes += len(chunk)
            if received_bytes > self._bytes_max:
                self.error_status = 413
                raise ProxyError(413)
            self._idle_timeout.restart()
            if chunk:
                yield chunk


async def forward(
    request: web.Request,
    streams: OutboundStreams,
    url: URL,
    request_headers: CIMultiDict[str],
    make_response_headers: MakeResponseHeaders,
    limits: ForwardLimits,
) -> web.StreamResponse:
    """Send the request to the target and its response to the client.

    `request_headers` are sent to the target and are changed here. Raise `ProxyError` for an error before the response
    has started. Raise `ClientDisconnected` if the client had disconnected or a write to it failed, or if a later error
    aborted the connection; a disconnect at another time cancels the task.
    """
    if request.content_length is not None and request.content_length > limits.request_bytes_max:
        raise ProxyError(413)
    if request_headers.get(hdrs.CONTENT_ENCODING, "").strip().lower() in DECODED_ENCODINGS:
        del request_headers[hdrs.CONTENT_ENCODING]
        request_headers.popall(hdrs.CONTENT_LENGTH, None)
    await _send_continue(request)
    idle_timeout = _IdleTimeout(limits.idle_timeout_seconds)
    body = _RequestBody(request, limits.request_bytes_max, idle_timeout)
    response: web.StreamResponse | None = None
    try:
        with cancel_on_disconnect(request):
            async with idle_timeout:
                chunks = aiter(body) if request.can_read_body else None
                async with streams.request(
                    request.method, url, headers=request_headers, body=chunks
                ) as target_response:
                    if (target_response.content_length or 0) > limits.response_bytes_max:
                        raise UnreachableError("the response is too large")
                    response = web.StreamResponse(
                        status=target_response.status, headers=make_response_headers(target_response)
                    )
                    await _send_response(request, response, target_response, limits.response_bytes_max, idle_timeout)
        return response
    except ClientDisconnected:
        raise
    except TimeoutError as error:
        problem, status = error, 408 if body.is_waiting else 504
    except (ProxyError, UnreachableError, aiohttp.ClientError, OSError, ValueError) as error:
        if request.transport is None:
            raise ClientDisconnected from error
        problem, status = error, body.error_status or 502  # type: ignore[assignment]
    if response is not None and response.prepared:
        log.info("The response of an activity's target was interrupted: %r", problem)
        if request.transport is not None:
            request.transport.abort()
        raise ClientDisconnected from problem
    log.info("An activity's target did not respond: %r", problem)
    if is_forbidden_target(problem):
        raise ProxyError(502, FORBIDDEN_TEXT) from problem
    raise ProxyError(status) from problem


async def _send_response(
    request: web.Request,
    response: web.StreamResponse,
    target_response: aiohttp.ClientResponse,
    bytes_max: int,
    idle_timeout: _IdleTimeout,
) -> None:
    received_bytes = 0
    await _await_client_write(response.prepare(request))
    async for chunk in target_response.content.iter_any():
        received_bytes += len(chunk)
        if received_bytes > bytes_max:
            raise UnreachableError("the response is too large")
        await _await_client_write(response.write(chunk))
        idle_timeout.restart()
    await _await_client_write(response.write_eof())


async def _await_client_write(write: Awaitable[object]) -> None:
    """Await a write to the client, and raise `ClientDisconnected` for its errors, to distinguish them from the target's."""
    try:
        await write
    except ConnectionError as error:
        raise ClientDisconnected from error


async def _send_continue(request: web.Request) -> None:
    """Send `100 Continue` if the client expects it, as aiohttp applications do before their handlers."""
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def is_forbidden_target(problem: BaseException | None) -> bool:
    """Return whether an error was caused by a target at a forbidden address."""
    while problem is not None:
        if isinstance(problem, ForbiddenTargetError):
            return True
        problem = problem.__cause__
    return False
