"""Worlds to serve activities in."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
import pytest

if TYPE_CHECKING:
    from hubbub.server.core.config import Config
    from tests.fixtures.validator import Watch
    from tests.server.activities.upstream import Stage, Upstream
    from tests.world import World


@asynccontextmanager
async def running(config: "Config") -> "AsyncIterator[World]":
    """A platform with this configuration."""
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


def with_activities(config: "Config", **more: Any) -> "Config":
    """The same with a host for activities, in a rehearsal."""
    from hubbub.server.core.config import ActivitiesConfig
    from tests.server.activities.upstream import HOST

    return msgspec.structs.replace(
        config, private_targets=True, activities=ActivitiesConfig(**{"proxy_host": HOST, **more})
    )


@pytest.fixture
async def small_world(watch: "Watch") -> "AsyncIterator[World]":
    """One store is enough where nothing but forms is looked at."""
    from tests.world import small_config

    async with running(small_config()) as world:
        yield world


@pytest.fixture
async def upstream() -> "AsyncIterator[Upstream]":
    """An application's own server."""
    from tests.server.activities.upstream import Upstream

    made = Upstream()
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def stage(watch: "Watch", upstream: "Upstream") -> "AsyncIterator[Stage]":
    """An activity that is served, in memory."""
    from tests.server.activities import upstream as stages
    from tests.world import small_config

    async with running(with_activities(small_config())) as world:
        yield await stages.stage(world, upstream)


@pytest.fixture
async def kept_stage(watch: "Watch", upstream: "Upstream", store_config: "Config") -> "AsyncIterator[Stage]":
    """The same on each store."""
    from tests.server.activities import upstream as stages

    async with running(with_activities(store_config)) as world:
        yield await stages.stage(world, upstream)
