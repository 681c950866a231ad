"""The enumerations of the specification, with its numbers (sdk.md 2).

Names are PEP 8's here; `label` and the `*_to_string` functions give the specification's. A number that we do not know stays
the number it is, since the platform may learn new words before the game does.
"""

from enum import IntEnum, IntFlag
from typing import TypeVar

from hubbub.sdk.naming import pascal

E = TypeVar("E", bound=IntEnum)


class Enumeration(IntEnum):
    """An enumeration whose members know the specification's name for them."""

    @property
    def label(self) -> str:
        """The bare enumerator name of the specification."""
        return pascal(self.name)


def to_string(kind: type[Enumeration], value: int) -> str:
    """The enumerator's name; `unknown` for a number that is not listed."""
    try:
        return kind(value).label
    except ValueError:
        return "unknown"


def known(kind: type[E], value: int, otherwise: E) -> E:
    """The member of a number, or a stand-in for one that is not listed."""
    try:
        return kind(value)
    except ValueError:
        return otherwise


class ActivityActionTypes(Enumeration):
    """What a message with an activity asks for."""

    INVALID = 0
    JOIN = 1
    JOIN_REQUEST = 5


class ActivityPartyPrivacy(Enumeration):
    """Whether others must ask before they join."""

    PRIVATE = 0
    PUBLIC = 1


class ActivityTypes(Enumeration):
    """What somebody does."""

    PLAYING = 0
    STREAMING = 1
    LISTENING = 2
    WATCHING = 3
    CUSTOM_STATUS = 4
    COMPETING = 5
    HANG_STATUS = 6


class StatusDisplayTypes(Enumeration):
    """Which line the member list shows."""

    NAME = 0
    STATE = 1
    DETAILS = 2


class ActivityGamePlatforms(IntFlag):
    """Where an activity can be joined."""

    DESKTOP = 1
    XBOX = 2
    SAMSUNG = 4
    IOS = 8
    ANDROID = 16
    EMBEDDED = 32
    PS4 = 64
    PS5 = 128


class ErrorType(Enumeration):
    """Why an operation failed."""

    NONE = 0
    NETWORK_ERROR = 1
    HTTP_ERROR = 2
    CLIENT_NOT_READY = 3
    DISABLED = 4
    CLIENT_DESTROYED = 5
    VALIDATION_ERROR = 6
    ABORTED = 7
    AUTHORIZATION_FAILED = 8
    RPC_ERROR = 9


class HttpStatusCode(Enumeration):
    """The status of an HTTP answer; IM_USED is 209 here and not 226 (sdk.md 2)."""

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
    """How a challenge is made from its verifier."""

    S256 = 0


class IntegrationType(Enumeration):
    """Where an application is installed."""

    GUILD_INSTALL = 0
    USER_INSTALL = 1


class ChannelType(Enumeration):
    """The kinds of channel."""

    GUILD_TEXT = 0
    DM = 1
    GUILD_VOICE = 2
    GROUP_DM = 3
    GUILD_CATEGORY = 4
    GUILD_NEWS = 5
    GUILD_STORE = 6
    GUILD_NEWS_THREAD = 10
    GUILD_PUBLIC_THREAD = 11
    GUILD_PRIVATE_THREAD = 12
    GUILD_STAGE_VOICE = 13
    GUILD_DIRECTORY = 14
    GUILD_FORUM = 15
    GUILD_MEDIA = 16
    LOBBY = 17
    EPHEMERAL_DM = 18


class AdditionalContentType(Enumeration):
    """What a message has besides its text."""

    OTHER = 0
    ATTACHMENT = 1
    POLL = 2
    VOICE_MESSAGE = 3
    THREAD = 4
    EMBED = 5
    STICKER = 6


class AudioSystem(Enumeration):
    """How a phone treats our sound."""

    STANDARD = 0
    GAME = 1


class AudioModeType(Enumeration):
    """When the microphone is heard."""

    MODE_UNINIT = 0
    MODE_VAD = 1
    MODE_PTT = 2


class RelationshipType(Enumeration):
    """How two people stand to each other."""

    NONE = 0
    FRIEND = 1
    BLOCKED = 2
    PENDING_INCOMING = 3
    PENDING_OUTGOING = 4
    IMPLICIT = 5
    SUGGESTION = 6


class RelationshipGroupType(Enumeration):
    """The parts of a friends list."""

    ONLINE_PLAYING_GAME = 0
    ONLINE_ELSEWHERE = 1
    OFFLINE = 2


class ExternalIdentityProviderType(Enumeration):
    """Who vouches for a player."""

    OIDC = 0
    EPIC_ONLINE_SERVICES = 1
    STEAM = 2
    UNITY = 3
    PLATFORM_BOT = 4
    NONE = 5
    UNKNOWN = 6


class StatusType(Enumeration):
    """Whether somebody is there."""

    ONLINE = 0
    OFFLINE = 1
    BLOCKED = 2
    IDLE = 3
    DND = 4
    INVISIBLE = 5
    STREAMING = 6
    UNKNOWN = 7


class DisclosureTypes(Enumeration):
    """Notices that the SDK puts between messages."""

    MESSAGE_DATA_VISIBLE_ON_PLATFORM = 3


class AuthorizationTokenType(Enumeration):
    """The kinds of token; only bearer tokens work here."""

    USER = 0
    BEARER = 1


class AuthenticationExternalAuthType(Enumeration):
    """What a provisional account is proven with."""

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
        """The word on the wire (sdk.md 8.2)."""
        return self.name.replace("PLAY_STATION", "PLAYSTATION")


class LoggingSeverity(Enumeration):
    """How much a line matters."""

    VERBOSE = 1
    INFO = 2
    WARNING = 3
    ERROR = 4
    NONE = 5


class ClientError(Enumeration):
    """Why the connection changed; the specification's Client::Error."""

    NONE = 0
    CONNECTION_FAILED = 1
    UNEXPECTED_CLOSE = 2
    CONNECTION_CANCELED = 3


class ClientStatus(Enumeration):
    """Where the connection stands; the specification's Client::Status."""

    DISCONNECTED = 0
    CONNECTING = 1
    CONNECTED = 2
    READY = 3
    RECONNECTING = 4
    DISCONNECTING = 5
    HTTP_WAIT = 6


class ClientThread(Enumeration):
    """The SDK's threads; the specification's Client::Thread."""

    CLIENT = 0
    VOICE = 1
    NETWORK = 2


class CallError(Enumeration):
    """Why a call ended; the specification's Call::Error."""

    NONE = 0
    SIGNALING_CONNECTION_FAILED = 1
    SIGNALING_UNEXPECTED_CLOSE = 2
    VOICE_CONNECTION_FAILED = 3
    JOIN_TIMEOUT = 4
    FORBIDDEN = 5


class CallStatus(Enumeration):
    """Where a call stands; the specification's Call::Status."""

    DISCONNECTED = 0
    JOINING = 1
    CONNECTING = 2
    SIGNALING_CONNECTED = 3
    CONNECTED = 4
    RECONNECTING = 5
    DISCONNECTING = 6


class AvatarType(Enumeration):
    """Formats of a picture; the specification's UserHandle::AvatarType."""

    GIF = 0
    WEBP = 1
    PNG = 2
    JPEG = 3
