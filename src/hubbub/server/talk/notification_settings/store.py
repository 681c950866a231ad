"""SQL for notification settings. A user who has never changed the settings has no row."""

from collections.abc import Collection, Iterable
from typing import Final

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders
from hubbub.server.places import channels
from hubbub.server.talk.notification_settings.rules import (
    PRIVATE_CHANNELS_GUILD_ID,
    ChannelPath,
    ChannelSettingsRow,
    GuildSettingsRow,
    NotificationRules,
)

TABLES: Final = ("channel_notification_settings", "notification_settings")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="channel_notification_settings.user_id", erasure=Erasure.DELETED, export="notification_settings"
    ),
    PersonalColumn(column="notification_settings.user_id", erasure=Erasure.DELETED, export="notification_settings"),
)
"""Columns of these tables that contain IDs of users."""

_GUILD_COLUMNS: Final = ", ".join(GuildSettingsRow._fields)
_CHANNEL_COLUMNS: Final = ", ".join(ChannelSettingsRow._fields)


def read(tx: Tx, user_id: int, guild_id: int) -> GuildSettingsRow:
    """Return the settings of a user for a guild, or the defaults."""
    sql = f"SELECT {_GUILD_COLUMNS} FROM notification_settings WHERE user_id = ? AND guild_id = ?"
    return tx.find(GuildSettingsRow, sql, user_id, guild_id) or GuildSettingsRow(user_id, guild_id)


def list_guild_rows(tx: Tx, user_id: int) -> list[GuildSettingsRow]:
    sql = f"SELECT {_GUILD_COLUMNS} FROM notification_settings WHERE user_id = ? ORDER BY guild_id"
    return tx.fetch(GuildSettingsRow, sql, user_id)


def list_channel_rows(tx: Tx, user_id: int, guild_id: int | None = None) -> list[ChannelSettingsRow]:
    """Return the settings of a user for channels, of all guilds or of one."""
    sql = f"SELECT {_CHANNEL_COLUMNS} FROM channel_notification_settings WHERE user_id = ?"
    if guild_id is None:
        return tx.fetch(ChannelSettingsRow, f"{sql} ORDER BY channel_id", user_id)
    return tx.fetch(ChannelSettingsRow, f"{sql} AND guild_id = ? ORDER BY channel_id", user_id, guild_id)


def find_rules(
    tx: Tx, user_ids: Iterable[int], now_ms: int, guild_id: int | None = None
) -> dict[int, NotificationRules]:
    """Return the rules of users by user ID, of all guilds or of one."""
    rules_by_user: dict[int, NotificationRules] = {}
    condition = "" if guild_id is None else " AND guild_id = ?"
    for batch in batches(user_ids):
        parameters = batch if guild_id is None else [*batch, guild_id]
        where = f"WHERE user_id IN ({placeholders(batch)}){condition}"
        guild_rows_by_user: dict[int, dict[int, GuildSettingsRow]] = {}
        for guild_row in tx.fetch(
            GuildSettingsRow, f"SELECT {_GUILD_COLUMNS} FROM notification_settings {where}", *parameters
        ):
            guild_rows_by_user.setdefault(guild_row.user_id, {})[guild_row.guild_id] = guild_row
        channel_rows_by_user: dict[int, dict[int, ChannelSettingsRow]] = {}
        for channel_row in tx.fetch(
            ChannelSettingsRow, f"SELECT {_CHANNEL_COLUMNS} FROM channel_notification_settings {where}", *parameters
        ):
            channel_rows_by_user.setdefault(channel_row.user_id, {})[channel_row.channel_id] = channel_row
        for user_id in batch:
            rules_by_user[user_id] = NotificationRules(
                guild_rows_by_user.get(user_id, {}), channel_rows_by_user.get(user_id, {}), now_ms
            )
    return rules_by_user


def find_channel_paths(tx: Tx, channel_ids: Collection[int]) -> dict[int, ChannelPath]:
    """Return the paths of channels by channel ID; unknown channels are absent."""
    rows_by_id = channels.find_many(tx, list(channel_ids))
    parent_ids = {row.parent_id for row in rows_by_id.values() if row.parent_id is not None}
    parents_by_id = (
        channels.find_many(tx, [parent_id for parent_id in parent_ids if parent_id not in rows_by_id]) | rows_by_id
    )
    paths: dict[int, ChannelPath] = {}
    for channel_id, row in rows_by_id.items():
        path_ids = [channel_id]
        while (parent_id := row.parent_id) is not None:
            path_ids.append(parent_id)
            parent = parents_by_id.get(parent_id)
            if parent is None:
                break
            row = parent
        paths[channel_id] = ChannelPath(row.guild_id or PRIVATE_CHANNELS_GUILD_ID, tuple(path_ids))
    return paths


def put_guild_row(tx: Tx, row: GuildSettingsRow) -> None:
    """Insert or update the settings of a user for a guild."""
    updates = ", ".join(f"{name} = excluded.{name}" for name in GuildSettingsRow._fields[2:])
    tx.run(
        f"INSERT INTO notification_settings ({_GUILD_COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (user_id, guild_id) DO UPDATE SET {updates}",
        *row,
    )


def put_channel_rows(tx: Tx, rows: Collection[ChannelSettingsRow]) -> None:
    """Insert or update settings of users for channels."""
    updates = ", ".join(f"{name} = excluded.{name}" for name in ChannelSettingsRow._fields[3:])
    tx.run_many(
        f"INSERT INTO channel_notification_settings ({_CHANNEL_COLUMNS}) "
        f"VALUES ({placeholders(ChannelSettingsRow._fields)}) "
        f"ON CONFLICT (user_id, guild_id, channel_id) DO UPDATE SET {updates}",
        list(rows),
    )


def delete_channel_settings(tx: Tx, channel_ids: Collection[int]) -> None:
    """Delete the settings of all users for channels."""
    for batch in batches(channel_ids):
        tx.run(f"DELETE FROM channel_notification_settings WHERE channel_id IN ({placeholders(batch)})", *batch)


def delete_guild_settings(tx: Tx, guild_id: int) -> None:
    """Delete the settings of all users for a guild, except settings for its channels."""
    # The settings for private channels belong to no guild.
    tx.run(
        "DELETE FROM notification_settings WHERE guild_id = ? AND guild_id <> ?", guild_id, PRIVATE_CHANNELS_GUILD_ID
    )


def delete_user_settings(tx: Tx, user_id: int) -> None:
    """Delete the settings of a user for all guilds and channels."""
    tx.run("DELETE FROM notification_settings WHERE user_id = ?", user_id)
    tx.run("DELETE FROM channel_notification_settings WHERE user_id = ?", user_id)
