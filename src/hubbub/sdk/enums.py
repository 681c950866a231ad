"""Enumerations of the specification, with its numbers (spec/sdk.md#2).

Members have PEP 8 names; `label` and the `*_to_string` functions return the specification's names. Numbers that are also
on the wire come from `hubbub.protocol`.
"""

from enum import IntEnum, IntFlag
from typing import TypeVar

from hubbub.protocol import shared_enums
from hubbub.protocol.shared_enums import (
    ActivityActionType,
    ActivityType,
    ApplicationIntegrationType,
    DisclosureType,
    StatusDisplayType,
)
from hubbub.protocol.shared_enums import ActivityPartyPrivacy as ActivityPartyPrivacy
from hubbub.protocol.shared_enums import Enumeration as Enumeration
from hubbub.protocol.shared_enums import RelationshipType as RelationshipType

E = TypeVar("E", bound=IntEnum)

DisclosureTypes = DisclosureType
"""Kind of disclosure that the SDK inserts into a conversation."""
IntegrationType = ApplicationIntegrationType
"""Installation context of an application: a guild or a user."""
StatusDisplayTypes = StatusDisplayType
"""Field of an activity that member lists show."""


def to_string(kind: type[Enumeration], value: int) -> str:
    """Return the specification's name of an enumeration value, or "unknown" for a value that is not listed."""
    try:
        return kind(value).label
    except ValueError:
        return "unknown"


def member_or_default(kind: type[E], value: int, otherwise: E) -> E:
    """Return the member of an enumeration with a value, or `otherwise` for a value that is not listed."""
    try:
        return kind(value)
    except ValueError:
        return otherwise


class ActivityActionTypes(Enumeration):
    """Kind of an activity invite."""

    INVALID = 0
    JOIN = ActivityActionType.JOIN
    """An invite to join the sender."""
    JOIN_REQUEST = ActivityActionType.JOIN_REQUEST
    """A request to join the recipient."""


class ActivityTypes(Enumeration):
    """Kind of an activity."""

    PLAYING = ActivityType.PLAYING
    STREAMING = ActivityType.STREAMING
    LISTENING = ActivityType.LISTENING
    WATCHING = ActivityType.WATCHING
    CUSTOM_STATUS = ActivityType.CUSTOM
    COMPETING = ActivityType.COMPETING
    HANG_STATUS = ActivityType.HANG_STATUS


class ActivityGamePlatforms(IntFlag):
    """Platforms on which an activity can be joined; combine them with `|`."""

    DESKTOP = 1
    XBOX = 2
    SAMSUNG = 4
    IOS = 8
    ANDROID = 16
    EMBEDDED = 32
    PS4 = 64
    PS5 = 128


class ErrorType(Enumeration):
    """Kind of error of an operation."""

    NONE = 0
    """The operation succeeded."""
    NETWORK_ERROR = 1
    """The platform could not be reached, or its response could not be read."""
    HTTP_ERROR = 2
    """The platform returned an error response."""
    CLIENT_NOT_READY = 3
    """The operation requires the client status `READY`."""
    DISABLED = 4
    """The platform disabled the function."""
    CLIENT_DESTROYED = 5
    """The client was closed before the operation ended."""
    VALIDATION_ERROR = 6
    """An argument is invalid, the client cannot run the operation now, or the operation raised an unexpected exception."""
    ABORTED = 7
    """The operation was canceled, or the player declined."""
    AUTHORIZATION_FAILED = 8
    """The platform rejected the authorization or the token."""
    RPC_ERROR = 9
    """The local chat client returned an error."""


class HttpStatusCode(Enumeration):
    """HTTP status of a response; the specification gives `IM_USED` the value 209, not 226 (spec/sdk.md#2)."""

    NONE = 0
    CONTINUE = 100
    SWITCHING_PROTOCOLS = 101
    PROCESSING = 102
    EARLY_HINTS = 103
    OK = 200
    CREATED = 201
    ACCEPTED = 202
    NON_AUTHORITATIVE_INFO = 203
    NO_CONTENT = 204
    RESET_CONTENT = 205
    PARTIAL_CONTENT = 206
    MULTI_STATUS = 207
    ALREADY_REPORTED = 208
    IM_USED = 209
    MULTIPLE_CHOICES = 300
    MOVED_PERMANENTLY = 301
    FOUND = 302
    SEE_OTHER = 303
    NOT_MODIFIED = 304
    TEMPORARY_REDIRECT = 307
    PERMANENT_REDIRECT = 308
    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    PAYMENT_REQUIRED = 402
    FORBIDDEN = 403
    NOT_FOUND = 404
    METHOD_NOT_ALLOWED = 405
    NOT_ACCEPTABLE = 406
    PROXY_AUTH_REQUIRED = 407
    REQUEST_TIMEOUT = 408
    CONFLICT = 409
    GONE = 410
    LENGTH_REQUIRED = 411
    PRECONDITION_FAILED = 412
    PAYLOAD_TOO_LARGE = 413
    URI_TOO_LONG = 414
    UNSUPPORTED_MEDIA_TYPE = 415
    RANGE_NOT_SATISFIABLE = 416
    EXPECTATION_FAILED = 417
    MISDIRECTED_REQUEST = 421
    UNPROCESSABLE_ENTITY = 422
    LOCKED = 423
    FAILED_DEPENDENCY = 424
    TOO_EARLY = 425
    UPGRADE_REQUIRED = 426
    PRECONDITION_REQUIRED = 428
    TOO_MANY_REQUESTS = 429
    REQUEST_HEADER_FIELDS_TOO_LARGE = 431
    INTERNAL_SERVER_ERROR = 500
    NOT_IMPLEMENTED = 501
    BAD_GATEWAY = 502
    SERVICE_UNAVAILABLE = 503
    GATEWAY_TIMEOUT = 504
    HTTP_VERSION_NOT_SUPPORTED = 505
    VARIANT_ALSO_NEGOTIATES = 506
    INSUFFICIENT_STORAGE = 507
    LOOP_DETECTED = 508
    NOT_EXTENDED = 510
    NETWORK_AUTHORIZATION_REQUIRED = 511


class AuthenticationCodeChallengeMethod(Enumeration):
    """Method of deriving a PKCE challenge from its verifier."""

    S256 = 0


class ChannelType(Enumeration):
    """Kind of a channel."""

    GUILD_TEXT = shared_enums.ChannelType.GUILD_TEXT
    DM = shared_enums.ChannelType.DM
    GUILD_VOICE = shared_enums.ChannelType.GUILD_VOICE
    GROUP_DM = shared_enums.ChannelType.GROUP_DM
    GUILD_CATEGORY = shared_enums.ChannelType.GUILD_CATEGORY
    GUILD_NEWS = shared_enums.ChannelType.GUILD_ANNOUNCEMENT
    GUILD_STORE = 6
    GUILD_NEWS_THREAD = shared_enums.ChannelType.ANNOUNCEMENT_THREAD
    GUILD_PUBLIC_THREAD = shared_enums.ChannelType.PUBLIC_THREAD
    GUILD_PRIVATE_THREAD = shared_enums.ChannelType.PRIVATE_THREAD
    GUILD_STAGE_VOICE = shared_enums.ChannelType.GUILD_STAGE_VOICE
    GUILD_DIRECTORY = shared_enums.ChannelType.GUILD_DIRECTORY
    GUILD_FORUM = shared_enums.ChannelType.GUILD_FORUM
    GUILD_MEDIA = shared_enums.ChannelType.GUILD_MEDIA
    LOBBY = shared_enums.ChannelType.LOBBY
    EPHEMERAL_DM = shared_enums.ChannelType.EPHEMERAL_DM


class AdditionalContentType(Enumeration):
    """Kind of message content that a game cannot render as text."""

    OTHER = 0
    ATTACHMENT = 1
    POLL = 2
    VOICE_MESSAGE = 3
    THREAD = 4
    EMBED = 5
    STICKER = 6


class AudioSystem(Enumeration):
    """Audio mode on mobile devices; it has no effect on desktop systems."""

    STANDARD = 0
    GAME = 1


class AudioModeType(Enumeration):
    """Condition under which the microphone is transmitted in a call."""

    MODE_UNINIT = 0
    MODE_VAD = 1
    """On voice activity."""
    MODE_PTT = 2
    """By push-to-talk."""


class RelationshipGroupType(Enumeration):
    """Section of a friends list."""

    ONLINE_PLAYING_GAME = 0
    """Online and playing this game."""
    ONLINE_ELSEWHERE = 1
    """Online and not playing this game."""
    OFFLINE = 2


class ExternalIdentityProviderType(Enumeration):
    """Kind of identity provider of an application profile."""

    OIDC = 0
    EPIC_ONLINE_SERVICES = 1
    STEAM = 2
    UNITY = 3
    PLATFORM_BOT = 4
    NONE = 5
    UNKNOWN = 6


class StatusType(Enumeration):
    """Online status of a user."""

    ONLINE = 0
    OFFLINE = 1
    BLOCKED = 2
    IDLE = 3
    DND = 4
    INVISIBLE = 5
    STREAMING = 6
    UNKNOWN = 7


class AuthorizationTokenType(Enumeration):
    """Kind of a token; only `BEARER` is supported."""

    USER = 0
    BEARER = 1


class AuthenticationExternalAuthType(Enumeration):
    """Kind of external credential that identifies a provisional account."""

    OIDC = 0
    EPIC_ONLINE_SERVICES_ACCESS_TOKEN = 1
    EPIC_ONLINE_SERVICES_ID_TOKEN = 2
    STEAM_SESSION_TICKET = 3
    UNITY_SERVICES_ID_TOKEN = 4
    PLATFORM_BOT_ISSUED_ACCESS_TOKEN = 5
    APPLE_ID_TOKEN = 6
    PLAY_STATION_NETWORK_ID_TOKEN = 7

    @property
    def wire(self) -> str:
        """The value in requests (spec/sdk.md#8.2)."""
        return self.name.replace("PLAY_STATION", "PLAYSTATION")


class LoggingSeverity(Enumeration):
    """Severity of a log message; `NONE` as a minimum turns logging off."""

    VERBOSE = 1
    INFO = 2
    WARNING = 3
    ERROR = 4
    NONE = 5


class ClientError(Enumeration):
    """Reason for a change of the client status; the specification's Client::Error."""

    NONE = 0
    CONNECTION_FAILED = 1
    """The platform could not be reached or responded with an error, or no token is set."""
    UNEXPECTED_CLOSE = 2
    """The connection was closed, or the platform rejected the token."""
    CONNECTION_CANCELED = 3
    """`disconnect` was called while connecting."""


class ClientStatus(Enumeration):
    """Status of the connection; the specification's Client::Status."""

    DISCONNECTED = 0
    CONNECTING = 1
    CONNECTED = 2
    """The connection is open; the client waits for its initial data."""
    READY = 3
    """The client has a session and its initial data; all operations can be used."""
    RECONNECTING = 4
    """The connection was lost and is being restored."""
    DISCONNECTING = 5
    HTTP_WAIT = 6
    """The platform could not be reached or responded with an error; the client waits before the next attempt."""


class ClientThread(Enumeration):
    """Thread of the SDK; the specification's Client::Thread."""

    CLIENT = 0
    VOICE = 1
    NETWORK = 2


class CallError(Enumeration):
    """Reason for a change of the call status; the specification's Call::Error."""

    NONE = 0
    SIGNALING_CONNECTION_FAILED = 1
    """The voice server could not be reached."""
    SIGNALING_UNEXPECTED_CLOSE = 2
    """The connection to the voice server was closed."""
    VOICE_CONNECTION_FAILED = 3
    """The audio transport could not be established, or the voice server does not offer end-to-end encryption."""
    JOIN_TIMEOUT = 4
    """The platform did not admit the user in time."""
    FORBIDDEN = 5
    """The user may not join the call."""


class CallStatus(Enumeration):
    """Status of a call; the specification's Call::Status."""

    DISCONNECTED = 0
    JOINING = 1
    """The client waits for the address of the voice server."""
    CONNECTING = 2
    """The client connects to the voice server."""
    SIGNALING_CONNECTED = 3
    """The voice server accepted the client; the audio transport is not open yet."""
    CONNECTED = 4
    """Audio is transmitted."""
    RECONNECTING = 5
    """The connection was lost and is being restored."""
    DISCONNECTING = 6


class AvatarType(Enumeration):
    """Format of an avatar image; the specification's UserHandle::AvatarType."""

    GIF = 0
    WEBP = 1
    PNG = 2
    JPEG = 3
