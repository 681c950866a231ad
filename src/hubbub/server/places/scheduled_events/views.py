"""Build the wire models of scheduled events, their exceptions and the responses to them."""

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, Snowflake, Timestamp, UserId
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.scheduled_events import store
from hubbub.server.places.scheduled_events.store import EventRow, EventUserRow, ExceptionRow


def scheduled_event(
    row: EventRow,
    exceptions: Sequence[ExceptionRow],
    *,
    creator: User | UnsetType = UNSET,
    user_count: int | UnsetType = UNSET,
) -> wire.ScheduledEvent:
    """Return an event. Only HTTP responses include the creator and the user count."""
    return wire.ScheduledEvent(
        id=ScheduledEventId(row.id),
        guild_id=GuildId(row.guild_id),
        channel_id=None if row.channel_id is None else ChannelId(row.channel_id),
        creator_id=None if row.creator_id is None else UserId(row.creator_id),
        creator=creator,
        name=row.name,
        description=row.description,
        image=row.image,
        scheduled_start_time=codec.timestamp(row.start_ms),
        scheduled_end_time=_optional_timestamp(row.end_ms),
        status=row.status,
        entity_type=row.entity_type,
        entity_id=None if row.entity_id is None else Snowflake(row.entity_id),
        entity_metadata=None if row.location is None else wire.EntityMetadata(location=row.location),
        recurrence_rule=row.rule,
        user_count=user_count,
        guild_scheduled_event_exceptions=[event_exception(exception_row) for exception_row in exceptions],
    )


def scheduled_events(
    tx: Tx, rows: Sequence[EventRow], *, with_creators: bool = False, with_user_count: bool = False
) -> list[wire.ScheduledEvent]:
    """Return several events, loaded with a constant number of queries.

    `with_creators` includes the users who created them, `with_user_count` the number of interested users."""
    event_ids = [row.id for row in rows]
    exceptions_by_event = store.find_exceptions(tx, [row.id for row in rows if row.recurrence is not None])
    creator_ids = [row.creator_id for row in rows if row.creator_id is not None] if with_creators else []
    creators_by_id = users.find_many(tx, creator_ids)
    user_counts_by_event = store.count_interested_users(tx, event_ids) if with_user_count else {}
    return [
        scheduled_event(
            row,
            exceptions_by_event.get(row.id, []),
            creator=users.user_view(creators_by_id[row.creator_id]) if row.creator_id in creators_by_id else UNSET,
            user_count=user_counts_by_event.get(row.id, UNSET),
        )
        for row in rows
    ]


def event_exception(row: ExceptionRow) -> wire.ScheduledEventException:
    return wire.ScheduledEventException(
        event_id=ScheduledEventId(row.event_id),
        event_exception_id=Snowflake(row.id),
        scheduled_start_time=_optional_timestamp(row.start_ms),
        scheduled_end_time=_optional_timestamp(row.end_ms),
        is_canceled=bool(row.canceled),
    )


def guild_exception(row: ExceptionRow, guild_id: int) -> wire.GuildScheduledEventException:
    """Return an exception with its guild ID, for gateway events."""
    return wire.GuildScheduledEventException(
        guild_id=GuildId(guild_id),
        event_id=ScheduledEventId(row.event_id),
        event_exception_id=Snowflake(row.id),
        scheduled_start_time=_optional_timestamp(row.start_ms),
        scheduled_end_time=_optional_timestamp(row.end_ms),
        is_canceled=bool(row.canceled),
    )


def user_response(row: EventUserRow) -> wire.ScheduledEventUser:
    """Return a user's response without the user object."""
    return wire.ScheduledEventUser(
        guild_scheduled_event_id=ScheduledEventId(row.event_id),
        guild_scheduled_event_exception_id=Snowflake(row.exception_id) if row.exception_id else None,
        user_id=UserId(row.user_id),
        response=row.response,
    )


def _optional_timestamp(time_ms: int | None) -> Timestamp | None:
    return None if time_ms is None else codec.timestamp(time_ms)
