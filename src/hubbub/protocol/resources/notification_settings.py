"""Notification settings of a user for guilds and channels: notification levels and mutes (decisions/0104)."""

from datetime import datetime
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import NotificationLevel
from hubbub.protocol.ids import ChannelId, GuildId, Timestamp
from hubbub.protocol.operation import Auth, Event, Operation

CHANNEL_OVERRIDES_MAX: Final = 100
"""Maximum number of channels in one request."""
MUTE_SECONDS_MAX: Final = 366 * 24 * 3600
"""Maximum length of a mute with an end, in seconds."""


class MuteConfig(Struct, kw_only=True):
    """The end and the selected length of a mute that ends by itself."""

    end_time: Timestamp | None
    """Time at which the mute ends; this server never sends null."""
    selected_time_window: int
    """Length in seconds that the user selected; 0 if the client set only the end."""


class ChannelNotificationSettings(Struct, kw_only=True):
    """The notification settings of a user for a channel, category or thread."""

    channel_id: ChannelId
    """ID of the channel, category or thread."""
    message_notifications: int
    """Which messages notify: a `NotificationLevel`; 3 for the level of the parent."""
    muted: bool
    """Whether the channel is muted. The value stays true after the mute has ended; clients must check `mute_config`."""
    mute_config: MuteConfig | None
    """End and length of the mute; null if the mute has no end, or the channel is not muted."""
    collapsed: bool
    """Whether the user collapsed the category in the channel list."""


class UserGuildSettings(Struct, kw_only=True):
    """The notification settings of a user for a guild, or for all private channels."""

    guild_id: GuildId | None
    """ID of the guild; null for private channels."""
    message_notifications: int
    """Which messages notify: a `NotificationLevel`; 3 for the default of the guild."""
    suppress_everyone: bool
    """Whether mentions of @everyone and @here do not notify."""
    suppress_roles: bool
    """Whether mentions of roles do not notify."""
    muted: bool
    """Whether the guild, or all private channels, are muted.

    The value stays true after the mute has ended; clients must check `mute_config`.
    """
    mute_config: MuteConfig | None
    """End and length of the mute; null if the mute has no end, or nothing is muted."""
    mobile_push: bool
    """Whether messages are sent as push notifications."""
    channel_overrides: list[ChannelNotificationSettings]
    """Settings of single channels, categories and threads."""
    version: int
    """Number of changes made to the settings so far."""


class UserGuildSettingsList(Struct, kw_only=True):
    """The notification settings of the user in READY."""

    entries: list[UserGuildSettings]
    """Settings of guilds and private channels that the user has changed, even if they are the defaults again."""
    partial: bool = False
    """Whether entries are missing; always false."""
    version: int = 0
    """Version of the list; always 0."""


class UpdateMuteConfig(Struct, kw_only=True):
    """The requested end or length of a mute."""

    end_time: datetime | None | UnsetType = UNSET
    """Time at which the mute ends; null for a mute without an end, absent to end it after `selected_time_window`."""
    selected_time_window: Annotated[int, Meta(ge=-1, le=MUTE_SECONDS_MAX)] | None | UnsetType = UNSET
    """Length in seconds that the user selected. Without `end_time` the mute ends after it; -1, null or absent: never."""


class UpdateChannelNotificationSettings(Struct, kw_only=True):
    """Changes to the settings of a channel; absent fields keep their value."""

    message_notifications: NotificationLevel | None | UnsetType = UNSET
    """Which messages notify; null or 3 for the level of the parent."""
    muted: bool | UnsetType = UNSET
    """Whether the channel is muted; without `mute_config`, the mute has no end."""
    mute_config: UpdateMuteConfig | None | UnsetType = UNSET
    """End or length of the mute; null for a mute without an end. Ignored if the channel is not muted."""
    collapsed: bool | UnsetType = UNSET
    """Whether the category is collapsed in the channel list."""


class UpdatePrivateChannelSettings(Struct, kw_only=True):
    """Changes to the settings of private channels; absent fields keep their value, and unknown fields are ignored."""

    channel_overrides: (
        Annotated[dict[ChannelId, UpdateChannelNotificationSettings], Meta(max_length=CHANNEL_OVERRIDES_MAX)]
        | UnsetType
    ) = UNSET
    """Changes to the settings of private channels, by channel ID."""


class UpdateUserGuildSettings(Struct, kw_only=True):
    """Changes to the settings of a guild; absent fields keep their value, and unknown fields are ignored."""

    message_notifications: NotificationLevel | None | UnsetType = UNSET
    """Which messages notify; null or 3 for the default of the guild."""
    suppress_everyone: bool | UnsetType = UNSET
    """Whether mentions of @everyone and @here do not notify."""
    suppress_roles: bool | UnsetType = UNSET
    """Whether mentions of roles do not notify."""
    muted: bool | UnsetType = UNSET
    """Whether the guild is muted; without `mute_config`, the mute has no end."""
    mute_config: UpdateMuteConfig | None | UnsetType = UNSET
    """End or length of the mute; null for a mute without an end. Ignored if the guild is not muted."""
    mobile_push: bool | UnsetType = UNSET
    """Whether messages of the guild are sent as push notifications."""
    channel_overrides: (
        Annotated[dict[ChannelId, UpdateChannelNotificationSettings], Meta(max_length=CHANNEL_OVERRIDES_MAX)]
        | UnsetType
    ) = UNSET
    """Changes to the settings of channels, categories and threads, by channel ID."""


USER_GUILD_SETTINGS_UPDATE = Event(
    "USER_GUILD_SETTINGS_UPDATE",
    UserGuildSettings,
    "Sent to the user's own clients, and not to games, when notification settings change.",
)

UPDATE_USER_GUILD_SETTINGS = Operation(
    "PATCH",
    "/users/@me/guilds/{guild_id}/settings",
    body=UpdateUserGuildSettings,
    result=UserGuildSettings,
    auth=Auth.USER,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.INVALID_FORM_BODY),
    emits=(USER_GUILD_SETTINGS_UPDATE,),
)

UPDATE_PRIVATE_CHANNEL_SETTINGS = Operation(
    "PATCH",
    "/users/@me/guilds/@me/settings",
    body=UpdatePrivateChannelSettings,
    result=UserGuildSettings,
    auth=Auth.USER,
    raises=(errors.INVALID_FORM_BODY,),
    emits=(USER_GUILD_SETTINGS_UPDATE,),
)
