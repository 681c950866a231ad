"""OAuth2 scopes: their descriptions for users, the scopes they include, and the approvals that applications need."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hubbub.protocol.enums import Scope
from hubbub.protocol.flags import ApplicationFlags


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """Description and rules of a scope."""

    description: str
    """Access that the scope gives to an application, as shown to the user."""
    requires_approval: bool = False
    """Whether the application needs the operator's approval to request the scope."""
    included_scopes: tuple[str, ...] = ()
    """Other scopes that the scope includes; empty for most scopes."""
    code_only: bool = False
    """Whether the scope is limited to the authorization code grant."""
    client_credentials_only: bool = False
    """Whether the scope is limited to the client credentials grant."""


_PRESENCE_SCOPES: Final = (
    Scope.ACTIVITIES_INVITES_WRITE,
    Scope.ACTIVITIES_READ,
    Scope.ACTIVITIES_WRITE,
    Scope.APPLICATION_IDENTITIES_WRITE,
    Scope.GATEWAY_CONNECT,
    Scope.IDENTIFY,
    Scope.RELATIONSHIPS_READ,
    Scope.RELATIONSHIPS_WRITE,
)
_COMMUNICATION_SCOPES: Final = (
    *_PRESENCE_SCOPES,
    Scope.DM_CHANNELS_READ,
    Scope.DM_CHANNELS_MESSAGES_READ,
    Scope.DM_CHANNELS_MESSAGES_WRITE,
    Scope.GUILDS,
    Scope.GUILDS_CHANNELS_READ,
    Scope.LOBBIES_WRITE,
)

SCOPES: Final[dict[str, ScopeRule]] = {
    Scope.IDENTIFY: ScopeRule("See your username, avatar and banner"),
    Scope.EMAIL: ScopeRule("See your email address"),
    Scope.IDENTIFY_PREMIUM: ScopeRule("See whether you have a premium subscription", requires_approval=True),
    Scope.OPENID: ScopeRule("Sign you in"),
    Scope.CONNECTIONS: ScopeRule("See the accounts you have connected"),
    Scope.GUILDS: ScopeRule("See which guilds you are in"),
    Scope.GUILDS_JOIN: ScopeRule("Add you to guilds"),
    Scope.GUILDS_MEMBERS_READ: ScopeRule("See your nickname, avatar and roles in your guilds"),
    Scope.GUILDS_CHANNELS_READ: ScopeRule("See the channels of your guilds", requires_approval=True),
    Scope.GDM_JOIN: ScopeRule("Add you to group chats"),
    Scope.BOT: ScopeRule("Add its bot to a guild"),
    Scope.APPLICATIONS_COMMANDS: ScopeRule("Add its commands"),
    Scope.APPLICATIONS_COMMANDS_UPDATE: ScopeRule("Change its own commands", client_credentials_only=True),
    Scope.APPLICATIONS_COMMANDS_PERMISSIONS_UPDATE: ScopeRule("Manage who can use its commands in guilds you manage"),
    Scope.APPLICATIONS_BUILDS_READ: ScopeRule("See the builds of your applications"),
    Scope.APPLICATIONS_BUILDS_UPLOAD: ScopeRule("Upload builds of your applications", requires_approval=True),
    Scope.APPLICATIONS_STORE_UPDATE: ScopeRule("Update the store pages of your applications"),
    Scope.APPLICATIONS_ENTITLEMENTS: ScopeRule("See the entitlements of your applications"),
    Scope.ROLE_CONNECTIONS_WRITE: ScopeRule("Share details about you with guilds for linked roles", code_only=True),
    Scope.WEBHOOK_INCOMING: ScopeRule("Add a webhook to a channel you choose", code_only=True),
    Scope.MESSAGES_READ: ScopeRule("Read your messages", requires_approval=True),
    Scope.DM_CHANNELS_READ: ScopeRule("See your direct messages and groups", requires_approval=True),
    Scope.DM_CHANNELS_MESSAGES_READ: ScopeRule("Read your direct messages", requires_approval=True),
    Scope.DM_CHANNELS_MESSAGES_WRITE: ScopeRule("Send direct messages on your behalf", requires_approval=True),
    Scope.RELATIONSHIPS_READ: ScopeRule("See your friends", requires_approval=True),
    Scope.RELATIONSHIPS_WRITE: ScopeRule("Change your friends list", requires_approval=True),
    Scope.ACTIVITIES_READ: ScopeRule("See what you are playing", requires_approval=True),
    Scope.ACTIVITIES_WRITE: ScopeRule("Show others what you are playing", requires_approval=True),
    Scope.ACTIVITIES_INVITES_WRITE: ScopeRule("Invite others to play with you", requires_approval=True),
    Scope.PRESENCES_READ: ScopeRule("See which of your friends are online", requires_approval=True),
    Scope.PRESENCES_WRITE: ScopeRule("Show you as online", requires_approval=True),
    Scope.GATEWAY_CONNECT: ScopeRule("Stay connected on your behalf", requires_approval=True),
    Scope.VOICE: ScopeRule("Join voice channels on your behalf", requires_approval=True),
    Scope.LOBBIES_WRITE: ScopeRule("Create and join lobbies on your behalf", requires_approval=True),
    Scope.APPLICATION_IDENTITIES_WRITE: ScopeRule("Link your game account to this account", requires_approval=True),
    Scope.ACCOUNT_GLOBAL_NAME_UPDATE: ScopeRule("Change your display name", requires_approval=True),
    Scope.PAYMENT_SOURCES_COUNTRY_CODE: ScopeRule("See the country of your payment methods", requires_approval=True),
    Scope.RPC: ScopeRule("Control the chat client on this computer", requires_approval=True),
    Scope.RPC_NOTIFICATIONS_READ: ScopeRule("Read your notifications on this computer", requires_approval=True),
    Scope.RPC_VOICE_READ: ScopeRule("See your voice settings and voice activity", requires_approval=True),
    Scope.RPC_VOICE_WRITE: ScopeRule("Change your voice settings", requires_approval=True),
    Scope.RPC_VIDEO_READ: ScopeRule("See whether your camera is on", requires_approval=True),
    Scope.RPC_VIDEO_WRITE: ScopeRule("Turn your camera on and off", requires_approval=True),
    Scope.RPC_SCREENSHARE_READ: ScopeRule("See whether you are sharing your screen", requires_approval=True),
    Scope.RPC_SCREENSHARE_WRITE: ScopeRule("Share your screen", requires_approval=True),
    Scope.RPC_ACTIVITIES_WRITE: ScopeRule("Change your activity on this computer", requires_approval=True),
    Scope.SDK_SOCIAL_LAYER_PRESENCE: ScopeRule(
        "Show your game to friends, see theirs, and send game invites", included_scopes=_PRESENCE_SCOPES
    ),
    Scope.SDK_SOCIAL_LAYER: ScopeRule(
        "Show your game to friends, see theirs, chat, and use lobbies", included_scopes=_COMMUNICATION_SCOPES
    ),
}
"""All scopes by name."""

ALIASES: Final = {"application.commands": Scope.APPLICATIONS_COMMANDS.value}
"""Alternative names that the specification uses for scopes."""

INSTALL_SCOPES: Final = frozenset({Scope.BOT.value, Scope.APPLICATIONS_COMMANDS.value})
"""Scopes that install the application; a request with only these needs no `response_type`."""
ALWAYS_PROMPTED_SCOPES: Final = frozenset({Scope.BOT.value, Scope.WEBHOOK_INCOMING.value})
"""Scopes that require consent each time, because granting them has an effect each time."""

TESTER_SCOPES: Final = frozenset({Scope.RPC.value, Scope.MESSAGES_READ.value})
"""Scopes that an unapproved application may request from its owner and its testers (spec/rpc.md#6)."""

SOCIAL_LAYER_FLAGS: Final = (
    ApplicationFlags.SOCIAL_LAYER_INTEGRATION | ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED
)
"""Flags of applications that accepted the social layer terms and may request its scopes individually."""


def parse_scopes(text: str) -> tuple[str, ...]:
    """Return the scopes of a space-separated list without duplicates; `bot` adds `applications.commands`."""
    scope_names = [ALIASES.get(name, name) for name in text.split()]
    if Scope.BOT in scope_names:
        scope_names.append(Scope.APPLICATIONS_COMMANDS.value)
    return tuple(dict.fromkeys(scope_names))


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes together with all scopes that they include."""
    expanded_scopes: set[str] = set()
    for scope in scopes:
        expanded_scopes.add(scope)
        if scope in SCOPES:
            expanded_scopes.update(str(included_scope) for included_scope in SCOPES[scope].included_scopes)
    return frozenset(expanded_scopes)


def missing_approvals(scopes: Iterable[str], flags: int, approved: Iterable[str]) -> list[str]:
    """Return the scopes that an application with these flags and approvals may not request."""
    approved_scopes = set(approved)
    if flags & SOCIAL_LAYER_FLAGS:
        approved_scopes.update(str(scope) for scope in _COMMUNICATION_SCOPES)
    return [scope for scope in scopes if SCOPES[scope].requires_approval and scope not in approved_scopes]
