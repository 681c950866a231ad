"""The PostgreSQL store: runs units of work on the event loop and, if they may block, in threads.

Write transactions are SERIALIZABLE and are retried after a conflict, so a unit of work can assume that it runs alone,
as on SQLite (decisions/0003). Each read runs on one REPEATABLE READ snapshot.

Quick writes and short reads run as greenlets on the event loop (decisions/0100). The loop tries a unit once. The threads
do everything that may take longer: other writes and reads, retries after a conflict, and new connections. They also find
the outcome of a commit whose connection was lost. Reads have their own threads, so that they never wait for writes. A
unit that conflicts repeatedly runs in threads for contended units, one unit per object at a time across all processes
(decisions/0131).
"""

import asyncio
import itertools
import logging
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, TypeVar

import psycopg
from greenlet import greenlet
from psycopg.errors import (
    DeadlockDetected,
    InFailedSqlTransaction,
    LockNotAvailable,
    ReadOnlySqlTransaction,
    SerializationFailure,
)

from hubbub.server.core import migrations, postgres_outcomes
from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit
from hubbub.server.core.postgres_batches import BATCH_UNITS_MAX, LoneKeys, WriteBatch
from hubbub.server.core.postgres_commits import CommitOrder
from hubbub.server.core.postgres_connection import (
    BEGIN_WRITE,
    BlockingConnection,
    ConnectionLost,
    PostgresConnection,
    RoundTrips,
    connect,
    connect_with_retries,
)
from hubbub.server.core.postgres_contention import ContendedTasks, contention_lock
from hubbub.server.core.postgres_forecasts import Forecasts, ReadForecasts
from hubbub.server.core.postgres_loop import LoopConnection, LoopConnections, Unit
from hubbub.server.core.postgres_monitor import ConnectionMonitor
from hubbub.server.core.postgres_outcomes import CommitOutcomeUnknown, LostCommits
from hubbub.server.core.postgres_tx import PostgresReadTx, PostgresTx
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

THREAD_COUNT: Final = 8
"""Number of threads for writes that may block."""
READ_THREAD_COUNT: Final = 4
"""Number of threads for reads that may take long."""
CONTENDED_THREAD_COUNT: Final = 4
"""Number of threads for contended units; at most one of them runs units of the same key at a time."""
BATCH_CONNECTIONS_MAX: Final = 2
"""Maximum number of connections for batches of quick writes, and so of batches that run at the same time."""
LOOP_WRITERS_MAX: Final = 14
"""Maximum number of connections for quick writes that run alone."""
LOOP_READERS_MAX: Final = 4
"""Maximum number of connections for reads on the event loop."""
CONNECTIONS_MAX: Final = (
    THREAD_COUNT
    + READ_THREAD_COUNT
    + CONTENDED_THREAD_COUNT
    + BATCH_CONNECTIONS_MAX
    + LOOP_WRITERS_MAX
    + LOOP_READERS_MAX
    + 1
)
"""Maximum number of connections of one process; the last one belongs to the monitor."""
CONCURRENT_ATTEMPTS_MAX: Final = 2
"""Maximum number of attempts of a conflicting unit of work before it is queued as a contended unit."""
CONTENDED_SECONDS_MAX: Final = 10.0
"""Time in seconds for which a contended unit at the head of its queue is retried; then its caller gets StoreUnavailable."""
BACKOFF_SECONDS: Final = 0.001
"""Maximum delay after the first conflict, in seconds; it doubles with each attempt, up to `BACKOFF_SECONDS_MAX`."""
BACKOFF_SECONDS_MAX: Final = 0.1
"""Maximum delay between two attempts, in seconds."""
QUEUED_UNITS_MAX: Final = 10_000
"""Number of waiting units at which the store rejects new units."""
OUTCOME_POLLS_MAX: Final = 20
"""Maximum number of queries for the outcome of a commit that is still in progress."""
OUTCOME_POLL_SECONDS: Final = 0.05
"""Interval between two queries for the outcome of a commit, in seconds."""

_backoff_random = random.Random()
"""A separate generator: if a program seeded the global one, all processes would wait equally long and conflict again."""

_CONFLICT_ERRORS: Final = (SerializationFailure, DeadlockDetected, LockNotAvailable)

_TaskQueue = SimpleQueue[Callable[[], None] | None]
"""Functions that threads run; None ends a thread."""


def _back_off(attempt: int) -> None:
    """Wait for a random time that grows with the number of failed attempts."""
    time.sleep(_backoff_random.uniform(0, min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2**attempt)))


class PostgresDatabase(Database):
    """A PostgreSQL database shared by any number of processes."""

    def __init__(self, url: str, thread_count: int = THREAD_COUNT, *, queued_units_max: int = QUEUED_UNITS_MAX) -> None:
        super().__init__()
        self._url = url
        self._thread_count = thread_count
        self._queued_units_max = queued_units_max
        self._write_tasks: _TaskQueue = SimpleQueue()
        self._read_tasks: _TaskQueue = SimpleQueue()
        self._contended_tasks = ContendedTasks()
        """Attempts at units that conflicted too often to run concurrently."""
        self._threads: list[threading.Thread] = []
        self._idle_connections: list[BlockingConnection] = []
        """The idle connections of the threads."""
        self._round_trips = RoundTrips()
        self._forecasts = Forecasts()
        self._read_forecasts = ReadForecasts()
        self._batch_greenlets: list[greenlet] = []
        """Idle greenlets of units of batches."""
        self._lone_keys = LoneKeys()
        self._is_open = False
        self._is_unreachable = False
        """Whether the monitor found that PostgreSQL does not respond."""
        self._accepted_units: set[Unit] = set()
        """Units whose callers wait."""
        self._blocking_connections: set[BlockingConnection] = set()
        """All connections of the threads."""
        self._monitor = ConnectionMonitor(
            url,
            self._round_trips,
            on_unreachable=lambda: self._loop.call_soon_threadsafe(self._fail_accepted),
            on_reachable=lambda: self._loop.call_soon_threadsafe(self._accept_again),
        )
        self._lost_commits = LostCommits(url, lambda finished_units: self._delivery.add(finished_units))
        self._loop: asyncio.AbstractEventLoop
        self._delivery: CommitDelivery
        self._commit_order: CommitOrder
        self._batch_writers: LoopConnections
        self._loop_writers: LoopConnections
        self._loop_readers: LoopConnections

    @property
    def round_trips(self) -> int:
        """The approximate number of round trips to PostgreSQL so far."""
        return self._round_trips.count

    async def start(self) -> None:
        """Connect and migrate the schema to the current version."""
        self._loop = asyncio.get_running_loop()
        self._delivery = CommitDelivery(self, self._loop)
        self._commit_order = CommitOrder(self._delivery)
        await asyncio.to_thread(self._migrate)
        self._batch_writers = LoopConnections(
            partial(connect_with_retries, self._url),
            BATCH_CONNECTIONS_MAX,
            self._round_trips,
            self._write_batch_on_loop,
            self._fail,
            batch_units_max=BATCH_UNITS_MAX,
        )
        self._loop_writers = LoopConnections(
            partial(connect_with_retries, self._url),
            LOOP_WRITERS_MAX,
            self._round_trips,
            lambda connection, units: self._write_on_loop(connection, *units),
            self._fail,
        )
        self._loop_readers = LoopConnections(
            partial(connect_with_retries, self._url, only_reads=True),
            LOOP_READERS_MAX,
            self._round_trips,
            lambda connection, units: self._read_on_loop(connection, *units),
            self._fail,
        )
        for name, run, count in (
            ("write", partial(_run_tasks, self._write_tasks), self._thread_count),
            ("read", partial(_run_tasks, self._read_tasks), READ_THREAD_COUNT),
            ("contended", self._contended_tasks.run, CONTENDED_THREAD_COUNT),
        ):
            for number in range(count):
                thread = threading.Thread(target=run, name=f"hubbub-store-{name}-{number}", daemon=True)
                self._threads.append(thread)
                thread.start()
        self._monitor.start()
        self._lost_commits.start()
        self._is_open = True

    async def close(self) -> None:
        """Finish accepted units of work, then release all connections and threads."""
        if not self._is_open:
            return
        self._is_open = False
        await asyncio.to_thread(self._monitor.stop)
        await self._batch_writers.close()
        await self._loop_writers.close()
        while self._batch_greenlets:
            self._batch_greenlets.pop().switch(None)
        await self._loop_readers.close()
        for _ in range(self._thread_count):
            self._write_tasks.put(None)
        for _ in range(READ_THREAD_COUNT):
            self._read_tasks.put(None)
        for number, thread in enumerate(self._threads):
            if number == self._thread_count:
                # The threads for writes have ended. Until then they add units that conflict to this queue.
                self._contended_tasks.close()
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        await asyncio.to_thread(self._lost_commits.stop)
        self._delivery.deliver()
        self._close_idle()

    async def _run_write(self, work: Callable[[Tx], T], quick: bool, has_updates: bool, key: int) -> T:
        unit = Unit(work, self._accept(), key)
        if not quick:
            self._write_tasks.put(partial(self._write, unit))
        elif has_updates or self._lone_keys.consume_lone_run(key):
            self._loop_writers.submit(unit)
        else:
            self._batch_writers.submit(unit)
        result: T = await self._wait_for(unit)
        return result

    async def _run_read(self, work: Callable[[Tx], T], long: bool) -> T:
        unit = Unit(work, self._accept())
        if long:
            self._read_tasks.put(partial(self._read, unit))
        else:
            self._loop_readers.submit(unit)
        result: T = await self._wait_for(unit)
        return result

    async def check(self) -> None:
        """Raise if the store cannot accept a write now."""
        await self.write(lambda tx: tx.stamp)

    def _accept(self) -> "asyncio.Future[Any]":
        """Return the future of a new unit of work. Raise StoreUnavailable if the store does not accept units now."""
        if not self._is_open:
            raise StoreUnavailable("the store is not open")
        if self._is_unreachable:
            raise StoreUnavailable("the database does not respond")
        # The waiting units are among the accepted ones, which are quicker to count.
        if len(self._accepted_units) >= self._queued_units_max and self.queued_units >= self._queued_units_max:
            raise StoreUnavailable("the store is overloaded")
        return self._loop.create_future()

    @property
    def queued_units(self) -> int:
        """The number of units of work that wait for a thread or a connection."""
        if not self._is_open:
            return 0
        thread_unit_count = self._write_tasks.qsize() + self._read_tasks.qsize() + len(self._contended_tasks)
        return thread_unit_count + sum(pool.waiting_count for pool in self._loop_pools)

    def count_connections(self) -> tuple[int, int]:
        """Return the number of open connections, and the number of those that run a unit of work."""
        if not self._is_open:
            return 0, 0
        open_count, idle_count = len(self._blocking_connections), len(self._idle_connections)
        for pool in self._loop_pools:
            open_count += pool.idle_count + pool.busy_count
            idle_count += pool.idle_count
        return open_count, max(0, open_count - idle_count)

    @property
    def _loop_pools(self) -> tuple[LoopConnections, ...]:
        return self._batch_writers, self._loop_writers, self._loop_readers

    async def _wait_for(self, unit: Unit) -> Any:
        """Wait for the result of a unit. Raise StoreUnavailable if PostgreSQL stops responding meanwhile."""
        self._accepted_units.add(unit)
        try:
            return await unit.future
        finally:
            self._accepted_units.discard(unit)

    def _fail_accepted(self) -> None:
        """Raise StoreUnavailable in all callers and reject new units, because PostgreSQL does not respond.

        Whether a unit that is being committed succeeds is unknown. Units that did not start are skipped."""
        self._is_unreachable = True
        for unit in list(self._accepted_units):
            if not unit.future.done():
                unit.future.set_exception(StoreUnavailable("the database does not respond"))
        for pool in self._loop_pools:
            pool.abort()
        for connection in list(self._blocking_connections):
            connection.abort()

    def _accept_again(self) -> None:
        self._is_unreachable = False

    def _fail(self, unit: Unit, error: BaseException) -> None:
        """Deliver an error to the caller of a unit."""
        if isinstance(error, ConnectionLost | psycopg.OperationalError):
            unavailable_error = StoreUnavailable(f"the database is not usable: {error}")
            unavailable_error.__cause__ = error
            error = unavailable_error
        self._delivery.add([(unit.future, None, error, None)])

    # Methods that run on the event loop

    def _read_on_loop(self, connection: LoopConnection, unit: Unit) -> None:
        """Run a read; a thread repeats it if the connection was lost."""
        try:
            result = self._attempt_read(connection, unit.work, self._read_forecasts)
        except ConnectionLost:
            self._read_tasks.put(partial(self._read, unit))
        except BaseException as error:
            self._fail(unit, error)
        else:
            if not unit.future.done():
                unit.future.set_result(result)

    def _write_on_loop(self, connection: LoopConnection, unit: Unit) -> None:
        """Run a quick write; a thread repeats it after a conflict, or if the connection was lost."""
        try:
            self._attempt(connection, unit, self._forecasts)
        except _CONFLICT_ERRORS:
            self._count_retry()
            self._write_tasks.put(partial(self._write, unit, first_attempt=1))
        except ConnectionLost:
            self._write_tasks.put(partial(self._write, unit))
        except CommitOutcomeUnknown as lost:
            self._write_tasks.put(partial(self._resolve_lost_commit, [unit], lost, may_repeat=True))
        except BaseException as error:
            self._fail(unit, error)

    def _write_batch_on_loop(self, connection: LoopConnection, units: list[Unit]) -> None:
        """Run quick writes in one transaction. If it fails, each of them is repeated alone."""
        if len(units) == 1:
            self._write_on_loop(connection, units[0])
            return
        batch = WriteBatch(connection, units, self._forecasts, self._batch_greenlets, self._lone_keys, self._run_alone)
        try:
            self._attempt_batch(connection, batch)
        except ConnectionLost:
            for unit in batch.remaining_units:
                self._write_tasks.put(partial(self._write, unit))
        except CommitOutcomeUnknown as lost:
            self._write_tasks.put(partial(self._resolve_lost_commit, batch.remaining_units, lost, may_repeat=True))
        except BaseException as error:
            if isinstance(error, _CONFLICT_ERRORS):
                self._count_retry()
            for unit in batch.remaining_units:
                self._run_alone(unit)

    def _run_alone(self, unit: Unit) -> None:
        """Run a unit of a batch in its own transaction; a batch calls this in its greenlet."""
        # The loop starts the unit, so that greenlets do not nest.
        self._loop.call_soon(self._loop_writers.submit, unit)

    # Methods that run in the threads; those that close connections also run on the event loop

    def _migrate(self) -> None:
        try:
            with connect(self._url) as connection:
                migrations.migrate_postgres(connection)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"cannot connect to the database: {error}") from error

    def _on_connection(self, run: Callable[[PostgresConnection], T]) -> T:
        """Run a function on an idle connection of the threads or on a new one; run it again on a new one if the first was lost."""
        for is_last_try in (False, True):
            try:
                connection = self._idle_connections.pop()
            except IndexError:
                connection = BlockingConnection(connect_with_retries(self._url), self._round_trips)
                self._blocking_connections.add(connection)
            try:
                return run(connection)
            except ConnectionLost:
                # Nothing was committed, so the unit can be repeated without involving the caller.
                if is_last_try:
                    raise
                self._close_idle()
            finally:
                if connection.is_lost:
                    self._close_blocking(connection)
                else:
                    self._idle_connections.append(connection)
        raise AssertionError("unreachable")

    def _close_idle(self) -> None:
        """Close the idle connections of the threads."""
        while self._idle_connections:
            try:
                self._close_blocking(self._idle_connections.pop())
            except IndexError:  # Another thread took the last one.
                break

    def _close_blocking(self, connection: BlockingConnection) -> None:
        self._blocking_connections.discard(connection)
        connection.close()

    def _read(self, unit: Unit) -> None:
        """Run a read, once more on a new connection if the first was lost, and deliver the result."""
        if unit.has_failed:
            return
        try:
            result = self._on_connection(lambda connection: self._attempt_read(connection, unit.work))
        except BaseException as error:
            self._fail(unit, error)
        else:
            self._delivery.add([(unit.future, result, None, None)])

    def _write(self, unit: Unit, first_attempt: int = 0) -> None:
        """Run a unit until it commits or fails, and deliver the result; if it is contended, another thread continues."""
        if unit.has_failed:
            return
        try:
            attempt = first_attempt
            # If units of the object already wait for each other, another concurrent one would only conflict with them.
            while attempt < CONCURRENT_ATTEMPTS_MAX and not (unit.key and self._contended_tasks.has_key(unit.key)):
                if attempt:
                    _back_off(attempt - 1)
                try:
                    self._on_connection(lambda connection: self._attempt(connection, unit))
                    return
                except _CONFLICT_ERRORS:
                    self._count_retry()
                attempt += 1
            self._contended_tasks.put(unit.key, partial(self._write_contended, unit))
        except CommitOutcomeUnknown as lost:
            self._resolve_lost_commit([unit], lost)
        except BaseException as error:
            self._fail(unit, error)

    def _write_contended(self, unit: Unit) -> None:
        """Run a contended unit until it commits or fails, or for `CONTENDED_SECONDS_MAX`, and deliver the result."""
        deadline = time.monotonic() + CONTENDED_SECONDS_MAX

        def attempt_with_lock(connection: PostgresConnection) -> None:
            if unit.has_failed:
                return
            with contention_lock(connection, unit.key):
                for attempt in itertools.count():
                    try:
                        return self._attempt(connection, unit)
                    except _CONFLICT_ERRORS:
                        self._count_retry()
                    if time.monotonic() > deadline:
                        raise StoreUnavailable("the store is contended: every attempt conflicted with another write")
                    _back_off(attempt)

        try:
            self._on_connection(attempt_with_lock)
        except CommitOutcomeUnknown as lost:
            self._resolve_lost_commit([unit], lost)
        except BaseException as error:
            self._fail(unit, error)

    def _resolve_lost_commit(self, units: list[Unit], lost: CommitOutcomeUnknown, *, may_repeat: bool = False) -> None:
        """Query the outcome of a commit whose connection was lost, and deliver the results of its units.

        If the transaction was committed, the callers get the results. If it was rolled back and `may_repeat` is True, the
        units run again. In all other cases the callers get StoreUnavailable. If the outcome is not found, it is looked up
        again later, because the events of a stored transaction must be published."""
        is_committed: bool | None = None
        if lost.transaction_id is not None:
            try:
                is_committed = _find_outcome(self._url, lost.transaction_id)
            except psycopg.Error:
                log.exception("The outcome of transaction %d is unknown", lost.transaction_id)
            if is_committed is None:
                self._lost_commits.add(lost)
        if is_committed:
            self._delivery.add(lost.finished_units)
            return
        for unit in units:
            if is_committed is not None and may_repeat:
                self._write(unit)
            else:
                self._fail(unit, StoreUnavailable(str(lost)))

    # Methods that run on the event loop and in the threads

    def _attempt_read(
        self, connection: PostgresConnection, work: Callable[[Tx], T], forecasts: ReadForecasts | None = None
    ) -> T:
        """Run a read over a snapshot, which begins with its first statement; repeat it after a wrong forecast."""
        connection.begin(connection.begin_read)
        tx = PostgresReadTx(connection, forecasts)
        try:
            result = work(tx)
            if not tx.must_repeat:
                tx.record_forecast()
                return result
        except Exception:
            if not tx.must_repeat:
                raise
        finally:
            tx.end()
            connection.end()
        return self._attempt_read(connection, work)

    def _attempt(self, connection: PostgresConnection, unit: Unit, forecasts: Forecasts | None = None) -> None:
        """Run and commit a unit, and deliver its result. Do nothing if its caller already got an error."""
        if unit.has_failed:
            return
        started_at = time.monotonic()
        connection.begin(BEGIN_WRITE)
        tx = PostgresTx(connection, writes=True, forecasts=forecasts)
        try:
            result = unit.work(tx)
            tx.end()
            self._commit(connection, tx, [(unit.future, result, None, tx)])
        except ReadOnlySqlTransaction as error:
            raise StoreUnavailable(f"the database is read-only: {error}") from error
        finally:
            tx.end()
            connection.end()
        tx.record_forecast()
        if self.metrics is not None:
            self.metrics.db_write_seconds.observe(time.monotonic() - started_at)

    def _attempt_batch(self, connection: PostgresConnection, batch: WriteBatch) -> None:
        """Run and commit a batch, and deliver the results of its units."""
        started_at = time.monotonic()
        connection.begin(BEGIN_WRITE)
        try:
            batch.run()
            tx = batch.merge_transactions()
            if tx.dispatches and self.before_commit is not None:
                self.before_commit(tx)
            tx.end()
            finished_units = batch.list_finished(tx)
            if not batch.has_successful_unit:
                # Nothing was written. The callers get their errors.
                self._delivery.add(finished_units)
                return
            self._commit(connection, tx, finished_units)
        finally:
            connection.end()
        batch.record_commit()
        if self.metrics is not None:
            self.metrics.db_batch.observe(len(finished_units))
            self.metrics.db_write_seconds.observe(time.monotonic() - started_at)

    def _commit(self, connection: PostgresConnection, tx: PostgresTx, finished_units: list[FinishedUnit]) -> None:
        """Commit the transaction of a connection and deliver the results of its units."""
        if connection.has_unanswered and (connection.may_wait or tx.transaction_id is None):
            # Until this commit ends, later commits are not delivered. COMMIT is therefore only sent when the transaction no
            # longer waits for locks, and when its ID is known, with which the outcome is found if the connection is lost.
            connection.exchange()
        if connection.failure is not None:
            # The unit swallowed an error; COMMIT would silently roll back.
            if isinstance(connection.failure, _CONFLICT_ERRORS):
                raise connection.failure
            raise InFailedSqlTransaction("a unit of work continued after one of its statements failed")
        commit_number = self._commit_order.take()
        delivered_units: list[FinishedUnit] = []
        try:
            connection.commit()
            delivered_units = finished_units
        except ConnectionLost as error:
            raise CommitOutcomeUnknown(tx.transaction_id, finished_units) from error
        finally:
            # If the outcome is unknown, other commits need not wait for it.
            self._commit_order.end(commit_number, *delivered_units)

    def _count_retry(self) -> None:
        if self.metrics is not None:
            self.metrics.db_retries.inc()


def _run_tasks(task_queue: _TaskQueue) -> None:
    """Run queued tasks until the store is closed; this is the main function of the threads for writes and reads."""
    while (task := task_queue.get()) is not None:
        task()


def _find_outcome(url: str, transaction_id: int) -> bool | None:
    """Wait for the end of a transaction and return whether it was committed; None if it does not end in time."""
    with postgres_outcomes.connect(url) as connection:
        for _ in range(OUTCOME_POLLS_MAX):
            status = postgres_outcomes.find_status(connection, transaction_id)
            if status != "in progress":
                return None if status is None else status == "committed"
            time.sleep(OUTCOME_POLL_SECONDS)
    return None
