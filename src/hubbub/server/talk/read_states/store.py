"""SQL for read states and mentions."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import OTHER_USER, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.talk.messages import MessageRow

TABLES: Final = ("mentions", "read_states")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="mentions.author_id", erasure=Erasure.WRITTEN, export="messages"),
    PersonalColumn(column="mentions.target_id", erasure=Erasure.DELETED, omission=OTHER_USER),
    PersonalColumn(column="read_states.user_id", erasure=Erasure.DELETED, export="read_states"),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "channels that a user may still acknowledge",
    "members": "channels that a user may still acknowledge",
    "recipients": "private channels of a user, and channels that a user may still acknowledge",
}
"""Tables of other slices that this slice reads, with the reason."""


class MentionTarget(NamedTuple):
    """A user, role or guild that messages mention."""

    id: int
    kind: int
    """Bit of the mention in notification settings."""
    floor_id: int
    """Message ID of the time at which the user joined the guild; earlier mentions do not count. 0 if the target is a user."""


class Mention(NamedTuple):
    """A message that mentions a target."""

    message_id: int
    channel_id: int
    guild_id: int | None
    author_id: int


def find_last_ids(tx: Tx, user_id: int, channel_id: int | None = None) -> dict[int, int]:
    """Return the last read message IDs of a user by channel ID, of all channels or of one."""
    sql = "SELECT channel_id, last_message_id FROM read_states WHERE user_id = ?"
    if channel_id is None:
        return dict(tx.all(f"{sql} ORDER BY channel_id", user_id))
    return dict(tx.all(f"{sql} AND channel_id = ?", user_id, channel_id))


def find_many(tx: Tx, user_id: int, channel_ids: Collection[int]) -> dict[int, int]:
    """Return the last read message IDs by channel ID; channels without a read state are absent."""
    if not channel_ids:
        return {}
    sql = f"SELECT channel_id, last_message_id FROM read_states WHERE user_id = ? AND channel_id IN ({placeholders(channel_ids)})"
    return {row[0]: row[1] for row in tx.all(sql, user_id, *channel_ids)}


def filter_accessible(tx: Tx, user_id: int, channel_ids: Collection[int]) -> set[int]:
    """Return the IDs of channels that are in a guild of the user or have the user as a recipient."""
    sql = (
        f"SELECT c.id FROM channels c WHERE c.id IN ({placeholders(channel_ids)}) AND ("
        "EXISTS (SELECT 1 FROM members m WHERE m.guild_id = c.guild_id AND m.user_id = ?) "
        "OR EXISTS (SELECT 1 FROM recipients r WHERE r.channel_id = c.id AND r.user_id = ?))"
    )
    return {row[0] for row in tx.all(sql, *channel_ids, user_id, user_id)}


def put(tx: Tx, user_id: int, message_ids_by_channel: Mapping[ChannelId, MessageId]) -> None:
    """Insert or update read states."""
    tx.run_many(
        "INSERT INTO read_states (user_id, channel_id, last_message_id) VALUES (?, ?, ?) "
        "ON CONFLICT (user_id, channel_id) DO UPDATE SET last_message_id = excluded.last_message_id",
        [(user_id, channel_id, message_id) for channel_id, message_id in message_ids_by_channel.items()],
    )


def delete_channel_states(tx: Tx, channel_ids: Collection[int]) -> None:
    if channel_ids:
        tx.run(f"DELETE FROM read_states WHERE channel_id IN ({placeholders(channel_ids)})", *channel_ids)


def delete_user_states(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM read_states WHERE user_id = ?", user_id)


def list_private_channel_ids(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of the private channels of a user, including hidden channels."""
    return [row[0] for row in tx.all("SELECT channel_id FROM recipients WHERE user_id = ?", user_id)]


# Mentions


def insert_mentions(tx: Tx, target_ids: Iterable[int], row: MessageRow, guild_id: int | None) -> None:
    tx.run_many(
        "INSERT INTO mentions (target_id, message_id, channel_id, guild_id, author_id) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (target_id, message_id) DO NOTHING",
        [(target_id, row.id, row.channel_id, guild_id, row.author_id) for target_id in target_ids],
    )


def reassign_mentions(tx: Tx, message_ids: Sequence[int], target_id: int, new_target_id: int) -> None:
    """Transfer the mentions of a user in messages to another user."""
    for batch in batches(list(message_ids)):
        where = f"WHERE target_id = ? AND message_id IN ({placeholders(batch)})"
        tx.run(
            "INSERT INTO mentions (target_id, message_id, channel_id, guild_id, author_id) "
            f"SELECT CAST(? AS BIGINT), message_id, channel_id, guild_id, author_id FROM mentions {where} "
            "ON CONFLICT DO NOTHING",
            new_target_id,
            target_id,
            *batch,
        )
        tx.run(f"DELETE FROM mentions {where}", target_id, *batch)


def list_mentions_since(
    tx: Tx, targets: Sequence[MentionTarget], floor_id: int, channel_id: int | None
) -> Iterator[tuple[MentionTarget, Mention]]:
    """Yield the mentions of targets after a message ID, in all channels or in one."""
    targets_by_id = {target.id: target for target in targets}
    condition = "" if channel_id is None else " AND channel_id = ?"
    for batch in batches(targets_by_id):
        rows = tx.all(
            "SELECT target_id, message_id, channel_id, guild_id, author_id FROM mentions "
            f"WHERE target_id IN ({placeholders(batch)}) AND message_id > ?{condition}",
            *batch,
            floor_id,
            *(() if channel_id is None else (channel_id,)),
        )
        yield from ((targets_by_id[row[0]], Mention(*row[1:])) for row in rows)


def list_newest_mentions(
    tx: Tx, targets: Sequence[MentionTarget], *, after_id: int, before_id: int, guild_id: int | None, limit: int
) -> list[tuple[MentionTarget, Mention]]:
    """Return the newest mentions of targets between two message IDs, in all guilds and private channels or in one guild."""
    targets_by_id = {target.id: target for target in targets}
    condition = "" if guild_id is None else " AND guild_id = ?"
    rows: list[tuple[int, int, int, int | None, int]] = []
    for batch in batches(targets_by_id):
        rows += tx.all(
            "SELECT target_id, message_id, channel_id, guild_id, author_id FROM mentions "
            f"WHERE target_id IN ({placeholders(batch)}) AND message_id > ? AND message_id < ?{condition} "
            "ORDER BY message_id DESC LIMIT ?",
            *batch,
            after_id,
            before_id,
            *(() if guild_id is None else (guild_id,)),
            limit,
        )
    rows.sort(key=lambda row: row[1], reverse=True)
    return [(targets_by_id[row[0]], Mention(*row[1:])) for row in rows[:limit]]


def delete_mentions(tx: Tx, channel_id: int, message_ids: Collection[int]) -> None:
    """Delete the mentions that messages of a channel contain."""
    for batch in batches(message_ids):
        tx.run(
            f"DELETE FROM mentions WHERE channel_id = ? AND message_id IN ({placeholders(batch)})", channel_id, *batch
        )


def delete_channel_mentions(tx: Tx, channel_ids: Collection[int]) -> None:
    """Delete the mentions of all targets in channels."""
    for batch in batches(channel_ids):
        tx.run(f"DELETE FROM mentions WHERE channel_id IN ({placeholders(batch)})", *batch)


def delete_user_mentions(tx: Tx, user_id: int) -> None:
    """Delete the mentions that have a user as their target."""
    tx.run("DELETE FROM mentions WHERE target_id = ?", user_id)
