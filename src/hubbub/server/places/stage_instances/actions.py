"""Start, update and end stage instances: store, record in the audit log, publish, and post system messages."""

from typing import Any, Final

import msgspec

from hubbub.protocol.enums import AuditLogAction, MessageType
from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import stage_instances as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.places import guilds, voice_states
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.stage_instances import ports, store, views
from hubbub.server.places.stage_instances.signals import StageInstanceClosed
from hubbub.server.places.stage_instances.store import StageInstanceRow
from hubbub.server.places.voice_states.signals import SpeakerAdded, VoiceChannelChanged

CLOSE_JOB: Final = "stage_instances.close"
"""Kind of the job that ends a stage without speakers."""

_AUDITED_FIELDS: Final = ("topic", "privacy_level")


class CloseJobPayload(msgspec.Struct):
    """Payload of the job that ends a stage without speakers."""

    channel_id: ChannelId
    id: StageInstanceId


def create(
    call: Call,
    guild_id: int,
    channel_id: int,
    topic: str,
    *,
    privacy_level: int,
    scheduled_event_id: int | None = None,
    mentions_everyone: bool = False,
) -> StageInstanceRow:
    """Start a stage instance without checking permissions.

    `mentions_everyone` makes the start message notify the whole guild. `scheduled_event_id` is the event that the stage
    belongs to; the function does not start the event."""
    guilds.ports.check_names(call, (topic,))
    starter_id = None if call.actor_or_none is None else int(call.user_id)
    stage_instance_id = call.new_id(StageInstanceId)
    row = StageInstanceRow(
        channel_id, stage_instance_id, guild_id, topic, privacy_level, scheduled_event_id, starter_id
    )
    store.insert(call.tx, row)
    _record_audit_entry(call, AuditLogAction.STAGE_INSTANCE_CREATE, None, row)
    _publish(call, wire.STAGE_INSTANCE_CREATE, row)
    _post_message(call, MessageType.STAGE_START, row, mentions_everyone=mentions_everyone)
    _schedule_close(call, row)
    return row


def start_event(call: Call, row: StageInstanceRow) -> None:
    """Start the scheduled event that the stage instance belongs to, if any."""
    if row.scheduled_event_id is not None:
        ports.start_event(call, row, row.scheduled_event_id)


def update(call: Call, before: StageInstanceRow, after: StageInstanceRow) -> None:
    """Update a stage instance. Do nothing if nothing changed."""
    if after != before:
        if after.topic != before.topic:
            guilds.ports.check_names(call, (after.topic,))
        store.update(call.tx, after)
        _record_audit_entry(call, AuditLogAction.STAGE_INSTANCE_UPDATE, before, after)
        _publish(call, wire.STAGE_INSTANCE_UPDATE, after)
        if after.topic != before.topic:
            _post_message(call, MessageType.STAGE_TOPIC, after)


def close(call: Call, row: StageInstanceRow, *, posts_message: bool = True) -> None:
    """End a stage instance.

    Without an acting user there is no audit log entry. With `posts_message=False`, for a deleted channel, no message is
    posted."""
    store.delete(call.tx, row.channel_id)
    jobs.cancel_jobs(call.tx, CLOSE_JOB, _close_job_key(row))
    if call.actor_or_none is not None:
        _record_audit_entry(call, AuditLogAction.STAGE_INSTANCE_DELETE, row, None)
    _publish(call, wire.STAGE_INSTANCE_DELETE, row)
    if posts_message:
        _post_message(call, MessageType.STAGE_END, row)
    if row.scheduled_event_id is not None:
        event_id = ScheduledEventId(row.scheduled_event_id)
        call.notify(StageInstanceClosed(guild_id=GuildId(row.guild_id), scheduled_event_id=event_id))


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
    """End the stage instances of deleted channels."""
    for row in store.list_channel_instances(call.tx, signal.channel_ids):
        close(call, row, posts_message=False)


def on_voice_channel_changed(call: Call, signal: VoiceChannelChanged) -> None:
    """Restart or cancel the idle timer of a stage after any voice state in its channel changed.

    The stage ends after `STAGE_IDLE_MS` without speakers."""
    row = store.find(call.tx, signal.channel_id)
    if row is not None:
        jobs.cancel_jobs(call.tx, CLOSE_JOB, _close_job_key(row))
        _schedule_close(call, row)


def on_speaker_added(call: Call, signal: SpeakerAdded) -> None:
    """Post a message in the stage's chat when a member joins as a speaker or becomes a speaker."""
    row = store.find(call.tx, signal.channel_id)
    if row is not None:
        _post_message(call, MessageType.STAGE_SPEAKER, row, author_id=signal.user_id, topic="")


def _schedule_close(call: Call, row: StageInstanceRow) -> None:
    """Schedule the end of a stage instance if it has no speakers."""
    if not voice_states.count_speakers(call.tx, row.channel_id):
        due_ms = call.now_ms + wire.STAGE_IDLE_MS
        call.tx.enqueue(
            CLOSE_JOB,
            CloseJobPayload(ChannelId(row.channel_id), StageInstanceId(row.id)),
            due_ms=due_ms,
            key=_close_job_key(row),
        )


def _close_job_key(row: StageInstanceRow) -> str:
    return f"{CLOSE_JOB}:{row.id}"


def _record_audit_entry(
    call: Call, action: int, before: StageInstanceRow | None, after: StageInstanceRow | None
) -> None:
    row = after or before
    assert row is not None
    previous_view = None if before is None else views.stage_instance(before)
    new_view = None if after is None else views.stage_instance(after)
    audit.record(
        call,
        row.guild_id,
        action,
        target_id=row.id,
        changes=audit.differences(previous_view, new_view, _AUDITED_FIELDS),
        options={"channel_id": row.channel_id},
    )


def _post_message(
    call: Call,
    message_type: MessageType,
    row: StageInstanceRow,
    *,
    author_id: int | None = None,
    topic: str | None = None,
    mentions_everyone: bool = False,
) -> None:
    """Post a system message in the stage's chat.

    The author is `author_id`, else the acting user, else the user who started the stage; without any of them no message
    is posted. The message contains the topic of the stage unless `topic` is given."""
    author_user_id = (
        author_id if author_id is not None else row.opened_by if call.actor_or_none is None else call.user_id
    )
    if author_user_id is not None:
        message_topic = row.topic if topic is None else topic
        ports.create_message(
            call, row.channel_id, message_type, author_user_id, topic=message_topic, mentions_everyone=mentions_everyone
        )


def _publish(call: Call, event: Event[Any], row: StageInstanceRow) -> None:
    call.tx.emit(event, views.stage_instance(row), GuildAudience(row.guild_id, row.channel_id))
