"""Notification settings: levels, mutes and suppressed mentions of a user in guilds, channels and threads."""

from typing import Any

from hubbub.protocol.resources import notification_settings as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.talk.notification_settings import actions, routes, views
from hubbub.server.talk.notification_settings.actions import export_data
from hubbub.server.talk.notification_settings.rules import (
    DIRECT_MENTION,
    EVERYONE_MENTION,
    PRIVATE_MESSAGE,
    ROLE_MENTION,
    ChannelPath,
    NotificationRules,
)
from hubbub.server.talk.notification_settings.store import find_channel_paths, find_rules


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the notification settings for READY; only users have them."""
    if call.actor.kind != "user":
        return {}
    return {"user_guild_settings": wire.UserGuildSettingsList(entries=views.list_settings(call.tx, call.user_id))}


SLICE = Slice(
    name="notification_settings",
    modules=(routes,),
    listeners={
        channels.signals.ChannelsDeleting: actions.on_channels_deleting,
        guilds.GuildDeleting: actions.on_guild_deleting,
        users.signals.UserDeleting: actions.on_user_deleting,
    },
    ready=_ready_fields,
)

__all__ = [
    "ChannelPath",
    "DIRECT_MENTION",
    "EVERYONE_MENTION",
    "NotificationRules",
    "PRIVATE_MESSAGE",
    "ROLE_MENTION",
    "SLICE",
    "export_data",
    "find_channel_paths",
    "find_rules",
]
