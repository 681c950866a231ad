"""Widgets: the public summary of a guild for other websites, as JSON and as an image."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, WidgetStyle
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds

WIDGET_MEMBERS_MAX: Final = 100
"""Maximum number of members in a widget."""


class WidgetSettings(Struct, kw_only=True):
    """The widget settings of a guild."""

    enabled: bool
    """Whether the widget is enabled."""
    channel_id: ChannelId | None
    """ID of the channel the widget's invite leads to; null for no invite."""


class UpdateWidgetSettings(Struct, kw_only=True):
    """Changes to the widget settings; absent fields keep their value."""

    enabled: bool | None | UnsetType = UNSET
    """Whether the widget is enabled; null keeps the value."""
    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel the widget's invite leads to; null for no invite."""


class WidgetChannel(Struct, kw_only=True):
    """A voice channel that @everyone can view and connect to."""

    id: ChannelId
    """ID of the channel."""
    name: str
    """Name of the channel."""
    position: int
    """Position of the channel."""


class WidgetActivity(Struct, kw_only=True):
    """The activity of a member."""

    name: str
    """Name of the activity."""


class WidgetMember(Struct, kw_only=True):
    """An online member, without their user ID and avatar."""

    id: str
    """Number of the member within the response."""
    username: str
    """Display name of the member."""
    discriminator: str = "0000"
    """Always "0000"."""
    avatar: None = None
    """Always null."""
    status: str
    """Status of the member: `online`, `idle` or `dnd`."""
    avatar_url: str
    """URL of a default avatar."""
    activity: WidgetActivity | UnsetType = UNSET
    """Activity of the member; absent if there is none."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the voice channel the member is in; absent if they are in none of the widget's channels."""
    deaf: bool | UnsetType = UNSET
    """Whether the member is deafened by the guild; absent without `channel_id`."""
    mute: bool | UnsetType = UNSET
    """Whether the member is muted by the guild; absent without `channel_id`."""
    self_deaf: bool | UnsetType = UNSET
    """Whether the member deafened themselves; absent without `channel_id`."""
    self_mute: bool | UnsetType = UNSET
    """Whether the member muted themselves; absent without `channel_id`."""
    suppress: bool | UnsetType = UNSET
    """Whether the member is in the audience of a stage; absent without `channel_id`, otherwise false."""


class Widget(Struct, kw_only=True):
    """The public summary of a guild."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    instant_invite: str | None
    """URL of an invite to the guild; null if no channel is set, or if the guild cannot have another invite."""
    channels: list[WidgetChannel]
    """Voice channels that @everyone can view and connect to."""
    members: list[WidgetMember]
    """At most 100 of the members who are online."""
    presence_count: int
    """Number of members who are online."""


class GetWidgetImage(Struct, kw_only=True):
    """The appearance of the widget image."""

    style: WidgetStyle = WidgetStyle.SHIELD
    """Style of the image."""


_MANAGE_ERRORS: Final = (
    errors.UNKNOWN_GUILD,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.TWO_FACTOR_REQUIRED,
)

GET_GUILD_WIDGET_SETTINGS = Operation(
    "GET",
    "/guilds/{guild_id}/widget",
    result=WidgetSettings,
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGE_ERRORS,
)

UPDATE_GUILD_WIDGET_SETTINGS = Operation(
    "PATCH",
    "/guilds/{guild_id}/widget",
    body=UpdateWidgetSettings,
    result=WidgetSettings,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGE_ERRORS, errors.UNKNOWN_CHANNEL, errors.WRONG_CHANNEL_TYPE, errors.MAX_WIDGET_UPDATES),
    emits=(guilds.GUILD_UPDATE,),
    limit=RateLimit(1, 10.0, code=errors.MAX_WIDGET_UPDATES),
    audits=(AuditLogAction.GUILD_UPDATE,),
)

# The operation creates an invite if the widget has none, which emits INVITE_CREATE.
GET_GUILD_WIDGET = Operation(
    "GET",
    "/guilds/{guild_id}/widget.json",
    result=Widget,
    auth=Auth.BOT | Auth.USER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.WIDGET_DISABLED),
)

GET_GUILD_WIDGET_PNG = Operation(
    "GET",
    "/guilds/{guild_id}/widget.png",
    query=GetWidgetImage,
    result=bytes,
    auth=Auth.BOT | Auth.USER | Auth.ANONYMOUS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.WIDGET_DISABLED),
    media_type="image/png",
)
