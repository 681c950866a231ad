"""SQL for the stickers table."""

from collections.abc import Iterable
from typing import NamedTuple

from hubbub.server.core.store import Tx, placeholders


class StickerRow(NamedTuple):
    """A stored sticker of a guild."""

    id: int
    guild_id: int
    user_id: int
    """The user who created the sticker."""
    name: str
    description: str | None
    tags: str
    format_type: int
    image: str
    """The hash of the file."""


COLUMNS = ", ".join(StickerRow._fields)


def find(tx: Tx, sticker_id: int) -> StickerRow | None:
    """Return a guild's sticker, or None."""
    return tx.find(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE id = ?", sticker_id)


def find_many(tx: Tx, sticker_ids: Iterable[int]) -> dict[int, StickerRow]:
    """Return those of the stickers that exist, by ID."""
    wanted = list(dict.fromkeys(sticker_ids))
    if not wanted:
        return {}
    rows = tx.fetch(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE id IN ({placeholders(wanted)})", *wanted)
    return {row.id: row for row in rows}


def list_of_guild(tx: Tx, guild_id: int) -> list[StickerRow]:
    """Return a guild's stickers, oldest first."""
    return tx.fetch(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE guild_id = ? ORDER BY id", guild_id)


def count_of_guild(tx: Tx, guild_id: int) -> int:
    """Return the number of a guild's stickers."""
    return int(tx.value("SELECT COUNT(*) FROM stickers WHERE guild_id = ?", guild_id))


def find_features(tx: Tx, guild_id: int) -> str:
    """Return a guild's features as JSON."""
    return str(tx.value("SELECT features FROM guilds WHERE id = ?", guild_id) or "[]")


def insert(tx: Tx, row: StickerRow) -> None:
    """Insert a sticker."""
    tx.run(f"INSERT INTO stickers ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: StickerRow) -> None:
    """Update a sticker."""
    tx.run(
        "UPDATE stickers SET name = ?, description = ?, tags = ? WHERE id = ?",
        row.name,
        row.description,
        row.tags,
        row.id,
    )


def delete(tx: Tx, sticker_id: int) -> None:
    """Delete a sticker."""
    tx.run("DELETE FROM stickers WHERE id = ?", sticker_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Return whether a user is a member of a guild."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None
