"""Signals that the channels slice sends inside the transaction."""

import msgspec


class LinkedChannelRenamed(msgspec.Struct, frozen=True):
    """A channel that is linked to a lobby was renamed."""

    channel_id: int


class ChannelsDeleting(msgspec.Struct, frozen=True, kw_only=True):
    """Channels or threads are about to be deleted; their rows still exist. Listeners delete dependent data."""

    guild_id: int | None
    """ID of the guild; None for private channels."""
    channel_ids: tuple[int, ...]
