"""Transactions and snapshots of the SQLite store, and the classification of its errors."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, cast

import msgspec

from hubbub.server.core.query_cache import CachedQuery, QueryCache
from hubbub.server.core.store import Snapshot, StoreDamaged, StoreUnavailable, Tx, WideQuery

SELECT_LAST_STAMP: Final = "SELECT value FROM meta WHERE name = 'commit_seq'"
"""Query for the last stored stamp, which is the row `commit_seq` of the table `meta`."""
UPDATE_LAST_STAMP: Final = "UPDATE meta SET value = ? WHERE name = 'commit_seq'"
"""Statement that stores the last stamp; its parameter is the stamp as text."""

_decode_row: Final = msgspec.json.Decoder(list[Any]).decode

# Primary error codes that concern the disk, the file, its locks or memory, not the statement.
_UNAVAILABLE_CODES: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_PROTOCOL,
    }
)

_DAMAGED_CODES: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""Primary error codes of a damaged file."""


def is_unavailable(error: sqlite3.Error) -> bool:
    """Return whether an error concerns the disk, the file, its locks or memory rather than the statement."""
    code = getattr(error, "sqlite_errorcode", None)
    # The lowest byte of an extended error code is the primary code.
    return code is not None and (code & 0xFF) in _UNAVAILABLE_CODES


class SqliteSnapshot:
    """All units up to and including a stamp."""

    __slots__ = ("end",)

    def __init__(self, last_stamp: int) -> None:
        self.end = last_stamp + 1

    def covers(self, stamp: int) -> bool:
        """Return whether the writes of the unit with this stamp were visible."""
        return stamp < self.end


class SqliteTx(Tx):
    """A unit of work on one of the store's own connections."""

    dialect = "sqlite"

    def __init__(
        self, cursor: sqlite3.Cursor, stamp: int, with_savepoint: bool, cache: QueryCache | None = None
    ) -> None:
        """Create a unit; `with_savepoint` opens a savepoint before its first write.

        `cache` has results of the cursor's connection."""
        self.dispatches = []
        self.wakes_worker = False
        self.after_commit = []
        self.is_stamp_requested = False
        """Whether the unit used its stamp, so that the stamp must be stored for readers."""
        self.failure: StoreUnavailable | None = None
        """The error that made the transaction unusable, so that the unit cannot succeed; None if there was none."""
        self.has_written = False
        """Whether the unit has started to write, so that a rejection must be rolled back."""
        self._with_savepoint = with_savepoint
        self._cache = cache
        # The end of the unit and an unusable transaction replace both functions by one that raises an error.
        self._execute: Callable[..., sqlite3.Cursor] = cursor.execute
        self._execute_many: Callable[..., sqlite3.Cursor] = cursor.executemany
        self._stamp = stamp

    @property
    def stamp(self) -> int:
        """The stamp of this unit; the store saves it once it was requested."""
        self.is_stamp_requested = True
        return self._stamp

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that this unit sees."""
        return SqliteSnapshot(self._stamp)

    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return every row."""
        try:
            if type(sql) is CachedQuery and self._cache is not None:
                return self._read_cached(self._cache, sql, parameters)
            # Any other statement may write, such as INSERT ... RETURNING; WITH ... SELECT counts as a write too.
            if not sql.startswith("SELECT"):
                self._begin_write(sql)
            self.statement_count += 1
            return self._execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            self._fail(error)

    def _read_cached(self, cache: QueryCache, query: CachedQuery, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        rows = cache.find(query, parameters)
        if rows is None:
            self.statement_count += 1
            rows = self._execute(query, parameters).fetchall()
            cache.add(query, parameters, rows)
        return rows

    def wide(self, query: WideQuery, *parameters: Any) -> Sequence[Any] | None:
        """Return the first row of a wide query, or None."""
        rows = self.all(query.packed, *parameters)
        row: list[Any] | None = _decode_row(rows[0][0]) if rows else None
        return row

    def run(self, sql: str, *parameters: Any) -> int:
        """Execute a statement and return the number of affected rows."""
        try:
            self._begin_write(sql)
            self.statement_count += 1
            cursor = self._execute(sql, parameters)
            if cursor.description is not None:
                cursor.fetchall()  # With RETURNING, rows are written as they are fetched.
            return cursor.rowcount
        except sqlite3.Error as error:
            self._fail(error)

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once per row of parameters."""
        try:
            self._begin_write(sql)
            self.statement_count += len(rows)
            self._execute_many(sql, rows)
        except sqlite3.Error as error:
            self._fail(error)

    def _begin_write(self, sql: str) -> None:
        """Prepare the execution of a statement that may write."""
        if not self.has_written:
            if self._with_savepoint:
                self._execute("SAVEPOINT unit")
            self.has_written = True
        if self._cache is not None:
            self._cache.invalidate(sql)

    def end(self) -> None:
        """End the transaction for the unit of work; later statements raise RuntimeError."""
        self._execute = self._execute_many = _raise_ended
        self._cache = None

    def _fail(self, error: sqlite3.Error) -> NoReturn:
        if not is_unavailable(error):
            raise error
        # SQLite may have rolled the whole transaction back; a unit that ignores this error must not write outside a
        # transaction.
        if self._cache is not None:
            self._cache.clear()
            self._cache = None
        if (error.sqlite_errorcode & 0xFF) in _DAMAGED_CODES:
            failure: StoreUnavailable = StoreDamaged(f"the database file is damaged: {error}")
        else:
            failure = StoreUnavailable(f"the database file is not usable: {error}")
        self.failure = failure

        def reject(*_: object) -> NoReturn:
            raise failure

        self._execute = self._execute_many = reject
        raise failure from error


def _raise_ended(*_: object) -> NoReturn:
    raise RuntimeError("the transaction is over")


class _RememberedRows:
    """The rows of an earlier query, in place of its cursor."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return a copy, because the caller may change the list."""
        return self._rows.copy()


class SqliteReadTx(SqliteTx):
    """A read-only unit of work."""

    def __init__(self, cursor: sqlite3.Cursor, last_stamp: int | None) -> None:
        super().__init__(cursor, 0, False)
        self.last_stamp = last_stamp
        """The last stamp that the snapshot covers; None until it is read."""

    def remember_results(self) -> None:
        """Let repeated queries return the rows of the first one."""
        execute = self._execute
        rows_by_query: dict[tuple[str, tuple[Any, ...]], list[tuple[Any, ...]]] = {}

        def execute_once(sql: str, parameters: tuple[Any, ...]) -> "_RememberedRows":
            key = (sql, parameters)
            rows = rows_by_query.get(key)
            if rows is None:
                rows = rows_by_query[key] = execute(sql, parameters).fetchall()
            return _RememberedRows(rows)

        self._execute = cast("Callable[..., sqlite3.Cursor]", execute_once)

    @property
    def stamp(self) -> int:
        """Raise TypeError, because only writes have a stamp."""
        raise TypeError("a read has no stamp")

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that this read sees."""
        if self.last_stamp is None:
            # The first statement of the transaction fixed the snapshot, so reading the last stamp later gives the same
            # result.
            self.last_stamp = int(self.value(SELECT_LAST_STAMP))
        return SqliteSnapshot(self.last_stamp)
