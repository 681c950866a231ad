"""Build the wire models of notification settings."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.resources import notification_settings as wire
from hubbub.server.core.store import Tx
from hubbub.server.talk.notification_settings import store
from hubbub.server.talk.notification_settings.rules import (
    PRIVATE_CHANNELS_GUILD_ID,
    ChannelSettingsRow,
    GuildSettingsRow,
)


def list_settings(tx: Tx, user_id: int) -> list[wire.UserGuildSettings]:
    """Return all notification settings that are stored for a user, one entry per guild and one for private channels."""
    guild_rows = {row.guild_id: row for row in store.list_guild_rows(tx, user_id)}
    channel_rows: dict[int, list[ChannelSettingsRow]] = {}
    for row in store.list_channel_rows(tx, user_id):
        channel_rows.setdefault(row.guild_id, []).append(row)
    return [
        settings(guild_rows.get(guild_id, GuildSettingsRow(user_id, guild_id)), channel_rows.get(guild_id, ()))
        for guild_id in sorted(guild_rows.keys() | channel_rows.keys())
    ]


def settings(row: GuildSettingsRow, channel_rows: Sequence[ChannelSettingsRow]) -> wire.UserGuildSettings:
    """Return the settings of a guild or of private channels."""
    return wire.UserGuildSettings(
        guild_id=None if row.guild_id == PRIVATE_CHANNELS_GUILD_ID else GuildId(row.guild_id),
        message_notifications=row.level,
        suppress_everyone=bool(row.suppress_everyone),
        suppress_roles=bool(row.suppress_roles),
        muted=bool(row.muted),
        mute_config=_mute_config(row),
        mobile_push=bool(row.mobile_push),
        channel_overrides=[
            wire.ChannelNotificationSettings(
                channel_id=ChannelId(channel_row.channel_id),
                message_notifications=channel_row.level,
                muted=bool(channel_row.muted),
                mute_config=_mute_config(channel_row),
                collapsed=bool(channel_row.collapsed),
            )
            for channel_row in channel_rows
        ],
        version=row.version,
    )


def _mute_config(row: GuildSettingsRow | ChannelSettingsRow) -> wire.MuteConfig | None:
    if not row.muted or row.mute_end_ms is None:
        return None
    return wire.MuteConfig(end_time=codec.timestamp(row.mute_end_ms), selected_time_window=row.mute_seconds)
