"""The interface of the store: transactions (`Tx`) and the database that runs functions in them (`Database`).

SQL is written once, with `?` for parameters, in the subset that SQLite and PostgreSQL share: BIGINT, TEXT, BLOB
(`{blob}` in migrations), `ON CONFLICT`, `RETURNING`. Rows are tuples, or instances of a slice's row type whose fields
are in SELECT order.
"""

import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from hubbub.protocol import codec
from hubbub.protocol.operation import Event
from hubbub.server.core.event_dispatch import Audience, Dispatch, dispatch
from hubbub.server.core.metrics import Metrics
from hubbub.server.core.observation import CURRENT, Observation

log = logging.getLogger(__name__)

T = TypeVar("T")


class StoreUnavailable(Exception):
    """The store could not run or commit a unit of work.

    Nothing was stored, unless a connection was lost during the commit, whose outcome is then unknown. A retry may succeed; HTTP
    responds with 503."""


class StoreDamaged(StoreUnavailable):
    """The database file is damaged; only the operator can repair it."""


class Snapshot(Protocol):
    """The set of transactions that a read transaction can see."""

    @property
    def end(self) -> int:
        """The lowest stamp such that neither it nor any later stamp is covered."""
        ...

    def covers(self, stamp: int) -> bool:
        """Return whether the writes of the transaction with this stamp were visible."""
        ...


class WideQuery:
    """A query for a row of many columns, none of them a blob.

    The SQLite driver spends more time converting the columns of such a row than on all lookups of a join, so the SQLite
    store fetches the row as one JSON array (decisions/0034)."""

    __slots__ = ("packed", "plain")

    def __init__(self, columns: str, from_clause: str) -> None:
        """Create a query from the column list and the rest of the statement, which starts with FROM."""
        self.plain = f"SELECT {columns} {from_clause}"
        self.packed = f"SELECT json_array({columns}) {from_clause}"


class Tx(ABC):
    """One unit of work, committed as a whole or not at all. Its events are published after the commit, in order."""

    dialect: ClassVar[Literal["sqlite", "postgres"]]
    """The SQL dialect, for the few statements that differ between the databases."""
    statement_count: int = 0
    """The number of statements that were executed so far."""
    traceparent: str = ""
    """The W3C traceparent of the unit's span, which its events contain; empty without a trace."""
    is_in_batch: bool = False
    """Whether the store calls `before_commit` once for all units of the database transaction."""
    on_job: Callable[[int, str], None] | None = None
    """Function called after the commit with the ID of each enqueued job and `traceparent`; None without a trace."""

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self.wakes_worker: bool = False
        """Whether a job was enqueued or retried; the worker is then woken after the commit."""
        self.after_commit: list[Callable[[], None]] = []
        """Callbacks (such as cache invalidation), run on the event loop after the commit, before publishing."""

    @abstractmethod
    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return every row."""

    @abstractmethod
    def run(self, sql: str, *parameters: Any) -> int:
        """Execute a statement and return the number of affected rows."""

    @abstractmethod
    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once per row of parameters."""

    def send(self, sql: str, *parameters: Any) -> None:
        """Execute a statement whose number of affected rows is not needed.

        A store may send it together with the next statement, which then raises its error, or the commit does."""
        self.run(sql, *parameters)

    def remember_results(self) -> None:
        """Let repeated queries of a read return the rows of the first one; a store may ignore this.

        It suits a read that runs the same queries for many users: all of them see one snapshot."""

    def prefetch(self, sql: str, *parameters: Any, survives_writes: bool = False) -> None:
        """Prefetch a query that `all`, `one`, `value`, `find` or `fetch` will run with the same arguments.

        A store may send the query together with the next statement, so that it needs no round trip of its own. With
        `survives_writes` the prefetched result is used even after writes of the transaction, which must not change it."""

    @property
    @abstractmethod
    def stamp(self) -> int:
        """The stamp of this transaction, which its events contain."""

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The snapshot that this transaction sees."""

    def one(self, sql: str, *parameters: Any) -> tuple[Any, ...] | None:
        """Return the first row, or None."""
        rows = self.all(sql, *parameters)
        return rows[0] if rows else None

    def wide(self, query: WideQuery, *parameters: Any) -> Sequence[Any] | None:
        """Return the first row of a wide query, or None."""
        return self.one(query.plain, *parameters)

    def value(self, sql: str, *parameters: Any) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(sql, *parameters)
        return row[0] if row else None

    def find(self, row_type: Callable[..., T], sql: str, *parameters: Any) -> T | None:
        """Return the first row as an instance of a row type, or None."""
        row = self.one(sql, *parameters)
        return row_type(*row) if row else None

    def fetch(self, row_type: Callable[..., T], sql: str, *parameters: Any) -> list[T]:
        """Return every row as an instance of a row type."""
        return [row_type(*row) for row in self.all(sql, *parameters)]

    def emit(
        self,
        event: Event[Any],
        payload: Any,
        audience: Audience,
        *,
        redacted: Any = None,
        unredacted_for: frozenset[int] = frozenset(),
        partial_payloads: Iterable[tuple[frozenset[int], Any]] = (),
        oauth2_payloads: Mapping[int, Any] | None = None,
        refresh: str = "",
        subject_id: int = 0,
    ) -> None:
        """Encode an event now and publish it after the commit.

        `oauth2_payloads` holds the payloads for OAuth2 sessions, by the head of their application's family; key 0 is the
        default. The other arguments are the fields of `Dispatch` before encoding."""
        self.dispatches.append(
            dispatch(
                event,
                payload,
                audience,
                redacted=redacted,
                unredacted_for=unredacted_for,
                partial_payloads=partial_payloads,
                oauth2_payloads=oauth2_payloads,
                refresh=refresh,
                subject_id=subject_id,
                stamp=self.stamp,
                traceparent=self.traceparent,
            )
        )

    def enqueue(self, kind: str, payload: Any, *, due_ms: int = 0, key: str = "") -> int:
        """Enqueue a job in this transaction and return its ID. It survives a crash and runs at least once.

        `due_ms` is the earliest time in Unix milliseconds; 0 runs the job immediately. Jobs with the same
        non-empty key run in order, one at a time."""
        self.wakes_worker = True
        job_id = int(
            self.value(
                "INSERT INTO jobs (kind, key, due_ms, ready_ms, payload) VALUES (?, ?, ?, ?, ?) RETURNING id",
                kind,
                key,
                due_ms,
                due_ms,
                codec.encode(payload).decode(),
            )
        )
        if self.on_job is not None:
            self.after_commit.append(partial(self.on_job, job_id, self.traceparent))
        return job_id


def placeholders(values: Iterable[Any]) -> str:
    """Return `?, ?, ?` for an IN list of these values."""
    return ", ".join("?" for _ in values)


def escape_pattern(text: str) -> str:
    """Escape a text for a pattern of `LIKE ? ESCAPE '\\'`, so that its characters match only themselves."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _run_with_hook(work: Callable[[Tx], T], before_commit: Callable[[Tx], None], tx: Tx) -> T:
    result = work(tx)
    if tx.dispatches and not tx.is_in_batch:
        before_commit(tx)
    return result


async def _run_observed(
    observation: Observation,
    work: Callable[[Tx], T],
    name: str,
    run: Callable[[Callable[[Tx], T]], Coroutine[Any, Any, T]],
) -> T:
    """Run a unit of work with `run`, and add its duration and statements to the operation that runs it."""
    unit, error = observation.start_unit(work, name), ""
    try:
        return await run(unit)
    except StoreUnavailable as failure:
        error = type(failure).__name__
        raise
    finally:
        unit.end(error)


class Database(ABC):
    """Runs plain functions inside transactions, in threads or, if they are short, on the event loop."""

    on_commit: Callable[[list[Dispatch]], None]
    """Function called on the event loop after a commit with the events to publish; set by the App."""
    publication_scope: AbstractContextManager[None]
    """Reusable context in which `on_commit` is called for several commits; set by the App."""
    on_wake: Callable[[], None]
    """Function called on the event loop after a commit that enqueued or retried a job; set by the App."""

    def __init__(self) -> None:
        self.on_commit = lambda dispatches: None
        self.publication_scope = contextlib.nullcontext()
        self.on_wake = lambda: None
        self.before_commit: Callable[[Tx], None] | None = None
        """Function called in every transaction with events before its commit; None if there is nothing to do."""
        self.metrics: Metrics | None = None
        """The metrics of units of work; None unless the App sets them before `start`."""
        self.is_damaged = False
        """Whether a unit of work found that the database file is damaged."""

    def record_failure(self, error: StoreUnavailable) -> None:
        """Record that a unit of work failed; a damaged file is logged once with the repair."""
        if isinstance(error, StoreDamaged) and not self.is_damaged:
            self.is_damaged = True
            log.critical(
                "%s. Stop the server, copy the data folder, run `hubbub doctor` to see what is damaged, and restore the newest "
                "backup",
                error,
            )

    @abstractmethod
    async def start(self) -> None:
        """Open the database and migrate the schema to the current version."""

    @abstractmethod
    async def close(self) -> None:
        """Finish accepted units of work, then release all files and threads."""

    # `write` and `read` return the coroutine of the store itself, because a coroutine around it would run for every request.
    def write(
        self, work: Callable[[Tx], T], *, quick: bool = False, has_updates: bool = False, key: int = 0
    ) -> Coroutine[Any, Any, T]:
        """Run a function in a writing transaction. An exception rolls the transaction back and is raised to the caller.

        The store may call the function more than once, for example after a serialization failure or a deadlock. `quick`
        marks a frequent write of a few rows, which a store may run on the event loop's thread, and in one transaction with
        other quick writes. With `has_updates`, which marks a unit that usually updates or deletes rows, PostgreSQL runs it in its
        own transaction. `key` is the ID of the object that it changes, such as a guild: after conflicts, units with the same
        key run one after the other."""
        if self.before_commit is not None:
            work = partial(_run_with_hook, work, self.before_commit)
        observation = CURRENT.get()
        if observation is None:
            return self._run_write(work, quick, has_updates, key)
        return _run_observed(observation, work, "write", lambda unit: self._run_write(unit, quick, has_updates, key))

    def read(self, work: Callable[[Tx], T], *, long: bool = False) -> Coroutine[Any, Any, T]:
        """Run a function over a consistent snapshot; it must not write.

        `long` marks a function that may take more than a few milliseconds, so that a store does not run it where it
        would block other requests."""
        observation = CURRENT.get()
        if observation is None:
            return self._run_read(work, long)
        return _run_observed(observation, work, "read", lambda unit: self._run_read(unit, long))

    @property
    @abstractmethod
    def queued_units(self) -> int:
        """The number of units of work that wait for a thread or a connection."""

    def count_connections(self) -> tuple[int, int]:
        """Return the number of open connections to a database server, and the number of those that are in use."""
        return 0, 0

    @abstractmethod
    async def _run_write(self, work: Callable[[Tx], T], quick: bool, has_updates: bool, key: int) -> T:
        """Implement `write`."""

    @abstractmethod
    async def _run_read(self, work: Callable[[Tx], T], long: bool) -> T:
        """Implement `read`."""

    @abstractmethod
    async def check(self) -> None:
        """Raise if the store cannot accept a write now (used by /readyz)."""
