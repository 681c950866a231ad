"""The callers and IDs of a rehearsal for the forms of the API reference.

The response contains tokens, but the request needs no control token, so only a page of this server in a browser on this
machine receives it (decisions/0061). Other clients use the ready file.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.server.core.config import Config
from hubbub.server.ready_document import build_document
from hubbub.server.transports.http import responses
from hubbub.server.transports.web.local_requests import CALLERS_PATH, is_local_request
from hubbub.server.worlds import BuiltWorld

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_DENIED_MESSAGE: Final = (
    "Only a browser on the machine of this server receives tokens. Use a token from the ready file."
)


class DemoCaller(msgspec.Struct, kw_only=True):
    """A user or bot of the world."""

    name: str
    kind: str
    """`user` or `bot`."""
    authorization: str
    """The value of the caller's Authorization header."""


class DemoValues(msgspec.Struct, kw_only=True):
    """The values that the forms are filled in with."""

    callers: list[DemoCaller]
    variables: dict[str, str]
    """IDs of the world by the variable that the examples use."""


class TryIt:
    """Serves the values of the forms to pages in a browser on this machine."""

    def __init__(self, config: Config, get_built_world: Callable[[], BuiltWorld]) -> None:
        """Create the handler; `get_built_world` returns the objects that were built from worlds so far."""
        self._config = config
        self._get_built_world = get_built_world

    def routes(self) -> list[web.RouteDef]:
        """Return the route that serves the values."""
        return [web.post(CALLERS_PATH, self._respond)]

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        headers = {**_HEADERS, "Via": responses.VIA}
        if not is_local_page(request):
            error = errors.FORBIDDEN(message=_DENIED_MESSAGE)
            return responses.respond(request, responses.encode_error(error, headers), headers)
        return responses.respond(request, responses.EncodedResponse(200, codec.encode(self._demo_values())), headers)

    def _demo_values(self) -> DemoValues:
        built_world = self._get_built_world()
        callers = [
            DemoCaller(name=name, kind="user", authorization=user.token) for name, user in built_world.users.items()
        ]
        callers += [
            DemoCaller(name=name, kind="bot", authorization=f"Bot {application.bot.token}")
            for name, application in built_world.applications.items()
            if application.bot is not None
        ]
        document = codec.decode(codec.encode(build_document(self._config, built_world)), dict[str, Any])
        # A rehearsal without browsers starts faster without the modules of pages.
        from hubbub.server.transports.web.reference.examples import VARIABLES

        values_by_name = {
            name: _resolve_value(document, path) for name, path in VARIABLES.items() if not name.endswith("_TOKEN")
        }
        return DemoValues(callers=callers, variables={name: value for name, value in values_by_name.items() if value})


def is_local_page(request: web.Request) -> bool:
    """Return whether a page of this server sent a request, from a browser on this machine without a proxy."""
    headers = request.headers
    try:
        origin = urlsplit(headers.get("Origin", "")).netloc
    except ValueError:
        return False
    return (
        is_local_request(request)
        and origin == request.host
        and headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        and headers.get("Sec-Fetch-Dest", "empty") == "empty"
    )


def _resolve_value(document: Any, path: tuple[str, ...]) -> str:
    """Return the value at a path of the ready document, or an empty string if there is none.

    If a mapping does not contain the name in the path, its first value is used instead.
    """
    for key in path:
        if not isinstance(document, Mapping) or not document:
            return ""
        document = document[key] if key in document else next(iter(document.values()))
    return str(document) if isinstance(document, str | int) else ""
