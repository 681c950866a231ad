"""SQL for lists of threads."""

from collections.abc import Sequence
from typing import Final

from hubbub.protocol.enums import THREAD_TYPES, ChannelType
from hubbub.server.core.batches import batches
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.channels.interface.joined_channels import CHANNEL_COLUMNS

READS: Final = {
    "channels": "threads are rows of channels",
    "thread_members": "threads that a user joined, joined with their rows",
}
"""Tables of other slices that this slice reads, with the reason."""

_THREAD_TYPES: Final = f"({', '.join(str(int(thread_type)) for thread_type in sorted(THREAD_TYPES))})"
"""SQL list of the channel types that are threads."""
_SELECT_THREADS: Final = f"SELECT {CHANNEL_COLUMNS} FROM channels c"


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


def list_by_owner(tx: Tx, user_id: int, *, after_id: int = 0, limit: int | None = None) -> list[ChannelRow]:
    """Return the threads with an ID above `after_id` that a user created, at most `limit` unless it is None."""
    sql = f"{_SELECT_THREADS} WHERE c.owner_id = ? AND c.type IN {_THREAD_TYPES} AND c.id > ? ORDER BY c.id"
    parameters = (user_id, after_id)
    return (
        tx.fetch(ChannelRow, sql, *parameters)
        if limit is None
        else tx.fetch(ChannelRow, f"{sql} LIMIT ?", *parameters, limit)
    )


def list_memberships(tx: Tx, user_id: int) -> list[tuple[int, int]]:
    """Return the ID of each thread that a user joined, with the time in Unix milliseconds."""
    return [
        (thread_id, joined_ms)
        for thread_id, joined_ms in tx.all(
            "SELECT thread_id, joined_ms FROM thread_members WHERE user_id = ? ORDER BY thread_id", user_id
        )
    ]
