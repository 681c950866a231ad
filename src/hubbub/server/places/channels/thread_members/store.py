"""SQL for the thread_members table, and for the member count of threads."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("thread_members",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="thread_members.user_id", erasure=Erasure.DELETED, export="thread_memberships"),
)
"""Columns of these tables that contain IDs of users."""


class ThreadMemberRow(NamedTuple):
    """The membership of a user in a thread."""

    thread_id: int
    user_id: int
    joined_ms: int
    flags: int


_COLUMNS: Final = ", ".join(ThreadMemberRow._fields)


def find(tx: Tx, thread_id: int, user_id: int) -> ThreadMemberRow | None:
    return tx.find(
        ThreadMemberRow,
        f"SELECT {_COLUMNS} FROM thread_members WHERE thread_id = ? AND user_id = ?",
        thread_id,
        user_id,
    )


def list_user_ids(tx: Tx, thread_id: int) -> list[int]:
    """Return the user IDs of a thread's members, in ascending order."""
    rows = tx.all("SELECT user_id FROM thread_members WHERE thread_id = ? ORDER BY user_id", thread_id)
    return [user_id for (user_id,) in rows]


def list_members(tx: Tx, thread_id: int, *, after_user_id: int = 0, limit: int | None = None) -> list[ThreadMemberRow]:
    """Return a thread's members with user IDs above `after_user_id`, in ascending order; all of them if `limit` is None."""
    sql = f"SELECT {_COLUMNS} FROM thread_members WHERE thread_id = ? AND user_id > ? ORDER BY user_id"
    if limit is None:
        return tx.fetch(ThreadMemberRow, sql, thread_id, after_user_id)
    return tx.fetch(ThreadMemberRow, f"{sql} LIMIT ?", thread_id, after_user_id, limit)


def find_memberships(tx: Tx, user_id: int, thread_ids: Sequence[int]) -> dict[int, ThreadMemberRow]:
    """Return a user's memberships in threads, by thread ID."""
    memberships_by_thread: dict[int, ThreadMemberRow] = {}
    for batch in batches(thread_ids):
        for row in tx.fetch(
            ThreadMemberRow,
            f"SELECT {_COLUMNS} FROM thread_members WHERE user_id = ? AND thread_id IN ({placeholders(batch)})",
            user_id,
            *batch,
        ):
            memberships_by_thread[row.thread_id] = row
    return memberships_by_thread


def insert(tx: Tx, row: ThreadMemberRow) -> bool:
    """Insert a membership, update the member count and return whether it is new."""
    inserted_count = tx.run(
        f"INSERT INTO thread_members ({_COLUMNS}) VALUES (?, ?, ?, ?) ON CONFLICT (thread_id, user_id) DO NOTHING",
        *row,
    )
    if inserted_count:
        _adjust_member_count(tx, row.thread_id, 1)
    return bool(inserted_count)


def delete(tx: Tx, thread_id: int, user_id: int) -> bool:
    """Delete a membership, update the member count and return whether it existed."""
    deleted_count = tx.run("DELETE FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id)
    if deleted_count:
        _adjust_member_count(tx, thread_id, -1)
    return bool(deleted_count)


def delete_of_threads(tx: Tx, thread_ids: Sequence[int]) -> None:
    """Delete all memberships in threads that are deleted, without updating the member counts."""
    for batch in batches(thread_ids):
        tx.run(f"DELETE FROM thread_members WHERE thread_id IN ({placeholders(batch)})", *batch)


def _adjust_member_count(tx: Tx, thread_id: int, change: int) -> None:
    """Add `change`, which may be negative, to the member count of a thread."""
    tx.run("UPDATE channels SET member_count = member_count + ? WHERE id = ?", change, thread_id)
