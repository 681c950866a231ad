"""The permission matrix on PostgreSQL, where writes run in other threads and transactions may be repeated."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.contract.test_permission_matrix import (
    matrix,
    test_elevated_permissions_require_mfa_if_the_guild_does,
    test_every_operation_requires_the_documented_permissions,
)
from tests.fixtures.postgres import DatabasePool
from tests.fixtures.validator import ResponseMonitor
from tests.world import NOW_MS, World, small_config

__all__ = [
    "matrix",
    "test_elevated_permissions_require_mfa_if_the_guild_does",
    "test_every_operation_requires_the_documented_permissions",
]


@pytest.fixture
async def small_world(migrated_databases: DatabasePool, response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A running platform on PostgreSQL, in place of the one in memory that the matrix uses otherwise."""
    with migrated_databases.acquire() as url:
        app = App(small_config(database_url=url), clock=ControlledClock(NOW_MS, running=False))
        await app.start()
        async with aiohttp.ClientSession() as client:
            world = World(app, client)
            yield world
            await world.close()
        await app.stop()
