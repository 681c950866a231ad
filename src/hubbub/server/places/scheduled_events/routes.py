"""HTTP handlers for scheduled events, their exceptions and the responses of users."""

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import EventEntityType, EventStatus, ScheduledEventResponse
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import GuildId, ScheduledEventId, Snowflake
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.places import members
from hubbub.server.places.scheduled_events import actions, recurrence, rules, store, views
from hubbub.server.places.scheduled_events.store import WHOLE_EVENT, EventRow, EventUserRow, ExceptionRow
from hubbub.server.places.standing import access


@handles(wire.LIST_GUILD_SCHEDULED_EVENTS)
def list_guild_scheduled_events(
    call: Call, guild_id: GuildId, query: wire.GetScheduledEvent
) -> list[wire.ScheduledEvent]:
    """List guild scheduled events.

    Events that have ended and events in channels hidden from the caller are left out."""
    standing = access.get_guild_standing(call, guild_id)
    visible_channels = access.visible_channels(call.tx, standing)
    rows = [
        row
        for row in store.list_open(call.tx, guild_id)
        if row.channel_id is None or row.channel_id in visible_channels
    ]
    return views.scheduled_events(call.tx, rows, with_creators=True, with_user_count=query.with_user_count)


@handles(wire.CREATE_GUILD_SCHEDULED_EVENT)
def create_guild_scheduled_event(call: Call, guild_id: GuildId, body: wire.CreateScheduledEvent) -> wire.ScheduledEvent:
    """Create a guild scheduled event.

    The caller needs CREATE_EVENTS. Before 23 February 2026, MANAGE_EVENTS is sufficient, too.

    An event in a voice channel also requires VIEW_CHANNEL and CONNECT there; an event in a stage channel requires
    MANAGE_CHANNELS, MUTE_MEMBERS and MOVE_MEMBERS.
    """
    access.get_guild_standing(call, guild_id)
    form = FormErrors()
    row = EventRow(
        id=call.new_id(ScheduledEventId),
        guild_id=guild_id,
        creator_id=call.user_id,
        name=body.name,
        start_ms=codec.milliseconds(body.scheduled_start_time),
        end_ms=codec.milliseconds(body.scheduled_end_time) if body.scheduled_end_time else None,
        entity_type=int(body.entity_type),
        channel_id=body.channel_id or None,
        description=body.description or None,
        image=body.image.hash if body.image else None,
    )
    if row.entity_type == EventEntityType.EXTERNAL:
        row = row._replace(location=rules.read_location(body.entity_metadata or None))
    rules.require_permissions(call, row, rules.creation_permissions(call))
    if body.recurrence_rule:
        row = row.with_rule(recurrence.with_start(recurrence.parse(body.recurrence_rule, form), row.start_ms))
    rules.check_event(row, None, call.now_ms, form)
    form.raise_if_any()
    if store.count_open(call.tx, guild_id) >= wire.ACTIVE_EVENTS_MAX:
        raise errors.MAX_SCHEDULED_EVENTS()
    actions.create(call, row)
    return _event_view(call, row)


@handles(wire.GET_GUILD_SCHEDULED_EVENT)
def get_guild_scheduled_event(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId, query: wire.GetScheduledEvent
) -> wire.ScheduledEvent:
    """Get a guild scheduled event.

    Events that have ended are returned as well."""
    return _event_view(
        call, _require_event(call, guild_id, guild_scheduled_event_id), with_user_count=query.with_user_count
    )


@handles(wire.UPDATE_GUILD_SCHEDULED_EVENT)
def update_guild_scheduled_event(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId, body: wire.UpdateScheduledEvent
) -> wire.ScheduledEvent:
    """Update a guild scheduled event.

    A new `status` starts, ends or cancels the event.

    The caller needs MANAGE_EVENTS. CREATE_EVENTS is sufficient for an event that the caller created. An event in a
    voice channel also requires VIEW_CHANNEL and CONNECT there; an event in a stage channel requires
    MANAGE_CHANNELS, MUTE_MEMBERS and MOVE_MEMBERS.
    """
    before = _require_editable_event(call, guild_id, guild_scheduled_event_id)
    form = FormErrors()
    after = _apply_body(before, body, form)
    if (after.channel_id, after.entity_type) != (before.channel_id, before.entity_type):
        rules.require_permissions(call, after, rules.editing_permissions(call, after))
        if before.status == EventStatus.ACTIVE:
            form.add("channel_id", "GUILD_SCHEDULED_EVENT_ACTIVE", "The channel of an active event cannot be changed.")
    rules.check_event(after, before, call.now_ms, form)
    status = body.status or before.status
    rules.check_transition(before, status, form)
    form.raise_if_any()
    after = actions.update(call, before, after._replace(status=int(status)))
    return _event_view(call, after)


@handles(wire.DELETE_GUILD_SCHEDULED_EVENT)
def delete_guild_scheduled_event(call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId) -> None:
    """Delete a guild scheduled event.

    The caller needs MANAGE_EVENTS. CREATE_EVENTS is sufficient for an event that the caller created.

    An event in a voice channel also requires VIEW_CHANNEL and CONNECT there; an event in a stage channel requires
    MANAGE_CHANNELS, MUTE_MEMBERS and MOVE_MEMBERS.
    """
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    rules.require_permissions(call, row, rules.editing_permissions(call, row))
    actions.delete(call, row)


@handles(wire.CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION)
def create_guild_scheduled_event_exception(
    call: Call,
    guild_id: GuildId,
    guild_scheduled_event_id: ScheduledEventId,
    body: wire.CreateScheduledEventException,
) -> wire.ScheduledEventException:
    """Create an exception for one occurrence of a guild scheduled event.

    The exception moves or cancels that occurrence.

    The caller needs MANAGE_EVENTS. CREATE_EVENTS is sufficient for an event that the caller created.
    """
    row = _require_editable_event(call, guild_id, guild_scheduled_event_id)
    original_ms = codec.milliseconds(body.original_scheduled_start_time)
    field = "original_scheduled_start_time"
    if not rules.occurs(row, original_ms):
        raise errors.invalid(field, "GUILD_SCHEDULED_EVENT_NO_OCCURRENCE", "The event does not occur at this time.")
    if original_ms < min(call.now_ms, row.start_ms):
        raise errors.invalid(field, "GUILD_SCHEDULED_EVENT_SCHEDULE_PAST", "This occurrence is over.")
    exception = ExceptionRow(row.id, Snowflake.at(original_ms), start_ms=None, end_ms=None, canceled=0)
    if _find_exception(call, row, exception.id) is not None:
        raise errors.invalid(field, *errors.duplicate())
    exception = _apply_exception_body(call, row, exception, body)
    actions.put_exception(call, row, None, exception)
    return views.event_exception(exception)


@handles(wire.UPDATE_GUILD_SCHEDULED_EVENT_EXCEPTION)
def update_guild_scheduled_event_exception(
    call: Call,
    guild_id: GuildId,
    guild_scheduled_event_id: ScheduledEventId,
    exception_id: Snowflake,
    body: wire.UpdateScheduledEventException,
) -> wire.ScheduledEventException:
    """Update an exception of a guild scheduled event.

    The caller needs MANAGE_EVENTS. CREATE_EVENTS is sufficient for an event that the caller created.
    """
    row = _require_editable_event(call, guild_id, guild_scheduled_event_id)
    before = _require_exception(call, row, exception_id)
    after = _apply_exception_body(call, row, before, body)
    actions.put_exception(call, row, before, after)
    return views.event_exception(after)


@handles(wire.DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION)
def delete_guild_scheduled_event_exception(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId, exception_id: Snowflake
) -> None:
    """Delete an exception of a guild scheduled event.

    The occurrence follows the recurrence rule again.

    The caller needs MANAGE_EVENTS. CREATE_EVENTS is sufficient for an event that the caller created.
    """
    row = _require_editable_event(call, guild_id, guild_scheduled_event_id)
    actions.delete_exception(call, row, _require_exception(call, row, exception_id))


@handles(wire.LIST_GUILD_SCHEDULED_EVENT_USERS)
def list_guild_scheduled_event_users(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId, query: wire.ListScheduledEventUsers
) -> list[wire.ScheduledEventUser]:
    """List the users interested in a guild scheduled event."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    return _list_users(call, row, WHOLE_EVENT, query)


@handles(wire.COUNT_GUILD_SCHEDULED_EVENT_USERS)
def count_guild_scheduled_event_users(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId, query: wire.CountScheduledEventUsers
) -> wire.ScheduledEventUserCount:
    """Count the users interested in a guild scheduled event and in some of its occurrences."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    exception_ids = list(dict.fromkeys(query.guild_scheduled_event_exception_ids))
    counts_by_exception = store.count_interested_users_by_occurrence(call.tx, row.id, exception_ids)
    return wire.ScheduledEventUserCount(
        guild_scheduled_event_count=store.count_interested_users(call.tx, [row.id])[row.id],
        guild_scheduled_event_exception_counts={
            Snowflake(exception_id): counts_by_exception[exception_id] for exception_id in exception_ids
        },
    )


@handles(wire.LIST_GUILD_SCHEDULED_EVENT_EXCEPTION_USERS)
def list_guild_scheduled_event_exception_users(
    call: Call,
    guild_id: GuildId,
    guild_scheduled_event_id: ScheduledEventId,
    guild_scheduled_event_exception_id: Snowflake,
    query: wire.ListScheduledEventUsers,
) -> list[wire.ScheduledEventUser]:
    """List the users who responded to one occurrence of a guild scheduled event, with their responses."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    rules.require_occurrence_ms(row, guild_scheduled_event_exception_id)
    return _list_users(call, row, guild_scheduled_event_exception_id, query)


@handles(wire.CREATE_GUILD_SCHEDULED_EVENT_USER)
def create_guild_scheduled_event_user(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId
) -> wire.ScheduledEventUser:
    """Register the current user's interest in a guild scheduled event."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    rules.require_open(row)
    response = EventUserRow(row.id, WHOLE_EVENT, call.user_id, int(ScheduledEventResponse.INTERESTED))
    actions.respond(call, row, response)
    return views.user_response(response)


@handles(wire.DELETE_GUILD_SCHEDULED_EVENT_USER)
def delete_guild_scheduled_event_user(
    call: Call, guild_id: GuildId, guild_scheduled_event_id: ScheduledEventId
) -> None:
    """Remove the current user's interest in a guild scheduled event."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    actions.withdraw(call, row, _require_own_response(call, row, WHOLE_EVENT))


@handles(wire.CREATE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER)
def create_guild_scheduled_event_exception_user(
    call: Call,
    guild_id: GuildId,
    guild_scheduled_event_id: ScheduledEventId,
    guild_scheduled_event_exception_id: Snowflake,
    body: wire.RespondToScheduledEvent,
) -> wire.ScheduledEventUser:
    """Set the current user's response to one occurrence of a guild scheduled event."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    rules.require_open(row)
    rules.require_occurrence_ms(row, guild_scheduled_event_exception_id)
    response = EventUserRow(row.id, guild_scheduled_event_exception_id, call.user_id, int(body.response))
    actions.respond(call, row, response)
    return views.user_response(response)


@handles(wire.DELETE_GUILD_SCHEDULED_EVENT_EXCEPTION_USER)
def delete_guild_scheduled_event_exception_user(
    call: Call,
    guild_id: GuildId,
    guild_scheduled_event_id: ScheduledEventId,
    guild_scheduled_event_exception_id: Snowflake,
) -> None:
    """Remove the current user's response to one occurrence of a guild scheduled event."""
    row = _require_event(call, guild_id, guild_scheduled_event_id)
    actions.withdraw(call, row, _require_own_response(call, row, guild_scheduled_event_exception_id))


def _require_event(call: Call, guild_id: int, event_id: int) -> EventRow:
    """Return an event of the guild; raise unless it exists and the caller can see it."""
    access.get_guild_standing(call, guild_id)
    row = store.find(call.tx, event_id)
    if row is None or row.guild_id != guild_id:
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    rules.require_visible(call, row)
    return row


def _require_editable_event(call: Call, guild_id: int, event_id: int) -> EventRow:
    """Return an event that is not finished; raise unless the caller may update it."""
    row = _require_event(call, guild_id, event_id)
    rules.require_permissions(call, row, rules.editing_permissions(call, row))
    rules.require_open(row)
    return row


def _find_exception(call: Call, row: EventRow, exception_id: int) -> ExceptionRow | None:
    exceptions = store.find_exceptions(call.tx, [row.id]).get(row.id, [])
    return next((exception for exception in exceptions if exception.id == exception_id), None)


def _require_exception(call: Call, row: EventRow, exception_id: int) -> ExceptionRow:
    exception = _find_exception(call, row, exception_id)
    if exception is None:
        # Exceptions have no error code of their own (decisions/0021).
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    return exception


def _require_own_response(call: Call, row: EventRow, exception_id: int) -> EventUserRow:
    """Return the caller's response to one occurrence, or to the whole event if `exception_id` is WHOLE_EVENT.

    Raise UNKNOWN_SCHEDULED_EVENT_USER if there is none."""
    response = store.find_response(call.tx, row.id, exception_id, call.user_id)
    if response is None:
        raise errors.UNKNOWN_SCHEDULED_EVENT_USER()
    return response


def _event_view(call: Call, row: EventRow, *, with_user_count: bool = False) -> wire.ScheduledEvent:
    return views.scheduled_events(call.tx, [row], with_creators=True, with_user_count=with_user_count)[0]


def _list_users(
    call: Call, row: EventRow, exception_id: int, query: wire.ListScheduledEventUsers
) -> list[wire.ScheduledEventUser]:
    responses = store.list_responses(
        call.tx,
        row.id,
        exception_id,
        before=_or_none(query.before),
        after=_or_none(query.after),
        limit=query.limit,
    )
    user_ids = [response.user_id for response in responses]
    users_by_id = users.find_many(call.tx, user_ids)
    member_views = members.views.find_views(call.tx, row.guild_id, user_ids) if query.with_member else {}
    response_views = []
    for response in responses:
        view = views.user_response(response)
        view.user = users.user_view(users_by_id[response.user_id]) if response.user_id in users_by_id else UNSET
        view.member = member_views.get(response.user_id, UNSET)
        response_views.append(view)
    return response_views


def _or_none(value: int | UnsetType) -> int | None:
    return None if value is UNSET else value


def _apply_body(row: EventRow, body: wire.UpdateScheduledEvent, form: FormErrors) -> EventRow:
    """Return the event with the changes of a body applied; add form errors for an invalid recurrence rule."""
    original_row = row
    if body.name is not UNSET:
        row = row._replace(name=body.name)
    if body.description is not UNSET:
        row = row._replace(description=body.description or None)
    if body.image is not UNSET:
        row = row._replace(image=body.image.hash if body.image else None)
    if body.scheduled_start_time is not UNSET:
        row = row._replace(start_ms=codec.milliseconds(body.scheduled_start_time))
    if body.scheduled_end_time is not UNSET:
        end_time = body.scheduled_end_time
        row = row._replace(end_ms=None if end_time is None else codec.milliseconds(end_time))
    if body.entity_type:
        row = row._replace(entity_type=int(body.entity_type))
    if body.channel_id is not UNSET:
        row = row._replace(channel_id=body.channel_id)
    if body.entity_metadata is not UNSET:
        row = row._replace(location=rules.read_location(body.entity_metadata))
    if row.entity_type != EventEntityType.EXTERNAL:
        row = row._replace(location=None)
    if body.recurrence_rule is not UNSET:
        row = row.with_rule(recurrence.parse(body.recurrence_rule, form) if body.recurrence_rule else None)
    rule = row.rule
    if rule is not None and (row.start_ms, rule) != (original_row.start_ms, original_row.rule):
        row = row.with_rule(recurrence.with_start(rule, row.start_ms))
    return row


def _apply_exception_body(
    call: Call, row: EventRow, exception: ExceptionRow, body: wire.UpdateScheduledEventException
) -> ExceptionRow:
    """Return the exception with the changes of a body applied; raise form errors for invalid times."""
    if body.scheduled_start_time is not UNSET:
        start_time = body.scheduled_start_time
        exception = exception._replace(start_ms=None if start_time is None else codec.milliseconds(start_time))
    if body.scheduled_end_time is not UNSET:
        end_time = body.scheduled_end_time
        exception = exception._replace(end_ms=None if end_time is None else codec.milliseconds(end_time))
    if body.is_canceled is not UNSET:
        exception = exception._replace(canceled=int(bool(body.is_canceled)))
    form = FormErrors()
    original_ms = Snowflake(exception.id).created_ms
    start_ms = original_ms if exception.start_ms is None else exception.start_ms
    is_start_changed = bool(body.scheduled_start_time)
    rules.check_times(start_ms, exception.end_ms, call.now_ms, form, checks_start=is_start_changed)
    form.raise_if_any()
    return exception
