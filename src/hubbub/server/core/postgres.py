"""The PostgreSQL store: runs units of work on the event loop and, if they may block, in threads.

Write transactions are SERIALIZABLE and are retried after a conflict, so a unit of work can assume that it runs alone,
as on SQLite (decisions/0003). Reads run over one REPEATABLE READ snapshot.

Quick writes and short reads run as greenlets on the event loop (decisions/0100). The loop tries a unit once. The
threads do everything that may take longer: other writes and reads, retries after a conflict, new connections, and the
outcome of a lost commit.
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
from psycopg.errors import DeadlockDetected, InFailedSqlTransaction, ReadOnlySqlTransaction, SerializationFailure

from hubbub.server.core import migrations
from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit
from hubbub.server.core.postgres_commits import CommitOrder, WriteLock
from hubbub.server.core.postgres_connection import (
    BEGIN_WRITE,
    BlockingConnection,
    ConnectionLost,
    PostgresConnection,
    RoundTrips,
    connect,
    connect_with_retries,
)
from hubbub.server.core.postgres_loop import LoopConnection, LoopConnections, Unit
from hubbub.server.core.postgres_tx import PostgresTx
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

THREAD_COUNT: Final = 8
"""Number of threads for units that may block."""
LOOP_WRITERS_MAX: Final = 8
"""Maximum number of connections for writes on the event loop."""
LOOP_READERS_MAX: Final = 4
"""Maximum number of connections for reads on the event loop."""
CONCURRENT_ATTEMPTS_MAX: Final = 2
"""Maximum number of attempts of a conflicting unit of work that run concurrently with other units of this process."""
EXCLUSIVE_SECONDS_MAX: Final = 5.0
"""How long a unit of work is retried while other writes of this process wait, before the caller gets StoreUnavailable."""
BACKOFF_SECONDS: Final = 0.001
"""Longest wait after the first conflict, in seconds; it doubles with each attempt, up to `BACKOFF_SECONDS_MAX`."""
BACKOFF_SECONDS_MAX: Final = 0.1
QUEUED_UNITS_MAX: Final = 10_000
"""Maximum number of waiting units from which the store rejects new ones."""
OUTCOME_POLLS_MAX: Final = 20
"""Maximum number of times that the server is asked for the outcome of a commit that is still in progress."""
OUTCOME_POLL_SECONDS: Final = 0.05

_backoff_random = random.Random()
"""A separate generator: with a seeded global one all processes would wait equally long and conflict again."""

_CONFLICTS: Final = (SerializationFailure, DeadlockDetected)


class _LostInCommit(Exception):
    """The connection was lost during the commit, so the outcome is unknown."""

    def __init__(self, result: Any, tx: PostgresTx) -> None:
        super().__init__("the connection was lost during the commit")
        self.result = result
        self.tx = tx


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
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        """The functions that the threads run; None ends a thread."""
        self._threads: list[threading.Thread] = []
        self._idle: list[BlockingConnection] = []
        """The idle connections of the threads."""
        self._write_lock = WriteLock()
        self._round_trips = RoundTrips()
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop
        self._delivery: CommitDelivery
        self._commit_order: CommitOrder
        self._loop_writers: LoopConnections
        self._loop_readers: LoopConnections

    @property
    def round_trips(self) -> int:
        """The approximate number of round trips to the server so far."""
        return self._round_trips.count

    async def start(self) -> None:
        """Connect and migrate the schema to the current version."""
        self._loop = asyncio.get_running_loop()
        self._delivery = CommitDelivery(self, self._loop)
        self._commit_order = CommitOrder(self._delivery)
        await asyncio.to_thread(self._migrate)
        self._loop_writers = LoopConnections(
            partial(connect_with_retries, self._url),
            LOOP_WRITERS_MAX,
            self._round_trips,
            self._write_on_loop,
            self._fail,
        )
        self._loop_readers = LoopConnections(
            partial(connect_with_retries, self._url, only_reads=True),
            LOOP_READERS_MAX,
            self._round_trips,
            self._read_on_loop,
            self._fail,
        )
        for number in range(self._thread_count):
            thread = threading.Thread(target=self._work_loop, name=f"hubbub-store-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._is_open = True

    async def close(self) -> None:
        """Finish accepted units of work, then release all connections and threads."""
        if not self._is_open:
            return
        self._is_open = False
        await self._loop_writers.close()
        await self._loop_readers.close()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        self._delivery.deliver()
        self._close_idle()

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run a function in a serializable transaction, with retries after conflicts.

        An exception rolls the transaction back and is raised to the caller."""
        future = self._accept()
        if quick:
            self._loop_writers.submit((work, future))
        else:
            self._tasks.put(partial(self._write, (work, future)))
        result: T = await future
        return result

    async def read(self, work: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run a function over a consistent snapshot; it must not write."""
        future = self._accept()
        if long:
            self._tasks.put(partial(self._read, (work, future)))
        else:
            self._loop_readers.submit((work, future))
        result: T = await future
        return result

    async def check(self) -> None:
        """Raise if the store cannot accept a write now."""
        await self.write(lambda tx: tx.stamp)

    def _accept(self) -> "asyncio.Future[Any]":
        """Return the future of a new unit of work. Raise if the store accepts none."""
        if not self._is_open:
            raise StoreUnavailable("the store is not open")
        waiting_count = self._tasks.qsize() + self._loop_writers.waiting_count + self._loop_readers.waiting_count
        if waiting_count >= self._queued_units_max:
            raise StoreUnavailable("the store is overloaded")
        return self._loop.create_future()

    def _fail(self, unit: Unit, error: BaseException) -> None:
        """Deliver an error to the caller of a unit."""
        if isinstance(error, ConnectionLost | psycopg.OperationalError):
            unavailable = StoreUnavailable(f"the database is not usable: {error}")
            unavailable.__cause__ = error
            error = unavailable
        _, future = unit
        self._delivery.add([(future, None, error, None)])

    # On the event loop

    def _read_on_loop(self, connection: LoopConnection, unit: Unit) -> None:
        """Run a read; a thread repeats it if the connection was lost."""
        work, future = unit
        try:
            result = self._attempt_read(connection, work)
        except ConnectionLost:
            self._tasks.put(partial(self._read, unit))
        except BaseException as error:
            self._fail(unit, error)
        else:
            if not future.done():
                future.set_result(result)

    def _write_on_loop(self, connection: LoopConnection, unit: Unit) -> None:
        """Run a quick write; a thread repeats it after a conflict, or if the connection was lost."""
        if not self._write_lock.try_enter():
            self._tasks.put(partial(self._write, unit))
            return
        try:
            self._attempt(connection, unit)
        except _CONFLICTS:
            self._count_retry()
            self._tasks.put(partial(self._write, unit, first_attempt=1))
        except ConnectionLost:
            self._tasks.put(partial(self._write, unit))
        except _LostInCommit as lost:
            self._tasks.put(partial(self._resolve_lost_commit, unit, lost))
        except BaseException as error:
            self._fail(unit, error)
        finally:
            self._write_lock.leave()

    # In the threads

    def _migrate(self) -> None:
        try:
            with connect(self._url) as connection:
                migrations.migrate_postgres(connection)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"cannot connect to the database: {error}") from error

    def _work_loop(self) -> None:
        """Run queued tasks until the store is closed; each thread runs this."""
        while (task := self._tasks.get()) is not None:
            task()

    def _on_connection(self, run: Callable[[PostgresConnection], T]) -> T:
        """Run a function on an idle connection of the threads, and once more on a new one if the first was lost."""
        for is_last_try in (False, True):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = BlockingConnection(connect_with_retries(self._url), self._round_trips)
            try:
                return run(connection)
            except ConnectionLost:
                # Nothing was committed, so the unit can be repeated without involving the caller.
                if is_last_try:
                    raise
                self._close_idle()
            finally:
                if connection.is_lost:
                    connection.close()
                else:
                    self._idle.append(connection)
        raise AssertionError("unreachable")

    def _close_idle(self) -> None:
        """Close the idle connections of the threads."""
        while self._idle:
            try:
                self._idle.pop().close()
            except IndexError:  # A thread took it first.
                break

    def _read(self, unit: Unit) -> None:
        """Run a read, once more on a new connection if the first was lost, and deliver the result."""
        work, future = unit
        try:
            result = self._on_connection(lambda connection: self._attempt_read(connection, work))
        except BaseException as error:
            self._fail(unit, error)
        else:
            self._delivery.add([(future, result, None, None)])

    def _write(self, unit: Unit, first_attempt: int = 0) -> None:
        """Run a unit until it commits, fails, or exhausts its attempts, and deliver the result."""
        try:
            self._write_until_committed(unit, first_attempt)
        except _LostInCommit as lost:
            self._resolve_lost_commit(unit, lost)
        except BaseException as error:
            self._fail(unit, error)

    def _write_until_committed(self, unit: Unit, first_attempt: int) -> None:
        for attempt in range(first_attempt, CONCURRENT_ATTEMPTS_MAX):
            if attempt:
                _back_off(attempt - 1)
            with self._write_lock.shared():
                if self._try_once(unit):
                    return
        _back_off(CONCURRENT_ATTEMPTS_MAX - 1)
        # The unit could conflict with newer ones again and again, so other writes of this process wait for it. From
        # here on only writes of other processes can conflict with it.
        with self._write_lock.exclusive():
            deadline = time.monotonic() + EXCLUSIVE_SECONDS_MAX
            for attempt in itertools.count():
                if self._try_once(unit):
                    return
                if time.monotonic() > deadline:
                    break
                _back_off(attempt)
        raise StoreUnavailable("the store is contended: every attempt collided with another writer")

    def _try_once(self, unit: Unit) -> bool:
        """Run a unit once and deliver the result. Return False on a conflict."""
        try:
            self._on_connection(lambda connection: self._attempt(connection, unit))
        except _CONFLICTS:
            self._count_retry()
            return False
        return True

    def _resolve_lost_commit(self, unit: Unit, lost: _LostInCommit) -> None:
        """Query the server for the outcome of a commit whose connection was lost, and deliver it.

        Without a transaction ID the outcome stays unknown, and the result is StoreUnavailable."""
        is_committed = False
        transaction_id = lost.tx.transaction_id
        if transaction_id is not None:
            try:
                is_committed = _is_committed(self._url, transaction_id)
            except psycopg.Error:
                log.exception("The outcome of transaction %d is unknown", transaction_id)
        if is_committed:
            _, future = unit
            self._delivery.add([(future, lost.result, None, lost.tx)])
        else:
            self._fail(unit, StoreUnavailable(str(lost)))

    # On the event loop and in the threads

    def _attempt_read(self, connection: PostgresConnection, work: Callable[[Tx], T]) -> T:
        """Run a read over a snapshot, which begins with its first statement."""
        connection.begin(connection.begin_read)
        tx = PostgresTx(connection, writes=False)
        try:
            return work(tx)
        finally:
            tx.end()
            connection.end()

    def _attempt(self, connection: PostgresConnection, unit: Unit) -> None:
        """Run and commit a unit, and deliver its result."""
        work, future = unit
        started = time.monotonic()
        connection.begin(BEGIN_WRITE)
        tx = PostgresTx(connection, writes=True)
        try:
            result = work(tx)
            tx.end()
            if connection.has_unanswered:
                connection.exchange()
            if connection.failure is not None:
                # The unit swallowed an error; COMMIT would silently roll back.
                if isinstance(connection.failure, _CONFLICTS):
                    raise connection.failure
                raise InFailedSqlTransaction("a unit of work continued after one of its statements failed")
            number = self._commit_order.take()
            finished_units: list[FinishedUnit] = []
            try:
                connection.commit()
                finished_units.append((future, result, None, tx))
            except ConnectionLost as error:
                raise _LostInCommit(result, tx) from error
            finally:
                # If the outcome is unknown, other commits need not wait for it.
                self._commit_order.end(number, *finished_units)
        except ReadOnlySqlTransaction as error:
            raise StoreUnavailable(f"the database is read-only: {error}") from error
        finally:
            tx.end()
            connection.end()
        if self.metrics is not None:
            self.metrics.db_seconds.observe(time.monotonic() - started)

    def _count_retry(self) -> None:
        if self.metrics is not None:
            self.metrics.db_retries.inc()


def _is_committed(url: str, transaction_id: int) -> bool:
    """Wait for the end of a transaction and return whether it was committed; False if it does not end in time."""
    # A separate connection: those of the store may be as broken as the lost one.
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        for _ in range(OUTCOME_POLLS_MAX):
            cursor = connection.execute("SELECT pg_xact_status(%s::text::xid8)", (str(transaction_id),))
            status = (cursor.fetchone() or (None,))[0]
            if status != "in progress":
                return bool(status == "committed")
            time.sleep(OUTCOME_POLL_SECONDS)
    return False
