"""Validation of the token prefix and actor of Identify and Resume, and of the other fields of Identify (spec/gateway.md#4.1)."""

from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from hubbub.protocol.enums import CloseCode, Scope
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.intents import INTENTS_BY_NAME, Capabilities, Intents
from hubbub.protocol.resources.gateway import (
    GUILDS_PER_SHARD_MAX,
    LARGE_THRESHOLD_MAX,
    LARGE_THRESHOLD_MIN,
    Identify,
)
from hubbub.server.core import auth
from hubbub.server.core.call import Actor
from hubbub.server.transports.sockets import CloseConnection

PRIVILEGED_INTENT_FLAGS: Final = (
    (Intents.GUILD_PRESENCES, ApplicationFlags.GATEWAY_PRESENCE | ApplicationFlags.GATEWAY_PRESENCE_LIMITED),
    (Intents.GUILD_MEMBERS, ApplicationFlags.GATEWAY_GUILD_MEMBERS | ApplicationFlags.GATEWAY_GUILD_MEMBERS_LIMITED),
    (
        Intents.MESSAGE_CONTENT,
        ApplicationFlags.GATEWAY_MESSAGE_CONTENT | ApplicationFlags.GATEWAY_MESSAGE_CONTENT_LIMITED,
    ),
)
"""Privileged intents and the application flags that grant them; any of the flags is enough."""

OAUTH2_INTENT_SCOPES: Final = (
    (Intents.GUILDS, Scope.GUILDS),
    (Intents.DIRECT_MESSAGES, Scope.DM_CHANNELS_MESSAGES_READ),
    (Intents.PRIVATE_CHANNELS, Scope.DM_CHANNELS_READ),
    (Intents.CALLS, Scope.DM_CHANNELS_READ),
    (Intents.USER_RELATIONSHIPS, Scope.RELATIONSHIPS_READ),
    (Intents.USER_PRESENCE, Scope.RELATIONSHIPS_READ),
    (Intents.LOBBIES, Scope.LOBBIES_WRITE),
    (Intents.LOBBY_DELETE, Scope.LOBBIES_WRITE),
)
"""Intents available to OAuth2 sessions and their scopes; the GUILDS intent yields only IDs and names (spec/sdk.md#5.3)."""

CONNECT_SCOPES: Final = ("gateway.connect", "voice")
"""Scopes for connecting to the gateway: an OAuth2 session needs `identify` and one of these scopes."""


def split_token(text: str) -> tuple[str, str | None]:
    """Return a token without its prefix, and the actor kind that the prefix names, or None without a prefix."""
    if " " not in text:
        return text, None
    kind, token = auth.split_header(text)
    return token, kind


def may_connect(actor: Actor, claimed_kind: str | None) -> bool:
    """Return whether this actor may start a session.

    `claimed_kind` is the actor kind that the token prefix claimed, or None.
    """
    if claimed_kind is not None and claimed_kind != actor.kind:
        return False
    if actor.kind == "bearer":
        if actor.application_flags & ApplicationFlags.PARENT:
            # spec/sdk.md#8.7: a publisher's token is exchanged for tokens of its games; only tokens of games start sessions.
            return False
        return "identify" in actor.scopes and any(scope in actor.scopes for scope in CONNECT_SCOPES)
    return True


class Shard(NamedTuple):
    """The part of a bot's guilds that a session covers."""

    shard_id: int
    shard_count: int
    """Number of shards of the bot."""


class SessionParameters(msgspec.Struct, kw_only=True):
    """The validated parameters of a new session."""

    intents: int
    shard: Shard
    large_threshold: int
    """Number of members above which GUILD_CREATE of a guild does not contain all of them."""
    always_obfuscates: bool
    """Whether hidden channels are obfuscated for the session even before `changes.CHANNEL_OBFUSCATION` takes effect."""
    capabilities: int = 0
    """Capabilities of the client; always 0 for bots (spec/gateway.md#4.1)."""


def validate(identify: Identify, actor: Actor, shard_count_divisor: int = 1) -> SessionParameters:
    """Validate Identify; raise `CloseConnection` if it is invalid. `shard_count_divisor` must divide the shard count."""
    return SessionParameters(
        shard=_validated_shard(identify, shard_count_divisor),
        intents=_validated_intents(identify, actor),
        large_threshold=min(
            max(identify.large_threshold or LARGE_THRESHOLD_MIN, LARGE_THRESHOLD_MIN), LARGE_THRESHOLD_MAX
        ),
        # Hidden channels are always obfuscated for users; for bots from a date on, or if the bot or its application
        # requests it.
        always_obfuscates=not actor.is_bot
        or actor.obfuscates_channels
        or bool((identify.capabilities or 0) & Capabilities.CHANNEL_OBFUSCATION),
        capabilities=0 if actor.is_bot else identify.capabilities or 0,
    )


def reject_too_many_guilds(guild_count: int, actor: Actor) -> None:
    """Raise `CloseConnection` if a bot has too many guilds for one session and must use sharding."""
    if actor.is_bot and guild_count > GUILDS_PER_SHARD_MAX:
        raise CloseConnection(CloseCode.SHARDING_REQUIRED, "Sharding required")


def _validated_shard(identify: Identify, shard_count_divisor: int) -> Shard:
    """Return the shard of the session; raise `CloseConnection` if it is invalid."""
    if identify.shard is None:
        return Shard(0, 1)
    if len(identify.shard) == 2:
        shard = Shard(*identify.shard)
        if 0 <= shard.shard_id < shard.shard_count and shard.shard_count % shard_count_divisor == 0:
            return shard
    raise CloseConnection(CloseCode.INVALID_SHARD, "Invalid shard")


def _validated_intents(identify: Identify, actor: Actor) -> int:
    """Return the intents of the session; raise `CloseConnection` if intents of a bot are missing, unknown or not allowed."""
    requested_intents = identify.intents
    if actor.kind == "user":
        return Intents.ALL
    if requested_intents is UNSET or not isinstance(requested_intents, int):
        if actor.is_bot:
            raise CloseConnection(CloseCode.INVALID_INTENTS, "Invalid intent(s)")
        return 0
    if not actor.is_bot:
        # Intents that are not granted are dropped silently: newer SDKs request intents that this server does not know.
        return requested_intents & sum(intent for intent, scope in OAUTH2_INTENT_SCOPES if scope in actor.scopes)
    if requested_intents & ~Intents.BOT_MASK:
        raise CloseConnection(CloseCode.INVALID_INTENTS, "Invalid intent(s)")
    disallowed_intents = [
        intent
        for intent, flags in PRIVILEGED_INTENT_FLAGS
        if requested_intents & intent and not actor.application_flags & flags
    ]
    if disallowed_intents:
        names = [name for name, bit in INTENTS_BY_NAME.items() if bit in disallowed_intents]
        cause = f"The application does not have the privileged intents that the bot requested: {', '.join(names)}."
        raise CloseConnection(CloseCode.DISALLOWED_INTENTS, "Disallowed intent(s)", cause=cause)
    return requested_intents
