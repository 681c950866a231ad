"""Webhooks: URLs that post messages to a channel, and channels that follow announcements."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction, ChannelType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, TagId, WebhookId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, messages
from hubbub.protocol.resources.attachments import ATTACHMENT_BYTES_MAX, ATTACHMENTS_MAX, AttachmentRequest
from hubbub.protocol.resources.channels import APPLIED_TAGS_MAX
from hubbub.protocol.resources.components import COMPONENTS_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, EmbedRequest
from hubbub.protocol.resources.github import GITHUB_EVENTS, GithubWebhook
from hubbub.protocol.resources.messages import AllowedMentions, Content, Message
from hubbub.protocol.resources.polls import CreatePoll
from hubbub.protocol.resources.users import User

WEBHOOK_CHANNEL_TYPES: Final = frozenset(
    {
        ChannelType.GUILD_TEXT,
        ChannelType.GUILD_VOICE,
        ChannelType.GUILD_ANNOUNCEMENT,
        ChannelType.GUILD_STAGE_VOICE,
        ChannelType.GUILD_FORUM,
        ChannelType.GUILD_MEDIA,
    }
)
"""Channel types that can have webhooks. A thread uses the webhooks of its parent."""
WEBHOOKS_PER_CHANNEL_MAX: Final = 15
WEBHOOKS_PER_GUILD_MAX: Final = 1000
WEBHOOK_NAME_MAX: Final = 80
THREAD_NAME_MAX: Final = 100
"""Maximum length of the name of a post that a webhook starts, in characters."""
WEBHOOK_URL_MAX: Final = 2048
"""Maximum length of a URL, in characters."""

EXECUTE_LIMIT: Final = RateLimit(5, 2.0, bucket="execute_webhook")
"""Limit on messages of one webhook, shared by all formats."""
CHANNEL_EXECUTE_LIMIT: Final = RateLimit(30, 60.0, bucket="channel_webhooks")
"""Limit on messages of all webhooks in one channel.
The handler counts these messages, because the path does not contain the channel.
"""

GITHUB_EVENT_HEADER: Final = "X-GitHub-Event"

WebhookName = Annotated[str, Meta(min_length=1, max_length=WEBHOOK_NAME_MAX)]
UrlText = Annotated[str, Meta(max_length=WEBHOOK_URL_MAX)]


class WebhookSourceGuild(Struct, kw_only=True):
    """The guild of a followed announcement channel."""

    id: GuildId
    """ID of the guild."""
    icon: str | None
    """Icon hash of the guild; null if it has no icon."""
    name: str
    """Name of the guild."""


class WebhookSourceChannel(Struct, kw_only=True):
    """A followed announcement channel."""

    id: ChannelId
    """ID of the channel."""
    name: str
    """Name of the channel."""


class Webhook(Struct, kw_only=True):
    """A webhook; fields that its type does not have are absent."""

    id: WebhookId
    """ID of the webhook."""
    type: int
    """Type of the webhook: 1 incoming, 2 channel follower, 3 application."""
    name: str
    """Default name of the webhook."""
    avatar: str | None
    """Hash of the default avatar; null if there is none."""
    channel_id: ChannelId | None
    """ID of the channel the webhook posts to; null for application webhooks."""
    guild_id: GuildId | None
    """ID of the guild; null for application webhooks."""
    application_id: ApplicationId | None
    """ID of the application whose bot created the webhook; null if there is none."""
    user: User | UnsetType = UNSET
    """User who created the webhook; absent if unknown, in the audit log, and if the webhook was read with its token."""
    token: str | UnsetType = UNSET
    """Token of an incoming webhook. If an application created the webhook, only this application receives the token."""
    url: str | UnsetType = UNSET
    """URL with which an incoming webhook is executed; sent with `token`."""
    source_guild: WebhookSourceGuild | UnsetType = UNSET
    """Guild of the followed channel; present on followers while the channel exists."""
    source_channel: WebhookSourceChannel | UnsetType = UNSET
    """Followed channel; present on followers while the channel exists."""


class WebhooksUpdate(Struct, kw_only=True):
    """A channel whose webhooks changed."""

    guild_id: GuildId
    """ID of the guild."""
    channel_id: ChannelId
    """ID of the channel."""


class ChannelFollower(Struct, kw_only=True):
    """A followed channel and the webhook that posts its messages in the target channel."""

    channel_id: ChannelId
    """ID of the followed channel."""
    webhook_id: WebhookId
    """ID of the webhook in the target channel."""


class CreateWebhook(Struct, kw_only=True):
    """A new webhook."""

    name: WebhookName
    """Name of the webhook."""
    avatar: ImageData | None | UnsetType = UNSET
    """Default avatar as a data URI; null or absent for none."""


class UpdateWebhookByToken(Struct, kw_only=True):
    """Changes to a webhook made with its token; absent fields keep their value."""

    name: WebhookName | UnsetType = UNSET
    """Name of the webhook."""
    avatar: ImageData | None | UnsetType = UNSET
    """Default avatar as a data URI; null removes it."""


class UpdateWebhook(UpdateWebhookByToken, kw_only=True):
    """Changes to a webhook; absent fields keep their value."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """ID of the channel to move the webhook to; must be in the same guild. Null keeps the channel."""


class FollowChannel(Struct, kw_only=True):
    """A channel that is to follow an announcement channel."""

    webhook_channel_id: ChannelId
    """ID of the channel to which announcements are delivered."""


class WebhookQuery(Struct, kw_only=True):
    """The query parameters that select the thread of a webhook's message."""

    thread_id: ChannelId | UnsetType = UNSET
    """ID of a thread in the webhook's channel; absent for the channel itself."""


class ExecuteQuery(WebhookQuery, kw_only=True):
    """The query parameters of executing a webhook."""

    wait: bool = False
    """Whether to return the message; false returns 204. A follow-up to an interaction is always returned."""
    with_components: bool = False
    """Whether to accept components from a webhook that no application owns; otherwise they are ignored."""


class CompatibleQuery(WebhookQuery, kw_only=True):
    """The query parameters of executing a webhook in the format of another service."""

    wait: bool = True
    """Whether to wait for the message; accepted and ignored, because errors are always returned."""


class UpdateMessageQuery(WebhookQuery, kw_only=True):
    """The query parameters of editing a webhook's message."""

    with_components: bool = False
    """Whether to accept components from a webhook that no application owns; otherwise they are ignored."""


class ExecuteWebhook(Struct, kw_only=True):
    """A message to send with a webhook; null or absent parts are omitted."""

    content: Content | None | UnsetType = UNSET
    """Text of the message."""
    username: WebhookName | None | UnsetType = UNSET
    """Name for this message, instead of the webhook's default name."""
    avatar_url: UrlText | None | UnsetType = UNSET
    """URL of an avatar for this message, instead of the webhook's default avatar."""
    tts: bool | None | UnsetType = UNSET
    """Whether the message is read aloud with text-to-speech."""
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    """Rich embeds of the message."""
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Mentions that notify; absent notifies mentioned users only."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    """Components of the message."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Metadata of the uploaded files."""
    flags: Bits | None | UnsetType = UNSET
    """Message flags: SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS and IS_COMPONENTS_V2 can be set.

    A follow-up to an interaction can also set EPHEMERAL."""
    thread_name: Annotated[str, Meta(max_length=THREAD_NAME_MAX)] | None | UnsetType = UNSET
    """Title of the post to create; only in forum and media channels."""
    applied_tags: Annotated[list[TagId], Meta(max_length=APPLIED_TAGS_MAX)] | None | UnsetType = UNSET
    """IDs of the tags of the post to create."""
    poll: CreatePoll | None | UnsetType = UNSET
    """Poll to attach to the message."""


class UpdateWebhookMessage(Struct, kw_only=True):
    """Changes to a webhook's message; null clears a field, absent keeps it."""

    content: Content | None | UnsetType = UNSET
    """New text of the message."""
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    """New embeds, which replace all embeds."""
    flags: Bits | None | UnsetType = UNSET
    """New flags: SUPPRESS_EMBEDS can be set and cleared, IS_COMPONENTS_V2 only set."""
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Mentions of the new text that notify; absent notifies mentioned users only."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    """New components, which replace all components."""
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    """Files the message has afterwards, existing and new; absent keeps all files and adds the new ones."""
    poll: CreatePoll | None | UnsetType = UNSET
    """Poll to attach; only when editing a deferred interaction response."""


class SlackField(Struct, kw_only=True):
    """A field of a Slack attachment, with the names of Slack (`title`, `short`) or of embeds (`name`, `inline`)."""

    name: str | None | UnsetType = UNSET
    """Name of the field."""
    title: str | None | UnsetType = UNSET
    """Name of the field, in Slack's form."""
    value: str | None | UnsetType = UNSET
    """Value of the field."""
    inline: bool | None | UnsetType = UNSET
    """Whether the field can be shown beside others."""
    short: bool | None | UnsetType = UNSET
    """Whether the field can be shown beside others, in Slack's form."""


class SlackAttachment(Struct, kw_only=True):
    """A Slack attachment, which is converted to an embed; null and absent fields are omitted."""

    title: str | None | UnsetType = UNSET
    """Title of the embed."""
    title_link: UrlText | None | UnsetType = UNSET
    """URL of the title."""
    text: str | None | UnsetType = UNSET
    """Description of the embed."""
    color: str | None | UnsetType = UNSET
    """Color: `#rrggbb`, `#rgb`, or one of Slack's names `good`, `warning` and `danger`."""
    ts: int | float | str | None | UnsetType = UNSET
    """Time shown in the footer, in Unix seconds."""
    pretext: str | None | UnsetType = UNSET
    """Text above the attachment."""
    footer: str | None | UnsetType = UNSET
    """Text of the footer."""
    footer_icon: UrlText | None | UnsetType = UNSET
    """URL of the footer's icon."""
    author_name: str | None | UnsetType = UNSET
    """Name of the author."""
    author_link: UrlText | None | UnsetType = UNSET
    """URL of the author."""
    author_icon: UrlText | None | UnsetType = UNSET
    """URL of the author's icon."""
    image_url: UrlText | None | UnsetType = UNSET
    """URL of the image."""
    thumb_url: UrlText | None | UnsetType = UNSET
    """URL of the thumbnail."""
    fields: list[SlackField] | None | UnsetType = UNSET
    """Fields of the embed."""


class SlackWebhook(Struct, kw_only=True):
    """A message in Slack's format; `channel`, `icon_emoji` and `mrkdwn` are ignored."""

    text: Content | None | UnsetType = UNSET
    """Text of the message."""
    username: str | None | UnsetType = UNSET
    """Name for this message, instead of the webhook's default name."""
    icon_url: UrlText | None | UnsetType = UNSET
    """URL of an avatar for this message, instead of the webhook's default avatar."""
    attachments: list[SlackAttachment] | None | UnsetType = UNSET
    """Attachments, which are converted to embeds."""
    payload: str | UnsetType = UNSET
    """Complete message as a JSON document; used by older senders in form fields."""


WEBHOOKS_UPDATE = Event(
    "WEBHOOKS_UPDATE",
    WebhooksUpdate,
    "Sent when a webhook of a channel is created, changed or deleted.",
    intents=Intents.GUILD_WEBHOOKS,
)

_MANAGE_PERMISSIONS: Final = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS
_TOKEN_ERRORS: Final = (errors.UNKNOWN_WEBHOOK, errors.INVALID_WEBHOOK_TOKEN)
_MESSAGE_ERRORS: Final = (*_TOKEN_ERRORS, errors.UNKNOWN_CHANNEL, errors.UNKNOWN_MESSAGE, errors.MISSING_ACCESS)
UPDATE_ERRORS: Final = (
    errors.MISSING_PERMISSIONS,
    errors.EMPTY_MESSAGE,
    errors.MAX_ATTACHMENTS,
    errors.FILE_TOO_LARGE,
    errors.FEATURE_DISABLED,
    errors.REQUEST_ENTITY_TOO_LARGE,
    errors.POLL_CANNOT_EDIT,
    errors.POLL_CANNOT_USE_EMOJI,
    errors.POLL_INVALID_CHANNEL_TYPE,
    errors.VOICE_MESSAGE_CANNOT_EDIT,
    errors.THREAD_ARCHIVED,
    errors.THREAD_LOCKED,
    errors.INVALID_FORM_BODY,
    errors.AUTO_MODERATION_BLOCKED_MESSAGE,
)
"""Errors of a request that updates a message of a webhook, in addition to the errors of its token."""
_EXECUTE_ERRORS: Final = (
    *_TOKEN_ERRORS,
    *messages.SEND_ERRORS,
    errors.MAX_FOLLOW_UPS,
    errors.FORUM_WEBHOOK_NEEDS_THREAD,
    errors.FORUM_WEBHOOK_THREAD_TWICE,
    errors.WEBHOOK_THREAD_OUTSIDE_FORUM,
    errors.THREAD_LOCKED,
    errors.MAX_ACTIVE_THREADS,
    errors.UNKNOWN_TAG,
    errors.TAG_REQUIRED,
    errors.NO_TAGS_FOR_NON_MODERATORS,
)
_EXECUTE_EVENTS: Final = (messages.MESSAGE_CREATE, channels.THREAD_CREATE, channels.THREAD_UPDATE)
_UPLOADS: Final = Uploads(file_bytes_max=ATTACHMENT_BYTES_MAX)

CREATE_WEBHOOK = Operation(
    "POST",
    "/channels/{channel_id}/webhooks",
    body=CreateWebhook,
    result=Webhook,
    needs=_MANAGE_PERMISSIONS,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.WRONG_CHANNEL_TYPE,
        errors.MAX_WEBHOOKS,
        errors.MAX_GUILD_WEBHOOKS,
        errors.INVALID_FORM_BODY,
    ),
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_CREATE,),
)

LIST_CHANNEL_WEBHOOKS = Operation(
    "GET",
    "/channels/{channel_id}/webhooks",
    result=list[Webhook],
    needs=_MANAGE_PERMISSIONS,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.CANNOT_EXECUTE_ON_DM),
)

GET_GUILD_WEBHOOKS = Operation(
    "GET",
    "/guilds/{guild_id}/webhooks",
    result=list[Webhook],
    needs=Permissions.MANAGE_WEBHOOKS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)

# spec/http.md#4.11: the caller needs MANAGE_WEBHOOKS and VIEW_CHANNEL in the webhook's channel, or is the owning application.
GET_WEBHOOK = Operation(
    "GET",
    "/webhooks/{webhook_id}",
    result=Webhook,
    raises=(errors.UNKNOWN_WEBHOOK, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
)

UPDATE_WEBHOOK = Operation(
    "PATCH",
    "/webhooks/{webhook_id}",
    body=UpdateWebhook,
    result=Webhook,
    raises=(
        errors.UNKNOWN_WEBHOOK,
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.TWO_FACTOR_REQUIRED,
        errors.WRONG_CHANNEL_TYPE,
        errors.MAX_WEBHOOKS,
        errors.INVALID_FORM_BODY,
    ),
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_UPDATE,),
)

DELETE_WEBHOOK = Operation(
    "DELETE",
    "/webhooks/{webhook_id}",
    raises=(errors.UNKNOWN_WEBHOOK, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.TWO_FACTOR_REQUIRED),
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_DELETE,),
)

GET_WEBHOOK_BY_TOKEN = Operation(
    "GET", "/webhooks/{webhook_id}/{webhook_token}", result=Webhook, auth=Auth.NONE, raises=_TOKEN_ERRORS
)

UPDATE_WEBHOOK_BY_TOKEN = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}",
    body=UpdateWebhookByToken,
    result=Webhook,
    auth=Auth.NONE,
    raises=(*_TOKEN_ERRORS, errors.INVALID_FORM_BODY),
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_UPDATE,),
)

DELETE_WEBHOOK_BY_TOKEN = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}",
    auth=Auth.NONE,
    raises=_TOKEN_ERRORS,
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_DELETE,),
)

# The status is 204 instead of 200 unless `wait` is true or the token belongs to an interaction.
EXECUTE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}",
    body=ExecuteWebhook,
    query=ExecuteQuery,
    result=Message,
    auth=Auth.NONE,
    raises=_EXECUTE_ERRORS,
    # The first follow-up after a deferred response replaces that response.
    emits=(*_EXECUTE_EVENTS, messages.MESSAGE_UPDATE),
    limit=EXECUTE_LIMIT,
    uploads=_UPLOADS,
    other_statuses=(204,),
)

# Slack returns the text "ok", which senders compare.
EXECUTE_SLACK_COMPATIBLE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}/slack",
    body=SlackWebhook,
    query=CompatibleQuery,
    result=bytes,
    auth=Auth.NONE,
    raises=_EXECUTE_ERRORS,
    emits=_EXECUTE_EVENTS,
    limit=EXECUTE_LIMIT,
    media_type="text/plain",
)

EXECUTE_GITHUB_COMPATIBLE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}/github",
    body=GithubWebhook,
    query=CompatibleQuery,
    auth=Auth.NONE,
    raises=_EXECUTE_ERRORS,
    emits=_EXECUTE_EVENTS,
    limit=EXECUTE_LIMIT,
    headers=(GITHUB_EVENT_HEADER,),
    body_condition=(GITHUB_EVENT_HEADER, GITHUB_EVENTS),
)

GET_WEBHOOK_MESSAGE = Operation(
    "GET",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    query=WebhookQuery,
    result=Message,
    auth=Auth.NONE,
    raises=_MESSAGE_ERRORS,
)

UPDATE_WEBHOOK_MESSAGE = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    body=UpdateWebhookMessage,
    query=UpdateMessageQuery,
    result=Message,
    auth=Auth.NONE,
    raises=(*_MESSAGE_ERRORS, *UPDATE_ERRORS),
    emits=(messages.MESSAGE_UPDATE,),
    uploads=_UPLOADS,
)

DELETE_WEBHOOK_MESSAGE = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    query=WebhookQuery,
    auth=Auth.NONE,
    raises=(*_MESSAGE_ERRORS, errors.THREAD_ARCHIVED),
    emits=(messages.MESSAGE_DELETE,),
)

# The caller needs MANAGE_WEBHOOKS in the channel that the body names.
FOLLOW_CHANNEL = Operation(
    "POST",
    "/channels/{channel_id}/followers",
    body=FollowChannel,
    result=ChannelFollower,
    needs=Permissions.VIEW_CHANNEL,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.TWO_FACTOR_REQUIRED,
        errors.WRONG_CHANNEL_TYPE,
        errors.CANNOT_EXECUTE_ON_DM,
        errors.MAX_WEBHOOKS,
        errors.MAX_GUILD_WEBHOOKS,
    ),
    emits=(WEBHOOKS_UPDATE, messages.MESSAGE_CREATE),
    audits=(AuditLogAction.WEBHOOK_CREATE,),
)
