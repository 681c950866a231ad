"""Incoming requests: path, API version, type of the body, CORS preflight, and the state kept while a request is handled."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.server.core.call import Actor
from hubbub.server.core.endpoints import Endpoint
from hubbub.server.core.traffic import TrafficStart
from hubbub.server.transports.http import responses
from hubbub.server.transports.http.responses import EncodedResponse

DEFAULT_VERSION: Final = 10
VERSIONS: Final = {f"v{number}": number for number in (6, 7, 8, 9, 10)}
"""API versions by URL segment (spec/http.md#1.1).

Versions 6 to 8 are deprecated, and 6 and 7 differ in permissions. Other versions fail with INVALID_API_VERSION.
"""

KNOWN_METHODS: Final = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))

_VERSION_PATTERN: Final = re.compile(r"v[0-9]{1,9}", re.ASCII)
_HEADER_NAMES_PATTERN: Final = re.compile(r"[A-Za-z0-9 ,_-]{1,1024}", re.ASCII)


class RequestState:
    """The state of a request while it is handled, also used for metrics, trace and log."""

    __slots__ = (
        "actor",
        "headers",
        "ids",
        "ip",
        "is_anonymous",
        "method",
        "recorded_body",
        "request",
        "route",
        "start",
    )

    def __init__(self, request: web.Request, ip: str, headers: dict[str, str]) -> None:
        self.request = request
        self.ip = ip
        self.headers = headers
        """Headers of the response; the steps of the request add to them."""
        # HEAD is handled like GET; aiohttp omits the body of its response.
        self.method = "GET" if request.method == "HEAD" else request.method
        self.route = "unknown"
        self.ids: dict[str, Snowflake] = {}
        """IDs in the path by parameter, for the delivery trace and the traffic log; empty while both are disabled."""
        self.recorded_body: object = None
        """The body that the traffic stores, or None."""
        self.start: TrafficStart | None = None
        """The arrival of the request in the traffic, or None."""
        self.actor: Actor | None = None
        self.is_anonymous = False
        """Whether the operation has no caller: it needs none, or its token is in the path."""


def split_path(raw_path: str) -> tuple[list[str], int]:
    """Return the decoded path segments after /api and the version, and the version; raise INVALID_API_VERSION if it is unknown."""
    segments = raw_path.split("/")[2:]
    if "%" in raw_path or not raw_path.isascii():
        segments = [decode_text(segment) for segment in segments]
    if segments:
        version = VERSIONS.get(segments[0])
        if version is not None:
            return segments[1:], version
        if _VERSION_PATTERN.fullmatch(segments[0]):
            raise errors.INVALID_API_VERSION()
    return segments, DEFAULT_VERSION


def path_ids(endpoint: Endpoint, values: Sequence[str]) -> dict[str, Snowflake]:
    """Return the IDs in a path by parameter, without those that are not valid IDs."""
    return {
        name: Snowflake(int(value))
        for name, value, is_id in zip(endpoint.operation.parameters, values, endpoint.snowflake_parameters, strict=True)
        if is_id and value.isascii() and value.isdigit()
    }


def decode_text(text: str) -> str:
    """Percent-decode text into a form that every store can hold: invalid UTF-8 is replaced and NUL removed."""
    text = unquote(text, errors="replace")
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text.replace("\x00", "")


def has_unknown_body(request: web.Request, endpoint: Endpoint) -> bool:
    """Return whether the header that selects the type of the body (`body_condition`) has an unknown value."""
    if endpoint.operation.body_condition is None:
        return False
    header, known_values = endpoint.operation.body_condition
    value = request.headers.get(header)
    return value is not None and value not in known_values


def preflight_response(request: web.Request) -> EncodedResponse:
    """Return the response to a CORS preflight request."""
    requested_headers = request.headers.get("Access-Control-Request-Headers", "")
    return EncodedResponse(
        204,
        None,
        "",
        {
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
            "Access-Control-Allow-Headers": requested_headers
            if _HEADER_NAMES_PATTERN.fullmatch(requested_headers)
            else responses.ALLOWED_HEADERS,
            "Access-Control-Max-Age": "86400",
            "Vary": "Access-Control-Request-Headers",
        },
    )
