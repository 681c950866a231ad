"""The store as the rest of the platform sees it: a transaction with a few verbs, and a database that runs functions in one.

SQL is written once, with `?` for parameters, in the part that both dialects share: BIGINT, TEXT, BLOB (`{blob}` in migrations),
`ON CONFLICT`, `RETURNING`. Rows come back as tuples, or as the row type a slice names: its fields in the order of the SELECT.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar

from hubbub.protocol.operation import Event
from hubbub.server.core.dispatches import Audience, Dispatch, dispatch
from hubbub.server.core.metrics import Metrics

T = TypeVar("T")


class StoreUnavailable(Exception):
    """The store could not take or keep a unit of work; nothing of it remains and asking again may help. HTTP answers 503."""


class Snapshot(Protocol):
    """The moment a read saw: it can tell which transactions were already in it."""

    @property
    def end(self) -> int:
        """A stamp that it does not cover, nor any later one."""
        ...

    def covers(self, stamp: int) -> bool:
        """Whether what that transaction wrote was visible."""
        ...


class Wide:
    """A query for a row of many columns, none of them a blob.

    The driver of the embedded store describes and converts each column of each answer, which costs more than all lookups of a
    join: there such a row comes as one JSON array (decisions/0034)."""

    __slots__ = ("packed", "plain")

    def __init__(self, columns: str, rest: str) -> None:
        self.plain = f"SELECT {columns} {rest}"
        self.packed = f"SELECT json_array({columns}) {rest}"


class Tx(ABC):
    """One unit of work. All of it becomes durable, or none; events leave after the commit, in order, and never without it."""

    dialect: ClassVar[Literal["sqlite", "postgres"]]
    """For the few statements that cannot be one text for both."""

    def __init__(self) -> None:
        self.dispatches: list[Dispatch] = []
        self.woken: bool = False
        """Whether a job was enqueued, so the worker looks at once."""
        self.after_commit: list[Callable[[], None]] = []
        """Called on the event loop after the commit, before the events leave (a cache forgets a token)."""

    @abstractmethod
    def all(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Every row."""

    @abstractmethod
    def run(self, sql: str, *parameters: Any) -> int:
        """Execute, and say how many rows it touched."""

    @abstractmethod
    def run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute once per row."""

    @property
    @abstractmethod
    def stamp(self) -> int:
        """This transaction's number, as events carry it."""

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """What this read sees."""

    def one(self, sql: str, *parameters: Any) -> tuple[Any, ...] | None:
        """The first row, or None."""
        rows = self.all(sql, *parameters)
        return rows[0] if rows else None

    def wide(self, query: Wide, *parameters: Any) -> Sequence[Any] | None:
        """The first row of a wide query, or None."""
        return self.one(query.plain, *parameters)

    def value(self, sql: str, *parameters: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.one(sql, *parameters)
        return row[0] if row else None

    def find(self, kind: Callable[..., T], sql: str, *parameters: Any) -> T | None:
        """The first row as a row type, or None."""
        row = self.one(sql, *parameters)
        return kind(*row) if row else None

    def fetch(self, kind: Callable[..., T], sql: str, *parameters: Any) -> list[T]:
        """Every row as a row type."""
        return [kind(*row) for row in self.all(sql, *parameters)]

    def emit(
        self,
        event: Event[Any],
        payload: Any,
        audience: Audience,
        *,
        redacted: Any = None,
        unredacted_for: frozenset[int] = frozenset(),
        partly: Iterable[tuple[frozenset[int], Any]] = (),
        games: Mapping[int, Any] | None = None,
        refresh: str = "",
        subject_id: int = 0,
    ) -> None:
        """Say that something happened: encoded now, sent after the commit. `games` is what OAuth2 sessions get instead, by the head
        of their family, or under 0."""
        self.dispatches.append(
            dispatch(
                event,
                payload,
                audience,
                redacted=redacted,
                unredacted_for=unredacted_for,
                partly=partly,
                games=games,
                refresh=refresh,
                subject_id=subject_id,
                stamp=self.stamp,
            )
        )

    def enqueue(self, kind: str, payload: Any, *, due_ms: int = 0, key: str = "") -> int:
        """Leave a job for the worker in this same transaction: it survives a crash and runs at least once, not before `due_ms`.

        Jobs with the same non-empty key run in order, one at a time."""
        from hubbub.server.core import jobs

        return jobs.enqueue(self, kind, payload, due_ms=due_ms, key=key)


def places(values: Iterable[Any]) -> str:
    """The `?, ?, ?` of an IN list as long as the values."""
    return ", ".join("?" for _ in values)


class Database(ABC):
    """Runs plain functions inside transactions, off the event loop."""

    on_commit: Callable[[list[Dispatch]], None]
    """Called on the event loop after a commit with the events that left it; set by the App."""
    on_wake: Callable[[], None]
    """Called on the event loop after a commit that enqueued a job; set by the App."""

    def __init__(self) -> None:
        self.on_commit = lambda dispatches: None
        self.on_wake = lambda: None
        self.metrics: Metrics | None = None
        """Where units of work are counted; set by the App before `start`."""

    @abstractmethod
    async def start(self) -> None:
        """Open, and bring the schema up to date."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what was accepted, then let go of every file and thread."""

    @abstractmethod
    async def write(self, work: Callable[[Tx], T], *, quick: bool = False) -> T:
        """Run in a writing transaction; what it raises undoes it and is raised here.

        A serialization failure or deadlock runs the work again, so it may be called more than once. Say `quick` for what touches
        a handful of rows and is asked for often: a store may run it where others wait for it."""

    @abstractmethod
    async def read(self, work: Callable[[Tx], T], *, long: bool = False) -> T:
        """Run over a consistent snapshot; it must not write. Say `long` for what may take more than a few milliseconds, so that
        no store runs it where it would hold others up."""

    @abstractmethod
    async def check(self) -> None:
        """Raise if the store cannot take a write now (for /readyz)."""
