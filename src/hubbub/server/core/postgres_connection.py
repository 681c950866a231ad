"""Connections of the PostgreSQL store: libpq in pipeline mode, without blocking calls.

Statements are queued until a result is needed, and only the end of a transaction is a synchronization point. So a
round trip is needed only where a result is needed: BEGIN is sent together with the first statement, and the end of a read
or a rollback is not awaited. A subclass implements waiting for the socket.
"""

import contextlib
import logging
import os
import select
import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

import psycopg
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import InFailedSqlTransaction, error_from_result
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

from hubbub.server.core.migrations import connection_name
from hubbub.server.core.postgres_statements import (
    PREPARE_USES_MIN,
    PreparedStatement,
    Statement,
    StatementCache,
    intern_statement,
    register_adapters,
)

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_SECONDS: Final = 5
RECONNECT_SECONDS_MAX: Final = 5.0
"""Time in seconds for which a unit of work waits for a connection while PostgreSQL restarts."""
RECONNECT_INTERVAL_SECONDS: Final = 0.1

BEGIN_WRITE: Final = intern_statement("BEGIN ISOLATION LEVEL SERIALIZABLE")
BEGIN_READ: Final = intern_statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
COMMIT: Final = intern_statement("COMMIT")
ROLLBACK: Final = intern_statement("ROLLBACK")
SELECT_TRANSACTION_ID: Final = intern_statement("SELECT pg_current_xact_id()::text")
LOCK_TIMEOUT_MS: Final = 500
"""Time in milliseconds for which a statement waits for a lock; then the unit of work is repeated as after a conflict.

It is less than the deadlock timeout of PostgreSQL, whose default is one second, so that no deadlock lasts longer."""
_WRITE_SESSION_SQL: Final = f"SET lock_timeout = {LOCK_TIMEOUT_MS}"
_READ_SESSION_SQL: Final = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""Statement that makes all transactions of a connection reads, which need no BEGIN and end at the synchronization point."""

_TUPLES_OK: Final = ExecStatus.TUPLES_OK
_COMMAND_OK: Final = ExecStatus.COMMAND_OK
_PIPELINE_SYNC: Final = ExecStatus.PIPELINE_SYNC
_AUTO_FORMATS: Final = [[PyFormat.AUTO] * count for count in range(64)]
_OUTDATED_PLAN_FUNCTION: Final = b"RevalidateCachedQuery"
"""The PostgreSQL function that reports changed columns of a prepared statement; the message of the error is localized."""


class ConnectionLost(Exception):
    """The connection was lost; without a commit, nothing was stored."""


class Reply:
    """The reply to a statement that was sent; `result` is None until it is received."""

    __slots__ = ("is_abandoned", "prepared", "result")

    def __init__(self, prepared: PreparedStatement | None = None) -> None:
        self.result: PGresult | None = None
        self.is_abandoned = False
        """Whether the transaction ended before the reply arrived, so that its error is ignored."""
        self.prepared = prepared
        """The statement that is being prepared, or None."""


class RoundTrips:
    """The approximate number of round trips of all connections of a store; threads increment it without a lock."""

    __slots__ = ("count", "last_reply_at")

    def __init__(self) -> None:
        self.count = 0
        self.last_reply_at = 0.0
        """Time at which the last round trip ended, in seconds of the monotonic clock."""


class PostgresConnection(ABC):
    """A connection that runs one transaction at a time."""

    begin_read: Statement | None = None
    """The statement that begins a read; None if all transactions of the connection are reads."""

    def __init__(self, connection: psycopg.Connection, round_trips: RoundTrips) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._round_trips = round_trips
        self._transformer = Transformer(connection)
        self._statements = StatementCache()
        self._expected_replies: deque[Reply | None] = deque()
        """Replies that were not received yet, in order; None for a synchronization point."""
        self._begin_statement: Statement | None = None
        """The statement that begins the transaction, until it is sent."""
        self._in_transaction = False
        """Whether BEGIN was sent, but no COMMIT or ROLLBACK after it."""
        self._needs_sync = False
        """Whether statements were sent since the last synchronization point."""
        self._has_unanswered = False
        """Whether statements of the transaction were sent since the last round trip."""
        self._may_wait = False
        """Whether one of these statements may wait for a lock."""
        self.failure: psycopg.Error | None = None
        """The error that aborted the transaction; None if there was none."""
        self.is_lost = False
        """Whether the connection can no longer be used."""
        self._pgconn.nonblocking = 1
        self._pgconn.enter_pipeline_mode()

    @abstractmethod
    def _wait(self, *, writable: bool = False) -> None:
        """Wait until the socket is readable or, if `writable` is set, readable or writable."""

    def begin(self, statement: Statement | None) -> None:
        """Begin a transaction with this statement, or a read without any; nothing is sent yet."""
        self._begin_statement = statement
        self.failure = None

    def send(self, statement: Statement, parameters: Sequence[Any] = ()) -> Reply:
        """Send a statement with the next round trip and return its reply, which is empty until then.

        Raise InFailedSqlTransaction if the transaction is aborted."""
        if self.failure is not None:
            raise InFailedSqlTransaction("current transaction is aborted") from self.failure
        if self._begin_statement is not None:
            begin_statement, self._begin_statement = self._begin_statement, None
            self._in_transaction = True
            self._send(begin_statement, ())
        if statement.may_wait:
            self._may_wait = True
        return self._send(statement, parameters)

    def _send(self, statement: Statement, parameters: Sequence[Any]) -> Reply:
        encoded_parameters: Sequence[Any] = ()
        types: tuple[int, ...] = ()
        transformer, pgconn = self._transformer, self._pgconn
        formats = None
        if parameters:
            count = len(parameters)
            auto_formats = _AUTO_FORMATS[count] if count < len(_AUTO_FORMATS) else [PyFormat.AUTO] * count
            encoded_parameters = transformer.dump_sequence(parameters, auto_formats)
            types = transformer.types or ()
            formats = transformer.formats
        prepared = self._statements.find(statement, types, parameters)
        reply = Reply()
        try:
            if prepared is None and statement.unprepared_use_count >= PREPARE_USES_MIN:
                prepared = self._prepare(statement, types, parameters)
            if prepared is not None:
                pgconn.send_query_prepared(prepared.name, encoded_parameters, formats)
            else:
                statement.unprepared_use_count += 1
                pgconn.send_query_params(statement.text, encoded_parameters, types, formats)
        except psycopg.OperationalError as error:
            self._lose(error)
        self._expected_replies.append(reply)
        self._needs_sync = self._has_unanswered = True
        return reply

    def _prepare(self, statement: Statement, types: tuple[int, ...], parameters: Sequence[Any]) -> PreparedStatement:
        evicted_statement = self._statements.remove_oldest()
        if evicted_statement is not None:
            self._pgconn.send_query_params(b"DEALLOCATE " + evicted_statement.name, ())
            self._expected_replies.append(Reply())
        prepared = self._statements.add(statement, types, parameters)
        self._pgconn.send_prepare(prepared.name, statement.text, prepared.types)
        self._expected_replies.append(Reply(prepared))
        return prepared

    def execute(self, statement: Statement, parameters: Sequence[Any] = ()) -> PGresult:
        """Send a statement and return its result."""
        reply = self.send(statement, parameters)
        self.exchange()
        assert reply.result is not None
        return reply.result

    @property
    def has_unanswered(self) -> bool:
        """Whether statements of the transaction were sent since the last round trip."""
        return self._has_unanswered

    @property
    def may_wait(self) -> bool:
        """Whether a statement that was sent since the last round trip may wait for a lock."""
        return self._may_wait

    def exchange(self, *, is_last: bool = False) -> None:
        """Send all queued statements and wait for their replies. Raise the first error among them.

        `is_last` also ends the transaction, which must be a read without BEGIN."""
        self._round_trips.count += 1
        if is_last:
            self._sync()
        else:
            try:
                self._pgconn.send_flush_request()
            except psycopg.OperationalError as error:
                self._lose(error)
        self._receive()

    def rows(self, result: PGresult) -> list[tuple[Any, ...]]:
        if result.status != _TUPLES_OK:
            return []
        transformer = self._transformer
        transformer.set_pgresult(result)
        return transformer.load_rows(0, result.ntuples, tuple)

    def commit(self) -> None:
        """Commit and wait for the outcome: unknown after ConnectionLost, a rollback after any other error.

        Statements that were not answered yet are sent with COMMIT, which the server skips if one of them fails."""
        if not self._in_transaction:
            return
        reply = self.send(COMMIT)
        self._sync()
        self._round_trips.count += 1
        self._receive()
        self._in_transaction = False
        if reply.result is None or reply.result.command_status != b"COMMIT":
            raise InFailedSqlTransaction("the server rolled the transaction back")

    def end(self) -> None:
        """End the transaction, unless it is committed, without waiting for the outcome."""
        self._begin_statement = None
        if self.is_lost:
            return
        try:
            if self._needs_sync:
                self._sync()
            if self._in_transaction:
                self._in_transaction = False
                self._send(ROLLBACK, ())
                self._sync()
            for reply in self._expected_replies:
                if reply is not None:
                    reply.is_abandoned = True
            self._has_unanswered = self._may_wait = False
            self._flush()
        except (ConnectionLost, psycopg.OperationalError):
            self.is_lost = True
            log.info("A database connection broke at the end of a transaction")
        self.failure = None

    def skip_replies(self) -> None:
        """Receive replies that no unit awaits, without blocking, and detect that the server closed the connection."""
        try:
            self._pgconn.consume_input()
            while self._expected_replies and not self._pgconn.is_busy():
                self._take_reply()
        except psycopg.OperationalError as error:
            log.info("A database connection was closed: %s", error)
            self.is_lost = True

    def abort(self) -> None:
        """Break the connection, so that a unit that waits for it fails; the unit may run in another thread."""
        with contextlib.suppress(OSError):
            with socket.socket(fileno=os.dup(self._pgconn.socket)) as duplicate:
                duplicate.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.is_lost = True
        self._connection.close()

    def _sync(self) -> None:
        self._needs_sync = False
        try:
            self._pgconn.pipeline_sync()
        except psycopg.OperationalError as error:
            self._lose(error)
        self._expected_replies.append(None)

    def _flush(self) -> None:
        """Write all queued data to the socket; wait only if its buffer is full."""
        while self._pgconn.flush():
            self._wait(writable=True)
            self._pgconn.consume_input()

    def _receive(self) -> None:
        """Wait for all expected replies and raise the first error of this transaction."""
        pgconn = self._pgconn
        failure: psycopg.Error | None = None
        self._has_unanswered = self._may_wait = False
        try:
            self._flush()
            while self._expected_replies:
                while pgconn.is_busy():
                    self._wait()
                    pgconn.consume_input()
                reply = self._take_reply()
                if reply is None or reply.result is None or reply.result.status in (_TUPLES_OK, _COMMAND_OK):
                    continue
                if failure is None and not reply.is_abandoned:
                    failure = error_from_result(reply.result, encoding="utf-8")
                    self._check_fatal(reply.result, failure)
        except psycopg.OperationalError as error:
            self._lose(failure or error)
        self._round_trips.last_reply_at = time.monotonic()
        if failure is not None:
            self.failure = failure
            raise failure

    def _take_reply(self) -> Reply | None:
        """Take and return the next reply, which has arrived; None for a synchronization point."""
        reply = self._expected_replies.popleft()
        result = self._pgconn.get_result()
        if result is None or (reply is None) != (result.status == _PIPELINE_SYNC):
            # libpq discards the list of sent statements when it loses the connection.
            raise psycopg.OperationalError("the connection was closed before its replies arrived")
        if reply is None:
            return None
        reply.result = result
        if reply.prepared is not None and result.status != _COMMAND_OK:
            self._statements.remove(reply.prepared)
        # The end of the results of a statement; it never waits.
        self._pgconn.get_result()
        return reply

    def _check_fatal(self, result: PGresult, error: psycopg.Error) -> None:
        """Raise ConnectionLost if an error ends the connection, or if its prepared statements are outdated."""
        severity = result.error_field(DiagnosticField.SEVERITY_NONLOCALIZED)
        if severity in (b"FATAL", b"PANIC") or self._pgconn.status == ConnStatus.BAD:
            self._lose(error)
        if result.error_field(DiagnosticField.SOURCE_FUNCTION) == _OUTDATED_PLAN_FUNCTION:
            # The schema changed. The statements are prepared again on a new connection.
            self._lose(error)

    def _lose(self, error: psycopg.Error) -> None:
        """Mark the connection as lost and raise ConnectionLost."""
        self.is_lost = True
        raise ConnectionLost(str(error).strip()) from error


class BlockingConnection(PostgresConnection):
    """A connection that blocks its thread while it waits, used for reads and writes."""

    begin_read = BEGIN_READ

    def __init__(self, connection: psycopg.Connection, round_trips: RoundTrips) -> None:
        super().__init__(connection, round_trips)
        self._poll = select.poll()

    def _wait(self, *, writable: bool = False) -> None:
        self._poll.register(self._pgconn.socket, select.POLLIN | (select.POLLOUT if writable else 0))
        self._poll.poll()


def connect(url: str) -> psycopg.Connection:
    """Open a connection whose values behave as on SQLite."""
    connection = psycopg.connect(
        url,
        autocommit=True,
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        client_encoding="utf8",
        prepare_threshold=None,
        application_name=connection_name(),
    )
    register_adapters(connection)
    return connection


def connect_with_retries(url: str, *, only_reads: bool = False) -> psycopg.Connection:
    """Open a connection, with retries while the server restarts; `only_reads` makes all its transactions reads."""
    deadline = time.monotonic() + RECONNECT_SECONDS_MAX
    while True:
        try:
            connection = connect(url)
            connection.execute(_READ_SESSION_SQL if only_reads else _WRITE_SESSION_SQL)
            return connection
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(RECONNECT_INTERVAL_SECONDS)
