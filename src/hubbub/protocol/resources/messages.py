"""Messages: their models and events, and the operations that create, read, edit, delete and crosspost them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import (
    USER_MESSAGE_TYPES,
    AllowedMentionType,
    AuditLogAction,
    MessageReferenceType,
    MessageType,
    Scope,
)
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    GuildId,
    MessageId,
    RoleId,
    StickerId,
    Timestamp,
    UserId,
    WebhookId,
)
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, thread_membership
from hubbub.protocol.resources.attachments import (
    ATTACHMENT_BYTES_MAX,
    ATTACHMENTS_MAX,
    Attachment,
    AttachmentRequest,
)
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.components import COMPONENTS_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, Embed, EmbedRequest
from hubbub.protocol.resources.members import PartialMember
from hubbub.protocol.resources.message_parts import (
    InteractionMetadata as InteractionMetadata,
)
from hubbub.protocol.resources.message_parts import (
    MentionedChannel,
    MessageLobbyMember,
    RoleSubscription,
)
from hubbub.protocol.resources.message_parts import (
    MessageActivity as MessageActivity,
)
from hubbub.protocol.resources.message_parts import (
    MessageApplication as MessageApplication,
)
from hubbub.protocol.resources.message_parts import (
    MessageCall as MessageCall,
)
from hubbub.protocol.resources.message_parts import (
    MessageInteraction as MessageInteraction,
)
from hubbub.protocol.resources.message_parts import (
    SharedClientTheme as SharedClientTheme,
)
from hubbub.protocol.resources.polls import CreatePoll, Poll
from hubbub.protocol.resources.reactions import Reaction
from hubbub.protocol.resources.stickers import STICKERS_PER_MESSAGE_MAX, Sticker, StickerItem
from hubbub.protocol.resources.users import User

CONTENT_MAX: Final = 2000
"""Maximum length of the text of a message, in characters."""
NONCE_MAX: Final = 25
"""Maximum length of a nonce, in characters."""
NONCE_WINDOW: Final = timedelta(minutes=5)
"""Period in which `enforce_nonce` finds an earlier message with the same author, channel and nonce."""
ALLOWED_MENTION_IDS_MAX: Final = 100
"""Maximum number of user IDs, and of role IDs, that `allowed_mentions` names."""
BULK_DELETE_MIN: Final = 2
"""Minimum number of messages in a bulk deletion."""
BULK_DELETE_MAX: Final = 100
"""Maximum number of messages in a bulk deletion."""
BULK_DELETE_AGE_MAX: Final = timedelta(days=14)
"""Maximum age of messages that can be deleted in bulk."""

OLD_MESSAGE_AGE: Final = timedelta(hours=1)
"""Age from which edits count against OLD_EDIT_LIMIT."""
OLD_EDIT_LIMIT: Final = RateLimit(30, 3600.0, per="channel_id", code=errors.MAX_OLD_MESSAGE_EDITS)
"""Limit on edits of messages older than OLD_MESSAGE_AGE, per author and channel.
The platform documents the error, not the number.
"""
ANNOUNCEMENT_EDIT_LIMIT: Final = RateLimit(10, 3600.0, per="channel_id", code=errors.ANNOUNCEMENT_EDIT_RATE_LIMIT)
"""Limit on edits of published messages, which also update the copies, per author and channel.

The platform documents the error, not the number.
"""
FORWARD_LIMIT: Final = RateLimit(5, 10.0, bucket="forwards")
"""Limit on forwards per user, counted in addition to the limit of CREATE_MESSAGE."""

FORWARDABLE_TYPES: Final = USER_MESSAGE_TYPES
"""Types of messages that can be forwarded (spec/http.md#3.4)."""
UNDELETABLE_TYPES: Final = frozenset(
    {
        MessageType.RECIPIENT_ADD,
        MessageType.RECIPIENT_REMOVE,
        MessageType.CALL,
        MessageType.CHANNEL_NAME_CHANGE,
        MessageType.CHANNEL_ICON_CHANGE,
        MessageType.THREAD_STARTER_MESSAGE,
    }
)
"""Types of messages that cannot be deleted (spec/http.md#3.4)."""

Content = Annotated[str, Meta(max_length=CONTENT_MAX)]


class MessageReference(Struct, kw_only=True):
    """The message that a reply, a forward or a system message refers to."""

    type: int = 0
    """Type of the reference: 0 for replies and system messages, 1 for forwards."""
    channel_id: ChannelId
    """ID of the referenced message's channel."""
    message_id: MessageId | UnsetType = UNSET
    """ID of the referenced message; absent if the reference names only a channel."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild of the referenced message's channel; absent outside guilds."""


class MessageContent(Struct, kw_only=True):
    """The content of a message, which is also stored in the snapshot of a forward."""

    type: int
    """Type of the message; a `MessageType`."""
    content: str
    """Text of the message. Empty for bots without access to message content."""
    embeds: list[Embed]
    """Embeds of the message."""
    attachments: list[Attachment]
    """Files attached to the message."""
    components: list[Component]
    """Components of the message."""
    timestamp: Timestamp
    """Time at which the message was sent."""
    edited_timestamp: Timestamp | None
    """Time of the last edit; null if the message was never edited."""
    flags: int
    """Flags of the message; a `MessageFlags` bit set."""
    mentions: Sequence[User]
    """Users mentioned in the message."""
    mention_roles: list[RoleId]
    """IDs of the roles mentioned in the message."""
    stickers: list[Sticker] | UnsetType = UNSET
    """Complete stickers of the message; always absent."""
    sticker_items: list[StickerItem] | UnsetType = UNSET
    """Stickers of the message with the fields needed to render them; absent if there are none."""


class MessageSnapshot(Struct, kw_only=True):
    """A copy of a forwarded message at the time of forwarding."""

    message: MessageContent
    """Content of the forwarded message."""


class Message(MessageContent, kw_only=True):
    """A message in a channel.

    Missing parts such as `poll`, `interaction` and `thread` are absent, never null (spec/clients.md#2).
    """

    id: MessageId
    """ID of the message."""
    channel_id: ChannelId
    """ID of the channel."""
    author: User
    """Author of the message. For webhooks, a user object built from the webhook's name and avatar."""
    tts: bool = False
    """Whether the message was sent with text-to-speech."""
    mention_everyone: bool
    """Whether the message mentions @everyone or @here."""
    pinned: bool
    """Whether the message is pinned."""
    reactions: list[Reaction] | UnsetType = UNSET
    """Reactions to the message; absent if there are none."""
    nonce: int | str | UnsetType = UNSET
    """Nonce sent by the client that created the message; used to match it with a pending message."""
    webhook_id: WebhookId | UnsetType = UNSET
    """ID of the webhook that sent the message; absent otherwise."""
    activity: MessageActivity | UnsetType = UNSET
    """Activity invite, sent with rich presence messages."""
    application: MessageApplication | UnsetType = UNSET
    """Application of the message, sent with rich presence messages."""
    application_id: ApplicationId | UnsetType = UNSET
    """ID of the application that created the message."""
    message_reference: MessageReference | UnsetType = UNSET
    """Reference to the message that this one replies to, forwards, or is about."""
    message_snapshots: list[MessageSnapshot] | UnsetType = UNSET
    """Forwarded message; exactly one entry, present on forwards only."""
    referenced_message: "Message | None | UnsetType" = UNSET
    """Message referenced by a reply; null if it was deleted, absent if it was not loaded."""
    interaction_metadata: InteractionMetadata | UnsetType = UNSET
    """Interaction from which the message was created."""
    interaction: MessageInteraction | UnsetType = UNSET
    """Deprecated in favor of `interaction_metadata`: command that the message responds to."""
    thread: Thread | UnsetType = UNSET
    """Thread started from the message."""
    mention_channels: list[MentionedChannel] | UnsetType = UNSET
    """Channels mentioned in a crossposted message; always absent."""
    position: int | UnsetType = UNSET
    """Approximate position of the message in its thread, from 0."""
    role_subscription_data: RoleSubscription | UnsetType = UNSET
    """Role subscription that the system message announces; always absent."""
    resolved: dict[str, Any] | UnsetType = UNSET
    """Objects referenced by ID in the message's select menus; always absent."""
    poll: Poll | UnsetType = UNSET
    """Poll of the message."""
    call: MessageCall | UnsetType = UNSET
    """Call that the system message announces."""
    shared_client_theme: SharedClientTheme | UnsetType = UNSET
    """Color theme shared in the message."""
    lobby_member: MessageLobbyMember | UnsetType = UNSET
    """Name of the author in the lobby at the time of sending."""


class MentionedUser(User, kw_only=True):
    """A mentioned user, with their membership in the guild."""

    member: PartialMember | UnsetType = UNSET
    """Partial member of the user in the guild; absent outside guilds."""


class DispatchedMessage(Message, kw_only=True):
    """A message in gateway events."""

    mentions: Sequence[MentionedUser]
    """Users mentioned in the message, with their membership in the guild."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds and on ephemeral messages."""
    member: PartialMember | UnsetType = UNSET
    """Author's membership in the guild, without `user`; absent for webhooks and on ephemeral messages."""
    channel_type: int | UnsetType = UNSET
    """Type of the channel; a `ChannelType`."""


class MessageDeleted(Struct, kw_only=True):
    """A message that was deleted."""

    id: MessageId
    """ID of the message."""
    channel_id: ChannelId
    """ID of the channel."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""


class MessagesDeleted(Struct, kw_only=True):
    """Messages that were deleted together."""

    ids: list[MessageId]
    """IDs of the messages."""
    channel_id: ChannelId
    """ID of the channel."""
    guild_id: GuildId | UnsetType = UNSET
    """ID of the guild; absent outside guilds."""


class AllowedMentions(Struct, kw_only=True):
    """The mentions in a message that send notifications."""

    parse: list[AllowedMentionType] | None | UnsetType = UNSET
    """Types of mention that notify wherever they are in the text: `users`, `roles` and `everyone`."""
    users: Annotated[list[UserId], Meta(max_length=ALLOWED_MENTION_IDS_MAX)] | None | UnsetType = UNSET
    """IDs of the users whose mentions notify; null or absent for none."""
    roles: Annotated[list[RoleId], Meta(max_length=ALLOWED_MENTION_IDS_MAX)] | None | UnsetType = UNSET
    """IDs of the roles whose mentions notify; null or absent for none."""
    replied_user: bool | None | UnsetType = UNSET
    """Whether to mention the author of the message replied to; default false."""


class MessageReferenceRequest(Struct, kw_only=True):
    """The message to reply to or to forward."""

    message_id: MessageId
    """ID of the message."""
    type: MessageReferenceType | None | UnsetType = UNSET
    """Type of the reference: 0 reply, 1 forward; default 0."""
    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the message's channel; if absent, the channel of the new message."""
    guild_id: GuildId | None | UnsetType = UNSET
    """ID of the channel's guild; optional."""
    fail_if_not_exists: bool | None | UnsetType = UNSET
    """Whether to reject the request if the message does not exist; default true.
    If false, the new message is sent without a reference."""


class CreateMessageContent(Struct, kw_only=True):
    """The content of a new message, also of the first message of a forum post; null or absent parts are omitted."""

    content: Content | None | UnsetType = UNSET
    """Text of the message."""
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    """Rich embeds of the message; at most 6,000 characters in total."""
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Mentions that notify; absent notifies every mention in the text."""
    sticker_ids: Annotated[list[StickerId], Meta(max_length=STICKERS_PER_MESSAGE_MAX)] | None | UnsetType = UNSET
    """IDs of the stickers to send."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    """Components of the message."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Metadata of the uploaded files."""
    flags: Bits | None | UnsetType = UNSET
    """Message flags: SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, IS_VOICE_MESSAGE and IS_COMPONENTS_V2 can be set."""
    poll: CreatePoll | None | UnsetType = UNSET
    """Poll to attach to the message."""
    shared_client_theme: SharedClientTheme | None | UnsetType = UNSET
    """Color theme to share."""


class CreateMessage(CreateMessageContent, kw_only=True):
    """A message to send."""

    # An int or a string. Type and length are not declared, because their form errors have other codes (spec/http.md#1.7).
    nonce: Any = UNSET
    """Integer or string of at most 25 characters, which the message and its event return unchanged."""
    enforce_nonce: bool | None | UnsetType = UNSET
    """Whether a `nonce` that the author used in the channel within the last 5 minutes returns the earlier message.
    No new message is created then. Default false; true from API version 11 on."""
    tts: bool | None | UnsetType = UNSET
    """Whether the message is read aloud with text-to-speech; default false."""
    message_reference: MessageReferenceRequest | None | UnsetType = UNSET
    """Message to reply to or to forward; null or absent for neither."""


class UpdateMessage(Struct, kw_only=True):
    """Changes to a message; null clears a field, absent keeps it."""

    content: Content | None | UnsetType = UNSET
    """New text of the message."""
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    """New embeds, which replace all embeds."""
    flags: Bits | None | UnsetType = UNSET
    """New flags: SUPPRESS_EMBEDS can be set and cleared, IS_COMPONENTS_V2 only set."""
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Mentions of the new text that notify; absent notifies every mention."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    """New components, which replace all components."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Files the message has afterwards, existing and new; absent keeps all files and adds the new ones."""
    sticker_ids: list[StickerId] | None | UnsetType = UNSET
    """Must be empty or absent; stickers cannot be edited."""


class ListMessages(Struct, kw_only=True):
    """Page selection for messages; `before` and `after` are exclusive.

    If several are given, `around` takes precedence over `before`, and `before` over `after`.
    """

    around: MessageId | UnsetType = UNSET
    """Return messages around this message ID."""
    before: MessageId | UnsetType = UNSET
    """Return messages with a smaller ID."""
    after: MessageId | UnsetType = UNSET
    """Return messages with a greater ID."""
    limit: Annotated[int, Meta(ge=1, le=100)] = 50
    """Maximum number of messages to return."""


class BulkDeleteMessages(Struct, kw_only=True):
    """Messages to delete together."""

    # The count is not declared, because a wrong count has its own error, BAD_BULK_DELETE_COUNT.
    messages: list[MessageId]
    """IDs of the messages, from 2 to 100; none may be older than 14 days."""


MESSAGE_CREATE = Event(
    "MESSAGE_CREATE",
    DispatchedMessage,
    "Sent when a message is created.",
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_UPDATE = Event(
    "MESSAGE_UPDATE",
    DispatchedMessage,
    "Sent when a message is edited, pinned or unpinned, or its embeds are updated.",
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_DELETE = Event(
    "MESSAGE_DELETE",
    MessageDeleted,
    "Sent when a message is deleted.",
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_DELETE_BULK = Event(
    "MESSAGE_DELETE_BULK",
    MessagesDeleted,
    "Sent when several messages are deleted together.",
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
)

SEND_ERRORS: Final = (
    errors.UNKNOWN_CHANNEL,
    errors.MISSING_ACCESS,
    errors.MISSING_PERMISSIONS,
    errors.EMPTY_MESSAGE,
    errors.MAX_ATTACHMENTS,
    errors.FILE_TOO_LARGE,
    errors.INVALID_STICKER,
    errors.STICKER_NOT_ALLOWED,
    errors.POLL_CANNOT_USE_EMOJI,
    errors.POLL_INVALID_CHANNEL_TYPE,
    errors.FEATURE_DISABLED,
    errors.REQUEST_ENTITY_TOO_LARGE,
    errors.INVALID_FORM_BODY,
    errors.AUTO_MODERATION_BLOCKED_MESSAGE,
)
"""Errors of operations that send a message to a channel."""
USER_SEND_ERRORS: Final = (
    errors.VERIFICATION_LEVEL_TOO_HIGH,
    errors.SLOWMODE_RATE_LIMIT,
)
"""Additional errors of messages that users and bots send; webhooks and interaction responses are exempt."""

LIST_MESSAGES = Operation(
    "GET",
    "/channels/{channel_id}/messages",
    result=list[Message],
    query=ListMessages,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_SEND_IN_CHANNEL,
        errors.BEFORE_THREAD_CREATION,
    ),
    limit=RateLimit(10, 10.0),
)

# The slice also checks SEND_MESSAGES (in threads SEND_MESSAGES_IN_THREADS) and permissions for parts of the message.
CREATE_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages",
    body=CreateMessage,
    result=Message,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        *SEND_ERRORS,
        *USER_SEND_ERRORS,
        errors.UNKNOWN_MESSAGE,
        errors.CANNOT_SEND_IN_FORUM,
        errors.CANNOT_SEND_IN_CHANNEL,
        errors.CANNOT_MESSAGE_USER,
        errors.NO_MUTUAL_GUILDS,
        errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE,
        errors.INVALID_MESSAGE_TYPE,
        errors.REPLY_NEEDS_READ_MESSAGE_HISTORY,
        errors.FORWARD_NEEDS_READABLE_CONTENT,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.MAX_ACTIVE_THREADS,
        errors.MAX_THREAD_PARTICIPANTS,
        errors.VOICE_MESSAGE_EXTRA_CONTENT,
        errors.VOICE_MESSAGE_SINGLE_AUDIO,
        errors.VOICE_MESSAGE_METADATA,
        errors.VOICE_MESSAGE_NOT_ALLOWED,
    ),
    emits=(MESSAGE_CREATE, channels.THREAD_UPDATE, thread_membership.THREAD_MEMBERS_UPDATE, channels.CHANNEL_CREATE),
    uploads=Uploads(file_bytes_max=ATTACHMENT_BYTES_MAX),
)

GET_MESSAGE = Operation(
    "GET",
    "/channels/{channel_id}/messages/{message_id}",
    result=Message,
    needs=Permissions.VIEW_CHANNEL | Permissions.READ_MESSAGE_HISTORY,
    raises=(errors.UNKNOWN_CHANNEL, errors.UNKNOWN_MESSAGE, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
    limit=RateLimit(10, 10.0),
)

UPDATE_MESSAGE = Operation(
    "PATCH",
    "/channels/{channel_id}/messages/{message_id}",
    body=UpdateMessage,
    result=Message,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.TWO_FACTOR_REQUIRED,
        errors.CANNOT_EDIT_OTHERS_MESSAGE,
        errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE,
        errors.EMPTY_MESSAGE,
        errors.FEATURE_DISABLED,
        errors.REQUEST_ENTITY_TOO_LARGE,
        errors.MAX_ATTACHMENTS,
        errors.FILE_TOO_LARGE,
        errors.CANNOT_EDIT_STICKERS,
        errors.VOICE_MESSAGE_CANNOT_EDIT,
        errors.POLL_CANNOT_EDIT,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.MAX_OLD_MESSAGE_EDITS,
        errors.ANNOUNCEMENT_EDIT_RATE_LIMIT,
        errors.AUTO_MODERATION_BLOCKED_MESSAGE,
        errors.INVALID_FORM_BODY,
    ),
    emits=(MESSAGE_UPDATE,),
    uploads=Uploads(file_bytes_max=ATTACHMENT_BYTES_MAX),
)

DELETE_MESSAGE = Operation(
    "DELETE",
    "/channels/{channel_id}/messages/{message_id}",
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.CANNOT_EXECUTE_ON_SYSTEM_MESSAGE,
        errors.THREAD_ARCHIVED,
    ),
    emits=(MESSAGE_DELETE,),
    # spec/http.md#1.14: very recent messages, and messages older than two weeks, have buckets of their own.
    limit=RateLimit(5, 1.0, age_thresholds_seconds=(10.0, 14 * 86_400.0)),
    audits=(AuditLogAction.MESSAGE_DELETE,),
)

BULK_DELETE_MESSAGES = Operation(
    "POST",
    "/channels/{channel_id}/messages/bulk-delete",
    body=BulkDeleteMessages,
    needs=Permissions.VIEW_CHANNEL | Permissions.MANAGE_MESSAGES | Permissions.READ_MESSAGE_HISTORY,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.BAD_BULK_DELETE_COUNT,
        errors.BULK_DELETE_TOO_OLD,
        errors.THREAD_ARCHIVED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(MESSAGE_DELETE_BULK,),
    limit=RateLimit(1, 1.0),
    audits=(AuditLogAction.MESSAGE_BULK_DELETE,),
)

# spec/http.md#4.2: messages of other authors also require MANAGE_MESSAGES.
CROSSPOST_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages/{message_id}/crosspost",
    result=Message,
    needs=Permissions.VIEW_CHANNEL | Permissions.SEND_MESSAGES,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_MESSAGE,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.WRONG_CHANNEL_TYPE,
        errors.ALREADY_CROSSPOSTED,
        errors.INVALID_MESSAGE_TYPE,
    ),
    emits=(MESSAGE_UPDATE, MESSAGE_CREATE),
    limit=RateLimit(10, 3600.0),
)
