"""OAuth2 scopes as data: what each lets an application do, in the words that a person is asked with, and who may ask for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from hubbub.protocol.enums import Scope
from hubbub.protocol.flags import ApplicationFlags


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """What a scope is."""

    words: str
    """What it lets an application do, for the person who is asked."""
    approval: bool = False
    """Only for applications that the operator approved for it."""
    expands: tuple[str, ...] = ()
    """What an umbrella stands for."""
    code_only: bool = False
    """Only through the authorization code grant."""
    client_credentials_only: bool = False


_PRESENCE: Final = (
    Scope.ACTIVITIES_INVITES_WRITE,
    Scope.ACTIVITIES_READ,
    Scope.ACTIVITIES_WRITE,
    Scope.APPLICATION_IDENTITIES_WRITE,
    Scope.GATEWAY_CONNECT,
    Scope.IDENTIFY,
    Scope.RELATIONSHIPS_READ,
    Scope.RELATIONSHIPS_WRITE,
)
_COMMUNICATION: Final = (
    *_PRESENCE,
    Scope.DM_CHANNELS_READ,
    Scope.DM_CHANNELS_MESSAGES_READ,
    Scope.DM_CHANNELS_MESSAGES_WRITE,
    Scope.GUILDS,
    Scope.GUILDS_CHANNELS_READ,
    Scope.LOBBIES_WRITE,
)

SCOPES: Final[dict[str, ScopeRule]] = {
    Scope.IDENTIFY: ScopeRule("See your name, picture and banner"),
    Scope.EMAIL: ScopeRule("See your email address"),
    Scope.IDENTIFY_PREMIUM: ScopeRule("See whether you have a premium subscription", approval=True),
    Scope.OPENID: ScopeRule("Sign you in"),
    Scope.CONNECTIONS: ScopeRule("See your accounts elsewhere that you connected"),
    Scope.GUILDS: ScopeRule("Know which guilds you are in"),
    Scope.GUILDS_JOIN: ScopeRule("Bring you into guilds"),
    Scope.GUILDS_MEMBERS_READ: ScopeRule("Read your nick, picture and roles in the guilds you are in"),
    Scope.GUILDS_CHANNELS_READ: ScopeRule("See the channels of your guilds", approval=True),
    Scope.GDM_JOIN: ScopeRule("Bring you into group messages"),
    Scope.BOT: ScopeRule("Add its bot to a guild"),
    Scope.APPLICATIONS_COMMANDS: ScopeRule("Add its commands"),
    Scope.APPLICATIONS_COMMANDS_UPDATE: ScopeRule("Change its own commands", client_credentials_only=True),
    Scope.APPLICATIONS_COMMANDS_PERMISSIONS_UPDATE: ScopeRule("Say who may use its commands, where you may"),
    Scope.APPLICATIONS_BUILDS_READ: ScopeRule("Read the builds of your applications"),
    Scope.APPLICATIONS_BUILDS_UPLOAD: ScopeRule("Upload builds of your applications", approval=True),
    Scope.APPLICATIONS_STORE_UPDATE: ScopeRule("Change the store pages of your applications"),
    Scope.APPLICATIONS_ENTITLEMENTS: ScopeRule("Read the entitlements of your applications"),
    Scope.ROLE_CONNECTIONS_WRITE: ScopeRule("Tell guilds what it knows of you, for linked roles", code_only=True),
    Scope.WEBHOOK_INCOMING: ScopeRule("Add a webhook to a channel that you choose", code_only=True),
    Scope.MESSAGES_READ: ScopeRule("Read messages", approval=True),
    Scope.DM_CHANNELS_READ: ScopeRule("See your direct and group messages", approval=True),
    Scope.DM_CHANNELS_MESSAGES_READ: ScopeRule("Read your direct messages", approval=True),
    Scope.DM_CHANNELS_MESSAGES_WRITE: ScopeRule("Write direct messages for you", approval=True),
    Scope.RELATIONSHIPS_READ: ScopeRule("Know your friends", approval=True),
    Scope.RELATIONSHIPS_WRITE: ScopeRule("Change your list of friends", approval=True),
    Scope.ACTIVITIES_READ: ScopeRule("See what you play", approval=True),
    Scope.ACTIVITIES_WRITE: ScopeRule("Show others what you play", approval=True),
    Scope.ACTIVITIES_INVITES_WRITE: ScopeRule("Invite others to play with you", approval=True),
    Scope.PRESENCES_READ: ScopeRule("See who of your friends is online", approval=True),
    Scope.PRESENCES_WRITE: ScopeRule("Show you as online", approval=True),
    Scope.GATEWAY_CONNECT: ScopeRule("Stay connected for you", approval=True),
    Scope.VOICE: ScopeRule("Join voice channels for you", approval=True),
    Scope.LOBBIES_WRITE: ScopeRule("Open and join lobbies for you", approval=True),
    Scope.APPLICATION_IDENTITIES_WRITE: ScopeRule("Link your account in it with this one", approval=True),
    Scope.ACCOUNT_GLOBAL_NAME_UPDATE: ScopeRule("Change your display name", approval=True),
    Scope.PAYMENT_SOURCES_COUNTRY_CODE: ScopeRule("Know the country you pay from", approval=True),
    Scope.RPC: ScopeRule("Control the chat client on this computer", approval=True),
    Scope.RPC_NOTIFICATIONS_READ: ScopeRule("Read your notifications on this computer", approval=True),
    Scope.RPC_VOICE_READ: ScopeRule("Read your voice settings and hear of voice events", approval=True),
    Scope.RPC_VOICE_WRITE: ScopeRule("Change your voice settings", approval=True),
    Scope.RPC_VIDEO_READ: ScopeRule("Know whether your camera is on", approval=True),
    Scope.RPC_VIDEO_WRITE: ScopeRule("Switch your camera on and off", approval=True),
    Scope.RPC_SCREENSHARE_READ: ScopeRule("Know whether you share your screen", approval=True),
    Scope.RPC_SCREENSHARE_WRITE: ScopeRule("Share your screen", approval=True),
    Scope.RPC_ACTIVITIES_WRITE: ScopeRule("Change your activity on this computer", approval=True),
    Scope.SDK_SOCIAL_LAYER_PRESENCE: ScopeRule(
        "Show your game and your friends to each other, and invite to play", expands=_PRESENCE
    ),
    Scope.SDK_SOCIAL_LAYER: ScopeRule(
        "Show your game and your friends to each other, chat, and meet in lobbies", expands=_COMMUNICATION
    ),
}
"""Every scope there is."""

ALIASES: Final = {"application.commands": Scope.APPLICATIONS_COMMANDS.value}
"""The specification also writes it so."""

INSTALLING: Final = frozenset({Scope.BOT.value, Scope.APPLICATIONS_COMMANDS.value})
"""Scopes that install the application somewhere; these alone need no response_type."""
ALWAYS_ASKED: Final = frozenset({Scope.BOT.value, Scope.WEBHOOK_INCOMING.value})
"""Granting these does something each time, so the person is asked each time."""

FOR_TESTERS: Final = frozenset({Scope.RPC.value, Scope.MESSAGES_READ.value})
"""Before it is approved, an application may ask its owner and its testers for these (rpc.md 6)."""

SOCIAL_LAYER_FLAGS: Final = (
    ApplicationFlags.SOCIAL_LAYER_INTEGRATION | ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED
)
"""An application with one of these accepted the terms of the social layer: the scopes of the umbrella are open to it singly."""


def parse_scopes(text: str) -> tuple[str, ...]:
    """The scopes of a space-separated list, each once, in its order; `bot` brings the commands with it."""
    named = [ALIASES.get(word, word) for word in text.split()]
    if Scope.BOT in named:
        named.append(Scope.APPLICATIONS_COMMANDS.value)
    return tuple(dict.fromkeys(named))


def expand(scopes: Iterable[str]) -> frozenset[str]:
    """What the scopes allow: umbrellas, and all they stand for."""
    allowed: set[str] = set()
    for scope in scopes:
        allowed.add(scope)
        if scope in SCOPES:
            allowed.update(str(inner) for inner in SCOPES[scope].expands)
    return frozenset(allowed)


def missing_approvals(scopes: Iterable[str], flags: int, approved: Iterable[str]) -> list[str]:
    """The scopes that an application with these flags and approvals may not ask for."""
    admitted = set(approved)
    if flags & SOCIAL_LAYER_FLAGS:
        admitted.update(str(scope) for scope in _COMMUNICATION)
    return [scope for scope in scopes if SCOPES[scope].approval and scope not in admitted]
