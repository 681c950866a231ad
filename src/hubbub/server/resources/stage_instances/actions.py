"""Opening, changing and closing stages: write, audit, publish."""

from typing import Any, Final

import msgspec

from hubbub.protocol.enums import AuditLogAction, MessageType
from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId, UserId
from hubbub.protocol.operation import Event
from hubbub.protocol.resources import stage_instances as wire
from hubbub.server.core import audit, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources import voice_states
from hubbub.server.resources.channels import ChannelsDeleted
from hubbub.server.resources.guilds import NamesDrafted
from hubbub.server.resources.stage_instances import store, views
from hubbub.server.resources.stage_instances.facts import StageInstanceClosed, StageInstanceOpened, StageSaid
from hubbub.server.resources.stage_instances.store import StageInstanceRow
from hubbub.server.resources.voice_states import SpeakerCame, VoiceChannelChanged

CLOSE: Final = "stage_instances.close"

_AUDITED: Final = ("topic", "privacy_level")


class Silence(msgspec.Struct):
    """What the job that closes a silent stage knows."""

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
    notify: bool = False,
) -> StageInstanceRow:
    """Open a stage, whoever asks; `notify` lets the whole guild know."""
    call.tell(NamesDrafted((topic,)))
    opener = None if call.find_actor is None else int(call.user_id)
    number = call.new_id(StageInstanceId)
    row = StageInstanceRow(channel_id, number, guild_id, topic, privacy_level, scheduled_event_id, opener)
    store.insert(call.tx, row)
    _record(call, AuditLogAction.STAGE_INSTANCE_CREATE, None, row)
    _tell(call, wire.STAGE_INSTANCE_CREATE, row)
    _say(call, MessageType.STAGE_START, row, everyone=notify)
    _wait_for_speakers(call, row)
    return row


def begin_event(call: Call, row: StageInstanceRow) -> None:
    """Tell whoever keeps events that the one this stage is for begins now."""
    if row.scheduled_event_id is not None:
        call.tell(
            StageInstanceOpened(
                guild_id=GuildId(row.guild_id),
                channel_id=ChannelId(row.channel_id),
                stage_instance_id=StageInstanceId(row.id),
                scheduled_event_id=ScheduledEventId(row.scheduled_event_id),
            )
        )


def change(call: Call, before: StageInstanceRow, after: StageInstanceRow) -> None:
    """Keep what changed of a live stage; nothing is said when nothing did."""
    if after != before:
        if after.topic != before.topic:
            call.tell(NamesDrafted((after.topic,)))
        store.update(call.tx, after)
        _record(call, AuditLogAction.STAGE_INSTANCE_UPDATE, before, after)
        _tell(call, wire.STAGE_INSTANCE_UPDATE, after)
        if after.topic != before.topic:
            _say(call, MessageType.STAGE_TOPIC, after)


def close(call: Call, row: StageInstanceRow, *, said: bool = True) -> None:
    """A stage closes; one that nobody closed by hand leaves no entry in the audit log. `said` is false where its chat goes too."""
    store.delete(call.tx, row.channel_id)
    jobs.cancel(call.tx, CLOSE, _key(row))
    if call.find_actor is not None:
        _record(call, AuditLogAction.STAGE_INSTANCE_DELETE, row, None)
    _tell(call, wire.STAGE_INSTANCE_DELETE, row)
    if said:
        _say(call, MessageType.STAGE_END, row)
    if row.scheduled_event_id is not None:
        event_id = ScheduledEventId(row.scheduled_event_id)
        call.tell(StageInstanceClosed(guild_id=GuildId(row.guild_id), scheduled_event_id=event_id))


def close_with_channels(call: Call, fact: ChannelsDeleted) -> None:
    """Channels are going, and what is live on them ends."""
    for row in store.list_of_channels(call.tx, fact.channel_ids):
        close(call, row, said=False)


def watch_speakers(call: Call, fact: VoiceChannelChanged) -> None:
    """Somebody came to a channel, or left: a stage without speakers closes after a while."""
    row = store.find(call.tx, fact.channel_id)
    if row is not None:
        jobs.cancel(call.tx, CLOSE, _key(row))
        _wait_for_speakers(call, row)


def hear_speaker(call: Call, fact: SpeakerCame) -> None:
    """Somebody may speak in a channel now; where a stage is live, its chat shows it."""
    row = store.find(call.tx, fact.channel_id)
    if row is not None:
        _say(call, MessageType.STAGE_SPEAKER, row, by=fact.user_id, topic="")


def _wait_for_speakers(call: Call, row: StageInstanceRow) -> None:
    if not voice_states.speakers(call.tx, row.channel_id):
        due_ms = call.now + wire.STAGE_IDLE_MS
        call.tx.enqueue(
            CLOSE, Silence(ChannelId(row.channel_id), StageInstanceId(row.id)), due_ms=due_ms, key=_key(row)
        )


def _key(row: StageInstanceRow) -> str:
    return f"{CLOSE}:{row.id}"


def _record(call: Call, action: int, before: StageInstanceRow | None, after: StageInstanceRow | None) -> None:
    row = after or before
    assert row is not None
    old = None if before is None else views.stage_instance(before)
    new = None if after is None else views.stage_instance(after)
    audit.record(
        call,
        row.guild_id,
        action,
        target_id=row.id,
        changes=audit.differences(old, new, _AUDITED),
        options={"channel_id": row.channel_id},
    )


def _say(
    call: Call,
    kind: MessageType,
    row: StageInstanceRow,
    *,
    by: int | None = None,
    topic: str | None = None,
    everyone: bool = False,
) -> None:
    """Let the stage's chat show what happened, in the name of who did it, or of who opened the stage."""
    author = by if by is not None else row.opened_by if call.find_actor is None else call.user_id
    if author is not None:
        call.tell(
            StageSaid(
                kind=int(kind),
                channel_id=ChannelId(row.channel_id),
                user_id=UserId(author),
                topic=row.topic if topic is None else topic,
                everyone=everyone,
            )
        )


def _tell(call: Call, event: Event[Any], row: StageInstanceRow) -> None:
    call.tx.emit(event, views.stage_instance(row), Audience.viewers(row.guild_id, row.channel_id))
