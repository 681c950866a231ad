"""One request through the proxy: its body flows to the target as it arrives, the answer's flows back as it comes.

Nothing is collected, so a slow reader slows its writer down. Both bodies are bounded, and so is the time in which nothing moves.
What goes wrong before the answer began is a page; afterwards the connection breaks off, so that nobody takes a part for the whole.
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

from hubbub.server.core.guarded import ForbiddenTargetError, UnreachableError
from hubbub.server.core.guarded_streams import GuardedStreams
from hubbub.server.transports.activities.pages import ClientGone, Refusal
from hubbub.server.transports.http.serving import ending_with_client

log = logging.getLogger(__name__)

UNPACKED: Final = frozenset({"br", "deflate", "gzip", "zstd"})
"""Encodings that the server's side of aiohttp takes off a body itself."""
FORBIDDEN: Final = "The application's own server is at an address that this platform does not call."


class Bounds(NamedTuple):
    """What may flow, and how long nothing may."""

    request_bytes: int
    response_bytes: int
    idle_s: float


Head = Callable[[aiohttp.ClientResponse], CIMultiDict[str]]


class _Patience:
    """Ends what it is entered for when nothing has moved for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = asyncio.timeout(seconds)

    async def __aenter__(self) -> "_Patience":
        await self._deadline.__aenter__()
        return self

    async def __aexit__(self, *problem: Any) -> None:
        await self._deadline.__aexit__(*problem)

    def moved(self) -> None:
        """Something moved. It may be over already, for bodies are sent beside us."""
        with contextlib.suppress(RuntimeError):
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._seconds)


class _Body:
    """The body of a request on its way."""

    def __init__(self, request: web.Request, most: int, patience: _Patience) -> None:
        self._request = request
        self._most = most
        self._patience = patience
        self.waiting = False
        """Whether the client has to say more."""
        self.problem = 0
        """What the client is told where it is its body that went wrong."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        while not self._request.content.at_eof():
            self.waiting = True
            try:
                chunk = await self._request.content.readany()
            except (http_exceptions.HttpProcessingError, web.RequestPayloadError):
                # It broke off, or is not encoded as it says.
                self.problem = 400
                raise
            self.waiting = False
            sent += len(chunk)
            if sent > self._most:
                self.problem = 413
                raise Refusal(413)
            self._patience.moved()
            if chunk:
                yield chunk


async def forward(
    request: web.Request,
    streams: GuardedStreams,
    url: URL,
    headers: CIMultiDict[str],
    head: Head,
    bounds: Bounds,
) -> web.StreamResponse:
    """Ask the target, and answer with what it says; Refusal where the answer has not begun, ClientGone where nobody waits."""
    if request.content_length is not None and request.content_length > bounds.request_bytes:
        raise Refusal(413)
    if headers.get(hdrs.CONTENT_ENCODING, "").strip().lower() in UNPACKED:
        del headers[hdrs.CONTENT_ENCODING]
        headers.popall(hdrs.CONTENT_LENGTH, None)
    await _expect(request)
    patience = _Patience(bounds.idle_s)
    body = _Body(request, bounds.request_bytes, patience)
    response: web.StreamResponse | None = None
    try:
        with ending_with_client(request):
            async with patience:
                sent = aiter(body) if request.can_read_body else None
                async with streams.request(request.method, url, headers=headers, body=sent) as answer:
                    if (answer.content_length or 0) > bounds.response_bytes:
                        raise UnreachableError("the answer is too large")
                    response = web.StreamResponse(status=answer.status, headers=head(answer))
                    await _pass_back(request, response, answer, bounds.response_bytes, patience)
        return response
    except ClientGone:
        raise
    except TimeoutError as error:
        problem, status = error, 408 if body.waiting else 504
    except (Refusal, UnreachableError, aiohttp.ClientError, OSError, ValueError) as error:
        if request.transport is None:
            raise ClientGone from error
        problem, status = error, body.problem or 502  # type: ignore[assignment]
    if response is not None and response.prepared:
        log.info("the answer of an activity's target broke off: %r", problem)
        if request.transport is not None:
            request.transport.abort()
        raise ClientGone from problem
    log.info("an activity's target did not answer: %r", problem)
    if is_forbidden(problem):
        raise Refusal(502, FORBIDDEN) from problem
    raise Refusal(status) from problem


async def _pass_back(
    request: web.Request,
    response: web.StreamResponse,
    answer: aiohttp.ClientResponse,
    most: int,
    patience: _Patience,
) -> None:
    got = 0
    await _to_client(response.prepare(request))
    async for chunk in answer.content.iter_any():
        got += len(chunk)
        if got > most:
            raise UnreachableError("the answer is too large")
        await _to_client(response.write(chunk))
        patience.moved()
    await _to_client(response.write_eof())


async def _to_client(writing: Awaitable[object]) -> None:
    """Errors of this connection are not the target's."""
    try:
        await writing
    except ConnectionError as error:
        raise ClientGone from error


async def _expect(request: web.Request) -> None:
    """Answer `Expect: 100-continue`, as aiohttp's applications do before their handlers."""
    if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0


def is_forbidden(problem: BaseException | None) -> bool:
    """Whether a target was refused because of where it is."""
    while problem is not None:
        if isinstance(problem, ForbiddenTargetError):
            return True
        problem = problem.__cause__
    return False
