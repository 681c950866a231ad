"""The soundboard: short sounds played into a voice channel."""

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import EmojiId, GuildId, SoundId
from hubbub.protocol.resources.users import User


class SoundboardSound(Struct, kw_only=True):
    """A sound of a guild, or one of the defaults."""

    name: str
    sound_id: SoundId
    volume: float
    """From 0 to 1."""
    emoji_id: EmojiId | None
    emoji_name: str | None
    available: bool
    """False when the guild lost the boosts that gave room for it."""
    guild_id: GuildId | UnsetType = UNSET
    user: User | UnsetType = UNSET
    """Who uploaded it, for those who may know."""
