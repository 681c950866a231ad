"""Signals that the guilds slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId


class GuildDeleted(msgspec.Struct, frozen=True):
    """A guild is about to be deleted; its rows still exist. Listeners delete the data that belongs to it."""

    guild_id: GuildId


class FeaturesRemoved(msgspec.Struct, frozen=True):
    """A guild lost features. Listeners delete the data that requires these features."""

    guild_id: GuildId
    features: frozenset[str]
