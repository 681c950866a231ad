"""Fixture of the contract tests: a running server on an in-memory store."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.fixtures.validator import ResponseMonitor
from tests.world import NOW_MS, World, small_config


@pytest.fixture
async def small_world(response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A running server on an in-memory store, for tests that do not depend on the store."""
    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()
