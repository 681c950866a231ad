"""What the stage instances slice tells others, inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId, UserId


class StageInstanceOpened(msgspec.Struct, frozen=True, kw_only=True):
    """A stage opened for a planned event; whoever keeps events begins it, or raises."""

    guild_id: GuildId
    channel_id: ChannelId
    stage_instance_id: StageInstanceId
    scheduled_event_id: ScheduledEventId


class StageInstanceClosed(msgspec.Struct, frozen=True, kw_only=True):
    """A stage that was open for a planned event closed: the event is over."""

    guild_id: GuildId
    scheduled_event_id: ScheduledEventId


class StageSaid(msgspec.Struct, frozen=True, kw_only=True):
    """Something happened on a stage that its chat shows: a message of this kind, by the one who did it."""

    kind: int
    channel_id: ChannelId
    user_id: UserId
    topic: str = ""
    everyone: bool = False
    """That the whole guild is notified."""
