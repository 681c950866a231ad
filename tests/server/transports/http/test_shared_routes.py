"""Routes whose patterns several applications of a process share."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from hubbub.server.transports.http import shared_routes
from hubbub.server.transports.http.shared_routes import SharedRoutes


def application(name: str) -> web.Application:
    """Return an application whose responses contain its name."""

    async def show(request: web.Request) -> web.Response:
        return web.Response(text=f"{name} {request.method} {request.match_info.get('item', '-')}")

    async def show_unknown(_: web.Request) -> web.Response:
        return web.Response(status=404, text=f"{name} has no such page")

    app = web.Application()
    routes = [web.get("/items", show), web.post("/items", show), web.route("GET", r"/items/{item:\d+}", show)]
    app.router.register_resource(SharedRoutes(routes))
    app.router.add_route("*", "/{rest:.*}", show_unknown)
    return app


async def test_applications_share_patterns_and_keep_their_handlers() -> None:
    shared_routes._compile.cache_clear()
    for name in ("first", "second"):
        async with TestClient(TestServer(application(name))) as client:
            assert await (await client.get("/items")).text() == f"{name} GET -"
            assert await (await client.post("/items")).text() == f"{name} POST -"
            assert await (await client.get("/items/12")).text() == f"{name} GET 12"
    assert shared_routes._compile.cache_info().misses == 1


async def test_a_get_route_accepts_head() -> None:
    async with TestClient(TestServer(application("app"))) as client:
        assert (await client.head("/items/12")).status == 200


async def test_other_paths_and_methods_reach_the_next_resource() -> None:
    async with TestClient(TestServer(application("app"))) as client:
        for response in (await client.get("/items/x"), await client.delete("/items"), await client.get("/")):
            assert (response.status, await response.text()) == (404, "app has no such page")


def test_a_route_with_another_option_is_rejected() -> None:
    async def show(_: web.Request) -> web.Response:
        return web.Response()

    with pytest.raises(ValueError, match="GET /items"):
        SharedRoutes([web.get("/items", show, name="items")])


async def test_routes_from_a_function_are_loaded_once_at_the_first_request() -> None:
    calls = 0

    async def show(_: web.Request) -> web.Response:
        return web.Response(text="shown")

    def load() -> list[web.RouteDef]:
        nonlocal calls
        calls += 1
        return [web.get("/page", show)]

    app = web.Application()
    app.router.register_resource(SharedRoutes(load))
    async with TestClient(TestServer(app)) as client:
        assert calls == 0
        assert await (await client.get("/page")).text() == "shown"
        assert (await client.get("/other")).status == 404
    assert calls == 1
