"""Rows of emoji."""

from typing import NamedTuple

from hubbub.protocol import wire
from hubbub.protocol.ids import RoleId
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx, places


class EmojiRow(NamedTuple):
    """An emoji as we keep it: of a guild, or of an application."""

    id: int
    guild_id: int | None
    application_id: int | None
    user_id: int
    """Who made it."""
    name: str
    image: str
    """The hash of its picture."""
    animated: int = 0
    roles: str = "[]"
    """JSON of the ids of the only roles that may use it; none: all."""

    @property
    def role_ids(self) -> list[RoleId]:
        """The only roles that may use it; none: all."""
        return wire.decode(self.roles, list[RoleId])


COLUMNS = ", ".join(EmojiRow._fields)


def find(tx: Tx, emoji_id: int) -> EmojiRow | None:
    """An emoji, whosever it is, or None."""
    return tx.find(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE id = ?", emoji_id)


def find_file(tx: Tx, emoji_id: int) -> str | None:
    """Where the file store has an emoji's picture."""
    image: str | None = tx.value("SELECT image FROM emojis WHERE id = ?", emoji_id)
    return None if image is None else cdn_urls.image_key(image)


def list_of_guild(tx: Tx, guild_id: int) -> list[EmojiRow]:
    """A guild's emoji, the oldest first."""
    return tx.fetch(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE guild_id = ? ORDER BY id", guild_id)


def list_of_application(tx: Tx, application_id: int) -> list[EmojiRow]:
    """An application's emoji, the oldest first."""
    return tx.fetch(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE application_id = ? ORDER BY id", application_id)


def count_of_guild(tx: Tx, guild_id: int, *, animated: bool) -> int:
    """How many slots of one kind a guild has used."""
    sql = "SELECT COUNT(*) FROM emojis WHERE guild_id = ? AND animated = ?"
    return int(tx.value(sql, guild_id, int(animated)))


def count_of_application(tx: Tx, application_id: int) -> int:
    """How many emoji an application has."""
    return int(tx.value("SELECT COUNT(*) FROM emojis WHERE application_id = ?", application_id))


def insert(tx: Tx, row: EmojiRow) -> None:
    """Keep a new emoji."""
    tx.run(f"INSERT INTO emojis ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: EmojiRow) -> None:
    """Keep what changed of an emoji."""
    tx.run("UPDATE emojis SET name = ?, roles = ? WHERE id = ?", row.name, row.roles, row.id)


def delete(tx: Tx, emoji_id: int) -> None:
    """Remove an emoji."""
    tx.run("DELETE FROM emojis WHERE id = ?", emoji_id)


def delete_of_application(tx: Tx, application_id: int) -> None:
    """Remove every emoji of an application."""
    tx.run("DELETE FROM emojis WHERE application_id = ?", application_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Whether a user is in a guild, and so may take its emoji elsewhere."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None
