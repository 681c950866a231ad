"""Signals that the stage instances slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import ChannelId, GuildId, ScheduledEventId, StageInstanceId, UserId


class StageInstanceOpened(msgspec.Struct, frozen=True, kw_only=True):
    """Raised when a stage instance starts for a scheduled event; the listener starts the event or raises an error."""

    guild_id: GuildId
    channel_id: ChannelId
    stage_instance_id: StageInstanceId
    scheduled_event_id: ScheduledEventId


class StageInstanceClosed(msgspec.Struct, frozen=True, kw_only=True):
    """Raised when the stage instance of a scheduled event ends, which ends the event."""

    guild_id: GuildId
    scheduled_event_id: ScheduledEventId


class StageMessageRequested(msgspec.Struct, frozen=True, kw_only=True):
    """Raised to post a system message of this type in a stage's chat."""

    kind: int
    channel_id: ChannelId
    user_id: UserId
    topic: str = ""
    everyone: bool = False
    """Whether the whole guild is notified."""
