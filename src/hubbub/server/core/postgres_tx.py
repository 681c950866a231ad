"""Transactions and snapshots of the PostgreSQL store."""

from collections.abc import Sequence
from typing import Any, Protocol

from psycopg.pq.abc import PGresult

from hubbub.server.core.postgres_connection import SELECT_TRANSACTION_ID, Reply
from hubbub.server.core.postgres_forecasts import Forecasts, QueryKey, ReadForecasts
from hubbub.server.core.postgres_statements import Statement, intern_statement
from hubbub.server.core.query_cache import CachedQuery, find_written_table
from hubbub.server.core.store import Snapshot, Tx


def sort_by_key(sql: str, rows: Sequence[Sequence[Any]]) -> Sequence[Sequence[Any]]:
    """Return the rows of parameters of a statement in the order in which it must lock rows of the table.

    UPDATE and DELETE are ordered by the parameters of WHERE, and INSERT with ON CONFLICT by all parameters, which start
    with the primary key. Other statements lock no existing rows, so their order stays unchanged."""
    _, has_condition, condition = sql.rpartition(" WHERE ")
    if sql.startswith(("UPDATE ", "DELETE ")) and has_condition:
        first_key_index = -condition.count("?") or None
    elif " ON CONFLICT" in sql:
        first_key_index = None
    else:
        return rows
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row[first_key_index:]])


class PostgresSnapshot:
    """The transactions visible in a snapshot, parsed from `pg_current_snapshot()`: `xmin:xmax:running,...`."""

    __slots__ = ("_running", "end")

    def __init__(self, text: str) -> None:
        _, xmax, running = text.split(":")
        self.end = int(xmax)
        """The transaction ID from which no transaction is visible."""
        self._running = frozenset(map(int, running.split(","))) if running else frozenset()

    def covers(self, stamp: int) -> bool:
        """Return whether the writes of the transaction with this stamp were visible."""
        return stamp < self.end and stamp not in self._running


class ReadEndedEarly(Exception):
    """A read needs more round trips than were expected, so that its snapshot is gone; the store repeats the read."""


class StatementChannel(Protocol):
    """A connection, or the part of one that belongs to a unit of a batch."""

    def send(self, statement: Statement, parameters: Sequence[Any] = ()) -> Reply:
        """Send a statement with the next round trip and return its reply, which is empty until then."""
        ...

    def exchange(self, *, is_last: bool = False) -> None:
        """Wait for the replies of all statements that were sent; `is_last` also ends the transaction, which must be a read."""
        ...

    def rows(self, result: PGresult) -> list[tuple[Any, ...]]:
        """Return the rows of a result."""
        ...


class PostgresTx(Tx):
    """One attempt at a unit of work."""

    dialect = "postgres"
    _snapshot: PostgresSnapshot | None = None
    _first_key: QueryKey | None = None
    """The first statement with its parameters; None until it is sent, and in a read."""
    _later_keys: list[QueryKey] | None = None
    """The cached queries that ran after the first round trip; None before it, and without forecasts."""

    def __init__(
        self,
        connection: StatementChannel,
        *,
        writes: bool,
        forecasts: Forecasts | None = None,
        is_in_batch: bool = False,
        transaction_id_reply: Reply | None = None,
    ) -> None:
        """Create a transaction; `forecasts` are used for its first round trip, if it writes.

        `transaction_id_reply` is the reply with the transaction ID if it was already requested."""
        super().__init__()
        self._connection: StatementChannel | None = connection
        self.is_in_batch = is_in_batch
        self._transaction_id_reply = transaction_id_reply
        """The reply with the transaction ID, or None until it is requested."""
        self._writes = writes
        self._prefetched_replies: dict[QueryKey, Reply] = {}
        """The replies of prefetched queries, by statement and parameters."""
        self._surviving_keys: set[QueryKey] = set()
        """Keys of prefetched queries whose result the writes of the transaction do not change."""
        self._forecasts = forecasts

    @property
    def transaction_id(self) -> int | None:
        """The transaction ID, or None if the server did not report it."""
        reply = self._transaction_id_reply
        if reply is None or reply.result is None or not reply.result.ntuples:
            return None
        id_text = reply.result.get_value(0, 0)
        return None if id_text is None else int(id_text)

    @property
    def stamp(self) -> int:
        """The transaction ID, which the first statement that writes requests; otherwise the first access assigns it."""
        connection = self._open_connection()
        if self._transaction_id_reply is None:
            if not self._writes:
                raise TypeError("a read has no stamp")
            self._transaction_id_reply = connection.send(SELECT_TRANSACTION_ID)
        if self._transaction_id_reply.result is None:
            self._exchange(connection)
        transaction_id = self.transaction_id
        assert transaction_id is not None
        return transaction_id

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that this transaction sees."""
        if self._snapshot is None:
            self._snapshot = PostgresSnapshot(self.value("SELECT pg_current_snapshot()::text"))
        return self._snapshot

    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return every row."""
        connection = self._open_connection()
        reply = self._prefetched_replies.pop((sql, *parameters), None) if self._prefetched_replies else None
        if self._later_keys is not None and isinstance(sql, CachedQuery):
            self._later_keys.append((sql, *parameters))
        if reply is None:
            reply = self._send(connection, sql, parameters)
        if reply.result is None:
            self._exchange(connection)
            assert reply.result is not None
        return connection.rows(reply.result)

    def run(self, sql: str, *parameters: Any) -> int:
        """Execute a statement and return the number of affected rows."""
        connection = self._open_connection()
        reply = self._send(connection, sql, parameters)
        connection.exchange()
        assert reply.result is not None
        count = reply.result.command_tuples
        return -1 if count is None else count

    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once per row of parameters, all in one round trip, in the order of their keys.

        All units lock rows of a table in this order, so that they do not deadlock."""
        if rows:
            connection = self._open_connection()
            for row in sort_by_key(sql, rows):
                self._send(connection, sql, row)
            connection.exchange()

    def send(self, sql: str, *parameters: Any) -> None:
        """Send a statement with the next round trip, without waiting for its result."""
        self._send(self._open_connection(), sql, parameters)

    def prefetch(self, sql: str, *parameters: Any, survives_writes: bool = False) -> None:
        """Send a query with the next round trip; `all` with the same arguments returns its rows."""
        key = (sql, *parameters)
        self._prefetched_replies[key] = self._send(self._open_connection(), sql, parameters)
        if survives_writes:
            self._surviving_keys.add(key)

    def record_forecast(self) -> None:
        """Record the queries of a committed transaction, if it wrote, for the next one with the same first statement."""
        if self._forecasts is None or self._first_key is None or self._transaction_id_reply is None:
            return
        if self._later_keys is not None:
            self._forecasts.record(self._first_key, tuple(self._later_keys))

    def _exchange(self, connection: StatementChannel) -> None:
        """Send all queued statements and wait for their replies; the first time, send the forecast queries too."""
        if self._forecasts is not None and self._later_keys is None:
            self._later_keys = []
            keys = None if self._first_key is None else self._forecasts.find(self._first_key)
            if keys is not None:
                for key in keys:
                    if key not in self._prefetched_replies:
                        self._prefetched_replies[key] = self._send(connection, key[0], key[1:])
                if self._transaction_id_reply is None:
                    self._transaction_id_reply = connection.send(SELECT_TRANSACTION_ID)
        connection.exchange()

    def end(self) -> None:
        """End the transaction for the unit of work; later statements raise RuntimeError."""
        self._connection = None

    def _send(self, connection: StatementChannel, sql: str, parameters: Sequence[Any]) -> Reply:
        self.statement_count += 1
        if self._first_key is None:
            self._first_key = (sql, *parameters)
        statement = intern_statement(sql)
        reply = connection.send(statement, parameters)
        if statement.is_write:
            if self._prefetched_replies:
                self._remove_outdated(find_written_table(sql))
            if self._writes and self._transaction_id_reply is None:
                # Request the transaction ID in the same round trip: it is the stamp of events and identifies a lost commit.
                self._transaction_id_reply = connection.send(SELECT_TRANSACTION_ID)
        return reply

    def _remove_outdated(self, table: str | None) -> None:
        """Remove prefetched results that may lack a write to a table (None: any table); their queries are sent again."""
        self._prefetched_replies = {
            key: reply
            for key, reply in self._prefetched_replies.items()
            if key in self._surviving_keys
            or (table is not None and isinstance(key[0], CachedQuery) and table not in key[0].tables)
        }

    def _open_connection(self) -> StatementChannel:
        if self._connection is None:
            raise RuntimeError("the transaction is over")
        return self._connection


class PostgresReadTx(PostgresTx):
    """One attempt at a read over one snapshot."""

    _first_sql: str | None = None
    """The first statement; None until it is sent."""
    _round_trip_count = 0
    _expected_round_trip_count = 0
    """The expected number of round trips; 0 if it is unknown, and before the first one."""
    must_repeat = False
    """Whether the transaction ended before the last statement, so that the result of the unit is not valid."""

    def __init__(self, connection: StatementChannel, forecasts: ReadForecasts | None = None) -> None:
        """Create a read; with `forecasts`, its last round trip that is expected ends the transaction."""
        super().__init__(connection, writes=False)
        self._read_forecasts = forecasts

    def record_forecast(self) -> None:
        """Record the number of round trips of a read that succeeded."""
        if self._read_forecasts is not None and self._first_sql is not None:
            self._read_forecasts.record(self._first_sql, self._round_trip_count)

    def _exchange(self, connection: StatementChannel) -> None:
        if self._read_forecasts is not None and not self._round_trip_count and self._first_sql is not None:
            self._expected_round_trip_count = self._read_forecasts.compute_expected_count(self._first_sql)
        self._round_trip_count += 1
        connection.exchange(is_last=self._round_trip_count == self._expected_round_trip_count)

    def _send(self, connection: StatementChannel, sql: str, parameters: Sequence[Any]) -> Reply:
        if self._first_sql is None:
            self._first_sql = sql
        elif self._round_trip_count and self._round_trip_count == self._expected_round_trip_count:
            if self._read_forecasts is not None:
                self._read_forecasts.remove(self._first_sql)
            self.must_repeat = True
            raise ReadEndedEarly("the read needs more round trips than expected")
        self.statement_count += 1
        return connection.send(intern_statement(sql), parameters)
