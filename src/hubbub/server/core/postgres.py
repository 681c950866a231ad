"""The shared store: PostgreSQL through a pool of connections, with the same synchronous units of work in worker threads.

Writes run SERIALIZABLE and are run again when they collide, so a unit may reason as if it were alone, as it is on SQLite
(decisions/0003). Reads run over one REPEATABLE READ snapshot.
"""

import asyncio
import logging
import random
import re
import threading
import time
from collections.abc import Callable, Sequence
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
from hubbub.server.core.answers import Answer, Answers
from hubbub.server.core.store import Database, Snapshot, StoreUnavailable, Tx

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS: Final = 8
FREE_ATTEMPTS: Final = 2
"""A colliding unit is run so often beside the others,"""
ALONE_ATTEMPTS: Final = 8
"""and then so often as the only one of this process, before its caller hears that the store is contended."""
BACKOFF_SECONDS: Final = 0.001
POOL_TIMEOUT_SECONDS: Final = 5.0
WAITING_MAX: Final = 10_000
PREPARE_THRESHOLD: Final = 3
PREPARED_MAX: Final = 512

_luck = random.Random()
"""Our own: where somebody seeds the module's, processes would draw the same lots and collide again."""

_TOKEN = re.compile(
    r"""
    (?P<verbatim> '(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ )
  | (?P<place> \? )
    """,
    re.VERBOSE | re.DOTALL,
)


@lru_cache(maxsize=4096)
def translate(sql: str) -> bytes:
    """The statement with psycopg's placeholders; question marks in literals and comments stay."""
    escaped = sql.replace("%", "%%")
    return _TOKEN.sub(lambda token: "%s" if token["place"] else token[0], escaped).encode()


class _BoolDumper(Dumper):
    """True is 1, as SQLite has it: such columns are SMALLINT or INTEGER on both stores."""

    oid = psycopg.adapters.types["int8"].oid

    def dump(self, obj: Any) -> bytes:
        """The number's text."""
        return b"1" if obj else b"0"


class _BoolLoader(Loader):
    """What a comparison yields is 0 or 1 on both stores."""

    def load(self, data: Buffer) -> int:
        """One for `t`."""
        return 1 if bytes(data) == b"t" else 0


class _NumericLoader(Loader):
    """The SUM of BIGINT is NUMERIC here and an integer on SQLite."""

    def load(self, data: Buffer) -> int | float:
        """An int, unless there are decimals."""
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


def adapt(context: AdaptContext) -> None:
    """Make values come and go as they do on SQLite."""
    adapters = context.adapters
    assert adapters is not None
    # One width for all integers, so that a statement is prepared once and not per size of its parameters.
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(bool, _BoolDumper)
    adapters.register_loader("bool", _BoolLoader)
    adapters.register_loader("numeric", _NumericLoader)


class PostgresSnapshot:
    """The transactions a snapshot saw, as `pg_current_snapshot` tells them: `xmin:xmax:running,...`."""

    __slots__ = ("_running", "end")

    def __init__(self, text: str) -> None:
        _, following, running = text.split(":")
        self.end = int(following)
        self._running = frozenset(map(int, running.split(","))) if running else frozenset()

    def covers(self, stamp: int) -> bool:
        """Whether what that transaction wrote was visible."""
        return stamp < self.end and stamp not in self._running


class PostgresTx(Tx):
    """One attempt at a unit of work."""

    dialect = "postgres"

    def __init__(self, cursor: Cursor) -> None:
        super().__init__()
        self._cursor = cursor
        self.number: int | None = None
        """The transaction's id, once someone asked."""
        self._snapshot: PostgresSnapshot | None = None

    @property
    def stamp(self) -> int:
        """The transaction's id; asking assigns it."""
        if self.number is None:
            self.number = int(self.value("SELECT pg_current_xact_id()::text"))
        return self.number

    @property
    def snapshot(self) -> Snapshot:
        """What this transaction sees."""
        if self._snapshot is None:
            self._snapshot = PostgresSnapshot(self.value("SELECT pg_current_snapshot()::text"))
        return self._snapshot

    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Every row."""
        cursor = self._cursor.execute(translate(sql), parameters)
        return cursor.fetchall() if cursor.description is not None else []

    def run(self, sql: str, *parameters: Any) -> int:
        """Execute, and say how many rows it touched."""
        return self._cursor.execute(translate(sql), parameters).rowcount

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute once per row."""
        if rows:
            self._cursor.executemany(translate(sql), rows)


_Unit = tuple[Callable[[Tx], Any], "asyncio.Future[Any]", bool]
"""The work, who waits for it, and whether it may write."""


class _Stale(Exception):
    """The connection was gone before anything was committed."""


class _LostInCommit(Exception):
    """The connection went away while it was committing, so only the server knows."""

    def __init__(self, result: Any, tx: PostgresTx) -> None:
        super().__init__("the connection was lost during the commit")
        self.result = result
        self.tx = tx


class _Turns:
    """Lets commits be told in their order, though threads come back from them in any.

    Whoever builds on another's commit takes a turn after that one did, since it could only begin to commit later; so what is told
    by turns is told in the order that readers of the rows would see. Nobody waits to commit, only to be told."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self._next = 0
        self._told = 0
        self._ended: dict[int, list[Answer]] = {}

    def take(self) -> int:
        """A turn, right before a commit; it must be ended."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def end(self, turn: int, *answers: Answer) -> None:
        """The commit came back, with these answers, or failed, with none."""
        with self._lock:
            self._ended[turn] = list(answers)
            ready: list[Answer] = []
            while self._told in self._ended:
                ready += self._ended.pop(self._told)
                self._told += 1
            if ready:
                self._answers.add(ready)


class PostgresDatabase(Database):
    """A PostgreSQL database that any number of processes share."""

    def __init__(self, url: str, threads: int = THREADS, *, waiting_max: int = WAITING_MAX) -> None:
        super().__init__()
        self._url = url
        self._thread_count = threads
        self._waiting_max = waiting_max
        self._units: SimpleQueue[_Unit | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._contended = threading.Lock()
        self._gate = threading.Event()
        self._gate.set()
        self._open = False
        self._loop: asyncio.AbstractEventLoop
        self._answers: Answers
        self._turns: _Turns
        self._pool: ConnectionPool[Connection]

    async def start(self) -> None:
        """Connect, and bring the schema up to date."""
        self._loop = asyncio.get_running_loop()
        self._answers = Answers(self, self._loop)
        self._turns = _Turns(self._answers)
        await asyncio.to_thread(self._connect)
        for number in range(self._thread_count):
            thread = threading.Thread(target=self._work_loop, name=f"hubbub-store-{number}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._open = True

    async def close(self) -> None:
        """Finish what was accepted, then let go of every connection and thread."""
        if not self._open:
            return
        self._open = False
        for _ in self._threads:
            self._units.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._threads.clear()
        self._answers.deliver()
        await asyncio.to_thread(self._pool.close)

    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run in a serializable transaction, again if it collides; what it raises undoes it and is raised here."""
        result: T = await self._accept(work, True)
        return result

    async def read(self, work: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run over a consistent snapshot; it must not write."""
        result: T = await self._accept(work, False)
        return result

    async def check(self) -> None:
        """Raise if the store cannot take a write now."""
        await self.write(lambda tx: tx.stamp)

    def _accept(self, work: Callable[[Tx], Any], writes: bool) -> "asyncio.Future[Any]":
        if not self._open:
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
            raise StoreUnavailable(f"the database cannot be reached: {error}") from error
        self._pool = ConnectionPool(
            self._url,
            min_size=min(2, self._thread_count),
            max_size=self._thread_count,
            timeout=POOL_TIMEOUT_SECONDS,
            configure=_configure,
            # The end of a unit has already rolled back or committed; asking again would cost a round trip.
            reset=None,
            open=False,
            name="hubbub",
        )
        self._pool.open()

    def _work_loop(self) -> None:
        while (unit := self._units.get()) is not None:
            work, future, writes = unit
            try:
                if writes:
                    self._write(work, future)
                else:
                    self._answers.add([(future, self._read(work), None, None)])
            except BaseException as error:
                self._answers.add([(future, None, error, None)])

    def _read(self, work: Callable[[Tx], Any]) -> Any:
        try:
            return self._read_once(work)
        except _Stale:
            self._pool.check()
        try:
            return self._read_once(work)
        except _Stale as error:
            raise StoreUnavailable(str(error)) from error

    def _read_once(self, work: Callable[[Tx], Any]) -> Any:
        try:
            with self._pool.connection() as connection:
                try:
                    connection.read_only = True
                    connection.isolation_level = IsolationLevel.REPEATABLE_READ
                    return work(PostgresTx(connection.cursor()))
                except psycopg.OperationalError as error:
                    if _broken(connection):
                        raise _Stale(str(error)) from error
                    raise
                finally:
                    _end(connection)
        except psycopg.OperationalError as error:
            raise StoreUnavailable(f"the database cannot be used: {error}") from error

    def _write(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> None:
        """Run a unit until it commits, fails by itself, or collided too often, and answer."""
        for attempt in range(FREE_ATTEMPTS):
            self._gate.wait()
            if self._try(work, future):
                return
            time.sleep(_luck.uniform(0, BACKOFF_SECONDS * 2**attempt))
        # The unlucky one would lose to newcomers again and again: this process lets it go first, alone.
        with self._contended:
            self._gate.clear()
            try:
                for attempt in range(ALONE_ATTEMPTS):
                    if self._try(work, future):
                        return
                    time.sleep(_luck.uniform(0, BACKOFF_SECONDS * 2**attempt))
            finally:
                self._gate.set()
        raise StoreUnavailable("the store is contended: every attempt collided with another writer")

    def _try(self, work: Callable[[Tx], Any], future: "asyncio.Future[Any]") -> bool:
        """Run a unit once and answer, on a fresh connection if its own had gone stale; False if it collided."""
        for last in (False, True):
            try:
                with self._pool.connection() as connection:
                    began = time.monotonic()
                    result, tx, turn = self._attempt(connection, work)
                    self._turns.end(turn, (future, result, None, tx))
                    if self.metrics is not None:
                        self.metrics.db_seconds.observe(time.monotonic() - began)
                    return True
            except (SerializationFailure, DeadlockDetected):
                if self.metrics is not None:
                    self.metrics.db_retries.inc()
                return False
            except _LostInCommit as lost:
                self._answers.add([self._ask_server(future, lost)])
                return True
            except _Stale as error:
                # Nothing was committed, so this is no reason to bother the caller.
                if last:
                    raise StoreUnavailable(f"the database cannot be used: {error}") from error
                self._pool.check()
            except (psycopg.OperationalError, ReadOnlySqlTransaction) as error:
                raise StoreUnavailable(f"the database cannot be used: {error}") from error
        return False

    def _attempt(self, connection: Connection, work: Callable[[Tx], Any]) -> tuple[Any, PostgresTx, int]:
        """What a unit gave once it is committed, with the turn that the caller ends."""
        try:
            connection.read_only = False
            connection.isolation_level = IsolationLevel.SERIALIZABLE
            tx = PostgresTx(connection.cursor())
            result = work(tx)
            if connection.info.transaction_status == TransactionStatus.INERROR:
                # The unit swallowed an error; COMMIT would silently roll back.
                raise InFailedSqlTransaction("a unit went on after a statement of its failed")
            turn = self._turns.take()
            try:
                connection.commit()
            except BaseException as error:
                # Others need not wait until somebody knows.
                self._turns.end(turn)
                if isinstance(error, psycopg.OperationalError) and _broken(connection):
                    raise _LostInCommit(result, tx) from error
                raise
            return result, tx, turn
        except psycopg.OperationalError as error:
            if _broken(connection):
                raise _Stale(str(error)) from error
            raise
        finally:
            _end(connection)

    def _ask_server(self, future: "asyncio.Future[Any]", lost: _LostInCommit) -> Answer:
        """Find out what became of a commit whose answer was lost; without its number nobody can know."""
        if lost.tx.number is not None:
            try:
                # A connection of its own: those of the pool may be as dead as the one that was lost.
                with psycopg.connect(self._url, autocommit=True, connect_timeout=5) as connection:
                    for _ in range(20):
                        row = connection.execute("SELECT pg_xact_status(%s::text::xid8)", (str(lost.tx.number),))
                        status = (row.fetchone() or (None,))[0]
                        if status == "committed":
                            return (future, lost.result, None, lost.tx)
                        if status != "in progress":
                            break
                        time.sleep(0.05)
            except psycopg.Error:
                log.exception("nobody could say what became of transaction %d", lost.tx.number)
        return (future, None, StoreUnavailable(str(lost)), None)


def _configure(connection: Connection) -> None:
    adapt(connection)
    connection.prepare_threshold = PREPARE_THRESHOLD
    connection.prepared_max = PREPARED_MAX


def _broken(connection: Connection) -> bool:
    return connection.closed or connection.info.transaction_status == TransactionStatus.UNKNOWN


def _end(connection: Connection) -> None:
    """Leave the connection outside any transaction; one that is broken is the pool's to replace."""
    if connection.closed or connection.info.transaction_status == TransactionStatus.IDLE:
        return
    try:
        connection.rollback()
    except psycopg.OperationalError:
        log.info("a connection broke while rolling back")
