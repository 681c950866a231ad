"""SQL for the reactions table. The messages slice reads the counts for its views."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("reactions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="reactions.user_id", erasure=Erasure.WRITTEN, export="reactions"),)
"""Columns of these tables that contain IDs of users."""


class ReactionRow(NamedTuple):
    """A user's reaction to a message."""

    message_id: int
    emoji: str
    """Key that all spellings of an emoji share."""
    user_id: int
    burst: int
    """Value of `ReactionType`: 1 for a burst reaction, 0 for a normal one."""
    emoji_id: int | None
    emoji_name: str
    animated: int
    created_ms: int
    channel_id: int | None = None
    """Channel of the message; None for a reaction that an earlier version stored."""


_COLUMNS = ", ".join(ReactionRow._fields)


def find_one(tx: Tx, message_id: int, emoji: str) -> ReactionRow | None:
    """Return any user's reaction with an emoji key to a message, or None."""
    return tx.find(
        ReactionRow, f"SELECT {_COLUMNS} FROM reactions WHERE message_id = ? AND emoji = ? LIMIT 1", message_id, emoji
    )


def count_emojis(tx: Tx, message_id: int) -> int:
    """Return the number of different emoji among a message's reactions."""
    return int(tx.value("SELECT COUNT(DISTINCT emoji) FROM reactions WHERE message_id = ?", message_id) or 0)


def insert(tx: Tx, row: ReactionRow) -> bool:
    """Insert a reaction and return whether it is new."""
    return (
        tx.run(
            f"INSERT INTO reactions ({_COLUMNS}) VALUES ({placeholders(row)}) "
            "ON CONFLICT (message_id, emoji, user_id, burst) DO NOTHING",
            *row,
        )
        > 0
    )


def delete_user_reactions(tx: Tx, message_id: int, emoji: str, user_id: int) -> list[int]:
    """Delete a user's reactions with one emoji and return their `burst` values (0 or 1)."""
    burst_values = [
        burst
        for (burst,) in tx.all(
            "SELECT burst FROM reactions WHERE message_id = ? AND emoji = ? AND user_id = ? ORDER BY burst",
            message_id,
            emoji,
            user_id,
        )
    ]
    if burst_values:
        tx.run("DELETE FROM reactions WHERE message_id = ? AND emoji = ? AND user_id = ?", message_id, emoji, user_id)
    return burst_values


def delete_emoji_reactions(tx: Tx, message_id: int, emoji: str) -> int:
    """Delete all reactions with one emoji and return their number."""
    return tx.run("DELETE FROM reactions WHERE message_id = ? AND emoji = ?", message_id, emoji)


def delete_message_reactions(tx: Tx, message_id: int) -> int:
    """Delete all reactions to a message and return their number."""
    return tx.run("DELETE FROM reactions WHERE message_id = ?", message_id)


def has_any(tx: Tx, message_id: int) -> bool:
    return tx.value("SELECT 1 FROM reactions WHERE message_id = ? LIMIT 1", message_id) is not None


def list_user_ids(tx: Tx, message_id: int, emoji: str, burst: int, after_id: int, limit: int) -> list[int]:
    """Return a page of the IDs of users who reacted with an emoji: IDs above `after_id`, in ascending order."""
    return [
        user_id
        for (user_id,) in tx.all(
            "SELECT user_id FROM reactions WHERE message_id = ? AND emoji = ? AND burst = ? AND user_id > ? "
            "ORDER BY user_id LIMIT ?",
            message_id,
            emoji,
            burst,
            after_id,
            limit,
        )
    ]


def reassign(tx: Tx, message_ids: Sequence[int], user_id: int, new_user_id: int) -> None:
    """Transfer the reactions that a user added to messages to another user, who may already have reacted."""
    for batch in batches(message_ids):
        where = f"WHERE message_id IN ({placeholders(batch)}) AND user_id = ?"
        tx.run(
            "INSERT INTO reactions "
            "(message_id, emoji, user_id, burst, emoji_id, emoji_name, animated, created_ms, channel_id) "
            "SELECT message_id, emoji, CAST(? AS BIGINT), burst, emoji_id, emoji_name, animated, created_ms, channel_id "
            f"FROM reactions {where} ON CONFLICT DO NOTHING",
            new_user_id,
            *batch,
            user_id,
        )
        tx.run(f"DELETE FROM reactions {where}", *batch, user_id)


def delete_reactions_to_messages(tx: Tx, message_ids: Sequence[int]) -> None:
    for batch in batches(message_ids):
        tx.run(f"DELETE FROM reactions WHERE message_id IN ({placeholders(batch)})", *batch)


def list_by_user(tx: Tx, user_id: int, limit: int | None = None) -> list[ReactionRow]:
    """Return the reactions of a user, at most `limit` unless it is None."""
    sql = f"SELECT {_COLUMNS} FROM reactions WHERE user_id = ? ORDER BY message_id, emoji, burst"
    return (
        tx.fetch(ReactionRow, sql, user_id)
        if limit is None
        else tx.fetch(ReactionRow, f"{sql} LIMIT ?", user_id, limit)
    )


def set_channels(tx: Tx, rows: Sequence[tuple[int, int]]) -> None:
    """Store the channel of the reactions to messages; `rows` has channel ID and message ID of each message."""
    tx.run_many("UPDATE reactions SET channel_id = ? WHERE message_id = ?", rows)
