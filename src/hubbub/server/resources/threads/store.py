"""Who is in a thread, and which threads there are."""

from collections.abc import Iterable, Sequence
from typing import Final

from hubbub.server.core.store import Tx, places
from hubbub.server.resources.channels import CHANNEL_COLUMNS, ChannelRow, ThreadMemberRow

_THREADS: Final = f"SELECT {CHANNEL_COLUMNS} FROM channels c"
_MEMBER: Final = "m.thread_id, m.user_id, m.joined_ms, m.flags"
BATCH: Final = 500
"""How many ids go into one IN list."""


def member_ids(tx: Tx, thread_id: int) -> list[int]:
    """Who is in a thread."""
    rows = tx.all("SELECT user_id FROM thread_members WHERE thread_id = ? ORDER BY user_id", thread_id)
    return [user_id for (user_id,) in rows]


def list_members(tx: Tx, thread_id: int, *, after: int = 0, limit: int | None = None) -> list[ThreadMemberRow]:
    """Who is in a thread, by user id."""
    sql = f"SELECT {_MEMBER} FROM thread_members m WHERE m.thread_id = ? AND m.user_id > ? ORDER BY m.user_id"
    if limit is None:
        return tx.fetch(ThreadMemberRow, sql, thread_id, after)
    return tx.fetch(ThreadMemberRow, f"{sql} LIMIT ?", thread_id, after, limit)


def memberships(tx: Tx, user_id: int, thread_ids: Sequence[int]) -> dict[int, ThreadMemberRow]:
    """A user's memberships among some threads, by thread."""
    found: dict[int, ThreadMemberRow] = {}
    for start in range(0, len(thread_ids), BATCH):
        some = thread_ids[start : start + BATCH]
        for row in tx.fetch(
            ThreadMemberRow,
            f"SELECT {_MEMBER} FROM thread_members m WHERE m.user_id = ? AND m.thread_id IN ({places(some)})",
            user_id,
            *some,
        ):
            found[row.thread_id] = row
    return found


def insert_member(tx: Tx, row: ThreadMemberRow) -> bool:
    """Let a user in and count them; False when they are in already."""
    new = tx.run(
        "INSERT INTO thread_members (thread_id, user_id, joined_ms, flags) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (thread_id, user_id) DO NOTHING",
        *row,
    )
    if new:
        tx.run("UPDATE channels SET member_count = member_count + 1 WHERE id = ?", row.thread_id)
    return bool(new)


def delete_member(tx: Tx, thread_id: int, user_id: int) -> bool:
    """Let a user go and count them off; False when they are not in."""
    gone = tx.run("DELETE FROM thread_members WHERE thread_id = ? AND user_id = ?", thread_id, user_id)
    if gone:
        tx.run("UPDATE channels SET member_count = member_count - 1 WHERE id = ?", thread_id)
    return bool(gone)


def delete_all_members(tx: Tx, thread_ids: Sequence[int]) -> None:
    """Forget who was in threads that are going."""
    for start in range(0, len(thread_ids), BATCH):
        some = thread_ids[start : start + BATCH]
        tx.run(f"DELETE FROM thread_members WHERE thread_id IN ({places(some)})", *some)


def joined_in_guild(tx: Tx, guild_id: int, user_id: int) -> list[ChannelRow]:
    """The threads of a guild that a user is in."""
    return tx.fetch(
        ChannelRow,
        f"{_THREADS} JOIN thread_members m ON m.thread_id = c.id WHERE m.user_id = ? AND c.guild_id = ?",
        user_id,
        guild_id,
    )


def ids_of_parents(tx: Tx, channel_ids: Sequence[int]) -> list[int]:
    """Every thread of these channels."""
    found: list[int] = []
    for start in range(0, len(channel_ids), BATCH):
        some = channel_ids[start : start + BATCH]
        rows = tx.all(f"SELECT id FROM channels WHERE parent_id IN ({places(some)}) AND type IN (10, 11, 12)", *some)
        found += [thread_id for (thread_id,) in rows]
    return found


def list_active(tx: Tx, guild_id: int) -> list[ChannelRow]:
    """A guild's threads that are not archived, newest first."""
    return tx.fetch(
        ChannelRow,
        f"{_THREADS} WHERE c.guild_id = ? AND c.type IN (10, 11, 12) AND c.archived = 0 ORDER BY c.id DESC",
        guild_id,
    )


def count_active(tx: Tx, guild_id: int) -> int:
    """How many threads of a guild are not archived."""
    return int(
        tx.value("SELECT COUNT(*) FROM channels WHERE guild_id = ? AND type IN (10, 11, 12) AND archived = 0", guild_id)
        or 0
    )


def list_archived(
    tx: Tx, parent_id: int, kinds: Sequence[int], *, before_ms: int | None, limit: int
) -> list[ChannelRow]:
    """Archived threads of a channel, the one archived last first."""
    bound = "" if before_ms is None else " AND c.archive_changed_ms < ?"
    return tx.fetch(
        ChannelRow,
        f"{_THREADS} WHERE c.parent_id = ? AND c.type IN ({places(kinds)}) AND c.archived = 1{bound}"
        " ORDER BY c.archive_changed_ms DESC, c.id DESC LIMIT ?",
        parent_id,
        *kinds,
        *(() if before_ms is None else (before_ms,)),
        limit,
    )


def list_joined_private_archived(
    tx: Tx, parent_id: int, user_id: int, *, before: int | None, limit: int
) -> list[ChannelRow]:
    """Archived private threads of a channel that a user is in, newest first."""
    bound = "" if before is None else " AND c.id < ?"
    return tx.fetch(
        ChannelRow,
        f"{_THREADS} JOIN thread_members m ON m.thread_id = c.id AND m.user_id = ?"
        f" WHERE c.parent_id = ? AND c.type = 12 AND c.archived = 1{bound} ORDER BY c.id DESC LIMIT ?",
        user_id,
        parent_id,
        *(() if before is None else (before,)),
        limit,
    )


def pinned_post(tx: Tx, parent_id: int, pinned: int) -> int | None:
    """The post pinned in a forum, if there is one."""
    found: int | None = tx.value("SELECT id FROM channels WHERE parent_id = ? AND (flags & ?) <> 0", parent_id, pinned)
    return found


def count_message(tx: Tx, thread_id: int) -> None:
    """One message more."""
    tx.run(
        "UPDATE channels SET message_count = message_count + 1, total_message_sent = total_message_sent + 1 WHERE id = ?",
        thread_id,
    )


def discount_messages(tx: Tx, thread_id: int, number: int) -> None:
    """Some messages less; all that were ever sent stay counted."""
    tx.run(
        "UPDATE channels SET message_count = CASE WHEN message_count > ? THEN message_count - ? ELSE 0 END WHERE id = ?",
        number,
        number,
        thread_id,
    )


def last_opened(tx: Tx, channel_id: int, user_id: int) -> int | None:
    """When somebody last opened a thread in a slow channel."""
    found: int | None = tx.value(
        "SELECT last_ms FROM slowmodes WHERE channel_id = ? AND user_id = ? AND kind = 'thread'", channel_id, user_id
    )
    return found


def opened(tx: Tx, channel_id: int, user_id: int, now: int) -> None:
    """Remember that somebody opened a thread in a slow channel."""
    tx.run(
        "INSERT INTO slowmodes (channel_id, user_id, kind, last_ms) VALUES (?, ?, 'thread', ?)"
        " ON CONFLICT (channel_id, user_id, kind) DO UPDATE SET last_ms = excluded.last_ms",
        channel_id,
        user_id,
        now,
    )


def delete_rows(tx: Tx, thread_ids: Iterable[int]) -> None:
    """Forget threads."""
    wanted = list(thread_ids)
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        tx.run(f"DELETE FROM channels WHERE id IN ({places(some)}) AND type IN (10, 11, 12)", *some)
