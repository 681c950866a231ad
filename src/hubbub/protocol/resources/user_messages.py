"""Messages between players, as games send and show them, and the invites among them (sdk.md 10.5, 11)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, Scope
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.resources.channels import CHANNEL_CREATE, PrivateChannel
from hubbub.protocol.resources.lobbies import LOBBY_HISTORY_MS, ModerationMetadata
from hubbub.protocol.resources.messages import (
    MESSAGE_CREATE,
    MESSAGE_DELETE,
    MESSAGE_UPDATE,
    DispatchedMessage,
    Message,
    MessageActivity,
    MessageApplication,
)
from hubbub.protocol.resources.users import User

USER_MESSAGE_MAX: Final = 2000
USER_METADATA_KEYS_MAX: Final = 25
USER_METADATA_MAX: Final = 1024
USER_MESSAGES_MAX: Final = 200
USER_HISTORY_MS: Final = LOBBY_HISTORY_MS
INVITE_VALID_MS: Final = 6 * 3_600_000
"""After so long an invite is no longer good (sdk.md 10.4)."""
DISCLOSURE_MESSAGE_DATA_VISIBLE: Final = 3
"""What is said in the game is seen on the platform."""

UserMetadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=USER_METADATA_MAX)],
        Annotated[str, Meta(max_length=USER_METADATA_MAX)],
    ],
    Meta(max_length=USER_METADATA_KEYS_MAX),
]
UserContent = Annotated[str, Meta(max_length=USER_MESSAGE_MAX)]


class SendActivity(Struct, kw_only=True):
    """What somebody is invited to, or asks to be invited to."""

    type: ActivityActionType
    session_id: str
    """The sender's gateway session that shows the activity."""
    party_id: str | UnsetType = UNSET


class SendUserMessage(Struct, kw_only=True):
    """Something to say to another player."""

    content: UserContent | None | UnsetType = UNSET
    metadata: UserMetadata | None | UnsetType = UNSET
    application_id: ApplicationId | None | UnsetType = UNSET
    """With an activity: whose; a sibling's is allowed."""
    activity: SendActivity | None | UnsetType = UNSET


class EditUserMessage(Struct, kw_only=True):
    """What to say instead."""

    content: Annotated[str, Meta(min_length=1, max_length=USER_MESSAGE_MAX)]


class ListUserMessages(Struct, kw_only=True):
    """How many of the newest."""

    limit: Annotated[int, Meta(ge=1, le=USER_MESSAGES_MAX)] = 50


class UserMessage(Message, kw_only=True):
    """A message between two players as a game sees it."""

    channel: PrivateChannel | UnsetType = UNSET
    """Where it is; for one that nobody keeps its id is the other player's."""
    recipient_id: UserId | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    moderation_metadata: dict[str, str] | UnsetType = UNSET


class DispatchedUserMessage(DispatchedMessage, kw_only=True):
    """The same as the gateway tells games of it."""

    channel: PrivateChannel | UnsetType = UNSET
    recipient_id: UserId | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    moderation_metadata: dict[str, str] | UnsetType = UNSET


class UserMessageSummary(Struct, kw_only=True):
    """With whom one spoke, and what was the last."""

    user_id: UserId
    last_message_id: MessageId


class ActivityInvite(Struct, kw_only=True):
    """An invite for a session that does not read direct messages."""

    message_id: MessageId
    channel_id: ChannelId
    author: User
    application: MessageApplication
    activity: MessageActivity


class AcceptInvite(Struct, kw_only=True):
    """By which message one was invited."""

    channel_id: ChannelId | UnsetType = UNSET
    message_id: MessageId | UnsetType = UNSET


class JoinSecret(Struct, kw_only=True):
    """What lets a game join."""

    secret: str


class Disclosures(Struct, kw_only=True):
    """Notices for the players of an application, and which of them one has read."""

    disclosures: list[int]
    acked_disclosures: list[int]
    all_acked: bool


class AcknowledgeDisclosures(Struct, kw_only=True):
    """Notices that one has read."""

    disclosures: list[Int32]


ACTIVITY_INVITE_CREATE = Event("ACTIVITY_INVITE_CREATE", ActivityInvite, scope=Scope.ACTIVITIES_READ)
"""Where MESSAGE_CREATE is not heard, and again where the invite was accepted on another device."""

_WRITE: Final = (Scope.DM_CHANNELS_MESSAGES_WRITE,)
_LIMIT: Final = RateLimit(5, 5.0, per="user_id")
_REACHED: Final = (errors.UNKNOWN_USER, errors.CANNOT_MESSAGE_USER, errors.NO_MUTUAL_GUILDS, errors.INVALID_RECIPIENTS)

SEND_USER_MESSAGE = Operation(
    "POST",
    "/users/{user_id}/messages",
    body=SendUserMessage,
    result=UserMessage,
    # A person's own client invites for the games on their machine, and writes otherwise in channels.
    auth=Auth.USER | Auth.BEARER,
    scopes=(*_WRITE, Scope.ACTIVITIES_INVITES_WRITE),
    raises=(
        *_REACHED,
        errors.MISSING_OAUTH2_SCOPE,
        errors.EMPTY_MESSAGE,
        errors.INVALID_ACTIVITY_ACTION,
        errors.INVALID_FORM_BODY,
    ),
    emits=(MESSAGE_CREATE, CHANNEL_CREATE, ACTIVITY_INVITE_CREATE),
    limit=_LIMIT,
    # sdk.md 16.
    cap=100,
)

EDIT_USER_MESSAGE = Operation(
    "PATCH",
    "/users/{user_id}/messages/{message_id}",
    body=EditUserMessage,
    result=UserMessage,
    auth=Auth.BEARER,
    scopes=_WRITE,
    raises=(*_REACHED, errors.UNKNOWN_MESSAGE, errors.CANNOT_EDIT_OTHERS_MESSAGE, errors.EMPTY_MESSAGE),
    emits=(MESSAGE_UPDATE,),
    limit=_LIMIT,
)

DELETE_USER_MESSAGE = Operation(
    "DELETE",
    "/users/{user_id}/messages/{message_id}",
    auth=Auth.BEARER,
    scopes=_WRITE,
    raises=(errors.UNKNOWN_USER, errors.UNKNOWN_MESSAGE, errors.MISSING_PERMISSIONS),
    emits=(MESSAGE_DELETE,),
    limit=_LIMIT,
)

LIST_USER_MESSAGES = Operation(
    "GET",
    "/users/{user_id}/messages",
    query=ListUserMessages,
    result=list[UserMessage],
    auth=Auth.BEARER,
    scopes=(Scope.DM_CHANNELS_MESSAGES_READ,),
    raises=(errors.UNKNOWN_USER, errors.UNKNOWN_CHANNEL),
    limit=_LIMIT,
)

LIST_USER_MESSAGE_SUMMARIES = Operation(
    "GET",
    "/partner-sdk/users/@me/channels",
    result=list[UserMessageSummary],
    auth=Auth.BEARER,
    scopes=(Scope.DM_CHANNELS_READ,),
)

GET_USER_DM = Operation(
    "GET",
    "/users/@me/dms/{user_id}",
    result=PrivateChannel,
    auth=Auth.USER | Auth.BEARER,
    scopes=(Scope.DM_CHANNELS_READ,),
    raises=(errors.UNKNOWN_CHANNEL,),
)

UPDATE_USER_MESSAGE_EXTERNAL_MODERATION_METADATA = Operation(
    "PUT",
    "/partner-sdk/dms/{user_id_1}/{user_id_2}/messages/{message_id}/moderation-metadata",
    body=ModerationMetadata,
    auth=Auth.BOT,
    raises=(errors.UNKNOWN_CHANNEL, errors.UNKNOWN_MESSAGE, errors.MISSING_ACCESS),
    emits=(MESSAGE_UPDATE,),
)

GET_ACTIVITY_JOIN_SECRET = Operation(
    "GET",
    "/users/{user_id}/sessions/{session_id}/activities/{application_id}/1",
    query=AcceptInvite,
    result=JoinSecret,
    auth=Auth.USER | Auth.BEARER,
    scopes=(Scope.ACTIVITIES_READ,),
    raises=(errors.MISSING_ACCESS, errors.INVALID_ACTIVITY_ACTION),
)

GET_DISCLOSURES = Operation(
    "GET",
    "/applications/{application_id}/disclosures",
    result=Disclosures,
    auth=Auth.USER | Auth.BEARER,
    scopes=(Scope.IDENTIFY,),
    raises=(errors.UNKNOWN_APPLICATION, errors.MISSING_ACCESS),
)

ACKNOWLEDGE_DISCLOSURES = Operation(
    "POST",
    "/applications/{application_id}/disclosures",
    body=AcknowledgeDisclosures,
    result=Disclosures,
    auth=Auth.USER | Auth.BEARER,
    scopes=(Scope.IDENTIFY,),
    raises=(errors.UNKNOWN_APPLICATION, errors.MISSING_ACCESS),
)
