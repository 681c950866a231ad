"""SQL for messages, ephemeral messages and nonces, and for data of other slices that messages show or depend on.

A message is found by channel and ID, and a channel's history is one range of that key, so reading a channel does not get
slower as the number of messages grows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, cast

from hubbub.protocol import codec, errors
from hubbub.protocol.resources.polls import PollAnswerCount
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import TECHNICAL, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.talk.messages.content.records import ExtraFields, HistoryRow, MessageRow, ReactionCountRow

TABLES: Final = (
    "ephemeral_messages",
    "message_nonces",
    "messages",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="ephemeral_messages.author_id",
        erasure=Erasure.EXPIRES,
        reason="Kept until it expires.",
        omission="Applications write ephemeral messages.",
    ),
    PersonalColumn(
        column="message_nonces.author_id",
        erasure=Erasure.EXPIRES,
        reason="Kept until the nonce expires.",
        omission=TECHNICAL,
    ),
    PersonalColumn(column="messages.author_id", erasure=Erasure.WRITTEN, export="messages"),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "guild and position of a thread",
    "guilds": "settings that decide how messages are shown",
    "members": "authors' memberships, joined with messages",
    "poll_counts": "results shown with messages",
    "poll_votes": "the viewer's votes shown with messages",
    "reactions": "counts shown with messages",
    "recipients": "audience of a private channel",
    "roles": "mentionable roles",
    "users": "authors, joined with messages",
}
"""Tables of other slices that this slice reads, with the reason."""


BATCH_SIZE: Final = 500
"""Maximum number of messages that one query returns when the messages of an author are deleted."""


MESSAGE_COLUMNS: Final = ", ".join(MessageRow._fields)
_ROW_PLACEHOLDERS: Final = placeholders(MessageRow._fields)
_INSERT: Final = f"INSERT INTO messages ({MESSAGE_COLUMNS}) VALUES ({_ROW_PLACEHOLDERS})"
# Most messages consist of content only; all other columns have defaults.
_INSERT_PLAIN: Final = (
    "INSERT INTO messages (channel_id, id, author_id, type, flags, content) VALUES (?, ?, ?, ?, ?, ?)"
)
# Sufficient for most interaction responses and webhook messages.
_INSERT_RESPONSE: Final = (
    "INSERT INTO messages (channel_id, id, author_id, type, flags, content, webhook_id, application_id, extra) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SELECT: Final = f"SELECT {MESSAGE_COLUMNS} FROM messages WHERE channel_id = ?"
_IS_PLAIN: Final = " AND ".join(
    f"{name} IS NULL" if value is None else f"{name} = {value}"
    for name, value in MessageRow(0, 0, 0, 0, 0, "")._asdict().items()
    if name not in ("channel_id", "id", "author_id", "content")
)
# For fifty rows, decoding one more column costs as much as a small statement, and most messages consist of content only.
_SELECT_HISTORY: Final = (
    f"SELECT id, author_id, content, CASE WHEN {_IS_PLAIN} THEN 1 ELSE 0 END FROM messages WHERE channel_id = ?"
)


def find(tx: Tx, channel_id: int, message_id: int) -> MessageRow | None:
    row = tx.one(f"{_SELECT} AND id = ?", channel_id, message_id)
    return None if row is None else MessageRow._make(row)


def get(tx: Tx, channel_id: int, message_id: int) -> MessageRow:
    """Return a message of a channel, or raise UNKNOWN_MESSAGE."""
    row = find(tx, channel_id, message_id)
    if row is None:
        raise errors.UNKNOWN_MESSAGE()
    return row


def list_attachments_between(tx: Tx, channel_id: int, first_id: int, last_id: int) -> list[str]:
    """Return the encoded attachments of the messages of a channel with IDs in a range, ends included."""
    rows = tx.all(
        "SELECT attachments FROM messages WHERE channel_id = ? AND id BETWEEN ? AND ? AND attachments IS NOT NULL",
        channel_id,
        first_id,
        last_id,
    )
    return [row[0] for row in rows]


def find_many(tx: Tx, channel_id: int, message_ids: Iterable[int]) -> dict[int, MessageRow]:
    """Return messages of a channel by ID; unknown IDs are absent."""
    distinct_ids = list(dict.fromkeys(message_ids))
    rows_by_id: dict[int, MessageRow] = {}
    for batch in batches(distinct_ids):
        for row in tx.all(f"{_SELECT} AND id IN ({placeholders(batch)})", channel_id, *batch):
            rows_by_id[row[1]] = MessageRow._make(row)
    return rows_by_id


def reassign_author(tx: Tx, channel_id: int, author_id: int, new_author_id: int) -> None:
    """Change the author of one account's messages in a channel to another account."""
    tx.run(
        "UPDATE messages SET author_id = ? WHERE channel_id = ? AND author_id = ?", new_author_id, channel_id, author_id
    )


def list_authored(tx: Tx, author_id: int, limit: int) -> list[tuple[int, int]]:
    """Return the channel ID and message ID of the oldest messages of an author, at most `limit`."""
    rows = tx.all("SELECT channel_id, id FROM messages WHERE author_id = ? ORDER BY id LIMIT ?", author_id, limit)
    return [(row[0], row[1]) for row in rows]


def update_user_references(tx: Tx, rows: Sequence[MessageRow]) -> None:
    """Update the columns of messages that contain user IDs."""
    tx.run_many(
        "UPDATE messages SET author_id = ?, content = ?, mentions = ?, extra = ? WHERE channel_id = ? AND id = ?",
        [(row.author_id, row.content, row.mentions, row.extra, row.channel_id, row.id) for row in rows],
    )


def list_newest(tx: Tx, channel_id: int, limit: int) -> list[MessageRow]:
    """Return a channel's newest messages, newest first."""
    return [MessageRow._make(row) for row in tx.all(f"{_SELECT} ORDER BY id DESC LIMIT ?", channel_id, limit)]


def list_after(tx: Tx, channel_id: int, after_id: int, limit: int) -> list[MessageRow]:
    """Return the messages that directly follow an ID, newest first."""
    rows = tx.all(f"{_SELECT} AND id > ? ORDER BY id LIMIT ?", channel_id, after_id, limit)
    rows.reverse()
    return [MessageRow._make(row) for row in rows]


def list_history_before(tx: Tx, channel_id: int, limit: int, before_id: int | None = None) -> list[HistoryRow]:
    """Return a channel's newest history rows, optionally before an ID, newest first."""
    if before_id is None:
        rows = tx.all(f"{_SELECT_HISTORY} ORDER BY id DESC LIMIT ?", channel_id, limit)
    else:
        rows = tx.all(f"{_SELECT_HISTORY} AND id < ? ORDER BY id DESC LIMIT ?", channel_id, before_id, limit)
    return cast(list[HistoryRow], rows)


def list_history_after(tx: Tx, channel_id: int, limit: int, after_id: int) -> list[HistoryRow]:
    """Return the history rows that directly follow an ID, newest first."""
    rows = tx.all(f"{_SELECT_HISTORY} AND id > ? ORDER BY id LIMIT ?", channel_id, after_id, limit)
    rows.reverse()
    return cast(list[HistoryRow], rows)


def insert(tx: Tx, row: MessageRow) -> None:
    if row.is_plain:
        tx.send(_INSERT_PLAIN, *row[:6])
    elif row.is_plain_response:
        tx.send(_INSERT_RESPONSE, *row[:6], row.webhook_id, row.application_id, row.extra)
    else:
        tx.send(_INSERT, *row)


def update(tx: Tx, row: MessageRow) -> None:
    """Update the columns that an edit may change."""
    table = "ephemeral_messages" if row.is_ephemeral else "messages"
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


def find_ephemeral(tx: Tx, channel_id: int, message_id: int, now_ms: int) -> MessageRow | None:
    """Return an ephemeral message that has not expired, or None."""
    row = tx.one(
        f"SELECT {MESSAGE_COLUMNS} FROM ephemeral_messages WHERE channel_id = ? AND id = ? AND expires_ms > ?",
        channel_id,
        message_id,
        now_ms,
    )
    return None if row is None else MessageRow._make(row)


def insert_ephemeral(tx: Tx, row: MessageRow, now_ms: int, expires_ms: int) -> None:
    """Insert an ephemeral message.

    Each insert deletes up to two expired messages, so that these do not accumulate."""
    tx.run(
        f"INSERT INTO ephemeral_messages ({MESSAGE_COLUMNS}, expires_ms) VALUES ({_ROW_PLACEHOLDERS}, ?)",
        *row,
        expires_ms,
    )
    for channel_id, message_id in tx.all(
        "SELECT channel_id, id FROM ephemeral_messages WHERE expires_ms <= ? ORDER BY expires_ms LIMIT 2", now_ms
    ):
        tx.run("DELETE FROM ephemeral_messages WHERE channel_id = ? AND id = ?", channel_id, message_id)


def extend_ephemeral(tx: Tx, row: MessageRow, expires_ms: int) -> None:
    """Set a new expiry time of an ephemeral message."""
    tx.run(
        "UPDATE ephemeral_messages SET expires_ms = ? WHERE channel_id = ? AND id = ?",
        expires_ms,
        row.channel_id,
        row.id,
    )


def delete_ephemeral(tx: Tx, row: MessageRow) -> None:
    tx.run("DELETE FROM ephemeral_messages WHERE channel_id = ? AND id = ?", row.channel_id, row.id)


def set_extra(tx: Tx, row: MessageRow, extra: ExtraFields) -> None:
    """Update the rarely used fields of a message."""
    extra_json = codec.encode(extra).decode()
    tx.run("UPDATE messages SET extra = ? WHERE channel_id = ? AND id = ?", extra_json, row.channel_id, row.id)


def set_pinned(tx: Tx, channel_id: int, message_id: int, pinned_ms: int | None) -> None:
    """Set the pin time of a message in Unix milliseconds, or clear it with None."""
    tx.run("UPDATE messages SET pinned_ms = ? WHERE channel_id = ? AND id = ?", pinned_ms, channel_id, message_id)


def set_reacted(tx: Tx, channel_id: int, message_id: int, has_reactions: bool) -> None:
    tx.run(
        "UPDATE messages SET reacted = ? WHERE channel_id = ? AND id = ? AND reacted <> ?",
        int(has_reactions),
        channel_id,
        message_id,
        int(has_reactions),
    )


def delete(tx: Tx, channel_id: int, rows: Sequence[MessageRow]) -> None:
    """Delete messages. Listeners of `signals.MessagesDeleted` delete their reactions and votes."""
    for batch in batches(rows):
        message_ids = [row.id for row in batch]
        tx.run(
            f"DELETE FROM messages WHERE channel_id = ? AND id IN ({placeholders(message_ids)})",
            channel_id,
            *message_ids,
        )


def list_by_author_in_guild(tx: Tx, guild_id: int, author_id: int, since_id: int, limit: int) -> list[MessageRow]:
    """Return at most `limit` messages of a user in a guild from an ID on, oldest first."""
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


def list_by_author(tx: Tx, author_id: int, after_id: int, limit: int) -> list[MessageRow]:
    """Return at most `limit` messages of a user in all channels after an ID, oldest first."""
    columns = ", ".join(MessageRow._fields)
    rows = tx.all(
        f"SELECT {columns} FROM messages WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?", author_id, after_id, limit
    )
    return [MessageRow._make(row) for row in rows]


def find_guild_ids(tx: Tx, channel_ids: Iterable[int]) -> dict[int, int | None]:
    """Return the guild IDs of existing channels by channel ID; None for private channels."""
    distinct_ids = sorted(set(channel_ids))
    if not distinct_ids:
        return {}
    return dict(tx.all(f"SELECT id, guild_id FROM channels WHERE id IN ({placeholders(distinct_ids)})", *distinct_ids))


def list_forwards_since(tx: Tx, author_id: int, since_id: int) -> list[tuple[int, str]]:
    """Return IDs and snapshots of messages that a user forwarded from an ID on, oldest first."""
    return [
        (row[0], row[1])
        for row in tx.all(
            "SELECT id, snapshots FROM messages WHERE author_id = ? AND id >= ? AND snapshots IS NOT NULL ORDER BY id",
            author_id,
            since_id,
        )
    ]


def delete_channel_messages(tx: Tx, channel_id: int, limit: int) -> list[MessageRow]:
    """Delete the newest messages of a deleted channel, at most `limit`; return them."""
    rows = list_newest(tx, channel_id, limit)
    delete(tx, channel_id, rows)
    return rows


def count_in_guild(tx: Tx, guild_id: int) -> int:
    """Return the number of messages in the channels and threads of a guild."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM channels c JOIN messages m ON m.channel_id = c.id WHERE c.guild_id = ?", guild_id
        )
    )


def read_thread_position(tx: Tx, thread_id: int) -> int:
    """Return the number of messages ever sent in a thread."""
    return int(tx.value("SELECT total_message_sent FROM channels WHERE id = ?", thread_id) or 0)


def list_recipients(tx: Tx, channel_id: int) -> list[tuple[int, int]]:
    """Return the user IDs of the recipients of a private channel, each with 1 for a bot and 0 for a user."""
    return [
        (row[0], row[1])
        for row in tx.all(
            "SELECT r.user_id, u.bot FROM recipients r JOIN users u ON u.id = r.user_id WHERE r.channel_id = ?",
            channel_id,
        )
    ]


def have_mutual_guild(tx: Tx, user_id: int, other_id: int) -> bool:
    return (
        tx.value(
            "SELECT 1 FROM members a JOIN members b ON b.guild_id = a.guild_id AND b.user_id = ? WHERE a.user_id = ? LIMIT 1",
            user_id,
            other_id,
        )
        is not None
    )


def filter_existing_users(tx: Tx, user_ids: Sequence[int]) -> set[int]:
    """Return the IDs among `user_ids` of users that exist."""
    return {row[0] for row in tx.all(f"SELECT id FROM users WHERE id IN ({placeholders(user_ids)})", *user_ids)}


def filter_mentionable_roles(tx: Tx, guild_id: int, role_ids: Sequence[int], can_mention_all: bool) -> set[int]:
    """Return the IDs among `role_ids` of mentionable roles of a guild; with `can_mention_all` all its roles are mentionable."""
    rows = tx.all(
        f"SELECT id, mentionable FROM roles WHERE guild_id = ? AND id IN ({placeholders(role_ids)})",
        guild_id,
        *role_ids,
    )
    return {row[0] for row in rows if can_mention_all or row[1]}


def claim_nonce(
    tx: Tx, author_id: int, channel_id: int, nonce: str, message_id: int, now_ms: int, window_ms: int
) -> int | None:
    """Record a nonce and return None, or return the ID of the message that used it less than `window_ms` ago.

    The primary key decides which of several concurrent requests is the first. The time of the first request may be later
    than `now_ms`, because the clocks of processes differ and `now_ms` is read before the transaction."""
    if now_ms & 15 == 0:
        # Delete expired nonces occasionally. The doubled window keeps nonces that a process whose clock is behind still needs.
        tx.run("DELETE FROM message_nonces WHERE created_ms <= ?", now_ms - 2 * window_ms)
    if tx.run(
        "INSERT INTO message_nonces (author_id, channel_id, nonce, message_id, created_ms) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (author_id, channel_id, nonce) DO NOTHING",
        author_id,
        channel_id,
        nonce,
        message_id,
        now_ms,
    ):
        return None
    nonce_key = (author_id, channel_id, nonce)
    row = tx.one(
        "SELECT message_id, created_ms FROM message_nonces WHERE author_id = ? AND channel_id = ? AND nonce = ?",
        *nonce_key,
    )
    # A nonce that is a whole window ahead is ignored: the clock was set back.
    if row is not None and abs(now_ms - row[1]) < window_ms:
        return int(row[0])
    replace_nonce(tx, author_id, channel_id, nonce, message_id, now_ms)
    return None


def replace_nonce(tx: Tx, author_id: int, channel_id: int, nonce: str, message_id: int, now_ms: int) -> None:
    """Assign a nonce to another message."""
    tx.run(
        "UPDATE message_nonces SET message_id = ?, created_ms = ? WHERE author_id = ? AND channel_id = ? AND nonce = ?",
        message_id,
        now_ms,
        author_id,
        channel_id,
        nonce,
    )


def find_reaction_counts(tx: Tx, message_ids: Sequence[int], viewer_id: int) -> dict[int, list[ReactionCountRow]]:
    """Return reaction counts per emoji by message ID, in the order of the first reaction.

    `viewer_id` is the user whose own reactions are marked."""
    counts_by_message: dict[int, list[ReactionCountRow]] = {}
    for batch in batches(message_ids):
        rows = tx.all(
            "SELECT message_id, MAX(emoji_id), MAX(emoji_name), MAX(animated), SUM(1 - burst), SUM(burst), "
            "MAX(CASE WHEN user_id = ? AND burst = 0 THEN 1 ELSE 0 END), "
            "MAX(CASE WHEN user_id = ? AND burst = 1 THEN 1 ELSE 0 END) "
            f"FROM reactions WHERE message_id IN ({placeholders(batch)}) "
            "GROUP BY message_id, emoji ORDER BY MIN(created_ms), emoji",
            viewer_id,
            viewer_id,
            *batch,
        )
        for row in rows:
            counts_by_message.setdefault(row[0], []).append(ReactionCountRow._make(row))
    return counts_by_message


def find_poll_counts(tx: Tx, message_ids: Sequence[int], viewer_id: int) -> dict[int, list[PollAnswerCount]]:
    """Return vote counts per answer by message ID; answers without votes are omitted.

    `viewer_id` is the user whose votes are marked as `me_voted`."""
    counts_by_message: dict[int, list[PollAnswerCount]] = {}
    for batch in batches(message_ids):
        rows = tx.all(
            "SELECT c.message_id, c.answer_id, c.votes, v.user_id FROM poll_counts c LEFT JOIN poll_votes v "
            "ON v.message_id = c.message_id AND v.user_id = ? AND v.answer_id = c.answer_id "
            f"WHERE c.message_id IN ({placeholders(batch)}) AND c.votes > 0 ORDER BY c.answer_id",
            viewer_id,
            *batch,
        )
        for message_id, answer_id, votes, voter_id in rows:
            answer_count = PollAnswerCount(id=answer_id, count=votes, me_voted=voter_id is not None)
            counts_by_message.setdefault(message_id, []).append(answer_count)
    return counts_by_message


def count_after(
    tx: Tx, floor_ids_by_channel: Mapping[int, int], excluded_author_ids: Collection[int], limit: int
) -> dict[int, int]:
    """Return the number of messages after a message ID by channel ID; channels without such messages are absent.

    `floor_ids_by_channel` has the message ID of each channel by channel ID. Messages of the excluded authors are not counted, and
    counting stops at `limit` in each channel."""
    counts: dict[int, int] = {}
    for batch in batches(floor_ids_by_channel.items()):
        value_rows = ", ".join("(CAST(? AS BIGINT), CAST(? AS BIGINT))" for _ in batch)
        rows = tx.all(
            f"WITH floors (channel_id, floor_id) AS (VALUES {value_rows}) "
            "SELECT f.channel_id, (SELECT COUNT(*) FROM (SELECT 1 FROM messages m WHERE m.channel_id = f.channel_id "
            f"AND m.id > f.floor_id AND m.author_id NOT IN ({placeholders(excluded_author_ids)}) LIMIT ?) counted) FROM floors f",
            *(id_parameter for channel_and_floor in batch for id_parameter in channel_and_floor),
            *excluded_author_ids,
            limit,
        )
        counts.update((channel_id, count) for channel_id, count in rows if count)
    return counts
