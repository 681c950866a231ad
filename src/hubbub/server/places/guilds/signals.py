"""Signals that the guilds slice raises inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class GuildDeleted(msgspec.Struct, frozen=True):
    """A guild is about to be deleted; its rows still exist. Listeners delete what belongs to it."""

    guild_id: GuildId


class FeaturesRemoved(msgspec.Struct, frozen=True):
    """A guild lost features. Listeners remove what depended on them."""

    guild_id: GuildId
    features: frozenset[str]


class NamesDrafted(msgspec.Struct, frozen=True):
    """A caller is about to name a guild, a channel or a stage. A listener raises to reject the names."""

    texts: tuple[str, ...]


class MemberLeft(msgspec.Struct, frozen=True):
    """A member asked to leave and may do so. They are still a member when this is raised."""

    guild_id: GuildId
    user_id: UserId
