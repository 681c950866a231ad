"""Units of work on the event loop: greenlets that wait for their connection without blocking the loop.

A unit of work is a plain synchronous function. It runs in a greenlet, which is suspended while the unit waits for
PostgreSQL and resumed by the loop when the socket is readable. A request therefore needs neither another thread nor a lock
to run its statements (decisions/0100).
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
from greenlet import getcurrent, greenlet

from hubbub.server.core.postgres_connection import PostgresConnection, RoundTrips
from hubbub.server.core.store import Tx

log = logging.getLogger(__name__)


class Unit(NamedTuple):
    """A unit of work with the future of its caller."""

    work: Callable[[Tx], Any]
    future: "asyncio.Future[Any]"
    """The future for which the caller waits."""
    key: int = 0
    """The ID of the object that the unit changes, such as a guild or channel; 0 if it is unknown."""

    @property
    def has_failed(self) -> bool:
        """Whether the caller already got an error, so that the unit must not run; False if the caller was cancelled."""
        return self.future.done() and not self.future.cancelled()


class LoopConnection(PostgresConnection):
    """A connection whose greenlet is suspended while it waits."""

    def __init__(
        self,
        connection: psycopg.Connection,
        round_trips: RoundTrips,
        loop: asyncio.AbstractEventLoop,
        on_idle_loss: Callable[["LoopConnection"], None],
    ) -> None:
        super().__init__(connection, round_trips)
        self._loop = loop
        self._on_idle_loss = on_idle_loss
        self._suspended: greenlet | None = None
        # libpq closes its own descriptor on an error while the loop still watches it, so the loop watches a duplicate.
        self._descriptor = os.dup(self._pgconn.socket)
        loop.add_reader(self._descriptor, self._resume)

    def _wait(self, *, writable: bool = False) -> None:
        current = getcurrent()
        parent = current.parent
        assert parent is not None, "a unit of work waits outside of its greenlet"
        self._suspended = current
        if not writable:
            parent.switch()
            return
        self._loop.add_writer(self._descriptor, self._resume)
        try:
            parent.switch()
        finally:
            self._loop.remove_writer(self._descriptor)

    def _resume(self) -> None:
        suspended, self._suspended = self._suspended, None
        if suspended is not None:
            suspended.switch()
            return
        self.skip_replies()
        if self.is_lost:
            self._on_idle_loss(self)

    def close(self) -> None:
        """Close the connection; it may already be closed."""
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        super().close()


class LoopConnections:
    """A pool of connections on the event loop and the queue of units that wait for one."""

    def __init__(
        self,
        open_connection: Callable[[], psycopg.Connection],
        connections_max: int,
        round_trips: RoundTrips,
        run: Callable[["LoopConnection", Unit], None],
        fail: Callable[[Unit, Exception], None],
    ) -> None:
        """Create a pool without connections.

        `open_connection` may block. `run` is called in a greenlet, delivers the result itself and does not raise.
        `fail` receives a waiting unit when no connection can be opened."""
        self._open_connection = open_connection
        self._connections_max = connections_max
        self._round_trips = round_trips
        self._run_unit = run
        self._fail = fail
        self._loop = asyncio.get_running_loop()
        self._idle: list[LoopConnection] = []
        self._busy: set[LoopConnection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._waiting: deque[Unit] = deque()
        self._changed: asyncio.Future[None] | None = None
        """The future that `close` waits for, resolved by the next change of a connection; None before `close`."""

    @property
    def idle_count(self) -> int:
        """The number of open connections that run no unit."""
        return len(self._idle)

    @property
    def busy_count(self) -> int:
        """The number of connections that run a unit."""
        return len(self._busy)

    @property
    def waiting_count(self) -> int:
        """The number of units that wait for a connection."""
        return len(self._waiting)

    def submit(self, unit: Unit) -> None:
        """Run a unit on a free connection now, or as soon as a connection is free."""
        if self._idle:
            self._start(self._idle.pop(), unit)
            return
        self._waiting.append(unit)
        self._open_more()

    async def close(self) -> None:
        """Finish all units, then close all connections."""
        while self._busy or self._waiting or self._opening:
            self._changed = self._loop.create_future()
            await self._changed
        while self._idle:
            self._idle.pop().close()

    def abort(self) -> None:
        """Drop all waiting units, whose callers got an error, and break all connections."""
        self._waiting.clear()
        for connection in [*self._busy, *self._idle]:
            connection.abort()

    def _open_more(self) -> None:
        """Open connections for waiting units, up to the maximum."""
        count = len(self._busy) + len(self._idle) + len(self._opening)
        for _ in range(min(len(self._waiting) - len(self._opening), self._connections_max - count)):
            task = self._loop.create_task(self._open())
            self._opening.add(task)
            task.add_done_callback(self._end_opening)

    async def _open(self) -> None:
        try:
            connection = await asyncio.to_thread(self._open_connection)
        except Exception as error:
            log.warning("A database connection could not be opened: %s", error)
            if not self._busy and not self._idle:
                while self._waiting:
                    self._fail(self._waiting.popleft(), error)
            return
        self._reuse(LoopConnection(connection, self._round_trips, self._loop, self._remove_lost_idle))

    def _end_opening(self, task: "asyncio.Task[None]") -> None:
        self._opening.discard(task)
        self._report_change()

    def _start(self, connection: LoopConnection, unit: Unit) -> None:
        self._busy.add(connection)
        greenlet(self._run).switch(connection, unit)

    def _run(self, connection: LoopConnection, unit: Unit) -> None:
        """Run a unit and release its connection; a greenlet runs this."""
        try:
            if not unit.has_failed:
                self._run_unit(connection, unit)
        except BaseException:
            log.exception("A unit of work failed outside of its transaction")
        finally:
            self._busy.discard(connection)
        if connection.is_lost:
            connection.close()
            self._open_more()
            self._report_change()
        else:
            self._reuse(connection)

    def _reuse(self, connection: LoopConnection) -> None:
        if self._waiting:
            self._busy.add(connection)
            # The loop starts the unit instead of this greenlet, so that greenlets do not nest and the loop serves other sockets
            # in between.
            self._loop.call_soon(self._start, connection, self._waiting.popleft())
        else:
            self._idle.append(connection)
            self._report_change()

    def _remove_lost_idle(self, connection: LoopConnection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
        connection.close()

    def _report_change(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
