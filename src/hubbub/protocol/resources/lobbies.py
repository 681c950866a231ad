"""Lobbies: groups of players of a game, with members, messages and an optional linked guild channel (spec/sdk.md#12)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, Scope
from hubbub.protocol.ids import ApplicationId, ChannelId, LobbyId, MessageId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.auto_moderation import AUTO_MODERATION_ACTION_EXECUTION
from hubbub.protocol.resources.channels import CHANNEL_UPDATE, Channel
from hubbub.protocol.resources.identities import UserApplicationProfile
from hubbub.protocol.resources.invites import INVITE_CREATE
from hubbub.protocol.resources.message_parts import MessageLobbyMember
from hubbub.protocol.resources.messages import MESSAGE_CREATE, CreateMessage, DispatchedMessage
from hubbub.protocol.resources.users import User

LOBBY_MEMBERS_MAX: Final = 1000
LOBBY_MEMBERS_PER_REQUEST_MAX: Final = 25
"""Maximum number of members that one request adds or updates."""
LOBBIES_PER_USER_MAX: Final = 100
"""Maximum number of lobbies per user and application: the value of the guide; the header has 200 (spec/sdk.md#18)."""
LOBBY_SECRET_MAX: Final = 250
LOBBY_SECRET_LIFETIME_MS: Final = 30 * 24 * 3_600_000
"""Time in milliseconds after which users can no longer join a lobby with its secret."""
LOBBY_IDLE_SECONDS_DEFAULT: Final = 300
LOBBY_IDLE_SECONDS_MIN: Final = 5
LOBBY_IDLE_SECONDS_MAX: Final = 604_800
LOBBY_METADATA_KEYS_MAX: Final = 25
LOBBY_METADATA_TEXT_LENGTH_MAX: Final = 1024
"""Maximum length of one key or value, in characters."""
LOBBY_METADATA_TOTAL_MAX: Final = 1000
"""Maximum total length of all keys and values: the guide's limit, in addition to the limits of the schema (spec/sdk.md#18)."""
LOBBY_MESSAGES_PAGE_MAX: Final = 200
LOBBY_HISTORY_MS: Final = 72 * 3_600_000
"""Maximum age in milliseconds of messages that can be listed."""
ADDITIONAL_NAME_MAX: Final = 80
OVERRIDE_URL_MAX: Final = 512
"""Maximum length of the URL that receives the webhook events of one lobby, in characters."""
MODERATION_METADATA_KEYS_MAX: Final = 5
MODERATION_METADATA_KEY_LENGTH_MAX: Final = 1024
MODERATION_METADATA_VALUE_LENGTH_MAX: Final = 2000
LOBBY_INVITE_LIFETIME_SECONDS: Final = 3600
"""Lifetime of an invite to the guild of the linked channel."""

Metadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=LOBBY_METADATA_TEXT_LENGTH_MAX)],
        Annotated[str, Meta(max_length=LOBBY_METADATA_TEXT_LENGTH_MAX)],
    ],
    Meta(max_length=LOBBY_METADATA_KEYS_MAX),
]
"""Key-value pairs defined by the game."""
ModerationMetadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=MODERATION_METADATA_KEY_LENGTH_MAX)],
        Annotated[str, Meta(max_length=MODERATION_METADATA_VALUE_LENGTH_MAX)],
    ],
    Meta(max_length=MODERATION_METADATA_KEYS_MAX),
]
"""Moderation results of an application for a message, visible only to its own players."""
IdleTimeout = Annotated[int, Meta(ge=LOBBY_IDLE_SECONDS_MIN, le=LOBBY_IDLE_SECONDS_MAX)]
OverrideUrl = Annotated[str, Meta(max_length=OVERRIDE_URL_MAX)]
AdditionalName = Annotated[str, Meta(min_length=1, max_length=ADDITIONAL_NAME_MAX)]


class LobbyMember(Struct, kw_only=True):
    """A user in a lobby."""

    id: UserId
    """ID of the user."""
    metadata: dict[str, str] | None
    """Metadata of the member; null if there is none."""
    flags: int
    """Flags of the member: 1 << 0 allows linking a channel."""
    additional_name: str | UnsetType = UNSET
    """Additional display name, such as the name of the player's character; absent if there is none.
    Only the application's backend can set it."""


class Lobby(Struct, kw_only=True):
    """A lobby in HTTP responses."""

    id: LobbyId
    """ID of the lobby."""
    application_id: ApplicationId
    """ID of the application that owns the lobby."""
    metadata: dict[str, str] | None
    """Metadata of the lobby; null if there is none."""
    members: list[LobbyMember]
    """Members of the lobby."""
    flags: int
    """Flags of the lobby; a `LobbyFlags` bit set."""
    linked_channel: Channel | UnsetType = UNSET
    """Guild channel linked to the lobby; absent if there is none."""
    override_event_webhooks_url: str | UnsetType = UNSET
    """URL that receives webhook events of this lobby instead of the application's URL; absent if none, and for players."""


class GatewayLobbyMember(Struct, kw_only=True):
    """A user in a lobby in the form seen by players."""

    user_id: UserId
    """ID of the user."""
    user: User
    """User account of the lobby member."""
    metadata: dict[str, str] | None
    """Metadata of the member; null if there is none."""
    flags: int
    """Flags of the member: 1 << 0 allows linking a channel."""
    connected: bool
    """Whether the user has a gateway session in the game."""
    additional_name: str | UnsetType = UNSET
    """Additional display name, such as the name of the player's character; absent if there is none."""
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """Profiles of the user in the application's family; absent if there are none, or if the recipient already has them."""


class LobbyVoiceState(Struct, kw_only=True):
    """A user's connection to a lobby call."""

    lobby_id: LobbyId
    """ID of the lobby."""
    channel_id: ChannelId | None
    """Same as `lobby_id`; null if the user left the call."""
    user_id: UserId
    """ID of the user."""
    session_id: str
    """ID with which the user's client identifies to the voice server; differs from the ID of the gateway session."""
    self_mute: bool
    """Whether the user muted themselves."""
    self_deaf: bool
    """Whether the user deafened themselves."""
    self_video: bool = False
    """Whether the user's camera is on."""
    # Lobbies have no server mute and no stage audience; clients that share code with guild voice states read these fields.
    mute: bool = False
    """Always false; present for clients that expect a guild voice state."""
    deaf: bool = False
    """Always false; present for clients that expect a guild voice state."""
    suppress: bool = False
    """Always false; present for clients that expect a guild voice state."""
    request_to_speak_timestamp: Timestamp | None = None
    """Always null; present for clients that expect a guild voice state."""


class GatewayLobby(Struct, kw_only=True):
    """A lobby in the form seen by players."""

    id: LobbyId
    """ID of the lobby."""
    application_id: ApplicationId
    """ID of the application that owns the lobby."""
    metadata: dict[str, str] | None
    """Metadata of the lobby; null if there is none."""
    members: list[GatewayLobbyMember]
    """Members of the lobby."""
    flags: int
    """Flags of the lobby; a `LobbyFlags` bit set."""
    voice_states: list[LobbyVoiceState]
    """Voice states of the members in the lobby's call."""
    region: str | None = None
    """Region of the voice server of the lobby's call; null without a call."""
    linked_channel: Channel | UnsetType = UNSET
    """Guild channel linked to the lobby; absent if there is none."""


class LobbyDeleted(Struct, kw_only=True):
    """A lobby that is no longer available to the player."""

    id: LobbyId
    """ID of the lobby."""
    reason: str
    """Reason: `deleted` if the lobby was deleted, `removed` if the player left or was removed."""


class LobbyMemberChange(Struct, kw_only=True):
    """A lobby member who was added, changed or removed."""

    member: GatewayLobbyMember
    """Member of the lobby."""
    lobby_id: LobbyId
    """ID of the lobby."""
    application_id: ApplicationId
    """ID of the application that owns the lobby."""


class LobbyMessage(Struct, kw_only=True):
    """A message in a lobby; fields that do not apply are absent."""

    id: MessageId
    """ID of the message."""
    type: int
    """Type of the message; a `MessageType`."""
    content: str
    """Text of the message."""
    lobby_id: LobbyId
    """ID of the lobby."""
    channel_id: ChannelId
    """ID of the linked channel, or of the lobby if no channel is linked."""
    author: User
    """Author of the message."""
    flags: int
    """Flags of the message; a `MessageFlags` bit set."""
    lobby_member: MessageLobbyMember | UnsetType = UNSET
    """Name of the author in the lobby at the time of sending."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Metadata sent with the message."""
    moderation_metadata: dict[str, str] | UnsetType = UNSET
    """Moderation metadata set by the application's backend."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the application with which the message was sent."""
    timestamp: Timestamp | UnsetType = UNSET
    """Time at which the message was sent."""
    edited_timestamp: Timestamp | None | UnsetType = UNSET
    """Time of the last edit; absent if the message was never edited."""


class LinkedLobbyMessage(DispatchedMessage, kw_only=True):
    """A complete message of a linked channel, in the form sent to the lobby's players."""

    lobby_id: LobbyId
    """ID of the lobby."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Metadata sent with the message."""
    moderation_metadata: dict[str, str] | UnsetType = UNSET
    """Moderation metadata set by the application's backend."""


class LobbyMessageDeleted(Struct, kw_only=True):
    """A lobby message that was deleted."""

    id: MessageId
    """ID of the message."""
    lobby_id: LobbyId
    """ID of the lobby."""


class LobbyInvite(Struct, kw_only=True):
    """An invite to the guild of the linked channel, for one user, with one use, valid for an hour."""

    code: str
    """Code of the invite."""


class LobbyMemberRequest(Struct, kw_only=True):
    """A user to add to a lobby; null or absent flags keep those of an existing member."""

    id: UserId
    """ID of the user."""
    metadata: Metadata | None | UnsetType = UNSET
    """Metadata of the member; null for none, and absent keeps the metadata of an existing member."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the member: 1 << 0 allows linking a channel."""


LobbyMemberRequests = Annotated[list[LobbyMemberRequest], Meta(max_length=LOBBY_MEMBERS_PER_REQUEST_MAX)]


class CreateLobby(Struct, kw_only=True):
    """A new lobby, created by the application's backend; absent fields get their default, as do null timeouts and flags."""

    metadata: Metadata | None | UnsetType = UNSET
    """Metadata of the lobby; null for none."""
    members: LobbyMemberRequests | None | UnsetType = UNSET
    """Members of the lobby, at most 25; null or absent for none."""
    idle_timeout_seconds: IdleTimeout | None | UnsetType = UNSET
    """Seconds without connected members after which the lobby is deleted; a new lobby has 300 by default."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the lobby: 1 << 0 requires users to authorize the application to post in the linked channel."""
    override_event_webhooks_url: OverrideUrl | None | UnsetType = UNSET
    """URL that receives webhook events of this lobby instead of the application's URL; null for none."""


class UpdateLobby(CreateLobby, kw_only=True):
    """Changes to a lobby; absent fields keep their value, as do null members, timeouts and flags."""

    members: LobbyMemberRequests | None | UnsetType = UNSET
    """Members that replace all current members, at most 25; null or absent keeps the current members."""


class CreateOrJoinLobby(Struct, kw_only=True):
    """The lobby to join, identified by a secret that the players share; it is created if it does not exist."""

    secret: Annotated[str, Meta(min_length=1, max_length=LOBBY_SECRET_MAX)]
    """Secret that identifies the lobby within the application."""
    lobby_metadata: Metadata | None | UnsetType = UNSET
    """Metadata of the lobby, which replaces the stored metadata; null clears it, absent keeps it."""
    member_metadata: Metadata | None | UnsetType = UNSET
    """Metadata of the caller in the lobby, which replaces the stored metadata; null clears it, absent keeps it."""
    idle_timeout_seconds: IdleTimeout | None | UnsetType = UNSET
    """Seconds without connected members after which the lobby is deleted; 300 for a new lobby if absent or null."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the lobby, as in `CreateLobby`; if absent or null, 0 for a new lobby, and an existing lobby keeps its flags."""


class AddLobbyMember(Struct, kw_only=True):
    """Attributes of a lobby member; absent fields keep their value, and null flags also keep theirs."""

    metadata: Metadata | None | UnsetType = UNSET
    """Metadata of the member, which replaces the stored metadata; null clears it."""
    flags: Bits | None | UnsetType = UNSET
    """Flags of the member: 1 << 0 allows linking a channel."""
    additional_name: AdditionalName | None | UnsetType = UNSET
    """Additional display name of the member; null removes it."""


class BulkLobbyMember(AddLobbyMember, kw_only=True):
    """A member to add, update or remove in a bulk request."""

    id: UserId
    """ID of the user."""
    remove_member: bool | None | UnsetType = UNSET
    """Whether to remove the user instead of adding or updating them; default false."""


BulkLobbyMembers = Annotated[list[BulkLobbyMember], Meta(min_length=1, max_length=LOBBY_MEMBERS_PER_REQUEST_MAX)]


class LinkChannel(Struct, kw_only=True):
    """The channel to link to a lobby."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel to link; null or absent unlinks the current channel."""


class CreateLobbyMessage(CreateMessage, kw_only=True):
    """A message to send to a lobby."""

    metadata: Metadata | None | UnsetType = UNSET
    """Metadata delivered with the message to the players of the lobby; null or absent for none."""


class ListLobbyMessages(Struct, kw_only=True):
    """Query parameters for listing the newest lobby messages."""

    limit: Annotated[int, Meta(ge=1, le=LOBBY_MESSAGES_PAGE_MAX)] = 50
    """Maximum number of messages to return."""


LOBBY_CREATE = Event(
    "LOBBY_CREATE",
    GatewayLobby,
    "Sent when a lobby becomes available to the player: it was created, or the player was added.",
    intents=Intents.LOBBIES,
)
LOBBY_UPDATE = Event(
    "LOBBY_UPDATE",
    GatewayLobby,
    "Sent when the metadata, the flags or the linked channel of a lobby change.",
    intents=Intents.LOBBIES,
)
LOBBY_DELETE = Event(
    "LOBBY_DELETE",
    LobbyDeleted,
    "Sent when a lobby is deleted, or the player left it or was removed.",
    intents=Intents.LOBBIES | Intents.LOBBY_DELETE,
)
LOBBY_MEMBER_ADD = Event(
    "LOBBY_MEMBER_ADD", LobbyMemberChange, "Sent when another user is added to a lobby.", intents=Intents.LOBBIES
)
LOBBY_MEMBER_UPDATE = Event(
    "LOBBY_MEMBER_UPDATE", LobbyMemberChange, "Sent when a member of a lobby changes.", intents=Intents.LOBBIES
)
LOBBY_MEMBER_REMOVE = Event(
    "LOBBY_MEMBER_REMOVE",
    LobbyMemberChange,
    "Sent when another user leaves a lobby or is removed.",
    intents=Intents.LOBBIES,
)
LOBBY_MEMBER_CONNECT = Event(
    "LOBBY_MEMBER_CONNECT", LobbyMemberChange, "Sent when a lobby member connects to the game.", intents=Intents.LOBBIES
)
LOBBY_MEMBER_DISCONNECT = Event(
    "LOBBY_MEMBER_DISCONNECT",
    LobbyMemberChange,
    "Sent when the last session of a lobby member in the game ends.",
    intents=Intents.LOBBIES,
)
LOBBY_MESSAGE_CREATE = Event(
    "LOBBY_MESSAGE_CREATE",
    LobbyMessage,
    "Sent when a message is created in a lobby or its linked channel.",
    intents=Intents.LOBBIES,
    is_webhook_event=True,
)
LOBBY_MESSAGE_UPDATE = Event(
    "LOBBY_MESSAGE_UPDATE",
    LobbyMessage,
    "Sent when a lobby message or its moderation metadata changes.",
    intents=Intents.LOBBIES,
    is_webhook_event=True,
)
LOBBY_MESSAGE_DELETE = Event(
    "LOBBY_MESSAGE_DELETE",
    LobbyMessageDeleted,
    "Sent when a lobby message is deleted.",
    intents=Intents.LOBBIES,
    is_webhook_event=True,
)

_LOBBY_ERRORS: Final = (errors.UNKNOWN_LOBBY, errors.MISSING_ACCESS)
"""Errors of operations on a lobby: the lobby does not exist, or the caller has no access to it."""
_PLAYER_SCOPES: Final = (Scope.LOBBIES_WRITE,)

# spec/sdk.md#16: maximum numbers of calls per route in two hours while the application is not approved.
_CREATE_OR_JOIN_CALLS_MAX: Final = 100
_UPDATE_CALLS_MAX: Final = 100
_LINK_CALLS_MAX: Final = 20
_MESSAGE_CALLS_MAX: Final = 100

_MEMBER_EVENTS: Final = (LOBBY_CREATE, LOBBY_DELETE, LOBBY_MEMBER_ADD, LOBBY_MEMBER_UPDATE, LOBBY_MEMBER_REMOVE)

CREATE_LOBBY = Operation(
    "POST",
    "/lobbies",
    body=CreateLobby,
    result=Lobby,
    status=201,
    auth=Auth.BOT,
    raises=(errors.UNKNOWN_USER, errors.MISSING_ACCESS, errors.MAX_LOBBIES),
    emits=_MEMBER_EVENTS,
    optional_body=True,
    unapproved_calls_max=_CREATE_OR_JOIN_CALLS_MAX,
)

CREATE_OR_JOIN_LOBBY = Operation(
    "PUT",
    "/lobbies",
    body=CreateOrJoinLobby,
    result=Lobby,
    auth=Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=(errors.MAX_LOBBIES, errors.MAX_LOBBY_MEMBERS),
    emits=(*_MEMBER_EVENTS, LOBBY_UPDATE, CHANNEL_UPDATE),
    unapproved_calls_max=_CREATE_OR_JOIN_CALLS_MAX,
)

GET_LOBBY = Operation("GET", "/lobbies/{lobby_id}", result=Lobby, auth=Auth.BOT, raises=_LOBBY_ERRORS)

EDIT_LOBBY = Operation(
    "PATCH",
    "/lobbies/{lobby_id}",
    body=UpdateLobby,
    result=Lobby,
    auth=Auth.BOT,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_USER, errors.MAX_LOBBIES),
    emits=(*_MEMBER_EVENTS, LOBBY_UPDATE, CHANNEL_UPDATE),
    optional_body=True,
    unapproved_calls_max=_UPDATE_CALLS_MAX,
    audits=(AuditLogAction.CHANNEL_UPDATE,),
)

# The operation also succeeds if the lobby does not exist.
DELETE_LOBBY = Operation(
    "DELETE",
    "/lobbies/{lobby_id}",
    auth=Auth.BOT,
    raises=(errors.MISSING_ACCESS,),
    emits=(LOBBY_DELETE, CHANNEL_UPDATE),
)

ADD_LOBBY_MEMBER = Operation(
    "PUT",
    "/lobbies/{lobby_id}/members/{user_id}",
    body=AddLobbyMember,
    result=LobbyMember,
    auth=Auth.BOT,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_USER, errors.MAX_LOBBIES, errors.MAX_LOBBY_MEMBERS),
    emits=_MEMBER_EVENTS,
    optional_body=True,
    unapproved_calls_max=_UPDATE_CALLS_MAX,
)

DELETE_LOBBY_MEMBER = Operation(
    "DELETE",
    "/lobbies/{lobby_id}/members/{user_id}",
    auth=Auth.BOT,
    raises=_LOBBY_ERRORS,
    emits=_MEMBER_EVENTS,
    unapproved_calls_max=_UPDATE_CALLS_MAX,
)

LEAVE_LOBBY = Operation(
    "DELETE",
    "/lobbies/{lobby_id}/members/@me",
    auth=Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=(*_LOBBY_ERRORS, errors.MISSING_PERMISSIONS),
    emits=_MEMBER_EVENTS,
)

BULK_UPDATE_LOBBY_MEMBERS = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/bulk",
    body=BulkLobbyMembers,
    result=list[LobbyMember],
    auth=Auth.BOT,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_USER, errors.NOT_FOUND),
    emits=_MEMBER_EVENTS,
    unapproved_calls_max=_UPDATE_CALLS_MAX,
)

EDIT_LOBBY_CHANNEL_LINK = Operation(
    "PATCH",
    "/lobbies/{lobby_id}/channel-linking",
    body=LinkChannel,
    result=Lobby,
    auth=Auth.BOT | Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_CHANNEL, errors.MISSING_PERMISSIONS),
    emits=(LOBBY_UPDATE, CHANNEL_UPDATE, MESSAGE_CREATE),
    optional_body=True,
    unapproved_calls_max=_LINK_CALLS_MAX,
    audits=(AuditLogAction.CHANNEL_UPDATE,),
)

# The caller must be able to manage the channel, but need not be a member of the lobby.
UNLINK_CHANNEL_LOBBY = Operation(
    "DELETE",
    "/channels/{channel_id}/linked-lobby",
    result=Channel,
    needs=Permissions.MANAGE_CHANNELS,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_LOBBY,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
    ),
    emits=(LOBBY_UPDATE, CHANNEL_UPDATE),
    audits=(AuditLogAction.CHANNEL_UPDATE,),
)

CREATE_LOBBY_MESSAGE = Operation(
    "POST",
    "/lobbies/{lobby_id}/messages",
    body=CreateLobbyMessage,
    result=LobbyMessage,
    status=201,
    auth=Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=(*_LOBBY_ERRORS, errors.EMPTY_MESSAGE, errors.AUTO_MODERATION_BLOCKED_MESSAGE),
    emits=(LOBBY_MESSAGE_CREATE, MESSAGE_CREATE, AUTO_MODERATION_ACTION_EXECUTION),
    uploads=Uploads(),
    unapproved_calls_max=_MESSAGE_CALLS_MAX,
)

GET_LOBBY_MESSAGES = Operation(
    "GET",
    "/lobbies/{lobby_id}/messages",
    query=ListLobbyMessages,
    result=list[LobbyMessage],
    auth=Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=_LOBBY_ERRORS,
)

UPDATE_LOBBY_MESSAGE_EXTERNAL_MODERATION_METADATA = Operation(
    "PUT",
    "/lobbies/{lobby_id}/messages/{message_id}/moderation-metadata",
    body=ModerationMetadata,
    auth=Auth.BOT,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_MESSAGE),
    emits=(LOBBY_MESSAGE_UPDATE,),
)

CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_SELF = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/@me/invites",
    result=LobbyInvite,
    auth=Auth.BEARER,
    scopes=_PLAYER_SCOPES,
    raises=(*_LOBBY_ERRORS, errors.UNKNOWN_CHANNEL, errors.MISSING_PERMISSIONS, errors.MAX_INVITES),
    emits=(INVITE_CREATE,),
    unapproved_calls_max=_UPDATE_CALLS_MAX,
    audits=(AuditLogAction.INVITE_CREATE,),
)

CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_USER = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/{user_id}/invites",
    result=LobbyInvite,
    auth=Auth.BOT,
    raises=(
        *_LOBBY_ERRORS,
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MEMBER,
        errors.MISSING_PERMISSIONS,
        errors.MAX_INVITES,
    ),
    emits=(INVITE_CREATE,),
    unapproved_calls_max=_UPDATE_CALLS_MAX,
    audits=(AuditLogAction.INVITE_CREATE,),
)
