"""Scheduled events of a guild."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, Timestamp, UserId
from hubbub.protocol.resources.users import User

ACTIVE_EVENTS_MAX: Final = 100
EVENT_NAME_MAX: Final = 100
EVENT_DESCRIPTION_MAX: Final = 1000
EVENT_LOCATION_MAX: Final = 100


class EntityMetadata(Struct, kw_only=True):
    """Where an external event takes place."""

    location: str | UnsetType = UNSET


class NthWeekday(Struct, kw_only=True):
    """A weekday counted within the month."""

    n: int
    day: int


class RecurrenceRule(Struct, kw_only=True):
    """How an event repeats."""

    start: Timestamp
    end: Timestamp | None | UnsetType = UNSET
    frequency: int
    """0 yearly, 1 monthly, 2 weekly, 3 daily."""
    interval: int
    by_weekday: list[int] | None
    by_n_weekday: list[NthWeekday] | None
    by_month: list[int] | None
    by_month_day: list[int] | None
    by_year_day: list[int] | None | UnsetType = UNSET
    count: int | None | UnsetType = UNSET


class ScheduledEventException(Struct, kw_only=True):
    """One occurrence that differs from the rule."""

    event_id: Snowflake
    event_exception_id: Snowflake
    scheduled_start_time: Timestamp | None
    scheduled_end_time: Timestamp | None
    is_canceled: bool


class ScheduledEvent(Struct, kw_only=True):
    """Something a guild plans."""

    id: Snowflake
    guild_id: GuildId
    channel_id: ChannelId | None
    """Null where `entity_type` is 3, external."""
    creator_id: UserId | None
    creator: User | UnsetType = UNSET
    name: str
    description: str | None
    image: str | None
    scheduled_start_time: Timestamp
    scheduled_end_time: Timestamp | None
    privacy_level: int = 2
    status: int
    """1 scheduled, 2 active, 3 completed, 4 canceled."""
    entity_type: int
    """1 stage, 2 voice, 3 external."""
    entity_id: Snowflake | None
    entity_metadata: EntityMetadata | None
    recurrence_rule: RecurrenceRule | None
    user_count: int | UnsetType = UNSET
    guild_scheduled_event_exceptions: list[ScheduledEventException]
