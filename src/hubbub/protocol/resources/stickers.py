"""Stickers of guilds and of the standard packs."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.ids import GuildId, Snowflake, StickerId
from hubbub.protocol.resources.users import User

STICKERS_PER_MESSAGE_MAX: Final = 3
STICKER_BYTES_MAX: Final = 524_288
STICKERS_MAX_BY_TIER: Final = (5, 15, 30, 60)
STICKER_NAME_MIN: Final = 2
STICKER_NAME_MAX: Final = 30
STICKER_DESCRIPTION_MAX: Final = 100
STICKER_TAGS_MAX: Final = 200


class StickerItem(Struct, kw_only=True):
    """What a message needs to show a sticker."""

    id: StickerId
    name: str
    format_type: int


class Sticker(Struct, kw_only=True):
    """A sticker; a guild's has `guild_id` and `available`, a standard one `pack_id` and `sort_value`."""

    id: StickerId
    name: str
    tags: str
    type: int
    """1 standard, 2 guild."""
    format_type: int
    """1 png, 2 apng, 3 lottie, 4 gif."""
    description: str | None
    available: bool | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET
    user: User | UnsetType = UNSET
    pack_id: Snowflake | UnsetType = UNSET
    sort_value: int | UnsetType = UNSET
