"""The numbers of stored jobs as a metric, read from the store once per interval."""

import asyncio
from contextlib import suppress
from typing import Final

from prometheus_client import Gauge

from hubbub.server.core import job_queues
from hubbub.server.core.clock import Clock
from hubbub.server.core.job_queues import QueueRow
from hubbub.server.core.store import Database, StoreUnavailable

INTERVAL_SECONDS: Final = 10.0
"""Time in seconds between two reads. The first read follows the start immediately."""


class JobQueueMonitor:
    """A task that reads the numbers of jobs into gauges."""

    def __init__(self, database: Database, clock: Clock, *, stored_jobs: Gauge, failed_jobs: Gauge) -> None:
        """Create a monitor; `stored_jobs` has the state of jobs as its label, `failed_jobs` their kind."""
        self._database = database
        self._clock = clock
        self._stored_jobs = stored_jobs
        self._failed_jobs = failed_jobs
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to read the numbers."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop; a read in progress is canceled."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def update(self) -> None:
        """Read the numbers once. A store that is unavailable leaves no numbers, because old ones would mislead."""
        now_ms = self._clock.now_ms()
        rows: list[QueueRow] | None = None
        with suppress(StoreUnavailable):
            rows = await self._database.read(lambda tx: job_queues.list_queues(tx, now_ms), long=True)
        self._stored_jobs.clear()
        self._failed_jobs.clear()
        if rows is None:
            return
        for state in ("waiting", "retrying", "failed"):
            self._stored_jobs.labels(state=state).set(sum(getattr(row, state) for row in rows))
        for row in rows:
            if row.failed:
                self._failed_jobs.labels(kind=row.kind).set(row.failed)

    async def _run(self) -> None:
        while True:
            await self.update()
            await asyncio.sleep(INTERVAL_SECONDS)
