"""Upload budget, bounded reading of request bodies, and rate limit headers and errors."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, MutableMapping

from aiohttp import StreamReader, http_exceptions, web

from hubbub.protocol import errors
from hubbub.server.core.rate_limits import Verdict

SHARED_LIMIT_MESSAGE = "The resource is being rate limited."


class UploadBudget:
    """The number of upload bytes that may be in memory at the same time, over all requests."""

    __slots__ = ("_available_bytes", "_record_rejection")

    def __init__(self, bytes_max: int, record_rejection: Callable[[str], errors.ApiError]) -> None:
        """Create the budget. `record_rejection` is `Admission.record_rejection`."""
        self._available_bytes = bytes_max
        self._record_rejection = record_rejection

    def reserve(self, byte_count: int) -> None:
        """Reserve bytes; raise UNAVAILABLE if too many uploads are in progress."""
        if byte_count > self._available_bytes:
            raise self._record_rejection("uploads")
        self._available_bytes -= byte_count

    def release(self, byte_count: int) -> None:
        """Release reserved bytes."""
        self._available_bytes += byte_count


async def read_body(request: web.BaseRequest, bytes_max: int, timeout_seconds: float) -> bytes:
    """Read the whole body; raise 413 as soon as it exceeds `bytes_max` bytes, and 400 after the timeout."""
    length = request.content_length
    if length is not None and length > bytes_max:
        raise errors.REQUEST_ENTITY_TOO_LARGE()
    content = request.content
    first_chunk = await _read_available(content) if content.total_bytes or content.is_eof() else b""
    if content.at_eof():
        if len(first_chunk) > bytes_max:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        return first_chunk
    body = bytearray(first_chunk)
    async for chunk in read_chunks(request, timeout_seconds):
        body += chunk
        if len(body) > bytes_max:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
    return bytes(body)


async def _read_available(content: StreamReader) -> bytes:
    """Read the data that has arrived.

    A client that disconnects before or during the read (and never sees the response) and a body that cannot be
    decompressed become a 400, not a server error.
    """
    try:
        return await content.readany()
    except (ConnectionResetError, http_exceptions.HttpProcessingError, web.RequestPayloadError):
        raise errors.BAD_REQUEST() from None
    except RuntimeError as error:
        # aiohttp raises it for a read of a connection that is closed already.
        if str(error) != "Connection closed.":
            raise
        raise errors.BAD_REQUEST() from None


async def read_chunks(request: web.BaseRequest, timeout_seconds: float) -> AsyncIterator[bytes]:
    """Yield the body as it arrives; raise 400 if the client does not finish within the timeout."""
    content = request.content
    deadline = asyncio.get_running_loop().time() + timeout_seconds
    while True:
        # One timeout per read: a timeout around the loop would leak if the generator is abandoned at its yield.
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await _read_available(content)
        except TimeoutError:
            raise errors.BAD_REQUEST() from None
        if not chunk:
            return
        yield chunk


def add_rate_limit_headers(headers: MutableMapping[str, str], verdict: Verdict) -> None:
    """Add the X-RateLimit headers of a request (spec/http.md#1.14)."""
    if verdict.bucket:
        reset_ms, reset_after_ms = verdict.reset_ms, verdict.reset_after_ms
        headers["X-RateLimit-Limit"] = str(verdict.limit)
        headers["X-RateLimit-Remaining"] = str(verdict.remaining)
        headers["X-RateLimit-Reset"] = f"{reset_ms // 1000}.{reset_ms % 1000:03d}"
        headers["X-RateLimit-Reset-After"] = f"{reset_after_ms // 1000}.{reset_after_ms % 1000:03d}"
        headers["X-RateLimit-Bucket"] = verdict.bucket


def rate_limit_error(verdict: Verdict) -> errors.ApiError:
    """Return the 429 error for a verdict that rejects the request."""
    error_code = errors.find(verdict.code) if verdict.code else None
    error_fields = {
        "message": verdict.message
        or (SHARED_LIMIT_MESSAGE if verdict.scope == "shared" else errors.RATE_LIMITED.message),
        "retry_after": verdict.reset_after_ms / 1000,
        "global": verdict.scope == "global",
    }
    return RateLimitError(error_code or errors.RATE_LIMITED, error_fields, verdict.scope)


def require_allowed(verdict: Verdict | None) -> None:
    """Raise the rate limit error of a verdict that rejects the request."""
    if verdict is not None and not verdict.is_allowed:
        raise rate_limit_error(verdict)


class RateLimitError(errors.ApiError):
    """A request rejected by a rate limit."""

    def __init__(self, error_code: errors.ErrorCode, extra: dict[str, object], scope: str) -> None:
        super().__init__(error_code, extra=extra)
        self.scope = scope

    @property
    def status(self) -> int:
        """Return 429, regardless of the status that the error code has elsewhere."""
        return 429

    def body(self) -> dict[str, object]:
        """Return the JSON body, without `code` if it is 0."""
        body = super().body()
        if not self.kind.code:
            del body["code"]
        return body


def add_retry_headers(headers: MutableMapping[str, str], error: errors.ApiError) -> None:
    """Add the headers of an error with `retry_after`, raised by the HTTP server or by an operation (slowmode)."""
    retry_after = error.extra.get("retry_after")
    if not isinstance(retry_after, int | float):
        return
    headers["Retry-After"] = str(math.ceil(retry_after))
    if error.status == 429:
        scope = error.scope if isinstance(error, RateLimitError) else "user"
        headers["X-RateLimit-Scope"] = scope
        if scope == "global":
            headers["X-RateLimit-Global"] = "true"
