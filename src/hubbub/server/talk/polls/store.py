"""SQL for the poll_votes and poll_counts tables. The messages slice reads the counts for its views."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "poll_counts",
    "poll_votes",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="poll_votes.user_id", erasure=Erasure.WRITTEN, export="poll_votes"),)
"""Columns of these tables that contain IDs of users."""


def find_voted_answer_ids(tx: Tx, message_id: int, user_id: int) -> set[int]:
    """Return the answer IDs that a user voted for."""
    rows = tx.all("SELECT answer_id FROM poll_votes WHERE message_id = ? AND user_id = ?", message_id, user_id)
    return {answer_id for (answer_id,) in rows}


class VoteRow(NamedTuple):
    """A user's vote for an answer of a poll."""

    message_id: int
    user_id: int
    answer_id: int
    channel_id: int | None
    """Channel of the message; None for a vote that an earlier version stored."""


def insert_votes(tx: Tx, channel_id: int, message_id: int, user_id: int, answer_ids: Iterable[int]) -> None:
    """Insert votes and increment the counts."""
    for answer_id in answer_ids:
        tx.run(
            "INSERT INTO poll_votes (message_id, user_id, answer_id, channel_id) VALUES (?, ?, ?, ?)",
            message_id,
            user_id,
            answer_id,
            channel_id,
        )
        tx.run(
            "INSERT INTO poll_counts (message_id, answer_id, votes) VALUES (?, ?, 1)"
            " ON CONFLICT (message_id, answer_id) DO UPDATE SET votes = poll_counts.votes + 1",
            message_id,
            answer_id,
        )


def delete_votes(tx: Tx, message_id: int, user_id: int, answer_ids: Iterable[int]) -> None:
    """Delete votes and decrement the counts."""
    for answer_id in answer_ids:
        tx.run(
            "DELETE FROM poll_votes WHERE message_id = ? AND user_id = ? AND answer_id = ?",
            message_id,
            user_id,
            answer_id,
        )
        tx.run("UPDATE poll_counts SET votes = votes - 1 WHERE message_id = ? AND answer_id = ?", message_id, answer_id)


def find_vote_counts(tx: Tx, message_id: int) -> dict[int, int]:
    """Return the number of votes by answer ID; answers without votes are absent."""
    rows = tx.all("SELECT answer_id, votes FROM poll_counts WHERE message_id = ? AND votes > 0", message_id)
    return {int(answer_id): int(votes) for answer_id, votes in rows}


def list_voter_ids(tx: Tx, message_id: int, answer_id: int, after_id: int, limit: int) -> list[int]:
    """Return a page of the IDs of users who voted for an answer: IDs above `after_id`, in ascending order."""
    rows = tx.all(
        "SELECT user_id FROM poll_votes WHERE message_id = ? AND answer_id = ? AND user_id > ? ORDER BY user_id LIMIT ?",
        message_id,
        answer_id,
        after_id,
        limit,
    )
    return [user_id for (user_id,) in rows]


def reassign(tx: Tx, message_ids: Sequence[int], user_id: int, new_user_id: int) -> None:
    """Transfer the votes of a user to another user, who keeps their own votes. The counts do not change.

    A poll in which both users voted for an answer counts both votes."""
    for batch in batches(message_ids):
        where = f"WHERE message_id IN ({placeholders(batch)}) AND user_id = ?"
        tx.run(
            "INSERT INTO poll_votes (message_id, user_id, answer_id, channel_id) "
            f"SELECT message_id, CAST(? AS BIGINT), answer_id, channel_id FROM poll_votes {where} ON CONFLICT DO NOTHING",
            new_user_id,
            *batch,
            user_id,
        )
        tx.run(f"DELETE FROM poll_votes {where}", *batch, user_id)


def delete_message_votes(tx: Tx, message_ids: Sequence[int]) -> None:
    """Delete the votes and vote counts of the polls of messages."""
    for batch in batches(message_ids):
        for table in ("poll_votes", "poll_counts"):
            tx.run(f"DELETE FROM {table} WHERE message_id IN ({placeholders(batch)})", *batch)


def list_by_user(tx: Tx, user_id: int, limit: int | None = None) -> list[VoteRow]:
    """Return the votes of a user, at most `limit` unless it is None."""
    sql = f"SELECT {', '.join(VoteRow._fields)} FROM poll_votes WHERE user_id = ? ORDER BY message_id, answer_id"
    return tx.fetch(VoteRow, sql, user_id) if limit is None else tx.fetch(VoteRow, f"{sql} LIMIT ?", user_id, limit)


def delete_uncounted_vote(tx: Tx, row: VoteRow) -> None:
    """Delete a vote of an ended poll, whose counts do not change."""
    tx.run(
        "DELETE FROM poll_votes WHERE message_id = ? AND user_id = ? AND answer_id = ?",
        row.message_id,
        row.user_id,
        row.answer_id,
    )


def set_channels(tx: Tx, rows: Sequence[tuple[int, int]]) -> None:
    """Store the channel of the votes in polls; `rows` has channel ID and message ID of each poll."""
    tx.run_many("UPDATE poll_votes SET channel_id = ? WHERE message_id = ?", rows)
