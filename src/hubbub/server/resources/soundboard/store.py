"""Rows of guilds' sounds."""

from typing import NamedTuple

from hubbub.server.core.store import Tx, places


class SoundRow(NamedTuple):
    """A guild's sound as we keep it."""

    id: int
    guild_id: int
    user_id: int
    """Who made it."""
    name: str
    volume: float
    emoji_id: int | None
    emoji_name: str | None
    file: str
    """The hash of its file."""


COLUMNS = ", ".join(SoundRow._fields)


def find(tx: Tx, sound_id: int) -> SoundRow | None:
    """A guild's sound, or None."""
    return tx.find(SoundRow, f"SELECT {COLUMNS} FROM sounds WHERE id = ?", sound_id)


def list_of_guild(tx: Tx, guild_id: int) -> list[SoundRow]:
    """A guild's sounds, the oldest first."""
    return tx.fetch(SoundRow, f"SELECT {COLUMNS} FROM sounds WHERE guild_id = ? ORDER BY id", guild_id)


def count_of_guild(tx: Tx, guild_id: int) -> int:
    """How many sounds a guild has."""
    return int(tx.value("SELECT COUNT(*) FROM sounds WHERE guild_id = ?", guild_id))


def insert(tx: Tx, row: SoundRow) -> None:
    """Keep a new sound."""
    tx.run(f"INSERT INTO sounds ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: SoundRow) -> None:
    """Keep what changed of a sound."""
    tx.run(
        "UPDATE sounds SET name = ?, volume = ?, emoji_id = ?, emoji_name = ? WHERE id = ?",
        row.name,
        row.volume,
        row.emoji_id,
        row.emoji_name,
        row.id,
    )


def delete(tx: Tx, sound_id: int) -> None:
    """Remove a sound."""
    tx.run("DELETE FROM sounds WHERE id = ?", sound_id)


def forget_emoji(tx: Tx, guild_id: int, emoji_id: int) -> int:
    """Let a guild's sounds show an emoji no longer; how many did."""
    return tx.run("UPDATE sounds SET emoji_id = NULL WHERE guild_id = ? AND emoji_id = ?", guild_id, emoji_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Whether a user is in a guild, and so may take its sounds elsewhere."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None


def listeners(tx: Tx, channel_id: int) -> frozenset[int]:
    """Who is connected to a voice channel."""
    return frozenset(user for (user,) in tx.all("SELECT user_id FROM voice_states WHERE channel_id = ?", channel_id))
