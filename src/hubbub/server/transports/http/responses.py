"""HTTP responses: results and errors as status, headers and bytes."""

from collections.abc import Mapping
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from multidict import CIMultiDict

from hubbub.protocol import codec, errors
from hubbub.protocol.operation import Operation
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.core.endpoints import MethodNotAllowed
from hubbub.server.core.legacy_permissions import STRING_PERMISSIONS_VERSION, convert_permissions
from hubbub.server.core.slices import Response
from hubbub.server.transports.http import request_limits

# spec/http.md#1.4: exactly this value, without parameters; discord.py compares the whole header.
JSON: Final = "application/json"

# spec/http.md#1.4: discord.py treats a 429 without Via as a ban at the edge.
VIA: Final = "1.1 hubbub"

ERROR_POLICY: Final = "default-src 'none'; sandbox; frame-ancestors 'none'"
"""Content-Security-Policy of error responses that every host of the server may return."""

BODILESS_STATUSES: Final = frozenset((204, 304))

EXPOSED_HEADERS: Final = (
    "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Reset-After, X-RateLimit-Bucket, "
    "X-RateLimit-Global, X-RateLimit-Scope, Retry-After, Date, X-Request-Id"
)
ALLOWED_HEADERS: Final = "Authorization, Content-Type, X-Audit-Log-Reason, X-Discord-Locale, Accept-Language"


_NO_HEADERS: Final[CIMultiDict[str]] = CIMultiDict()


class EncodedResponse(NamedTuple):
    """A response as status, bytes and additional headers."""

    status: int
    body: bytes | None
    """The encoded body; None for a response without a body."""
    content_type: str = JSON
    headers: Mapping[str, str] | None = None
    """Headers that the operation adds, or None."""
    denial: Denial | None = None
    """Why the caller lacked permission, for the trace of a rehearsal; None for other responses."""


@lru_cache(4)
def http_date(second: int) -> str:
    """Format a Unix time in seconds as an HTTP date."""
    return formatdate(second, usegmt=True)


def encode(operation: Operation[Any, Any], result: Any) -> EncodedResponse:
    """Encode a handler's result. A synchronous handler's result is encoded in its unit of work."""
    status, headers = operation.success, None
    if isinstance(result, Response):
        status, headers, result = result.status, result.headers or None, result.result
    if status in BODILESS_STATUSES:
        return EncodedResponse(status, None, "", headers)
    if operation.media_type != JSON:
        return EncodedResponse(status, result, operation.media_type, headers)
    return EncodedResponse(status, result if isinstance(result, bytes) else codec.encode(result), JSON, headers)


def for_version(response: EncodedResponse, version: int) -> EncodedResponse:
    """Return a response in the form of an API version."""
    if version >= STRING_PERMISSIONS_VERSION or response.body is None or response.content_type != JSON:
        return response
    return response._replace(body=convert_permissions(response.body))


def encode_error(error: errors.ApiError, headers: dict[str, str]) -> EncodedResponse:
    """Encode an error, and add its headers to `headers`."""
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    elif error.extra:
        request_limits.add_retry_headers(headers, error)
    headers.update(error.headers)
    denial = error.denial if isinstance(error, PermissionDenied) else None
    return EncodedResponse(error.status, codec.encode(error.body()), denial=denial)


def respond(
    request: web.Request, encoded_response: EncodedResponse, headers: dict[str, str], *, closes_connection: bool = False
) -> web.StreamResponse:
    """Return the aiohttp response, and add the headers of the operation to `headers`.

    `closes_connection` closes the connection after the response."""
    if encoded_response.headers:
        headers.update(encoded_response.headers)
    if encoded_response.body is not None:
        headers.setdefault("Content-Type", encoded_response.content_type)
    if encoded_response.body is not None or encoded_response.status == 204:
        if (
            request.method != "HEAD"
            and request.version == HttpVersion11
            and request.keep_alive
            and not closes_connection
        ):
            return SingleWriteResponse(encoded_response.status, headers, encoded_response.body)
    response = web.Response(status=encoded_response.status, body=encoded_response.body, headers=headers)
    if closes_connection:
        response.force_close()
    return response


class SingleWriteResponse(web.StreamResponse):
    """A response that is sent in a single write: with a body or status 204, on a connection that stays open.

    This is faster than aiohttp's own response, which inspects each header several times for cases that this server
    does not have.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes | None) -> None:
        super().__init__(status=status, _real_headers=_NO_HEADERS)
        head_lines = [f"HTTP/1.1 {status} {self.reason}"]
        head_lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            # RFC 9110 8.6: a 204 response has no Content-Length.
            head_lines.append(f"Content-Length: {len(body)}")
        if "Date" not in headers:
            head_lines.append(f"Date: {rfc822_formatted_time()}")
        head_lines += ("", "")
        head = "\r\n".join(head_lines)
        if head.count("\n") != len(head_lines) - 1 or head.count("\r") != len(head_lines) - 1:
            raise ValueError("a header value contains a line break")
        self._encoded_response = head.encode() + (body or b"")

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the complete response."""
        if not self._eof_sent:
            self._eof_sent = True
            self._keep_alive = True
            writer = request.writer
            # `write` would first send aiohttp's own headers; the data already includes the headers.
            writer._write(self._encoded_response)  # type: ignore[attr-defined]
            await writer.drain()
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Do nothing; `prepare` has sent everything."""


def plain_error(
    status: int, headers: Mapping[str, str] | None = None, *, explanation: str | None = None
) -> web.Response:
    """Return the platform's error response for a status without an error code.

    Its body is, for example, `{"message": "404: Not Found", "code": 0}`. `explanation` replaces the phrase of the status.
    """
    error_code = errors.find(0, status)
    try:
        message = error_code.message if error_code else f"{status}: {HTTPStatus(status).phrase}"
    except ValueError:
        message = f"{status}: Error"
    if explanation is not None:
        message = f"{status}: {explanation}"
    body = codec.encode({"message": message, "code": 0})
    return web.Response(
        status=status,
        body=body,
        headers={
            **(headers or {}),
            "Content-Type": JSON,
            # A malformed request gets this response on the host of an activity too. The page of the activity could open the
            # response in a frame, and use a document without a policy to send requests that its own policy forbids.
            "Content-Security-Policy": ERROR_POLICY,
            "Via": VIA,
            "Server": "hubbub",
        },
    )
