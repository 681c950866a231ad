"""Build the wire models of stickers."""

from msgspec import UNSET

from hubbub.protocol.enums import StickerType
from hubbub.protocol.ids import GuildId, StickerId
from hubbub.protocol.resources import stickers as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.stickers import store
from hubbub.server.places.stickers.store import StickerRow


def sticker(row: StickerRow, creator: User | None = None) -> wire.Sticker:
    """Return a sticker, with its creator if given."""
    return wire.Sticker(
        id=StickerId(row.id),
        name=row.name,
        tags=row.tags,
        type=StickerType.GUILD,
        format_type=row.format_type,
        description=row.description,
        available=True,
        guild_id=GuildId(row.guild_id),
        user=UNSET if creator is None else creator,
    )


def stickers(tx: Tx, rows: list[StickerRow], *, with_creators: bool) -> list[wire.Sticker]:
    """Return several stickers, with their creators if `makers` is set."""
    found = users.find_many(tx, [row.user_id for row in rows]) if with_creators else {}
    creators = {user_id: users.user(user) for user_id, user in found.items()}
    return [sticker(row, creators.get(row.user_id)) for row in rows]


def list_of_guild(tx: Tx, guild_id: int) -> list[wire.Sticker]:
    """Return a guild's stickers as all its members see them."""
    return [sticker(row) for row in store.list_of_guild(tx, guild_id)]
