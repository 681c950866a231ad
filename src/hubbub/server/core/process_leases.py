"""Leases of process numbers: no two processes that share a database may use the same number in their IDs.

A process increments the beat of its lease while it runs. Other processes compare beats, not times, because the clocks of
machines differ.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

RENEW_SECONDS: Final = 2.0
"""Interval in seconds at which a process renews its lease."""
RETRY_SECONDS: Final = 0.2
"""Interval in seconds at which a process tries to renew its lease while the store is unavailable."""
LEASE_SECONDS: Final = 10.0
"""Time in seconds without a renewal after which the lease of a killed process is taken over."""
HOLDER_SQL: Final = "SELECT holder FROM process_leases WHERE worker = %s"
"""Query of the holder of a process number, for connections of psycopg."""
PROCESS_NUMBERS_SQL: Final = "SELECT worker FROM process_leases"
"""Query of the numbers of the running processes."""
RELEASE_ALL_SQL: Final = "DELETE FROM process_leases"
"""Statement that releases all process numbers of a database that no process uses."""


class LeaseRow(NamedTuple):
    """The lease of a process number."""

    owner: str
    """Random name of the process."""
    beat: int
    """Number of renewals."""
    holder: str
    """Host name and process ID, for operators."""
    machine: str
    """Identity of the running system and of its namespace of process IDs; empty if unknown."""
    pid: int

    @property
    def is_dead(self) -> bool:
        """Whether the process certainly ended: it ran on this machine, and its process ID is not in use."""
        if not self.machine or self.machine != _read_machine_id():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False


class ProcessNumberInUse(Exception):
    """Another running process uses the process number."""


def find_lease(tx: Tx, process_number: int) -> LeaseRow | None:
    return tx.find(
        LeaseRow, "SELECT owner, beat, holder, machine, pid FROM process_leases WHERE worker = ?", process_number
    )


class ProcessLease:
    """Acquires the lease of a process number, renews it until it is released, and detects its loss."""

    def __init__(
        self,
        database: Database,
        process_number: int,
        on_lost: Callable[[], None],
        *,
        renew_seconds: float = RENEW_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        """Create a lease; `on_lost` is called if another process takes it over."""
        self._database = database
        self._process_number = process_number
        self._on_lost = on_lost
        self._renew_seconds = renew_seconds
        self._lease_seconds = lease_seconds
        self.owner = secrets.token_hex(8)
        """Random name of this process."""
        self.replaced_owner: str | None = None
        """Name of the killed process whose lease was taken over, or None."""
        self._renewed_at = 0.0
        """Time at which the last successful renewal began, in seconds of the monotonic clock."""
        self._task: asyncio.Task[None] | None = None

    async def acquire(self) -> None:
        """Acquire the lease and renew it in the background.

        If the process of an existing lease may still run, wait until the lease is renewed, released or expired. Raise
        ProcessNumberInUse if the lease is renewed."""
        loop = asyncio.get_running_loop()
        other_lease = await self._database.write(self._claim)
        if other_lease is not None and other_lease.is_dead:
            await self._database.write(self._delete_unchanged(other_lease))
            self.replaced_owner = other_lease.owner
            other_lease = await self._database.write(self._claim)
        if other_lease is not None:
            log.warning(
                "Waiting up to %.0f s for process number %d, which %s has not released",
                self._lease_seconds,
                self._process_number,
                other_lease.holder,
            )
        expires_at = loop.time() + self._lease_seconds
        while other_lease is not None:
            await asyncio.sleep(self._renew_seconds / 4)
            current_lease = await self._database.write(self._claim)
            if current_lease is None:
                break
            if current_lease != other_lease:
                raise ProcessNumberInUse(
                    f"process number {self._process_number} is in use by {current_lease.holder}; "
                    "start every process with its own --worker, from 0 to 31"
                )
            deleted_count = (
                await self._database.write(self._delete_unchanged(other_lease)) if loop.time() >= expires_at else 0
            )
            if deleted_count:
                self.replaced_owner = other_lease.owner
                log.info(
                    "Took over process number %d from %s, which stopped responding",
                    self._process_number,
                    other_lease.holder,
                )
        self._renewed_at = time.monotonic()
        self._task = loop.create_task(self._renew())

    def require(self) -> None:
        """Raise StoreUnavailable if another process may have taken the number over, since the lease was not renewed."""
        if time.monotonic() - self._renewed_at >= self._lease_seconds:
            raise StoreUnavailable(f"the lease of process number {self._process_number} expired")

    async def release(self) -> None:
        """Release the lease, so that another process can use the number immediately."""
        if self._task is None:
            return
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        with contextlib.suppress(StoreUnavailable):
            await self._database.write(
                lambda tx: tx.run(
                    "DELETE FROM process_leases WHERE worker = ? AND owner = ?", self._process_number, self.owner
                )
            )

    def _claim(self, tx: Tx) -> LeaseRow | None:
        """Insert the lease and return None, or return the existing lease of another process."""
        lease = find_lease(tx, self._process_number)
        if lease is None:
            tx.run(
                "INSERT INTO process_leases (worker, owner, beat, holder, machine, pid) VALUES (?, ?, 0, ?, ?, ?)",
                self._process_number,
                self.owner,
                f"{socket.gethostname()} (process {os.getpid()})",
                _read_machine_id(),
                os.getpid(),
            )
        return lease

    def _delete_unchanged(self, lease: LeaseRow) -> Callable[[Tx], int]:
        """Return a unit of work that deletes a lease unless it was renewed, and returns the number of deleted rows."""
        return lambda tx: tx.run(
            "DELETE FROM process_leases WHERE worker = ? AND owner = ? AND beat = ?",
            self._process_number,
            lease.owner,
            lease.beat,
        )

    async def _renew(self) -> None:
        """Renew the lease until it is released or lost."""
        delay_seconds = self._renew_seconds
        while True:
            await asyncio.sleep(delay_seconds)
            delay_seconds = self._renew_seconds
            started_at = time.monotonic()
            try:
                renewed_count = await self._database.write(
                    lambda tx: tx.run(
                        "UPDATE process_leases SET beat = beat + 1 WHERE worker = ? AND owner = ?",
                        self._process_number,
                        self.owner,
                    )
                )
            except StoreUnavailable:
                # Without a renewed lease no IDs are created, so the renewal must not wait for the next interval.
                delay_seconds = min(RETRY_SECONDS, self._renew_seconds)
                continue
            if renewed_count:
                self._renewed_at = started_at
            else:
                log.error(
                    "Another process took over process number %d while this one did not respond; IDs could collide",
                    self._process_number,
                )
                self._on_lost()
                return


def _read_machine_id() -> str:
    """Return the identity of the running system and of its namespace of process IDs, or an empty string if it is unknown."""
    try:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot_id} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""
