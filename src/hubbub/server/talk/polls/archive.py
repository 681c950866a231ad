"""Votes and vote counts in the archive of a guild; the polls are part of the messages."""

from typing import Final

from hubbub.server.core.archives import REFERENCE, USER, ArchiveTable, number

ARCHIVE: Final = (
    ArchiveTable(
        name="poll_votes",
        parent="messages",
        parent_column="message_id",
        key=("message_id", "user_id", "answer_id"),
        columns={"message_id": REFERENCE, "user_id": USER, "answer_id": number(255)},
    ),
    ArchiveTable(
        name="poll_counts",
        parent="messages",
        parent_column="message_id",
        key=("message_id", "answer_id"),
        columns={"message_id": REFERENCE, "answer_id": number(255), "votes": number()},
    ),
)
