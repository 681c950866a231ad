"""Check of the Host and Origin headers, so that pages of other sites cannot use known tokens.

The tokens of a rehearsal on a loopback address are predictable, and every page that the developer opens can send
requests to loopback addresses. See decisions/0077.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from aiohttp import hdrs, web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.server.core.config import ANY_ORIGIN, Config
from hubbub.server.transports.http import responses

_PUBLIC_PREFIXES: Final = ("/cdn/", "/.well-known/")
"""Paths that pages of every origin may read: files, and the OpenID Connect configuration."""
_WINDOW_HOST_PATTERN: Final = re.compile(r"(?:[a-z0-9-]+\.people|[a-z0-9-]+)\.localhost")
_HOST_MESSAGE: Final = "Unknown host name. Start the server with --public-url or --http-allowed-origins to use it."
_ORIGIN_MESSAGE: Final = "Requests from pages of this origin are not allowed. Add it with --http-allowed-origins."


class OriginPolicy:
    """The accepted values of the headers Host and Origin."""

    def __init__(self, config: Config) -> None:
        self._origins = {origin.lower() for origin in config.http.allowed_origins}
        self._origins.add(_origin_of(config.web_url))
        # The console of a rehearsal opens a window for each user at a name below localhost, which no site can own
        # (decisions/0139). Pages of activities have names below the activity host, which have more labels.
        self._accepts_subdomains = config.control
        self._activity_host = config.activities.proxy_host
        self._hosts = {urlsplit(origin).hostname for origin in self._origins} | {config.host.lower()}

    def find_rejection(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Return the response that rejects a request, or None for an accepted request."""
        host = request.headers.get(hdrs.HOST, "")
        if not self.accepts_host(host):
            return _rejection_response(errors.FORBIDDEN(message=_HOST_MESSAGE))
        origin = request.headers.get(hdrs.ORIGIN)
        if origin is None or request.raw_path.startswith(_PUBLIC_PREFIXES):
            return None
        if self.accepts_origin(origin) or _is_own_origin(origin, host):
            return None
        # Applications call the API from their own origins. Access tokens are random, unlike the tokens of a world.
        is_api = request.raw_path.startswith("/api/")
        is_bearer = request.headers.get(hdrs.AUTHORIZATION, "").startswith("Bearer ")
        if is_api and (is_bearer or request.method == hdrs.METH_OPTIONS):
            return None
        return _rejection_response(errors.FORBIDDEN(message=_ORIGIN_MESSAGE))

    def accepts_host(self, header: str) -> bool:
        """Return whether a Host header names this server.

        Any IP address is accepted: another site can point only a name at this machine (DNS rebinding).
        """
        name = _host_name(header)
        if name is None:
            return False
        if self._accepts_subdomains and _WINDOW_HOST_PATTERN.fullmatch(name) and name != self._activity_host:
            return True
        return not name or name == "localhost" or name in self._hosts or _parse_address(name) is not None

    def accepts_origin(self, origin: str) -> bool:
        """Return whether a page of this origin may call the server: a configured origin, or one on this machine."""
        if origin.lower() in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            name = parts.hostname or ""
        except ValueError:
            return False
        address = _parse_address(name)
        return parts.scheme in ("http", "https") and (
            name == "localhost" or (address is not None and address.is_loopback)
        )


def find_policy(config: Config) -> OriginPolicy | None:
    """Return the policy of a configuration, or None if it accepts every host and origin."""
    return None if ANY_ORIGIN in config.http.allowed_origins else OriginPolicy(config)


def _is_own_origin(origin: str, host: str) -> bool:
    """Return whether the page of a request came from the host and port that the request is sent to."""
    scheme, _, authority = origin.lower().partition("://")
    return scheme in ("http", "https") and authority == host.lower()


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def _host_name(header: str) -> str | None:
    """Return the lowercase name in a Host header, without the port; None if it is invalid."""
    try:
        return (urlsplit(f"//{header}").hostname or "").removesuffix(".")
    except ValueError:
        return None


def _parse_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _rejection_response(error: ApiError) -> web.Response:
    encoded_error = responses.encode_error(error, {})
    return web.Response(
        status=encoded_error.status,
        body=encoded_error.body,
        headers={"Content-Type": responses.JSON, "Via": responses.VIA, "Server": "hubbub"},
    )
