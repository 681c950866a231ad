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
from hubbub.server.places.scheduled_events import recurrence
from hubbub.server.places.scheduled_events.store import EventRow
from hubbub.server.places.standing import access

YEAR_MS: Final = 366 * 86_400_000

_CHANNELS: Final = {
    EventEntityType.STAGE_INSTANCE: (ChannelType.GUILD_STAGE_VOICE, STAGE_MODERATOR_PERMISSIONS),
    EventEntityType.VOICE: (ChannelType.GUILD_VOICE, Permissions.VIEW_CHANNEL | Permissions.CONNECT),
}
"""Channel type and required permissions for each type of event (spec/http.md#3.9)."""

_TRANSITIONS: Final[dict[int, tuple[EventStatus, ...]]] = {
    EventStatus.SCHEDULED: (EventStatus.SCHEDULED, EventStatus.ACTIVE, EventStatus.CANCELED),
    EventStatus.ACTIVE: (EventStatus.ACTIVE, EventStatus.COMPLETED),
}


def creation_permissions(call: Call) -> int:
    """Return the permissions that allow creating events; one is enough.

    These are CREATE_EVENTS and, until the permission split, MANAGE_EVENTS (spec/dated-changes.md#2.5)."""
    bits = 0 if changes.PERMISSION_SPLITS.is_active(call.now) else Permissions.MANAGE_EVENTS
    if not call.actor.is_bot or changes.CREATE_PERMISSIONS_FOR_BOTS.is_active(call.now):
        bits |= Permissions.CREATE_EVENTS
    return bits


def edit_permissions(call: Call, row: EventRow) -> int:
    """Return the permissions that allow updating or deleting this event; one is enough."""
    if row.creator_id != call.user_id:
        return Permissions.MANAGE_EVENTS
    return creation_permissions(call) | Permissions.MANAGE_EVENTS


def require_permissions(call: Call, row: EventRow, bits: int) -> None:
    """Raise an error unless the caller has one of these permissions, and those that the event's channel requires."""
    allowed = access.guild(call, row.guild_id).allowed
    if row.channel_id is not None and row.entity_type in _CHANNELS:
        kind, needed = _CHANNELS[EventEntityType(row.entity_type)]
        channel = access.find_channel(call.tx, row.channel_id)
        if channel is None or channel.guild_id != row.guild_id:
            raise errors.UNKNOWN_CHANNEL()
        channel_access = access.channel(call, row.channel_id)
        if channel.type != kind:
            raise errors.WRONG_CHANNEL_TYPE()
        access.require_channel(call, row.channel_id, needed)
        allowed = channel_access.allowed
    if not allowed & bits:
        raise errors.MISSING_PERMISSIONS()


def require_visible(call: Call, row: EventRow) -> None:
    """Raise an error unless the caller can see the event's channel."""
    access.guild(call, row.guild_id)
    if row.channel_id is not None:
        access.channel(call, row.channel_id)


def require_open(row: EventRow) -> None:
    """Raise an error if the event has ended or was canceled."""
    if row.is_finished:
        raise errors.CANNOT_UPDATE_FINISHED_EVENT()


def check(row: EventRow, before: EventRow | None, now: int, form: FormErrors) -> None:
    """Add form errors for an invalid event. Fields that the request does not change are not checked again."""
    if row.entity_type == EventEntityType.EXTERNAL:
        if row.channel_id is not None:
            form.add("channel_id", "GUILD_SCHEDULED_EVENT_CHANNEL", "An external event has no channel.")
        if row.location is None:
            form.add("entity_metadata.location", *errors.required())
        if row.end_ms is None:
            form.add("scheduled_end_time", *errors.required())
    elif row.entity_type in _CHANNELS:
        if row.channel_id is None:
            form.add("channel_id", *errors.required())
    else:
        form.add("entity_type", *errors.choices([*(int(kind) for kind in _CHANNELS), int(EventEntityType.EXTERNAL)]))
    times = (row.start_ms, row.end_ms)
    if before is None or times != (before.start_ms, before.end_ms):
        check_times(row.start_ms, row.end_ms, now, form, check_start=before is None or row.start_ms != before.start_ms)


def check_times(start_ms: int, end_ms: int | None, now: int, form: FormErrors, *, check_start: bool = True) -> None:
    """Add form errors unless the event starts in the future and ends after its start.

    The start is checked only with `check_start`."""
    latest = now + wire.EVENT_YEARS_MAX * YEAR_MS
    if check_start and start_ms <= now:
        form.add("scheduled_start_time", "GUILD_SCHEDULED_EVENT_SCHEDULE_PAST", "Cannot schedule event in the past.")
    for field, ms in (("scheduled_start_time", start_ms), ("scheduled_end_time", end_ms)):
        if ms is not None and ms > latest:
            form.add(field, "GUILD_SCHEDULED_EVENT_SCHEDULE_FAR", "Cannot schedule event so far in the future.")
    if end_ms is not None and end_ms <= start_ms:
        form.add("scheduled_end_time", "GUILD_SCHEDULED_EVENT_END_BEFORE_START", "Must be after the start time.")


def check_transition(row: EventRow, status: int, form: FormErrors) -> None:
    """Add a form error unless the status transition is allowed (spec/http.md#3.9)."""
    allowed = _TRANSITIONS.get(row.status, ())
    if status not in allowed:
        form.add("status", *errors.choices([int(each) for each in allowed if each != row.status]))


def occurs(row: EventRow, ms: int) -> bool:
    """Return whether a recurring event takes place at a time.

    That is each occurrence of its rule, and its own start on any day."""
    rule = row.rule
    return rule is not None and (ms == row.start_ms or recurrence.occurs(rule, ms))


def occurrence(row: EventRow, exception_id: int) -> int:
    """Return the time of the occurrence that an exception ID refers to, or raise UNKNOWN_SCHEDULED_EVENT (10070)."""
    moment = Snowflake(exception_id)
    if Snowflake.at(moment.created_ms) != moment or not occurs(row, moment.created_ms):
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    return moment.created_ms


def location(metadata: wire.EntityMetadata | None) -> str | None:
    """Return the location of an external event, or None."""
    return None if metadata is None or metadata.location is UNSET else metadata.location
