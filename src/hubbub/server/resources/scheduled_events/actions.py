"""Planning, beginning, ending and calling off events: write, audit, publish, and wait for the clock."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, EventEntityType, EventStatus, StagePrivacyLevel
from hubbub.protocol.ids import GuildId, ScheduledEventId, Snowflake, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import scheduled_events as wire
from hubbub.server.core import audit, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import stage_instances, voice_states
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.members import MemberRemoved
from hubbub.server.resources.scheduled_events import recurrence, store, views
from hubbub.server.resources.scheduled_events.store import EventRow, EventUserRow, ExceptionRow
from hubbub.server.resources.stage_instances import StageInstanceClosed, StageInstanceOpened
from hubbub.server.resources.voice_states import VoiceChannelChanged

ADVANCE: Final = "scheduled_events.advance"
END: Final = "scheduled_events.end"

_AUDITED: Final = (
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
_AUDITED_EXCEPTION: Final = ("scheduled_start_time", "scheduled_end_time", "is_canceled")


class Due(msgspec.Struct):
    """What a job about an event knows."""

    event_id: ScheduledEventId


class Occurrence(NamedTuple):
    """When the next occurrence really is."""

    start_ms: int
    end_ms: int | None
    canceled: bool


# An event's life


def create(call: Call, row: EventRow) -> None:
    """Plan something."""
    store.insert(call.tx, row)
    shown = views.scheduled_event(row, [])
    changes = audit.differences(None, shown, _AUDITED)
    action = AuditLogAction.GUILD_SCHEDULED_EVENT_CREATE
    audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_CREATE, shown, _audience(row))
    _wait(call, row, [])


def change(call: Call, before: EventRow, after: EventRow) -> EventRow:
    """Keep what changed of an event, with what follows: a stage opens or closes, a recurring event goes on to its next time."""
    if after == before:
        return before
    exceptions = _exceptions(call, before)
    if after.recurrence != before.recurrence and exceptions:
        _forget_exceptions(call, before, exceptions)
        exceptions = []
    if after.status == EventStatus.ACTIVE != before.status:
        after = _begun(call, after)
    if after.status == EventStatus.COMPLETED != before.status:
        after = _next(call, after._replace(entity_id=None), exceptions)
    _keep(call, before, after, exceptions)
    if after.status != EventStatus.ACTIVE:
        _close_stage(call, before)
    return after


def _keep(call: Call, before: EventRow, after: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    store.update(call.tx, after)
    old, shown = views.scheduled_event(before, exceptions), views.scheduled_event(after, exceptions)
    if call.find_actor is not None:
        changes = audit.differences(old, shown, _AUDITED)
        action = AuditLogAction.GUILD_SCHEDULED_EVENT_UPDATE
        audit.record(call, after.guild_id, action, target_id=after.id, changes=changes)
    if after.channel_id is not None and after.channel_id != before.channel_id:
        # Who saw where it was and does not see where it goes must not keep it.
        blind = _audience(before, blind_to=after.channel_id)
        call.tx.emit(wire.GUILD_SCHEDULED_EVENT_DELETE, old, blind)
    # A channel that is going takes its events out of sight; those who saw it are told.
    gone = after.channel_id is None and after.finished
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_UPDATE, shown, _audience(before if gone else after))
    _wait(call, after, exceptions)


def _begun(call: Call, row: EventRow) -> EventRow:
    """The event as it takes place; on a stage, that opens."""
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


def _next(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> EventRow:
    """An event after one occurrence: scheduled for the next that is not called off, or as it is when there is none."""
    rule = row.rule
    if rule is None:
        return row
    canceled = {each.id for each in exceptions if each.canceled}
    moment: int | None = max(row.start_ms, call.now)
    while moment is not None:
        moment = recurrence.next_after(rule, moment)
        if moment is not None and Snowflake.at(moment) not in canceled:
            length = None if row.end_ms is None else row.end_ms - row.start_ms
            return row._replace(
                status=int(EventStatus.SCHEDULED),
                start_ms=moment,
                end_ms=None if length is None else moment + length,
                entity_id=None,
            )
    return row


def delete(call: Call, row: EventRow) -> None:
    """An event is taken back as if it had never been planned."""
    shown = views.scheduled_event(row, _exceptions(call, row))
    store.delete(call.tx, row.id)
    _cancel_jobs(call, row)
    changes = audit.differences(shown, None, _AUDITED)
    action = AuditLogAction.GUILD_SCHEDULED_EVENT_DELETE
    audit.record(call, row.guild_id, action, target_id=row.id, changes=changes)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_DELETE, shown, _audience(row))
    _close_stage(call, row)


def _close_stage(call: Call, row: EventRow) -> None:
    if row.entity_id is None or row.channel_id is None:
        return
    stage = stage_instances.find(call.tx, row.channel_id)
    if stage is not None and stage.scheduled_event_id == row.id:
        stage_instances.close(call, stage)


def _audience(row: EventRow, **more: Any) -> Audience:
    """gateway.md 5.1: events on a channel are for those who see it."""
    if row.channel_id is None:
        return Audience.guild(row.guild_id, **more)
    return Audience.viewers(row.guild_id, row.channel_id, **more)


def _exceptions(call: Call, row: EventRow) -> list[ExceptionRow]:
    return [] if row.recurrence is None else store.exceptions_of(call.tx, [row.id]).get(row.id, [])


# The clock


def _key(kind: str, event_id: int) -> str:
    return f"{kind}:{event_id}"


def _cancel_jobs(call: Call, row: EventRow) -> None:
    for kind in (ADVANCE, END):
        jobs.cancel(call.tx, kind, _key(kind, row.id))


def _wait(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    """Have the clock call when something is to happen by itself."""
    _cancel_jobs(call, row)
    due_ms = _due(row, exceptions)
    if due_ms is not None:
        call.tx.enqueue(ADVANCE, Due(ScheduledEventId(row.id)), due_ms=due_ms, key=_key(ADVANCE, row.id))


def _due(row: EventRow, exceptions: Sequence[ExceptionRow]) -> int | None:
    """When an event begins, ends or is called off by itself (http.md 3.9); None while it waits for somebody."""
    now = _occurrence(row, exceptions)
    external = row.entity_type == EventEntityType.EXTERNAL
    if row.status == EventStatus.SCHEDULED:
        if now.canceled or external:
            return now.start_ms
        return now.start_ms + wire.EVENT_UNSTARTED_MS
    return now.end_ms if row.status == EventStatus.ACTIVE and external else None


def _occurrence(row: EventRow, exceptions: Sequence[ExceptionRow]) -> Occurrence:
    for each in exceptions:
        if each.id == Snowflake.at(row.start_ms):
            start_ms = row.start_ms if each.start_ms is None else each.start_ms
            moved = None if row.end_ms is None else row.end_ms + start_ms - row.start_ms
            return Occurrence(start_ms, moved if each.end_ms is None else each.end_ms, bool(each.canceled))
    return Occurrence(row.start_ms, row.end_ms, False)


def advance(call: Call, event_id: int) -> None:
    """Do what the clock asks of an event, if it still does."""
    row = store.find(call.tx, event_id)
    exceptions = [] if row is None else _exceptions(call, row)
    due_ms = None if row is None else _due(row, exceptions)
    if row is None or due_ms is None:
        return
    if due_ms > call.now:
        _wait(call, row, exceptions)
    elif row.status == EventStatus.ACTIVE:
        change(call, row, row._replace(status=int(EventStatus.COMPLETED)))
    elif row.entity_type == EventEntityType.EXTERNAL and not _occurrence(row, exceptions).canceled:
        change(call, row, row._replace(status=int(EventStatus.ACTIVE)))
    else:
        missed = _next(call, row, exceptions)
        change(call, row, row._replace(status=int(EventStatus.CANCELED)) if missed == row else missed)


def end(call: Call, event_id: int) -> None:
    """End an event whose voice channel is still empty."""
    row = store.find(call.tx, event_id)
    if (
        row is not None
        and row.status == EventStatus.ACTIVE
        and not voice_states.connected(call.tx, row.channel_id or 0)
    ):
        change(call, row, row._replace(status=int(EventStatus.COMPLETED)))


# What happens elsewhere


def begin_with_stage(call: Call, fact: StageInstanceOpened) -> None:
    """A stage opened for an event: the event begins, if it is one of this stage."""
    row = store.find(call.tx, fact.scheduled_event_id)
    if row is None or row.guild_id != fact.guild_id or row.status != EventStatus.SCHEDULED:
        raise errors.UNKNOWN_SCHEDULED_EVENT()
    if row.entity_type != EventEntityType.STAGE_INSTANCE or row.channel_id != fact.channel_id:
        raise errors.WRONG_EVENT_ENTITY_TYPE()
    change(call, row, row._replace(status=int(EventStatus.ACTIVE), entity_id=fact.stage_instance_id))


def end_with_stage(call: Call, fact: StageInstanceClosed) -> None:
    """The stage of an event closed, and so it is over."""
    row = store.find(call.tx, fact.scheduled_event_id)
    if row is not None and row.status == EventStatus.ACTIVE:
        change(call, row, row._replace(status=int(EventStatus.COMPLETED)))


def watch_channel(call: Call, fact: VoiceChannelChanged) -> None:
    """Somebody came to a voice channel, or left: what takes place there ends a while after the last one."""
    for row in store.list_of_channels(call.tx, (fact.channel_id,)):
        if row.status == EventStatus.ACTIVE and row.entity_type == EventEntityType.VOICE:
            jobs.cancel(call.tx, END, _key(END, row.id))
            if not voice_states.connected(call.tx, fact.channel_id):
                call.tx.enqueue(
                    END, Due(ScheduledEventId(row.id)), due_ms=call.now + wire.EVENT_IDLE_MS, key=_key(END, row.id)
                )


def forget_channels(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going: what takes place there is over, what was planned there is called off."""
    for row in store.list_of_channels(call.tx, fact.channel_ids):
        over = EventStatus.COMPLETED if row.status == EventStatus.ACTIVE else EventStatus.CANCELED
        after = row._replace(status=int(over), channel_id=None, entity_id=None)
        _keep(call, row, after, _exceptions(call, row))


def forget_guild(call: Call, fact: GuildDeleted) -> None:
    """A guild is going, and its plans with it."""
    for row in store.list_open(call.tx, fact.guild_id):
        _cancel_jobs(call, row)
    store.delete_of_guild(call.tx, fact.guild_id)


def forget_member(call: Call, fact: MemberRemoved) -> None:
    """Who is no longer in the guild does not come."""
    answers = store.list_of_user(call.tx, fact.guild_id, fact.user_id)
    rows = {row.id: row for row in store.find_many(call.tx, fact.guild_id, [each.event_id for each in answers])}
    for answer in answers:
        withdraw(call, rows[answer.event_id], answer)


# Exceptions


def put_exception(call: Call, row: EventRow, before: ExceptionRow | None, after: ExceptionRow) -> None:
    """One occurrence is different from the others, or differently so."""
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
    call.tx.emit(event, views.guild_exception(after, row.guild_id), _audience(row))
    _follow(call, row)


def delete_exception(call: Call, row: EventRow, exception: ExceptionRow) -> None:
    """One occurrence is like the others again."""
    store.delete_exception(call.tx, row.id, exception.id)
    _record_exception(call, row, AuditLogAction.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, exception, None)
    shown = views.guild_exception(exception, row.guild_id)
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_EXCEPTION_DELETE, shown, _audience(row))
    _follow(call, row)


def _follow(call: Call, row: EventRow) -> None:
    """An exception may be about the very occurrence that is next: if that is called off, the event goes on to the one after."""
    exceptions = _exceptions(call, row)
    if row.status == EventStatus.SCHEDULED and _occurrence(row, exceptions).canceled:
        after = _next(call, row, exceptions)
        if after != row:
            _keep(call, row, after, exceptions)
            return
    _wait(call, row, exceptions)


def _forget_exceptions(call: Call, row: EventRow, exceptions: Sequence[ExceptionRow]) -> None:
    store.delete_exceptions(call.tx, row.id)
    gone = wire.ScheduledEventExceptionsDeleted(
        guild_id=GuildId(row.guild_id),
        event_id=ScheduledEventId(row.id),
        event_exception_ids=[Snowflake(each.id) for each in exceptions],
    )
    call.tx.emit(wire.GUILD_SCHEDULED_EVENT_EXCEPTIONS_DELETE, gone, _audience(row))


def _record_exception(
    call: Call, row: EventRow, action: int, before: ExceptionRow | None, after: ExceptionRow | None
) -> None:
    some = after or before
    assert some is not None
    old = None if before is None else views.exception(before)
    new = None if after is None else views.exception(after)
    audit.record(
        call,
        row.guild_id,
        action,
        target_id=row.id,
        changes=audit.differences(old, new, _AUDITED_EXCEPTION),
        options={"event_exception_id": some.id},
    )


# Users


def answer(call: Call, row: EventRow, answer: EventUserRow) -> None:
    """Somebody wants to come, or says that they do not want to come to this one time."""
    before = store.find_user(call.tx, row.id, answer.exception_id, answer.user_id)
    if before == answer:
        return
    store.put_user(call.tx, answer)
    if answer.response:
        _tell_user(call, wire.GUILD_SCHEDULED_EVENT_USER_ADD, row, answer)
    elif before is not None:
        _tell_user(call, wire.GUILD_SCHEDULED_EVENT_USER_REMOVE, row, answer)


def withdraw(call: Call, row: EventRow, answer: EventUserRow) -> None:
    """Somebody takes back what they answered."""
    store.delete_user(call.tx, row.id, answer.exception_id, answer.user_id)
    if answer.response:
        _tell_user(call, wire.GUILD_SCHEDULED_EVENT_USER_REMOVE, row, answer)


def _tell_user(call: Call, event: Event[Any], row: EventRow, answer: EventUserRow) -> None:
    told = wire.GuildScheduledEventUser(
        guild_scheduled_event_id=ScheduledEventId(row.id),
        user_id=UserId(answer.user_id),
        guild_id=GuildId(row.guild_id),
        guild_scheduled_event_exception_id=Snowflake(answer.exception_id) if answer.exception_id else UNSET,
    )
    call.tx.emit(event, told, _audience(row))
