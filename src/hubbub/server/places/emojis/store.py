"""SQL for the emojis table."""

from typing import NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId
from hubbub.server.core import cdn_urls
from hubbub.server.core.store import Tx, placeholders


class EmojiRow(NamedTuple):
    """An emoji of a guild or an application."""

    id: int
    guild_id: int | None
    application_id: int | None
    user_id: int
    """The user who created it."""
    name: str
    image: str
    """The hash of the image."""
    animated: int = 0
    roles: str = "[]"
    """JSON list of the role IDs that may use it; empty means all."""

    @property
    def role_ids(self) -> list[RoleId]:
        """The roles that may use it; empty means all."""
        return codec.decode(self.roles, list[RoleId])


COLUMNS = ", ".join(EmojiRow._fields)


def find(tx: Tx, emoji_id: int) -> EmojiRow | None:
    """Return an emoji of any owner, or None."""
    return tx.find(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE id = ?", emoji_id)


def find_file(tx: Tx, emoji_id: int) -> str | None:
    """Return the file store key of an emoji's image, or None."""
    image: str | None = tx.value("SELECT image FROM emojis WHERE id = ?", emoji_id)
    return None if image is None else cdn_urls.image_key(image)


def list_of_guild(tx: Tx, guild_id: int) -> list[EmojiRow]:
    """List the emojis of a guild, oldest first."""
    return tx.fetch(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE guild_id = ? ORDER BY id", guild_id)


def list_of_application(tx: Tx, application_id: int) -> list[EmojiRow]:
    """List the emojis of an application, oldest first."""
    return tx.fetch(EmojiRow, f"SELECT {COLUMNS} FROM emojis WHERE application_id = ? ORDER BY id", application_id)


def count_of_guild(tx: Tx, guild_id: int, *, animated: bool) -> int:
    """Return the number of static or animated emojis of a guild."""
    sql = "SELECT COUNT(*) FROM emojis WHERE guild_id = ? AND animated = ?"
    return int(tx.value(sql, guild_id, int(animated)))


def count_of_application(tx: Tx, application_id: int) -> int:
    """Return the number of emojis of an application."""
    return int(tx.value("SELECT COUNT(*) FROM emojis WHERE application_id = ?", application_id))


def insert(tx: Tx, row: EmojiRow) -> None:
    """Insert an emoji."""
    tx.run(f"INSERT INTO emojis ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: EmojiRow) -> None:
    """Update the name and roles of an emoji."""
    tx.run("UPDATE emojis SET name = ?, roles = ? WHERE id = ?", row.name, row.roles, row.id)


def delete(tx: Tx, emoji_id: int) -> None:
    """Delete an emoji."""
    tx.run("DELETE FROM emojis WHERE id = ?", emoji_id)


def delete_of_application(tx: Tx, application_id: int) -> None:
    """Delete the emojis of an application."""
    tx.run("DELETE FROM emojis WHERE application_id = ?", application_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Return whether a user is a member of a guild, and so may use its emojis elsewhere."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None
