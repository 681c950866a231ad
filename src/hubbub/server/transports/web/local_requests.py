"""Requests from the machine of the server, which may receive the secrets of a rehearsal."""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

CALLERS_PATH: Final = "/docs/callers"
"""Path of the endpoint that returns the callers and IDs of the demo world to the forms of the API reference."""

PEOPLE_HOST: Final = "people.localhost"
"""Host of the page that shows two users of a rehearsal side by side; the chat client of each user has a name below it."""

_PROXY_HEADERS: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")


def is_local_request(request: web.Request, *, allows_subdomains: bool = False) -> bool:
    """Return whether a request comes from this machine without a proxy.

    The name in the Host header must be local too: a site can point its own name at this machine (DNS rebinding).
    `allows_subdomains` accepts names below `localhost`, which no site can own (RFC 6761).
    """
    try:
        host = urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        return False
    return (
        _is_loopback(request.remote or "")
        and not any(name in request.headers for name in _PROXY_HEADERS)
        and (host == "localhost" or _is_loopback(host) or (allows_subdomains and host.endswith(".localhost")))
    )


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped_address = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped_address or address).is_loopback
