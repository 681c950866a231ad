"""SQL for the read_states table."""

from collections.abc import Collection, Mapping
from typing import Final

from hubbub.protocol.ids import ChannelId, MessageId
from hubbub.protocol.resources.read_states import ReadState
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("read_states",)
"""Tables that only this slice writes."""
READS: Final = {
    "channels": "channels that a user may still acknowledge",
    "members": "channels that a user may still acknowledge",
    "recipients": "channels that a user may still acknowledge",
}
"""Tables of other slices that this slice reads, with the reason."""


def list_all(tx: Tx, user_id: int) -> list[ReadState]:
    """Return all read states of a user."""
    rows = tx.all("SELECT channel_id, last_message_id FROM read_states WHERE user_id = ? ORDER BY channel_id", user_id)
    return [ReadState(id=ChannelId(row[0]), last_message_id=MessageId(row[1])) for row in rows]


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
    """Delete the read states of channels."""
    if channel_ids:
        tx.run(f"DELETE FROM read_states WHERE channel_id IN ({placeholders(channel_ids)})", *channel_ids)


def delete_user_states(tx: Tx, user_id: int) -> None:
    """Delete all read states of a user."""
    tx.run("DELETE FROM read_states WHERE user_id = ?", user_id)
