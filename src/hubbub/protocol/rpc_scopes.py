"""Commands and events of local RPC and activity RPC, and the scopes that allow them (spec/rpc.md#6, spec/activities.md#7)."""

from enum import StrEnum
from typing import Final

from hubbub.protocol.enums import Scope


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
    "AUTHORIZE": (),
    "AUTHENTICATE": (),
    "SUBSCRIBE": (),
    "UNSUBSCRIBE": (),
    "GET_GUILD": _one_of(_RPC),
    "GET_GUILDS": _one_of(_RPC),
    "GET_CHANNELS": _one_of(_RPC),
    "GET_CHANNEL": _one_of(_RPC, Scope.GUILDS.value, Scope.GUILDS_CHANNELS_READ.value),
    "GET_CHANNEL_PERMISSIONS": _one_of(Scope.GUILDS_MEMBERS_READ.value, Scope.GUILDS_CHANNELS_READ.value),
    "CREATE_CHANNEL_INVITE": _one_of(_RPC),
    "GET_RELATIONSHIPS": _one_of(Scope.RELATIONSHIPS_READ.value),
    "GET_USER": _one_of(_LOCAL, PseudoScope.EMBEDDED_APP.value),
    "GET_VOICE_SETTINGS": _one_of(_RPC, _VOICE_READ),
    "SET_VOICE_SETTINGS": _one_of(_RPC, _VOICE_WRITE),
    "SET_VOICE_SETTINGS_2": _one_of(_LOCAL),
    "SET_USER_VOICE_SETTINGS": _one_of(_RPC, _VOICE_WRITE),
    "SET_USER_VOICE_SETTINGS_2": _one_of(_LOCAL),
    "PUSH_TO_TALK": _one_of((_RPC, _VOICE_WRITE)),
    "GET_SELECTED_VOICE_CHANNEL": _one_of(_RPC, _VOICE_READ),
    "SELECT_VOICE_CHANNEL": _one_of(_RPC),
    "SELECT_TEXT_CHANNEL": _one_of(_RPC),
    "SET_ACTIVITY": _one_of(_RPC, Scope.RPC_ACTIVITIES_WRITE.value, _LOCAL),
    "SEND_ACTIVITY_JOIN_INVITE": _one_of(_RPC, _LOCAL),
    "CLOSE_ACTIVITY_REQUEST": _one_of(_RPC, _LOCAL),
    "CLOSE_ACTIVITY_JOIN_REQUEST": _one_of(_RPC, _LOCAL),
    "ACTIVITY_INVITE_USER": _one_of(_RPC, _LOCAL),
    "ACCEPT_ACTIVITY_INVITE": _one_of(_RPC, _LOCAL, _PRIVATE),
    "SET_CERTIFIED_DEVICES": _one_of(_RPC, _LOCAL),
    "GET_SOUNDBOARD_SOUNDS": _one_of(_RPC, _LOCAL),
    "PLAY_SOUNDBOARD_SOUND": _one_of((_RPC, _VOICE_WRITE)),
    "OPEN_INVITE_DIALOG": _one_of(_RPC, _LOCAL, _AUTHENTICATED),
    "INITIATE_IMAGE_UPLOAD": _one_of(_RPC, _LOCAL, _AUTHENTICATED),
    "START_PURCHASE": _one_of(_AUTHENTICATED, _LOCAL),
    "GET_SKUS": _one_of(_AUTHENTICATED, _LOCAL),
    "GET_ENTITLEMENTS": _one_of(_AUTHENTICATED, _LOCAL),
    "GET_SKUS_EMBEDDED": _one_of(_AUTHENTICATED, _LOCAL),
    "GET_ENTITLEMENTS_EMBEDDED": _one_of(_AUTHENTICATED, _LOCAL),
    "VALIDATE_APPLICATION": _one_of(_LOCAL),
    "GET_ENTITLEMENT_TICKET": _one_of(_LOCAL),
    "GET_APPLICATION_TICKET": _one_of(_LOCAL),
    "DEEP_LINK": _one_of(_LOCAL),
    "OPEN_MESSAGE": _one_of(_LOCAL),
    "GET_IMAGE": _one_of(_LOCAL),
    "OVERLAY": _one_of(_LOCAL),
    "SET_OVERLAY_LOCKED": _one_of(_LOCAL),
    "OPEN_OVERLAY_ACTIVITY_INVITE": _one_of(_LOCAL),
    "OPEN_OVERLAY_GUILD_INVITE": _one_of(_LOCAL),
    "OPEN_OVERLAY_VOICE_SETTINGS": _one_of(_LOCAL),
    "TOGGLE_VIDEO": _one_of((_RPC, Scope.RPC_VIDEO_WRITE.value)),
    "TOGGLE_SCREENSHARE": _one_of((_RPC, Scope.RPC_SCREENSHARE_WRITE.value)),
    "INVITE_BROWSER": _one_of(_PRIVATE),
    "GUILD_TEMPLATE_BROWSER": _one_of(_PRIVATE),
    "GIFT_CODE_BROWSER": _one_of(_PRIVATE),
    "CONNECTIONS_CALLBACK": _one_of(_PRIVATE),
}
"""Commands and the scopes that they require (spec/rpc.md#6)."""

_ACTIVITY_EVENT: Final = _one_of(_RPC, _LOCAL)
_VOICE_EVENT: Final = _one_of(_RPC, _VOICE_READ)

EVENT_SCOPES: Final[dict[str, ScopeAlternatives]] = {
    "CURRENT_USER_UPDATE": _one_of(_LOCAL, Scope.IDENTIFY.value),
    "CURRENT_GUILD_MEMBER_UPDATE": _one_of((Scope.IDENTIFY.value, Scope.GUILDS_MEMBERS_READ.value)),
    "RELATIONSHIP_UPDATE": _one_of(Scope.RELATIONSHIPS_READ.value),
    "GUILD_STATUS": _one_of(_RPC),
    "GUILD_CREATE": _one_of(_RPC),
    "CHANNEL_CREATE": _one_of(_RPC),
    "VOICE_CHANNEL_SELECT": _one_of(_RPC),
    "VOICE_STATE_CREATE": _VOICE_EVENT,
    "VOICE_STATE_UPDATE": _VOICE_EVENT,
    "VOICE_STATE_DELETE": _VOICE_EVENT,
    "VOICE_SETTINGS_UPDATE": _VOICE_EVENT,
    "VOICE_SETTINGS_UPDATE_2": _one_of(_LOCAL),
    "VOICE_CONNECTION_STATUS": _VOICE_EVENT,
    "SPEAKING_START": _one_of(_RPC, _VOICE_READ, _LOCAL),
    "SPEAKING_STOP": _one_of(_RPC, _VOICE_READ, _LOCAL),
    "MESSAGE_CREATE": _one_of(_RPC),
    "MESSAGE_UPDATE": _one_of(_RPC),
    "MESSAGE_DELETE": _one_of(_RPC),
    "NOTIFICATION_CREATE": _one_of((_RPC, Scope.RPC_NOTIFICATIONS_READ.value)),
    "ACTIVITY_JOIN": _ACTIVITY_EVENT,
    "ACTIVITY_SPECTATE": _ACTIVITY_EVENT,
    "ACTIVITY_JOIN_REQUEST": _ACTIVITY_EVENT,
    "ACTIVITY_INVITE": _ACTIVITY_EVENT,
    "ENTITLEMENT_CREATE": _one_of(_AUTHENTICATED, _LOCAL),
    "ENTITLEMENT_DELETE": _one_of(_AUTHENTICATED, _LOCAL),
    "AUTHORIZE_REQUEST": (),
}
"""Events that can be subscribed to, and the scopes that they require (spec/rpc.md#9)."""

ACTIVITY_COMMAND_SCOPES: Final[dict[str, tuple[str, ...]]] = {
    "AUTHORIZE": (),
    "AUTHENTICATE": (),
    "GET_ACTIVITY_INSTANCE_CONNECTED_PARTICIPANTS": (_AUTHENTICATED,),
    "GET_CHANNEL": (Scope.GUILDS.value,),
    "GET_CHANNEL_PERMISSIONS": (Scope.GUILDS_MEMBERS_READ.value,),
    "GET_RELATIONSHIPS": (Scope.RELATIONSHIPS_READ.value,),
    "GET_USER": (),
    "INVITE_USER_EMBEDDED": (Scope.RELATIONSHIPS_READ.value,),
    "SET_ACTIVITY": (Scope.RPC_ACTIVITIES_WRITE.value,),
    "OPEN_EXTERNAL_LINK": (),
    "OPEN_INVITE_DIALOG": (),
    "OPEN_SHARE_MOMENT_DIALOG": (_AUTHENTICATED,),
    "INITIATE_IMAGE_UPLOAD": (_AUTHENTICATED,),
    "SHARE_LINK": (_AUTHENTICATED,),
    "REQUEST_PROXY_TICKET_REFRESH": (_AUTHENTICATED,),
    "GET_SKUS_EMBEDDED": (_AUTHENTICATED,),
    "GET_ENTITLEMENTS_EMBEDDED": (_AUTHENTICATED,),
    "START_PURCHASE": (_AUTHENTICATED,),
    "USER_SETTINGS_GET_LOCALE": (Scope.IDENTIFY.value,),
    "ENCOURAGE_HW_ACCELERATION": (),
    "SET_CONFIG": (),
    "SET_ORIENTATION_LOCK_STATE": (),
    "GET_PLATFORM_BEHAVIORS": (),
}
"""Commands of an activity in the chat client, and the scopes that they require, all of them (spec/activities.md#7).

They differ from those of local RPC: an activity has neither the pseudo scope `rpc.local` nor the scope `rpc`."""
ACTIVITY_EVENT_SCOPES: Final[dict[str, tuple[str, ...]]] = {
    "ACTIVITY_INSTANCE_PARTICIPANTS_UPDATE": (),
    "ACTIVITY_LAYOUT_MODE_UPDATE": (),
    "ORIENTATION_UPDATE": (),
    "THERMAL_STATE_UPDATE": (),
    "VOICE_STATE_UPDATE": (_VOICE_READ,),
    "SPEAKING_START": (_VOICE_READ,),
    "SPEAKING_STOP": (_VOICE_READ,),
    "CURRENT_USER_UPDATE": (Scope.IDENTIFY.value,),
    "CURRENT_GUILD_MEMBER_UPDATE": (Scope.IDENTIFY.value, Scope.GUILDS_MEMBERS_READ.value),
    "RELATIONSHIP_UPDATE": (Scope.RELATIONSHIPS_READ.value,),
    "ENTITLEMENT_CREATE": (_AUTHENTICATED,),
    "ACTIVITY_JOIN": (),
}
"""Events that an activity can subscribe to, and the scopes that they require, all of them (spec/activities.md#7)."""

SUBSCRIPTION_ARGUMENTS: Final[dict[str, str]] = {
    "CURRENT_GUILD_MEMBER_UPDATE": "guild_id",
    "GUILD_STATUS": "guild_id",
    "VOICE_STATE_CREATE": "channel_id",
    "VOICE_STATE_UPDATE": "channel_id",
    "VOICE_STATE_DELETE": "channel_id",
    "SPEAKING_START": "channel_id",
    "SPEAKING_STOP": "channel_id",
    "MESSAGE_CREATE": "channel_id",
    "MESSAGE_UPDATE": "channel_id",
    "MESSAGE_DELETE": "channel_id",
}
"""Events with a subscription per guild or channel, and the argument that identifies it."""


def is_allowed(required_scopes: ScopeAlternatives, scopes: frozenset[str]) -> bool:
    """Return whether a connection with these scopes may use a command or event with these `required_scopes`."""
    return not required_scopes or any(alternative <= scopes for alternative in required_scopes)
