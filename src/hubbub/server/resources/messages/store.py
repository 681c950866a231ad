"""Rows of messages, and the small tables beside them: nonces, slowmode, reactions as a message shows them.

A message is found by its channel and its id, and a channel's history is one range of that key, so that nothing here costs more
when there are more messages.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import errors, wire
from hubbub.protocol.resources.polls import PollAnswerCount
from hubbub.server.core.store import Tx, places
from hubbub.server.resources import members, users
from hubbub.server.resources.messages.records import Author, Extra, Line, MessageRow, ReactionRow

BATCH: Final = 500
"""How many ids go into one IN list."""


COLUMNS: Final = ", ".join(MessageRow._fields)
_PLACES: Final = places(MessageRow._fields)
_INSERT: Final = f"INSERT INTO messages ({COLUMNS}) VALUES ({_PLACES})"
# Most messages are words and nothing else: the rest keeps its default.
_INSERT_PLAIN: Final = (
    "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, ?, ?, ?)"
)
_INSERT_ANSWER: Final = (
    "INSERT INTO messages (channel_id, id, author_id, type, flags, content, webhook_id, application_id, extra) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT: Final = f"SELECT {COLUMNS} FROM messages WHERE channel_id = ?"
_IS_PLAIN: Final = " AND ".join(
    f"{name} IS NULL" if value is None else f"{name} = {value}"
    for name, value in MessageRow(0, 0, 0, 0, 0, "")._asdict().items()
    if name not in ("channel_id", "id", "author_id", "content")
)
# A column costs as much as a small statement when there are fifty rows of it, and a history is mostly words.
_LINES: Final = (
    f"SELECT id, author_id, content, CASE WHEN {_IS_PLAIN} THEN 1 ELSE 0 END FROM messages WHERE channel_id = ?"
)

_USER: Final = len(users.SHOWN)
AUTHOR_WIDTH: Final = _USER + len(members.SHOWN)
AUTHORS_GUILD: Final = "g.verification_level, g.premium_tier, g.moderated"
"""What `read_author` reads of the guild."""


def author_columns(user: str = "u", member: str = "m") -> str:
    """What `read_author` reads of a person, of the tables under these names."""
    return ", ".join([*(f"{user}.{name}" for name in users.SHOWN), *(f"{member}.{name}" for name in members.SHOWN)])


_AUTHOR: Final = (
    f"SELECT {author_columns()}, {AUTHORS_GUILD} "
    "FROM users u LEFT JOIN members m ON m.guild_id = ? AND m.user_id = u.id LEFT JOIN guilds g ON g.id = ? WHERE u.id "
)


def find_author(tx: Tx, guild_id: int | None, user_id: int) -> Author | None:
    """A user with their membership, in one query."""
    row = tx.one(f"{_AUTHOR}= ?", guild_id, guild_id, user_id)
    return None if row is None else read_author(row[:AUTHOR_WIDTH], row[AUTHOR_WIDTH:])


def find_two_authors(tx: Tx, guild_id: int | None, one_id: int, other_id: int) -> tuple[Author | None, Author | None]:
    """The same of two users, in one query."""
    rows = tx.all(f"{_AUTHOR}IN (?, ?)", guild_id, guild_id, one_id, other_id)
    found = {row[0]: read_author(row[:AUTHOR_WIDTH], row[AUTHOR_WIDTH:]) for row in rows}
    return found.get(one_id), found.get(other_id)


def read_author(row: Sequence[Any], guild: Sequence[Any]) -> Author:
    """A user with their membership, by the columns of `author_columns` and `AUTHORS_GUILD`."""
    return Author(
        users.UserRow(*row[:_USER]),
        None if row[_USER] is None else members.MemberRow(*row[_USER:]),
        guild[0] or 0,
        guild[1] or 0,
        moderated=guild[2] or 0,
    )


def find(tx: Tx, channel_id: int, message_id: int) -> MessageRow | None:
    """A message, or None."""
    row = tx.one(f"{_SELECT} AND id = ?", channel_id, message_id)
    return None if row is None else MessageRow._make(row)


def get(tx: Tx, channel_id: int, message_id: int) -> MessageRow:
    """A message of a channel; raises UNKNOWN_MESSAGE."""
    row = find(tx, channel_id, message_id)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    return row


def find_many(tx: Tx, channel_id: int, message_ids: Iterable[int]) -> dict[int, MessageRow]:
    """The messages there are of these in a channel, by id."""
    wanted = list(dict.fromkeys(message_ids))
    found: dict[int, MessageRow] = {}
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        for row in tx.all(f"{_SELECT} AND id IN ({places(some)})", channel_id, *some):
            found[row[1]] = MessageRow._make(row)
    return found


def change_author(tx: Tx, channel_id: int, author_id: int, by_id: int) -> None:
    """Let what one account said in a channel be another's."""
    tx.run("UPDATE messages SET author_id = ? WHERE channel_id = ? AND author_id = ?", by_id, channel_id, author_id)


def newest(tx: Tx, channel_id: int, limit: int) -> list[MessageRow]:
    """A channel's last messages, newest first."""
    return [MessageRow._make(row) for row in tx.all(f"{_SELECT} ORDER BY id DESC LIMIT ?", channel_id, limit)]


def following(tx: Tx, channel_id: int, after: int, limit: int) -> list[MessageRow]:
    """The messages that come right after an id, newest first."""
    rows = tx.all(f"{_SELECT} AND id > ? ORDER BY id LIMIT ?", channel_id, after, limit)
    rows.reverse()
    return [MessageRow._make(row) for row in rows]


def lines_before(tx: Tx, channel_id: int, limit: int, before: int | None = None) -> list[Line]:
    """A channel's last messages (before an id), newest first."""
    if before is None:
        rows = tx.all(f"{_LINES} ORDER BY id DESC LIMIT ?", channel_id, limit)
    else:
        rows = tx.all(f"{_LINES} AND id < ? ORDER BY id DESC LIMIT ?", channel_id, before, limit)
    return list(map(Line._make, rows))


def lines_after(tx: Tx, channel_id: int, limit: int, after: int) -> list[Line]:
    """The messages that come right after an id, newest first."""
    rows = tx.all(f"{_LINES} AND id > ? ORDER BY id LIMIT ?", channel_id, after, limit)
    rows.reverse()
    return list(map(Line._make, rows))


def insert(tx: Tx, row: MessageRow) -> None:
    """Keep a new message."""
    tx.run(_INSERT, *row)


def insert_answer(tx: Tx, row: MessageRow) -> None:
    """Keep a new message of an app that is nothing but words."""
    tx.run(_INSERT_ANSWER, *row[:6], row.webhook_id, row.application_id, row.extra)


def insert_plain(tx: Tx, row: MessageRow) -> None:
    """Keep a new message that is nothing but words."""
    tx.run(_INSERT_PLAIN, *row[:6])


def update(tx: Tx, row: MessageRow) -> None:
    """Keep what an edit may change."""
    table = "ephemeral_messages" if row.ephemeral else "messages"
    tx.run(
        f"UPDATE {table} SET flags = ?, content = ?, edited_ms = ?, mention_everyone = ?, mentions = ?, mention_roles = ?, "
        "attachments = ?, embeds = ?, components = ?, extra = ? WHERE channel_id = ? AND id = ?",
        row.flags,
        row.content,
        row.edited_ms,
        row.mention_everyone,
        row.mentions,
        row.mention_roles,
        row.attachments,
        row.embeds,
        row.components,
        row.extra,
        row.channel_id,
        row.id,
    )


def find_ephemeral(tx: Tx, channel_id: int, message_id: int, now: int) -> MessageRow | None:
    """A message that only some know of, while it lasts, or None."""
    row = tx.one(
        f"SELECT {COLUMNS} FROM ephemeral_messages WHERE channel_id = ? AND id = ? AND expires_ms > ?",
        channel_id,
        message_id,
        now,
    )
    return None if row is None else MessageRow._make(row)


def insert_ephemeral(tx: Tx, row: MessageRow, now: int, expires_ms: int) -> None:
    """Keep a message that only some know of; each takes two with it whose time is over, so that they do not pile up."""
    tx.run(f"INSERT INTO ephemeral_messages ({COLUMNS}, expires_ms) VALUES ({_PLACES}, ?)", *row, expires_ms)
    for channel_id, message_id in tx.all(
        "SELECT channel_id, id FROM ephemeral_messages WHERE expires_ms <= ? ORDER BY expires_ms LIMIT 2", now
    ):
        tx.run("DELETE FROM ephemeral_messages WHERE channel_id = ? AND id = ?", channel_id, message_id)


def prolong_ephemeral(tx: Tx, row: MessageRow, expires_ms: int) -> None:
    """Keep a message that only some know of until then."""
    tx.run(
        "UPDATE ephemeral_messages SET expires_ms = ? WHERE channel_id = ? AND id = ?",
        expires_ms,
        row.channel_id,
        row.id,
    )


def delete_ephemeral(tx: Tx, row: MessageRow) -> None:
    """Let a message go that only some know of."""
    tx.run("DELETE FROM ephemeral_messages WHERE channel_id = ? AND id = ?", row.channel_id, row.id)


def set_extra(tx: Tx, row: MessageRow, extra: Extra) -> None:
    """Keep what few messages have."""
    kept = wire.encode(extra).decode()
    tx.run("UPDATE messages SET extra = ? WHERE channel_id = ? AND id = ?", kept, row.channel_id, row.id)


def set_pinned(tx: Tx, channel_id: int, message_id: int, pinned_ms: int | None) -> None:
    """Pin (with the moment) or unpin."""
    tx.run("UPDATE messages SET pinned_ms = ? WHERE channel_id = ? AND id = ?", pinned_ms, channel_id, message_id)


def set_reacted(tx: Tx, channel_id: int, message_id: int, reacted: bool) -> None:
    """Say whether a message has reactions to look for."""
    tx.run(
        "UPDATE messages SET reacted = ? WHERE channel_id = ? AND id = ? AND reacted <> ?",
        int(reacted),
        channel_id,
        message_id,
        int(reacted),
    )


def delete(tx: Tx, channel_id: int, rows: Sequence[MessageRow]) -> None:
    """Let messages go, with their reactions and votes."""
    for start in range(0, len(rows), BATCH):
        ids = [row.id for row in rows[start : start + BATCH]]
        tx.run(f"DELETE FROM messages WHERE channel_id = ? AND id IN ({places(ids)})", channel_id, *ids)
        reacted = [row.id for row in rows[start : start + BATCH] if row.reacted]
        if reacted:
            tx.run(f"DELETE FROM reactions WHERE message_id IN ({places(reacted)})", *reacted)
        polled = [row.id for row in rows[start : start + BATCH] if row.polled]
        for table in ("poll_votes", "poll_counts") if polled else ():
            tx.run(f"DELETE FROM {table} WHERE message_id IN ({places(polled)})", *polled)


def list_of_author(tx: Tx, guild_id: int, author_id: int, since_id: int, limit: int) -> list[MessageRow]:
    """What somebody said in a guild from an id on, oldest first."""
    columns = ", ".join(f"m.{name}" for name in MessageRow._fields)
    rows = tx.all(
        f"SELECT {columns} FROM messages m JOIN channels c ON c.id = m.channel_id "
        "WHERE m.author_id = ? AND m.id >= ? AND c.guild_id = ? ORDER BY m.id LIMIT ?",
        author_id,
        since_id,
        guild_id,
        limit,
    )
    return [MessageRow._make(row) for row in rows]


def list_written(tx: Tx, author_id: int, after_id: int, limit: int) -> list[MessageRow]:
    """What somebody said anywhere, from behind an id on, oldest first."""
    columns = ", ".join(MessageRow._fields)
    rows = tx.all(
        f"SELECT {columns} FROM messages WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?", author_id, after_id, limit
    )
    return [MessageRow._make(row) for row in rows]


def guilds_of(tx: Tx, channel_ids: Iterable[int]) -> dict[int, int | None]:
    """The guilds of channels, as far as those are still there; None for private ones."""
    wanted = sorted(set(channel_ids))
    if not wanted:
        return {}
    return dict(tx.all(f"SELECT id, guild_id FROM channels WHERE id IN ({places(wanted)})", *wanted))


def forwards_since(tx: Tx, author_id: int, since_id: int) -> list[tuple[int, str]]:
    """The ids and snapshots of what somebody forwarded from an id on, oldest first."""
    return [
        (row[0], row[1])
        for row in tx.all(
            "SELECT id, snapshots FROM messages WHERE author_id = ? AND id >= ? AND snapshots IS NOT NULL ORDER BY id",
            author_id,
            since_id,
        )
    ]


def delete_of_channel(tx: Tx, channel_id: int, limit: int) -> list[MessageRow]:
    """Let some messages of a channel that is gone go too, and say which."""
    rows = newest(tx, channel_id, limit)
    delete(tx, channel_id, rows)
    return rows


def thread_position(tx: Tx, thread_id: int) -> int:
    """How many messages a thread has seen."""
    return int(tx.value("SELECT total_message_sent FROM channels WHERE id = ?", thread_id) or 0)


def recipients(tx: Tx, channel_id: int) -> list[tuple[int, int]]:
    """Who takes part in a private channel, and whether each is a bot."""
    return [
        (row[0], row[1])
        for row in tx.all(
            "SELECT r.user_id, u.bot FROM recipients r JOIN users u ON u.id = r.user_id WHERE r.channel_id = ?",
            channel_id,
        )
    ]


def share_a_guild(tx: Tx, one: int, other: int) -> bool:
    """Whether two users are in some guild together."""
    return (
        tx.value(
            "SELECT 1 FROM members a JOIN members b ON b.guild_id = a.guild_id AND b.user_id = ? WHERE a.user_id = ? LIMIT 1",
            one,
            other,
        )
        is not None
    )


def thread_member_ids(tx: Tx, thread_id: int) -> list[int]:
    """Who is in a thread."""
    return [row[0] for row in tx.all("SELECT user_id FROM thread_members WHERE thread_id = ?", thread_id)]


def known_users(tx: Tx, user_ids: Sequence[int]) -> set[int]:
    """Which of these users exist."""
    return {row[0] for row in tx.all(f"SELECT id FROM users WHERE id IN ({places(user_ids)})", *user_ids)}


def mentionable_roles(tx: Tx, guild_id: int, role_ids: Sequence[int], everyone: bool) -> set[int]:
    """Which of these roles of the guild may be mentioned; all of them by one who may mention everyone."""
    rows = tx.all(
        f"SELECT id, mentionable FROM roles WHERE guild_id = ? AND id IN ({places(role_ids)})", guild_id, *role_ids
    )
    return {row[0] for row in rows if everyone or row[1]}


def take_nonce(
    tx: Tx, author_id: int, channel_id: int, nonce: str, message_id: int, now: int, window_ms: int
) -> int | None:
    """Remember a nonce; the message that used it within the window, if one did."""
    if now & 15 == 0:
        # Old ones are swept out now and then; that they are over is asked below.
        tx.run("DELETE FROM message_nonces WHERE created_ms <= ?", now - window_ms)
    if tx.run(
        "INSERT INTO message_nonces (author_id, channel_id, nonce, message_id, created_ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (author_id, channel_id, nonce) DO NOTHING",
        author_id,
        channel_id,
        nonce,
        message_id,
        now,
    ):
        return None
    key = (author_id, channel_id, nonce)
    row = tx.one(
        "SELECT message_id, created_ms FROM message_nonces WHERE author_id = ? AND channel_id = ? AND nonce = ?", *key
    )
    # A clock that was set back leaves nonces of a time to come.
    if row is not None and now - window_ms < row[1] <= now:
        return int(row[0])
    replace_nonce(tx, author_id, channel_id, nonce, message_id, now)
    return None


def replace_nonce(tx: Tx, author_id: int, channel_id: int, nonce: str, message_id: int, now: int) -> None:
    """Let a nonce stand for another message."""
    tx.run(
        "UPDATE message_nonces SET message_id = ?, created_ms = ? WHERE author_id = ? AND channel_id = ? AND nonce = ?",
        message_id,
        now,
        author_id,
        channel_id,
        nonce,
    )


def last_spoke(tx: Tx, channel_id: int, user_id: int) -> int | None:
    """When somebody last spoke in a slow channel."""
    found: int | None = tx.value(
        "SELECT last_ms FROM slowmodes WHERE channel_id = ? AND user_id = ? AND kind = 'message'", channel_id, user_id
    )
    return found


def spoke(tx: Tx, channel_id: int, user_id: int, now: int) -> None:
    """Remember that somebody spoke in a slow channel."""
    tx.run(
        "INSERT INTO slowmodes (channel_id, user_id, kind, last_ms) VALUES (?, ?, 'message', ?) "
        "ON CONFLICT (channel_id, user_id, kind) DO UPDATE SET last_ms = excluded.last_ms",
        channel_id,
        user_id,
        now,
    )


def reactions(tx: Tx, message_ids: Sequence[int], viewer_id: int) -> dict[int, list[ReactionRow]]:
    """The reactions of some messages, counted by emoji, in the order they came first."""
    found: dict[int, list[ReactionRow]] = {}
    for start in range(0, len(message_ids), BATCH):
        some = message_ids[start : start + BATCH]
        rows = tx.all(
            "SELECT message_id, MAX(emoji_id), MAX(emoji_name), MAX(animated), SUM(1 - burst), SUM(burst), "
            "MAX(CASE WHEN user_id = ? AND burst = 0 THEN 1 ELSE 0 END), "
            "MAX(CASE WHEN user_id = ? AND burst = 1 THEN 1 ELSE 0 END) "
            f"FROM reactions WHERE message_id IN ({places(some)}) GROUP BY message_id, emoji ORDER BY MIN(created_ms), emoji",
            viewer_id,
            viewer_id,
            *some,
        )
        for row in rows:
            found.setdefault(row[0], []).append(ReactionRow._make(row))
    return found


def poll_counts(tx: Tx, message_ids: Sequence[int], viewer_id: int) -> dict[int, list[PollAnswerCount]]:
    """The votes of some polls by answer; answers without a vote are left out. `viewer_id` says whose votes are `me_voted`."""
    found: dict[int, list[PollAnswerCount]] = {}
    for start in range(0, len(message_ids), BATCH):
        some = message_ids[start : start + BATCH]
        rows = tx.all(
            "SELECT c.message_id, c.answer_id, c.votes, v.user_id FROM poll_counts c LEFT JOIN poll_votes v "
            "ON v.message_id = c.message_id AND v.user_id = ? AND v.answer_id = c.answer_id "
            f"WHERE c.message_id IN ({places(some)}) AND c.votes > 0 ORDER BY c.answer_id",
            viewer_id,
            *some,
        )
        for message_id, answer_id, votes, voter in rows:
            count = PollAnswerCount(id=answer_id, count=votes, me_voted=voter is not None)
            found.setdefault(message_id, []).append(count)
    return found


def find_deletion(
    tx: Tx, guild_id: int, actor_id: int, author_id: int, channel_id: int, since_id: int, reason: str | None
) -> tuple[int, int] | None:
    """The audit log entry of a moderator's latest deletions of one author's messages in one channel, and its count."""
    for entry_id, options, why in tx.all(
        "SELECT id, options, reason FROM audit_log WHERE guild_id = ? AND id >= ? AND action_type = 72 AND user_id = ? "
        "AND target_id = ? ORDER BY id DESC",
        guild_id,
        since_id,
        actor_id,
        author_id,
    ):
        kept: dict[str, str] = msgspec.json.decode(options)
        if kept.get("channel_id") == str(int(channel_id)) and why == reason:
            return entry_id, int(kept["count"])
    return None


def count_deletion(tx: Tx, guild_id: int, entry_id: int, channel_id: int, count: int) -> None:
    """Add to an audit log entry of deletions."""
    options = msgspec.json.encode({"channel_id": str(int(channel_id)), "count": str(count)}).decode()
    tx.run("UPDATE audit_log SET options = ? WHERE guild_id = ? AND id = ?", options, guild_id, entry_id)
