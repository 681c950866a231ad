"""Signals that the guilds slice sends inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class GuildDeleting(msgspec.Struct, frozen=True):
    """A guild is about to be deleted; its rows still exist. Listeners delete the data that belongs to it."""

    guild_id: GuildId


class GuildImported(msgspec.Struct, frozen=True):
    """The import of a guild is complete, and its owner is a member.

    Listeners schedule the jobs of imported objects, and mark the messages as read by the owner."""

    guild_id: GuildId
    owner_id: UserId


class GuildSuspended(msgspec.Struct, frozen=True):
    """An operator suspended a guild: its members have no access until the suspension ends. Listeners end its calls."""

    guild_id: GuildId


class FeaturesRemoved(msgspec.Struct, frozen=True):
    """A guild lost features. Listeners delete the data that requires these features."""

    guild_id: GuildId
    features: frozenset[str]
