"""Build the wire models of emojis."""

from msgspec import UNSET

from hubbub.protocol.ids import EmojiId
from hubbub.protocol.resources import emojis as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.emojis import store
from hubbub.server.places.emojis.store import EmojiRow


def emoji(row: EmojiRow, creator: User | None = None) -> wire.Emoji:
    """Build an emoji, with its creator if given."""
    return wire.Emoji(
        id=EmojiId(row.id),
        name=row.name,
        roles=row.role_ids,
        animated=bool(row.animated),
        user=UNSET if creator is None else creator,
    )


def emojis(tx: Tx, rows: list[EmojiRow], *, with_creators: bool) -> list[wire.Emoji]:
    """Build emojis, with their creators if `makers` is True."""
    found = users.find_many(tx, [row.user_id for row in rows]) if with_creators else {}
    creators = {user_id: users.user(user) for user_id, user in found.items()}
    return [emoji(row, creators.get(row.user_id)) for row in rows]


def of_guild(tx: Tx, guild_id: int) -> list[wire.Emoji]:
    """Build the emojis of a guild as all members see them."""
    return [emoji(row) for row in store.list_of_guild(tx, guild_id)]


def partial(row: EmojiRow) -> wire.PartialEmoji:
    """Build the partial emoji of reactions, polls and sounds."""
    return wire.PartialEmoji(id=EmojiId(row.id), name=row.name, animated=True if row.animated else UNSET)
