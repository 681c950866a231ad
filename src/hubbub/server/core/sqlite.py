"""The embedded store: SQLite with one writer thread that commits everything waiting at once, and readers beside it.

A caller's unit of work joins the queue; the writer takes what is there, runs it all in one transaction, and syncs the disk once.
When a unit wrote and then refused, the batch is run anew with a savepoint for each, so that it alone is undone. Nobody is
answered, and no event leaves, before that sync.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from hubbub.server.core import migrations
from hubbub.server.core.answers import Answer, Answers
from hubbub.server.core.sqlite_tx import GET_SEQUENCE, SqliteReadTx, SqliteTx, is_unavailable
from hubbub.server.core.store import Database, StoreUnavailable, Tx

try:
    import fcntl
except ImportError:  # Windows; there SQLite's own locks must do.
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH_UNITS: Final = 256
"""A batch commits after so many units,"""
BATCH_SECONDS: Final = 0.005
"""or after so long, whichever comes first."""
WAITING_MAX: Final = 20_000
"""Past so many waiting units new ones are refused rather than kept waiting for seconds."""
READ_BATCH_UNITS: Final = 32
"""So many reads share a snapshot at most."""
READ_BATCH_SECONDS: Final = 0.001
"""Answers of such a batch leave at least so often."""
LONG_READ_SECONDS: Final = 0.003
"""After so long in one read, another thread takes over what waits behind it."""
CACHED_STATEMENTS: Final = 512
CACHE_BYTES: Final = 64 * 1024 * 1024
"""Of pages that each connection keeps at most."""

_SET_SEQUENCE: Final = "UPDATE meta SET value = ? WHERE name = 'commit_seq'"


class _UndoError(Exception):
    """A unit wrote and then refused, and the units before it are in the same transaction."""


class _Job:
    """Something for the writer thread to do between batches, with the connection for itself."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self.work = work
        self.future = future


_Unit = tuple[Callable[[Tx], Any], "asyncio.Future[Any]", bool]
"""The work, who waits for it, and whether it may write."""


@dataclass(slots=True)
class _Batch:
    """Units that have run in the open transaction, and what their callers are told once it is committed."""

    units: list[_Unit]
    answers: list[Answer]
    began: float
    committed: "asyncio.Future[None] | None" = None
    """Who else waits for the commit."""


class _Turn:
    """The loop's turn with the connection, between what the writer was given before and after: it runs quick units, and the
    writer commits them."""

    __slots__ = ("ended", "reached")

    def __init__(self, reached: "asyncio.Future[None]") -> None:
        self.reached = reached
        self.ended: SimpleQueue[_Batch | None] = SimpleQueue()


_Task = _Unit | _Job | _Batch | _Turn
"""What the writer is given."""


class SqliteDatabase(Database):
    """A database file, or without a path one in memory that ends with the process."""

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        *,
        helpers: int = 2,
        waiting_max: int = WAITING_MAX,
        cache_bytes: int = CACHE_BYTES,
    ) -> None:
        super().__init__()
        self._path = None if path is None else Path(path)
        self._waiting_max = waiting_max
        self._cache_bytes = cache_bytes
        self._writes: SimpleQueue[_Task | None] = SimpleQueue()
        self._given = 0
        self._done = 0
        """What the writer was given so far, and how much of it is done: when all is, the connection is free."""
        self._quick: deque[_Unit] = deque()
        self._turn = False
        """Whether quick units wait for the connection, or for their commit; those that come meanwhile gather."""
        self._reads: SimpleQueue[_Unit | None] = SimpleQueue()
        self._hand: deque[_Unit] = deque()
        self._read_begun = 0.0
        self._unanswered = 0
        self._watch: asyncio.TimerHandle | None = None
        self._help: SimpleQueue[bool] = SimpleQueue()
        self._helpers = helpers
        self._threads: list[threading.Thread] = []
        self._open = False
        self._sequence = 0
        self._stamped = False
        self._lock_file: int | None = None
        self._loop: asyncio.AbstractEventLoop
        self._answers: Answers
        self._connection: sqlite3.Connection
        self._cursor: sqlite3.Cursor
        self._here: sqlite3.Cursor
        """For short reads on the event loop's own thread."""

    async def start(self) -> None:
        """Open, and bring the schema up to date."""
        self._loop = asyncio.get_running_loop()
        self._answers = Answers(self, self._loop)
        self._lock()
        try:
            opened: asyncio.Future[Any] = self._loop.create_future()
            self._spawn("hubbub-store-writer", self._write_loop, opened)
            await opened
            if self._path is not None:
                for number in range(1 + self._helpers):
                    opened = self._loop.create_future()
                    self._spawn(f"hubbub-store-reader-{number}", self._help_loop if number else self._read_loop, opened)
                    await opened
                here = self._connect()
                here.execute("PRAGMA query_only = ON")
                self._here = here.cursor()
        except BaseException:
            self._open = True
            await self.close()
            raise
        self._open = True

    async def close(self) -> None:
        """Finish what was accepted, then let go of every file and thread."""
        if not self._open:
            return
        self._open = False
        while self._quick:
            self._give(self._quick.popleft())
        self._writes.put(None)
        self._reads.put(None)
        for _ in range(self._helpers):
            self._help.put(False)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        if hasattr(self, "_here"):
            self._here.connection.close()
        if self._watch is not None:
            self._watch.cancel()
        self._answers.deliver()
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run in the next batch; what it raises undoes it alone and is raised here.

        Quick work runs here, on the event loop, as a short read does and for the same reason; only the commit, which waits for
        the disk, is the writer's (decisions/0034)."""
        if not self._open or self._writes.qsize() + len(self._quick) >= self._waiting_max:
            raise self._refusal()
        future = self._loop.create_future()
        unit = (work, future, True)
        if not quick:
            self._give(unit)
        else:
            if not self._quick:
                self._loop.call_soon(self._run_quick)
            self._quick.append(unit)
        result: T = await future
        return result

    def _give(self, task: "_Task") -> None:
        """Let the writer do something, and have the connection meanwhile."""
        self._given += 1
        self._writes.put(task)

    def _run_quick(self) -> None:
        """Run the quick units that wait, and let the writer commit them; if it has other work, after that."""
        if self._turn or not self._quick:
            return
        self._turn = True
        if self._given == self._done:
            batch = self._quick_batch()
            if batch is not None:
                self._give(batch)
        else:
            turn = _Turn(self._loop.create_future())
            turn.reached.add_done_callback(lambda _: self._take_turn(turn))
            self._give(turn)

    def _take_turn(self, turn: _Turn) -> None:
        batch = None
        try:
            batch = self._quick_batch()
        finally:
            turn.ended.put(batch)

    def _quick_batch(self) -> _Batch | None:
        """Quick units, run in a transaction; None where it was lost."""
        batch = _Batch([], [], time.monotonic(), self._loop.create_future())
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            self._run_units(batch, self._take_quick)
        except BaseException as error:
            lost = batch.units or [self._quick.popleft()]
            self._answers.add(self._lose(lost, batch.answers, error))
            self._loop.call_soon(self._end_quick)
            return None
        assert batch.committed is not None
        batch.committed.add_done_callback(self._end_quick)
        return batch

    def _take_quick(self) -> _Unit | None:
        return self._quick.popleft() if self._quick else None

    def _end_quick(self, _: "asyncio.Future[None] | None" = None) -> None:
        self._turn = False
        self._run_quick()

    async def read(self, work: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run over a consistent snapshot; it must not write.

        A short read runs here, on the event loop: handing it to a thread, and fighting that thread for the interpreter at every
        row, costs several times the read itself (decisions/0003)."""
        if self._path is not None and not long:
            if not self._open:
                raise self._refusal()
            return self._read_here(work)
        queue: SimpleQueue[Any] = self._writes if self._path is None else self._reads
        if not self._open or queue.qsize() >= self._waiting_max:
            raise self._refusal()
        future = self._loop.create_future()
        if self._path is None:
            self._give((work, future, False))
        else:
            self._reads.put((work, future, False))
        self._unanswered += 1
        if self._unanswered > 1 and self._watch is None:
            self._watch = self._loop.call_later(LONG_READ_SECONDS, self._watch_reads)
        try:
            result: T = await future
        finally:
            self._unanswered -= 1
        return result

    def _read_here(self, work: Callable[[Tx], T]) -> T:
        cursor = self._here
        tx = SqliteReadTx(cursor, None)
        try:
            cursor.execute("BEGIN")
            return work(tx)
        finally:
            tx.end()
            if cursor.connection.in_transaction:
                cursor.execute("COMMIT")

    async def check(self) -> None:
        """Raise if the store cannot take a write now."""
        await self.write(
            lambda tx: tx.run(
                "INSERT INTO meta (name, value) VALUES ('checked', '1')"
                " ON CONFLICT (name) DO UPDATE SET value = CASE meta.value WHEN '1' THEN '0' ELSE '1' END"
            )
        )

    async def serialize(self) -> bytes:
        """The whole database as the bytes of a file, at a moment between two batches."""
        return await self._between_batches(self._serialize)

    async def restore(self, image: bytes) -> None:
        """Replace the whole database by one that `serialize` gave."""
        await self._between_batches(lambda: self._restore(image))

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the database into a new file while it stays in use."""
        if self._path is None:
            await self._between_batches(lambda: _copy(self._connection, path))
        else:
            await asyncio.to_thread(self._copy_file, path)

    def _refusal(self) -> StoreUnavailable:
        return StoreUnavailable("the store is overloaded" if self._open else "the store is not open")

    async def _between_batches(self, work: Callable[[], T]) -> T:
        if not self._open:
            raise self._refusal()
        job = _Job(work, self._loop.create_future())
        self._give(job)
        result: T = await job.future
        return result

    def _lock(self) -> None:
        """Keep a second process out: commit numbers and events are counted in this one."""
        if self._path is None or fcntl is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock_file = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if self._lock_file is not None:
                os.close(self._lock_file)
                self._lock_file = None
                raise StoreUnavailable(f"another process has {self._path} open") from error
            raise StoreUnavailable(f"{self._path} cannot be opened: {error}") from error
        with contextlib.suppress(OSError):  # SQLite says it better.
            # Left to SQLite it would be readable for all, and so would its companions, which are made as it is.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    def _spawn(self, name: str, target: Callable[..., None], opened: "asyncio.Future[Any]") -> None:
        thread = threading.Thread(target=target, args=(opened,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            isolation_level=None,
            cached_statements=CACHED_STATEMENTS,
            timeout=10.0,
            # The writer's connection also serves the event loop, in turns.
            check_same_thread=False,
        )
        # References are kept by the operations, which must answer with the platform's errors anyway (decisions/0003).
        connection.execute("PRAGMA foreign_keys = OFF")
        # Savepoints keep the pages they may have to restore here.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{self._cache_bytes // 1024}")
        if self._path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA mmap_size = 1073741824")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
            connection.execute("PRAGMA journal_size_limit = 67108864")
        return connection

    def _open_writer(self) -> None:
        self._connection = self._connect()
        if self._path is None:
            migrations.begin_sqlite(self._connection)
        else:
            migrations.migrate_sqlite(self._connection)
        self._cursor = self._connection.cursor()
        self._sequence = int(self._cursor.execute(GET_SEQUENCE).fetchone()[0])

    def _write_loop(self, opened: "asyncio.Future[Any]") -> None:
        try:
            self._open_writer()
        except BaseException as error:
            if isinstance(error, sqlite3.Error) and is_unavailable(error):
                error = StoreUnavailable(f"{self._path} cannot be opened: {error}")
            if hasattr(self, "_connection"):
                self._connection.close()
            self._answers.add([(opened, None, error, None)])
            return
        self._answers.add([(opened, None, None, None)])
        waiting: _Task | None
        while (waiting := self._writes.get()) is not None:
            if isinstance(waiting, _Batch):
                self._commit(waiting, given=1)
            elif isinstance(waiting, _Job):
                self._alone(waiting)
            elif isinstance(waiting, _Turn):
                self._yield(waiting)
            elif not self._batch(waiting):
                break
        self._connection.close()

    def _alone(self, job: _Job) -> None:
        answer: Answer
        try:
            answer = (job.future, job.work(), None, None)
        except BaseException as error:
            answer = (job.future, None, error, None)
        self._done += 1
        self._answers.add([answer])

    def _yield(self, turn: _Turn) -> None:
        """Let the loop have the connection, and commit what it did."""
        self._answers.add([(turn.reached, None, None, None)])
        batch = turn.ended.get()
        if batch is None:
            self._done += 1
        else:
            self._commit(batch, given=1)

    def _batch(self, first: _Unit) -> bool:
        """Run and commit everything that waits; False once the end of the queue was reached."""
        batch = _Batch([], [], time.monotonic())
        waiting: _Task | None = first

        def take() -> _Unit | None:
            nonlocal waiting
            if batch.units:
                if not self._writes.qsize():
                    return None
                waiting = self._writes.get_nowait()
            return waiting if isinstance(waiting, tuple) else None

        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            self._run_units(batch, take)
        except BaseException as error:
            units = batch.units or [first]
            self._done += len(units)
            self._answers.add(self._lose(units, batch.answers, error))
        else:
            self._commit(batch, given=len(batch.units))
        if isinstance(waiting, _Job):
            self._alone(waiting)
        elif isinstance(waiting, _Turn):
            self._yield(waiting)
        return waiting is not None

    def _run_units(self, batch: _Batch, take: Callable[[], _Unit | None]) -> None:
        """Run units in the open transaction, for as long as there are some and a batch may last."""
        units, answers = batch.units, batch.answers
        self._stamped = False
        try:
            while len(units) < BATCH_UNITS and (unit := take()) is not None:
                units.append(unit)
                answers.append(self._unit(unit, guard=False, alone=not answers))
                if time.monotonic() > batch.began + BATCH_SECONDS:
                    break
        except _UndoError:
            batch.answers = self._again(units)

    def _commit(self, batch: _Batch, *, given: int) -> None:
        """Make what has run durable, and tell; `given` says how much of what the writer was given this is."""
        answers = batch.answers
        try:
            if self._stamped:
                self._cursor.execute(_SET_SEQUENCE, (str(self._sequence),))
            self._cursor.execute("COMMIT")
            if self.metrics is not None:
                self.metrics.db_batch.observe(len(batch.units))
                self.metrics.db_seconds.observe(time.monotonic() - batch.began)
        except BaseException as error:
            answers = self._lose(batch.units, answers, error)
        self._done += given
        if batch.committed is not None:
            answers.append((batch.committed, None, None, None))
        self._answers.add(answers)

    def _again(self, units: list[_Unit]) -> list[Answer]:
        """Run a batch anew with a savepoint for each unit, since one of them wrote and then refused.

        That is rare: what refuses mostly does so before it writes. So the other batches are spared two statements a unit."""
        self._cursor.execute("ROLLBACK")
        self._cursor.execute("BEGIN IMMEDIATE")
        self._stamped = False
        return [self._unit(unit, guard=True, alone=False) for unit in units]

    def _unit(self, unit: _Unit, *, guard: bool, alone: bool) -> Answer:
        """Run one unit of the batch; it alone is undone when it fails."""
        work, future, writes = unit
        if not writes:
            return self._read_in_batch(work, future)
        self._sequence += 1
        tx = SqliteTx(self._cursor, self._sequence, guard)
        try:
            result = work(tx)
            if tx.failure is not None:
                raise tx.failure
        except BaseException as error:
            tx.end()
            if not self._connection.in_transaction:
                raise  # SQLite gave up the whole transaction, and with it the units before this one.
            if tx.wrote:
                if guard:
                    self._cursor.execute("ROLLBACK TO unit")
                    self._cursor.execute("RELEASE unit")
                elif alone:
                    self._cursor.execute("ROLLBACK")
                    self._cursor.execute("BEGIN IMMEDIATE")
                else:
                    raise _UndoError from error
            return (future, None, error, None)
        tx.end()
        if tx.wrote and guard:
            self._cursor.execute("RELEASE unit")
        self._stamped = self._stamped or tx.stamped
        return (future, result, None, tx)

    def _read_in_batch(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> Answer:
        """A read of the database in memory: it sees the units before it, whose events leave before its answer."""
        tx = SqliteReadTx(self._cursor, self._sequence)
        self._cursor.execute("PRAGMA query_only = ON")
        try:
            return (future, work(tx), None, None)
        except BaseException as error:
            return (future, None, error, None)
        finally:
            tx.end()
            self._cursor.execute("PRAGMA query_only = OFF")

    def _lose(self, units: list[_Unit], answers: list[Answer], error: BaseException) -> list[Answer]:
        """Undo a batch whose commit failed and tell each of its callers; one that its own work refused stays refused."""
        log.error("a batch of %d units was lost", len(units), exc_info=error)
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except sqlite3.Error:
            log.exception("a lost batch could not be rolled back")
        refused = {id(future): error for future, _, error, _ in answers if error is not None}
        lost = f"the store could not commit: {error}"
        return [(future, None, refused.get(id(future)) or StoreUnavailable(lost), None) for _, future, _ in units]

    def _open_reader(self, opened: "asyncio.Future[Any]") -> sqlite3.Connection | None:
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
        except BaseException as error:
            if connection is not None:
                connection.close()
            self._answers.add([(opened, None, error, None)])
            return None
        self._answers.add([(opened, None, None, None)])
        return connection

    def _read_loop(self, opened: "asyncio.Future[Any]") -> None:
        connection = self._open_reader(opened)
        if connection is None:
            return
        cursor = connection.cursor()
        while self._take(self._reads.get()):
            self._read_batch(connection, cursor, self._hand)
        connection.close()

    def _watch_reads(self) -> None:
        """Send a helper when reads wait and none has begun for a while."""
        self._watch = None
        if self._unanswered > 1:
            waiting = bool(self._hand) or self._reads.qsize() > 0
            if waiting and not self._help.qsize() and time.monotonic() - self._read_begun > LONG_READ_SECONDS:
                self._help.put(True)
            self._watch = self._loop.call_later(LONG_READ_SECONDS, self._watch_reads)

    def _take(self, unit: _Unit | None) -> bool:
        """Take in hand what waits at this moment: one snapshot, not yet begun, is recent enough for all of it."""
        while unit is not None:
            self._hand.append(unit)
            if len(self._hand) >= READ_BATCH_UNITS or not self._reads.qsize():
                return True
            try:
                unit = self._reads.get_nowait()
            except Empty:  # A helper was quicker.
                return True
        if self._hand:
            self._reads.put(None)
        return bool(self._hand)

    def _help_loop(self, opened: "asyncio.Future[Any]") -> None:
        """Stand in while a long read holds up the first reader; more threads at all times only fight for the interpreter."""
        connection = self._open_reader(opened)
        if connection is None:
            return
        cursor = connection.cursor()
        while self._help.get():
            while self._hand or self._reads.qsize():
                hand: deque[_Unit] = deque()
                try:
                    hand.append(self._hand.popleft())
                except IndexError:
                    try:
                        unit = self._reads.get_nowait()
                    except Empty:
                        break
                    if unit is None:
                        self._reads.put(None)
                        break
                    hand.append(unit)
                self._read_batch(connection, cursor, hand)
        connection.close()

    def _read_batch(self, connection: sqlite3.Connection, cursor: sqlite3.Cursor, hand: "deque[_Unit]") -> None:
        """Answer what is in hand from one snapshot."""
        answers: list[Answer] = []
        flushed = time.monotonic()
        seen: int | None = None
        try:
            while hand:
                try:
                    work, future, _ = hand.popleft()
                except IndexError:  # A helper was quicker.
                    break
                self._read_begun = time.monotonic()
                begun = connection.in_transaction
                tx = SqliteReadTx(cursor, seen if begun else None)
                try:
                    if not begun:  # This is the first one, or the disk failed the one before.
                        cursor.execute("BEGIN")
                    answers.append((future, work(tx), None, None))
                except BaseException as error:
                    answers.append((future, None, error, None))
                seen = tx.seen
                tx.end()
                if time.monotonic() - flushed > READ_BATCH_SECONDS:
                    self._answers.add(answers)
                    answers = []
                    flushed = time.monotonic()
        finally:
            try:
                if connection.in_transaction:
                    cursor.execute("COMMIT")
            except sqlite3.Error:
                log.exception("a read could not be ended")
            if answers:
                self._answers.add(answers)

    def _serialize(self) -> bytes:
        image = bytearray(self._connection.serialize())
        # Bytes 18 and 19 of the header say "write-ahead log", which an image without its log cannot have.
        image[18:20] = b"\x01\x01"
        return bytes(image)

    def _restore(self, image: bytes) -> None:
        source = sqlite3.connect(":memory:", isolation_level=None)
        try:
            source.deserialize(image)
            migrations.migrate_sqlite(source)
            # Numbers given out since the image was made are never given again.
            found = int(source.execute(GET_SEQUENCE).fetchone()[0])
            self._sequence = max(self._sequence, found)
            source.execute(_SET_SEQUENCE, (str(self._sequence),))
            source.backup(self._connection)
        finally:
            source.close()

    def _copy_file(self, path: str | os.PathLike[str]) -> None:
        source = self._connect()
        try:
            _copy(source, path)
        finally:
            source.close()


def is_locked(path: Path) -> bool:
    """Whether a process has the database open now."""
    lock = Path(f"{path}.lock")
    if not os.access(lock, os.R_OK | os.W_OK) or fcntl is None:
        return False
    handle = os.open(lock, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _copy(source: sqlite3.Connection, path: str | os.PathLike[str]) -> None:
    # Before SQLite makes it, and for its owner only.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    target = sqlite3.connect(path)
    try:
        source.backup(target)
    finally:
        target.close()
