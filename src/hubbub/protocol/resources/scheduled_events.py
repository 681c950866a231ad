"""Scheduled events of a guild: what it plans, how often, and who wants to come."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    AuditLogAction,
    EventEntityType,
    EventPrivacyLevel,
    EventStatus,
    RecurrenceFrequency,
    ScheduledEventResponse,
    Weekday,
)
from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, Snowflake, Timestamp, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Auth, Event, Operation
from hubbub.protocol.resources import stage_instances
from hubbub.protocol.resources.members import Member
from hubbub.protocol.resources.users import User

ACTIVE_EVENTS_MAX: Final = 100
EVENT_NAME_MAX: Final = 100
EVENT_DESCRIPTION_MAX: Final = 1000
EVENT_LOCATION_MAX: Final = 100
EVENT_USERS_MAX: Final = 100
EVENT_COUNTS_MAX: Final = 10
EVENT_YEARS_MAX: Final = 5
"""How far ahead an event may be planned (decisions/0021)."""
EVENT_UNSTARTED_MS: Final = 3 * 3_600_000
"""An event that nobody started is canceled so long after its time. Open in the spec: "hours" (decisions/0021)."""
EVENT_IDLE_MS: Final = 5 * 60_000
"""An event in a voice channel is over when the channel was empty for so long."""

EventName = Annotated[str, Meta(min_length=1, max_length=EVENT_NAME_MAX)]
EventDescription = Annotated[str, Meta(max_length=EVENT_DESCRIPTION_MAX)]


class EntityMetadata(Struct, kw_only=True):
    """Where an external event takes place."""

    location: Annotated[str, Meta(min_length=1, max_length=EVENT_LOCATION_MAX)] | None | UnsetType = UNSET


class NthWeekday(Struct, kw_only=True):
    """A weekday counted within the month."""

    n: Annotated[int, Meta(ge=1, le=5)]
    day: Weekday


class RecurrenceRule(Struct, kw_only=True):
    """How an event repeats."""

    start: Timestamp
    end: Timestamp | None = None
    frequency: int
    """0 yearly, 1 monthly, 2 weekly, 3 daily."""
    interval: int
    by_weekday: list[int] | None = None
    by_n_weekday: list[NthWeekday] | None = None
    by_month: list[int] | None = None
    by_month_day: list[int] | None = None
    by_year_day: list[int] | None = None
    count: int | None = None


class SetRecurrenceRule(Struct, kw_only=True):
    """How an event is to repeat; only some combinations are possible (http.md 3.9)."""

    start: datetime
    end: datetime | None | UnsetType = UNSET
    frequency: RecurrenceFrequency
    interval: Int32 | None | UnsetType = UNSET
    by_weekday: Annotated[list[Weekday], Meta(max_length=7)] | None | UnsetType = UNSET
    by_n_weekday: Annotated[list[NthWeekday], Meta(max_length=7)] | None | UnsetType = UNSET
    by_month: Annotated[list[Annotated[int, Meta(ge=1, le=12)]], Meta(max_length=12)] | None | UnsetType = UNSET
    by_month_day: Annotated[list[Annotated[int, Meta(ge=-1, le=31)]], Meta(max_length=33)] | None | UnsetType = UNSET
    by_year_day: Annotated[list[Annotated[int, Meta(ge=-1, le=365)]], Meta(max_length=367)] | None | UnsetType = UNSET
    count: Int32 | None | UnsetType = UNSET


class ScheduledEventException(Struct, kw_only=True):
    """One occurrence that differs from the rule."""

    event_id: ScheduledEventId
    event_exception_id: Snowflake
    """The snowflake of the moment at which the rule would begin it."""
    scheduled_start_time: Timestamp | None
    scheduled_end_time: Timestamp | None
    is_canceled: bool


class GuildScheduledEventException(ScheduledEventException, kw_only=True):
    """An exception as events carry it, with its guild."""

    guild_id: GuildId


class ScheduledEventExceptionsDeleted(Struct, kw_only=True):
    """The rule changed, so that all its exceptions went."""

    guild_id: GuildId
    event_id: ScheduledEventId
    event_exception_ids: list[Snowflake]


class ScheduledEvent(Struct, kw_only=True):
    """Something a guild plans."""

    id: ScheduledEventId
    guild_id: GuildId
    channel_id: ChannelId | None
    """Null where `entity_type` is 3, external."""
    creator_id: UserId | None
    creator: User | UnsetType = UNSET
    """Over HTTP only."""
    name: str
    description: str | None
    image: str | None
    scheduled_start_time: Timestamp
    scheduled_end_time: Timestamp | None
    privacy_level: int = EventPrivacyLevel.GUILD_ONLY.value
    status: int
    """1 scheduled, 2 active, 3 completed, 4 canceled."""
    entity_type: int
    """1 stage, 2 voice, 3 external."""
    entity_id: Snowflake | None
    """The stage instance, while the event takes place on a stage."""
    entity_metadata: EntityMetadata | None
    recurrence_rule: RecurrenceRule | None
    user_count: int | UnsetType = UNSET
    guild_scheduled_event_exceptions: list[ScheduledEventException]


class ScheduledEventUser(Struct, kw_only=True):
    """Somebody who wants to come."""

    guild_scheduled_event_id: ScheduledEventId
    guild_scheduled_event_exception_id: Snowflake | None = None
    """The one occurrence that is meant; null: all of them."""
    user_id: UserId
    user: User | UnsetType = UNSET
    member: Member | UnsetType = UNSET
    response: int


class GuildScheduledEventUser(Struct, kw_only=True):
    """Somebody who wants to come, or no longer does, as events tell it."""

    guild_scheduled_event_id: ScheduledEventId
    user_id: UserId
    guild_id: GuildId
    guild_scheduled_event_exception_id: Snowflake | UnsetType = UNSET


class ScheduledEventUserCount(Struct, kw_only=True):
    """How many want to come."""

    guild_scheduled_event_count: int
    guild_scheduled_event_exception_counts: dict[Snowflake, int]


class CreateScheduledEvent(Struct, kw_only=True):
    """A plan."""

    name: EventName
    scheduled_start_time: datetime
    privacy_level: EventPrivacyLevel
    entity_type: EventEntityType
    description: EventDescription | None | UnsetType = UNSET
    image: ImageData | None | UnsetType = UNSET
    """The cover, a data URI."""
    scheduled_end_time: datetime | None | UnsetType = UNSET
    channel_id: ChannelId | None | UnsetType = UNSET
    entity_metadata: EntityMetadata | None | UnsetType = UNSET
    recurrence_rule: SetRecurrenceRule | None | UnsetType = UNSET


class UpdateScheduledEvent(Struct, kw_only=True):
    """What may change about a plan."""

    name: EventName | UnsetType = UNSET
    description: EventDescription | None | UnsetType = UNSET
    image: ImageData | None | UnsetType = UNSET
    scheduled_start_time: datetime | UnsetType = UNSET
    scheduled_end_time: datetime | None | UnsetType = UNSET
    privacy_level: EventPrivacyLevel | UnsetType = UNSET
    entity_type: EventEntityType | None | UnsetType = UNSET
    channel_id: ChannelId | None | UnsetType = UNSET
    entity_metadata: EntityMetadata | None | UnsetType = UNSET
    recurrence_rule: SetRecurrenceRule | None | UnsetType = UNSET
    status: EventStatus | None | UnsetType = UNSET
    """1 to 2 begins it, 1 to 4 cancels it, 2 to 3 ends it."""


class UpdateScheduledEventException(Struct, kw_only=True):
    """How one occurrence differs; null goes back to the rule."""

    scheduled_start_time: datetime | None | UnsetType = UNSET
    scheduled_end_time: datetime | None | UnsetType = UNSET
    is_canceled: bool | None | UnsetType = UNSET


class CreateScheduledEventException(UpdateScheduledEventException, kw_only=True):
    """How one occurrence differs."""

    original_scheduled_start_time: datetime
    """When it would begin by the rule."""


class AnswerScheduledEvent(Struct, kw_only=True):
    """Whether one wants to come to an occurrence."""

    response: ScheduledEventResponse = ScheduledEventResponse.INTERESTED


class GetScheduledEvent(Struct, kw_only=True):
    """How much of an event to tell."""

    with_user_count: bool = False


class ListScheduledEventUsers(Struct, kw_only=True):
    """A page of those who want to come, by ascending user id; `before` wins over `after`."""

    with_member: bool = False
    limit: Annotated[int, Meta(ge=1, le=EVENT_USERS_MAX)] = EVENT_USERS_MAX
    before: UserId | UnsetType = UNSET
    after: UserId | UnsetType = UNSET


class CountScheduledEventUsers(Struct, kw_only=True):
    """The occurrences to count for, besides the event itself."""

    guild_scheduled_event_exception_ids: Annotated[list[Snowflake], Meta(max_length=EVENT_COUNTS_MAX)] = []


_PLANS: Final = Intents.GUILD_SCHEDULED_EVENTS

GUILD_SCHEDULED_EVENT_CREATE = Event("GUILD_SCHEDULED_EVENT_CREATE", ScheduledEvent, intents=_PLANS)
GUILD_SCHEDULED_EVENT_UPDATE = Event("GUILD_SCHEDULED_EVENT_UPDATE", ScheduledEvent, intents=_PLANS)
GUILD_SCHEDULED_EVENT_DELETE = Event("GUILD_SCHEDULED_EVENT_DELETE", ScheduledEvent, intents=_PLANS)
GUILD_SCHEDULED_EVENT_USER_ADD = Event("GUILD_SCHEDULED_EVENT_USER_ADD", GuildScheduledEventUser, intents=_PLANS)
GUILD_SCHEDULED_EVENT_USER_REMOVE = Event("GUILD_SCHEDULED_EVENT_USER_REMOVE", GuildScheduledEventUser, intents=_PLANS)
GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE", GuildScheduledEventException, intents=_PLANS
)
GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE", GuildScheduledEventException, intents=_PLANS
)
GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE", GuildScheduledEventException, intents=_PLANS
)
GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE", ScheduledEventExceptionsDeleted, intents=_PLANS
)

_READ: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_SCHEDULED_EVENT)
_WRITE: Final = (*_READ, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_EDIT: Final = (*_WRITE, errors.CANNOT_UPDATE_FINISHED_EVENT)

# Events on a channel are for those who see it.
LIST_GUILD_SCHEDULED_EVENTS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events",
    query=GetScheduledEvent,
    result=list[ScheduledEvent],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

# CREATE_EVENTS (before 2026-02-23 MANAGE_EVENTS too), and what the channel asks for, in the channel of the body.
CREATE_GUILD_SCHEDULED_EVENT = Operation(
    "POST",
    "/guilds/{guild_id}/scheduled-events",
    body=CreateScheduledEvent,
    result=ScheduledEvent,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.UNKNOWN_CHANNEL,
        errors.WRONG_CHANNEL_TYPE,
        errors.MAX_SCHEDULED_EVENTS,
    ),
    emits=(GUILD_SCHEDULED_EVENT_CREATE,),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE,),
)

GET_GUILD_SCHEDULED_EVENT = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}",
    query=GetScheduledEvent,
    result=ScheduledEvent,
    raises=_READ,
)

# One's own with CREATE_EVENTS or MANAGE_EVENTS, others' with MANAGE_EVENTS, and what the channels ask for.
UPDATE_GUILD_SCHEDULED_EVENT = Operation(
    "PATCH",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}",
    body=UpdateScheduledEvent,
    result=ScheduledEvent,
    raises=(*_EDIT, errors.UNKNOWN_CHANNEL, errors.WRONG_CHANNEL_TYPE, errors.CANNOT_CREATE_STAGE_FOR_EVENT),
    emits=(
        GUILD_SCHEDULED_EVENT_UPDATE,
        GUILD_SCHEDULED_EVENT_DELETE,
        GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE,
        stage_instances.STAGE_INSTANCE_CREATE,
        stage_instances.STAGE_INSTANCE_DELETE,
    ),
    audits=(
        AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE,
        AuditLogAction.STAGE_INSTANCE_CREATE,
        AuditLogAction.STAGE_INSTANCE_DELETE,
    ),
)

DELETE_GUILD_SCHEDULED_EVENT = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}",
    raises=_WRITE,
    emits=(GUILD_SCHEDULED_EVENT_DELETE, stage_instances.STAGE_INSTANCE_DELETE),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE, AuditLogAction.STAGE_INSTANCE_DELETE),
)

CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION = Operation(
    "POST",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/exceptions",
    body=CreateScheduledEventException,
    result=ScheduledEventException,
    raises=_EDIT,
    emits=(GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE, GUILD_SCHEDULED_EVENT_UPDATE),
    audits=(
        AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE,
        AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE,
    ),
)

UPDATE_GUILD_SCHEDULED_EVENT_EXCEPTION = Operation(
    "PATCH",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/exceptions/{exception_id}",
    body=UpdateScheduledEventException,
    result=ScheduledEventException,
    raises=_EDIT,
    emits=(GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE,),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE,),
)

DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/exceptions/{exception_id}",
    raises=_EDIT,
    emits=(GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE,),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE,),
)

LIST_GUILD_SCHEDULED_EVENT_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users",
    query=ListScheduledEventUsers,
    result=list[ScheduledEventUser],
    raises=_READ,
)

COUNT_GUILD_SCHEDULED_EVENT_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/counts",
    query=CountScheduledEventUsers,
    result=ScheduledEventUserCount,
    raises=_READ,
)

LIST_GUILD_SCHEDULED_EVENT_EXCEPTION_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users",
    query=ListScheduledEventUsers,
    result=list[ScheduledEventUser],
    raises=_READ,
)

# The published description has no way to want to come; people have these four (decisions/0021).
CREATE_GUILD_SCHEDULED_EVENT_USER = Operation(
    "PUT",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/@me",
    result=ScheduledEventUser,
    auth=Auth.USER,
    raises=(*_READ, errors.CANNOT_UPDATE_FINISHED_EVENT),
    emits=(GUILD_SCHEDULED_EVENT_USER_ADD,),
)

DELETE_GUILD_SCHEDULED_EVENT_USER = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/@me",
    auth=Auth.USER,
    raises=(*_READ, errors.UNKNOWN_SCHEDULED_EVENT_USER),
    emits=(GUILD_SCHEDULED_EVENT_USER_REMOVE,),
)

CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER = Operation(
    "PUT",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users/@me",
    body=AnswerScheduledEvent,
    result=ScheduledEventUser,
    auth=Auth.USER,
    raises=(*_READ, errors.CANNOT_UPDATE_FINISHED_EVENT),
    emits=(GUILD_SCHEDULED_EVENT_USER_ADD, GUILD_SCHEDULED_EVENT_USER_REMOVE),
    optional_body=True,
)

DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users/@me",
    auth=Auth.USER,
    raises=(*_READ, errors.UNKNOWN_SCHEDULED_EVENT_USER),
    emits=(GUILD_SCHEDULED_EVENT_USER_REMOVE,),
)
