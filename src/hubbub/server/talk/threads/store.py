"""SQL for threads and for the thread_members table."""

from collections.abc import Sequence
from typing import Final

from hubbub.protocol.enums import THREAD_TYPES, ChannelType
from hubbub.server.core.batches import batches
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.channels.joined_channels import CHANNEL_COLUMNS
from hubbub.server.places.channels.thread_channels import ThreadMemberRow

TABLES: Final = ("thread_members",)
"""Tables that only this slice writes."""
READS: Final = {"channels": "threads are rows of channels"}
"""Tables of other slices that this slice reads, with the reason."""

_THREAD_TYPES: Final = f"({', '.join(str(int(thread_type)) for thread_type in sorted(THREAD_TYPES))})"
"""SQL list of the channel types that are threads."""
_SELECT_THREADS: Final = f"SELECT {CHANNEL_COLUMNS} FROM channels c"
_MEMBER_COLUMNS: Final = "m.thread_id, m.user_id, m.joined_ms, m.flags"


def list_member_ids(tx: Tx, thread_id: int) -> list[int]:
    """Return the user IDs of a thread's members, in ascending order."""
    rows = tx.all("SELECT user_id FROM thread_members WHERE thread_id = ? ORDER BY user_id", thread_id)
    return [user_id for (user_id,) in rows]


def list_members(tx: Tx, thread_id: int, *, after_user_id: int = 0, limit: int | None = None) -> list[ThreadMemberRow]:
    """Return a thread's members with user IDs above `after_user_id`, in ascending order; all of them if `limit` is None."""
    sql = f"SELECT {_MEMBER_COLUMNS} FROM thread_members m WHERE m.thread_id = ? AND m.user_id > ? ORDER BY m.user_id"
    if limit is None:
        return tx.fetch(ThreadMemberRow, sql, thread_id, after_user_id)
    return tx.fetch(ThreadMemberRow, f"{sql} LIMIT ?", thread_id, after_user_id, limit)


def find_memberships(tx: Tx, user_id: int, thread_ids: Sequence[int]) -> dict[int, ThreadMemberRow]:
    """Return a user's memberships in threads, by thread ID."""
    memberships: dict[int, ThreadMemberRow] = {}
    for batch in batches(thread_ids):
        for row in tx.fetch(
            ThreadMemberRow,
            f"SELECT {_MEMBER_COLUMNS} FROM thread_members m WHERE m.user_id = ? AND m.thread_id IN ({placeholders(batch)})",
            user_id,
            *batch,
        ):
            memberships[row.thread_id] = row
    return memberships


def insert_member(tx: Tx, row: ThreadMemberRow) -> bool:
    """Insert a membership, update the member count and return whether it is new."""
    inserted = tx.run(
        "INSERT INTO thread_members (thread_id, user_id, joined_ms, flags) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread_id, user_id) DO NOTHING",
        *row,
    )
    if inserted:
        channels.thread_channels.adjust_thread_member_count(tx, row.thread_id, 1)
    return bool(inserted)


def delete_member(tx: Tx, thread_id: int, user_id: int) -> bool:
    """Delete a membership, update the member count and return whether it existed."""
    deleted = tx.run("DELETE FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id)
    if deleted:
        channels.thread_channels.adjust_thread_member_count(tx, thread_id, -1)
    return bool(deleted)


def delete_members_of_threads(tx: Tx, thread_ids: Sequence[int]) -> None:
    for batch in batches(thread_ids):
        tx.run(f"DELETE FROM thread_members WHERE thread_id IN ({placeholders(batch)})", *batch)


def list_joined(tx: Tx, guild_id: int, user_id: int) -> list[ChannelRow]:
    """Return the threads of a guild that a user is a member of."""
    return tx.fetch(
        ChannelRow,
        f"{_SELECT_THREADS} JOIN thread_members m ON m.thread_id = c.id WHERE m.user_id = ? AND c.guild_id = ?",
        user_id,
        guild_id,
    )


def list_ids_by_parents(tx: Tx, channel_ids: Sequence[int]) -> list[int]:
    """Return the IDs of all threads with a parent in `channel_ids`."""
    thread_ids: list[int] = []
    for batch in batches(channel_ids):
        rows = tx.all(
            f"SELECT id FROM channels WHERE parent_id IN ({placeholders(batch)}) AND type IN {_THREAD_TYPES}", *batch
        )
        thread_ids += [thread_id for (thread_id,) in rows]
    return thread_ids


def list_active(tx: Tx, guild_id: int) -> list[ChannelRow]:
    """Return a guild's active threads, newest first."""
    return tx.fetch(
        ChannelRow,
        f"{_SELECT_THREADS} WHERE c.guild_id = ? AND c.type IN {_THREAD_TYPES} AND c.archived = 0 ORDER BY c.id DESC",
        guild_id,
    )


def count_active(tx: Tx, guild_id: int) -> int:
    """Return the number of a guild's active threads."""
    return int(
        tx.value(
            f"SELECT COUNT(*) FROM channels WHERE guild_id = ? AND type IN {_THREAD_TYPES} AND archived = 0", guild_id
        )
        or 0
    )


def list_archived(
    tx: Tx, parent_id: int, thread_types: Sequence[int], *, before_ms: int | None, limit: int
) -> list[ChannelRow]:
    """Return archived threads of a channel with one of the types `thread_types`, most recently archived first.

    `before_ms` (Unix milliseconds) restricts the list to threads that were archived earlier."""
    condition = "" if before_ms is None else " AND c.archive_changed_ms < ?"
    return tx.fetch(
        ChannelRow,
        f"{_SELECT_THREADS} WHERE c.parent_id = ? AND c.type IN ({placeholders(thread_types)}) AND c.archived = 1{condition}"
        " ORDER BY c.archive_changed_ms DESC, c.id DESC LIMIT ?",
        parent_id,
        *thread_types,
        *(() if before_ms is None else (before_ms,)),
        limit,
    )


def list_joined_private_archived(
    tx: Tx, parent_id: int, user_id: int, *, before_id: int | None, limit: int
) -> list[ChannelRow]:
    """Return archived private threads of a channel that a user is a member of, newest first.

    `before_id` restricts the list to threads with lower IDs."""
    condition = "" if before_id is None else " AND c.id < ?"
    return tx.fetch(
        ChannelRow,
        f"{_SELECT_THREADS} JOIN thread_members m ON m.thread_id = c.id AND m.user_id = ?"
        f" WHERE c.parent_id = ? AND c.type = {int(ChannelType.PRIVATE_THREAD)} AND c.archived = 1{condition}"
        " ORDER BY c.id DESC LIMIT ?",
        user_id,
        parent_id,
        *(() if before_id is None else (before_id,)),
        limit,
    )


def find_pinned_post_id(tx: Tx, parent_id: int, pinned_flag: int) -> int | None:
    """Return the ID of the post that is pinned in a forum, or None. `pinned_flag` is the PINNED flag."""
    post_id: int | None = tx.value(
        "SELECT id FROM channels WHERE parent_id = ? AND (flags & ?) <> 0", parent_id, pinned_flag
    )
    return post_id
