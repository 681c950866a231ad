"""SQL for the scheduled_events, scheduled_event_exceptions and scheduled_event_users tables."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.enums import EventStatus, ScheduledEventResponse
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "scheduled_event_exceptions",
    "scheduled_event_users",
    "scheduled_events",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="scheduled_event_users.user_id", erasure=Erasure.DELETED, export="event_responses"),
    PersonalColumn(column="scheduled_events.creator_id", erasure=Erasure.WRITTEN, export="scheduled_events"),
)
"""Columns of these tables that contain IDs of users."""


FINISHED_STATUSES = frozenset({EventStatus.COMPLETED, EventStatus.CANCELED})
WHOLE_EVENT: Final = 0
"""Value of `exception_id` in a response to the whole event instead of one occurrence."""


class EventRow(NamedTuple):
    """A scheduled event of a guild.

    The times of a recurring event are the times of its current or next occurrence, without its exception."""

    id: int
    guild_id: int
    creator_id: int | None
    name: str
    start_ms: int
    end_ms: int | None
    entity_type: int
    """Value of `EventEntityType`."""
    status: int = int(EventStatus.SCHEDULED)
    channel_id: int | None = None
    entity_id: int | None = None
    """ID of the stage instance while a stage event is active; otherwise None."""
    location: str | None = None
    description: str | None = None
    image: str | None = None
    """Hash of the cover image, or None."""
    recurrence: str | None = None
    """JSON of `RecurrenceRule`, or None."""

    @property
    def is_finished(self) -> bool:
        """Whether the event is completed or canceled."""
        return self.status in FINISHED_STATUSES

    @property
    def rule(self) -> wire.RecurrenceRule | None:
        """The recurrence rule, decoded from `recurrence`; None if the event does not recur."""
        return None if self.recurrence is None else codec.decode(self.recurrence, wire.RecurrenceRule)

    def with_rule(self, rule: wire.RecurrenceRule | None) -> "EventRow":
        """Return a copy of the event with another recurrence rule, or without a rule if `rule` is None."""
        return self._replace(recurrence=None if rule is None else codec.encode(rule).decode())


class ExceptionRow(NamedTuple):
    """An occurrence of a scheduled event that differs from the recurrence rule."""

    event_id: int
    id: int
    """Lowest snowflake of the time at which the rule has the occurrence."""
    start_ms: int | None
    """New start in Unix milliseconds; None if the start is unchanged."""
    end_ms: int | None
    """New end in Unix milliseconds; None if the end moves with the start."""
    canceled: int


class EventUserRow(NamedTuple):
    """A user's response to an event or to one occurrence."""

    event_id: int
    exception_id: int
    """ID of the occurrence as in `ExceptionRow`, or `WHOLE_EVENT`."""
    user_id: int
    response: int
    """Value of `ScheduledEventResponse`."""

    @property
    def is_interested(self) -> bool:
        """Whether the user is interested in the event or occurrence."""
        return self.response == ScheduledEventResponse.INTERESTED


COLUMNS = ", ".join(EventRow._fields)
_EXCEPTION_COLUMNS = ", ".join(ExceptionRow._fields)
_USER_COLUMNS = ", ".join(EventUserRow._fields)
_OPEN_STATUSES_SQL = f"({EventStatus.SCHEDULED:d}, {EventStatus.ACTIVE:d})"


def find(tx: Tx, event_id: int) -> EventRow | None:
    return tx.find(EventRow, f"SELECT {COLUMNS} FROM scheduled_events WHERE id = ?", event_id)


def find_many(tx: Tx, guild_id: int, event_ids: Sequence[int]) -> list[EventRow]:
    """Return the events among `event_ids` that exist in a guild, by ascending ID."""
    if not event_ids:
        return []
    return tx.fetch(
        EventRow,
        f"SELECT {COLUMNS} FROM scheduled_events WHERE guild_id = ? AND id IN ({placeholders(event_ids)}) ORDER BY id",
        guild_id,
        *event_ids,
    )


def list_open(tx: Tx, guild_id: int) -> list[EventRow]:
    """Return a guild's scheduled and active events, by ascending ID."""
    return tx.fetch(
        EventRow,
        f"SELECT {COLUMNS} FROM scheduled_events WHERE guild_id = ? AND status IN {_OPEN_STATUSES_SQL} ORDER BY id",
        guild_id,
    )


def list_channel_events(tx: Tx, channel_ids: Sequence[int]) -> list[EventRow]:
    """Return the scheduled and active events of channels."""
    rows: list[EventRow] = []
    for batch in batches(channel_ids):
        rows += tx.fetch(
            EventRow,
            f"SELECT {COLUMNS} FROM scheduled_events WHERE channel_id IN ({placeholders(batch)}) "
            f"AND status IN {_OPEN_STATUSES_SQL} ORDER BY id",
            *batch,
        )
    return rows


def count_open(tx: Tx, guild_id: int) -> int:
    """Return the number of a guild's scheduled and active events."""
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM scheduled_events WHERE guild_id = ? AND status IN {_OPEN_STATUSES_SQL}", guild_id
        )
        or 0
    )


def insert(tx: Tx, row: EventRow) -> None:
    tx.run(f"INSERT INTO scheduled_events ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: EventRow) -> None:
    assignments = ", ".join(f"{field} = ?" for field in EventRow._fields[2:])
    tx.run(f"UPDATE scheduled_events SET {assignments} WHERE id = ?", *row[2:], row.id)


def delete(tx: Tx, event_id: int) -> None:
    """Delete an event with its exceptions and responses."""
    tx.run("DELETE FROM scheduled_event_users WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_events WHERE id = ?", event_id)


def delete_guild_events(tx: Tx, guild_id: int) -> None:
    """Delete all events of a guild with their exceptions and responses."""
    for table in ("scheduled_event_users", "scheduled_event_exceptions"):
        tx.run(f"DELETE FROM {table} WHERE event_id IN (SELECT id FROM scheduled_events WHERE guild_id = ?)", guild_id)
    tx.run("DELETE FROM scheduled_events WHERE guild_id = ?", guild_id)


# Exceptions


def find_exceptions(tx: Tx, event_ids: Iterable[int]) -> dict[int, list[ExceptionRow]]:
    """Return the exceptions of events by event ID, in the order of occurrences."""
    event_id_list = list(event_ids)
    exceptions_by_event: dict[int, list[ExceptionRow]] = {}
    if event_id_list:
        for row in tx.fetch(
            ExceptionRow,
            f"SELECT {_EXCEPTION_COLUMNS} FROM scheduled_event_exceptions WHERE event_id IN ({placeholders(event_id_list)}) "
            "ORDER BY event_id, id",
            *event_id_list,
        ):
            exceptions_by_event.setdefault(row.event_id, []).append(row)
    return exceptions_by_event


def put_exception(tx: Tx, row: ExceptionRow) -> None:
    """Insert or update an exception."""
    tx.run(
        f"INSERT INTO scheduled_event_exceptions ({_EXCEPTION_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (event_id, id) "
        "DO UPDATE SET start_ms = excluded.start_ms, end_ms = excluded.end_ms, canceled = excluded.canceled",
        *row,
    )


def delete_exception(tx: Tx, event_id: int, exception_id: int) -> None:
    """Delete the exception of one occurrence; responses to the occurrence stay."""
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ? AND id = ?", event_id, exception_id)


def delete_exceptions(tx: Tx, event_id: int) -> None:
    """Delete all exceptions of an event and all responses to single occurrences."""
    tx.run("DELETE FROM scheduled_event_exceptions WHERE event_id = ?", event_id)
    tx.run("DELETE FROM scheduled_event_users WHERE event_id = ? AND exception_id <> 0", event_id)


# Responses


def find_response(tx: Tx, event_id: int, exception_id: int, user_id: int) -> EventUserRow | None:
    """Return a user's response to one occurrence, or to the whole event if `exception_id` is WHOLE_EVENT; None if there is none."""
    return tx.find(
        EventUserRow,
        f"SELECT {_USER_COLUMNS} FROM scheduled_event_users WHERE event_id = ? AND exception_id = ? AND user_id = ?",
        event_id,
        exception_id,
        user_id,
    )


def list_responses(
    tx: Tx, event_id: int, exception_id: int, *, before: int | None, after: int | None, limit: int
) -> list[EventUserRow]:
    """Return a page of responses by ascending user ID. `before` and `after` are user IDs; `before` takes precedence."""
    select = f"SELECT {_USER_COLUMNS} FROM scheduled_event_users WHERE event_id = ? AND exception_id = ?"
    if before is not None:
        rows = tx.fetch(
            EventUserRow,
            f"{select} AND user_id < ? ORDER BY user_id DESC LIMIT ?",
            event_id,
            exception_id,
            before,
            limit,
        )
        return rows[::-1]
    return tx.fetch(
        EventUserRow, f"{select} AND user_id > ? ORDER BY user_id LIMIT ?", event_id, exception_id, after or 0, limit
    )


def count_interested_users(tx: Tx, event_ids: Iterable[int]) -> dict[int, int]:
    """Return the number of interested users of each event, by event ID."""
    event_id_list = list(event_ids)
    if not event_id_list:
        return {}
    rows = tx.all(
        "SELECT event_id, COUNT(*) FROM scheduled_event_users "
        f"WHERE event_id IN ({placeholders(event_id_list)}) AND exception_id = 0 AND response = 1 GROUP BY event_id",
        *event_id_list,
    )
    return dict.fromkeys(event_id_list, 0) | dict(rows)


def count_interested_users_by_occurrence(tx: Tx, event_id: int, exception_ids: Sequence[int]) -> dict[int, int]:
    """Return the number of interested users of each occurrence, by exception ID."""
    if not exception_ids:
        return {}
    rows = tx.all(
        "SELECT exception_id, COUNT(*) FROM scheduled_event_users "
        f"WHERE event_id = ? AND exception_id IN ({placeholders(exception_ids)}) AND response = 1 GROUP BY exception_id",
        event_id,
        *exception_ids,
    )
    return dict.fromkeys(exception_ids, 0) | dict(rows)


def put_response(tx: Tx, row: EventUserRow) -> None:
    """Insert or update a response."""
    tx.run(
        f"INSERT INTO scheduled_event_users ({_USER_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (event_id, exception_id, user_id) DO UPDATE SET response = excluded.response",
        *row,
    )


def delete_response(tx: Tx, event_id: int, exception_id: int, user_id: int) -> None:
    """Delete a user's response to one occurrence, or to the whole event if `exception_id` is WHOLE_EVENT."""
    tx.run(
        "DELETE FROM scheduled_event_users WHERE event_id = ? AND exception_id = ? AND user_id = ?",
        event_id,
        exception_id,
        user_id,
    )


def list_responses_of_user(tx: Tx, guild_id: int, user_id: int) -> list[EventUserRow]:
    """Return a user's responses to the events of a guild."""
    columns = ", ".join(f"u.{field}" for field in EventUserRow._fields)
    return tx.fetch(
        EventUserRow,
        f"SELECT {columns} FROM scheduled_event_users u JOIN scheduled_events e ON e.id = u.event_id "
        "WHERE u.user_id = ? AND e.guild_id = ? ORDER BY u.event_id, u.exception_id",
        user_id,
        guild_id,
    )


def list_by_creator(tx: Tx, user_id: int, limit: int | None = None) -> list[EventRow]:
    """Return the events that a user created, oldest first, at most `limit` unless it is None."""
    sql = f"SELECT {COLUMNS} FROM scheduled_events WHERE creator_id = ? ORDER BY id"
    return tx.fetch(EventRow, sql, user_id) if limit is None else tx.fetch(EventRow, f"{sql} LIMIT ?", user_id, limit)


def list_all_responses_of_user(tx: Tx, user_id: int) -> list[EventUserRow]:
    """Return a user's responses to the events of all guilds."""
    return tx.fetch(
        EventUserRow,
        f"SELECT {', '.join(EventUserRow._fields)} FROM scheduled_event_users WHERE user_id = ? "
        "ORDER BY event_id, exception_id",
        user_id,
    )
