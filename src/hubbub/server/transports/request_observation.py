"""Observation of HTTP requests: a handler runs inside an observation, whose route is known once the request is matched."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from hubbub.server.core.observation import CURRENT, Observer, OperationKind

METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
"""Methods that spans contain; other methods share the value `_OTHER`, as in the semantic conventions of OpenTelemetry."""


def observe(
    observer: Observer | None, kind: OperationKind, handler: Handler, route: str = "unknown"
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """Return a handler that observes each request; the same handler if nothing is observed.

    `route` is the path template; a handler with several routes calls `set_route` instead.
    """
    if observer is None or not observer.is_enabled:
        return handler

    async def handle(request: web.Request) -> web.StreamResponse:
        method = request.method if request.method in METHODS else "_OTHER"
        observation = observer.start(kind, f"{method} {route}", traceparent=request.headers.get("traceparent", ""))
        status = 499  # Stays if the handler raises, for example because it is cancelled when the client disconnects.
        try:
            response = await handler(request)
            status = response.status
            return response
        finally:
            attributes = {"http.request.method": method, "http.response.status_code": status}
            if observation is not None:
                attributes["http.route"] = observation.name.partition(" ")[2]
            observer.end(observation, attributes, str(status) if status >= 500 else "")

    return handle


def set_route(method: str, route: str) -> None:
    """Name the current observation after the path template of the matched operation."""
    observation = CURRENT.get()
    if observation is not None:
        observation.name = f"{method} {route}"
