"""An emoji as others see it."""

from msgspec import UNSET

from hubbub.protocol.ids import EmojiId
from hubbub.protocol.resources import emojis as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.resources import users
from hubbub.server.resources.emojis import store
from hubbub.server.resources.emojis.store import EmojiRow


def emoji(row: EmojiRow, maker: User | None = None) -> wire.Emoji:
    """An emoji; with who made it for those who may know."""
    return wire.Emoji(
        id=EmojiId(row.id),
        name=row.name,
        roles=row.role_ids,
        animated=bool(row.animated),
        user=UNSET if maker is None else maker,
    )


def emojis(tx: Tx, rows: list[EmojiRow], *, makers: bool) -> list[wire.Emoji]:
    """Some emoji, with who made them or not."""
    found = users.find_many(tx, [row.user_id for row in rows]) if makers else {}
    shown = {user_id: users.user(user) for user_id, user in found.items()}
    return [emoji(row, shown.get(row.user_id)) for row in rows]


def of_guild(tx: Tx, guild_id: int) -> list[wire.Emoji]:
    """A guild's emoji as all its members see them."""
    return [emoji(row) for row in store.list_of_guild(tx, guild_id)]


def partial(row: EmojiRow) -> wire.PartialEmoji:
    """The little that a reaction, a poll or a sound shows."""
    return wire.PartialEmoji(id=EmojiId(row.id), name=row.name, animated=True if row.animated else UNSET)
