"""Direct messages and activity invites that games send between players, and disclosures (spec/sdk.md#10.5, 11)."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import ActivityActionType, Scope
from hubbub.protocol.ids import ApplicationId, ChannelId, MessageId, UserId
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit
from hubbub.protocol.resources.channels import CHANNEL_CREATE, PrivateChannel
from hubbub.protocol.resources.lobbies import LOBBY_HISTORY_MS, ModerationMetadata
from hubbub.protocol.resources.message_parts import MessageActivity, MessageApplication
from hubbub.protocol.resources.messages import (
    MESSAGE_CREATE,
    MESSAGE_DELETE,
    MESSAGE_UPDATE,
    DispatchedMessage,
    Message,
)
from hubbub.protocol.resources.presence import ActivityMetadata
from hubbub.protocol.resources.users import User

USER_MESSAGE_LENGTH_MAX: Final = 2000
USER_MESSAGE_METADATA_KEYS_MAX: Final = 25
"""Maximum number of metadata keys of a message."""
USER_MESSAGE_METADATA_TEXT_LENGTH_MAX: Final = 1024
"""Maximum length of one key or value of a message's metadata, in characters."""
USER_MESSAGES_MAX: Final = 200
"""Maximum number of messages that can be listed."""
USER_MESSAGE_HISTORY_MS: Final = LOBBY_HISTORY_MS
"""Maximum age in milliseconds of messages that can be listed."""
ACTIVITY_INVITE_LIFETIME_MS: Final = 6 * 3_600_000
"""Time in milliseconds after which an activity invite expires (spec/sdk.md#10.4)."""

UserMessageMetadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=USER_MESSAGE_METADATA_TEXT_LENGTH_MAX)],
        Annotated[str, Meta(max_length=USER_MESSAGE_METADATA_TEXT_LENGTH_MAX)],
    ],
    Meta(max_length=USER_MESSAGE_METADATA_KEYS_MAX),
]
UserMessageContent = Annotated[str, Meta(max_length=USER_MESSAGE_LENGTH_MAX)]


class SendActivity(Struct, kw_only=True):
    """An activity invite, or a request for one."""

    type: ActivityActionType
    """Type of the invite; an `ActivityActionType`."""
    session_id: str
    """ID of the sender's gateway session that shows the activity."""
    party_id: str | UnsetType = UNSET
    """ID of the party to join."""


class SendUserMessage(Struct, kw_only=True):
    """A message to another player; null or absent parts are omitted."""

    content: UserMessageContent | None | UnsetType = UNSET
    """Text of the message."""
    metadata: UserMessageMetadata | None | UnsetType = UNSET
    """Metadata defined by the game and delivered with the message."""
    application_id: ApplicationId | None | UnsetType = UNSET
    """ID of the activity's application; a game of the same family is allowed."""
    activity: SendActivity | None | UnsetType = UNSET
    """Activity invite to send with the message."""


class EditUserMessage(Struct, kw_only=True):
    """The new content of a message."""

    content: Annotated[str, Meta(min_length=1, max_length=USER_MESSAGE_LENGTH_MAX)]
    """New text of the message."""


class ListUserMessages(Struct, kw_only=True):
    """Query parameters for listing the newest messages."""

    limit: Annotated[int, Meta(ge=1, le=USER_MESSAGES_MAX)] = 50
    """Maximum number of messages to return."""


class UserMessage(Message, kw_only=True):
    """A direct message in the form seen by games."""

    channel: PrivateChannel | UnsetType = UNSET
    """Private channel of the message. For a message that is not stored, the channel's ID is the ID of the other player."""
    recipient_id: UserId | UnsetType = UNSET
    """ID of the user who receives the message."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Metadata sent with the message; absent if there is none."""
    moderation_metadata: dict[str, str] | UnsetType = UNSET
    """Moderation metadata set by the application's backend; absent if there is none."""


class DispatchedUserMessage(DispatchedMessage, kw_only=True):
    """A direct message in gateway events and webhook events of games."""

    channel: PrivateChannel | UnsetType = UNSET
    """Private channel of the message; absent in gateway events of stored messages.

    For a message that is not stored, the channel's ID is the ID of the other player."""
    recipient_id: UserId | UnsetType = UNSET
    """ID of the user who receives the message; absent in gateway events of stored messages."""
    metadata: dict[str, str] | UnsetType = UNSET
    """Metadata sent with the message; absent if there is none."""
    moderation_metadata: dict[str, str] | UnsetType = UNSET
    """Moderation metadata set by the application's backend; empty or absent if there is none."""


class UserMessageSummary(Struct, kw_only=True):
    """A conversation of the caller with another user."""

    user_id: UserId
    """ID of the other user."""
    last_message_id: MessageId
    """ID of the last message."""


class ActivityInvite(Struct, kw_only=True):
    """An activity invite, for sessions that do not receive direct messages."""

    message_id: MessageId
    """ID of the message that contains the invite."""
    channel_id: ChannelId
    """ID of the message's channel."""
    author: User
    """User who sent the invite."""
    application: MessageApplication
    """Application of the activity."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the application. Never sent by this server; other servers send it instead of `application`."""
    activity: MessageActivity
    """Activity that the user is invited to."""


class GetActivityJoinSecret(Struct, kw_only=True):
    """The message with which the caller was invited; both IDs may be absent if the party is public."""

    channel_id: ChannelId | UnsetType = UNSET
    """ID of the message's channel."""
    message_id: MessageId | UnsetType = UNSET
    """ID of the message."""


class JoinSecret(Struct, kw_only=True):
    """The secret with which a game joins a party."""

    secret: str
    """Join secret of the activity."""


class Disclosures(Struct, kw_only=True):
    """The disclosures of an application and the caller's acknowledgements."""

    disclosures: list[int]
    """Disclosures that apply to the application; a `DisclosureType` each."""
    acked_disclosures: list[int]
    """Disclosures that the user acknowledged; a `DisclosureType` each."""
    all_acked: bool
    """Whether the user acknowledged all disclosures."""


class AcknowledgeDisclosures(Struct, kw_only=True):
    """Disclosures that the user acknowledges."""

    disclosures: list[Int32]
    """Disclosures to acknowledge; a `DisclosureType` each."""


ACTIVITY_INVITE_CREATE = Event(
    "ACTIVITY_INVITE_CREATE",
    ActivityInvite,
    "Sent with an activity invite to sessions that do not receive MESSAGE_CREATE. "
    "Also sent to the recipient's games when the invite is accepted.",
    scope=Scope.ACTIVITIES_READ,
)

_WRITE_SCOPES: Final = (Scope.DM_CHANNELS_MESSAGES_WRITE,)
_MESSAGE_LIMIT: Final = RateLimit(5, 5.0, per="user_id")
_UNAPPROVED_MESSAGES_MAX: Final = 100
"""Maximum number of messages in two hours while the application is not approved (spec/sdk.md#16)."""
_RECIPIENT_ERRORS: Final = (
    errors.UNKNOWN_USER,
    errors.CANNOT_MESSAGE_USER,
    errors.NO_MUTUAL_GUILDS,
    errors.INVALID_RECIPIENTS,
)

SEND_USER_MESSAGE = Operation(
    "POST",
    "/users/{user_id}/messages",
    body=SendUserMessage,
    result=UserMessage,
    # A user's own client sends only invites of local games here; other messages go to channels.
    auth=Auth.USER | Auth.BEARER,
    scopes=(*_WRITE_SCOPES, Scope.ACTIVITIES_INVITES_WRITE),
    raises=(
        *_RECIPIENT_ERRORS,
        errors.MISSING_OAUTH2_SCOPE,
        errors.EMPTY_MESSAGE,
        errors.INVALID_ACTIVITY_ACTION,
        errors.INVALID_FORM_BODY,
        errors.AUTO_MODERATION_BLOCKED_MESSAGE,
    ),
    emits=(MESSAGE_CREATE, CHANNEL_CREATE, ACTIVITY_INVITE_CREATE),
    limit=_MESSAGE_LIMIT,
    unapproved_calls_max=_UNAPPROVED_MESSAGES_MAX,
)

EDIT_USER_MESSAGE = Operation(
    "PATCH",
    "/users/{user_id}/messages/{message_id}",
    body=EditUserMessage,
    result=UserMessage,
    auth=Auth.BEARER,
    scopes=_WRITE_SCOPES,
    raises=(
        *_RECIPIENT_ERRORS,
        errors.UNKNOWN_MESSAGE,
        errors.CANNOT_EDIT_OTHERS_MESSAGE,
        errors.EMPTY_MESSAGE,
        errors.AUTO_MODERATION_BLOCKED_MESSAGE,
    ),
    emits=(MESSAGE_UPDATE,),
    limit=_MESSAGE_LIMIT,
)

DELETE_USER_MESSAGE = Operation(
    "DELETE",
    "/users/{user_id}/messages/{message_id}",
    auth=Auth.BEARER,
    scopes=_WRITE_SCOPES,
    raises=(
        errors.UNKNOWN_USER,
        errors.INVALID_RECIPIENTS,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_PERMISSIONS,
    ),
    emits=(MESSAGE_DELETE,),
    limit=_MESSAGE_LIMIT,
)

LIST_USER_MESSAGES = Operation(
    "GET",
    "/users/{user_id}/messages",
    query=ListUserMessages,
    result=list[UserMessage],
    auth=Auth.BEARER,
    scopes=(Scope.DM_CHANNELS_MESSAGES_READ,),
    raises=(errors.UNKNOWN_USER, errors.INVALID_RECIPIENTS, errors.UNKNOWN_CHANNEL),
    limit=_MESSAGE_LIMIT,
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
    query=GetActivityJoinSecret,
    result=JoinSecret,
    auth=Auth.USER | Auth.BEARER,
    scopes=(Scope.ACTIVITIES_READ,),
    raises=(errors.MISSING_ACCESS, errors.INVALID_ACTIVITY_ACTION),
)

GET_ACTIVITY_METADATA = Operation(
    "GET",
    "/users/{user_id}/sessions/{session_id}/activities/{application_id}/metadata",
    result=ActivityMetadata,
    auth=Auth.USER,
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
