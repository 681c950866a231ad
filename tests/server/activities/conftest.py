"""Fixtures for tests of activities: worlds, an upstream server and a proxied activity."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
import pytest

if TYPE_CHECKING:
    from hubbub.server.core.config import Config
    from tests.fixtures.validator import ResponseMonitor
    from tests.server.activities.upstream import ProxiedActivity, Upstream
    from tests.world import World


@asynccontextmanager
async def run_server(config: "Config") -> "AsyncIterator[World]":
    """Run a server with this configuration."""
    from hubbub.server.app import App
    from hubbub.server.core.clock import ControlledClock
    from tests.world import NOW_MS, World

    app = App(config, clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


def with_activities(config: "Config", **settings: Any) -> "Config":
    """Return the configuration with a proxy host for activities; private targets are allowed."""
    from hubbub.server.core.config import ActivitiesConfig
    from tests.server.activities.upstream import PROXY_HOST

    return msgspec.structs.replace(
        config, allow_private_targets=True, activities=ActivitiesConfig(**{"proxy_host": PROXY_HOST, **settings})
    )


@pytest.fixture
async def small_world(response_monitor: "ResponseMonitor") -> "AsyncIterator[World]":
    """A world on the in-memory store, for tests that do not depend on the store."""
    from tests.world import small_config

    async with run_server(small_config()) as world:
        yield world


@pytest.fixture
async def upstream() -> "AsyncIterator[Upstream]":
    """An application's own web server."""
    from tests.server.activities.upstream import Upstream

    server = Upstream()
    await server.open()
    yield server
    await server.close()


@pytest.fixture
async def activity(response_monitor: "ResponseMonitor", upstream: "Upstream") -> "AsyncIterator[ProxiedActivity]":
    """A proxied activity on the in-memory store."""
    from tests.server.activities import upstream as upstream_module
    from tests.world import small_config

    async with run_server(with_activities(small_config())) as world:
        yield await upstream_module.create_proxied_activity(world, upstream)


@pytest.fixture
async def store_activity(
    response_monitor: "ResponseMonitor", upstream: "Upstream", store_config: "Config"
) -> "AsyncIterator[ProxiedActivity]":
    """A proxied activity, once on each store."""
    from tests.server.activities import upstream as upstream_module

    async with run_server(with_activities(store_config)) as world:
        yield await upstream_module.create_proxied_activity(world, upstream)
