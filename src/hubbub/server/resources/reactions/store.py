"""Rows of reactions. How a message shows them, counted, is the messages' own query."""

from typing import NamedTuple

from hubbub.server.core.store import Tx


class ReactionRow(NamedTuple):
    """That somebody reacted to a message."""

    message_id: int
    emoji: str
    """The key that all spellings of an emoji share."""
    user_id: int
    burst: int
    emoji_id: int | None
    emoji_name: str
    animated: int
    created_ms: int


_COLUMNS = ", ".join(ReactionRow._fields)


def find_one(tx: Tx, message_id: int, emoji: str) -> ReactionRow | None:
    """Any reaction of this emoji on a message: how the emoji looks there."""
    return tx.find(
        ReactionRow, f"SELECT {_COLUMNS} FROM reactions WHERE message_id = ? AND emoji = ? LIMIT 1", message_id, emoji
    )


def count_emojis(tx: Tx, message_id: int) -> int:
    """How many different emoji a message has."""
    return int(tx.value("SELECT COUNT(DISTINCT emoji) FROM reactions WHERE message_id = ?", message_id) or 0)


def insert(tx: Tx, row: ReactionRow) -> bool:
    """Keep a reaction; False when it was there."""
    return (
        tx.run(
            f"INSERT INTO reactions ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (message_id, emoji, user_id, burst) DO NOTHING",
            *row,
        )
        > 0
    )


def delete_one(tx: Tx, message_id: int, emoji: str, user_id: int) -> list[int]:
    """Drop somebody's reactions of one emoji, and say of which kind (burst 0 or 1) there were."""
    found = [
        burst
        for (burst,) in tx.all(
            "SELECT burst FROM reactions WHERE message_id = ? AND emoji = ? AND user_id = ? ORDER BY burst",
            message_id,
            emoji,
            user_id,
        )
    ]
    if found:
        tx.run("DELETE FROM reactions WHERE message_id = ? AND emoji = ? AND user_id = ?", message_id, emoji, user_id)
    return found


def delete_of_emoji(tx: Tx, message_id: int, emoji: str) -> int:
    """Drop all reactions of one emoji, and say how many there were."""
    return tx.run("DELETE FROM reactions WHERE message_id = ? AND emoji = ?", message_id, emoji)


def delete_of_message(tx: Tx, message_id: int) -> int:
    """Drop all reactions to a message, and say how many there were."""
    return tx.run("DELETE FROM reactions WHERE message_id = ?", message_id)


def has_any(tx: Tx, message_id: int) -> bool:
    """Whether anybody reacted to a message."""
    return tx.value("SELECT 1 FROM reactions WHERE message_id = ? LIMIT 1", message_id) is not None


def list_users(tx: Tx, message_id: int, emoji: str, burst: int, after: int, limit: int) -> list[int]:
    """Who reacted with an emoji, in the order of their ids."""
    return [
        user_id
        for (user_id,) in tx.all(
            "SELECT user_id FROM reactions WHERE message_id = ? AND emoji = ? AND burst = ? AND user_id > ? "
            "ORDER BY user_id LIMIT ?",
            message_id,
            emoji,
            burst,
            after,
            limit,
        )
    ]
