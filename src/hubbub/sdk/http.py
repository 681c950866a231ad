"""HTTP transport of the SDK: a connection pool, rate limits, retries, and error responses as `ApiError`.

It sends requests without knowledge of operations; `api.Api` builds the requests.
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
from hubbub.sdk.clock import PlatformClock
from hubbub.sdk.daemon_threads import new_session

log = logging.getLogger(__name__)

TIMEOUT_MS: Final = 30_000
"""Default timeout of a request including its retries but not its waits for rate limits, in milliseconds."""
RATE_LIMIT_WAIT_MAX_MS: Final = 60_000
"""Default maximum delay in milliseconds before a retry of a rate limited request; with a longer one, it fails."""
TRIES_MAX: Final = 5
"""Default maximum number of attempts of a request."""
BACKOFF_MS: Final = 250
"""Delay before the second attempt in milliseconds, before jitter; it doubles with each attempt."""
IDEMPOTENT_METHODS: Final = frozenset(("GET", "HEAD", "PUT", "DELETE"))
"""Idempotent methods, which are retried even if the first request may have been processed."""
TRANSIENT_STATUSES: Final = frozenset((500, 502, 503, 504, 524))
"""Statuses of transient server errors."""


class Request(NamedTuple):
    """A request, which may be sent several times."""

    method: str
    url: URL
    route: str
    """Path template for log messages; the path itself may contain a token."""
    bucket: str
    """Provisional rate limit bucket, until the platform names the real one."""
    major: str
    """Channel, guild or webhook with a separate rate limit, as `name=id`; empty if there is none."""
    headers: Mapping[str, str]
    create_body: Callable[[], Any] = lambda: None
    """Function that creates the body for each attempt, because a form can be sent only once."""
    tries: int | None = None
    """Maximum number of attempts; None uses the default."""


class HttpResponse(NamedTuple):
    """A response with a status below 400; redirects are not followed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class RateLimitWindow:
    """The state of a rate limit bucket (spec/http.md#1.14)."""

    __slots__ = ("in_flight", "length_seconds", "limit", "remaining", "resets_at")

    def __init__(self) -> None:
        self.limit: int | None = None
        """Requests per window; None until the first response."""
        self.remaining = 0
        """Number of requests that may still be sent in the window."""
        self.in_flight = 0
        """Requests without a response so far, which the platform may not have counted."""
        self.length_seconds = 0.0
        """Length of the window in seconds."""
        self.resets_at = 0.0
        """Loop time at which the window ends."""

    def compute_wait_seconds(self, now: float) -> float:
        """Return the time in seconds that the next request has to wait; start a new window if the last one has ended.

        `now` is the loop time."""
        if self.limit is None:
            return 0.0
        if now >= self.resets_at:
            self.remaining = self.limit - self.in_flight
            self.resets_at = now + self.length_seconds
        return self.resets_at - now if self.remaining <= 0 else 0.0

    def update(self, limit: int, remaining: int, after_seconds: float, now: float) -> None:
        """Update the window from a response; `after_seconds` is the time until it ends, and `now` the loop time."""
        self.limit = limit
        self.remaining = remaining - self.in_flight
        self.length_seconds = max(self.length_seconds, after_seconds)
        self.resets_at = now + after_seconds


class Http:
    """HTTP client that waits for rate limits, and retries rate limited requests and idempotent requests.

    The parameters are those of `api.Api`, except that `rate_limit_wait_max_ms` is called `wait_most_ms` there."""

    def __init__(
        self,
        *,
        timeout_ms: int = TIMEOUT_MS,
        rate_limit_wait_max_ms: int = RATE_LIMIT_WAIT_MAX_MS,
        tries: int = TRIES_MAX,
        session: aiohttp.ClientSession | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: PlatformClock | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        """Timeout of a request in milliseconds, as in `TIMEOUT_MS`; may be changed at any time."""
        self._wait_max_seconds = rate_limit_wait_max_ms / 1000
        self._tries = tries
        self._session = session
        self._owns_session = session is None
        self._sleep = sleep
        self._clock = clock or PlatformClock()
        self._buckets: dict[str, str] = {}
        """Buckets named by the platform, by provisional bucket."""
        self._windows: dict[tuple[str, str], RateLimitWindow] = {}
        """Windows by bucket and major parameter."""
        self._global_limit_until = 0.0
        """Loop time at which the global rate limit ends."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless the caller provided the session."""
        if self._session is not None and self._owns_session:
            await self._session.close()

    async def send(self, request: Request) -> HttpResponse:
        """Send a request, with retries, and return the response.

        Raise ApiError for an error response, and TimeoutError or aiohttp.ClientError if there is no response."""
        tries, loop_time = request.tries or self._tries, asyncio.get_running_loop().time
        # The timeout covers attempts and backoff, but not the waits required by rate limits.
        left_seconds = self.timeout_ms / 1000
        for attempt in range(1, tries + 1):
            window = await self._acquire(request)
            is_last, started_at, backoff_seconds = attempt == tries, loop_time(), _compute_backoff_seconds(attempt)
            try:
                status, headers, body = await self._send_once(request, left_seconds)
            except (aiohttp.ClientConnectionError, TimeoutError):
                left_seconds -= loop_time() - started_at + backoff_seconds
                if is_last or left_seconds <= 0 or request.method not in IDEMPOTENT_METHODS:
                    raise
                log.debug("%s %s: no response, retrying", request.method, request.route)
                await self._sleep(backoff_seconds)
                continue
            finally:
                window.in_flight -= 1
            self._clock.update_from_headers(headers)
            self._update_bucket(request, headers)
            log.debug("%s %s: %d", request.method, request.route, status)
            if status < 400:
                return HttpResponse(status, headers, body)
            error = parse_error_response(status, headers, body)
            wait_seconds, counts_toward_timeout = (
                (None, False) if is_last else self._retry_delay(request, error, backoff_seconds)
            )
            left_seconds -= loop_time() - started_at + (backoff_seconds if counts_toward_timeout else 0.0)
            if wait_seconds is None or left_seconds <= 0:
                raise error
            await self._sleep(wait_seconds)
        raise AssertionError("unreachable")

    async def _send_once(self, request: Request, timeout_seconds: float) -> tuple[int, Mapping[str, str], bytes]:
        """Make one attempt, and return the status, the headers and the body of the response."""
        if self._session is None:
            self._session = new_session()
        try:
            async with self._session.request(
                request.method,
                request.url,
                headers=request.headers,
                data=request.create_body(),
                timeout=aiohttp.ClientTimeout(total=timeout_seconds),
                allow_redirects=False,
            ) as response:
                return response.status, response.headers, await response.read()
        except aiohttp.ClientResponseError as error:
            # The response is not valid HTTP. aiohttp's own error would reveal the token, because it shows the request
            # headers.
            raise aiohttp.ClientConnectionError(f"Could not read the response: {error.message}") from None

    def _retry_delay(self, request: Request, error: ApiError, backoff_seconds: float) -> tuple[float | None, bool]:
        """Return the delay before a retry, or None for no retry, and whether the delay counts toward the timeout.

        A global rate limit is recorded for all requests."""
        if error.extra.get("retry_after") is not None and (error.status == 429 or request.method in IDEMPOTENT_METHODS):
            wait_seconds = float(error.extra["retry_after"])
            if wait_seconds > self._wait_max_seconds:
                return None, False
            if error.extra.get("global"):
                self._global_limit_until = asyncio.get_running_loop().time() + wait_seconds
            log.debug("%s %s: rate limited, waiting %.3f s", request.method, request.route, wait_seconds)
            return wait_seconds, False
        return (
            (backoff_seconds, True)
            if error.status in TRANSIENT_STATUSES and request.method in IDEMPOTENT_METHODS
            else (None, False)
        )

    # Buckets

    def _window_of(self, request: Request) -> RateLimitWindow:
        key = (self._buckets.get(request.bucket, request.bucket), request.major)
        return self._windows.setdefault(key, RateLimitWindow())

    async def _acquire(self, request: Request) -> RateLimitWindow:
        """Wait until the bucket and the global rate limit allow a request, and reserve it."""
        loop_time = asyncio.get_running_loop().time
        while True:
            now = loop_time()
            window = self._window_of(request)
            wait_seconds = max(self._global_limit_until - now, window.compute_wait_seconds(now))
            if wait_seconds <= 0:
                window.remaining -= 1
                window.in_flight += 1
                return window
            log.debug("%s %s: waiting %.3f s for the rate limit", request.method, request.route, wait_seconds)
            await self._sleep(wait_seconds)

    def _update_bucket(self, request: Request, headers: Mapping[str, str]) -> None:
        """Update the bucket from the headers of a response."""
        bucket = headers.get("X-RateLimit-Bucket")
        if bucket is None:
            return
        self._buckets[request.bucket] = bucket
        try:
            limit, remaining_requests = int(headers["X-RateLimit-Limit"]), int(headers["X-RateLimit-Remaining"])
            after_seconds = float(headers["X-RateLimit-Reset-After"])
        except (KeyError, ValueError):
            return
        self._window_of(request).update(limit, remaining_requests, after_seconds, asyncio.get_running_loop().time())


def _compute_backoff_seconds(attempt: int) -> float:
    """Return the delay after an attempt, counted from 1, in seconds."""
    # Jitter keeps clients that failed together from retrying together.
    return BACKOFF_MS / 1000 * float(1 << (attempt - 1)) * (0.5 + random.random() / 2)


def parse_error_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """Parse an error response; an unknown error code keeps its number and message."""
    try:
        payload = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        payload = None
    if not isinstance(payload, dict):
        # The response is not from the platform: an intermediary such as a proxy sent it.
        payload = {}
    code = payload.pop("code", 0)
    message = payload.pop("message", None)
    field_errors = payload.pop("errors", None)
    code = code if isinstance(code, int) else 0
    error_code = errors.find(code, status)
    if error_code is None:
        error_code = ErrorCode(
            code, status, message if isinstance(message, str) else f"{status}: {_status_phrase(status)}"
        )
    elif isinstance(message, str) and message != error_code.message:
        payload["message"] = message
    if "retry_after" not in payload and (retry_after := headers.get("Retry-After", "")).isdecimal():
        payload["retry_after"] = float(retry_after)
    text = body.decode(errors="replace")
    return ReceivedApiError(
        error_code, status, errors=field_errors if isinstance(field_errors, dict) else None, extra=payload, text=text
    )


class ReceivedApiError(ApiError):
    """An ApiError with the status and body of its response; the status may differ from the usual one of the code."""

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
        """The response body."""

    @property
    def status(self) -> int:
        """HTTP status of the response."""
        return self._status


def _status_phrase(status: int) -> str:
    """Return the standard phrase of an HTTP status, or "Error" for an unknown status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
