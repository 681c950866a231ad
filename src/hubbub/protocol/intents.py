"""Gateway intents: which groups of events a session asks for (gateway.md 5)."""

from typing import Final


class Intents:
    """The intent bits, as plain ints."""

    GUILDS: Final = 1 << 0
    """Guilds, their roles, channels, threads and stages."""
    GUILD_MEMBERS: Final = 1 << 1
    """Members who come, change and go; privileged."""
    GUILD_MODERATION: Final = 1 << 2
    """Audit log entries, bans and join requests."""
    GUILD_EXPRESSIONS: Final = 1 << 3
    """Emoji, stickers and soundboard sounds."""
    GUILD_INTEGRATIONS: Final = 1 << 4
    """Integrations."""
    GUILD_WEBHOOKS: Final = 1 << 5
    """Changes of webhooks."""
    GUILD_INVITES: Final = 1 << 6
    """Invites made and ended."""
    GUILD_VOICE_STATES: Final = 1 << 7
    """Who is in voice, and effects sent there."""
    GUILD_PRESENCES: Final = 1 << 8
    """Presences of members; privileged."""
    GUILD_MESSAGES: Final = 1 << 9
    """Messages in guilds."""
    GUILD_MESSAGE_REACTIONS: Final = 1 << 10
    """Reactions in guilds."""
    GUILD_MESSAGE_TYPING: Final = 1 << 11
    """Typing in guilds."""
    DIRECT_MESSAGES: Final = 1 << 12
    """Messages and pins outside guilds, and ephemeral messages."""
    DIRECT_MESSAGE_REACTIONS: Final = 1 << 13
    """Reactions outside guilds."""
    DIRECT_MESSAGE_TYPING: Final = 1 << 14
    """Typing outside guilds."""
    MESSAGE_CONTENT: Final = 1 << 15
    """No events; unlocks the content of messages; privileged."""
    GUILD_SCHEDULED_EVENTS: Final = 1 << 16
    """Scheduled events, their exceptions and their users."""
    GUILD_EMBEDDED_ACTIVITIES: Final = 1 << 17
    """Activities in guilds."""
    PRIVATE_CHANNELS: Final = 1 << 18
    """Direct and group channels themselves; not for bots."""
    CALLS: Final = 1 << 19
    """Calls outside guilds; OAuth2 sessions."""
    AUTO_MODERATION_CONFIGURATION: Final = 1 << 20
    """Auto moderation rules."""
    AUTO_MODERATION_EXECUTION: Final = 1 << 21
    """Auto moderation at work."""
    USER_RELATIONSHIPS: Final = 1 << 22
    """Relationships; not for bots."""
    USER_PRESENCE: Final = 1 << 23
    """Presences of friends; not for bots."""
    GUILD_MESSAGE_POLLS: Final = 1 << 24
    """Poll votes in guilds."""
    DIRECT_MESSAGE_POLLS: Final = 1 << 25
    """Poll votes outside guilds."""
    DIRECT_EMBEDDED_ACTIVITIES: Final = 1 << 26
    """Activities outside guilds."""
    LOBBIES: Final = 1 << 27
    """Lobbies; OAuth2 sessions."""
    LOBBY_DELETE: Final = 1 << 28
    """Ends of lobbies; OAuth2 sessions."""

    ALL: Final = (1 << 29) - 1
    """Every bit; any other closes with 4013."""

    PRIVILEGED: Final = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
    """The application must have these enabled; else 4014."""

    # Open in the spec: 17 and 26 are no bot's, yet libraries may send them; we let them pass.
    BOT_MASK: Final = ALL & ~(PRIVATE_CHANNELS | CALLS | USER_RELATIONSHIPS | USER_PRESENCE | LOBBIES | LOBBY_DELETE)
    """What a bot may ask for."""


BITS: Final[dict[str, int]] = {
    name: value
    for name, value in vars(Intents).items()
    if name.isupper() and isinstance(value, int) and value.bit_count() == 1
}
"""Each single intent by name."""


class Capabilities:
    """What a client says it can do, at Identify; unknown bits are ignored."""

    DEDUPE_USER_OBJECTS: Final = 1 << 4
    """READY carries each user once, other objects only ids."""
    PRIORITIZED_READY_PAYLOAD: Final = 1 << 5
    """READY comes in two parts."""
    AUTO_CALL_CONNECT: Final = 1 << 12
    """Calls are announced without asking."""
    CHANNEL_OBFUSCATION: Final = 1 << 15
    """A bot opts in early to hidden channels (changes.CHANNEL_OBFUSCATION)."""
    AUTO_LOBBY_CONNECT: Final = 1 << 16
    """Lobbies are part of READY instead of following as LOBBY_CREATE."""
