"""Gateway intents, groups of events that a session subscribes to (spec/gateway.md#5), and the capabilities of clients."""

from typing import Final


class Intents:
    """Intent bits, as plain integers."""

    GUILDS: Final = 1 << 0
    """Guilds, roles, channels, pins, threads, stage instances, and the status and start time of voice channels."""
    GUILD_MEMBERS: Final = 1 << 1
    """Members of guilds who join, change and leave, and members of threads; privileged."""
    GUILD_MODERATION: Final = 1 << 2
    """Audit log entries, bans and join requests."""
    GUILD_EXPRESSIONS: Final = 1 << 3
    """Emoji, stickers and soundboard sounds."""
    GUILD_INTEGRATIONS: Final = 1 << 4
    """Integrations that are added, changed and removed."""
    GUILD_WEBHOOKS: Final = 1 << 5
    """Changes to the webhooks of a channel."""
    GUILD_INVITES: Final = 1 << 6
    """Invites that are created and deleted."""
    GUILD_VOICE_STATES: Final = 1 << 7
    """Voice states and voice channel effects."""
    GUILD_PRESENCES: Final = 1 << 8
    """Presences of members; privileged."""
    GUILD_MESSAGES: Final = 1 << 9
    """Messages in guilds."""
    GUILD_MESSAGE_REACTIONS: Final = 1 << 10
    """Reactions in guilds."""
    GUILD_MESSAGE_TYPING: Final = 1 << 11
    """Typing indicators in guilds."""
    DIRECT_MESSAGES: Final = 1 << 12
    """Messages and pins in private channels, and ephemeral messages."""
    DIRECT_MESSAGE_REACTIONS: Final = 1 << 13
    """Reactions in private channels."""
    DIRECT_MESSAGE_TYPING: Final = 1 << 14
    """Typing indicators in private channels."""
    MESSAGE_CONTENT: Final = 1 << 15
    """Content of messages in other events; has no events of its own; privileged."""
    GUILD_SCHEDULED_EVENTS: Final = 1 << 16
    """Scheduled events, their exceptions and their users."""
    GUILD_EMBEDDED_ACTIVITIES: Final = 1 << 17
    """Activities in guilds."""
    PRIVATE_CHANNELS: Final = 1 << 18
    """Private channels and their recipients; not for bots."""
    CALLS: Final = 1 << 19
    """Calls in private channels; not for bots."""
    AUTO_MODERATION_CONFIGURATION: Final = 1 << 20
    """Auto moderation rules."""
    AUTO_MODERATION_EXECUTION: Final = 1 << 21
    """Auto moderation actions."""
    USER_RELATIONSHIPS: Final = 1 << 22
    """Relationships; not for bots."""
    USER_PRESENCE: Final = 1 << 23
    """Presences of friends; not for bots."""
    GUILD_MESSAGE_POLLS: Final = 1 << 24
    """Poll votes in guilds."""
    DIRECT_MESSAGE_POLLS: Final = 1 << 25
    """Poll votes in private channels."""
    DIRECT_EMBEDDED_ACTIVITIES: Final = 1 << 26
    """Activities in private channels."""
    LOBBIES: Final = 1 << 27
    """Lobbies, their members, messages and calls; not for bots."""
    LOBBY_DELETE: Final = 1 << 28
    """Deletion of lobbies; not for bots."""

    ALL: Final = (1 << 29) - 1
    """All known bits."""

    PRIVILEGED: Final = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
    """Bits that must be enabled for a bot's application; otherwise its connection is closed with DISALLOWED_INTENTS."""

    # The specification leaves open whether bots may use the two bits of embedded activities. Libraries may send them, so they
    # are accepted.
    BOT_MASK: Final = ALL & ~(PRIVATE_CHANNELS | CALLS | USER_RELATIONSHIPS | USER_PRESENCE | LOBBIES | LOBBY_DELETE)
    """Bits that bots may use; any other bit closes a bot's connection with INVALID_INTENTS."""


INTENTS_BY_NAME: Final[dict[str, int]] = {
    name: value
    for name, value in vars(Intents).items()
    if name.isupper() and isinstance(value, int) and value.bit_count() == 1
}
"""All single intents by name."""


class Capabilities:
    """Optional features that a client declares in Identify; unknown bits are ignored."""

    DEDUPE_USER_OBJECTS: Final = 1 << 4
    """READY contains each user once, and other objects in READY refer to users by ID."""
    PRIORITIZED_READY_PAYLOAD: Final = 1 << 5
    """READY is sent in two parts."""
    AUTO_CALL_CONNECT: Final = 1 << 12
    """Calls are announced without a request by the client."""
    CHANNEL_OBFUSCATION: Final = 1 << 15
    """A bot opts in early to channel obfuscation (changes.CHANNEL_OBFUSCATION)."""
    AUTO_LOBBY_CONNECT: Final = 1 << 16
    """READY contains the lobbies; without it, a LOBBY_CREATE for each lobby follows READY."""
