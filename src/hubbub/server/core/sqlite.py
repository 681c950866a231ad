"""The embedded store: SQLite with one thread that writes, and threads for long reads.

A unit of work is queued; the writer thread takes all queued units, runs them in one transaction, and syncs the disk once. When
a unit fails after it has written, the batch is run again with a savepoint per unit, so that only this unit is rolled
back. No result is delivered and no event is published before the sync. Quick writes and short reads run on the event loop.
"""

import asyncio
import functools
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from hubbub.server.core import migrations
from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit
from hubbub.server.core.query_cache import QueryCache
from hubbub.server.core.sqlite_files import (
    CACHE_BYTES,
    connect,
    copy_before_upgrade,
    copy_file_in_use,
    copy_to_file,
    initialize,
    lock,
    restore,
    serialize,
)
from hubbub.server.core.sqlite_queue import Batch, BatchRollbackError, ExclusiveTask, Handover, QueueEntry, Unit
from hubbub.server.core.sqlite_tx import SELECT_LAST_STAMP, UPDATE_LAST_STAMP, SqliteReadTx, SqliteTx, is_unavailable
from hubbub.server.core.store import Database, StoreUnavailable, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH_UNITS_MAX: Final = 256
"""Maximum number of units of a batch."""
BATCH_SECONDS_MAX: Final = 0.005
"""Duration in seconds after which a batch commits."""
QUEUED_UNITS_MAX: Final = 20_000
"""Number of waiting units at which new units are rejected instead of waiting for seconds."""
READ_BATCH_UNITS_MAX: Final = 32
"""Maximum number of reads that share a snapshot."""
READ_DELIVERY_SECONDS: Final = 0.001
"""Interval in seconds at which results of a read batch are delivered."""
LONG_READ_SECONDS: Final = 0.003
"""Duration of a read in seconds after which a helper thread takes over the reads that wait behind it."""


class SqliteDatabase(Database):
    """A database file or, without a path, a database in memory that ends with the process."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        image: bytes | None = None,
        helper_count: int = 2,
        queued_units_max: int = QUEUED_UNITS_MAX,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        """Create a database; `image` is the result of `serialize` that a database in memory starts with, or None."""
        super().__init__()
        self._path = None if path is None else Path(path)
        self._image = image
        self._queued_units_max = queued_units_max
        self._cache_bytes = cache_bytes
        self._write_queue: SimpleQueue[QueueEntry | None] = SimpleQueue()
        self._submitted_count = self._completed_count = 0
        """Numbers of entries put into the writer's queue, and of those that are done; the connection is free if they are equal."""
        self._quick_units: deque[Unit] = deque()
        """Quick units that wait for the connection."""
        self._is_quick_active = False
        """Whether a batch of quick units waits for the connection or its commit; later quick units are collected."""
        self._read_queue: SimpleQueue[Unit | None] = SimpleQueue()
        self._pending_reads: deque[Unit] = deque()
        self._read_started_at = 0.0
        """Monotonic time at which the latest read of a reader thread started."""
        self._unfinished_read_count = 0
        """Number of reads that wait or run."""
        self._watchdog: asyncio.TimerHandle | None = None
        self._helper_signals: SimpleQueue[bool] = SimpleQueue()
        """True wakes a helper thread, False ends it."""
        self._helper_count = helper_count
        self._threads: list[threading.Thread] = []
        self._is_open = False
        self._last_stamp = 0
        """The stamp of the latest write: its number in commit order."""
        self._must_store_stamp = False
        """Whether a unit of the open transaction requested its stamp, so that the commit stores the last stamp."""
        self._cache = QueryCache()
        """Results of the connection that writes."""
        self._lock_file: int | None = None
        self._loop: asyncio.AbstractEventLoop
        self._delivery: CommitDelivery
        self._connection: sqlite3.Connection
        self._cursor: sqlite3.Cursor
        self._loop_cursor: sqlite3.Cursor
        """The cursor for short reads on the event loop's own thread."""

    async def start(self) -> None:
        """Open the database and migrate the schema to the current version."""
        self._loop = asyncio.get_running_loop()
        self._delivery = CommitDelivery(self, self._loop)
        self._lock_file = lock(self._path)
        try:
            opened_future: asyncio.Future[Any] = self._loop.create_future()
            self._start_thread("hubbub-store-writer", self._write_loop, opened_future)
            await opened_future
            if self._path is not None:
                for number in range(1 + self._helper_count):
                    opened_future = self._loop.create_future()
                    self._start_thread(
                        f"hubbub-store-reader-{number}", self._help_loop if number else self._read_loop, opened_future
                    )
                    await opened_future
                loop_connection = self._connect()
                loop_connection.execute("PRAGMA query_only = ON")
                self._loop_cursor = loop_connection.cursor()
        except BaseException:
            self._is_open = True  # Otherwise `close` does nothing.
            await self.close()
            raise
        self._is_open = True

    async def close(self) -> None:
        """Finish accepted units of work, then release all files and threads."""
        if not self._is_open:
            return
        self._is_open = False
        while self._quick_units:
            self._submit(self._quick_units.popleft())
        self._write_queue.put(None)
        self._read_queue.put(None)
        for _ in range(self._helper_count):
            self._helper_signals.put(False)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        if hasattr(self, "_loop_cursor"):
            self._loop_cursor.connection.close()
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._delivery.deliver()
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    async def _run_write(self, work: Callable[[Tx], T], quick: bool, has_updates: bool, key: int) -> T:
        # A quick unit runs on the event loop, and only its commit on the writer thread (decisions/0034).
        if not self._is_open or self._write_queue.qsize() + len(self._quick_units) >= self._queued_units_max:
            raise self._unavailable_error()
        future = self._loop.create_future()
        unit = (work, future, True)
        if not quick:
            self._submit(unit)
        else:
            if not self._quick_units:
                self._loop.call_soon(self._run_quick)
            self._quick_units.append(unit)
        result: T = await future
        return result

    @property
    def queued_units(self) -> int:
        """The number of units of work that wait for a thread or for the connection that writes."""
        return self._write_queue.qsize() + len(self._quick_units) + self._read_queue.qsize() + len(self._pending_reads)

    def _submit(self, entry: QueueEntry) -> None:
        """Put an entry into the writer's queue; the writer owns the connection until it is done."""
        self._submitted_count += 1
        self._write_queue.put(entry)

    def _run_quick(self) -> None:
        """Run the waiting quick units now if the writer is idle, otherwise when it hands the connection over."""
        if self._is_quick_active or not self._quick_units:
            return
        self._is_quick_active = True
        if self._submitted_count == self._completed_count:
            batch = self._run_quick_batch()
            if batch is not None:
                self._submit(batch)
        else:
            handover = Handover(self._loop.create_future())
            handover.reached.add_done_callback(lambda _: self._use_handover(handover))
            self._submit(handover)

    def _use_handover(self, handover: Handover) -> None:
        """Run the quick units on the event loop and return the connection to the writer."""
        batch = None
        try:
            batch = self._run_quick_batch()
        finally:
            handover.finished_batch.put(batch)

    def _run_quick_batch(self) -> Batch | None:
        """Run the waiting quick units in a transaction; return None if the transaction failed."""
        batch = Batch([], [], time.monotonic(), self._loop.create_future())
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            self._run_units(batch, self._take_quick)
        except BaseException as error:
            units = batch.units or [self._quick_units.popleft()]
            self._delivery.add(self._fail_batch(units, batch.finished_units, error))
            self._loop.call_soon(self._end_quick)
            return None
        assert batch.committed is not None
        batch.committed.add_done_callback(self._end_quick)
        return batch

    def _take_quick(self) -> Unit | None:
        return self._quick_units.popleft() if self._quick_units else None

    def _end_quick(self, _: "asyncio.Future[None] | None" = None) -> None:
        self._is_quick_active = False
        self._run_quick()

    async def _run_read(self, work: Callable[[Tx], T], long: bool) -> T:
        # A short read runs on the event loop: passing it to a thread, and competing with that thread for the interpreter
        # at every row, costs several times the read itself (decisions/0003).
        if self._path is not None and not long:
            if not self._is_open:
                raise self._unavailable_error()
            return self._read_on_loop(work)
        queue: SimpleQueue[Any] = self._write_queue if self._path is None else self._read_queue
        if not self._is_open or queue.qsize() >= self._queued_units_max:
            raise self._unavailable_error()
        future = self._loop.create_future()
        if self._path is None:
            self._submit((work, future, False))
        else:
            self._read_queue.put((work, future, False))
        self._unfinished_read_count += 1
        if self._unfinished_read_count > 1 and self._watchdog is None:
            self._watchdog = self._loop.call_later(LONG_READ_SECONDS, self._watch_reads)
        try:
            result: T = await future
        finally:
            self._unfinished_read_count -= 1
        return result

    def _read_on_loop(self, work: Callable[[Tx], T]) -> T:
        cursor = self._loop_cursor
        tx = SqliteReadTx(cursor, None)
        try:
            cursor.execute("BEGIN")
            return work(tx)
        finally:
            tx.end()
            if cursor.connection.in_transaction:
                cursor.execute("ROLLBACK")

    async def check(self) -> None:
        """Raise if the store cannot accept a write now."""
        await self.write(
            lambda tx: tx.run(
                "INSERT INTO meta (name, value) VALUES ('checked', '1')"
                " ON CONFLICT (name) DO UPDATE SET value = CASE meta.value WHEN '1' THEN '0' ELSE '1' END"
            )
        )

    async def serialize(self) -> bytes:
        """Return the whole database as the bytes of a file, taken between two batches."""
        return await self._between_batches(lambda: serialize(self._connection))

    async def restore(self, image: bytes) -> None:
        """Replace the whole database by one that `serialize` returned."""
        await self._between_batches(lambda: self._restore(image))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the database to a new file while it stays in use."""
        if self._path is None:
            await self._between_batches(lambda: copy_to_file(self._connection, path))
        else:
            await asyncio.to_thread(copy_file_in_use, self._path, self._cache_bytes, path)

    def _unavailable_error(self) -> StoreUnavailable:
        return StoreUnavailable("the store is overloaded" if self._is_open else "the store is not open")

    async def _between_batches(self, work: Callable[[], T]) -> T:
        """Run a function on the writer thread between two batches and return its result."""
        if not self._is_open:
            raise self._unavailable_error()
        task = ExclusiveTask(work, self._loop.create_future())
        self._submit(task)
        result: T = await task.future
        return result

    def _start_thread(self, name: str, target: Callable[..., None], opened: "asyncio.Future[Any]") -> None:
        thread = threading.Thread(target=target, args=(opened,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _connect(self) -> sqlite3.Connection:
        return connect(self._path, self._cache_bytes)

    def _open_writer(self) -> None:
        self._connection = self._connect()
        if self._path is None:
            initialize(self._connection, self._image, self._cache_bytes)
        else:
            copy_database = functools.partial(copy_before_upgrade, self._connection, self._path)
            migrations.migrate_sqlite(self._connection, before_upgrade=copy_database)
        self._cursor = self._connection.cursor()
        self._last_stamp = int(self._cursor.execute(SELECT_LAST_STAMP).fetchone()[0])

    def _write_loop(self, opened: "asyncio.Future[Any]") -> None:
        """Open the database and run the entries of the writer's queue; the writer thread runs this."""
        try:
            self._open_writer()
        except BaseException as error:
            if isinstance(error, sqlite3.Error) and is_unavailable(error):
                error = StoreUnavailable(f"cannot open {self._path}: {error}")
            if hasattr(self, "_connection"):
                self._connection.close()
            self._delivery.add([(opened, None, error, None)])
            return
        self._delivery.add([(opened, None, None, None)])
        entry: QueueEntry | None
        while (entry := self._write_queue.get()) is not None:
            if isinstance(entry, Batch):
                self._commit(entry, entry_count=1)
            elif isinstance(entry, ExclusiveTask):
                self._run_exclusive(entry)
            elif isinstance(entry, Handover):
                self._hand_over(entry)
            elif not self._run_batch(entry):
                break
        self._connection.close()

    def _run_exclusive(self, task: ExclusiveTask) -> None:
        finished_unit: FinishedUnit
        try:
            finished_unit = (task.future, task.work(), None, None)
        except BaseException as error:
            finished_unit = (task.future, None, error, None)
        self._completed_count += 1
        self._delivery.add([finished_unit])

    def _hand_over(self, handover: Handover) -> None:
        """Let the event loop use the connection, and commit its batch."""
        self._delivery.add([(handover.reached, None, None, None)])
        batch = handover.finished_batch.get()
        if batch is None:
            self._completed_count += 1
        else:
            self._commit(batch, entry_count=1)

    def _run_batch(self, first_unit: Unit) -> bool:
        """Run and commit all waiting units. Return False once the end of the queue was reached."""
        batch = Batch([], [], time.monotonic())
        entry: QueueEntry | None = first_unit

        def take_unit() -> Unit | None:
            nonlocal entry
            if batch.units:
                if not self._write_queue.qsize():
                    return None
                entry = self._write_queue.get_nowait()
            return entry if isinstance(entry, tuple) else None

        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            self._run_units(batch, take_unit)
        except BaseException as error:
            units = batch.units or [first_unit]
            self._completed_count += len(units)
            self._delivery.add(self._fail_batch(units, batch.finished_units, error))
        else:
            self._commit(batch, entry_count=len(batch.units))
        if isinstance(entry, ExclusiveTask):
            self._run_exclusive(entry)
        elif isinstance(entry, Handover):
            self._hand_over(entry)
        return entry is not None

    def _run_units(self, batch: Batch, take_unit: Callable[[], Unit | None]) -> None:
        """Run units in the open transaction until none is left or the batch is full."""
        units, finished_units = batch.units, batch.finished_units
        self._must_store_stamp = False
        try:
            while len(units) < BATCH_UNITS_MAX and (unit := take_unit()) is not None:
                units.append(unit)
                finished_units.append(self._run_unit(unit, with_savepoint=False, is_first=not finished_units))
                if time.monotonic() > batch.started_at + BATCH_SECONDS_MAX:
                    break
        except BatchRollbackError:
            batch.finished_units = self._rerun_with_savepoints(units)

    def _commit(self, batch: Batch, *, entry_count: int) -> None:
        """Commit a batch and deliver its results; `entry_count` is the number of queue entries it consists of."""
        finished_units = batch.finished_units
        try:
            if self._must_store_stamp:
                self._cursor.execute(UPDATE_LAST_STAMP, (str(self._last_stamp),))
            self._cursor.execute("COMMIT")
            if self.metrics is not None:
                self.metrics.db_batch.observe(len(batch.units))
                self.metrics.db_write_seconds.observe(time.monotonic() - batch.started_at)
        except BaseException as error:
            finished_units = self._fail_batch(batch.units, finished_units, error)
        self._completed_count += entry_count
        if batch.committed is not None:
            finished_units.append((batch.committed, None, None, None))
        self._delivery.add(finished_units)

    def _rerun_with_savepoints(self, units: list[Unit]) -> list[FinishedUnit]:
        """Run a batch again with a savepoint per unit, because one of them failed after it had written.

        This is rare, since most units fail before they write; the other batches save two statements per unit."""
        self._roll_back("ROLLBACK")
        self._cursor.execute("BEGIN IMMEDIATE")
        self._must_store_stamp = False
        return [self._run_unit(unit, with_savepoint=True, is_first=False) for unit in units]

    def _run_unit(self, unit: Unit, *, with_savepoint: bool, is_first: bool) -> FinishedUnit:
        """Run one unit of the batch. If it fails, roll back only this unit; raise BatchRollbackError if that is not possible.

        `with_savepoint` opens a savepoint before its first write; `is_first` means that the transaction contains no other unit."""
        work, future, can_write = unit
        if not can_write:
            return self._read_in_batch(work, future)
        self._last_stamp += 1
        tx = SqliteTx(self._cursor, self._last_stamp, with_savepoint, self._cache)
        try:
            result = work(tx)
            if tx.failure is not None:
                raise tx.failure
        except BaseException as error:
            tx.end()
            if not self._connection.in_transaction:
                raise  # SQLite rolled the whole transaction back, including the units before this one.
            if tx.has_written:
                if with_savepoint:
                    self._roll_back("ROLLBACK TO unit")
                    self._cursor.execute("RELEASE unit")
                elif is_first:
                    self._roll_back("ROLLBACK")
                    self._cursor.execute("BEGIN IMMEDIATE")
                else:
                    raise BatchRollbackError from error
            return (future, None, error, None)
        tx.end()
        if tx.has_written and with_savepoint:
            self._cursor.execute("RELEASE unit")
        self._must_store_stamp = self._must_store_stamp or tx.is_stamp_requested
        return (future, result, None, tx)

    def _roll_back(self, statement: str) -> None:
        self._cache.clear()
        self._cursor.execute(statement)

    def _read_in_batch(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> FinishedUnit:
        """Run a read of an in-memory database; it sees the units before it, whose events are published first."""
        tx = SqliteReadTx(self._cursor, self._last_stamp)
        self._cursor.execute("PRAGMA query_only = ON")
        try:
            return (future, work(tx), None, None)
        except BaseException as error:
            return (future, None, error, None)
        finally:
            tx.end()
            self._cursor.execute("PRAGMA query_only = OFF")

    def _fail_batch(
        self, units: list[Unit], finished_units: list[FinishedUnit], error: BaseException
    ) -> list[FinishedUnit]:
        """Roll back a batch that could not be run or committed. Each unit gets its own error, or else StoreUnavailable."""
        log.error("A batch of %d units of work failed", len(units), exc_info=error)
        try:
            self._cache.clear()
            if self._connection.in_transaction:
                self._roll_back("ROLLBACK")
        except sqlite3.Error:
            log.exception("A failed batch could not be rolled back")
        errors = {id(future): error for future, _, error, _ in finished_units if error is not None}
        message = f"the store could not commit: {error}"
        return [(future, None, errors.get(id(future)) or StoreUnavailable(message), None) for _, future, _ in units]

    def _open_reader(self, opened: "asyncio.Future[Any]") -> sqlite3.Connection | None:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
        except BaseException as error:
            if connection is not None:
                connection.close()
            self._delivery.add([(opened, None, error, None)])
            return None
        self._delivery.add([(opened, None, None, None)])
        return connection

    def _read_loop(self, opened: "asyncio.Future[Any]") -> None:
        """Run queued reads in batches; the first reader thread runs this."""
        connection = self._open_reader(opened)
        if connection is None:
            return
        cursor = connection.cursor()
        while self._collect_reads(self._read_queue.get()):
            self._read_batch(connection, cursor, self._pending_reads)
        connection.close()

    def _watch_reads(self) -> None:
        """Wake a helper when reads wait and none has been started for a while."""
        self._watchdog = None
        if self._unfinished_read_count > 1:
            has_waiting = bool(self._pending_reads) or self._read_queue.qsize() > 0
            if (
                has_waiting
                and not self._helper_signals.qsize()
                and time.monotonic() - self._read_started_at > LONG_READ_SECONDS
            ):
                self._helper_signals.put(True)
            self._watchdog = self._loop.call_later(LONG_READ_SECONDS, self._watch_reads)

    def _collect_reads(self, unit: Unit | None) -> bool:
        """Collect the waiting reads, which share the next snapshot. Return False once the end of the queue was reached."""
        while unit is not None:
            self._pending_reads.append(unit)
            if len(self._pending_reads) >= READ_BATCH_UNITS_MAX or not self._read_queue.qsize():
                return True
            try:
                unit = self._read_queue.get_nowait()
            except Empty:  # A helper thread took the last read.
                return True
        if self._pending_reads:
            self._read_queue.put(None)
        return bool(self._pending_reads)

    def _help_loop(self, opened: "asyncio.Future[Any]") -> None:
        """Run waiting reads after a signal that a long read blocks the first reader; helper threads run this.

        Without the signal, they would compete with the first reader for the interpreter."""
        connection = self._open_reader(opened)
        if connection is None:
            return
        cursor = connection.cursor()
        while self._helper_signals.get():
            while self._pending_reads or self._read_queue.qsize():
                reads: deque[Unit] = deque()
                try:
                    reads.append(self._pending_reads.popleft())
                except IndexError:
                    try:
                        unit = self._read_queue.get_nowait()
                    except Empty:
                        break
                    if unit is None:
                        self._read_queue.put(None)
                        break
                    reads.append(unit)
                self._read_batch(connection, cursor, reads)
        connection.close()

    def _read_batch(self, connection: sqlite3.Connection, cursor: sqlite3.Cursor, reads: "deque[Unit]") -> None:
        """Run the given reads over one snapshot."""
        finished_units: list[FinishedUnit] = []
        last_delivery_at = time.monotonic()
        last_stamp: int | None = None
        try:
            while reads:
                try:
                    work, future, _ = reads.popleft()
                except IndexError:  # A helper thread took the last read.
                    break
                self._read_started_at = time.monotonic()
                is_in_snapshot = connection.in_transaction
                tx = SqliteReadTx(cursor, last_stamp if is_in_snapshot else None)
                try:
                    if not is_in_snapshot:  # The first read, or an I/O error ended the transaction of the previous one.
                        cursor.execute("BEGIN")
                    finished_units.append((future, work(tx), None, None))
                except BaseException as error:
                    finished_units.append((future, None, error, None))
                last_stamp = tx.last_stamp
                tx.end()
                if time.monotonic() - last_delivery_at > READ_DELIVERY_SECONDS:
                    self._delivery.add(finished_units)
                    finished_units = []
                    last_delivery_at = time.monotonic()
        finally:
            try:
                if connection.in_transaction:
                    cursor.execute("ROLLBACK")
            except sqlite3.Error:
                log.exception("A read transaction could not be ended")
            if finished_units:
                self._delivery.add(finished_units)

    def _restore(self, image: bytes) -> None:
        self._cache.clear()
        self._last_stamp = restore(self._connection, image, self._last_stamp)
