"""Change scheduled events, their exceptions and the responses to them: store, audit, publish and schedule jobs."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, EventEntityType, EventStatus, StagePrivacyLevel
from hubbub.protocol.ids import GuildId, ScheduledEventId, Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.places import stage_instances, voice_states
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.guilds.interface.creation import GuildImported
from hubbub.server.places.members.signals import MemberRemoved
from hubbub.server.places.scheduled_events import recurrence, store, views
from hubbub.server.places.scheduled_events.store import EventRow, EventUserRow, ExceptionRow
from hubbub.server.places.stage_instances import StageInstanceClosed, StageInstanceRow
from hubbub.server.places.voice_states.signals import VoiceChannelChanged

ADVANCE_JOB: Final = "scheduled_events.advance"
"""Kind of the job that starts, ends or cancels an event at its time."""
END_JOB: Final = "scheduled_events.end"
"""Kind of the job that ends an event whose voice channel stays empty."""
DELETION_BATCH_SIZE: Final = 50
"""Number of events that one transaction of the deletion of an account deletes."""

_AUDITED_FIELDS: Final = (
    "name",
    "description",
    "status",
    "entity_type",
    "channel_id",
    "entity_metadata",
    "scheduled_start_time",
    "scheduled_end_time",
    "privacy_level",
    "recurrence_rule",
    "image",
)
_AUDITED_EXCEPTION_FIELDS: Final = ("scheduled_start_time", "scheduled_end_time", "is_canceled")


class EventJobPayload(msgspec.Struct):
    """Payload of the jobs `ADVANCE_JOB` and `END_JOB`."""

    event_id: ScheduledEventId


class Occurrence(NamedTuple):
    """The actual times of an event's current or next occurrence, with its exception applied."""

    start_ms: int
    end_ms: int | None
    is_canceled: bool


# Lifecycle


def create(call: Call, row: EventRow) -> None:
    """Store and publish a new scheduled event, with an audit log entry, and schedule its next automatic change."""
    store.insert(call.tx, row)
    view = views.scheduled_event(row, [])
    changes = audit.differences(None, view, _AUDITED_FIELDS)
    action = AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE
    audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_CREATE, view, _event_audience(row))
    _schedule_job(call, row, [])


def update(call: Call, before: EventRow, after: EventRow) -> EventRow:
    """Update an event and its stage instance, and return the stored event.

    The stage instance starts and ends with its event, and a recurring event that ends moves to its next occurrence. A
    changed recurrence rule deletes all exceptions."""
    if after == before:
        return before
    exceptions = _list_exceptions(call, before)
    if after.recurrence != before.recurrence and exceptions:
        _delete_exceptions(call, before, exceptions)
        exceptions = []
    if after.status == EventStatus.ACTIVE != before.status:
        after = _start_stage(call, after)
    if after.status == EventStatus.COMPLETED != before.status:
        after = _move_to_next_occurrence(call, after._replace(entity_id=None), exceptions)
    _store_update(call, before, after, exceptions)
    if after.status != EventStatus.ACTIVE:
        _close_stage(call, before)
    return after


def _store_update(call: Call, before: EventRow, after: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    """Store and publish an updated event, with an audit log entry if there is an actor, and reschedule its job."""
    store.update(call.tx, after)
    previous_view, view = views.scheduled_event(before, exceptions), views.scheduled_event(after, exceptions)
    if call.actor_or_none is not None:
        changes = audit.differences(previous_view, view, _AUDITED_FIELDS)
        action = AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE
        audit.record(call, after.guild_id, action, target_id=after.id, changes=changes)
    if after.channel_id is not None and after.channel_id != before.channel_id:
        # Members who saw the old channel and cannot see the new channel must drop the event.
        former_audience = _event_audience(before, hidden_channel_id=after.channel_id)
        call.tx.emit(wire.GUILD_SCHEDULED_EVENT_DELETE, previous_view, former_audience)
    # Events of a deleted channel lose their channel, so the update goes to members who could see the old channel.
    is_channel_deleted = after.channel_id is None and after.is_finished
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_UPDATE, view, _event_audience(before if is_channel_deleted else after))
    _schedule_job(call, after, exceptions)


def _start_stage(call: Call, row: EventRow) -> EventRow:
    """Start the stage instance of a stage event that becomes active; return the event with its stage, if any.

    Raise if the channel already has a stage instance."""
    if row.entity_type != EventEntityType.STAGE_INSTANCE or row.entity_id is not None or row.channel_id is None:
        return row
    if stage_instances.find(call.tx, row.channel_id) is not None:
        raise errors.CANNOT_CREATE_STAGE_FOR_EVENT()
    stage = stage_instances.create(
        call,
        row.guild_id,
        row.channel_id,
        row.name,
        privacy_level=StagePrivacyLevel.GUILD_ONLY,
        scheduled_event_id=row.id,
    )
    return row._replace(entity_id=stage.id)


def _move_to_next_occurrence(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> EventRow:
    """Return a recurring event moved to its next occurrence that is not canceled.

    The event is returned unchanged if it does not recur or has no later occurrence."""
    recurrence_rule = row.rule
    if recurrence_rule is None:
        return row
    canceled_ids = {exception.id for exception in exceptions if exception.canceled}
    occurrence_ms: int | None = max(row.start_ms, call.now_ms)
    while occurrence_ms is not None:
        occurrence_ms = recurrence.find_next(recurrence_rule, occurrence_ms)
        if occurrence_ms is not None and Snowflake.at(occurrence_ms) not in canceled_ids:
            duration_ms = None if row.end_ms is None else row.end_ms - row.start_ms
            return row._replace(
                status=int(EventStatus.SCHEDULED),
                start_ms=occurrence_ms,
                end_ms=None if duration_ms is None else occurrence_ms + duration_ms,
                entity_id=None,
            )
    return row


def delete(call: Call, row: EventRow, *, is_audited: bool = True) -> None:
    """Delete an event and its stage instance; `is_audited` also records its content in the audit log."""
    view = views.scheduled_event(row, _list_exceptions(call, row))
    store.delete(call.tx, row.id)
    _cancel_jobs(call, row)
    if is_audited:
        changes = audit.differences(view, None, _AUDITED_FIELDS)
        action = AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE
        audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_DELETE, view, _event_audience(row))
    _close_stage(call, row)


def _close_stage(call: Call, row: EventRow) -> None:
    """End the stage instance that belongs to the event, if there is one."""
    if row.entity_id is None or row.channel_id is None:
        return
    stage = stage_instances.find(call.tx, row.channel_id)
    if stage is not None and stage.scheduled_event_id == row.id:
        stage_instances.close(call, stage)


def _event_audience(row: EventRow, *, hidden_channel_id: int | None = None) -> GuildAudience:
    """Return the audience of an event: members who can see its channel, or the whole guild (spec/gateway.md#5.1).

    Members who can see the channel `hidden_channel_id` are excluded."""
    return GuildAudience(row.guild_id, row.channel_id, hidden_channel_id=hidden_channel_id)


def _list_exceptions(call: Call, row: EventRow) -> list[ExceptionRow]:
    return [] if row.recurrence is None else store.find_exceptions(call.tx, [row.id]).get(row.id, [])


# Jobs


def _job_key(kind: str, event_id: int) -> str:
    return f"{kind}:{event_id}"


def _cancel_jobs(call: Call, row: EventRow) -> None:
    for kind in (ADVANCE_JOB, END_JOB):
        jobs.cancel_jobs(call.tx, kind, _job_key(kind, row.id))


def _schedule_job(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    """Schedule the job for the event's next automatic change."""
    _cancel_jobs(call, row)
    due_ms = _find_next_change_ms(row, exceptions)
    if due_ms is not None:
        call.tx.enqueue(
            ADVANCE_JOB, EventJobPayload(ScheduledEventId(row.id)), due_ms=due_ms, key=_job_key(ADVANCE_JOB, row.id)
        )


def _find_next_change_ms(row: EventRow, exceptions: Sequence[ExceptionRow]) -> int | None:
    """Return when the event starts, ends or is canceled automatically, in Unix milliseconds, or None (spec/http.md#3.9)."""
    occurrence = _current_occurrence(row, exceptions)
    is_external = row.entity_type == EventEntityType.EXTERNAL
    if row.status == EventStatus.SCHEDULED:
        if occurrence.is_canceled or is_external:
            return occurrence.start_ms
        return occurrence.start_ms + wire.EVENT_CANCEL_AFTER_MS
    return occurrence.end_ms if row.status == EventStatus.ACTIVE and is_external else None


def _current_occurrence(row: EventRow, exceptions: Sequence[ExceptionRow]) -> Occurrence:
    """Return the event's current or next occurrence, with its exception applied."""
    for exception in exceptions:
        if exception.id == Snowflake.at(row.start_ms):
            start_ms = row.start_ms if exception.start_ms is None else exception.start_ms
            shifted_end_ms = None if row.end_ms is None else row.end_ms + start_ms - row.start_ms
            return Occurrence(
                start_ms, shifted_end_ms if exception.end_ms is None else exception.end_ms, bool(exception.canceled)
            )
    return Occurrence(row.start_ms, row.end_ms, False)


def advance(call: Call, event_id: int) -> None:
    """Start, end or cancel an event whose automatic change is due; reschedule the job if the change is due later."""
    row = store.find(call.tx, event_id)
    exceptions = [] if row is None else _list_exceptions(call, row)
    due_ms = None if row is None else _find_next_change_ms(row, exceptions)
    if row is None or due_ms is None:
        return
    if due_ms > call.now_ms:
        _schedule_job(call, row, exceptions)
    elif row.status == EventStatus.ACTIVE:
        update(call, row, row._replace(status=int(EventStatus.COMPLETED)))
    elif row.entity_type == EventEntityType.EXTERNAL and not _current_occurrence(row, exceptions).is_canceled:
        update(call, row, row._replace(status=int(EventStatus.ACTIVE)))
    else:
        next_row = _move_to_next_occurrence(call, row, exceptions)
        update(call, row, row._replace(status=int(EventStatus.CANCELED)) if next_row == row else next_row)


def end_if_idle(call: Call, event_id: int) -> None:
    """End an event if its voice channel is still empty."""
    row = store.find(call.tx, event_id)
    if (
        row is not None
        and row.status == EventStatus.ACTIVE
        and not voice_states.count_connected(call.tx, row.channel_id or 0)
    ):
        update(call, row, row._replace(status=int(EventStatus.COMPLETED)))


def start_with_stage(call: Call, stage: StageInstanceRow, event_id: int) -> None:
    """Start the event that a new stage instance is for.

    Raise UNKNOWN_SCHEDULED_EVENT or WRONG_EVENT_ENTITY_TYPE if the event does not belong to this stage channel."""
    row = store.find(call.tx, event_id)
    if row is None or row.guild_id != stage.guild_id or row.status != EventStatus.SCHEDULED:
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    if row.entity_type != EventEntityType.STAGE_INSTANCE or row.channel_id != stage.channel_id:
        raise errors.WRONG_EVENT_ENTITY_TYPE()
    update(call, row, row._replace(status=int(EventStatus.ACTIVE), entity_id=stage.id))


# Listeners


def on_stage_instance_closed(call: Call, signal: StageInstanceClosed) -> None:
    """End the active event of a stage instance that ended."""
    row = store.find(call.tx, signal.scheduled_event_id)
    if row is not None and row.status == EventStatus.ACTIVE:
        update(call, row, row._replace(status=int(EventStatus.COMPLETED)))


def on_voice_channel_changed(call: Call, signal: VoiceChannelChanged) -> None:
    """Restart or cancel the idle timer of an active voice event after any voice state in its channel changed.

    The event ends after `EVENT_IDLE_MS` without connected members."""
    for row in store.list_channel_events(call.tx, (signal.channel_id,)):
        if row.status == EventStatus.ACTIVE and row.entity_type == EventEntityType.VOICE:
            jobs.cancel_jobs(call.tx, END_JOB, _job_key(END_JOB, row.id))
            if not voice_states.count_connected(call.tx, signal.channel_id):
                call.tx.enqueue(
                    END_JOB,
                    EventJobPayload(ScheduledEventId(row.id)),
                    due_ms=call.now_ms + wire.EVENT_IDLE_MS,
                    key=_job_key(END_JOB, row.id),
                )


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """End active events and cancel scheduled events of deleted channels."""
    for row in store.list_channel_events(call.tx, signal.channel_ids):
        status = EventStatus.COMPLETED if row.status == EventStatus.ACTIVE else EventStatus.CANCELED
        after = row._replace(status=int(status), channel_id=None, entity_id=None)
        _store_update(call, row, after, _list_exceptions(call, row))


def on_guild_imported(call: Call, signal: GuildImported) -> None:
    """Schedule the automatic changes of imported events."""
    rows = store.list_open(call.tx, signal.guild_id)
    exceptions_by_event = store.find_exceptions(call.tx, [row.id for row in rows])
    for row in rows:
        _schedule_job(call, row, exceptions_by_event.get(row.id, []))


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the events of a deleted guild and their jobs."""
    for row in store.list_open(call.tx, signal.guild_id):
        _cancel_jobs(call, row)
    store.delete_guild_events(call.tx, signal.guild_id)


def on_member_removed(call: Call, signal: MemberRemoved) -> None:
    """Withdraw the responses of a member who left the guild or was removed."""
    responses = store.list_responses_of_user(call.tx, signal.guild_id, signal.user_id)
    rows_by_id = {
        row.id: row for row in store.find_many(call.tx, signal.guild_id, [response.event_id for response in responses])
    }
    for response in responses:
        withdraw(call, rows_by_id[response.event_id], response)


# Exceptions


def put_exception(call: Call, row: EventRow, before: ExceptionRow | None, after: ExceptionRow) -> None:
    """Create an exception for one occurrence if `before` is None, otherwise update it."""
    if before == after:
        return
    store.put_exception(call.tx, after)
    if before is None:
        action = AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE
        event: Event[Any] = wire.GUILD_SCHEDULED_EVENT_EXCEPTION_CREATE
    else:
        action = AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE
        event = wire.GUILD_SCHEDULED_EVENT_EXCEPTION_UPDATE
    _record_exception(call, row, action, before, after)
    call.tx.emit(event, views.guild_exception(after, row.guild_id), _event_audience(row))
    _apply_exceptions(call, row)


def delete_exception(call: Call, row: EventRow, exception: ExceptionRow) -> None:
    """Delete the exception of one occurrence and reschedule the event."""
    store.delete_exception(call.tx, row.id, exception.id)
    _record_exception(call, row, AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, exception, None)
    view = views.guild_exception(exception, row.guild_id)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, view, _event_audience(row))
    _apply_exceptions(call, row)


def _apply_exceptions(call: Call, row: EventRow) -> None:
    """Reschedule an event after its exceptions changed; skip the next occurrence if it is canceled."""
    exceptions = _list_exceptions(call, row)
    if row.status == EventStatus.SCHEDULED and _current_occurrence(row, exceptions).is_canceled:
        after = _move_to_next_occurrence(call, row, exceptions)
        if after != row:
            _store_update(call, row, after, exceptions)
            return
    _schedule_job(call, row, exceptions)


def _delete_exceptions(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    store.delete_exceptions(call.tx, row.id)
    payload = wire.ScheduledEventExceptionsDeleted(
        guild_id=GuildId(row.guild_id),
        event_id=ScheduledEventId(row.id),
        event_exception_ids=[Snowflake(exception.id) for exception in exceptions],
    )
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE, payload, _event_audience(row))


def _record_exception(
    call: Call, row: EventRow, action: int, before: ExceptionRow | None, after: ExceptionRow | None
) -> None:
    exception = after or before
    assert exception is not None
    previous_view = None if before is None else views.event_exception(before)
    new_view = None if after is None else views.event_exception(after)
    audit.record(
        call,
        row.guild_id,
        action,
        target_id=row.id,
        changes=audit.differences(previous_view, new_view, _AUDITED_EXCEPTION_FIELDS),
        options={"event_exception_id": exception.id},
    )


# Responses


def respond(call: Call, row: EventRow, response: EventUserRow) -> None:
    """Store a member's response to an event or to one occurrence, and publish it if it changed.

    A first response is published only if the member is interested."""
    previous_response = store.find_response(call.tx, row.id, response.exception_id, response.user_id)
    if previous_response == response:
        return
    store.put_response(call.tx, response)
    if response.is_interested:
        _publish_response(call, wire.GUILD_SCHEDULED_EVENT_USER_ADD, row, response)
    elif previous_response is not None:
        _publish_response(call, wire.GUILD_SCHEDULED_EVENT_USER_REMOVE, row, response)


def withdraw(call: Call, row: EventRow, response: EventUserRow) -> None:
    """Delete a member's response, and publish the removal if the member was interested."""
    store.delete_response(call.tx, row.id, response.exception_id, response.user_id)
    if response.is_interested:
        _publish_response(call, wire.GUILD_SCHEDULED_EVENT_USER_REMOVE, row, response)


def _publish_response(call: Call, event: Event[Any], row: EventRow, response: EventUserRow) -> None:
    payload = wire.GuildScheduledEventUser(
        guild_scheduled_event_id=ScheduledEventId(row.id),
        user_id=UserId(response.user_id),
        guild_id=GuildId(row.guild_id),
        guild_scheduled_event_exception_id=Snowflake(response.exception_id) if response.exception_id else UNSET,
    )
    call.tx.emit(event, payload, _event_audience(row))


# Personal data


def delete_by_creator(call: Call, user_id: UserId) -> bool:
    """Delete a batch of the events that a user created. Return whether there may be more.

    The audit log does not get the content of the events."""
    rows = store.list_by_creator(call.tx, user_id, DELETION_BATCH_SIZE)
    for row in rows:
        delete(call, row, is_audited=False)
    return len(rows) == DELETION_BATCH_SIZE


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the events that a user created, and their responses to events, for the export of their data."""
    return {
        "scheduled_events": [export_row(row, "creator_id") for row in store.list_by_creator(call.tx, user_id)],
        "event_responses": [export_row(row, "user_id") for row in store.list_all_responses_of_user(call.tx, user_id)],
    }
