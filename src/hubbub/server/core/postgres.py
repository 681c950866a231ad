"""The PostgreSQL store: a connection pool and worker threads that run synchronous units of work.

Write transactions are SERIALIZABLE and are retried after a conflict, so a unit of work can assume that it runs alone,
as on SQLite (decisions/0003). Reads run over one REPEATABLE READ snapshot.
"""

import asyncio
import itertools
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, Final, TypeVar

import psycopg
from psycopg import Connection, Cursor, IsolationLevel
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.errors import DeadlockDetected, InFailedSqlTransaction, ReadOnlySqlTransaction, SerializationFailure
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool

from hubbub.server.core import migrations
from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit
from hubbub.server.core.store import Database, Snapshot, StoreUnavailable, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

THREAD_COUNT: Final = 8
CONCURRENT_ATTEMPTS_MAX: Final = 2
"""Attempts of a conflicting unit of work that run concurrently with other units of this process."""
EXCLUSIVE_SECONDS_MAX: Final = 5.0
"""How long a unit of work is retried while other writes of this process wait, before the caller gets StoreUnavailable."""
BACKOFF_SECONDS: Final = 0.001
BACKOFF_SECONDS_MAX: Final = 0.1
POOL_TIMEOUT_SECONDS: Final = 5.0
QUEUED_UNITS_MAX: Final = 10_000
PREPARE_THRESHOLD: Final = 3
PREPARED_MAX: Final = 512

_backoff_random = random.Random()
"""A private generator: if the global one were seeded, all processes would back off equally and collide again."""

_TOKEN = re.compile(
    r"""
    (?P<verbatim> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ )
    | (?P<placeholder> \? )
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4096)
def translate_placeholders(sql: str) -> bytes:
    """Convert `?` placeholders to psycopg's, except in literals and comments."""
    escaped = sql.replace("%", "%%")
    return _TOKEN.sub(lambda token: "%s" if token["placeholder"] else token[0], escaped).encode()


class _BoolDumper(Dumper):
    """Stores booleans as 0 or 1, as SQLite does: boolean columns are SMALLINT or INTEGER in both stores."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: Any) -> bytes:
        """Return the text of the number."""
        return b"1" if obj else b"0"


class _BoolLoader(Loader):
    """Loads the result of a comparison as 0 or 1, as SQLite does."""

    def load(self, data: Buffer) -> int:
        """Return 1 for `t`, otherwise 0."""
        return 1 if bytes(data) == b"t" else 0


class _NumericLoader(Loader):
    """Loads the SUM of BIGINT columns, which is NUMERIC, as an integer, as SQLite does."""

    def load(self, data: Buffer) -> int | float:
        """Return an int, or a float if there are decimals."""
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def register_adapters(context: AdaptContext) -> None:
    """Register dumpers and loaders so that values behave as on SQLite."""
    adapters = context.adapters
    assert adapters is not None
    # One integer width, so that a statement is prepared once and not once per parameter size.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)


class PostgresSnapshot:
    """The transactions visible in a snapshot, parsed from `pg_current_snapshot()`: `xmin:xmax:running,...`."""

    __slots__ = ("_running", "end")

    def __init__(self, text: str) -> None:
        _, xmax, running = text.split(":")
        self.end = int(xmax)
        self._running = frozenset(map(int, running.split(","))) if running else frozenset()

    def covers(self, stamp: int) -> bool:
        """Return whether the writes of the transaction with this stamp were visible."""
        return stamp < self.end and stamp not in self._running


class PostgresTx(Tx):
    """One attempt at a unit of work."""

    dialect = "postgres"

    def __init__(self, cursor: Cursor) -> None:
        super().__init__()
        self._cursor = cursor
        self.transaction_id: int | None = None
        """The transaction ID, or None until it is requested."""
        self._snapshot: PostgresSnapshot | None = None

    @property
    def stamp(self) -> int:
        """The transaction ID; the first access assigns it."""
        if self.transaction_id is None:
            self.transaction_id = int(self.value("SELECT pg_current_xact_id()::text"))
        return self.transaction_id

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that this transaction sees."""
        if self._snapshot is None:
            self._snapshot = PostgresSnapshot(self.value("SELECT pg_current_snapshot()::text"))
        return self._snapshot

    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return every row."""
        cursor = self._cursor.execute(translate_placeholders(sql), parameters)
        return cursor.fetchall() if cursor.description is not None else []

    def run(self, sql: str, *parameters: Any) -> int:
        """Execute a statement and return the number of affected rows."""
        return self._cursor.execute(translate_placeholders(sql), parameters).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once per row of parameters."""
        if rows:
            self._cursor.executemany(translate_placeholders(sql), rows)


_Unit = tuple[Callable[[Tx], Any], "asyncio.Future[Any]", bool]
"""The function, the future that waits for it, and whether it may write."""


class _StaleConnection(Exception):
    """The connection was lost before anything was committed."""


class _LostInCommit(Exception):
    """The connection was lost during the commit, so the outcome is unknown."""

    def __init__(self, result: Any, tx: PostgresTx) -> None:
        super().__init__("the connection was lost during the commit")
        self.result = result
        self.tx = tx


class _CommitOrder:
    """Delivers commits in their order, although worker threads finish in any order.

    A unit that builds on another commit takes its number after that commit's number, because it can only start its
    commit later. Delivery by number therefore has the order that readers of the rows see. Only delivery waits, not the
    commit."""

    def __init__(self, delivery: CommitDelivery) -> None:
        self._delivery = delivery
        self._lock = threading.Lock()
        self._next = 0
        self._delivered = 0
        self._finished_units: dict[int, list[FinishedUnit]] = {}

    def take(self) -> int:
        """Return the number of the next commit; call it right before the commit, and `end` with the number after it."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def end(self, number: int, *finished_units: FinishedUnit) -> None:
        """Record that the commit of this number succeeded, with its results, or failed, without any."""
        with self._lock:
            self._finished_units[number] = list(finished_units)
            ready: list[FinishedUnit] = []
            while self._delivered in self._finished_units:
                ready += self._finished_units.pop(self._delivered)
                self._delivered += 1
            if ready:
                self._delivery.add(ready)


class _WriteLock:
    """Lets any number of threads write at the same time, or one thread alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._writers = 0
        self._is_exclusive = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Write beside other threads, after the exclusive writer has finished."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_exclusive)
            self._writers += 1
        try:
            yield
        finally:
            with self._condition:
                self._writers -= 1
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Write alone: wait for the running writers and hold back all others."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_exclusive)
            self._is_exclusive = True
            self._condition.wait_for(lambda: not self._writers)
        try:
            yield
        finally:
            with self._condition:
                self._is_exclusive = False
                self._condition.notify_all()


def _back_off(attempt: int) -> None:
    """Wait for a random time that grows with the number of failed attempts."""
    time.sleep(_backoff_random.uniform(0, min(BACKOFF_SECONDS_MAX, BACKOFF_SECONDS * 2**attempt)))


class PostgresDatabase(Database):
    """A PostgreSQL database shared by any number of processes."""

    def __init__(self, url: str, threads: int = THREAD_COUNT, *, queued_units_max: int = QUEUED_UNITS_MAX) -> None:
        super().__init__()
        self._url = url
        self._thread_count = threads
        self._waiting_max = queued_units_max
        self._units: SimpleQueue[_Unit | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._write_lock = _WriteLock()
        self._is_open = False
        self._loop: asyncio.AbstractEventLoop
        self._delivery: CommitDelivery
        self._commit_order: _CommitOrder
        self._pool: ConnectionPool[Connection]

    async def start(self) -> None:
        """Connect and migrate the schema to the current version."""
        self._loop = asyncio.get_running_loop()
        self._delivery = CommitDelivery(self, self._loop)
        self._commit_order = _CommitOrder(self._delivery)
        await asyncio.to_thread(self._connect)
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
        for _ in self._threads:
            self._units.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        self._delivery.deliver()
        await asyncio.to_thread(self._pool.close)

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run a function in a serializable transaction, with retries after conflicts.

        An exception rolls the transaction back and is raised to the caller."""
        result: T = await self._accept(work, True)
        return result

    async def read(self, work: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run a function over a consistent snapshot; it must not write."""
        result: T = await self._accept(work, False)
        return result

    async def check(self) -> None:
        """Raise if the store cannot accept a write now."""
        await self.write(lambda tx: tx.stamp)

    def _accept(self, work: Callable[[Tx], Any], writes: bool) -> "asyncio.Future[Any]":
        """Queue a unit of work and return the future of its result."""
        if not self._is_open:
            raise StoreUnavailable("the store is not open")
        if self._units.qsize() >= self._waiting_max:
            raise StoreUnavailable("the store is overloaded")
        future = self._loop.create_future()
        self._units.put((work, future, writes))
        return future

    def _connect(self) -> None:
        try:
            with psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection:
                migrations.migrate_postgres(connection)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"cannot connect to the database: {error}") from error
        self._pool = ConnectionPool(
            self._url,
            min_size=min(2, self._thread_count),
            max_size=self._thread_count,
            timeout=POOL_TIMEOUT_SECONDS,
            configure=_configure,
            # Every unit has already committed or rolled back; a reset would cost a round trip.
            reset=None,
            open=False,
            name="hubbub",
        )
        self._pool.open()

    def _work_loop(self) -> None:
        """Run queued units until the store is closed; one thread runs this."""
        while (unit := self._units.get()) is not None:
            work, future, writes = unit
            try:
                if writes:
                    self._write(work, future)
                else:
                    self._delivery.add([(future, self._read(work), None, None)])
            except BaseException as error:
                self._delivery.add([(future, None, error, None)])

    def _read(self, work: Callable[[Tx], Any]) -> Any:
        """Run a read, once more on a new connection if the first was stale."""
        try:
            return self._read_once(work)
        except _StaleConnection:
            self._pool.check()
        try:
            return self._read_once(work)
        except _StaleConnection as error:
            raise StoreUnavailable(str(error)) from error

    def _read_once(self, work: Callable[[Tx], Any]) -> Any:
        try:
            with self._pool.connection() as connection:
                try:
                    connection.read_only = True
                    connection.isolation_level = IsolationLevel.REPEATABLE_READ
                    return work(PostgresTx(connection.cursor()))
                except psycopg.OperationalError as error:
                    if _is_broken(connection):
                        raise _StaleConnection(str(error)) from error
                    raise
                finally:
                    _end_transaction(connection)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"the database is not usable: {error}") from error

    def _write(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> None:
        """Run a unit until it commits, fails, or exhausts its attempts, and deliver the result."""
        for attempt in range(CONCURRENT_ATTEMPTS_MAX):
            with self._write_lock.shared():
                if self._try_once(work, future):
                    return
            _back_off(attempt)
        # The unit would keep losing to newer ones, so other writes of this process wait for it. From here on only
        # other processes can collide with it.
        with self._write_lock.exclusive():
            deadline = time.monotonic() + EXCLUSIVE_SECONDS_MAX
            for attempt in itertools.count():
                if self._try_once(work, future):
                    return
                if time.monotonic() > deadline:
                    break
                _back_off(attempt)
        raise StoreUnavailable("the store is contended: every attempt collided with another writer")

    def _try_once(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> bool:
        """Run a unit once and deliver the result, on a new connection if the first was stale.

        Return False on a conflict."""
        for is_last_try in (False, True):
            try:
                with self._pool.connection() as connection:
                    started = time.monotonic()
                    result, tx, number = self._attempt(connection, work)
                    self._commit_order.end(number, (future, result, None, tx))
                    if self.metrics is not None:
                        self.metrics.db_seconds.observe(time.monotonic() - started)
                    return True
            except (SerializationFailure, DeadlockDetected):
                if self.metrics is not None:
                    self.metrics.db_retries.inc()
                return False
            except _LostInCommit as lost:
                self._delivery.add([self._resolve_lost_commit(future, lost)])
                return True
            except _StaleConnection as error:
                # Nothing was committed, so the unit can be repeated without involving the caller.
                if is_last_try:
                    raise StoreUnavailable(f"the database is not usable: {error}") from error
                self._pool.check()
            except (psycopg.OperationalError, ReadOnlySqlTransaction) as error:
                raise StoreUnavailable(f"the database is not usable: {error}") from error
        return False

    def _attempt(self, connection: Connection, work: Callable[[Tx], Any]) -> tuple[Any, PostgresTx, int]:
        """Run and commit a unit. Return its result, its transaction and the number that the caller passes to `end`."""
        try:
            connection.read_only = False
            connection.isolation_level = IsolationLevel.SERIALIZABLE
            tx = PostgresTx(connection.cursor())
            result = work(tx)
            if connection.info.transaction_status == TransactionStatus.INERROR:
                # The unit swallowed an error; COMMIT would silently roll back.
                raise InFailedSqlTransaction("a unit of work continued after one of its statements failed")
            number = self._commit_order.take()
            try:
                connection.commit()
            except BaseException as error:
                # Other commits need not wait until the outcome is known.
                self._commit_order.end(number)
                if isinstance(error, psycopg.OperationalError) and _is_broken(connection):
                    raise _LostInCommit(result, tx) from error
                raise
            return result, tx, number
        except psycopg.OperationalError as error:
            if _is_broken(connection):
                raise _StaleConnection(str(error)) from error
            raise
        finally:
            _end_transaction(connection)

    def _resolve_lost_commit(self, future: "asyncio.Future[Any]", lost: _LostInCommit) -> FinishedUnit:
        """Ask the server for the outcome of a commit whose connection was lost.

        Without a transaction ID the outcome stays unknown, and the result is StoreUnavailable."""
        if lost.tx.transaction_id is not None:
            try:
                # A separate connection: those of the pool may be as broken as the lost one.
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    for _ in range(20):
                        cursor = connection.execute(
                            "SELECT pg_xact_status(%s::text::xid8)", (str(lost.tx.transaction_id),)
                        )
                        status = (cursor.fetchone() or (None,))[0]
                        if status == "committed":
                            return (future, lost.result, None, lost.tx)
                        if status != "in progress":
                            break
                        time.sleep(0.05)
            except psycopg.Error:
                log.exception("The outcome of transaction %d is unknown", lost.tx.transaction_id)
        return (future, None, StoreUnavailable(str(lost)), None)


def _configure(connection: Connection) -> None:
    register_adapters(connection)
    connection.prepare_threshold = PREPARE_THRESHOLD
    connection.prepared_max = PREPARED_MAX


def _is_broken(connection: Connection) -> bool:
    return connection.closed or connection.info.transaction_status == TransactionStatus.UNKNOWN


def _end_transaction(connection: Connection) -> None:
    """Leave the connection outside any transaction; the pool replaces a broken one."""
    if connection.closed or connection.info.transaction_status == TransactionStatus.IDLE:
        return
    try:
        connection.rollback()
    except psycopg.OperationalError:
        log.info("A database connection broke during a rollback")
