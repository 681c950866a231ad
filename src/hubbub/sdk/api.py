"""Low-level API client: every operation of the HTTP API through one typed `call`, and requests without a model.

    async with Api("https://social.example", token, "bot") as api:
        message = await api.call(CREATE_MESSAGE, channel_id=channel, body=CreateMessage(content="hello"))

An error response raises `errors.ApiError`, whose `kind` can be compared: `if error.kind is errors.UNKNOWN_CHANNEL`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self, cast
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from hubbub import __version__
from hubbub.protocol import codec
from hubbub.protocol.request_paths import build_path, name_value_pairs
from hubbub.sdk.clock import PlatformClock
from hubbub.sdk.http import RATE_LIMIT_WAIT_MAX_MS, TIMEOUT_MS, TRIES_MAX, Http, Request

if TYPE_CHECKING:
    from hubbub.protocol.operation import BodyT, Operation, ResultT

TokenKind = Literal["bot", "user", "bearer"]
"""Kind of a token: a bot token, the token of a user account, or an OAuth2 access token."""

TOKEN_PREFIXES: Final[Mapping[TokenKind, str]] = {"bot": "Bot ", "user": "", "bearer": "Bearer "}
"""Prefix of the Authorization header by kind of token."""
USER_AGENT: Final = f"DiscordBot (hubbub, {__version__})"
API_PATH: Final = "/api/v10"


class File(NamedTuple):
    """A file to upload."""

    name: str
    """Filename."""
    data: bytes
    """Content of the file."""
    content_type: str = "application/octet-stream"
    """MIME type of the content."""


class Api:
    """HTTP API client of one platform with one token.

    `base_url` is the URL of the platform or of its API, and `kind` is the kind of `token`. `timeout_ms` limits the time
    of a request with its retries but without its waits for rate limits, `tries` the number of its attempts, and
    `wait_most_ms` the delay after which a rate limited request is retried. Pass `session` to share an aiohttp session,
    which `close` then leaves open. `sleep` waits before a retry, and `clock` is updated from the responses; tests
    replace both. Close the client with `close`, or use it as an asynchronous context manager."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        kind: TokenKind = "bot",
        *,
        timeout_ms: int = TIMEOUT_MS,
        wait_most_ms: int = RATE_LIMIT_WAIT_MAX_MS,
        tries: int = TRIES_MAX,
        session: aiohttp.ClientSession | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: PlatformClock | None = None,
    ) -> None:
        url = URL(base_url)
        self.api: Final = str(url if "api" in url.parts else url / API_PATH[1:]).rstrip("/")
        """The base URL of the API."""
        self.authorization: str | None = None if token is None else TOKEN_PREFIXES[kind] + token
        """Authorization header of the requests sent by `call`, or None; may be changed at any time."""
        self._http = Http(
            timeout_ms=timeout_ms,
            rate_limit_wait_max_ms=wait_most_ms,
            tries=tries,
            session=session,
            sleep=sleep,
            clock=clock,
        )

    def __repr__(self) -> str:
        return f"<Api of {self.api}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, unless the caller provided the session."""
        await self._http.close()

    async def call(
        self,
        operation: "Operation[BodyT, ResultT]",
        *,
        body: "BodyT | None" = None,
        query: msgspec.Struct | None = None,
        files: Sequence[File] = (),
        reason: str | None = None,
        **path: int | str,
    ) -> "ResultT":
        """Send an operation to the platform and return its result.

        The result is the decoded response, the bytes of a response that is not JSON, or None without content. `path` are
        the parameters of the operation's URL; `reason` is recorded in the guild's audit log. Raise `errors.ApiError` for
        an error response, and TypeError for wrong parameters or files that the operation does not accept."""
        if files and operation.uploads is None:
            raise TypeError(f"{operation.method} {operation.path} does not accept files")
        headers = {"User-Agent": USER_AGENT}
        if self.authorization is not None:
            headers["Authorization"] = self.authorization
        if reason is not None:
            headers["X-Audit-Log-Reason"] = quote(reason, safe="")
        request_body = _request_body(operation, body, files)
        if request_body is not None and request_body.content_type:
            headers["Content-Type"] = request_body.content_type
        response = await self._http.send(
            Request(
                method=operation.method,
                url=URL(self.api + build_path(operation, path, query), encoded=True),
                route=operation.path,
                bucket=f"{operation.method} {operation.path}",
                major=_major_parameter(path),
                headers=headers,
                create_body=request_body.make if request_body is not None else lambda: None,
            )
        )
        if operation.result is NoneType or not response.body:
            return cast("ResultT", None)
        if operation.media_type != "application/json":
            return cast("ResultT", response.body)
        return codec.decode(response.body, operation.result)

    async def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        query: Mapping[str, str | int] | None = None,
        authorization: str | None = None,
        tries: int | None = None,
        **parameters: int | str,
    ) -> bytes:
        """Send a request without a model and return the response body.

        `parameters` fill the placeholders of `path`. The body is `json` or `form`; `authorization` is the whole header
        value, and without it no header is sent. `tries` limits the attempts; None uses the limit of the client. Raise
        `errors.ApiError` for an error response."""
        headers = {"User-Agent": USER_AGENT}
        if authorization is not None:
            headers["Authorization"] = authorization
        create_body: Callable[[], Any] = lambda: None  # noqa: E731
        if form is not None:
            create_body = lambda: aiohttp.FormData(dict(form))  # noqa: E731
        elif json is not None:
            encoded_body = codec.encode(json)
            headers["Content-Type"] = "application/json"
            create_body = lambda: encoded_body  # noqa: E731
        filled_path = path.format(**{name: quote(str(value), safe="") for name, value in parameters.items()})
        url = URL(self.api + filled_path, encoded=True)
        response = await self._http.send(
            Request(
                method=method,
                url=url.with_query(query) if query else url,
                route=path,
                bucket=f"{method} {path}",
                major=_major_parameter(parameters),
                headers=headers,
                create_body=create_body,
                tries=tries,
            )
        )
        return response.body

    @property
    def timeout_ms(self) -> int:
        """Timeout of a request including its retries but not its waits for rate limits, in milliseconds."""
        return self._http.timeout_ms

    @timeout_ms.setter
    def timeout_ms(self, value: int) -> None:
        self._http.timeout_ms = value


class RequestBody(NamedTuple):
    """A request body that can be created again for each retry."""

    content_type: str
    """MIME type; empty if aiohttp sets it, together with the boundary of a form."""
    make: Callable[[], Any]
    """Function that creates the body."""


def _major_parameter(parameters: Mapping[str, int | str]) -> str:
    """Return the name and value of the path parameter that has rate limits of its own; empty if there is none."""
    # The import is local, because games should not wait for the declarations of operations at startup.
    from hubbub.protocol.operation import MAJOR_PARAMETERS

    return next((f"{name}={parameters[name]}" for name in MAJOR_PARAMETERS if name in parameters), "")


def _request_body(operation: "Operation[Any, Any]", body: Any, files: Sequence[File]) -> RequestBody | None:
    """Encode the body of an operation as JSON or as a form; return None for an operation without a body.

    Without files, an operation with a body sends an empty object if `body` is None."""
    if files:
        payload = None if body is None else codec.encode(body).decode()
        return RequestBody("", lambda: _upload_form(operation, payload, files))
    if body is None:
        return RequestBody("application/json", lambda: b"{}") if operation.body is not NoneType else None
    if operation.is_form:
        return RequestBody("", lambda: aiohttp.FormData(name_value_pairs(body)))
    encoded_body = codec.encode(body)
    return RequestBody("application/json", lambda: encoded_body)


def _upload_form(operation: "Operation[Any, Any]", payload: str | None, files: Sequence[File]) -> aiohttp.FormData:
    """Build a multipart form with the JSON body, unless it is None, and the files."""
    form = aiohttp.FormData()
    if payload is not None:
        form.add_field("payload_json", payload, content_type="application/json")
    upload_field = operation.uploads.field if operation.uploads is not None else "files"
    for index, file in enumerate(files):
        field_name = f"files[{index}]" if upload_field == "files" else upload_field
        form.add_field(field_name, file.data, filename=file.name, content_type=file.content_type)
    return form
