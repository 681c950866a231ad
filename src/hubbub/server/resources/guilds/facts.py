"""What the guilds slice tells upper floors, inside the transaction."""

import msgspec

from hubbub.protocol.ids import GuildId, UserId


class GuildDeleted(msgspec.Struct, frozen=True):
    """A guild is going: what belongs to it goes too. Its rows are still there while this is told."""

    guild_id: GuildId


class FeaturesLost(msgspec.Struct, frozen=True):
    """A guild no longer has these features, and what came with them."""

    guild_id: GuildId
    features: frozenset[str]


class NamesDrafted(msgspec.Struct, frozen=True):
    """Somebody is about to call a guild, a channel or a stage so; who hears it may refuse."""

    texts: tuple[str, ...]


class MemberLeft(msgspec.Struct, frozen=True):
    """A member asked to go, and may: they are still there while this is told."""

    guild_id: GuildId
    user_id: UserId
