"""Build the wire models of soundboard sounds."""

from msgspec import UNSET

from hubbub.protocol.ids import EmojiId, GuildId, SoundId
from hubbub.protocol.resources import soundboard as wire
from hubbub.protocol.resources.users import User
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places.soundboard import store
from hubbub.server.places.soundboard.store import SoundRow


def sound(row: SoundRow, creator: User | None = None) -> wire.SoundboardSound:
    """Return a sound, with its creator if given."""
    return wire.SoundboardSound(
        name=row.name,
        sound_id=SoundId(row.id),
        volume=row.volume,
        emoji_id=None if row.emoji_id is None else EmojiId(row.emoji_id),
        emoji_name=row.emoji_name,
        available=True,
        guild_id=GuildId(row.guild_id),
        user=UNSET if creator is None else creator,
    )


def sounds(tx: Tx, rows: list[SoundRow], *, with_creators: bool) -> list[wire.SoundboardSound]:
    """Return several sounds, with their creators if `makers` is set."""
    found = users.find_many(tx, [row.user_id for row in rows]) if with_creators else {}
    creators = {user_id: users.user(user) for user_id, user in found.items()}
    return [sound(row, creators.get(row.user_id)) for row in rows]


def list_of_guild(tx: Tx, guild_id: int) -> list[wire.SoundboardSound]:
    """Return a guild's sounds as all its members see them."""
    return [sound(row) for row in store.list_of_guild(tx, guild_id)]
