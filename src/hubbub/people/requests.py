"""HTTP requests of actors, and the client of the control API (docs/control.md)."""

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, NamedTuple, cast

import aiohttp
import msgspec

from hubbub.people.errors import PlatformUnavailable, RequestRejected
from hubbub.protocol import codec
from hubbub.protocol.control.ready import ReadyDocument
from hubbub.protocol.operation import BodyT, Operation, ResultT
from hubbub.protocol.request_paths import build_path

JSON: Final = "application/json"


class Response(NamedTuple):
    """A response with a status below 400."""

    content: bytes
    is_json: bool

    def decode(self) -> Any:
        """Return the decoded JSON or the text of the body, or None if it is empty."""
        return _decode_any(self.content, is_json=self.is_json) if self.content else None

    def decode_result(self, operation: Operation[Any, ResultT]) -> ResultT:
        """Return the body as the result of an operation."""
        if operation.result is NoneType:
            return cast("ResultT", None)
        return codec.decode(self.content, operation.result)


class EncodedBody(NamedTuple):
    """A request body that is already encoded."""

    content: bytes
    media_type: str


async def send(
    http: aiohttp.ClientSession,
    actor_name: str,
    method: str,
    base_url: str,
    path: str,
    authorization: str | None,
    *,
    json: Any = None,
    data: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Send a request and return the response.

    Raise `RequestRejected` if the platform rejects it, and `PlatformUnavailable` if the connection fails. `actor_name` is
    the sender in error messages."""
    sent_headers = dict(headers or {})
    if authorization is not None:
        sent_headers["Authorization"] = authorization
    if json is not None:
        data, sent_headers["Content-Type"] = msgspec.json.encode(json), JSON
    try:
        async with http.request(
            method, base_url + path, data=data, headers=sent_headers, allow_redirects=False
        ) as response:
            content = await response.read()
            status, is_json = response.status, response.content_type == JSON
    except aiohttp.ClientConnectionError as error:
        raise PlatformUnavailable(
            f"{actor_name}: {method} {path}: the platform did not respond ({error or type(error).__name__})"
        ) from error
    if status >= 400:
        raise RequestRejected(actor_name, method, path, status, _decode_any(content, is_json=is_json))
    return Response(content, is_json)


def encode_body(body: Any) -> dict[str, Any]:
    """Return the arguments of `send` for the body of an operation, or for none if it is None."""
    if body is None:
        return {}
    content, media_type = body if isinstance(body, EncodedBody) else (codec.encode(body), JSON)
    return {"data": content, "headers": {"Content-Type": media_type}}


def _decode_any(content: bytes, *, is_json: bool) -> Any:
    return msgspec.json.decode(content) if is_json and content else content.decode("utf-8", "replace")


class ControlClient:
    """Client of the control API of one platform."""

    def __init__(self, http: aiohttp.ClientSession, ready: ReadyDocument) -> None:
        """Create the client; raise `PlatformUnavailable` if the platform has no control API."""
        if ready.control is None:
            raise PlatformUnavailable(f"{ready.web} has no control API: start it with hubbub dev")
        self._http = http
        self._url = ready.control
        self._authorization = f"Bearer {ready.control_token}"

    async def call(
        self,
        operation: Operation[BodyT, ResultT],
        body: BodyT | EncodedBody | None = None,
        *,
        query: msgspec.Struct | None = None,
        **parameters: int | str,
    ) -> ResultT:
        """Send an operation of the control API and return its result; `parameters` are the parameters of its path.

        Raise `RequestRejected` for an error response, and `PlatformUnavailable` if the connection fails."""
        __tracebackhide__ = True
        path, options = build_path(operation, parameters, query), encode_body(body)
        response = await send(self._http, "control", operation.method, self._url, path, self._authorization, **options)
        return response.decode_result(operation)
