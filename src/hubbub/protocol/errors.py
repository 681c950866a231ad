"""Error codes with HTTP status and message, and the tree of form errors.

The server raises `errors.UNKNOWN_CHANNEL()`; the SDK raises an error of the same kind, so callers compare `error.kind
is errors.UNKNOWN_CHANNEL`. Invalid input is collected in `FormErrors` and raised as one INVALID_FORM_BODY.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

Path = str | tuple[str | int, ...]
"""Location of a form error in the request: `("embeds", 0, "fields")` or "embeds.0.fields"; empty for the whole body."""

FormError = tuple[str, str]
"""Code and message of a form error."""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A kind of error: JSON code, HTTP status and message."""

    code: int
    """JSON error code; 0 for generic errors, which differ by status."""
    status: int
    """HTTP status of the response."""
    message: str
    """Default message."""

    def __call__(self, **extra: Any) -> "ApiError":
        """Return an error of this kind; `extra` adds keys to the body, and `message=` replaces the message."""
        return ApiError(self, extra=extra)


class ApiError(Exception):
    """An error response of the API."""

    def __init__(
        self, kind: ErrorCode, *, errors: dict[str, Any] | None = None, extra: dict[str, Any] | None = None
    ) -> None:
        self.kind = kind
        self.errors = errors
        """Form errors, nested like the request; None if there are none."""
        self.extra = extra or {}
        """Additional keys of the body."""
        self.headers: dict[str, str] = {}
        """Headers of the response."""
        super().__init__(f"{self.extra.get('message', kind.message)} ({kind.code})")

    @property
    def status(self) -> int:
        """HTTP status of the response."""
        return self.kind.status

    def messages_by_field(self, names: Mapping[str, str] = MappingProxyType({})) -> Iterator[tuple[str, list[str]]]:
        """Yield the path and the messages of each field with form errors; `names` replaces steps of the path."""
        return _iter_field_messages(self.errors or {}, names)

    def describe(self, names: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return all form errors as one line, such as `name: This field is required`; without form errors, the message."""
        messages = [
            f"{path}: {text}" if path else text for path, texts in self.messages_by_field(names) for text in texts
        ]
        return "; ".join(messages) or str(self.extra.get("message", self.kind.message))

    def body(self) -> dict[str, Any]:
        """Return the JSON body of the response."""
        body: dict[str, Any] = {"message": self.kind.message, "code": self.kind.code, **self.extra}
        if self.errors is not None:
            body["errors"] = self.errors
        return body


def _iter_field_messages(
    tree: Mapping[str, Any], names: Mapping[str, str], path: str = ""
) -> Iterator[tuple[str, list[str]]]:
    for key, node in tree.items():
        if key == "_errors":
            yield path, [error["message"] for error in node]
        elif isinstance(node, Mapping):
            name = names.get(key, key)
            yield from _iter_field_messages(node, names, f"{path}.{name}" if path else name)


class FormErrors:
    """A collection of form errors, so that all invalid fields are reported together."""

    __slots__ = ("tree",)

    def __init__(self) -> None:
        self.tree: dict[str, Any] = {}
        """Errors nested like the request, with array indexes as string keys.

        Leaves are `{"_errors": [{"code", "message"}]}`.
        """

    def __bool__(self) -> bool:
        return bool(self.tree)

    def add(self, path: Path, code: str, message: str) -> None:
        """Add a form error: `form.add("name", *errors.bad_length(1, 100))`."""
        node = self.tree
        steps: Iterable[str | int] = (path.split(".") if path else ()) if isinstance(path, str) else path
        for step in steps:
            node = node.setdefault(str(step), {})
        node.setdefault("_errors", []).append({"code": code, "message": message})

    def error(self) -> ApiError:
        """Return the collected errors as an INVALID_FORM_BODY."""
        return ApiError(INVALID_FORM_BODY, errors=self.tree)

    def raise_if_any(self) -> None:
        """Raise INVALID_FORM_BODY if any error was added."""
        if self.tree:
            raise self.error()


def invalid(path: Path, code: str, message: str) -> ApiError:
    """Return an INVALID_FORM_BODY for one field: `raise errors.invalid("name", *errors.required())`."""
    form = FormErrors()
    form.add(path, code, message)
    return form.error()


class prefix_error_paths:
    """Context manager that prefixes the paths of form errors raised inside with a key of the request."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ApiError) and error.errors:
            error.errors = {self._key: error.errors}


# Generic errors: code 0, distinguished by status (spec/http.md#1.7).

BAD_REQUEST: Final = ErrorCode(0, 400, "400: Bad Request")
UNAUTHORIZED: Final = ErrorCode(0, 401, "401: Unauthorized")
FORBIDDEN: Final = ErrorCode(0, 403, "403: Forbidden")
NOT_FOUND: Final = ErrorCode(0, 404, "404: Not Found")
METHOD_NOT_ALLOWED: Final = ErrorCode(0, 405, "405: Method Not Allowed")
RATE_LIMITED: Final = ErrorCode(0, 429, "You are being rate limited.")
INTERNAL: Final = ErrorCode(0, 500, "500: Internal Server Error")
UNAVAILABLE: Final = ErrorCode(0, 503, "503: Service Unavailable")

# General

BOTS_CANNOT_USE_ENDPOINT: Final = ErrorCode(20001, 403, "Bots cannot use this endpoint")
ONLY_BOTS_CAN_USE_ENDPOINT: Final = ErrorCode(20002, 403, "Only bots can use this endpoint")
NOT_AUTHORIZED_ON_APPLICATION: Final = ErrorCode(
    20012, 403, "You are not authorized to perform this action on this application"
)
ONLY_OWNER: Final = ErrorCode(20018, 403, "Only the owner of this account can perform this action")
UNDER_MINIMUM_AGE: Final = ErrorCode(20024, 403, "Under minimum age")
CHANNEL_WRITE_RATE_LIMIT: Final = ErrorCode(
    20028, 429, "The write action you are performing on the channel has hit the write rate limit"
)
GUILD_WRITE_RATE_LIMIT: Final = ErrorCode(
    20029, 429, "The write action you are performing on the server has hit the write rate limit"
)
TOKEN_REQUIRED: Final = ErrorCode(40001, 401, "Unauthorized. Provide a valid token and try again")
ACCOUNT_MUST_BE_VERIFIED: Final = ErrorCode(
    40002, 403, "You need to verify your account in order to perform this action"
)
SENDING_MESSAGES_DISABLED: Final = ErrorCode(40004, 400, "Send messages has been temporarily disabled")
REQUEST_ENTITY_TOO_LARGE: Final = ErrorCode(
    40005, 413, "Request entity too large. Try sending something smaller in size"
)
MUST_TRANSFER_OWNERSHIP: Final = ErrorCode(
    40011, 400, "You must transfer ownership of any owned guilds before deleting your account"
)
FEATURE_DISABLED: Final = ErrorCode(40006, 400, "This feature has been temporarily disabled server-side")
SERVICE_RESOURCE_RATE_LIMITED: Final = ErrorCode(40062, 429, "Service resource is being rate limited")
BLOCKED_BY_EDGE: Final = ErrorCode(40333, 403, "internal network error")
MISSING_ACCESS: Final = ErrorCode(50001, 403, "Missing Access")
INVALID_ACCOUNT_TYPE: Final = ErrorCode(50002, 403, "Invalid account type")
MISSING_PERMISSIONS: Final = ErrorCode(50013, 403, "Missing Permissions")
INVALID_AUTHENTICATION_TOKEN: Final = ErrorCode(50014, 401, "Invalid authentication token provided")
INVALID_OAUTH2_ACCESS_TOKEN: Final = ErrorCode(50025, 401, "Invalid OAuth2 access token provided")
MISSING_OAUTH2_SCOPE: Final = ErrorCode(50026, 403, "Missing required OAuth2 scope")
INVALID_FORM_BODY: Final = ErrorCode(50035, 400, "Invalid Form Body")
INVALID_API_VERSION: Final = ErrorCode(50041, 400, "Invalid API version provided")
INVALID_REQUEST_ORIGIN: Final = ErrorCode(50067, 400, "Invalid request origin")
INVALID_JSON: Final = ErrorCode(50109, 400, "The request body contains invalid JSON.")
TWO_FACTOR_REQUIRED: Final = ErrorCode(60003, 401, "Two factor is required for this operation")
APPLICATION_NOT_AVAILABLE: Final = ErrorCode(110001, 202, "Application not yet available. Try again later")
RESOURCE_OVERLOADED: Final = ErrorCode(130000, 503, "API resource is currently overloaded. Try again a little later")

# Unknown entities

UNKNOWN_ACCOUNT: Final = ErrorCode(10001, 404, "Unknown Account")
UNKNOWN_APPLICATION: Final = ErrorCode(10002, 404, "Unknown Application")
UNKNOWN_CHANNEL: Final = ErrorCode(10003, 404, "Unknown Channel")
UNKNOWN_GUILD: Final = ErrorCode(10004, 404, "Unknown Guild")
UNKNOWN_INTEGRATION: Final = ErrorCode(10005, 404, "Unknown Integration")
UNKNOWN_INVITE: Final = ErrorCode(10006, 404, "Unknown Invite")
UNKNOWN_MEMBER: Final = ErrorCode(10007, 404, "Unknown Member")
UNKNOWN_MESSAGE: Final = ErrorCode(10008, 404, "Unknown Message")
UNKNOWN_PERMISSION_OVERWRITE: Final = ErrorCode(10009, 404, "Unknown Permission Overwrite")
UNKNOWN_PROVIDER: Final = ErrorCode(10010, 404, "Unknown Provider")
UNKNOWN_ROLE: Final = ErrorCode(10011, 404, "Unknown Role")
UNKNOWN_TOKEN: Final = ErrorCode(10012, 404, "Unknown Token")
UNKNOWN_USER: Final = ErrorCode(10013, 404, "Unknown User")
UNKNOWN_EMOJI: Final = ErrorCode(10014, 404, "Unknown Emoji")
UNKNOWN_WEBHOOK: Final = ErrorCode(10015, 404, "Unknown Webhook")
UNKNOWN_WEBHOOK_SERVICE: Final = ErrorCode(10016, 404, "Unknown Webhook Service")
UNKNOWN_SESSION: Final = ErrorCode(10020, 404, "Unknown Session")
UNKNOWN_ASSET: Final = ErrorCode(10021, 404, "Unknown Asset")
UNKNOWN_BAN: Final = ErrorCode(10026, 404, "Unknown Ban")
UNKNOWN_SKU: Final = ErrorCode(10027, 404, "Unknown SKU")
UNKNOWN_STORE_LISTING: Final = ErrorCode(10028, 404, "Unknown Store Listing")
UNKNOWN_ENTITLEMENT: Final = ErrorCode(10029, 404, "Unknown Entitlement")
UNKNOWN_BUILD: Final = ErrorCode(10030, 404, "Unknown Build")
UNKNOWN_LOBBY: Final = ErrorCode(10031, 404, "Unknown Lobby")
UNKNOWN_BRANCH: Final = ErrorCode(10032, 404, "Unknown Branch")
UNKNOWN_STORE_LAYOUT: Final = ErrorCode(10033, 404, "Unknown Store Directory Layout")
UNKNOWN_REDISTRIBUTABLE: Final = ErrorCode(10036, 404, "Unknown Redistributable")
UNKNOWN_GIFT_CODE: Final = ErrorCode(10038, 404, "Unknown Gift Code")
UNKNOWN_STREAM: Final = ErrorCode(10049, 404, "Unknown Stream")
UNKNOWN_BOOST_COOLDOWN: Final = ErrorCode(10050, 404, "Unknown Premium Server Subscribe Cooldown")
UNKNOWN_GUILD_TEMPLATE: Final = ErrorCode(10057, 404, "Unknown Guild Template")
UNKNOWN_DISCOVERY_CATEGORY: Final = ErrorCode(10059, 404, "Unknown Discoverable Server Category")
UNKNOWN_STICKER: Final = ErrorCode(10060, 404, "Unknown Sticker")
UNKNOWN_STICKER_PACK: Final = ErrorCode(10061, 404, "Unknown Sticker Pack")
UNKNOWN_INTERACTION: Final = ErrorCode(10062, 404, "Unknown Interaction")
UNKNOWN_APPLICATION_COMMAND: Final = ErrorCode(10063, 404, "Unknown Application Command")
UNKNOWN_VOICE_STATE: Final = ErrorCode(10065, 404, "Unknown Voice State")
UNKNOWN_APPLICATION_COMMAND_PERMISSIONS: Final = ErrorCode(10066, 404, "Unknown Application Command Permissions")
UNKNOWN_STAGE_INSTANCE: Final = ErrorCode(10067, 404, "Unknown Stage Instance")
UNKNOWN_MEMBER_VERIFICATION_FORM: Final = ErrorCode(10068, 404, "Unknown Guild Member Verification Form")
UNKNOWN_WELCOME_SCREEN: Final = ErrorCode(10069, 404, "Unknown Guild Welcome Screen")
UNKNOWN_SCHEDULED_EVENT: Final = ErrorCode(10070, 404, "Unknown Guild Scheduled Event")
UNKNOWN_SCHEDULED_EVENT_USER: Final = ErrorCode(10071, 404, "Unknown Guild Scheduled Event User")
UNKNOWN_TAG: Final = ErrorCode(10087, 404, "Unknown Tag")
UNKNOWN_SOUND: Final = ErrorCode(10097, 404, "Unknown sound")
UNKNOWN_INVITE_TARGET_USERS_JOB: Final = ErrorCode(10124, 404, "Unknown invite target users job")
UNKNOWN_INVITE_TARGET_USERS: Final = ErrorCode(10129, 404, "Unknown invite target users")

# Channels and threads

SLOWMODE_RATE_LIMIT: Final = ErrorCode(20016, 429, "This action cannot be performed due to slowmode rate limit")
MAX_CHANNELS: Final = ErrorCode(30013, 400, "Maximum number of server channels reached (500)")
MAX_DISCOVERY_CATEGORIES: Final = ErrorCode(30030, 400, "Maximum number of server categories has been reached (5)")
MAX_THREAD_PARTICIPANTS: Final = ErrorCode(30033, 400, "Maximum number of thread participants has been reached (1000)")
MAX_PINNED_THREADS: Final = ErrorCode(
    30047, 400, "Maximum number of pinned threads in a forum channel has been reached"
)
MAX_FORUM_TAGS: Final = ErrorCode(30048, 400, "Maximum number of tags in a forum channel has been reached")
BITRATE_TOO_HIGH: Final = ErrorCode(30052, 400, "Bitrate is too high for channel of this type")
MAX_CHANNEL_OVERWRITES: Final = ErrorCode(30060, 400, "Maximum number of channel permission overwrites reached (1000)")
GUILD_CHANNELS_TOO_LARGE: Final = ErrorCode(30061, 400, "The channels for this guild are too large")
PARENT_CHANGED_MORE_THAN_ONCE: Final = ErrorCode(
    40009, 400, "Only one channel can have its parent changed in a single request"
)
CANNOT_SEND_IN_FORUM: Final = ErrorCode(
    40058, 400, "Cannot send messages in a forum channel; create a thread with a message instead"
)
TAG_NAMES_MUST_BE_UNIQUE: Final = ErrorCode(40061, 400, "Tag names must be unique")
NO_TAGS_FOR_NON_MODERATORS: Final = ErrorCode(
    40066, 400, "There are no tags available that can be set by non-moderators"
)
TAG_REQUIRED: Final = ErrorCode(40067, 400, "A tag is required to create a forum post in this channel")
CANNOT_EXECUTE_ON_DM: Final = ErrorCode(50003, 400, "Cannot execute action on a DM channel")
CANNOT_SEND_IN_CHANNEL: Final = ErrorCode(50008, 400, "Cannot send messages in a non-text channel")
VERIFICATION_LEVEL_TOO_HIGH: Final = ErrorCode(
    50009, 403, "Channel verification level is too high for you to gain access"
)
WRONG_CHANNEL_TYPE: Final = ErrorCode(50024, 400, "Cannot execute action on this channel type")
CANNOT_DELETE_COMMUNITY_CHANNEL: Final = ErrorCode(50074, 400, "Cannot delete a channel required for Community guilds")
THREAD_ARCHIVED: Final = ErrorCode(50083, 400, "Thread is archived")
INVALID_THREAD_NOTIFICATION_SETTINGS: Final = ErrorCode(50084, 400, "Invalid thread notification settings")
BEFORE_THREAD_CREATION: Final = ErrorCode(50085, 400, "`before` value is earlier than the thread creation date")
COMMUNITY_CHANNELS_MUST_BE_TEXT: Final = ErrorCode(50086, 400, "Community server channels must be text channels")
MESSAGE_ALREADY_HAS_THREAD: Final = ErrorCode(160004, 400, "A thread has already been created for this message")
THREAD_LOCKED: Final = ErrorCode(160005, 400, "Thread is locked")
MAX_ACTIVE_THREADS: Final = ErrorCode(160006, 400, "Maximum number of active threads reached")
MAX_ACTIVE_ANNOUNCEMENT_THREADS: Final = ErrorCode(160007, 400, "Maximum number of active announcement threads reached")

# Messages, reactions, pins, polls

EXPLICIT_CONTENT_BLOCKED: Final = ErrorCode(20009, 403, "Explicit content cannot be sent to the desired recipient(s)")
ANNOUNCEMENT_EDIT_RATE_LIMIT: Final = ErrorCode(
    20022, 429, "This message cannot be edited due to announcement rate limits"
)
MAX_PINS: Final = ErrorCode(30003, 400, "Maximum number of pins reached for the channel (250)")
MAX_REACTIONS: Final = ErrorCode(30010, 400, "Maximum number of reactions reached (20)")
MAX_ATTACHMENTS: Final = ErrorCode(30015, 400, "Maximum number of attachments in a message reached (10)")
MAX_OLD_MESSAGE_EDITS: Final = ErrorCode(
    30046, 429, "Maximum number of edits to messages older than 1 hour reached. Try again later"
)
OPENING_DMS_TOO_FAST: Final = ErrorCode(40003, 429, "You are opening direct messages too fast")
ALREADY_CROSSPOSTED: Final = ErrorCode(40033, 400, "This message has already been crossposted")
CANNOT_EDIT_OTHERS_MESSAGE: Final = ErrorCode(50005, 403, "Cannot edit a message authored by another user")
EMPTY_MESSAGE: Final = ErrorCode(50006, 400, "Cannot send an empty message")
CANNOT_MESSAGE_USER: Final = ErrorCode(50007, 403, "Cannot send messages to this user")
BAD_BULK_DELETE_COUNT: Final = ErrorCode(
    50016,
    400,
    "Provided too few or too many messages to delete. Must provide at least 2 and fewer than 100 messages to delete",
)
PIN_IN_OTHER_CHANNEL: Final = ErrorCode(50019, 400, "A message can only be pinned to the channel it was sent in")
CANNOT_EXECUTE_ON_SYSTEM_MESSAGE: Final = ErrorCode(50021, 403, "Cannot execute action on a system message")
INVALID_RECIPIENTS: Final = ErrorCode(50033, 400, "Invalid Recipient(s)")
BULK_DELETE_TOO_OLD: Final = ErrorCode(50034, 400, "You can only bulk delete messages that are under 14 days old.")
FILE_TOO_LARGE: Final = ErrorCode(50045, 413, "File uploaded exceeds the maximum size")
INVALID_FILE: Final = ErrorCode(50046, 400, "Invalid file uploaded")
INVALID_MESSAGE_TYPE: Final = ErrorCode(50068, 400, "Invalid message type")
CANNOT_EDIT_STICKERS: Final = ErrorCode(50080, 400, "Cannot edit stickers within a message")
INVALID_STICKER: Final = ErrorCode(50081, 400, "Invalid sticker sent")
UPLOADED_FILE_NOT_FOUND: Final = ErrorCode(50146, 400, "Uploaded file not found.")
INVALID_EMOJI: Final = ErrorCode(50151, 400, "The specified emoji is invalid")
VOICE_MESSAGE_EXTRA_CONTENT: Final = ErrorCode(50159, 400, "Voice messages do not support additional content.")
VOICE_MESSAGE_SINGLE_AUDIO: Final = ErrorCode(50160, 400, "Voice messages must have a single audio attachment.")
VOICE_MESSAGE_METADATA: Final = ErrorCode(50161, 400, "Voice messages must have supporting metadata.")
VOICE_MESSAGE_CANNOT_EDIT: Final = ErrorCode(50162, 400, "Voice messages cannot be edited.")
VOICE_MESSAGE_NOT_ALLOWED: Final = ErrorCode(50173, 403, "You cannot send voice messages in this channel.")
NO_MUTUAL_GUILDS: Final = ErrorCode(50278, 403, "Cannot send messages to this user due to having no mutual guilds")
STICKER_NOT_ALLOWED: Final = ErrorCode(50600, 403, "You do not have permission to send this sticker.")
REACTION_BLOCKED: Final = ErrorCode(90001, 403, "Reaction was blocked")
BURST_REACTIONS_UNAVAILABLE: Final = ErrorCode(90002, 403, "User cannot use burst reactions")
INDEX_NOT_AVAILABLE: Final = ErrorCode(110000, 202, "Index not yet available. Try again later")
REPLY_NEEDS_READ_MESSAGE_HISTORY: Final = ErrorCode(
    160002, 403, "Cannot reply without permission to read message history"
)
FORWARD_NEEDS_READABLE_CONTENT: Final = ErrorCode(
    160014, 400, "You cannot forward a message whose content you cannot read"
)
AUTO_MODERATION_BLOCKED_MESSAGE: Final = ErrorCode(200000, 400, "Message was blocked by automatic moderation")
AUTO_MODERATION_BLOCKED_TITLE: Final = ErrorCode(200001, 400, "Title was blocked by automatic moderation")
HARMFUL_LINK_BLOCKED: Final = ErrorCode(240000, 400, "Message blocked by harmful links filter")
UPLOADS_LIMITED: Final = ErrorCode(400001, 403, "File uploads are temporarily limited for this server. Try again later")
POLL_VOTING_BLOCKED: Final = ErrorCode(520000, 400, "Poll voting blocked")
POLL_EXPIRED: Final = ErrorCode(520001, 400, "Poll expired")
POLL_INVALID_CHANNEL_TYPE: Final = ErrorCode(520002, 400, "Invalid channel type for poll creation")
POLL_CANNOT_EDIT: Final = ErrorCode(520003, 400, "Cannot edit a poll message")
POLL_CANNOT_USE_EMOJI: Final = ErrorCode(520004, 400, "Cannot use an emoji included with the poll")
POLL_CANNOT_EXPIRE_NON_POLL: Final = ErrorCode(520006, 400, "Cannot expire a non-poll message")

# Guilds, members, roles, bans, invites, groups, lobbies

BANNED_WORDS: Final = ErrorCode(
    20031,
    400,
    "Your Stage topic, server name, server description, or channel names contain words that are not allowed",
)
BOOST_LEVEL_TOO_LOW: Final = ErrorCode(20035, 403, "Guild premium subscription level too low")
MAX_GUILDS: Final = ErrorCode(30001, 400, "Maximum number of servers reached (100)")
MAX_RECIPIENTS: Final = ErrorCode(30004, 400, "Maximum number of recipients reached (10)")
MAX_GROUP_DMS: Final = ErrorCode(30011, 400, "Maximum number of group DMs reached (10)")
# The specification leaves the codes of lobby limits open; these are the closest ones of the public table (decisions/0042).
MAX_LOBBIES: Final = ErrorCode(30074, 400, "Maximum number of lobbies reached (100)")
MAX_LOBBY_MEMBERS: Final = ErrorCode(30075, 400, "Maximum number of lobby members reached (1000)")
MAX_ROLES: Final = ErrorCode(30005, 400, "Maximum number of server roles reached (250)")
MAX_INVITES: Final = ErrorCode(30016, 400, "Maximum number of invites reached (1000)")
MAX_MEMBERS: Final = ErrorCode(30019, 400, "Maximum number of server members reached")
MAX_NON_MEMBER_BANS: Final = ErrorCode(30035, 400, "Maximum number of bans for non-guild members have been exceeded")
MAX_BAN_FETCHES: Final = ErrorCode(30037, 400, "Maximum number of bans fetches has been reached")
MAX_PRUNES: Final = ErrorCode(30040, 429, "Maximum number of prune requests has been reached. Try again later")
USER_BANNED: Final = ErrorCode(40007, 403, "The user is banned from this guild")
TARGET_NOT_IN_VOICE: Final = ErrorCode(40032, 400, "Target user is not connected to voice")
INVALID_MFA_LEVEL: Final = ErrorCode(50017, 400, "Invalid MFA Level")
INVITE_INVALID_OR_TAKEN: Final = ErrorCode(50020, 400, "Invite code was either invalid or taken")
INVALID_ROLE: Final = ErrorCode(50028, 400, "Invalid role")
INVITE_TO_GUILD_WITHOUT_BOT: Final = ErrorCode(
    50036, 403, "An invite was accepted to a guild the application's bot is not in"
)
INVALID_GUILD: Final = ErrorCode(50055, 400, "Invalid Guild")
# The public status is 451, which client libraries do not map to an exception, so this server sends 403 (spec/http.md#1.9).
GUILD_NOT_AVAILABLE_IN_LOCATION: Final = ErrorCode(50095, 403, "This server is not available in your location")
MORE_BOOSTS_NEEDED: Final = ErrorCode(50101, 403, "This server needs more boosts to perform this action")
OWNER_CANNOT_BE_PENDING: Final = ErrorCode(50131, 400, "Owner cannot be pending member")
OWNERSHIP_CANNOT_GO_TO_BOT: Final = ErrorCode(50132, 400, "Ownership cannot be transferred to a bot user")
CANNOT_ENABLE_ONBOARDING: Final = ErrorCode(350000, 400, "Cannot enable onboarding, requirements are not met")
CANNOT_UPDATE_ONBOARDING: Final = ErrorCode(350001, 400, "Cannot update onboarding while below requirements")
LIMITED_FROM_JOINING_GUILDS: Final = ErrorCode(340015, 403, "You are limited from joining new servers")
FAILED_TO_BAN_USERS: Final = ErrorCode(500000, 400, "Failed to ban users")

# Webhooks, integrations, templates, widget

MAX_WEBHOOKS: Final = ErrorCode(30007, 400, "Maximum number of webhooks reached (15)")
MAX_GUILD_WEBHOOKS: Final = ErrorCode(30058, 400, "Maximum number of webhooks per guild reached (1000)")
GUILD_ALREADY_HAS_TEMPLATE: Final = ErrorCode(30031, 400, "Guild already has a template")
MAX_WIDGET_UPDATES: Final = ErrorCode(
    30042, 429, "Maximum number of guild widget settings updates has been reached. Try again later"
)
WIDGET_DISABLED: Final = ErrorCode(50004, 403, "Widget Disabled")
INVALID_WEBHOOK_TOKEN: Final = ErrorCode(50027, 401, "Invalid Webhook Token")
CANNOT_MODIFY_SYSTEM_WEBHOOK: Final = ErrorCode(50073, 400, "Cannot modify a system webhook")
CANNOT_DELETE_GUILD_SUBSCRIPTION_INTEGRATION: Final = ErrorCode(
    50163, 400, "Cannot delete guild subscription integration"
)
FORUM_WEBHOOK_NEEDS_THREAD: Final = ErrorCode(
    220001, 400, "Webhooks posted to forum channels must have a thread_name or thread_id"
)
FORUM_WEBHOOK_THREAD_TWICE: Final = ErrorCode(
    220002, 400, "Webhooks posted to forum channels cannot have both a thread_name and thread_id"
)
WEBHOOK_THREAD_OUTSIDE_FORUM: Final = ErrorCode(220003, 400, "Webhooks can only create threads in forum channels")
SERVICE_WEBHOOK_IN_FORUM: Final = ErrorCode(220004, 400, "Webhook services cannot be used in forum channels")

# Emoji, stickers, sounds

MAX_EMOJIS: Final = ErrorCode(30008, 400, "Maximum number of emojis reached")
MAX_ANIMATED_EMOJIS: Final = ErrorCode(30018, 400, "Maximum number of animated emojis reached")
MAX_PREMIUM_EMOJIS: Final = ErrorCode(30056, 400, "Maximum number of premium emojis reached (25)")
MAX_STICKERS: Final = ErrorCode(30039, 400, "Maximum number of stickers reached")
MAX_SOUNDS: Final = ErrorCode(30045, 400, "Maximum number of soundboard sounds reached")
FILE_INVALID: Final = ErrorCode(50110, 400, "The provided file is invalid.")
FILE_TYPE_INVALID: Final = ErrorCode(50123, 400, "The provided file type is invalid.")
FILE_TOO_LONG: Final = ErrorCode(50124, 400, "The provided file duration exceeds maximum of 5.2 seconds.")
FILE_WITHOUT_DURATION: Final = ErrorCode(50192, 400, "The provided file does not have a valid duration.")
CANNOT_RESIZE_ASSET: Final = ErrorCode(50138, 400, "Failed to resize asset below the maximum size: 262144")
MIXED_SUBSCRIPTION_ROLES: Final = ErrorCode(
    50144, 400, "Cannot mix subscription and non subscription roles for an emoji"
)
CANNOT_CONVERT_PREMIUM_EMOJI: Final = ErrorCode(50145, 400, "Cannot convert between premium emoji and normal emoji")
VOICE_EFFECT_WHILE_SILENCED: Final = ErrorCode(
    50167, 403, "You cannot send voice effect when user is server muted, deafened, or suppressed"
)
LOTTIE_INVALID_JSON: Final = ErrorCode(170001, 400, "Uploaded JSON for Lottie sticker is invalid")
LOTTIE_RASTER_IMAGES: Final = ErrorCode(
    170002, 400, "Uploaded Lotties cannot contain rasterized images such as PNG or JPEG"
)
LOTTIE_FRAME_RATE: Final = ErrorCode(170003, 400, "Sticker maximum framerate exceeded")
LOTTIE_FRAME_COUNT: Final = ErrorCode(170004, 400, "Sticker frame count exceeds maximum of 1000 frames")
LOTTIE_DIMENSIONS: Final = ErrorCode(170005, 400, "Lottie animation maximum dimensions exceeded")
LOTTIE_FRAME_RATE_RANGE: Final = ErrorCode(170006, 400, "Sticker frame rate is either too small or too large")
LOTTIE_DURATION: Final = ErrorCode(170007, 400, "Sticker animation duration exceeds maximum of 5 seconds")

# Applications, commands, interactions, OAuth2

MAX_APPLICATION_COMMANDS: Final = ErrorCode(30032, 400, "Maximum number of application commands reached")
MAX_DAILY_COMMAND_CREATES: Final = ErrorCode(
    30034, 429, "Max number of daily application command creates has been reached (200)"
)
COMMAND_NAME_EXISTS: Final = ErrorCode(40041, 400, "An application command with that name already exists")
INTERACTION_FAILED_TO_SEND: Final = ErrorCode(40043, 400, "Application interaction failed to send")
INTERACTION_ALREADY_ACKNOWLEDGED: Final = ErrorCode(40060, 400, "Interaction has already been acknowledged.")
MAX_FOLLOW_UPS: Final = ErrorCode(40094, 400, "Maximum number of follow-up messages reached for this interaction (5)")
APPLICATION_HAS_NO_BOT: Final = ErrorCode(50010, 400, "OAuth2 application does not have a bot")
APPLICATION_LIMIT: Final = ErrorCode(50011, 400, "OAuth2 application limit reached")
INVALID_OAUTH2_STATE: Final = ErrorCode(50012, 400, "Invalid OAuth2 state")
INVALID_ACTIVITY_ACTION: Final = ErrorCode(50039, 400, "Invalid activity action")

# Stages, events, voice

MAX_SCHEDULED_EVENTS: Final = ErrorCode(
    30038, 400, "Maximum number of uncompleted guild scheduled events reached (100)"
)
WRONG_EVENT_ENTITY_TYPE: Final = ErrorCode(
    50091, 400, "The entity type of the event is different from the entity you are trying to start the event for"
)
STAGE_ALREADY_OPEN: Final = ErrorCode(150006, 400, "The Stage is already open")
CANNOT_UPDATE_FINISHED_EVENT: Final = ErrorCode(180000, 400, "Cannot update a finished event")
CANNOT_CREATE_STAGE_FOR_EVENT: Final = ErrorCode(180002, 400, "Failed to create stage needed for stage event")

# Monetization

PREMIUM_SUBSCRIPTION_NEEDED: Final = ErrorCode(20015, 403, "A premium subscription is required for this action")
SKU_NOT_CONSUMABLE: Final = ErrorCode(40018, 400, "Cannot consume an entitlement for a non-consumable SKU")
CANNOT_DELETE_ENTITLEMENT: Final = ErrorCode(40019, 400, "You can only delete test entitlements")
ENTITLEMENT_ALREADY_GRANTED: Final = ErrorCode(40074, 400, "Entitlement has already been granted")
CANNOT_REDEEM_OWN_GIFT: Final = ErrorCode(50054, 400, "Cannot self-redeem this gift")
INVALID_SKU: Final = ErrorCode(50057, 400, "Invalid SKU")
PAYMENT_SOURCE_REQUIRED: Final = ErrorCode(50070, 400, "Payment source required to redeem gift")
MONETIZATION_NOT_ENABLED: Final = ErrorCode(
    50097, 400, "This server needs monetization enabled in order to perform this action"
)

# Connections, accounts, friends

MAX_FRIENDS: Final = ErrorCode(30002, 400, "Maximum number of friends reached (1000)")
CONNECTION_REVOKED: Final = ErrorCode(40012, 400, "The connection has been revoked")
NOTE_TOO_LONG: Final = ErrorCode(50015, 400, "Note was too long")
USER_ACCOUNT_MUST_BE_VERIFIED: Final = ErrorCode(50178, 403, "The user account must first be verified")
ACCOUNT_IS_PROVISIONAL: Final = ErrorCode(50229, 400, "This account is provisional")
FRIEND_REQUESTS_DISABLED: Final = ErrorCode(80000, 400, "Incoming friend requests disabled")
FRIEND_REQUEST_BLOCKED: Final = ErrorCode(80001, 400, "Friend request blocked")
BOTS_CANNOT_HAVE_FRIENDS: Final = ErrorCode(80002, 400, "Bots cannot have friends")
CANNOT_BEFRIEND_SELF: Final = ErrorCode(80003, 400, "Cannot send friend request to self")
NO_USER_WITH_TAG: Final = ErrorCode(80004, 400, "No users with that tag exist")
ALREADY_FRIENDS: Final = ErrorCode(80007, 400, "You are already friends with that user")

# Provisional accounts and merge

PROVISIONAL_ACCOUNTS_NOT_ENABLED: Final = ErrorCode(
    530000, 403, "Provisional accounts are not enabled for this application"
)
ID_TOKEN_EXPIRED: Final = ErrorCode(530001, 400, "The provider ID token has expired")
ID_TOKEN_ISSUER_MISMATCH: Final = ErrorCode(
    530002, 400, "The issuer of the ID token does not match the configured issuer"
)
ID_TOKEN_AUDIENCE_MISMATCH: Final = ErrorCode(
    530003, 400, "The audience of the ID token does not match the configured audience"
)
ID_TOKEN_TOO_OLD: Final = ErrorCode(530004, 400, "The ID token was issued more than 7 days ago")
USERNAME_GENERATION_FAILED: Final = ErrorCode(530006, 503, "Failed to generate a unique username in time. Try again")
INVALID_CLIENT_SECRET: Final = ErrorCode(530007, 401, "Invalid client secret")
OIDC_DISCOVERY_UNREACHABLE: Final = ErrorCode(530008, 400, "The OIDC discovery document could not be fetched")
OIDC_KEYS_UNREACHABLE: Final = ErrorCode(530009, 400, "The OIDC JWKS could not be fetched")
ACCOUNT_NOT_PROVISIONAL: Final = ErrorCode(
    530010, 400, "This account is linked and not provisional; use OAuth2 instead"
)
MERGE_SOURCE_NOT_PROVISIONAL: Final = ErrorCode(530014, 400, "The merge source is not a provisional account")
MERGE_DESTINATION_PROVISIONAL: Final = ErrorCode(530016, 400, "The merge destination is a provisional account")
MERGE_SOURCE_BANNED: Final = ErrorCode(530017, 400, "The merge source user is banned")
INVALID_OIDC_TOKEN: Final = ErrorCode(530020, 400, "Invalid OIDC JWT")
EXTERNAL_IDENTITY_EXISTS: Final = ErrorCode(
    530023, 400, "The user already has an external identity for this application"
)
OIDC_TOKEN_WITHOUT_KID: Final = ErrorCode(530027, 400, "The OIDC JWT has no kid header")


BY_NAME: Final[dict[str, ErrorCode]] = {
    name: value for name, value in globals().items() if isinstance(value, ErrorCode)
}
"""All error codes by constant name."""

BY_CODE: Final[dict[int, ErrorCode]] = {kind.code: kind for kind in BY_NAME.values() if kind.code}
"""Error codes by JSON code, without the generic ones (code 0)."""

_GENERIC_BY_STATUS: Final = {kind.status: kind for kind in BY_NAME.values() if not kind.code}


def find(code: int, status: int | None = None) -> ErrorCode | None:
    """Return the error code with a JSON code, or None if it is unknown; for code 0, return the generic error of the status."""
    if code:
        return BY_CODE.get(code)
    return None if status is None else _GENERIC_BY_STATUS.get(status)


# Form errors: the codes of spec/http.md#1.7 with the platform's messages. The API reference publishes these docstrings.


def required() -> FormError:
    """A required field is missing or null."""
    return "BASE_TYPE_REQUIRED", "This field is required"


def choices(values: Iterable[object]) -> FormError:
    """The value is not one of the allowed values."""
    return "BASE_TYPE_CHOICES", f"Value must be one of {_format_values(values)}."


def bad_length(minimum: int, maximum: int) -> FormError:
    """The length of a string or array is outside the allowed range."""
    return "BASE_TYPE_BAD_LENGTH", f"Must be between {minimum} and {maximum} in length."


def max_length(maximum: int) -> FormError:
    """A string or array is too long."""
    return "BASE_TYPE_MAX_LENGTH", f"Must be {maximum} or fewer in length."


def min_length(minimum: int) -> FormError:
    """A string or array is too short."""
    return "BASE_TYPE_MIN_LENGTH", f"Must be {minimum} or more in length."


def regex() -> FormError:
    """A string does not match the required pattern."""
    return "STRING_TYPE_REGEX", "String value did not match validation regex."


def not_string(value: object) -> FormError:
    """The value is not a string."""
    return "STRING_TYPE_CONVERT", f'Could not interpret "{_truncate(value)}" as string.'


def not_snowflake(value: object) -> FormError:
    """The value is not an ID."""
    return "NUMBER_TYPE_COERCE", f'Value "{_truncate(value)}" is not snowflake.'


def not_number(value: object, kind: str = "int") -> FormError:
    """The value is not a number; `kind` is int or float."""
    return "NUMBER_TYPE_COERCE", f'Value "{_truncate(value)}" is not {kind}.'


def number_max(maximum: float, kind: str = "int") -> FormError:
    """A number is too large."""
    return "NUMBER_TYPE_MAX", f"{kind} value should be less than or equal to {maximum}."


def number_min(minimum: float, kind: str = "int") -> FormError:
    """A number is too small."""
    return "NUMBER_TYPE_MIN", f"{kind} value should be greater than or equal to {minimum}."


def not_boolean() -> FormError:
    """The value is not a boolean."""
    return "BOOLEAN_TYPE_CONVERT", "Must be either true or false."


def bad_enum(value: object) -> FormError:
    """The value is not a member of the enumeration."""
    return "ENUM_TYPE_COERCE", f'Value "{_truncate(value)}" is not a valid enum value.'


def not_model() -> FormError:
    """The value is not an object."""
    return "MODEL_TYPE_CONVERT", "Only dictionaries may be used in a ModelType"


def not_dict() -> FormError:
    """The value is not a map."""
    return "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType"


def not_list() -> FormError:
    """The value is not an array."""
    return "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType"


def union_choices(values: Iterable[object], field: str = "type") -> FormError:
    """The discriminator field has an unknown value."""
    return "UNION_TYPE_CHOICES", f'Value of field "{field}" must be one of {_format_values(values)}.'


def bad_timestamp(value: object) -> FormError:
    """The value is not a valid timestamp."""
    return "DATE_TIME_TYPE_PARSE", f"Could not parse {_truncate(value)}. Should be ISO8601."


def bad_url() -> FormError:
    """The value is not a valid URL."""
    return "URL_TYPE_INVALID_URL", "Not a well formed URL."


def bad_scheme(scheme: str, allowed: Iterable[str] = ("http", "https")) -> FormError:
    """The scheme of a URL is not supported."""
    return (
        "URL_TYPE_INVALID_SCHEME",
        f'Scheme "{_truncate(scheme)}" is not supported. Scheme must be one of {_format_values(allowed)}.',
    )


def duplicate() -> FormError:
    """A value occurs more than once in a set."""
    return "SET_TYPE_ALREADY_CONTAINS_VALUE", "The set already contains this value"


def max_size(size: str) -> FormError:
    """An uploaded file is too large; `size` is the limit with its unit, such as "256.0 kb"."""
    return "BINARY_TYPE_MAX_SIZE", f"File cannot be larger than {size}."


def bad_image() -> FormError:
    """Image data cannot be decoded."""
    return "IMAGE_INVALID", "Invalid image data"


def nonce_type() -> FormError:
    """A nonce is neither a string nor an integer."""
    return "NONCE_TYPE_INVALID_TYPE", "This field must be a string or integer."


def nonce_length(maximum: int = 25) -> FormError:
    """A nonce is too long."""
    return "NONCE_TYPE_TOO_LONG", f"Must be {maximum} or fewer characters long."


def embed_size(maximum: int = 6000) -> FormError:
    """The texts of all embeds together are too long."""
    return "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {maximum}"


def reply_unknown_message() -> FormError:
    """The referenced message does not exist."""
    return "REPLIES_UNKNOWN_MESSAGE", "Unknown message"


def reply_other_channel() -> FormError:
    """The referenced message is in another channel."""
    return "REPLIES_CANNOT_REFERENCE_OTHER_CHANNEL", "Cannot reply to a message in a different channel"


def reply_system_message() -> FormError:
    """The referenced message is a system message."""
    return "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message"


def mentions_exclusive(kind: str) -> FormError:
    """`parse` contains a type of mention whose IDs are also listed; `kind` is users or roles."""
    return (
        "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
        f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
    )


def components_v2_field(field: str) -> FormError:
    """The field is not allowed in a message with IS_COMPONENTS_V2."""
    return (
        "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2",
        f"The '{field}' field cannot be used when using MessageFlags.IS_COMPONENTS_V2",
    )


def attachment_not_found() -> FormError:
    """An attachment entry has no matching file."""
    return "ATTACHMENT_NOT_FOUND", "Attachment data not found"


def custom_id_duplicated() -> FormError:
    """Two components have the same `custom_id`."""
    return "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated"


def component_width() -> FormError:
    """The components of an action row are wider than five units."""
    return "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width"


def component_type() -> FormError:
    """The component type is not allowed in this position."""
    return "COMPONENT_TYPE_INVALID", "The specified component type is invalid in this context"


def component_field() -> FormError:
    """The field is not allowed on this component."""
    return "COMPONENT_FIELD_INVALID", "This field cannot be used on this component"


def component_sku() -> FormError:
    """The SKU of a premium button is not an active SKU of the application."""
    return "BUTTON_COMPONENT_INVALID_SKU", "Invalid SKU"


def button_custom_id_required() -> FormError:
    """A button requires a `custom_id`."""
    return "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id is required"


def button_custom_id_or_url() -> FormError:
    """A button has both a `custom_id` and a URL."""
    return "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE", "A custom id and url cannot both be specified"


def button_emoji() -> FormError:
    """The emoji of a button does not exist."""
    return "BUTTON_COMPONENT_INVALID_EMOJI", "Invalid emoji"


def option_value_duplicated() -> FormError:
    """Two options of a select have the same value."""
    return "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used"


def too_many_default_values() -> FormError:
    """A select has more default values than `max_values`."""
    return "SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES", "The number of default values exceeds max_values"


def parent_type() -> FormError:
    """The parent channel is not a category."""
    return "CHANNEL_PARENT_INVALID_TYPE", "Not a category"


def parent_max_channels(maximum: int = 50) -> FormError:
    """The category has the maximum number of channels."""
    return "CHANNEL_PARENT_MAX_CHANNELS", f"Maximum number of channels in category reached ({maximum})"


def command_name() -> FormError:
    """The name of a command or option contains invalid characters."""
    return "APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid"


def command_options_required() -> FormError:
    """A required option follows an optional one."""
    return (
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        "Required options must be placed before non-required options",
    )


def command_context_menu(property_name: str) -> FormError:
    """A context menu command has a property of chat input commands; `property_name` is description or options."""
    return (
        f"CONTEXT_MENU_COMMAND_{property_name.upper()}_NOT_ALLOWED",
        f"Context menu commands cannot have {property_name}",
    )


def command_option_name_duplicated() -> FormError:
    """Two options on the same level have the same name, in at least one locale."""
    return "APPLICATION_COMMAND_OPTIONS_NAME_DUPLICATE", "Option names must be unique"


def command_option_choices() -> FormError:
    """An option has both autocomplete and choices."""
    return "APPLICATION_COMMAND_OPTIONS_CHOICES_AUTOCOMPLETE", "Options with autocomplete cannot have choices"


def command_handler() -> FormError:
    """A command other than an entry point command has a handler."""
    return "APPLICATION_COMMAND_HANDLER_NOT_ALLOWED", "Only entry point commands can have a handler"


def command_permission_target() -> FormError:
    """The target of a command permission does not exist in the guild."""
    return "APPLICATION_COMMAND_PERMISSIONS_UNKNOWN_TARGET", "Unknown role, user or channel"


def command_outdated() -> FormError:
    """The command has changed since the client loaded it; the client should load it again."""
    return (
        "INTERACTION_APPLICATION_COMMAND_INVALID_VERSION",
        "This command is outdated, please try again in a few minutes",
    )


def command_duplicate_name() -> FormError:
    """Two commands in a list have the same name."""
    return "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique"


def command_too_large(maximum: int = 8000) -> FormError:
    """The texts of a command together are too long."""
    return "APPLICATION_COMMAND_TOO_LARGE", f"Command exceeds maximum size ({maximum})"


def _format_values(values: Iterable[object]) -> str:
    """Format values as the platform lists them: ('http', 'https')."""
    return f"({', '.join(repr(value) for value in values)})"


def _truncate(value: object) -> str:
    """Return a value of the client as text, truncated for an error message."""
    return str(value)[:64]
