"""Reading a body within bounds, and telling a caller about rate limits."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping

from aiohttp import StreamReader, web

from hubbub.protocol import errors
from hubbub.server.core.rate_limits import Verdict

SHARED_MESSAGE = "The resource is being rate limited."


class Budget:
    """Bytes of uploads that may be in memory at once, over all requests."""

    __slots__ = ("_left",)

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, length: int) -> None:
        """Reserve; UNAVAILABLE when too many uploads are under way."""
        if length > self._left:
            raise errors.UNAVAILABLE(retry_after=1)
        self._left -= length

    def give_back(self, length: int) -> None:
        """Return what was reserved."""
        self._left += length


async def read_body(request: web.BaseRequest, most: int, timeout_s: float) -> bytes:
    """The whole body; 413 once it is larger than allowed, before it is all here."""
    length = request.content_length
    if length is not None and length > most:
        raise errors.REQUEST_ENTITY_TOO_LARGE()
    content = request.content
    data = await _some(content) if content.total_bytes or content.is_eof() else b""
    if content.at_eof():
        if len(data) > most:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
        return data
    whole = bytearray(data)
    async for chunk in chunks(request, timeout_s):
        whole += chunk
        if len(whole) > most:
            raise errors.REQUEST_ENTITY_TOO_LARGE()
    return bytes(whole)


async def _some(content: StreamReader) -> bytes:
    """What is there of a body; who left in the middle of it is no error of ours, and nobody hears what we say to it."""
    try:
        return await content.readany()
    except ConnectionResetError:
        raise errors.BAD_REQUEST() from None


async def chunks(request: web.BaseRequest, timeout_s: float) -> AsyncIterator[bytes]:
    """The body as it arrives; who does not finish in time is told so and let go."""
    content = request.content
    deadline = asyncio.get_running_loop().time() + timeout_s
    while True:
        # One timeout for each read: a generator may be left at its yield, with no one to end a timeout around it all.
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await _some(content)
        except TimeoutError:
            raise errors.BAD_REQUEST() from None
        if not chunk:
            return
        yield chunk


def put_headers(headers: MutableMapping[str, str], verdict: Verdict) -> None:
    """The X-RateLimit headers of a call (http.md 1.14)."""
    if verdict.bucket:
        reset, after = verdict.reset_ms, verdict.reset_after_ms
        headers["X-RateLimit-Limit"] = str(verdict.limit)
        headers["X-RateLimit-Remaining"] = str(verdict.remaining)
        headers["X-RateLimit-Reset"] = f"{reset // 1000}.{reset % 1000:03d}"
        headers["X-RateLimit-Reset-After"] = f"{after // 1000}.{after % 1000:03d}"
        headers["X-RateLimit-Bucket"] = verdict.bucket


def refusal(verdict: Verdict) -> errors.ApiError:
    """The 429 of a verdict that does not allow the call."""
    kind = errors.find(verdict.code) if verdict.code else None
    extra = {
        "message": verdict.message or (SHARED_MESSAGE if verdict.scope == "shared" else errors.RATE_LIMITED.message),
        "retry_after": verdict.reset_after_ms / 1000,
        "global": verdict.scope == "global",
    }
    return RateLimited(kind or errors.RATE_LIMITED, extra, verdict.scope)


class RateLimited(errors.ApiError):
    """A call over a limit."""

    def __init__(self, kind: errors.ErrorCode, extra: dict[str, object], scope: str) -> None:
        super().__init__(kind, extra=extra)
        self.scope = scope

    @property
    def status(self) -> int:
        """429, whatever status the code has elsewhere."""
        return 429

    def body(self) -> dict[str, object]:
        """The answer's JSON body; the code only where there is one."""
        body = super().body()
        if not self.kind.code:
            del body["code"]
        return body


def put_refusal_headers(headers: MutableMapping[str, str], error: errors.ApiError) -> None:
    """What a 429 adds, whether the door refused the call or an operation did (slowmode)."""
    retry_after = error.extra.get("retry_after")
    if not isinstance(retry_after, int | float):
        return
    headers["Retry-After"] = str(int(-(-retry_after // 1)))
    if error.status == 429:
        scope = error.scope if isinstance(error, RateLimited) else "user"
        headers["X-RateLimit-Scope"] = scope
        if scope == "global":
            headers["X-RateLimit-Global"] = "true"
