"""Enumerations that the SDK shares with the wire protocol, and the close codes after which a reconnect cannot succeed.

They are in a separate module from `enums.py`, so that games do not import all other enumerations. Subclasses of `Enumeration`
have the member names of the SDK's specification, and the SDK exports the classes themselves. For channel and activity types,
the SDK exports its own classes, whose member names differ.
"""

from enum import IntEnum
from typing import Final

from hubbub.protocol.spec_names import to_pascal_case


class Enumeration(IntEnum):
    """Base class of the SDK's enumerations; `label` is the specification's name of a member."""

    @property
    def label(self) -> str:
        """The specification's name of the member, without the enumeration's name."""
        return to_pascal_case(self.name)


# Gateway (spec/gateway.md#2 and 3)


class GatewayOpcode(IntEnum):
    """Opcode of a gateway frame."""

    DISPATCH = 0
    HEARTBEAT = 1
    IDENTIFY = 2
    PRESENCE_UPDATE = 3
    VOICE_STATE_UPDATE = 4
    VOICE_SERVER_PING = 5
    RESUME = 6
    RECONNECT = 7
    REQUEST_GUILD_MEMBERS = 8
    INVALID_SESSION = 9
    HELLO = 10
    HEARTBEAT_ACK = 11
    CALL_CONNECT = 13
    GUILD_SUBSCRIPTIONS = 14
    LOBBY_VOICE_STATES = 17
    REQUEST_SOUNDBOARD_SOUNDS = 31
    GUILD_SUBSCRIPTIONS_BULK = 37
    GUILD_CHANNELS_RESYNC = 38
    REQUEST_CHANNEL_MEMBER_COUNT = 39
    QOS_HEARTBEAT = 40
    UPDATE_TIME_SPENT_SESSION = 41
    LOBBY_VOICE_SERVER_PING = 42
    REQUEST_CHANNEL_INFO = 43


class CloseCode(IntEnum):
    """Close code of a gateway connection."""

    UNKNOWN_ERROR = 4000
    UNKNOWN_OPCODE = 4001
    """The opcode is unknown, or its payload is invalid."""
    DECODE_ERROR = 4002
    """The frame could not be decoded, or is too large."""
    NOT_AUTHENTICATED = 4003
    """The client sent a frame before Identify."""
    AUTHENTICATION_FAILED = 4004
    ALREADY_AUTHENTICATED = 4005
    INVALID_SEQ = 4007
    """The sequence number of a Resume was never sent."""
    RATE_LIMITED = 4008
    SESSION_TIMED_OUT = 4009
    INVALID_SHARD = 4010
    SHARDING_REQUIRED = 4011
    """The session would contain too many guilds."""
    INVALID_API_VERSION = 4012
    INVALID_INTENTS = 4013
    DISALLOWED_INTENTS = 4014
    """A privileged intent is not enabled for the application."""
    TOO_MANY_SESSIONS = 4015
    """The user has too many sessions."""
    CONNECTION_REQUEST_CANCELED = 4016
    """A request to connect from another device was canceled."""


# Users, channels and applications


class ActivityType(IntEnum):
    """Type of a presence activity."""

    PLAYING = 0
    STREAMING = 1
    LISTENING = 2
    WATCHING = 3
    CUSTOM = 4
    """Custom status; its text is in `state`."""
    COMPETING = 5
    HANG_STATUS = 6


class ActivityActionType(IntEnum):
    """Action that a message offers for an activity."""

    JOIN = 1
    SPECTATE = 2
    LISTEN = 3
    JOIN_REQUEST = 5
    STREAM_REQUEST = 6


class StatusDisplayType(Enumeration):
    """Field of an activity that is displayed in the user's status."""

    NAME = 0
    STATE = 1
    DETAILS = 2


class ActivityPartyPrivacy(Enumeration):
    """Users who may join a party."""

    PRIVATE = 0
    """Users must be invited or send a join request."""
    PUBLIC = 1
    """Friends and users in the same voice channel may join without asking, as far as the host's settings allow it."""


class DisclosureType(Enumeration):
    """Kind of disclosure about the messages of a game."""

    MESSAGE_DATA_VISIBLE_ON_PLATFORM = 3
    """The messages are also visible in the chat client."""


class RelationshipType(Enumeration):
    """Relationship between two users."""

    NONE = 0
    FRIEND = 1
    BLOCKED = 2
    PENDING_INCOMING = 3
    PENDING_OUTGOING = 4
    IMPLICIT = 5
    """A user who is not a friend but has frequent contact with the current user."""
    SUGGESTION = 6


class ChannelType(IntEnum):
    """Type of a channel."""

    GUILD_TEXT = 0
    DM = 1
    GUILD_VOICE = 2
    GROUP_DM = 3
    GUILD_CATEGORY = 4
    GUILD_ANNOUNCEMENT = 5
    ANNOUNCEMENT_THREAD = 10
    PUBLIC_THREAD = 11
    PRIVATE_THREAD = 12
    GUILD_STAGE_VOICE = 13
    GUILD_DIRECTORY = 14
    """Directory of a hub."""
    GUILD_FORUM = 15
    GUILD_MEDIA = 16
    LOBBY = 17
    """Text chat of a game's lobby."""
    EPHEMERAL_DM = 18
    """Direct messages between users of a game of which at least one has a provisional account."""


class ApplicationIntegrationType(Enumeration):
    """Installation context of an application."""

    GUILD_INSTALL = 0
    USER_INSTALL = 1


TERMINAL_CLOSE_CODES: Final = frozenset(
    (
        CloseCode.AUTHENTICATION_FAILED,
        CloseCode.INVALID_SHARD,
        CloseCode.SHARDING_REQUIRED,
        CloseCode.INVALID_API_VERSION,
        CloseCode.INVALID_INTENTS,
        CloseCode.DISALLOWED_INTENTS,
    )
)
"""Close codes of the gateway after which a reconnect cannot succeed (spec/sdk.md#5.1)."""
