"""Commands and events of local RPC and activity RPC, and the scopes that allow them (spec/rpc.md#6, spec/activities.md#7)."""

from enum import StrEnum
from typing import Final

from hubbub.protocol.enums import Scope
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent


class PseudoScope(StrEnum):
    """Scope that the agent assigns to a connection, in addition to the scopes of its token (spec/rpc.md#6)."""

    LOCAL = "rpc.local"
    """The connection has no browser `Origin`."""
    AUTHENTICATED = "rpc.authenticated"
    """The program authenticated with an access token."""
    EMBEDDED_APP = "rpc.embedded_app"
    """The program is an embedded activity."""
    PRIVATE = "rpc.private"
    """The connection comes from the platform's own web page."""


ScopeAlternatives = tuple[frozenset[str], ...]
"""Alternative sets of scopes, one of which is required in full; empty if no scope is required."""


def _one_of(*alternatives: str | tuple[str, ...]) -> ScopeAlternatives:
    return tuple(frozenset((scopes,) if isinstance(scopes, str) else scopes) for scopes in alternatives)


_RPC: Final = Scope.RPC.value
_LOCAL: Final = PseudoScope.LOCAL.value
_AUTHENTICATED: Final = PseudoScope.AUTHENTICATED.value
_PRIVATE: Final = PseudoScope.PRIVATE.value
_VOICE_READ: Final = Scope.RPC_VOICE_READ.value
_VOICE_WRITE: Final = Scope.RPC_VOICE_WRITE.value

COMMAND_SCOPES: Final[dict[str, ScopeAlternatives]] = {
    RpcCommand.AUTHORIZE: (),
    RpcCommand.AUTHENTICATE: (),
    RpcCommand.SUBSCRIBE: (),
    RpcCommand.UNSUBSCRIBE: (),
    RpcCommand.GET_GUILD: _one_of(_RPC),
    RpcCommand.GET_GUILDS: _one_of(_RPC),
    RpcCommand.GET_CHANNELS: _one_of(_RPC),
    RpcCommand.GET_CHANNEL: _one_of(_RPC, Scope.GUILDS.value, Scope.GUILDS_CHANNELS_READ.value),
    RpcCommand.GET_CHANNEL_PERMISSIONS: _one_of(Scope.GUILDS_MEMBERS_READ.value, Scope.GUILDS_CHANNELS_READ.value),
    RpcCommand.CREATE_CHANNEL_INVITE: _one_of(_RPC),
    RpcCommand.GET_RELATIONSHIPS: _one_of(Scope.RELATIONSHIPS_READ.value),
    RpcCommand.GET_USER: _one_of(_LOCAL, PseudoScope.EMBEDDED_APP.value),
    RpcCommand.GET_VOICE_SETTINGS: _one_of(_RPC, _VOICE_READ),
    RpcCommand.SET_VOICE_SETTINGS: _one_of(_RPC, _VOICE_WRITE),
    RpcCommand.SET_VOICE_SETTINGS_2: _one_of(_LOCAL),
    RpcCommand.SET_USER_VOICE_SETTINGS: _one_of(_RPC, _VOICE_WRITE),
    RpcCommand.SET_USER_VOICE_SETTINGS_2: _one_of(_LOCAL),
    RpcCommand.PUSH_TO_TALK: _one_of((_RPC, _VOICE_WRITE)),
    RpcCommand.GET_SELECTED_VOICE_CHANNEL: _one_of(_RPC, _VOICE_READ),
    RpcCommand.SELECT_VOICE_CHANNEL: _one_of(_RPC),
    RpcCommand.SELECT_TEXT_CHANNEL: _one_of(_RPC),
    RpcCommand.SET_ACTIVITY: _one_of(_RPC, Scope.RPC_ACTIVITIES_WRITE.value, _LOCAL),
    RpcCommand.SEND_ACTIVITY_JOIN_INVITE: _one_of(_RPC, _LOCAL),
    RpcCommand.CLOSE_ACTIVITY_REQUEST: _one_of(_RPC, _LOCAL),
    RpcCommand.CLOSE_ACTIVITY_JOIN_REQUEST: _one_of(_RPC, _LOCAL),
    RpcCommand.ACTIVITY_INVITE_USER: _one_of(_RPC, _LOCAL),
    RpcCommand.ACCEPT_ACTIVITY_INVITE: _one_of(_RPC, _LOCAL, _PRIVATE),
    RpcCommand.SET_CERTIFIED_DEVICES: _one_of(_RPC, _LOCAL),
    RpcCommand.GET_SOUNDBOARD_SOUNDS: _one_of(_RPC, _LOCAL),
    RpcCommand.PLAY_SOUNDBOARD_SOUND: _one_of((_RPC, _VOICE_WRITE)),
    RpcCommand.OPEN_INVITE_DIALOG: _one_of(_RPC, _LOCAL, _AUTHENTICATED),
    RpcCommand.INITIATE_IMAGE_UPLOAD: _one_of(_RPC, _LOCAL, _AUTHENTICATED),
    RpcCommand.START_PURCHASE: _one_of(_AUTHENTICATED, _LOCAL),
    RpcCommand.GET_SKUS: _one_of(_AUTHENTICATED, _LOCAL),
    RpcCommand.GET_ENTITLEMENTS: _one_of(_AUTHENTICATED, _LOCAL),
    RpcCommand.GET_SKUS_EMBEDDED: _one_of(_AUTHENTICATED, _LOCAL),
    RpcCommand.GET_ENTITLEMENTS_EMBEDDED: _one_of(_AUTHENTICATED, _LOCAL),
    RpcCommand.VALIDATE_APPLICATION: _one_of(_LOCAL),
    RpcCommand.GET_ENTITLEMENT_TICKET: _one_of(_LOCAL),
    RpcCommand.GET_APPLICATION_TICKET: _one_of(_LOCAL),
    RpcCommand.DEEP_LINK: _one_of(_LOCAL),
    RpcCommand.OPEN_MESSAGE: _one_of(_LOCAL),
    RpcCommand.GET_IMAGE: _one_of(_LOCAL),
    RpcCommand.OVERLAY: _one_of(_LOCAL),
    RpcCommand.SET_OVERLAY_LOCKED: _one_of(_LOCAL),
    RpcCommand.OPEN_OVERLAY_ACTIVITY_INVITE: _one_of(_LOCAL),
    RpcCommand.OPEN_OVERLAY_GUILD_INVITE: _one_of(_LOCAL),
    RpcCommand.OPEN_OVERLAY_VOICE_SETTINGS: _one_of(_LOCAL),
    RpcCommand.TOGGLE_VIDEO: _one_of((_RPC, Scope.RPC_VIDEO_WRITE.value)),
    RpcCommand.TOGGLE_SCREENSHARE: _one_of((_RPC, Scope.RPC_SCREENSHARE_WRITE.value)),
    RpcCommand.INVITE_BROWSER: _one_of(_PRIVATE),
    RpcCommand.GUILD_TEMPLATE_BROWSER: _one_of(_PRIVATE),
    RpcCommand.GIFT_CODE_BROWSER: _one_of(_PRIVATE),
    RpcCommand.CONNECTIONS_CALLBACK: _one_of(_PRIVATE),
}
"""Commands and the scopes that they require (spec/rpc.md#6)."""

_ACTIVITY_EVENT: Final = _one_of(_RPC, _LOCAL)
_VOICE_EVENT: Final = _one_of(_RPC, _VOICE_READ)

EVENT_SCOPES: Final[dict[str, ScopeAlternatives]] = {
    RpcEvent.CURRENT_USER_UPDATE: _one_of(_LOCAL, Scope.IDENTIFY.value),
    RpcEvent.CURRENT_GUILD_MEMBER_UPDATE: _one_of((Scope.IDENTIFY.value, Scope.GUILDS_MEMBERS_READ.value)),
    RpcEvent.RELATIONSHIP_UPDATE: _one_of(Scope.RELATIONSHIPS_READ.value),
    RpcEvent.GUILD_STATUS: _one_of(_RPC),
    RpcEvent.GUILD_CREATE: _one_of(_RPC),
    RpcEvent.CHANNEL_CREATE: _one_of(_RPC),
    RpcEvent.VOICE_CHANNEL_SELECT: _one_of(_RPC),
    RpcEvent.VOICE_STATE_CREATE: _VOICE_EVENT,
    RpcEvent.VOICE_STATE_UPDATE: _VOICE_EVENT,
    RpcEvent.VOICE_STATE_DELETE: _VOICE_EVENT,
    RpcEvent.VOICE_SETTINGS_UPDATE: _VOICE_EVENT,
    RpcEvent.VOICE_SETTINGS_UPDATE_2: _one_of(_LOCAL),
    RpcEvent.VOICE_CONNECTION_STATUS: _VOICE_EVENT,
    RpcEvent.SPEAKING_START: _one_of(_RPC, _VOICE_READ, _LOCAL),
    RpcEvent.SPEAKING_STOP: _one_of(_RPC, _VOICE_READ, _LOCAL),
    RpcEvent.MESSAGE_CREATE: _one_of(_RPC),
    RpcEvent.MESSAGE_UPDATE: _one_of(_RPC),
    RpcEvent.MESSAGE_DELETE: _one_of(_RPC),
    RpcEvent.NOTIFICATION_CREATE: _one_of((_RPC, Scope.RPC_NOTIFICATIONS_READ.value)),
    RpcEvent.ACTIVITY_JOIN: _ACTIVITY_EVENT,
    RpcEvent.ACTIVITY_SPECTATE: _ACTIVITY_EVENT,
    RpcEvent.ACTIVITY_JOIN_REQUEST: _ACTIVITY_EVENT,
    RpcEvent.ACTIVITY_INVITE: _ACTIVITY_EVENT,
    RpcEvent.ENTITLEMENT_CREATE: _one_of(_AUTHENTICATED, _LOCAL),
    RpcEvent.ENTITLEMENT_DELETE: _one_of(_AUTHENTICATED, _LOCAL),
    RpcEvent.AUTHORIZE_REQUEST: (),
}
"""Events that can be subscribed to, and the scopes that they require (spec/rpc.md#9)."""

ACTIVITY_COMMAND_SCOPES: Final[dict[str, tuple[str, ...]]] = {
    RpcCommand.AUTHORIZE: (),
    RpcCommand.AUTHENTICATE: (),
    RpcCommand.GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS: (_AUTHENTICATED,),
    RpcCommand.GET_CHANNEL: (Scope.GUILDS.value,),
    RpcCommand.GET_CHANNEL_PERMISSIONS: (Scope.GUILDS_MEMBERS_READ.value,),
    RpcCommand.GET_RELATIONSHIPS: (Scope.RELATIONSHIPS_READ.value,),
    RpcCommand.GET_USER: (),
    RpcCommand.INVITE_USER_EMBEDDED: (Scope.RELATIONSHIPS_READ.value,),
    RpcCommand.SET_ACTIVITY: (Scope.RPC_ACTIVITIES_WRITE.value,),
    RpcCommand.OPEN_EXTERNAL_LINK: (),
    RpcCommand.OPEN_INVITE_DIALOG: (),
    RpcCommand.OPEN_SHARE_MOMENT_DIALOG: (_AUTHENTICATED,),
    RpcCommand.INITIATE_IMAGE_UPLOAD: (_AUTHENTICATED,),
    RpcCommand.SHARE_LINK: (_AUTHENTICATED,),
    RpcCommand.REQUEST_PROXY_TICKET_REFRESH: (_AUTHENTICATED,),
    RpcCommand.GET_SKUS_EMBEDDED: (_AUTHENTICATED,),
    RpcCommand.GET_ENTITLEMENTS_EMBEDDED: (_AUTHENTICATED,),
    RpcCommand.START_PURCHASE: (_AUTHENTICATED,),
    RpcCommand.USER_SETTINGS_GET_LOCALE: (Scope.IDENTIFY.value,),
    RpcCommand.ENCOURAGE_HW_ACCELERATION: (),
    RpcCommand.SET_CONFIG: (),
    RpcCommand.SET_ORIENTATION_LOCK_STATE: (),
    RpcCommand.GET_PLATFORM_BEHAVIORS: (),
}
"""Commands of an activity in the chat client, and the scopes that they require, all of them (spec/activities.md#7).

They differ from those of local RPC: an activity has neither the pseudo scope `rpc.local` nor the scope `rpc`."""
ACTIVITY_EVENT_SCOPES: Final[dict[str, tuple[str, ...]]] = {
    RpcEvent.ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE: (),
    RpcEvent.ACTIVITY_LAYOUT_MODE_UPDATE: (),
    RpcEvent.ORIENTATION_UPDATE: (),
    RpcEvent.THERMAL_STATE_UPDATE: (),
    RpcEvent.VOICE_STATE_UPDATE: (_VOICE_READ,),
    RpcEvent.SPEAKING_START: (_VOICE_READ,),
    RpcEvent.SPEAKING_STOP: (_VOICE_READ,),
    RpcEvent.CURRENT_USER_UPDATE: (Scope.IDENTIFY.value,),
    RpcEvent.CURRENT_GUILD_MEMBER_UPDATE: (Scope.IDENTIFY.value, Scope.GUILDS_MEMBERS_READ.value),
    RpcEvent.RELATIONSHIP_UPDATE: (Scope.RELATIONSHIPS_READ.value,),
    RpcEvent.ENTITLEMENT_CREATE: (_AUTHENTICATED,),
    RpcEvent.ACTIVITY_JOIN: (),
}
"""Events that an activity can subscribe to, and the scopes that they require, all of them (spec/activities.md#7)."""

SUBSCRIPTION_ARGUMENTS: Final[dict[str, str]] = {
    RpcEvent.CURRENT_GUILD_MEMBER_UPDATE: "guild_id",
    RpcEvent.GUILD_STATUS: "guild_id",
    RpcEvent.VOICE_STATE_CREATE: "channel_id",
    RpcEvent.VOICE_STATE_UPDATE: "channel_id",
    RpcEvent.VOICE_STATE_DELETE: "channel_id",
    RpcEvent.SPEAKING_START: "channel_id",
    RpcEvent.SPEAKING_STOP: "channel_id",
    RpcEvent.MESSAGE_CREATE: "channel_id",
    RpcEvent.MESSAGE_UPDATE: "channel_id",
    RpcEvent.MESSAGE_DELETE: "channel_id",
}
"""Events with a subscription per guild or channel, and the argument that identifies it."""


def is_allowed(required_scopes: ScopeAlternatives, scopes: frozenset[str]) -> bool:
    """Return whether a connection with these scopes may use a command or event with these `required_scopes`."""
    return not required_scopes or any(alternative <= scopes for alternative in required_scopes)
