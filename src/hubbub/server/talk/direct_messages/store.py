"""SQL for direct message channels, the recipients of private channels, and the guilds that two users share."""

from collections.abc import Sequence
from typing import Final

from hubbub.protocol.enums import ChannelType
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.channels.interface.joined_channels import CHANNEL_COLUMNS

TABLES: Final = ("direct_messages",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="direct_messages.higher_id",
        erasure=Erasure.KEPT,
        reason="A direct message channel stays with the other user.",
        export="private_channels",
    ),
    PersonalColumn(
        column="direct_messages.lower_id",
        erasure=Erasure.KEPT,
        reason="A direct message channel stays with the other user.",
        export="private_channels",
    ),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "channels": "private channels of a user, joined with their rows",
    "guilds": "incident actions of shared guilds",
    "members": "users who share a guild",
    "recipients": "private channels of a user, joined with their rows",
    "users": "whether a recipient is a bot",
}
"""Tables of other slices that this slice reads, with the reason."""


def find_direct_channel_id(tx: Tx, user_id: int, other_id: int) -> int | None:
    """Return the ID of the direct message channel of two users, or None."""
    channel_id: int | None = tx.value(
        "SELECT channel_id FROM direct_messages WHERE lower_id = ? AND higher_id = ?",
        min(user_id, other_id),
        max(user_id, other_id),
    )
    return channel_id


def insert_direct_channel(tx: Tx, user_id: int, other_id: int, channel_id: int) -> None:
    """Record the direct message channel of two users."""
    tx.run(
        "INSERT INTO direct_messages (lower_id, higher_id, channel_id) VALUES (?, ?, ?)",
        min(user_id, other_id),
        max(user_id, other_id),
        channel_id,
    )


def find_recipient_ids(tx: Tx, channel_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return the user IDs of the recipients of private channels by channel ID, in ascending order.

    Channels without recipients are absent."""
    user_ids_by_channel: dict[int, list[int]] = {}
    for batch in batches(channel_ids):
        for channel_id, user_id in tx.all(
            f"SELECT channel_id, user_id FROM recipients WHERE channel_id IN ({placeholders(batch)}) ORDER BY channel_id, user_id",
            *batch,
        ):
            user_ids_by_channel.setdefault(channel_id, []).append(user_id)
    return user_ids_by_channel


def list_recipients_who_hid(tx: Tx, channel_id: int) -> list[tuple[int, int]]:
    """List the user IDs of recipients who have hidden a private channel, each with 1 for a bot and 0 for a user."""
    return [
        (user_id, is_bot)
        for user_id, is_bot in tx.all(
            "SELECT r.user_id, u.bot FROM recipients r JOIN users u ON u.id = r.user_id "
            "WHERE r.channel_id = ? AND r.hidden = 1 ORDER BY r.user_id",
            channel_id,
        )
    ]


def list_visible_channels(tx: Tx, user_id: int) -> list[ChannelRow]:
    """List the private channels that a user has not hidden."""
    return tx.fetch(
        ChannelRow,
        f"SELECT {CHANNEL_COLUMNS} FROM recipients r JOIN channels c ON c.id = r.channel_id "
        "WHERE r.user_id = ? AND r.hidden = 0",
        user_id,
    )


def list_group_channels(tx: Tx, user_id: int) -> list[ChannelRow]:
    """List all groups that a user is in, owned or not, by ascending ID."""
    return tx.fetch(
        ChannelRow,
        f"SELECT {CHANNEL_COLUMNS} FROM recipients r JOIN channels c ON c.id = r.channel_id "
        f"WHERE r.user_id = ? AND c.type = {int(ChannelType.GROUP_DM)} ORDER BY c.id",
        user_id,
    )


def list_channel_ids(tx: Tx, user_id: int) -> list[int]:
    """List the IDs of all private channels of a user, including hidden ones, in ascending order."""
    rows = tx.all("SELECT channel_id FROM recipients WHERE user_id = ? ORDER BY channel_id", user_id)
    return [row[0] for row in rows]


def delete_direct_channel(tx: Tx, channel_id: int) -> None:
    """Delete the record that a channel is the direct message channel of two users."""
    tx.run("DELETE FROM direct_messages WHERE channel_id = ?", channel_id)


def count_owned_groups(tx: Tx, user_id: int) -> int:
    """Return the number of groups that a user owns. A bot owns the groups of its application."""
    return int(
        tx.value(
            "SELECT COUNT(*) FROM recipients r JOIN channels c ON c.id = r.channel_id "
            f"WHERE r.user_id = ? AND c.type = {int(ChannelType.GROUP_DM)} AND c.owner_id = ?",
            user_id,
            user_id,
        )
        or 0
    )


def find_users_sharing_guild(tx: Tx, user_id: int, other_ids: Sequence[int]) -> set[int]:
    """Return the IDs among `other_ids` of users who share a guild with a user."""
    rows = tx.all(
        "SELECT DISTINCT b.user_id FROM members a JOIN members b ON b.guild_id = a.guild_id "
        f"WHERE a.user_id = ? AND b.user_id IN ({placeholders(other_ids)})",
        user_id,
        *other_ids,
    )
    return {row[0] for row in rows}


def find_shared_guilds_incidents(tx: Tx, user_id: int, other_id: int) -> dict[int, str | None]:
    """Return the incident actions, as JSON or None, of the guilds that two users share, by guild ID."""
    rows = tx.all(
        "SELECT g.id, g.incidents FROM members a JOIN members b ON b.guild_id = a.guild_id AND b.user_id = ? "
        "JOIN guilds g ON g.id = a.guild_id WHERE a.user_id = ?",
        other_id,
        user_id,
    )
    return {row[0]: row[1] for row in rows}


def list_channels(tx: Tx, user_id: int) -> list[ChannelRow]:
    """List the private channels of a user, including hidden ones, by ascending ID."""
    return tx.fetch(
        ChannelRow,
        f"SELECT {CHANNEL_COLUMNS} FROM recipients r JOIN channels c ON c.id = r.channel_id "
        "WHERE r.user_id = ? ORDER BY c.id",
        user_id,
    )
