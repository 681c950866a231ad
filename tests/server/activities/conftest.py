"""Worlds to serve activities in."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import aiohttp
import pytest

if TYPE_CHECKING:
    from tests.fixtures.validator import Watch
    from tests.world import World


@pytest.fixture
async def small_world(watch: "Watch") -> "AsyncIterator[World]":
    """One store is enough where nothing but forms is looked at."""
    from hubbub.server.app import App
    from hubbub.server.core.clock import ControlledClock
    from tests.world import NOW_MS, World, small_config

    app = App(small_config(), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()
