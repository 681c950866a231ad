"""Signals that the stage instances slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, ScheduledEventId


class StageInstanceClosed(msgspec.Struct, frozen=True, kw_only=True):
    """Raised when the stage instance of a scheduled event ends, which ends the event."""

    guild_id: GuildId
    scheduled_event_id: ScheduledEventId
