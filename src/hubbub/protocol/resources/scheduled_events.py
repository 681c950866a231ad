"""Scheduled events of a guild, their recurrence and its exceptions, and the users interested in them."""

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
"""Maximum number of scheduled and active events per guild."""
EVENT_NAME_MAX: Final = 100
EVENT_DESCRIPTION_MAX: Final = 1000
EVENT_LOCATION_MAX: Final = 100
EVENT_USERS_MAX: Final = 100
"""Maximum number of interested users on a page."""
EVENT_COUNTS_MAX: Final = 10
"""Maximum number of occurrences in one request for counts of interested users."""
EVENT_YEARS_MAX: Final = 5
"""Maximum number of years by which an event can be scheduled ahead (decisions/0021)."""
EVENT_CANCEL_AFTER_MS: Final = 3 * 3_600_000
"""Time in milliseconds after the scheduled start at which an event that has not started is canceled.
The specification gives only "hours" (decisions/0021).
"""
EVENT_IDLE_MS: Final = 5 * 60_000
"""Time in milliseconds after which an event in an empty voice channel ends."""

EventName = Annotated[str, Meta(min_length=1, max_length=EVENT_NAME_MAX)]
EventDescription = Annotated[str, Meta(max_length=EVENT_DESCRIPTION_MAX)]


class EntityMetadata(Struct, kw_only=True):
    """The location of an event outside the platform."""

    location: Annotated[str, Meta(min_length=1, max_length=EVENT_LOCATION_MAX)] | None | UnsetType = UNSET
    """Location of the event; required if `entity_type` is 3, external."""


class NthWeekday(Struct, kw_only=True):
    """A weekday in one week of the month."""

    n: Annotated[int, Meta(ge=1, le=5)]
    """Week of the month, from 1 to 5."""
    day: Weekday
    """Day of the week."""


class RecurrenceRule(Struct, kw_only=True):
    """The recurrence of an event."""

    start: Timestamp
    """Start of the recurrence."""
    end: Timestamp | None = None
    """End of the recurrence; always null."""
    frequency: int
    """Frequency: 0 yearly, 1 monthly, 2 weekly, 3 daily."""
    interval: int
    """Number of periods between two occurrences; 2 with a weekly frequency is every other week."""
    by_weekday: list[int] | None = None
    """Days of the week on which the event occurs, 0 for Monday; null if unused."""
    by_n_weekday: list[NthWeekday] | None = None
    """Weekdays counted within the month on which the event occurs; null if unused."""
    by_month: list[int] | None = None
    """Months in which the event occurs, from 1 to 12; null if unused."""
    by_month_day: list[int] | None = None
    """Days of the month on which the event occurs; null if unused."""
    by_year_day: list[int] | None = None
    """Days of the year on which the event occurs; always null."""
    count: int | None = None
    """Number of occurrences; always null."""


class SetRecurrenceRule(Struct, kw_only=True):
    """The recurrence to set; only some combinations are valid (spec/http.md#3.9)."""

    start: datetime
    """Start of the recurrence."""
    end: datetime | None | UnsetType = UNSET
    """End of the recurrence; must be null or absent."""
    frequency: RecurrenceFrequency
    """Frequency: 0 yearly, 1 monthly, 2 weekly, 3 daily."""
    interval: Int32 | None | UnsetType = UNSET
    """Number of periods between two occurrences: 1, the default, or 2 with a weekly frequency."""
    by_weekday: Annotated[list[Weekday], Meta(max_length=7)] | None | UnsetType = UNSET
    """Days of the week on which the event occurs, 0 for Monday; only for daily and weekly events."""
    by_n_weekday: Annotated[list[NthWeekday], Meta(max_length=7)] | None | UnsetType = UNSET
    """Weekday counted within the month on which the event occurs; only for monthly events."""
    by_month: Annotated[list[Annotated[int, Meta(ge=1, le=12)]], Meta(max_length=12)] | None | UnsetType = UNSET
    """Month in which the event occurs; only for yearly events."""
    by_month_day: Annotated[list[Annotated[int, Meta(ge=-1, le=31)]], Meta(max_length=33)] | None | UnsetType = UNSET
    """Day of the month on which the event occurs; only for yearly events."""
    by_year_day: Annotated[list[Annotated[int, Meta(ge=-1, le=365)]], Meta(max_length=367)] | None | UnsetType = UNSET
    """Days of the year; must be null or absent."""
    count: Int32 | None | UnsetType = UNSET
    """Number of occurrences; must be null or absent."""


class ScheduledEventException(Struct, kw_only=True):
    """An occurrence that differs from the recurrence rule."""

    event_id: ScheduledEventId
    """ID of the event."""
    event_exception_id: Snowflake
    """ID of the exception: the snowflake of the time at which the occurrence would start by the rule."""
    scheduled_start_time: Timestamp | None
    """Start of the occurrence; null if it follows the rule."""
    scheduled_end_time: Timestamp | None
    """End of the occurrence; null if it follows the rule."""
    is_canceled: bool
    """Whether the occurrence is canceled."""


class GuildScheduledEventException(ScheduledEventException, kw_only=True):
    """An exception in gateway events, with the guild ID."""

    guild_id: GuildId
    """ID of the guild."""


class ScheduledEventExceptionsDeleted(Struct, kw_only=True):
    """The exceptions of an event that were deleted because its recurrence rule changed."""

    guild_id: GuildId
    """ID of the guild."""
    event_id: ScheduledEventId
    """ID of the event."""
    event_exception_ids: list[Snowflake]
    """IDs of the deleted exceptions."""


class ScheduledEvent(Struct, kw_only=True):
    """A scheduled event of a guild."""

    id: ScheduledEventId
    """ID of the event."""
    guild_id: GuildId
    """ID of the guild."""
    channel_id: ChannelId | None
    """ID of the channel of the event; null if `entity_type` is 3, external."""
    creator_id: UserId | None
    """ID of the user who created the event; null if unknown."""
    creator: User | UnsetType = UNSET
    """User who created the event; sent over HTTP only."""
    name: str
    """Name of the event."""
    description: str | None
    """Description of the event; null if there is none."""
    image: str | None
    """Hash of the cover image; null if there is none."""
    scheduled_start_time: Timestamp
    """Time at which the event starts."""
    scheduled_end_time: Timestamp | None
    """Time at which the event ends; null if no end is set."""
    privacy_level: int = EventPrivacyLevel.GUILD_ONLY.value
    """Visibility of the event; always 2, members of the guild only."""
    status: int
    """Status of the event: 1 scheduled, 2 active, 3 completed, 4 canceled."""
    entity_type: int
    """Location type of the event: 1 stage channel, 2 voice channel, 3 external."""
    entity_id: Snowflake | None
    """ID of the stage instance while the event takes place on a stage; null otherwise."""
    entity_metadata: EntityMetadata | None
    """Location of an external event; null otherwise."""
    recurrence_rule: RecurrenceRule | None
    """Recurrence of the event; null if it does not repeat."""
    user_count: int | UnsetType = UNSET
    """Number of interested users; present if requested with `with_user_count`."""
    guild_scheduled_event_exceptions: list[ScheduledEventException]
    """Occurrences that differ from the recurrence rule."""


class ScheduledEventUser(Struct, kw_only=True):
    """A user's response to an event or one of its occurrences."""

    guild_scheduled_event_id: ScheduledEventId
    """ID of the event."""
    guild_scheduled_event_exception_id: Snowflake | None = None
    """ID of the occurrence; null if the response is about the whole event."""
    user_id: UserId
    """ID of the user."""
    user: User | UnsetType = UNSET
    """User who responded to the event; present in lists of interested users."""
    member: Member | UnsetType = UNSET
    """Member of the guild; present if requested with `with_member`."""
    response: int
    """Response: 0 not interested, 1 interested."""


class GuildScheduledEventUser(Struct, kw_only=True):
    """A user who became interested in an event, or no longer is."""

    guild_scheduled_event_id: ScheduledEventId
    """ID of the event."""
    user_id: UserId
    """ID of the user."""
    guild_id: GuildId
    """ID of the guild."""
    guild_scheduled_event_exception_id: Snowflake | UnsetType = UNSET
    """ID of the occurrence; absent if the user is interested in the whole event."""


class ScheduledEventUserCount(Struct, kw_only=True):
    """The number of users interested in an event."""

    guild_scheduled_event_count: int
    """Number of users interested in the event."""
    guild_scheduled_event_exception_counts: dict[Snowflake, int]
    """Number of interested users by occurrence ID."""


class CreateScheduledEvent(Struct, kw_only=True):
    """A new scheduled event; optional fields may be null or absent."""

    name: EventName
    """Name of the event."""
    scheduled_start_time: datetime
    """Time at which the event starts; must be in the future."""
    privacy_level: EventPrivacyLevel
    """Visibility of the event; must be 2."""
    entity_type: EventEntityType
    """Location type of the event: 1 stage channel, 2 voice channel, 3 external."""
    description: EventDescription | None | UnsetType = UNSET
    """Description of the event."""
    image: ImageData | None | UnsetType = UNSET
    """Cover image as a data URI."""
    scheduled_end_time: datetime | None | UnsetType = UNSET
    """Time at which the event ends; required for external events."""
    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the stage or voice channel; absent or null for external events."""
    entity_metadata: EntityMetadata | None | UnsetType = UNSET
    """Location of an external event; required for external events."""
    recurrence_rule: SetRecurrenceRule | None | UnsetType = UNSET
    """Recurrence of the event."""


class UpdateScheduledEvent(Struct, kw_only=True):
    """Changes to an event; absent fields keep their value."""

    name: EventName | UnsetType = UNSET
    """Name of the event."""
    description: EventDescription | None | UnsetType = UNSET
    """Description of the event; null removes it."""
    image: ImageData | None | UnsetType = UNSET
    """Cover image as a data URI; null removes it."""
    scheduled_start_time: datetime | UnsetType = UNSET
    """Time at which the event starts."""
    scheduled_end_time: datetime | None | UnsetType = UNSET
    """Time at which the event ends, required for external events; null removes it."""
    privacy_level: EventPrivacyLevel | UnsetType = UNSET
    """Visibility of the event; must be 2."""
    entity_type: EventEntityType | None | UnsetType = UNSET
    """Location type of the event; 3, external, requires a null `channel_id`, a location and an end time. Null keeps the type."""
    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the stage or voice channel; null for external events."""
    entity_metadata: EntityMetadata | None | UnsetType = UNSET
    """Location of an external event."""
    recurrence_rule: SetRecurrenceRule | None | UnsetType = UNSET
    """Recurrence of the event; null removes it. A change deletes all exceptions."""
    status: EventStatus | None | UnsetType = UNSET
    """New status: from 1 to 2 starts the event, from 1 to 4 cancels it, from 2 to 3 ends it. Null keeps the status."""


class UpdateScheduledEventException(Struct, kw_only=True):
    """Changes to one occurrence; null restores the value of the recurrence rule, absent keeps the current value."""

    scheduled_start_time: datetime | None | UnsetType = UNSET
    """Start of the occurrence."""
    scheduled_end_time: datetime | None | UnsetType = UNSET
    """End of the occurrence."""
    is_canceled: bool | None | UnsetType = UNSET
    """Whether the occurrence is canceled."""


class CreateScheduledEventException(UpdateScheduledEventException, kw_only=True):
    """A new exception: an occurrence and its differences from the recurrence rule."""

    original_scheduled_start_time: datetime
    """Time at which the occurrence would start by the recurrence rule."""


class RespondToScheduledEvent(Struct, kw_only=True):
    """A user's response to an occurrence."""

    response: ScheduledEventResponse = ScheduledEventResponse.INTERESTED
    """Response: 0 not interested, 1 interested."""


class GetScheduledEvent(Struct, kw_only=True):
    """Query parameters for getting or listing scheduled events."""

    with_user_count: bool = False
    """Whether to include the number of interested users."""


class ListScheduledEventUsers(Struct, kw_only=True):
    """Page selection for interested users, in ascending order of ID.

    `before` takes precedence over `after`.
    """

    with_member: bool = False
    """Whether to include the guild members."""
    limit: Annotated[int, Meta(ge=1, le=EVENT_USERS_MAX)] = EVENT_USERS_MAX
    """Maximum number of users to return."""
    before: UserId | UnsetType = UNSET
    """Return users with a smaller ID."""
    after: UserId | UnsetType = UNSET
    """Return users with a greater ID."""


class CountScheduledEventUsers(Struct, kw_only=True):
    """The occurrences to count in addition to the event."""

    guild_scheduled_event_exception_ids: Annotated[list[Snowflake], Meta(max_length=EVENT_COUNTS_MAX)] = []
    """IDs of the occurrences."""


_EVENT_INTENT: Final = Intents.GUILD_SCHEDULED_EVENTS

GUILD_SCHEDULED_EVENT_CREATE = Event(
    "GUILD_SCHEDULED_EVENT_CREATE", ScheduledEvent, "Sent when a scheduled event is created.", intents=_EVENT_INTENT
)
GUILD_SCHEDULED_EVENT_UPDATE = Event(
    "GUILD_SCHEDULED_EVENT_UPDATE",
    ScheduledEvent,
    "Sent when a scheduled event changes, starts, ends or is canceled.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_DELETE = Event(
    "GUILD_SCHEDULED_EVENT_DELETE", ScheduledEvent, "Sent when a scheduled event is deleted.", intents=_EVENT_INTENT
)
GUILD_SCHEDULED_EVENT_USER_ADD = Event(
    "GUILD_SCHEDULED_EVENT_USER_ADD",
    GuildScheduledEventUser,
    "Sent when a user becomes interested in a scheduled event or occurrence.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_USER_REMOVE = Event(
    "GUILD_SCHEDULED_EVENT_USER_REMOVE",
    GuildScheduledEventUser,
    "Sent when a user is no longer interested in a scheduled event or occurrence.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE",
    GuildScheduledEventException,
    "Sent when an exception of a recurring event is created.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE",
    GuildScheduledEventException,
    "Sent when an exception of a recurring event changes.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE",
    GuildScheduledEventException,
    "Sent when an exception of a recurring event is deleted.",
    intents=_EVENT_INTENT,
)
GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE = Event(
    "GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE",
    ScheduledEventExceptionsDeleted,
    "Sent when all exceptions of an event are deleted because its recurrence rule changed.",
    intents=_EVENT_INTENT,
)

_READ_ERRORS: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_SCHEDULED_EVENT)
_WRITE_ERRORS: Final = (*_READ_ERRORS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)
_EDIT_ERRORS: Final = (*_WRITE_ERRORS, errors.CANNOT_UPDATE_FINISHED_EVENT)

# The response contains only events in channels that the caller can view, and external events.
LIST_GUILD_SCHEDULED_EVENTS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events",
    query=GetScheduledEvent,
    result=list[ScheduledEvent],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS),
)

# The caller needs CREATE_EVENTS (before changes.PERMISSION_SPLITS, MANAGE_EVENTS is also sufficient), and permissions in
# the channel.
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
    raises=_READ_ERRORS,
)

# The caller's own events require CREATE_EVENTS or MANAGE_EVENTS; other events require MANAGE_EVENTS. The handler also
# checks permissions in the channels.
UPDATE_GUILD_SCHEDULED_EVENT = Operation(
    "PATCH",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}",
    body=UpdateScheduledEvent,
    result=ScheduledEvent,
    raises=(*_EDIT_ERRORS, errors.UNKNOWN_CHANNEL, errors.WRONG_CHANNEL_TYPE, errors.CANNOT_CREATE_STAGE_FOR_EVENT),
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
    raises=_WRITE_ERRORS,
    emits=(GUILD_SCHEDULED_EVENT_DELETE, stage_instances.STAGE_INSTANCE_DELETE),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE, AuditLogAction.STAGE_INSTANCE_DELETE),
)

CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION = Operation(
    "POST",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/exceptions",
    body=CreateScheduledEventException,
    result=ScheduledEventException,
    raises=_EDIT_ERRORS,
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
    raises=_EDIT_ERRORS,
    emits=(GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE,),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE,),
)

DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/exceptions/{exception_id}",
    raises=_EDIT_ERRORS,
    emits=(GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE,),
    audits=(AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE,),
)

LIST_GUILD_SCHEDULED_EVENT_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users",
    query=ListScheduledEventUsers,
    result=list[ScheduledEventUser],
    raises=_READ_ERRORS,
)

COUNT_GUILD_SCHEDULED_EVENT_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/counts",
    query=CountScheduledEventUsers,
    result=ScheduledEventUserCount,
    raises=_READ_ERRORS,
)

LIST_GUILD_SCHEDULED_EVENT_EXCEPTION_USERS = Operation(
    "GET",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users",
    query=ListScheduledEventUsers,
    result=list[ScheduledEventUser],
    raises=_READ_ERRORS,
)

# The published API has no routes for a user's own response; these four are first-party (decisions/0021).
CREATE_GUILD_SCHEDULED_EVENT_USER = Operation(
    "PUT",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/@me",
    result=ScheduledEventUser,
    auth=Auth.USER,
    raises=(*_READ_ERRORS, errors.CANNOT_UPDATE_FINISHED_EVENT),
    emits=(GUILD_SCHEDULED_EVENT_USER_ADD,),
)

DELETE_GUILD_SCHEDULED_EVENT_USER = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/users/@me",
    auth=Auth.USER,
    raises=(*_READ_ERRORS, errors.UNKNOWN_SCHEDULED_EVENT_USER),
    emits=(GUILD_SCHEDULED_EVENT_USER_REMOVE,),
)

CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER = Operation(
    "PUT",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users/@me",
    body=RespondToScheduledEvent,
    result=ScheduledEventUser,
    auth=Auth.USER,
    raises=(*_READ_ERRORS, errors.CANNOT_UPDATE_FINISHED_EVENT),
    emits=(GUILD_SCHEDULED_EVENT_USER_ADD, GUILD_SCHEDULED_EVENT_USER_REMOVE),
    optional_body=True,
)

DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER = Operation(
    "DELETE",
    "/guilds/{guild_id}/scheduled-events/{guild_scheduled_event_id}/{guild_scheduled_event_exception_id}/users/@me",
    auth=Auth.USER,
    raises=(*_READ_ERRORS, errors.UNKNOWN_SCHEDULED_EVENT_USER),
    emits=(GUILD_SCHEDULED_EVENT_USER_REMOVE,),
)
