"""The way to the platform over HTTP: one connection pool, rate limits obeyed, refusals raised as the errors of the protocol.

It knows requests and answers, and no operation; `client.Client` turns one into the other.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple, Self

import aiohttp
import msgspec
from yarl import URL

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError, ErrorCode
from hubbub.sdk.aside import new_session
from hubbub.sdk.clock import PlatformClock

log = logging.getLogger(__name__)

TIMEOUT_MS: Final = 30_000
WAIT_MOST_MS: Final = 60_000
"""A rate limit that lasts longer than this is raised instead of waited for."""
TRIES: Final = 5
BACKOFF_MS: Final = 250
SAFE: Final = frozenset(("GET", "HEAD", "PUT", "DELETE"))
"""Methods that may be sent again when nobody knows whether they arrived."""
PASSING: Final = frozenset((500, 502, 503, 504, 524))
"""Statuses of a platform in trouble, for a moment."""


class Request(NamedTuple):
    """One request, as often as it has to be sent."""

    method: str
    url: URL
    route: str
    """The path as a template: what is said in logs, since a path may hold a token."""
    bucket: str
    """Requests with the same text are counted together, until the platform says which bucket that is."""
    major: str
    """The channel, guild or webhook that the platform counts for."""
    headers: Mapping[str, str]
    body: Callable[[], Any] = lambda: None
    """Makes the body; a form can be sent only once."""
    tries: int | None = None
    """How often it is sent at most; None as often as everything."""


class Reply(NamedTuple):
    """A success."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Window:
    """What is left of a bucket, and until when (http.md 1.14)."""

    __slots__ = ("length_s", "limit", "remaining", "resets_at", "under_way")

    def __init__(self) -> None:
        self.limit: int | None = None
        """None until the platform names one."""
        self.remaining = 0
        self.under_way = 0
        """Requests that are sent and not yet answered: the platform may not have counted them."""
        self.length_s = 0.0
        self.resets_at = 0.0

    def wait_s(self, now: float) -> float:
        """How long a further request has to wait."""
        if self.limit is None:
            return 0.0
        if now >= self.resets_at:
            self.remaining = self.limit - self.under_way
            self.resets_at = now + self.length_s
        return self.resets_at - now if self.remaining <= 0 else 0.0

    def note(self, limit: int, remaining: int, after_s: float, now: float) -> None:
        """What the platform says."""
        self.limit = limit
        self.remaining = remaining - self.under_way
        self.length_s = max(self.length_s, after_s)
        self.resets_at = now + after_s


class Http:
    """Sends requests, waits where it is told to, and tries again where that is safe."""

    def __init__(
        self,
        *,
        timeout_ms: int = TIMEOUT_MS,
        wait_most_ms: int = WAIT_MOST_MS,
        tries: int = TRIES,
        session: aiohttp.ClientSession | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: PlatformClock | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        """How long an answer may take, with all that is tried for it; may be set at any time."""
        self._wait_most_s = wait_most_ms / 1000
        self._tries = tries
        self._session = session
        self._owns_session = session is None
        self._sleep = sleep
        self._clock = clock or PlatformClock()
        self._buckets: dict[str, str] = {}
        self._windows: dict[tuple[str, str], Window] = {}
        self._held_until = 0.0
        """The global limit: nothing is sent before."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the connections go, unless they are the caller's."""
        if self._session is not None and self._owns_session:
            await self._session.close()

    async def send(self, request: Request) -> Reply:
        """The platform's success; raises ApiError for a refusal, TimeoutError or aiohttp.ClientError without an answer."""
        tries, clock = request.tries or self._tries, asyncio.get_running_loop().time
        # The timeout is for everything that we do of ourselves; a wait that a rate limit asks for is not counted.
        left_s = self.timeout_ms / 1000
        for attempt in range(1, tries + 1):
            window = await self._take_turn(request)
            last, began, back_off_s = attempt == tries, clock(), _back_off_s(attempt)
            try:
                status, headers, body = await self._exchange(request, left_s)
            except (aiohttp.ClientConnectionError, TimeoutError):
                left_s -= clock() - began + back_off_s
                if last or left_s <= 0 or request.method not in SAFE:
                    raise
                log.debug("%s %s: no answer, trying again", request.method, request.route)
                await self._sleep(back_off_s)
                continue
            finally:
                window.under_way -= 1
            self._clock.note(headers)
            self._note(request, headers)
            log.debug("%s %s: %d", request.method, request.route, status)
            if status < 400:
                return Reply(status, headers, body)
            error = refusal(status, headers, body)
            wait_s, counts = (None, False) if last else self._wait(request, error, back_off_s)
            left_s -= clock() - began + (back_off_s if counts else 0.0)
            if wait_s is None or left_s <= 0:
                raise error
            await self._sleep(wait_s)
        raise AssertionError("unreachable")

    async def _exchange(self, request: Request, timeout_s: float) -> tuple[int, Mapping[str, str], bytes]:
        if self._session is None:
            self._session = new_session()
        try:
            async with self._session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.body(),
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                allow_redirects=False,
            ) as response:
                return response.status, response.headers, await response.read()
        except aiohttp.ClientResponseError as error:
            # An answer that is no HTTP. aiohttp's error shows the headers of the request, and so the token.
            raise aiohttp.ClientConnectionError(f"the answer could not be read: {error.message}") from None

    def _wait(self, request: Request, error: ApiError, back_off_s: float) -> tuple[float | None, bool]:
        """How long to wait before it is sent once more, None if it is not; and whether that wait is our own idea."""
        if error.extra.get("retry_after") is not None and (error.status == 429 or request.method in SAFE):
            wait_s = float(error.extra["retry_after"])
            if wait_s > self._wait_most_s:
                return None, False
            if error.extra.get("global"):
                self._held_until = asyncio.get_running_loop().time() + wait_s
            log.debug("%s %s: waiting %.3f s as told", request.method, request.route, wait_s)
            return wait_s, False
        return (back_off_s, True) if error.status in PASSING and request.method in SAFE else (None, False)

    # Buckets

    def _window(self, request: Request) -> Window:
        key = (self._buckets.get(request.bucket, request.bucket), request.major)
        return self._windows.setdefault(key, Window())

    async def _take_turn(self, request: Request) -> Window:
        """Wait until neither the bucket nor the global limit stands in the way."""
        clock = asyncio.get_running_loop().time
        while True:
            now = clock()
            window = self._window(request)
            wait_s = max(self._held_until - now, window.wait_s(now))
            if wait_s <= 0:
                window.remaining -= 1
                window.under_way += 1
                return window
            log.debug("%s %s: waiting %.3f s for its turn", request.method, request.route, wait_s)
            await self._sleep(wait_s)

    def _note(self, request: Request, headers: Mapping[str, str]) -> None:
        """Remember what the platform says of the bucket."""
        bucket = headers.get("X-RateLimit-Bucket")
        if bucket is None:
            return
        self._buckets[request.bucket] = bucket
        try:
            limit, remaining = int(headers["X-RateLimit-Limit"]), int(headers["X-RateLimit-Remaining"])
            after_s = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        self._window(request).note(limit, remaining, after_s, asyncio.get_running_loop().time())


def _back_off_s(attempt: int) -> float:
    # Spread out, so that clients that failed together do not come back together.
    return BACKOFF_MS / 1000 * float(1 << (attempt - 1)) * (0.5 + random.random() / 2)


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error that an answer of 400 and above stands for; one of a kind that we do not know keeps its number and text."""
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        told = None
    if not isinstance(told, dict):
        # Not the platform's words: something on the way answered.
        told = {}
    code = told.pop("code", 0)
    message = told.pop("message", None)
    tree = told.pop("errors", None)
    code = code if isinstance(code, int) else 0
    kind = errors.find(code, status)
    if kind is None:
        kind = ErrorCode(code, status, message if isinstance(message, str) else f"{status}: {_phrase(status)}")
    elif isinstance(message, str) and message != kind.message:
        told["message"] = message
    if "retry_after" not in told and (after := headers.get("Retry-After", "")).isdecimal():
        told["retry_after"] = float(after)
    text = body.decode(errors="replace")
    return Refused(kind, status, errors=tree if isinstance(tree, dict) else None, extra=told, text=text)


class Refused(ApiError):
    """An ApiError as it came: a code may arrive with another status than it usually has."""

    def __init__(
        self,
        kind: ErrorCode,
        status: int,
        *,
        errors: dict[str, Any] | None = None,
        extra: dict[str, Any] | None = None,
        text: str = "",
    ) -> None:
        super().__init__(kind, errors=errors, extra=extra)
        self._status = status
        self.text = text
        """The whole answer."""

    @property
    def status(self) -> int:
        """The HTTP status of the answer."""
        return self._status


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
