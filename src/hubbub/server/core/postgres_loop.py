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
        self._suspended_greenlet: greenlet | None = None
        # libpq closes its own descriptor on an error while the loop still watches it, so the loop watches a duplicate.
        self._descriptor = os.dup(self._pgconn.socket)
        loop.add_reader(self._descriptor, self._resume)

    def _wait(self, *, writable: bool = False) -> None:
        unit_greenlet = getcurrent()
        loop_greenlet = unit_greenlet.parent
        assert loop_greenlet is not None, "a unit of work waits outside of its greenlet"
        self._suspended_greenlet = unit_greenlet
        if not writable:
            loop_greenlet.switch()
            return
        self._loop.add_writer(self._descriptor, self._resume)
        try:
            loop_greenlet.switch()
        finally:
            self._loop.remove_writer(self._descriptor)

    def _resume(self) -> None:
        suspended_greenlet, self._suspended_greenlet = self._suspended_greenlet, None
        if suspended_greenlet is not None:
            suspended_greenlet.switch()
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
        run: Callable[["LoopConnection", list[Unit]], None],
        fail: Callable[[Unit, Exception], None],
        *,
        batch_units_max: int = 1,
    ) -> None:
        """Create a pool without connections.

        `open_connection` may block. `run` is called in a greenlet with up to `batch_units_max` units, delivers their results
        itself and does not raise. `fail` receives a waiting unit when no connection can be opened."""
        self._open_connection = open_connection
        self._connections_max = connections_max
        self._round_trips = round_trips
        self._run_callback = run
        self._fail = fail
        self._batch_units_max = batch_units_max
        self._loop = asyncio.get_running_loop()
        self._idle_connections: list[LoopConnection] = []
        self._busy_connections: set[LoopConnection] = set()
        self._idle_greenlets: list[greenlet] = []
        """Greenlets that ended a unit and wait for another."""
        self._opening_tasks: set[asyncio.Task[None]] = set()
        self._waiting_units: deque[Unit] = deque()
        self._is_start_scheduled = False
        self._connection_change: asyncio.Future[None] | None = None
        """The future that `close` waits for, resolved by the next change of a connection; None before `close`."""

    @property
    def idle_count(self) -> int:
        """The number of open connections that run no unit."""
        return len(self._idle_connections)

    @property
    def busy_count(self) -> int:
        """The number of connections that run a unit."""
        return len(self._busy_connections)

    @property
    def waiting_count(self) -> int:
        """The number of units that wait for a connection."""
        return len(self._waiting_units)

    def submit(self, unit: Unit) -> None:
        """Run a unit on a free connection now, or as soon as a connection is free.

        In a pool for batches, the unit waits until the event loop has handled the sockets that are readable now."""
        if self._batch_units_max == 1 and self._idle_connections:
            self._start(self._idle_connections.pop(), [unit])
            return
        self._waiting_units.append(unit)
        if not self._idle_connections:
            self._open_more()
        elif not self._is_start_scheduled:
            self._is_start_scheduled = True
            self._loop.call_soon(self._start_waiting)

    def _start_waiting(self) -> None:
        """Start waiting units on idle connections."""
        self._is_start_scheduled = False
        while self._waiting_units and self._idle_connections:
            self._start(self._idle_connections.pop(), self._take_waiting())
        if self._waiting_units:
            self._open_more()

    def _take_waiting(self) -> list[Unit]:
        take_unit = self._waiting_units.popleft
        return [take_unit() for _ in range(min(len(self._waiting_units), self._batch_units_max))]

    async def close(self) -> None:
        """Finish all units, then close all connections."""
        while self._busy_connections or self._waiting_units or self._opening_tasks:
            self._connection_change = self._loop.create_future()
            await self._connection_change
        while self._idle_connections:
            self._idle_connections.pop().close()
        while self._idle_greenlets:
            self._idle_greenlets.pop().switch(None)

    def abort(self) -> None:
        """Drop all waiting units, whose callers got an error, and break all connections."""
        self._waiting_units.clear()
        for connection in [*self._busy_connections, *self._idle_connections]:
            connection.abort()

    def _open_more(self) -> None:
        """Open connections for waiting units, up to the maximum."""
        connection_count = len(self._busy_connections) + len(self._idle_connections) + len(self._opening_tasks)
        for _ in range(
            min(len(self._waiting_units) - len(self._opening_tasks), self._connections_max - connection_count)
        ):
            task = self._loop.create_task(self._open())
            self._opening_tasks.add(task)
            task.add_done_callback(self._end_opening)

    async def _open(self) -> None:
        try:
            connection = await asyncio.to_thread(self._open_connection)
        except Exception as error:
            log.warning("A database connection could not be opened: %s", error)
            if not self._busy_connections and not self._idle_connections:
                while self._waiting_units:
                    self._fail(self._waiting_units.popleft(), error)
            return
        self._reuse(LoopConnection(connection, self._round_trips, self._loop, self._remove_lost_idle))

    def _end_opening(self, task: "asyncio.Task[None]") -> None:
        self._opening_tasks.discard(task)
        self._report_change()

    def _start(self, connection: LoopConnection, units: list[Unit]) -> None:
        self._busy_connections.add(connection)
        # A new greenlet maps memory for its Python frames, so greenlets are used again.
        unit_greenlet = self._idle_greenlets.pop() if self._idle_greenlets else greenlet(self._run_units)
        # Context variables that an earlier unit set are not visible to this one.
        unit_greenlet.gr_context = None
        unit_greenlet.switch(connection, units)

    def _run_units(self, connection: LoopConnection, units: list[Unit]) -> None:
        """Run units, then those that `_start` passes, until it passes None; a greenlet runs this."""
        unit_greenlet = getcurrent()
        loop_greenlet = unit_greenlet.parent
        assert loop_greenlet is not None
        next_units: tuple[LoopConnection, list[Unit]] | None = connection, units
        del connection, units
        while next_units is not None:
            self._run(*next_units)
            next_units = None
            self._idle_greenlets.append(unit_greenlet)
            next_units = loop_greenlet.switch()

    def _run(self, connection: LoopConnection, units: list[Unit]) -> None:
        """Run units and release their connection, or replace a lost one."""
        try:
            units = [unit for unit in units if not unit.has_failed]
            if units:
                self._run_callback(connection, units)
        except BaseException:
            log.exception("A unit of work failed outside of its transaction")
        finally:
            self._busy_connections.discard(connection)
        if connection.is_lost:
            connection.close()
            self._open_more()
            self._report_change()
        else:
            self._reuse(connection)

    def _reuse(self, connection: LoopConnection) -> None:
        if self._waiting_units:
            self._busy_connections.add(connection)
            # The loop starts the unit instead of this greenlet, so that greenlets do not nest and the loop serves other sockets
            # in between.
            self._loop.call_soon(self._start, connection, self._take_waiting())
        else:
            self._idle_connections.append(connection)
            self._report_change()

    def _remove_lost_idle(self, connection: LoopConnection) -> None:
        if connection in self._idle_connections:
            self._idle_connections.remove(connection)
        connection.close()

    def _report_change(self) -> None:
        if self._connection_change is not None and not self._connection_change.done():
            self._connection_change.set_result(None)
