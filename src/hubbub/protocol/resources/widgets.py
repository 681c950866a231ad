"""Widgets: what a guild shows on other people's pages."""

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, WidgetStyle
from hubbub.protocol.ids import ChannelId, GuildId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import guilds

WIDGET_MEMBERS_MAX: Final = 100


class WidgetSettings(Struct, kw_only=True):
    """Whether a guild has a widget, and where its invite leads."""

    enabled: bool
    channel_id: ChannelId | None


class UpdateWidgetSettings(Struct, kw_only=True):
    """What may change about a widget."""

    enabled: bool | None | UnsetType = UNSET
    channel_id: ChannelId | None | UnsetType = UNSET


class WidgetChannel(Struct, kw_only=True):
    """A voice channel that everybody may see."""

    id: ChannelId
    name: str
    position: int


class WidgetActivity(Struct, kw_only=True):
    """What somebody does."""

    name: str


class WidgetMember(Struct, kw_only=True):
    """Somebody who is online, without who it is."""

    id: str
    """A number within this answer."""
    username: str
    discriminator: str = "0000"
    avatar: None = None
    status: str
    avatar_url: str
    activity: WidgetActivity | UnsetType = UNSET
    channel_id: ChannelId | UnsetType = UNSET
    """The voice channel they are in, and how:"""
    deaf: bool | UnsetType = UNSET
    mute: bool | UnsetType = UNSET
    self_deaf: bool | UnsetType = UNSET
    self_mute: bool | UnsetType = UNSET
    suppress: bool | UnsetType = UNSET


class Widget(Struct, kw_only=True):
    """A guild as strangers see it on a page."""

    id: GuildId
    name: str
    instant_invite: str | None
    channels: list[WidgetChannel]
    members: list[WidgetMember]
    presence_count: int


class GetWidgetPicture(Struct, kw_only=True):
    """How the picture looks."""

    style: WidgetStyle = WidgetStyle.SHIELD


_MANAGED: Final = (errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED)

GET_GUILD_WIDGET_SETTINGS = Operation(
    "GET",
    "/guilds/{guild_id}/widget",
    result=WidgetSettings,
    needs=Permissions.MANAGE_GUILD,
    raises=_MANAGED,
)

UPDATE_GUILD_WIDGET_SETTINGS = Operation(
    "PATCH",
    "/guilds/{guild_id}/widget",
    body=UpdateWidgetSettings,
    result=WidgetSettings,
    needs=Permissions.MANAGE_GUILD,
    raises=(*_MANAGED, errors.UNKNOWN_CHANNEL, errors.WRONG_CHANNEL_TYPE, errors.MAX_WIDGET_UPDATES),
    emits=(guilds.GUILD_UPDATE,),
    limit=RateLimit(1, 10.0, code=errors.MAX_WIDGET_UPDATES),
    audits=(AuditLogAction.GUILD_UPDATE,),
)

# Makes an invite where there is none yet, which is told with INVITE_CREATE.
GET_GUILD_WIDGET = Operation(
    "GET",
    "/guilds/{guild_id}/widget.json",
    result=Widget,
    auth=Auth.BOT | Auth.USER | Auth.ANYONE,
    raises=(errors.UNKNOWN_GUILD, errors.WIDGET_DISABLED),
)

GET_GUILD_WIDGET_PNG = Operation(
    "GET",
    "/guilds/{guild_id}/widget.png",
    query=GetWidgetPicture,
    result=bytes,
    auth=Auth.BOT | Auth.USER | Auth.ANYONE,
    raises=(errors.UNKNOWN_GUILD, errors.WIDGET_DISABLED),
    media_type="image/png",
)
