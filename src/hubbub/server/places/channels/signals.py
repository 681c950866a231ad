"""Signals that the channels slice raises inside the transaction."""

import msgspec


class LinkedChannelChanged(msgspec.Struct, frozen=True):
    """A channel linked to a lobby was renamed. Players see the channel by its name."""

    channel_id: int


class ChannelsDeleted(msgspec.Struct, frozen=True, kw_only=True):
    """Channels or threads are about to be deleted; their rows still exist. Listeners delete dependent data."""

    guild_id: int | None
    channel_ids: tuple[int, ...]
