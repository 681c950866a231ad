"""Local RPC: commands and events, and the scopes that allow them (spec/rpc.md#6, 9)."""

from enum import StrEnum
from typing import Final

from hubbub.protocol.enums import Scope


class PseudoScope(StrEnum):
    """Scope that a connection has by its origin, in addition to the scopes of its token (spec/rpc.md#6)."""

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


def _any(*alternatives: str | tuple[str, ...]) -> ScopeAlternatives:
    return tuple(frozenset((each,) if isinstance(each, str) else each) for each in alternatives)


_RPC: Final = Scope.RPC.value
_LOCAL: Final = PseudoScope.LOCAL.value
_AUTHENTICATED: Final = PseudoScope.AUTHENTICATED.value
_PRIVATE: Final = PseudoScope.PRIVATE.value
_VOICE_READ: Final = Scope.RPC_VOICE_READ.value
_VOICE_WRITE: Final = Scope.RPC_VOICE_WRITE.value

COMMANDS: Final[dict[str, ScopeAlternatives]] = {
    "AUTHORIZE": (),
    "AUTHENTICATE": (),
    "SUBSCRIBE": (),
    "UNSUBSCRIBE": (),
    "GET_GUILD": _any(_RPC),
    "GET_GUILDS": _any(_RPC),
    "GET_CHANNELS": _any(_RPC),
    "GET_CHANNEL": _any(_RPC, Scope.GUILDS.value, Scope.GUILDS_CHANNELS_READ.value),
    "GET_CHANNEL_PERMISSIONS": _any(Scope.GUILDS_MEMBERS_READ.value, Scope.GUILDS_CHANNELS_READ.value),
    "CREATE_CHANNEL_INVITE": _any(_RPC),
    "GET_RELATIONSHIPS": _any(Scope.RELATIONSHIPS_READ.value),
    "GET_USER": _any(_LOCAL, PseudoScope.EMBEDDED_APP.value),
    "GET_VOICE_SETTINGS": _any(_RPC, _VOICE_READ),
    "SET_VOICE_SETTINGS": _any(_RPC, _VOICE_WRITE),
    "SET_VOICE_SETTINGS_2": _any(_LOCAL),
    "SET_USER_VOICE_SETTINGS": _any(_RPC, _VOICE_WRITE),
    "SET_USER_VOICE_SETTINGS_2": _any(_LOCAL),
    "PUSH_TO_TALK": _any((_RPC, _VOICE_WRITE)),
    "GET_SELECTED_VOICE_CHANNEL": _any(_RPC, _VOICE_READ),
    "SELECT_VOICE_CHANNEL": _any(_RPC),
    "SELECT_TEXT_CHANNEL": _any(_RPC),
    "SET_ACTIVITY": _any(_RPC, Scope.RPC_ACTIVITIES_WRITE.value, _LOCAL),
    "SEND_ACTIVITY_JOIN_INVITE": _any(_RPC, _LOCAL),
    "CLOSE_ACTIVITY_REQUEST": _any(_RPC, _LOCAL),
    "CLOSE_ACTIVITY_JOIN_REQUEST": _any(_RPC, _LOCAL),
    "ACTIVITY_INVITE_USER": _any(_RPC, _LOCAL),
    "ACCEPT_ACTIVITY_INVITE": _any(_RPC, _LOCAL),
    "SET_CERTIFIED_DEVICES": _any(_RPC, _LOCAL),
    "GET_SOUNDBOARD_SOUNDS": _any(_RPC, _LOCAL),
    "PLAY_SOUNDBOARD_SOUND": _any((_RPC, _VOICE_WRITE)),
    "OPEN_INVITE_DIALOG": _any(_RPC, _LOCAL, _AUTHENTICATED),
    "INITIATE_IMAGE_UPLOAD": _any(_RPC, _LOCAL, _AUTHENTICATED),
    "START_PURCHASE": _any(_AUTHENTICATED, _LOCAL),
    "GET_SKUS": _any(_AUTHENTICATED, _LOCAL),
    "GET_ENTITLEMENTS": _any(_AUTHENTICATED, _LOCAL),
    "GET_SKUS_EMBEDDED": _any(_AUTHENTICATED, _LOCAL),
    "GET_ENTITLEMENTS_EMBEDDED": _any(_AUTHENTICATED, _LOCAL),
    "VALIDATE_APPLICATION": _any(_LOCAL),
    "GET_ENTITLEMENT_TICKET": _any(_LOCAL),
    "GET_APPLICATION_TICKET": _any(_LOCAL),
    "DEEP_LINK": _any(_LOCAL),
    "OPEN_MESSAGE": _any(_LOCAL),
    "GET_IMAGE": _any(_LOCAL),
    "OVERLAY": _any(_LOCAL),
    "SET_OVERLAY_LOCKED": _any(_LOCAL),
    "OPEN_OVERLAY_ACTIVITY_INVITE": _any(_LOCAL),
    "OPEN_OVERLAY_GUILD_INVITE": _any(_LOCAL),
    "OPEN_OVERLAY_VOICE_SETTINGS": _any(_LOCAL),
    "TOGGLE_VIDEO": _any((_RPC, Scope.RPC_VIDEO_WRITE.value)),
    "TOGGLE_SCREENSHARE": _any((_RPC, Scope.RPC_SCREENSHARE_WRITE.value)),
    "INVITE_BROWSER": _any(_PRIVATE),
    "GUILD_TEMPLATE_BROWSER": _any(_PRIVATE),
    "GIFT_CODE_BROWSER": _any(_PRIVATE),
    "CONNECTIONS_CALLBACK": _any(_PRIVATE),
}
"""Commands and the scopes that they require (spec/rpc.md#6)."""

_ACTIVITY_EVENT: Final = _any(_RPC, _LOCAL)
_VOICE_EVENT: Final = _any(_RPC, _VOICE_READ)

EVENTS: Final[dict[str, ScopeAlternatives]] = {
    "CURRENT_USER_UPDATE": _any(_LOCAL, Scope.IDENTIFY.value),
    "CURRENT_GUILD_MEMBER_UPDATE": _any((Scope.IDENTIFY.value, Scope.GUILDS_MEMBERS_READ.value)),
    "RELATIONSHIP_UPDATE": _any(Scope.RELATIONSHIPS_READ.value),
    "GUILD_STATUS": _any(_RPC),
    "GUILD_CREATE": _any(_RPC),
    "CHANNEL_CREATE": _any(_RPC),
    "VOICE_CHANNEL_SELECT": _any(_RPC),
    "VOICE_STATE_CREATE": _VOICE_EVENT,
    "VOICE_STATE_UPDATE": _VOICE_EVENT,
    "VOICE_STATE_DELETE": _VOICE_EVENT,
    "VOICE_SETTINGS_UPDATE": _VOICE_EVENT,
    "VOICE_SETTINGS_UPDATE_2": _any(_LOCAL),
    "VOICE_CONNECTION_STATUS": _VOICE_EVENT,
    "SPEAKING_START": _any(_RPC, _VOICE_READ, _LOCAL),
    "SPEAKING_STOP": _any(_RPC, _VOICE_READ, _LOCAL),
    "MESSAGE_CREATE": _any(_RPC),
    "MESSAGE_UPDATE": _any(_RPC),
    "MESSAGE_DELETE": _any(_RPC),
    "NOTIFICATION_CREATE": _any((_RPC, Scope.RPC_NOTIFICATIONS_READ.value)),
    "ACTIVITY_JOIN": _ACTIVITY_EVENT,
    "ACTIVITY_SPECTATE": _ACTIVITY_EVENT,
    "ACTIVITY_JOIN_REQUEST": _ACTIVITY_EVENT,
    "ACTIVITY_INVITE": _ACTIVITY_EVENT,
    "ENTITLEMENT_CREATE": _any(_AUTHENTICATED, _LOCAL),
    "ENTITLEMENT_DELETE": _any(_AUTHENTICATED, _LOCAL),
    "AUTHORIZE_REQUEST": (),
}
"""Events that can be subscribed to, and the scopes that they require (spec/rpc.md#9)."""

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


def allows(needs: ScopeAlternatives, held: frozenset[str]) -> bool:
    """Return whether the held scopes satisfy the requirement."""
    return not needs or any(alternative <= held for alternative in needs)
