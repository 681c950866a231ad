"""Commits whose events the bus has not confirmed, recorded in the store (decisions/0164).

If a process is killed, its log tells the other nodes whether it committed events that it never published. Only then do they
have a gap. A transaction writes its entry itself, so an entry exists if and only if its transaction was committed.
"""

import asyncio
import logging
from typing import Final

from hubbub.server.core import meta
from hubbub.server.core.bus import Bus, BusError
from hubbub.server.core.clock import Clock
from hubbub.server.core.event_dispatch import Dispatch
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

RETRY_SECONDS: Final = 1.0
"""Interval in seconds between two attempts to delete entries, while the bus or the store is unavailable."""
ENTRY_AGE_MS_MAX: Final = 24 * 3600 * 1000
"""Age in milliseconds after which a start deletes the entries of killed processes; other nodes detect the loss in minutes."""

_PREFIX: Final = "unpublished."


class PublicationLog:
    """The log of one process; `node` is its ID on the bus."""

    def __init__(self, database: Database, bus: Bus[Dispatch], clock: Clock, node: str) -> None:
        self._database = database
        self._bus = bus
        self._clock = clock
        self._node = node
        self._published_stamps: set[int] = set()
        """Stamps of committed transactions whose entries were not deleted yet."""
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Record every transaction with events from now on, and delete old entries of killed processes."""
        await self._database.write(self._delete_old)
        self._database.before_commit = self.record
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Delete the entries of confirmed events, and stop; the bus must still run."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self._delete_confirmed()
        except (BusError, StoreUnavailable, TimeoutError):
            log.warning("The log of unpublished events could not be cleared")

    def record(self, tx: Tx) -> None:
        """Write the entry of a transaction with events, before it is committed."""
        stamp = tx.stamp
        meta.put(tx, f"{_PREFIX}{self._node}.{stamp}", str(self._clock.now_ms()))
        tx.after_commit.append(lambda: self._confirm(stamp))

    def _confirm(self, stamp: int) -> None:
        """Delete an entry once the bus has confirmed its events.

        They are published before the event loop runs another task, so the task of this log finds them in the bus."""
        self._published_stamps.add(stamp)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._delete_confirmed()
            except (BusError, StoreUnavailable, TimeoutError):
                self._wake.set()
                await asyncio.sleep(RETRY_SECONDS)

    async def _delete_confirmed(self) -> None:
        """Wait for the bus, and delete the entries of everything published before. Raise BusError if the bus dropped events."""
        stamps = set(self._published_stamps)
        if not stamps:
            return
        async with asyncio.timeout(RETRY_SECONDS):
            await self._bus.flush()
        if not self._bus.is_healthy:
            # Events were dropped, and the other processes do not know it yet.
            raise BusError("the bus is not healthy")
        names = [(f"{_PREFIX}{self._node}.{stamp}",) for stamp in sorted(stamps)]
        await self._database.write(lambda tx: tx.run_many("DELETE FROM meta WHERE name = ?", names))
        self._published_stamps -= stamps

    def _delete_old(self, tx: Tx) -> None:
        oldest_ms = self._clock.now_ms() - ENTRY_AGE_MS_MAX
        rows = tx.all("SELECT name, value FROM meta WHERE name LIKE ?", f"{_PREFIX}%")
        tx.run_many("DELETE FROM meta WHERE name = ?", [(name,) for name, value in rows if int(value) < oldest_ms])


def has_unpublished_events(tx: Tx, node: str) -> bool:
    """Return whether a node committed events that the bus did not confirm."""
    return tx.one("SELECT name FROM meta WHERE name LIKE ?", f"{_PREFIX}{node}.%") is not None
