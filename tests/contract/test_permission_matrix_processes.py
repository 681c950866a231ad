"""The permission matrix over two processes with PostgreSQL and NATS.

Permissions change at one process, and the next request, at the other process, must follow the change. Users of the matrix
send their requests to the other process; with bots, the owner sends the changes there.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock, RealClock
from tests.chaos.cluster import clock_shift_code
from tests.contract.test_permission_matrix import Matrix, test_every_operation_requires_the_documented_permissions
from tests.contract.test_permission_matrix import matrix as local_matrix
from tests.fixtures.validator import ResponseMonitor
from tests.journeys.processes import running_server
from tests.world import NOW_MS, ApiResponse, World, small_config

__all__ = ["local_matrix", "test_every_operation_requires_the_documented_permissions"]


class TwoProcessWorld(World):
    """A platform of two processes: the App in this process, and another process that serves the API only."""

    def __init__(
        self, app: App, client: aiohttp.ClientSession, other_url: str, response_monitor: ResponseMonitor
    ) -> None:
        super().__init__(app, client)
        self._other_url = other_url
        self._response_monitor = response_monitor
        self.authorizations_at_other: set[str] = set()
        """Authorization headers of the callers whose requests go to the other process."""
        self.request_count_at_other = 0

    async def request(self, method: str, path: str, *, json: Any = None, **options: Any) -> ApiResponse:
        """Send a request to the process that serves the caller."""
        if options.get("headers", {}).get("Authorization") not in self.authorizations_at_other:
            return await super().request(method, path, json=json, **options)
        self.request_count_at_other += 1
        response = await super().request(method, f"{self._other_url}/api/v10{path}", json=json, **options)
        self._response_monitor.check_response(method, path, response)
        return response


@pytest.fixture
async def small_world(
    tmp_path: Path, postgres_database: str, nats_url: str, response_monitor: ResponseMonitor
) -> AsyncIterator[TwoProcessWorld]:
    """A running platform of two processes, in place of the one in memory that the matrix uses otherwise."""
    config = small_config(database_url=postgres_database, nats_url=nats_url, control=False, data=str(tmp_path / "data"))
    app = App(config, clock=ControlledClock(NOW_MS, running=True))
    await app.start()
    flags = ["--roles", "api", "--worker", "1", "--rate-limits", "off", "--data", str(tmp_path / "data")]
    flags += ["--database-url", postgres_database, "--nats-url", nats_url]
    shift_code = clock_shift_code(NOW_MS - RealClock().now_ms())
    async with (
        running_server(tmp_path, "serve", *flags, startup_code=shift_code) as other_process,
        aiohttp.ClientSession() as client,
    ):
        world = TwoProcessWorld(app, client, other_process.url, response_monitor)
        yield world
        await world.close()
    await app.stop()
    assert world.request_count_at_other > 100


@pytest.fixture
async def matrix(local_matrix: Matrix, small_world: TwoProcessWorld) -> Matrix:
    """The matrix of one process, with its requests split between two processes."""
    if local_matrix.unprivileged.is_bot:
        callers = [local_matrix.owner, local_matrix.prepared_guild.guild.owner]
    else:
        callers = [local_matrix.unprivileged, local_matrix.able, local_matrix.outsider, local_matrix.other_owner]
    small_world.authorizations_at_other = {caller.header for caller in callers}
    return local_matrix
