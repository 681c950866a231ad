"""Rows of guilds' stickers."""

from collections.abc import Iterable
from typing import NamedTuple

from hubbub.server.core.store import Tx, places


class StickerRow(NamedTuple):
    """A guild's sticker as we keep it."""

    id: int
    guild_id: int
    user_id: int
    """Who made it."""
    name: str
    description: str | None
    tags: str
    format_type: int
    image: str
    """The hash of its file."""


COLUMNS = ", ".join(StickerRow._fields)


def find(tx: Tx, sticker_id: int) -> StickerRow | None:
    """A guild's sticker, or None."""
    return tx.find(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE id = ?", sticker_id)


def find_many(tx: Tx, sticker_ids: Iterable[int]) -> dict[int, StickerRow]:
    """The guilds' stickers there are of these, by id, in one query."""
    wanted = list(dict.fromkeys(sticker_ids))
    if not wanted:
        return {}
    rows = tx.fetch(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE id IN ({places(wanted)})", *wanted)
    return {row.id: row for row in rows}


def list_of_guild(tx: Tx, guild_id: int) -> list[StickerRow]:
    """A guild's stickers, the oldest first."""
    return tx.fetch(StickerRow, f"SELECT {COLUMNS} FROM stickers WHERE guild_id = ? ORDER BY id", guild_id)


def count_of_guild(tx: Tx, guild_id: int) -> int:
    """How many stickers a guild has."""
    return int(tx.value("SELECT COUNT(*) FROM stickers WHERE guild_id = ?", guild_id))


def features_of(tx: Tx, guild_id: int) -> str:
    """A guild's features, as JSON."""
    return str(tx.value("SELECT features FROM guilds WHERE id = ?", guild_id) or "[]")


def insert(tx: Tx, row: StickerRow) -> None:
    """Keep a new sticker."""
    tx.run(f"INSERT INTO stickers ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: StickerRow) -> None:
    """Keep what changed of a sticker."""
    tx.run(
        "UPDATE stickers SET name = ?, description = ?, tags = ? WHERE id = ?",
        row.name,
        row.description,
        row.tags,
        row.id,
    )


def delete(tx: Tx, sticker_id: int) -> None:
    """Remove a sticker."""
    tx.run("DELETE FROM stickers WHERE id = ?", sticker_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Whether a user is in a guild, and so may take its stickers elsewhere."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None
