"""The high-water mark of IDs in the store: IDs never go backwards, even if the clock is earlier after a restart.

The mark is ahead of the clock while a process runs. A process that starts creates only IDs above its own mark, and
above the marks of other processes minus their lead, so no ID of an earlier run is created again and new
messages follow older ones (decisions/0132).
"""

import asyncio
import logging
from typing import Final

from hubbub.protocol.ids import EPOCH_MS
from hubbub.server.core import meta
from hubbub.server.core.clock import Clock, ControlledClock
from hubbub.server.core.snowflakes import SnowflakeFactory
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

LEAD_MS: Final = 5_000
"""Lead of the mark over the clock and the newest ID when it is written, in milliseconds."""
CHECK_SECONDS: Final = 0.5
"""Interval at which the mark is compared with the clock and the newest ID, in seconds."""
JUMP_MS: Final = 1_000
"""Maximum jump of the clock in milliseconds that IDs follow before the mark is written again; less than half of `LEAD_MS`."""
WARNING_MS: Final = 60_000
"""Minimum difference between the mark and the clock, in milliseconds, for which a start logs a warning."""

_MARK_NAME_PREFIX: Final = "id_mark."


class IdMark:
    """Writes the high-water mark of one process, ahead of its IDs."""

    def __init__(self, database: Database, ids: SnowflakeFactory, clock: Clock, process_number: int) -> None:
        self._database = database
        self._ids = ids
        self._clock = clock
        self._name = f"{_MARK_NAME_PREFIX}{process_number}"
        self._mark_ms = 0
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Make new IDs follow those of all earlier runs, and write the mark in the background.

        A rehearsal has no mark, because its clock may be set back and its IDs follow the clock."""
        if isinstance(self._clock, ControlledClock):
            return
        floor_ms = await self._database.read(self._read_floor)
        now_ms = self._clock.now_ms()
        if floor_ms - now_ms >= WARNING_MS:
            log.warning(
                "The clock is %d s behind the last run; new IDs continue after those of the last run. Check the system clock",
                (floor_ms - now_ms) // 1000,
            )
        self._ids.start_after(floor_ms)
        await self._write(max(floor_ms, now_ms) + LEAD_MS)
        self._limit_ids(max(floor_ms, now_ms))
        self._task = asyncio.get_running_loop().create_task(self._advance())

    async def close(self) -> None:
        """Stop, and set the mark to the newest ID, so that IDs after the next start do not run ahead of the clock."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._write(self._ids.newest_ms)
        except StoreUnavailable:
            log.info("The mark of the newest ID could not be written")

    async def _advance(self) -> None:
        """Keep the mark ahead of the clock and of the newest ID."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            newest_ms = max(self._clock.now_ms(), self._ids.newest_ms)
            if newest_ms + LEAD_MS // 2 > self._mark_ms:
                try:
                    await self._write(newest_ms + LEAD_MS)
                except StoreUnavailable:
                    continue
                self._limit_ids(newest_ms)

    def _limit_ids(self, written_ms: int) -> None:
        """Keep IDs below the mark if the clock jumps forward: IDs above it would not be known after a crash."""
        self._ids.limit_to(written_ms + JUMP_MS)

    def _read_floor(self, tx: Tx) -> int:
        """Return the time in Unix milliseconds after which new IDs begin; without any mark, the epoch of IDs.

        The marks of other processes count minus `LEAD_MS`: those processes may still run, and IDs that are ahead of
        their IDs would change the order of messages."""
        rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", f"{_MARK_NAME_PREFIX}%")
        marks_ms = (int(value) - (0 if name == self._name else LEAD_MS) for name, value in rows)
        return max(marks_ms, default=EPOCH_MS)

    async def _write(self, mark_ms: int) -> None:
        await self._database.write(lambda tx: meta.put(tx, self._name, str(mark_ms)))
        self._mark_ms = mark_ms
