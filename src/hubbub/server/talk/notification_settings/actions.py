"""Update, publish and export notification settings, and delete the settings of deleted channels, guilds and users."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import THREAD_TYPES, NotificationLevel
from hubbub.protocol.errors import FormErrors
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.resources import notification_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import UserAudience
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.places.standing import access
from hubbub.server.talk.notification_settings import store, views
from hubbub.server.talk.notification_settings.rules import ChannelSettingsRow, GuildSettingsRow

RowT = TypeVar("RowT", GuildSettingsRow, ChannelSettingsRow)

_CHANNEL_UNKNOWN = "CHANNEL_UNKNOWN"


def update_guild(call: Call, guild_id: int, body: wire.UpdateUserGuildSettings) -> wire.UserGuildSettings:
    """Update the caller's settings for a guild and publish them if they changed."""
    form = FormErrors()
    before = store.read(call.tx, call.user_id, guild_id)
    changes = {
        name: int(value)
        for name in ("suppress_everyone", "suppress_roles", "mobile_push")
        if (value := getattr(body, name)) is not UNSET
    }
    after = _with_level_and_mute(call, before._replace(**changes), body, form, ("mute_config",))
    return _store_settings(call, before, after, body.channel_overrides, form)


def update_private_channels(call: Call, body: wire.UpdatePrivateChannelSettings) -> wire.UserGuildSettings:
    """Update the caller's settings for private channels and publish them if they changed."""
    row = store.read(call.tx, call.user_id, 0)
    return _store_settings(call, row, row, body.channel_overrides, FormErrors())


def _store_settings(
    call: Call,
    before: GuildSettingsRow,
    after: GuildSettingsRow,
    overrides: Mapping[ChannelId, wire.UpdateChannelNotificationSettings] | UnsetType,
    form: FormErrors,
) -> wire.UserGuildSettings:
    stored_rows = {row.channel_id: row for row in store.list_channel_rows(call.tx, call.user_id, before.guild_id)}
    changed_rows: dict[int, ChannelSettingsRow] = {}
    if overrides is not UNSET and overrides:
        accessible_ids = _filter_visible_channel_ids(call, before.guild_id, [*overrides])
        for channel_id, override in overrides.items():
            path = ("channel_overrides", str(int(channel_id)))
            if channel_id not in accessible_ids:
                form.add(path, _CHANNEL_UNKNOWN, "You do not have access to this channel.")
                continue
            row = stored_rows.get(channel_id, ChannelSettingsRow(call.user_id, before.guild_id, channel_id))
            if override.collapsed is not UNSET:
                row = row._replace(collapsed=int(override.collapsed))
            row = _with_level_and_mute(call, row, override, form, (*path, "mute_config"))
            if row != stored_rows.get(channel_id):
                changed_rows[channel_id] = row
    form.raise_if_any()
    if changed_rows or after != before:
        after = after._replace(version=before.version + 1)
        store.put_guild_row(call.tx, after)
        store.put_channel_rows(call.tx, changed_rows.values())
    view = views.settings(after, [row for _, row in sorted((stored_rows | changed_rows).items())])
    if after != before:
        call.tx.emit(wire.USER_GUILD_SETTINGS_UPDATE, view, UserAudience.of(call.user_id))
    return view


def _filter_visible_channel_ids(call: Call, guild_id: int, channel_ids: list[ChannelId]) -> set[int]:
    """Return the IDs of the channels of a guild that the caller can see, or of their private channels if `guild_id` is 0."""
    rows = channels.find_many(call.tx, channel_ids)
    if guild_id == 0:
        return {row.id for row in rows.values() if row.guild_id is None and _can_access(call, row.id)}
    visible_ids = access.visible_channels(call.tx, access.get_guild_standing(call, guild_id)).keys()
    return {
        row.id
        for row in rows.values()
        if row.guild_id == guild_id
        and (row.id in visible_ids or (row.type in THREAD_TYPES and _can_access(call, row.id)))
    }


def _can_access(call: Call, channel_id: int) -> bool:
    try:
        access.get_channel_standing(call, channel_id)
    except errors.ApiError:
        return False
    return True


def _with_level_and_mute(
    call: Call,
    row: RowT,
    body: wire.UpdateUserGuildSettings | wire.UpdateChannelNotificationSettings,
    form: FormErrors,
    path: tuple[str, ...],
) -> RowT:
    """Return a row with the level and mute of a request; `path` is the path of `mute_config` for errors."""
    if body.message_notifications is not UNSET:
        level = NotificationLevel.INHERIT if body.message_notifications is None else body.message_notifications
        row = row._replace(level=int(level))
    if body.muted is not UNSET:
        row = row._replace(muted=int(body.muted))
        if body.mute_config is UNSET:
            row = row._replace(mute_end_ms=None, mute_seconds=-1)
    if body.mute_config is None:
        row = row._replace(mute_end_ms=None, mute_seconds=-1)
    elif body.mute_config is not UNSET:
        end_ms, mute_seconds = _mute_end_and_seconds(call, body.mute_config, form, path)
        row = row._replace(mute_end_ms=end_ms, mute_seconds=mute_seconds)
    return row if row.muted else row._replace(mute_end_ms=None, mute_seconds=-1)


def _mute_end_and_seconds(
    call: Call, mute_config: wire.UpdateMuteConfig, form: FormErrors, path: tuple[str, ...]
) -> tuple[int | None, int]:
    """Return the end of a mute in Unix milliseconds and its length in seconds, or None and -1 for a mute without an end.

    Add an error to the form if the end is too far in the future."""
    mute_seconds = (
        -1 if mute_config.selected_time_window in (UNSET, None) else int(mute_config.selected_time_window or 0)
    )
    if mute_config.end_time is UNSET:
        return (None, -1) if mute_seconds < 0 else (call.now_ms + mute_seconds * 1000, mute_seconds)
    if mute_config.end_time is None:
        return None, -1
    end_ms = codec.milliseconds(mute_config.end_time)
    if end_ms > call.now_ms + wire.MUTE_SECONDS_MAX * 1000:
        days = wire.MUTE_SECONDS_MAX // 86_400
        form.add((*path, "end_time"), "MUTE_TOO_LONG", f"Must be at most {days} days in the future.")
    return end_ms, max(mute_seconds, 0)


def on_channels_deleting(call: Call, signal: channels.signals.ChannelsDeleting) -> None:
    """Delete the settings of deleted channels."""
    store.delete_channel_settings(call.tx, signal.channel_ids)


def on_guild_deleting(call: Call, signal: guilds.GuildDeleting) -> None:
    """Delete the settings of a deleted guild."""
    store.delete_guild_settings(call.tx, signal.guild_id)


def on_user_deleting(call: Call, signal: users.signals.UserDeleting) -> None:
    """Delete the settings of a deleted user."""
    store.delete_user_settings(call.tx, signal.user_id)


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's notification settings for the export of their data."""
    settings = views.list_settings(call.tx, user_id)
    return {"notification_settings": msgspec.to_builtins(settings, enc_hook=str)}
