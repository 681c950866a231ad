"""Lobbies: where players of a game meet, and the channel of a guild that one may be linked to (sdk.md 12)."""

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
from hubbub.protocol.resources.messages import MESSAGE_CREATE, CreateMessage, DispatchedMessage, MessageLobbyMember
from hubbub.protocol.resources.users import User

LOBBY_MEMBERS_MAX: Final = 1000
LOBBY_MEMBERS_PER_REQUEST_MAX: Final = 25
LOBBIES_PER_USER_MAX: Final = 100
"""Of one application. Open in the spec: 100 in the guide, 200 in the header (sdk.md 18)."""
LOBBY_SECRET_MAX: Final = 250
LOBBY_SECRET_MS: Final = 30 * 24 * 3_600_000
"""After so long nobody new joins by a secret."""
LOBBY_IDLE_SECONDS_DEFAULT: Final = 300
LOBBY_IDLE_SECONDS_MIN: Final = 5
LOBBY_IDLE_SECONDS_MAX: Final = 604_800
LOBBY_METADATA_KEYS_MAX: Final = 25
LOBBY_METADATA_VALUE_MAX: Final = 1024
LOBBY_METADATA_TOTAL_MAX: Final = 1000
"""Characters of all keys and values together: the guide's limit, kept beside the schema's (sdk.md 18)."""
LOBBY_MESSAGES_MAX: Final = 200
LOBBY_HISTORY_MS: Final = 72 * 3_600_000
ADDITIONAL_NAME_MAX: Final = 80
OVERRIDE_URL_MAX: Final = 512
MODERATION_METADATA_KEYS_MAX: Final = 5
MODERATION_METADATA_KEY_MAX: Final = 1024
MODERATION_METADATA_VALUE_MAX: Final = 2000
LOBBY_INVITE_SECONDS: Final = 3600

Metadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=LOBBY_METADATA_VALUE_MAX)],
        Annotated[str, Meta(max_length=LOBBY_METADATA_VALUE_MAX)],
    ],
    Meta(max_length=LOBBY_METADATA_KEYS_MAX),
]
"""Words of the game's own."""
ModerationMetadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=MODERATION_METADATA_KEY_MAX)],
        Annotated[str, Meta(max_length=MODERATION_METADATA_VALUE_MAX)],
    ],
    Meta(max_length=MODERATION_METADATA_KEYS_MAX),
]
"""What an application's moderation says of a message, for its own players only."""
IdleTimeout = Annotated[int, Meta(ge=LOBBY_IDLE_SECONDS_MIN, le=LOBBY_IDLE_SECONDS_MAX)]
OverrideUrl = Annotated[str, Meta(max_length=OVERRIDE_URL_MAX)]
AdditionalName = Annotated[str, Meta(min_length=1, max_length=ADDITIONAL_NAME_MAX)]


class LobbyMember(Struct, kw_only=True):
    """A user in a lobby."""

    id: UserId
    metadata: dict[str, str] | None
    flags: int
    additional_name: str | UnsetType = UNSET
    """Another name to show them by, such as their character's; only the application's backend sets it."""


class Lobby(Struct, kw_only=True):
    """A lobby as its application's backend sees it."""

    id: LobbyId
    application_id: ApplicationId
    metadata: dict[str, str] | None
    members: list[LobbyMember]
    flags: int
    linked_channel: Channel | UnsetType = UNSET
    override_event_webhooks_url: str | UnsetType = UNSET


class GatewayLobbyMember(Struct, kw_only=True):
    """A user in a lobby as players see them."""

    user_id: UserId
    user: User
    metadata: dict[str, str] | None
    flags: int
    connected: bool
    """Whether a session of theirs is in the game now."""
    additional_name: str | UnsetType = UNSET
    user_application_profiles: list[UserApplicationProfile] | UnsetType = UNSET
    """Who they are in the application's family, where the reader meets them."""


class LobbyVoiceState(Struct, kw_only=True):
    """Who is in a lobby's call, and how."""

    lobby_id: LobbyId
    channel_id: ChannelId | None
    """The lobby's id again; null when they left."""
    user_id: UserId
    session_id: str
    """Of who holds it, as the voice server wants to hear it."""
    self_mute: bool
    self_deaf: bool
    self_video: bool = False
    # Nobody is muted by others in a lobby, nor in an audience; clients that know other voice states read these.
    mute: bool = False
    deaf: bool = False
    suppress: bool = False
    request_to_speak_timestamp: Timestamp | None = None


class GatewayLobby(Struct, kw_only=True):
    """A lobby as players see it."""

    id: LobbyId
    application_id: ApplicationId
    metadata: dict[str, str] | None
    members: list[GatewayLobbyMember]
    flags: int
    voice_states: list[LobbyVoiceState]
    region: str | None = None
    """Where the voice server of its call stands; null without a call."""
    linked_channel: Channel | UnsetType = UNSET


class LobbyDeleted(Struct, kw_only=True):
    """A lobby that is no longer there for a player."""

    id: LobbyId
    reason: str
    """`deleted`, or `removed` where only the player left."""


class LobbyMemberChange(Struct, kw_only=True):
    """A member of a lobby who came, changed or went."""

    member: GatewayLobbyMember
    lobby_id: LobbyId
    application_id: ApplicationId


class LobbyMessage(Struct, kw_only=True):
    """What was said in a lobby."""

    id: MessageId
    type: int
    content: str
    lobby_id: LobbyId
    channel_id: ChannelId
    """The linked channel, or the lobby's own id."""
    author: User
    flags: int
    lobby_member: MessageLobbyMember | UnsetType = UNSET
    """What the author was called in the lobby when they said it."""
    metadata: dict[str, str] | UnsetType = UNSET
    moderation_metadata: dict[str, str] | UnsetType = UNSET
    application_id: ApplicationId | UnsetType = UNSET
    timestamp: Timestamp | UnsetType = UNSET
    edited_timestamp: Timestamp | None | UnsetType = UNSET


class LinkedLobbyMessage(DispatchedMessage, kw_only=True):
    """A message of a linked channel as the lobby's players hear of it: whole, since their game may show what is in it."""

    lobby_id: LobbyId
    metadata: dict[str, str] | UnsetType = UNSET
    moderation_metadata: dict[str, str] | UnsetType = UNSET


class LobbyMessageDeleted(Struct, kw_only=True):
    """A message of a lobby that is gone."""

    id: MessageId
    lobby_id: LobbyId


class LobbyInvite(Struct, kw_only=True):
    """A way into the guild of the linked channel: for one user, once, for an hour."""

    code: str


class LobbyMemberRequest(Struct, kw_only=True):
    """A user to be in a lobby."""

    id: UserId
    metadata: Metadata | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET


class CreateLobby(Struct, kw_only=True):
    """A lobby that the backend makes."""

    metadata: Metadata | None | UnsetType = UNSET
    members: Annotated[list[LobbyMemberRequest], Meta(max_length=LOBBY_MEMBERS_PER_REQUEST_MAX)] | None | UnsetType = (
        UNSET
    )
    idle_timeout_seconds: IdleTimeout | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    override_event_webhooks_url: OverrideUrl | None | UnsetType = UNSET


class UpdateLobby(CreateLobby, kw_only=True):
    """What to change of a lobby; `members` replaces all who are in it."""


class CreateOrJoinLobby(Struct, kw_only=True):
    """A lobby by a secret that players share."""

    secret: Annotated[str, Meta(min_length=1, max_length=LOBBY_SECRET_MAX)]
    lobby_metadata: Metadata | None | UnsetType = UNSET
    member_metadata: Metadata | None | UnsetType = UNSET
    idle_timeout_seconds: IdleTimeout | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET


class AddLobbyMember(Struct, kw_only=True):
    """How a user shall be in a lobby."""

    metadata: Metadata | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    additional_name: AdditionalName | None | UnsetType = UNSET
    """Absent keeps, null clears."""


class BulkLobbyMember(AddLobbyMember, kw_only=True):
    """One of many to add, change or remove."""

    id: UserId
    remove_member: bool | None | UnsetType = UNSET


BulkLobbyMembers = Annotated[list[BulkLobbyMember], Meta(min_length=1, max_length=LOBBY_MEMBERS_PER_REQUEST_MAX)]


class LinkChannel(Struct, kw_only=True):
    """The channel to link; none unlinks."""

    channel_id: ChannelId | None | UnsetType = UNSET


class CreateLobbyMessage(CreateMessage, kw_only=True):
    """Something to say in a lobby."""

    metadata: Metadata | None | UnsetType = UNSET


class ListLobbyMessages(Struct, kw_only=True):
    """How many of the newest."""

    limit: Annotated[int, Meta(ge=1, le=LOBBY_MESSAGES_MAX)] = 50


LOBBY_CREATE = Event("LOBBY_CREATE", GatewayLobby, intents=Intents.LOBBIES)
LOBBY_UPDATE = Event("LOBBY_UPDATE", GatewayLobby, intents=Intents.LOBBIES)
LOBBY_DELETE = Event("LOBBY_DELETE", LobbyDeleted, intents=Intents.LOBBIES | Intents.LOBBY_DELETE)
LOBBY_MEMBER_ADD = Event("LOBBY_MEMBER_ADD", LobbyMemberChange, intents=Intents.LOBBIES)
LOBBY_MEMBER_UPDATE = Event("LOBBY_MEMBER_UPDATE", LobbyMemberChange, intents=Intents.LOBBIES)
LOBBY_MEMBER_REMOVE = Event("LOBBY_MEMBER_REMOVE", LobbyMemberChange, intents=Intents.LOBBIES)
LOBBY_MEMBER_CONNECT = Event("LOBBY_MEMBER_CONNECT", LobbyMemberChange, intents=Intents.LOBBIES)
LOBBY_MEMBER_DISCONNECT = Event("LOBBY_MEMBER_DISCONNECT", LobbyMemberChange, intents=Intents.LOBBIES)
LOBBY_MESSAGE_CREATE = Event("LOBBY_MESSAGE_CREATE", LobbyMessage, intents=Intents.LOBBIES, webhook=True)
LOBBY_MESSAGE_UPDATE = Event("LOBBY_MESSAGE_UPDATE", LobbyMessage, intents=Intents.LOBBIES, webhook=True)
LOBBY_MESSAGE_DELETE = Event("LOBBY_MESSAGE_DELETE", LobbyMessageDeleted, intents=Intents.LOBBIES, webhook=True)

_OURS: Final = (errors.UNKNOWN_LOBBY, errors.MISSING_ACCESS)
"""What every operation on a lobby may answer: it is not there, or another application's."""
_PLAYER: Final = (Scope.LOBBIES_WRITE,)

# sdk.md 16: how often an application may do it in two hours before it is approved; counted for each route.
_JOIN_CAP: Final = 100
_UPDATE_CAP: Final = 100
_LINK_CAP: Final = 20
_MESSAGE_CAP: Final = 100

_MEMBERS: Final = (LOBBY_CREATE, LOBBY_DELETE, LOBBY_MEMBER_ADD, LOBBY_MEMBER_UPDATE, LOBBY_MEMBER_REMOVE)

CREATE_LOBBY = Operation(
    "POST",
    "/lobbies",
    body=CreateLobby,
    result=Lobby,
    status=201,
    auth=Auth.BOT,
    raises=(errors.UNKNOWN_USER, errors.MISSING_ACCESS, errors.MAX_LOBBIES),
    emits=_MEMBERS,
    optional_body=True,
    cap=_JOIN_CAP,
)

CREATE_OR_JOIN_LOBBY = Operation(
    "PUT",
    "/lobbies",
    body=CreateOrJoinLobby,
    result=Lobby,
    auth=Auth.BEARER,
    scopes=_PLAYER,
    raises=(errors.MAX_LOBBIES, errors.MAX_LOBBY_MEMBERS),
    emits=(*_MEMBERS, LOBBY_UPDATE, CHANNEL_UPDATE),
    cap=_JOIN_CAP,
)

GET_LOBBY = Operation("GET", "/lobbies/{lobby_id}", result=Lobby, auth=Auth.BOT, raises=_OURS)

EDIT_LOBBY = Operation(
    "PATCH",
    "/lobbies/{lobby_id}",
    body=UpdateLobby,
    result=Lobby,
    auth=Auth.BOT,
    raises=(*_OURS, errors.UNKNOWN_USER, errors.MAX_LOBBIES),
    emits=(*_MEMBERS, LOBBY_UPDATE, CHANNEL_UPDATE),
    optional_body=True,
    cap=_UPDATE_CAP,
    audits=(AuditLogAction.CHANNEL_UPDATE,),
)

# Also where it is gone already.
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
    raises=(*_OURS, errors.UNKNOWN_USER, errors.MAX_LOBBIES, errors.MAX_LOBBY_MEMBERS),
    emits=_MEMBERS,
    optional_body=True,
    cap=_UPDATE_CAP,
)

DELETE_LOBBY_MEMBER = Operation(
    "DELETE",
    "/lobbies/{lobby_id}/members/{user_id}",
    auth=Auth.BOT,
    raises=_OURS,
    emits=_MEMBERS,
    cap=_UPDATE_CAP,
)

LEAVE_LOBBY = Operation(
    "DELETE",
    "/lobbies/{lobby_id}/members/@me",
    auth=Auth.BEARER,
    scopes=_PLAYER,
    raises=(*_OURS, errors.MISSING_PERMISSIONS),
    emits=_MEMBERS,
)

BULK_UPDATE_LOBBY_MEMBERS = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/bulk",
    body=BulkLobbyMembers,
    result=list[LobbyMember],
    auth=Auth.BOT,
    raises=(*_OURS, errors.UNKNOWN_USER, errors.NOT_FOUND),
    emits=_MEMBERS,
    cap=_UPDATE_CAP,
)

EDIT_LOBBY_CHANNEL_LINK = Operation(
    "PATCH",
    "/lobbies/{lobby_id}/channel-linking",
    body=LinkChannel,
    result=Lobby,
    auth=Auth.BOT | Auth.BEARER,
    scopes=_PLAYER,
    raises=(*_OURS, errors.UNKNOWN_CHANNEL, errors.MISSING_PERMISSIONS),
    emits=(LOBBY_UPDATE, CHANNEL_UPDATE, MESSAGE_CREATE),
    optional_body=True,
    cap=_LINK_CAP,
    audits=(AuditLogAction.CHANNEL_UPDATE,),
)

# For whoever manages the channel, without being in the lobby.
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
    scopes=_PLAYER,
    raises=(*_OURS, errors.EMPTY_MESSAGE),
    emits=(LOBBY_MESSAGE_CREATE, MESSAGE_CREATE, AUTO_MODERATION_ACTION_EXECUTION),
    uploads=Uploads(),
    cap=_MESSAGE_CAP,
)

GET_LOBBY_MESSAGES = Operation(
    "GET",
    "/lobbies/{lobby_id}/messages",
    query=ListLobbyMessages,
    result=list[LobbyMessage],
    auth=Auth.BEARER,
    scopes=_PLAYER,
    raises=_OURS,
)

UPDATE_LOBBY_MESSAGE_EXTERNAL_MODERATION_METADATA = Operation(
    "PUT",
    "/lobbies/{lobby_id}/messages/{message_id}/moderation-metadata",
    body=ModerationMetadata,
    auth=Auth.BOT,
    raises=(*_OURS, errors.UNKNOWN_MESSAGE),
    emits=(LOBBY_MESSAGE_UPDATE,),
)

CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_SELF = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/@me/invites",
    result=LobbyInvite,
    auth=Auth.BEARER,
    scopes=_PLAYER,
    raises=(*_OURS, errors.UNKNOWN_CHANNEL, errors.MISSING_PERMISSIONS, errors.MAX_INVITES),
    emits=(INVITE_CREATE,),
    cap=_UPDATE_CAP,
    audits=(AuditLogAction.INVITE_CREATE,),
)

CREATE_LINKED_LOBBY_GUILD_INVITE_FOR_USER = Operation(
    "POST",
    "/lobbies/{lobby_id}/members/{user_id}/invites",
    result=LobbyInvite,
    auth=Auth.BOT,
    raises=(
        *_OURS,
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MEMBER,
        errors.MISSING_PERMISSIONS,
        errors.MAX_INVITES,
    ),
    emits=(INVITE_CREATE,),
    cap=_UPDATE_CAP,
    audits=(AuditLogAction.INVITE_CREATE,),
)
