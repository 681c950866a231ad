"""Messages: what people say, and all that can be done with it but react, pin and poll."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AllowedMentionType, AuditLogAction, BaseTheme, MessageReferenceType, Scope
from hubbub.protocol.ids import (
    ApplicationId,
    ChannelId,
    GuildId,
    MessageId,
    RoleId,
    Snowflake,
    StickerId,
    Timestamp,
    UserId,
    WebhookId,
)
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels
from hubbub.protocol.resources.attachments import (
    ATTACHMENT_BYTES_LARGEST,
    ATTACHMENTS_MAX,
    Attachment,
    AttachmentRequest,
)
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.components import COMPONENTS_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, Embed, EmbedRequest
from hubbub.protocol.resources.members import PartialMember
from hubbub.protocol.resources.polls import CreatePoll, Poll
from hubbub.protocol.resources.reactions import Reaction
from hubbub.protocol.resources.stickers import STICKERS_PER_MESSAGE_MAX, Sticker, StickerItem
from hubbub.protocol.resources.users import User

CONTENT_MAX: Final = 2000
NONCE_MAX: Final = 25
NONCE_WINDOW: Final = timedelta(minutes=5)
"""How long `enforce_nonce` remembers (author, channel, nonce)."""
ALLOWED_MENTION_IDS_MAX: Final = 100
BULK_DELETE_MIN: Final = 2
BULK_DELETE_MAX: Final = 100
BULK_DELETE_AGE: Final = timedelta(days=14)

OLD_MESSAGE_AGE: Final = timedelta(hours=1)
OLD_EDIT_LIMIT: Final = RateLimit(30, 3600.0, per="channel_id", code=errors.MAX_OLD_MESSAGE_EDITS)
"""Edits of messages older than OLD_MESSAGE_AGE, of one author in one channel. The platform names the limit, not the number."""
ANNOUNCEMENT_EDIT_LIMIT: Final = RateLimit(10, 3600.0, per="channel_id", code=errors.ANNOUNCEMENT_EDIT_RATE_LIMIT)
"""Edits of a published message, which all its copies follow; the number is ours too."""
FORWARD_LIMIT: Final = RateLimit(5, 10.0, bucket="forwards")
"""Forwards of one user, counted beside CREATE_MESSAGE's own limit."""

# http.md 3.4: forwardable are 0 default, 19 reply, 20 and 23 command responses; deletable all but 1 to 5 and 21.
FORWARDABLE_TYPES: Final = frozenset({0, 19, 20, 23})
UNDELETABLE_TYPES: Final = frozenset({1, 2, 3, 4, 5, 21})

Content = Annotated[str, Meta(max_length=CONTENT_MAX)]


class MessageReference(Struct, kw_only=True):
    """The message that a reply answers, a forward carries, or a system message speaks of."""

    type: int = 0
    """0 default, 1 forward."""
    channel_id: ChannelId
    message_id: MessageId | UnsetType = UNSET
    guild_id: GuildId | UnsetType = UNSET


class MessageContent(Struct, kw_only=True):
    """What a message says: all of it that a forward's snapshot keeps."""

    type: int
    content: str
    embeds: list[Embed]
    attachments: list[Attachment]
    components: list[Component]
    timestamp: Timestamp
    edited_timestamp: Timestamp | None
    flags: int
    mentions: Sequence[User]
    mention_roles: list[RoleId]
    stickers: list[Sticker] | UnsetType = UNSET
    sticker_items: list[StickerItem] | UnsetType = UNSET


class MessageSnapshot(Struct, kw_only=True):
    """A forwarded message as it was."""

    message: MessageContent


class MessageCall(Struct, kw_only=True):
    """A call in a private channel."""

    participants: list[UserId]
    ended_timestamp: Timestamp | None | UnsetType = UNSET


class MessageActivity(Struct, kw_only=True):
    """An invitation to an activity."""

    type: int
    party_id: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    """The gateway session of the sender's that is to be joined."""


class MessageApplication(Struct, kw_only=True):
    """The application that a message belongs to."""

    id: ApplicationId
    name: str
    icon: str | None
    description: str
    type: int | None
    cover_image: str | UnsetType = UNSET
    primary_sku_id: Snowflake | UnsetType = UNSET
    parent_id: ApplicationId | UnsetType = UNSET
    """Of an invite to a game: its publisher's application."""
    bot: User | UnsetType = UNSET


class MessageInteraction(Struct, kw_only=True):
    """The command a message answers, in the older form."""

    id: Snowflake
    type: int
    name: str
    user: User
    name_localized: str | UnsetType = UNSET
    member: PartialMember | UnsetType = UNSET
    """On the gateway, in a guild."""


class InteractionMetadata(Struct, kw_only=True):
    """The interaction a message came from."""

    id: Snowflake
    type: int
    user: User
    authorizing_integration_owners: dict[str, Snowflake]
    original_response_message_id: MessageId | UnsetType = UNSET
    """On follow-ups."""
    target_user: User | UnsetType = UNSET
    target_message_id: MessageId | UnsetType = UNSET
    interacted_message_id: MessageId | UnsetType = UNSET
    """On answers to components."""
    triggering_interaction_metadata: "InteractionMetadata | UnsetType" = UNSET
    """On answers to modals."""


class MentionedChannel(Struct, kw_only=True):
    """A channel of another guild that a crossposted message mentions."""

    id: ChannelId
    guild_id: GuildId
    type: int
    name: str


class RoleSubscription(Struct, kw_only=True):
    """A role somebody subscribed to."""

    role_subscription_listing_id: Snowflake
    tier_name: str
    total_months_subscribed: int
    is_renewal: bool


class MessageLobbyMember(Struct, kw_only=True):
    """The name a lobby message was sent under."""

    additional_name: str


class SharedClientTheme(Struct, kw_only=True):
    """Colours somebody shares."""

    colors: Annotated[list[Annotated[str, Meta(min_length=6, max_length=6)]], Meta(min_length=1, max_length=5)]
    gradient_angle: Annotated[int, Meta(ge=0, le=360)]
    base_mix: Annotated[int, Meta(ge=0, le=100)]
    base_theme: BaseTheme | None | UnsetType = UNSET


class Message(MessageContent, kw_only=True):
    """A message. What it does not have is left out, never null: `poll`, `interaction`, `thread` (clients.md)."""

    id: MessageId
    channel_id: ChannelId
    author: User
    """For a webhook's message a user made of the webhook's name and avatar."""
    tts: bool = False
    mention_everyone: bool
    pinned: bool
    reactions: list[Reaction] | UnsetType = UNSET
    nonce: int | str | UnsetType = UNSET
    webhook_id: WebhookId | UnsetType = UNSET
    activity: MessageActivity | UnsetType = UNSET
    application: MessageApplication | UnsetType = UNSET
    application_id: ApplicationId | UnsetType = UNSET
    message_reference: MessageReference | UnsetType = UNSET
    message_snapshots: list[MessageSnapshot] | UnsetType = UNSET
    referenced_message: "Message | None | UnsetType" = UNSET
    """Null: deleted since; absent: not looked up."""
    interaction_metadata: InteractionMetadata | UnsetType = UNSET
    interaction: MessageInteraction | UnsetType = UNSET
    thread: Thread | UnsetType = UNSET
    mention_channels: list[MentionedChannel] | UnsetType = UNSET
    position: int | UnsetType = UNSET
    """Roughly where in its thread the message stands."""
    role_subscription_data: RoleSubscription | UnsetType = UNSET
    resolved: dict[str, Any] | UnsetType = UNSET
    poll: Poll | UnsetType = UNSET
    call: MessageCall | UnsetType = UNSET
    shared_client_theme: SharedClientTheme | UnsetType = UNSET
    lobby_member: MessageLobbyMember | UnsetType = UNSET


class MentionedUser(User, kw_only=True):
    """A user whom a message mentions, with their membership in its guild."""

    member: PartialMember | UnsetType = UNSET


class DispatchedMessage(Message, kw_only=True):
    """A message as the gateway tells of it."""

    mentions: Sequence[MentionedUser]
    guild_id: GuildId | UnsetType = UNSET
    """Absent outside guilds and on ephemeral messages."""
    member: PartialMember | UnsetType = UNSET
    """The author's membership without `user`; absent for webhooks and on ephemeral messages."""
    channel_type: int | UnsetType = UNSET


class MessageDeleted(Struct, kw_only=True):
    """A message that is gone."""

    id: MessageId
    channel_id: ChannelId
    guild_id: GuildId | UnsetType = UNSET


class MessagesDeleted(Struct, kw_only=True):
    """Messages that went together."""

    ids: list[MessageId]
    channel_id: ChannelId
    guild_id: GuildId | UnsetType = UNSET


class AllowedMentions(Struct, kw_only=True):
    """Whom a message may notify."""

    parse: list[AllowedMentionType] | None | UnsetType = UNSET
    users: Annotated[list[UserId], Meta(max_length=ALLOWED_MENTION_IDS_MAX)] | None | UnsetType = UNSET
    roles: Annotated[list[RoleId], Meta(max_length=ALLOWED_MENTION_IDS_MAX)] | None | UnsetType = UNSET
    replied_user: bool | None | UnsetType = UNSET


class MessageReferenceRequest(Struct, kw_only=True):
    """The message to reply to or to forward."""

    message_id: MessageId
    type: MessageReferenceType | None | UnsetType = UNSET
    channel_id: ChannelId | None | UnsetType = UNSET
    guild_id: GuildId | None | UnsetType = UNSET
    fail_if_not_exists: bool | None | UnsetType = UNSET
    """Absent: true."""


class CreateFirstMessage(Struct, kw_only=True):
    """What a new message says, also the one that a forum post begins with."""

    content: Content | None | UnsetType = UNSET
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    sticker_ids: Annotated[list[StickerId], Meta(max_length=STICKERS_PER_MESSAGE_MAX)] | None | UnsetType = UNSET
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    poll: CreatePoll | None | UnsetType = UNSET
    shared_client_theme: SharedClientTheme | None | UnsetType = UNSET


class CreateMessage(CreateFirstMessage, kw_only=True):
    """A message to send."""

    # An int or a string; neither the types nor the length are declared, for their refusals have names of their own (http.md 1.7).
    nonce: Any = UNSET
    enforce_nonce: bool | None | UnsetType = UNSET
    """A repeat within NONCE_WINDOW gives the earlier message back."""
    tts: bool | None | UnsetType = UNSET
    message_reference: MessageReferenceRequest | None | UnsetType = UNSET


class UpdateMessage(Struct, kw_only=True):
    """What to change of a message. Absent keeps, null clears."""

    content: Content | None | UnsetType = UNSET
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """All files the message shall have, kept and new; absent keeps all and adds the new."""
    sticker_ids: list[StickerId] | None | UnsetType = UNSET


class ListMessages(Struct, kw_only=True):
    """Which messages to return; bounds are exclusive, `around` wins over `before` over `after`."""

    around: MessageId | UnsetType = UNSET
    before: MessageId | UnsetType = UNSET
    after: MessageId | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class BulkDeleteMessages(Struct, kw_only=True):
    """The messages to delete together."""

    # The number is not declared: its refusal has a code of its own, 50016.
    messages: list[MessageId]


MESSAGE_CREATE = Event(
    "MESSAGE_CREATE",
    DispatchedMessage,
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_UPDATE = Event(
    "MESSAGE_UPDATE",
    DispatchedMessage,
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_DELETE = Event(
    "MESSAGE_DELETE",
    MessageDeleted,
    intents=Intents.GUILD_MESSAGES,
    dm_intents=Intents.DIRECT_MESSAGES,
    scope=Scope.DM_CHANNELS_MESSAGES_READ,
)
MESSAGE_DELETE_BULK = Event(
    "MESSAGE_DELETE_BULK", MessagesDeleted, intents=Intents.GUILD_MESSAGES, dm_intents=Intents.DIRECT_MESSAGES
)

SEND_REFUSALS: Final = (
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
    errors.INVALID_FORM_BODY,
)
"""Why a message may be refused wherever it is said."""
PERSON_REFUSALS: Final = (
    errors.VERIFICATION_LEVEL_TOO_HIGH,
    errors.SLOWMODE_RATE_LIMIT,
    errors.AUTO_MODERATION_BLOCKED_MESSAGE,
)
"""Why a message may be refused besides where people say it: webhooks, and apps that answer, are asked none of this."""

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

# SEND_MESSAGES or, in threads, SEND_MESSAGES_IN_THREADS, and what the parts of the message ask for: rules of the slice.
CREATE_MESSAGE = Operation(
    "POST",
    "/channels/{channel_id}/messages",
    body=CreateMessage,
    result=Message,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        *SEND_REFUSALS,
        *PERSON_REFUSALS,
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
    emits=(MESSAGE_CREATE, channels.THREAD_UPDATE, channels.THREAD_MEMBERS_UPDATE, channels.CHANNEL_CREATE),
    uploads=Uploads(largest=ATTACHMENT_BYTES_LARGEST),
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
    uploads=Uploads(largest=ATTACHMENT_BYTES_LARGEST),
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
    # http.md 1.14: what was just said, and what is older than two weeks, is deleted at its own pace.
    limit=RateLimit(5, 1.0, ages=(10.0, 14 * 86_400.0)),
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

# http.md 4.2: SEND_MESSAGES for one's own, MANAGE_MESSAGES as well for others'.
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
