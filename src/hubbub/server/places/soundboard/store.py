"""SQL for the sounds table."""

from typing import NamedTuple

from hubbub.server.core.store import Tx, placeholders


class SoundRow(NamedTuple):
    """A stored sound of a guild."""

    id: int
    guild_id: int
    user_id: int
    """The user who created the sound."""
    name: str
    volume: float
    emoji_id: int | None
    emoji_name: str | None
    file: str
    """The hash of the file."""


COLUMNS = ", ".join(SoundRow._fields)


def find(tx: Tx, sound_id: int) -> SoundRow | None:
    """Return a guild's sound, or None."""
    return tx.find(SoundRow, f"SELECT {COLUMNS} FROM sounds WHERE id = ?", sound_id)


def list_of_guild(tx: Tx, guild_id: int) -> list[SoundRow]:
    """Return a guild's sounds, oldest first."""
    return tx.fetch(SoundRow, f"SELECT {COLUMNS} FROM sounds WHERE guild_id = ? ORDER BY id", guild_id)


def count_of_guild(tx: Tx, guild_id: int) -> int:
    """Return the number of a guild's sounds."""
    return int(tx.value("SELECT COUNT(*) FROM sounds WHERE guild_id = ?", guild_id))


def insert(tx: Tx, row: SoundRow) -> None:
    """Insert a sound."""
    tx.run(f"INSERT INTO sounds ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: SoundRow) -> None:
    """Update a sound."""
    tx.run(
        "UPDATE sounds SET name = ?, volume = ?, emoji_id = ?, emoji_name = ? WHERE id = ?",
        row.name,
        row.volume,
        row.emoji_id,
        row.emoji_name,
        row.id,
    )


def delete(tx: Tx, sound_id: int) -> None:
    """Delete a sound."""
    tx.run("DELETE FROM sounds WHERE id = ?", sound_id)


def remove_emoji(tx: Tx, guild_id: int, emoji_id: int) -> int:
    """Remove an emoji from a guild's sounds and return the number of changed sounds."""
    return tx.run("UPDATE sounds SET emoji_id = NULL WHERE guild_id = ? AND emoji_id = ?", guild_id, emoji_id)


def is_member(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Return whether a user is a member of a guild."""
    return tx.value("SELECT 1 FROM members WHERE guild_id = ? AND user_id = ?", guild_id, user_id) is not None


def list_connected_users(tx: Tx, channel_id: int) -> frozenset[int]:
    """Return the users connected to a voice channel."""
    return frozenset(user for (user,) in tx.all("SELECT user_id FROM voice_states WHERE channel_id = ?", channel_id))
