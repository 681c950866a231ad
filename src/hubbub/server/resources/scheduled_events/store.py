"""Rows of scheduled events, of their exceptions, and of those who want to come."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hubbub.protocol import wire as json
from hubbub.protocol.enums import EventStatus
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core.store import Tx, places

FINISHED = frozenset({EventStatus.COMPLETED, EventStatus.CANCELED})


class EventRow(NamedTuple):
    """A scheduled event as we keep it. Of a recurring one, the times are those of the next occurrence (or of this one)."""

    id: int
    guild_id: int
    creator_id: int | None
    name: str
    start_ms: int
    end_ms: int | None
    entity_type: int
    status: int = 1
    channel_id: int | None = None
    entity_id: int | None = None
    location: str | None = None
    description: str | None = None
    image: str | None = None
    recurrence: str | None = None
    """`RecurrenceRule` as JSON."""

    @property
    def finished(self) -> bool:
        """Whether it is over, or will never be."""
        return self.status in FINISHED

    @property
    def rule(self) -> wire.RecurrenceRule | None:
        """How it repeats, if it does."""
        return None if self.recurrence is None else json.decode(self.recurrence, wire.RecurrenceRule)

    def repeating(self, rule: wire.RecurrenceRule | None) -> "EventRow":
        """The event with another rule, or none."""
        return self._replace(recurrence=None if rule is None else json.encode(rule).decode())


class ExceptionRow(NamedTuple):
    """One occurrence that differs from the rule."""

    event_id: int
    id: int
    start_ms: int | None
    end_ms: int | None
    canceled: int


class EventUserRow(NamedTuple):
    """Somebody who answered; with exception 0, for the event as a whole."""

    event_id: int
    exception_id: int
    user_id: int
    response: int


COLUMNS = ", ".join(EventRow._fields)
_EXCEPTION = ", ".join(ExceptionRow._fields)
_USER = ", ".join(EventUserRow._fields)
_OPEN = f"({EventStatus.SCHEDULED:d}, {EventStatus.ACTIVE:d})"


def find(tx: Tx, event_id: int) -> EventRow | None:
    """An event, or None."""
    return tx.find(EventRow, f"SELECT {COLUMNS} FROM scheduled_events WHERE id = ?", event_id)


def find_many(tx: Tx, guild_id: int, event_ids: Sequence[int]) -> list[EventRow]:
    """The events there are of these in a guild, the oldest first."""
    if not event_ids:
        return []
    return tx.fetch(
        EventRow,
        f"SELECT {COLUMNS} FROM scheduled_events WHERE guild_id = ? AND id IN ({places(event_ids)}) ORDER BY id",
        guild_id,
        *event_ids,
    )


def list_open(tx: Tx, guild_id: int) -> list[EventRow]:
    """A guild's events that are not over, the oldest first."""
    return tx.fetch(
        EventRow,
        f"SELECT {COLUMNS} FROM scheduled_events WHERE guild_id = ? AND status IN {_OPEN} ORDER BY id",
        guild_id,
    )


def list_of_channels(tx: Tx, channel_ids: Sequence[int]) -> list[EventRow]:
    """The events that are planned in some channels, or take place there."""
    found: list[EventRow] = []
    for start in range(0, len(channel_ids), 500):
        some = channel_ids[start : start + 500]
        found += tx.fetch(
            EventRow,
            f"SELECT {COLUMNS} FROM scheduled_events WHERE channel_id IN ({places(some)}) AND status IN {_OPEN} ORDER BY id",
            *some,
        )
    return found


def count_open(tx: Tx, guild_id: int) -> int:
    """How many events of a guild are not over."""
    return int(
        tx.value(f"SELECT COUNT(*) FROM scheduled_events WHERE guild_id = ? AND status IN {_OPEN}", guild_id) or 0
    )


def insert(tx: Tx, row: EventRow) -> None:
    """Keep a new event."""
    tx.run(f"INSERT INTO scheduled_events ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: EventRow) -> None:
    """Keep what changed of an event."""
    assignments = ", ".join(f"{field} = ?" for field in EventRow._fields[2:])
    tx.run(f"UPDATE scheduled_events SET {assignments} WHERE id = ?", *row[2:], row.id)


def delete(tx: Tx, event_id: int) -> None:
    """Forget an event with all that hangs on it."""
    tx.run("DELETE FROM scheduled_event_users WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_events WHERE id = ?", event_id)


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Forget every event of a guild."""
    for table in ("scheduled_event_users", "scheduled_event_exceptions"):
        tx.run(f"DELETE FROM {table} WHERE event_id IN (SELECT id FROM scheduled_events WHERE guild_id = ?)", guild_id)
    tx.run("DELETE FROM scheduled_events WHERE guild_id = ?", guild_id)


# Exceptions


def exceptions_of(tx: Tx, event_ids: Iterable[int]) -> dict[int, list[ExceptionRow]]:
    """The exceptions of some events, by event, in the order of the occurrences."""
    wanted = list(event_ids)
    found: dict[int, list[ExceptionRow]] = {}
    if wanted:
        for row in tx.fetch(
            ExceptionRow,
            f"SELECT {_EXCEPTION} FROM scheduled_event_exceptions WHERE event_id IN ({places(wanted)}) "
            "ORDER BY event_id, id",
            *wanted,
        ):
            found.setdefault(row.event_id, []).append(row)
    return found


def put_exception(tx: Tx, row: ExceptionRow) -> None:
    """Keep how one occurrence differs."""
    tx.run(
        f"INSERT INTO scheduled_event_exceptions ({_EXCEPTION}) VALUES ({places(row)}) ON CONFLICT (event_id, id) "
        "DO UPDATE SET start_ms = excluded.start_ms, end_ms = excluded.end_ms, canceled = excluded.canceled",
        *row,
    )


def delete_exception(tx: Tx, event_id: int, exception_id: int) -> None:
    """Let one occurrence be as the rule says."""
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ? AND id = ?", event_id, exception_id)


def delete_exceptions(tx: Tx, event_id: int) -> None:
    """Forget all exceptions of an event, and what people answered for single occurrences."""
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_event_users WHERE event_id = ? AND exception_id <> 0", event_id)


# Users


def find_user(tx: Tx, event_id: int, exception_id: int, user_id: int) -> EventUserRow | None:
    """What somebody answered, or None."""
    return tx.find(
        EventUserRow,
        f"SELECT {_USER} FROM scheduled_event_users WHERE event_id = ? AND exception_id = ? AND user_id = ?",
        event_id,
        exception_id,
        user_id,
    )


def page_of_users(
    tx: Tx, event_id: int, exception_id: int, *, before: int | None, after: int | None, limit: int
) -> list[EventUserRow]:
    """A page of those who answered, by ascending user id; `before` wins over `after`."""
    start = f"SELECT {_USER} FROM scheduled_event_users WHERE event_id = ? AND exception_id = ?"
    if before is not None:
        rows = tx.fetch(
            EventUserRow,
            f"{start} AND user_id < ? ORDER BY user_id DESC LIMIT ?",
            event_id,
            exception_id,
            before,
            limit,
        )
        return rows[::-1]
    return tx.fetch(
        EventUserRow, f"{start} AND user_id > ? ORDER BY user_id LIMIT ?", event_id, exception_id, after or 0, limit
    )


def count_users(tx: Tx, event_ids: Iterable[int]) -> dict[int, int]:
    """How many want to come to each of some events."""
    wanted = list(event_ids)
    if not wanted:
        return {}
    rows = tx.all(
        "SELECT event_id, COUNT(*) FROM scheduled_event_users "
        f"WHERE event_id IN ({places(wanted)}) AND exception_id = 0 AND response = 1 GROUP BY event_id",
        *wanted,
    )
    return dict.fromkeys(wanted, 0) | dict(rows)


def count_answers(tx: Tx, event_id: int, exception_ids: Sequence[int]) -> dict[int, int]:
    """How many want to come to each of some occurrences."""
    if not exception_ids:
        return {}
    rows = tx.all(
        "SELECT exception_id, COUNT(*) FROM scheduled_event_users "
        f"WHERE event_id = ? AND exception_id IN ({places(exception_ids)}) AND response = 1 GROUP BY exception_id",
        event_id,
        *exception_ids,
    )
    return dict.fromkeys(exception_ids, 0) | dict(rows)


def put_user(tx: Tx, row: EventUserRow) -> None:
    """Keep what somebody answered."""
    tx.run(
        f"INSERT INTO scheduled_event_users ({_USER}) VALUES ({places(row)}) "
        "ON CONFLICT (event_id, exception_id, user_id) DO UPDATE SET response = excluded.response",
        *row,
    )


def delete_user(tx: Tx, event_id: int, exception_id: int, user_id: int) -> None:
    """Forget what somebody answered."""
    tx.run(
        "DELETE FROM scheduled_event_users WHERE event_id = ? AND exception_id = ? AND user_id = ?",
        event_id,
        exception_id,
        user_id,
    )


def list_of_user(tx: Tx, guild_id: int, user_id: int) -> list[EventUserRow]:
    """What somebody answered for the events of a guild."""
    columns = ", ".join(f"u.{field}" for field in EventUserRow._fields)
    return tx.fetch(
        EventUserRow,
        f"SELECT {columns} FROM scheduled_event_users u JOIN scheduled_events e ON e.id = u.event_id "
        "WHERE u.user_id = ? AND e.guild_id = ? ORDER BY u.event_id, u.exception_id",
        user_id,
        guild_id,
    )
