"""Permission and validity checks for scheduled events."""

from typing import Final

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import ChannelType, EventEntityType, EventStatus
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.protocol.resources.stage_instances import STAGE_MODERATOR_PERMISSIONS
from hubbub.server.core.call import Call
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.places.scheduled_events import recurrence
from hubbub.server.places.scheduled_events.store import EventRow
from hubbub.server.places.standing import access

LEAP_YEAR_MS: Final = 366 * 86_400_000
"""Milliseconds of a leap year, so that a limit in years is never too short."""

_CHANNEL_REQUIREMENTS: Final = {
    EventEntityType.STAGE_INSTANCE: (ChannelType.GUILD_STAGE_VOICE, STAGE_MODERATOR_PERMISSIONS),
    EventEntityType.VOICE: (ChannelType.GUILD_VOICE, Permissions.VIEW_CHANNEL | Permissions.CONNECT),
}
"""Channel type and required permissions for each type of event (spec/http.md#3.9)."""

_STATUS_TRANSITIONS: Final[dict[int, tuple[EventStatus, ...]]] = {
    EventStatus.SCHEDULED: (EventStatus.SCHEDULED, EventStatus.ACTIVE, EventStatus.CANCELED),
    EventStatus.ACTIVE: (EventStatus.ACTIVE, EventStatus.COMPLETED),
}
"""Statuses that a request may set, by current status. Events with another status are finished."""


def creation_permissions(call: Call) -> int:
    """Return the permissions that allow the caller to create events; one of them is enough.

    These are CREATE_EVENTS and, until the permission split, MANAGE_EVENTS (spec/dated-changes.md#2.5).
    Bots can use CREATE_EVENTS only from the date of CREATE_PERMISSIONS_FOR_BOTS."""
    permissions = 0 if changes.PERMISSION_SPLITS.is_active(call.now_ms) else Permissions.MANAGE_EVENTS
    if not call.actor.is_bot or changes.CREATE_PERMISSIONS_FOR_BOTS.is_active(call.now_ms):
        permissions |= Permissions.CREATE_EVENTS
    return permissions


def editing_permissions(call: Call, row: EventRow) -> int:
    """Return the permissions that allow the caller to update or delete the event; one of them is enough."""
    if row.creator_id != call.user_id:
        return Permissions.MANAGE_EVENTS
    return creation_permissions(call) | Permissions.MANAGE_EVENTS


def require_permissions(call: Call, row: EventRow, sufficient_permissions: int) -> None:
    """Raise an error unless the caller has one of `sufficient_permissions` in the event's channel, or else in its guild.

    For an event in a channel, the channel must belong to the guild, and have the type and allow the caller all permissions that
    `_CHANNEL_REQUIREMENTS` lists."""
    allowed_permissions = access.get_guild_standing(call, row.guild_id).allowed
    if row.channel_id is not None and row.entity_type in _CHANNEL_REQUIREMENTS:
        channel_type, required_permissions = _CHANNEL_REQUIREMENTS[EventEntityType(row.entity_type)]
        channel = access.find_channel(call.tx, row.channel_id)
        if channel is None or channel.guild_id != row.guild_id:
            raise errors.UNKNOWN_CHANNEL()
        channel_standing = access.get_channel_standing(call, row.channel_id)
        if channel.type != channel_type:
            raise errors.WRONG_CHANNEL_TYPE()
        access.require_channel(call, row.channel_id, required_permissions)
        allowed_permissions = channel_standing.allowed
    if not allowed_permissions & sufficient_permissions:
        sufficient_bits = (1 << bit for bit in range(sufficient_permissions.bit_length()))
        raise PermissionDenied(
            Denial(
                guild_id=row.guild_id,
                channel_id=row.channel_id,
                missing_permissions=tuple(bit for bit in sufficient_bits if bit & sufficient_permissions),
            )
        )


def require_visible(call: Call, row: EventRow) -> None:
    """Raise an error unless the caller is a member of the guild and can see the event's channel, if it has one."""
    access.get_guild_standing(call, row.guild_id)
    if row.channel_id is not None:
        access.get_channel_standing(call, row.channel_id)


def require_open(row: EventRow) -> None:
    """Raise CANNOT_UPDATE_FINISHED_EVENT if the event has ended or was canceled."""
    if row.is_finished:
        raise errors.CANNOT_UPDATE_FINISHED_EVENT()


def check_event(row: EventRow, previous_row: EventRow | None, now_ms: int, form: FormErrors) -> None:
    """Add form errors for an invalid event.

    Times are checked only if they differ from the times of `previous_row`. An unchanged start may be in the past."""
    if row.entity_type == EventEntityType.EXTERNAL:
        if row.channel_id is not None:
            form.add("channel_id", "GUILD_SCHEDULED_EVENT_CHANNEL", "An external event has no channel.")
        if row.location is None:
            form.add("entity_metadata.location", *errors.required())
        if row.end_ms is None:
            form.add("scheduled_end_time", *errors.required())
    elif row.entity_type in _CHANNEL_REQUIREMENTS:
        if row.channel_id is None:
            form.add("channel_id", *errors.required())
    else:
        form.add(
            "entity_type",
            *errors.choices(
                [*(int(entity_type) for entity_type in _CHANNEL_REQUIREMENTS), int(EventEntityType.EXTERNAL)]
            ),
        )
    times = (row.start_ms, row.end_ms)
    if previous_row is None or times != (previous_row.start_ms, previous_row.end_ms):
        check_times(
            row.start_ms,
            row.end_ms,
            now_ms,
            form,
            checks_start=previous_row is None or row.start_ms != previous_row.start_ms,
        )


def check_times(start_ms: int, end_ms: int | None, now_ms: int, form: FormErrors, *, checks_start: bool = True) -> None:
    """Add form errors unless an event starts in the future, ends after its start, and is not too far in the future.

    All times are in Unix milliseconds. The start may be in the past if `checks_start` is False."""
    latest_ms = now_ms + wire.EVENT_YEARS_MAX * LEAP_YEAR_MS
    if checks_start and start_ms <= now_ms:
        form.add("scheduled_start_time", "GUILD_SCHEDULED_EVENT_SCHEDULE_PAST", "Cannot schedule event in the past.")
    for field, time_ms in (("scheduled_start_time", start_ms), ("scheduled_end_time", end_ms)):
        if time_ms is not None and time_ms > latest_ms:
            form.add(field, "GUILD_SCHEDULED_EVENT_SCHEDULE_FAR", "Cannot schedule event so far in the future.")
    if end_ms is not None and end_ms <= start_ms:
        form.add("scheduled_end_time", "GUILD_SCHEDULED_EVENT_END_BEFORE_START", "Must be after the start time.")


def check_transition(row: EventRow, status: int, form: FormErrors) -> None:
    """Add a form error unless the status transition is allowed (spec/http.md#3.9)."""
    allowed_statuses = _STATUS_TRANSITIONS.get(row.status, ())
    if status not in allowed_statuses:
        form.add(
            "status",
            *errors.choices(
                [int(allowed_status) for allowed_status in allowed_statuses if allowed_status != row.status]
            ),
        )


def occurs(row: EventRow, time_ms: int) -> bool:
    """Return whether a recurring event takes place at `time_ms` (Unix milliseconds).

    The event takes place at each occurrence of its rule, and at its own start even if the rule does not match that day."""
    rule = row.rule
    return rule is not None and (time_ms == row.start_ms or recurrence.occurs(rule, time_ms))


def require_occurrence_ms(row: EventRow, exception_id: int) -> int:
    """Return the time in Unix milliseconds of the occurrence that an exception ID refers to.

    The ID is the lowest snowflake of that time. Raise UNKNOWN_SCHEDULED_EVENT if there is no such occurrence."""
    snowflake = Snowflake(exception_id)
    if Snowflake.at(snowflake.created_ms) != snowflake or not occurs(row, snowflake.created_ms):
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    return snowflake.created_ms


def read_location(metadata: wire.EntityMetadata | None) -> str | None:
    """Return the location in the metadata of an external event, or None."""
    return None if metadata is None or metadata.location is UNSET else metadata.location
