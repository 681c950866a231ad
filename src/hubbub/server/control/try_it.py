"""The callers and IDs of a rehearsal for the forms of the API reference.

The response contains tokens without asking for the control token, so only a page of this server in a browser on this
machine receives it (decisions/0061). Other clients use the ready file.
"""

import ipaddress
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from hubbub.protocol import codec, errors
from hubbub.server.core.config import Config
from hubbub.server.ready import build_document
from hubbub.server.transports.http import responses
from hubbub.server.transports.web.reference.examples import VARIABLES
from hubbub.server.transports.web.reference.try_it import CALLERS
from hubbub.server.worlds import BuiltWorld

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_DENIED: Final = "Only a browser on the machine of this server receives tokens. Use a token from the ready file."
_PROXY_HEADERS: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")


class DemoCaller(msgspec.Struct, kw_only=True):
    """A user or bot of the world."""

    name: str
    kind: str
    """`user` or `bot`."""
    authorization: str
    """The value of its Authorization header."""


class DemoValues(msgspec.Struct, kw_only=True):
    """The values that the forms are filled in with."""

    callers: list[DemoCaller]
    variables: dict[str, str]
    """Ids of the world by the variable that the examples use."""


class TryIt:
    """Serves the values of the forms."""

    def __init__(self, config: Config, find_built: Callable[[], BuiltWorld]) -> None:
        """`find_built` returns everything built from worlds so far."""
        self._config = config
        self._find_built = find_built

    def routes(self) -> list[web.RouteDef]:
        """Return the route of the callers, for the HTTP server."""
        return [web.post(CALLERS, self._respond)]

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        headers = {**_HEADERS, "Via": responses.VIA}
        if not is_local_page(request):
            denied = errors.FORBIDDEN(message=_DENIED)
            return responses.respond(request, responses.encode_error(denied, headers), headers)
        return responses.respond(request, responses.EncodedResponse(200, codec.encode(self._values())), headers)

    def _values(self) -> DemoValues:
        built = self._find_built()
        callers = [DemoCaller(name=name, kind="user", authorization=user.token) for name, user in built.users.items()]
        callers += [
            DemoCaller(name=name, kind="bot", authorization=f"Bot {application.bot.token}")
            for name, application in built.applications.items()
            if application.bot is not None
        ]
        document = codec.decode(codec.encode(build_document(self._config, built)), dict[str, Any])
        found = {name: _follow(document, path) for name, path in VARIABLES.items() if not name.endswith("_TOKEN")}
        return DemoValues(callers=callers, variables={name: value for name, value in found.items() if value})


def is_local_page(request: web.Request) -> bool:
    """Return whether a page of this server sent a request, from a browser on this machine without a proxy.

    The name in the Host header must be local too: a site can point its own name at this machine (DNS rebinding).
    """
    sent = request.headers
    try:
        origin = urlsplit(sent.get("Origin", "")).netloc
        host = urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return False
    return (
        _is_loopback(request.remote or "")
        and not any(name in sent for name in _PROXY_HEADERS)
        and (host == "localhost" or _is_loopback(host))
        and origin == request.host
        and sent.get("Sec-Fetch-Site", "same-origin") == "same-origin"
        and sent.get("Sec-Fetch-Dest", "empty") == "empty"
    )


def _is_loopback(text: str) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _follow(document: Any, path: tuple[str, ...]) -> str:
    """Return a value of the ready document; if the world lacks a name, the first of its kind takes its place."""
    for step in path:
        if not isinstance(document, Mapping) or not document:
            return ""
        document = document[step] if step in document else next(iter(document.values()))
    return str(document) if isinstance(document, str | int) else ""
