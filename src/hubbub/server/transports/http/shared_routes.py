"""Routes of an App whose patterns are compiled once per process.

aiohttp compiles the pattern of every route of every application, which takes longer than the rest of the start of an App.
The Apps of a process, such as the forks of a rehearsal, have the same patterns with different handlers.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aiohttp import web
from aiohttp.typedefs import Handler
from yarl import URL

RouteKey = tuple[str, str, bool]
"""Method and path of a route, and whether a route for GET also accepts HEAD."""


class Pages(NamedTuple):
    """The routes of the pages for browsers."""

    routes: Sequence[web.RouteDef] = ()
    not_found_handler: Handler | None = None
    """Handler that responds to browsers for unknown paths; None without pages."""


class SharedRoutes(web.AbstractResource):
    """Routes that share compiled patterns with other Apps with the same routes; the first request compiles them."""

    def __init__(self, routes: Sequence[web.RouteDef] | Callable[[], Sequence[web.RouteDef]]) -> None:
        """Create a resource of these routes; a function that returns them is called at the first request."""
        super().__init__()
        self._load = routes if callable(routes) else None
        self._route_keys: tuple[RouteKey, ...] = ()
        self._handlers: list[Any] = []
        if not callable(routes):
            self._set_routes(routes)
        self._bound_routes: dict[web.AbstractRoute, web.AbstractRoute] = {}
        """The routes that were requested, with the handlers of this App."""

    @property
    def canonical(self) -> str:
        return "/"

    async def resolve(self, request: web.Request) -> tuple[web.UrlMappingMatchInfo | None, set[str]]:
        if self._load is not None:
            load, self._load = self._load, None
            self._set_routes(load())
        dispatcher, positions = _compile(self._route_keys)
        match = await dispatcher.resolve(request)
        if match.http_exception is not None:
            # The application responds to paths without a route, and to other methods, with its own error.
            return None, set()
        bound_route = self._bound_routes.get(match.route)
        if bound_route is None:
            handler, resource = self._handlers[positions[match.route]], match.route.resource
            assert resource is not None
            bound_route = self._bound_routes[match.route] = web.ResourceRoute(match.route.method, handler, resource)
        return web.UrlMappingMatchInfo(dict(match), bound_route), set()

    def _set_routes(self, routes: Sequence[web.RouteDef]) -> None:
        self._route_keys = tuple(_make_key(route) for route in routes)
        self._handlers = [route.handler for route in routes]

    def url_for(self, **_: str) -> URL:
        return URL("/")

    def add_prefix(self, prefix: str) -> None:
        raise NotImplementedError("the routes of an App have no prefix")

    def get_info(self) -> Any:
        return {"path": "/"}

    def raw_match(self, path: str) -> bool:
        return False

    def freeze(self) -> None:
        """Do nothing; the set of routes is fixed."""

    def __len__(self) -> int:
        return len(self._route_keys)

    def __iter__(self) -> Iterator[web.AbstractRoute]:
        return iter(self._bound_routes.values())


def _make_key(route: web.RouteDef) -> RouteKey:
    options = dict(route.kwargs)
    allows_head = options.pop("allow_head", True)
    if options.pop("name", None) is not None or options:
        raise ValueError(f"the route {route.method} {route.path} has an option that shared routes do not support")
    return route.method, route.path, allows_head


@functools.lru_cache(maxsize=32)
def _compile(keys: tuple[RouteKey, ...]) -> tuple[web.UrlDispatcher, dict[web.AbstractRoute, int]]:
    """Return the compiled patterns, and the position of each route in `keys`."""
    dispatcher = web.UrlDispatcher()
    positions: dict[web.AbstractRoute, int] = {}
    for position, (method, path, allows_head) in enumerate(keys):
        resource = dispatcher.add_resource(path)
        for route_method in ("HEAD", method) if method == "GET" and allows_head else (method,):
            positions[resource.add_route(route_method, _unbound)] = position
    return dispatcher, positions


async def _unbound(_: web.Request) -> web.StreamResponse:
    raise AssertionError("SharedRoutes replaces this handler")
