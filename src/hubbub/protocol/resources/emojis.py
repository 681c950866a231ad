"""Custom emoji of guilds and applications, and the little of an emoji that reactions and polls show."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import EmojiId, RoleId
from hubbub.protocol.resources.users import User

EMOJI_NAME_MIN: Final = 2
EMOJI_NAME_MAX: Final = 32
EMOJI_BYTES_MAX: Final = 262_144
EMOJIS_MAX_BY_TIER: Final = (50, 100, 150, 250)
"""Static ones by the guild's premium tier, and as many animated."""
APPLICATION_EMOJIS_MAX: Final = 2000


class PartialEmoji(Struct, kw_only=True):
    """An emoji as a reaction, a poll or a button names it."""

    id: EmojiId | None
    """Null for a unicode emoji."""
    name: str | None
    """The unicode emoji itself; null for a custom one that is gone."""
    animated: bool | UnsetType = UNSET


class Emoji(Struct, kw_only=True):
    """A custom emoji."""

    id: EmojiId
    name: str
    roles: list[RoleId]
    """Only these may use it; empty: everyone."""
    require_colons: bool = True
    managed: bool = False
    animated: bool = False
    available: bool = True
    """False while the guild has lost the slots for it."""
    user: User | UnsetType = UNSET
    """Who made it, for those who may manage expressions."""
