"""Signals that the stage instances slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, ScheduledEventId


class StageInstanceClosed(msgspec.Struct, frozen=True, kw_only=True):
    """The stage instance of a scheduled event ended, which ends the event."""

    guild_id: GuildId
    scheduled_event_id: ScheduledEventId
