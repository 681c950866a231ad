"""SQL for the recent_joins table."""

from typing import Final

from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx

TABLES: Final = ("recent_joins",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="recent_joins.user_id", erasure=Erasure.DELETED, omission=TECHNICAL),)
"""Columns of these tables that contain IDs of users."""


def insert(tx: Tx, guild_id: int, user_id: int, joined_ms: int) -> None:
    tx.run(
        "INSERT INTO recent_joins (guild_id, user_id, joined_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        guild_id,
        user_id,
        joined_ms,
    )


def delete_before(tx: Tx, guild_id: int, before_ms: int) -> None:
    """Delete the joins of a guild before `before_ms` (Unix milliseconds)."""
    tx.run("DELETE FROM recent_joins WHERE guild_id = ? AND joined_ms < ?", guild_id, before_ms)


def count_guild_joins(tx: Tx, guild_id: int, since_ms: int) -> int:
    """Return the number of joins of a guild since `since_ms` (Unix milliseconds)."""
    join_count: int = tx.value(
        "SELECT COUNT(*) FROM recent_joins WHERE guild_id = ? AND joined_ms >= ?", guild_id, since_ms
    )
    return join_count


def count_user_joins(tx: Tx, user_id: int, since_ms: int) -> int:
    """Return the number of joins of a user in all guilds since `since_ms` (Unix milliseconds)."""
    join_count: int = tx.value(
        "SELECT COUNT(*) FROM recent_joins WHERE user_id = ? AND joined_ms >= ?", user_id, since_ms
    )
    return join_count


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM recent_joins WHERE guild_id = ?", guild_id)


def delete_of_user(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM recent_joins WHERE user_id = ?", user_id)
