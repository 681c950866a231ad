"""Limit of failed lookups of files per IP address."""

import functools
import math
from collections.abc import Iterable

from aiohttp import web
from aiohttp.typedefs import Handler

from hubbub.server.core.rate_limits import LookupKind, RateLimits
from hubbub.server.transports import sockets
from hubbub.server.transports.cdn import error_response


def limit_file_routes(
    routes: Iterable[web.RouteDef], rate_limits: RateLimits, trusted_proxies: int
) -> list[web.RouteDef]:
    """Return routes of files whose responses with status 404 count as failed lookups of the client's address."""

    def limit(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def handle(request: web.Request) -> web.StreamResponse:
            ip = sockets.client_address(request, trusted_proxies)
            verdict = rate_limits.check_lookups(ip, LookupKind.FILE)
            if verdict is not None:
                rejection = error_response(429)
                rejection.headers["Retry-After"] = str(math.ceil(verdict.reset_after_ms / 1000))
                return rejection
            response = await handler(request)
            if response.status == 404:
                rate_limits.record_failed_lookup(ip, LookupKind.FILE)
            return response

        return handle

    return [web.RouteDef(route.method, route.path, limit(route.handler), route.kwargs) for route in routes]
