"""Incoming webhooks: messages into a channel by an address, and channels that follow announcements."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, TagId, WebhookId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Bits
from hubbub.protocol.operation import Auth, Event, Operation, RateLimit, Uploads
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels, messages
from hubbub.protocol.resources.attachments import ATTACHMENT_BYTES_LARGEST, ATTACHMENTS_MAX, AttachmentRequest
from hubbub.protocol.resources.channels import APPLIED_TAGS_MAX
from hubbub.protocol.resources.components import COMPONENTS_MAX, Component
from hubbub.protocol.resources.embeds import EMBEDS_MAX, EmbedRequest
from hubbub.protocol.resources.github import GITHUB_EVENTS, GithubWebhook
from hubbub.protocol.resources.messages import AllowedMentions, Content, Message
from hubbub.protocol.resources.polls import CreatePoll
from hubbub.protocol.resources.users import User

WEBHOOKS_PER_CHANNEL_MAX: Final = 15
WEBHOOKS_PER_GUILD_MAX: Final = 1000
WEBHOOK_NAME_MAX: Final = 80
THREAD_NAME_MAX: Final = 100
URL_MAX: Final = 2048

EXECUTE_LIMIT: Final = RateLimit(5, 2.0, bucket="execute_webhook")
"""Messages of one webhook, in whichever form they come."""
CHANNEL_LIMIT: Final = RateLimit(30, 60.0, bucket="channel_webhooks")
"""Messages of all webhooks in one channel; counted by the handler, since the path does not name the channel."""

GITHUB_EVENT: Final = "X-GitHub-Event"

WebhookName = Annotated[str, Meta(min_length=1, max_length=WEBHOOK_NAME_MAX)]
Address = Annotated[str, Meta(max_length=URL_MAX)]


class WebhookSourceGuild(Struct, kw_only=True):
    """The guild whose announcements a channel follows."""

    id: GuildId
    icon: str | None
    name: str


class WebhookSourceChannel(Struct, kw_only=True):
    """The announcement channel that a channel follows."""

    id: ChannelId
    name: str


class Webhook(Struct, kw_only=True):
    """A webhook. What its kind does not have is left out."""

    id: WebhookId
    type: int
    """1 incoming, 2 follower of a channel, 3 of an application."""
    name: str
    avatar: str | None
    channel_id: ChannelId | None
    guild_id: GuildId | None
    application_id: ApplicationId | None
    """The application whose bot made it."""
    user: User | UnsetType = UNSET
    """Who made it; never told to who has only the token."""
    token: str | UnsetType = UNSET
    """Of incoming webhooks, as `url`. An application's is told to that application alone."""
    url: str | UnsetType = UNSET
    source_guild: WebhookSourceGuild | UnsetType = UNSET
    """Of followers, as `source_channel`, while there is something to follow."""
    source_channel: WebhookSourceChannel | UnsetType = UNSET


class WebhooksUpdate(Struct, kw_only=True):
    """That the webhooks of a channel are different now."""

    guild_id: GuildId
    channel_id: ChannelId


class ChannelFollower(Struct, kw_only=True):
    """A followed channel, and the webhook that brings its messages."""

    channel_id: ChannelId
    webhook_id: WebhookId


class CreateWebhook(Struct, kw_only=True):
    """A new webhook."""

    name: WebhookName
    avatar: ImageData | None | UnsetType = UNSET


class UpdateWebhookByToken(Struct, kw_only=True):
    """What to change of a webhook with only its token. Absent keeps, null clears."""

    name: WebhookName | UnsetType = UNSET
    avatar: ImageData | None | UnsetType = UNSET


class UpdateWebhook(UpdateWebhookByToken, kw_only=True):
    """What to change of a webhook."""

    channel_id: ChannelId | None | UnsetType = UNSET
    """The channel of the same guild to move it to."""


class FollowChannel(Struct, kw_only=True):
    """Where announcements shall be brought."""

    webhook_channel_id: ChannelId


class WebhookQuery(Struct, kw_only=True):
    """Where a webhook speaks."""

    thread_id: ChannelId | UnsetType = UNSET
    """A thread of the webhook's channel."""


class ExecuteQuery(WebhookQuery, kw_only=True):
    """Where a webhook speaks, and what is answered."""

    wait: bool = False
    """Whether the message is answered; else 204."""
    with_components: bool = False
    """Whether the components of a webhook that no application owns are read."""


class CompatibleQuery(WebhookQuery, kw_only=True):
    """Where a webhook speaks that other services call. Slack's form waits unless told otherwise, so both do."""

    wait: bool = True


class UpdateMessageQuery(WebhookQuery, kw_only=True):
    """Which message of a webhook."""

    with_components: bool = False


class ExecuteWebhook(Struct, kw_only=True):
    """What a webhook says."""

    content: Content | None | UnsetType = UNSET
    username: WebhookName | None | UnsetType = UNSET
    """Instead of the webhook's own name, for this message."""
    avatar_url: Address | None | UnsetType = UNSET
    tts: bool | None | UnsetType = UNSET
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    """Absent: users only."""
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    thread_name: Annotated[str, Meta(max_length=THREAD_NAME_MAX)] | None | UnsetType = UNSET
    """In a forum: the title of the post to begin."""
    applied_tags: Annotated[list[TagId], Meta(max_length=APPLIED_TAGS_MAX)] | None | UnsetType = UNSET
    poll: CreatePoll | None | UnsetType = UNSET


class UpdateWebhookMessage(Struct, kw_only=True):
    """What to change of a webhook's message. Absent keeps, null clears."""

    content: Content | None | UnsetType = UNSET
    embeds: Annotated[list[EmbedRequest], Meta(max_length=EMBEDS_MAX)] | None | UnsetType = UNSET
    flags: Bits | None | UnsetType = UNSET
    allowed_mentions: AllowedMentions | None | UnsetType = UNSET
    components: Annotated[list[Component], Meta(max_length=COMPONENTS_MAX)] | None | UnsetType = UNSET
    attachments: Annotated[list[AttachmentRequest], Meta(max_length=ATTACHMENTS_MAX)] | None | UnsetType = UNSET
    poll: CreatePoll | None | UnsetType = UNSET
    """Only of an answer to an interaction that was deferred."""


class SlackField(Struct, kw_only=True):
    """A name and a value; Slack calls them title and value, and inline short."""

    name: str | None | UnsetType = UNSET
    title: str | None | UnsetType = UNSET
    value: str | None | UnsetType = UNSET
    inline: bool | None | UnsetType = UNSET
    short: bool | None | UnsetType = UNSET


class SlackAttachment(Struct, kw_only=True):
    """What becomes an embed."""

    title: str | None | UnsetType = UNSET
    title_link: Address | None | UnsetType = UNSET
    text: str | None | UnsetType = UNSET
    color: str | None | UnsetType = UNSET
    """`#rrggbb`, `#rgb`, or one of Slack's words: good, warning, danger."""
    ts: int | float | str | None | UnsetType = UNSET
    """Unix seconds."""
    pretext: str | None | UnsetType = UNSET
    footer: str | None | UnsetType = UNSET
    footer_icon: Address | None | UnsetType = UNSET
    author_name: str | None | UnsetType = UNSET
    author_link: Address | None | UnsetType = UNSET
    author_icon: Address | None | UnsetType = UNSET
    image_url: Address | None | UnsetType = UNSET
    thumb_url: Address | None | UnsetType = UNSET
    fields: list[SlackField] | None | UnsetType = UNSET


class SlackWebhook(Struct, kw_only=True):
    """A message in Slack's form; `channel`, `icon_emoji` and `mrkdwn` are not read."""

    text: Content | None | UnsetType = UNSET
    username: str | None | UnsetType = UNSET
    icon_url: Address | None | UnsetType = UNSET
    attachments: list[SlackAttachment] | None | UnsetType = UNSET
    payload: str | UnsetType = UNSET
    """In form fields: all of this as JSON, as older senders do."""


WEBHOOKS_UPDATE = Event("WEBHOOKS_UPDATE", WebhooksUpdate, intents=Intents.GUILD_WEBHOOKS)

_KEEPING: Final = Permissions.VIEW_CHANNEL | Permissions.MANAGE_WEBHOOKS
_BY_TOKEN: Final = (errors.UNKNOWN_WEBHOOK, errors.INVALID_WEBHOOK_TOKEN)
_ON_MESSAGE: Final = (*_BY_TOKEN, errors.UNKNOWN_CHANNEL, errors.UNKNOWN_MESSAGE)
_EXECUTING: Final = (
    *_BY_TOKEN,
    *messages.SEND_REFUSALS,
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
_SPOKEN: Final = (messages.MESSAGE_CREATE, channels.THREAD_CREATE, channels.THREAD_UPDATE)
_UPLOADS: Final = Uploads(largest=ATTACHMENT_BYTES_LARGEST)

CREATE_WEBHOOK = Operation(
    "POST",
    "/channels/{channel_id}/webhooks",
    body=CreateWebhook,
    result=Webhook,
    needs=_KEEPING,
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
    needs=_KEEPING,
    raises=(errors.UNKNOWN_CHANNEL, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS, errors.CANNOT_EXECUTE_ON_DM),
)

GET_GUILD_WEBHOOKS = Operation(
    "GET",
    "/guilds/{guild_id}/webhooks",
    result=list[Webhook],
    needs=Permissions.MANAGE_WEBHOOKS,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)

# http.md 4.11: MANAGE_WEBHOOKS and VIEW_CHANNEL in the webhook's channel, which the path does not name; or the owning app.
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
    "GET", "/webhooks/{webhook_id}/{webhook_token}", result=Webhook, auth=Auth.NONE, raises=_BY_TOKEN
)

UPDATE_WEBHOOK_BY_TOKEN = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}",
    body=UpdateWebhookByToken,
    result=Webhook,
    auth=Auth.NONE,
    raises=(*_BY_TOKEN, errors.INVALID_FORM_BODY),
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_UPDATE,),
)

DELETE_WEBHOOK_BY_TOKEN = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}",
    auth=Auth.NONE,
    raises=_BY_TOKEN,
    emits=(WEBHOOKS_UPDATE,),
    audits=(AuditLogAction.WEBHOOK_DELETE,),
)

# 204 instead of 200 unless `wait` is asked for.
EXECUTE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}",
    body=ExecuteWebhook,
    query=ExecuteQuery,
    result=Message,
    auth=Auth.NONE,
    raises=_EXECUTING,
    # The first thing an app says after a deferred answer is that answer.
    emits=(*_SPOKEN, messages.MESSAGE_UPDATE),
    limit=EXECUTE_LIMIT,
    uploads=_UPLOADS,
    also=(204,),
)

# Slack's own answer is the word itself, which senders compare.
EXECUTE_SLACK_COMPATIBLE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}/slack",
    body=SlackWebhook,
    query=CompatibleQuery,
    result=bytes,
    auth=Auth.NONE,
    raises=_EXECUTING,
    emits=_SPOKEN,
    limit=EXECUTE_LIMIT,
    media_type="text/plain",
)

EXECUTE_GITHUB_COMPATIBLE_WEBHOOK = Operation(
    "POST",
    "/webhooks/{webhook_id}/{webhook_token}/github",
    body=GithubWebhook,
    query=CompatibleQuery,
    auth=Auth.NONE,
    raises=_EXECUTING,
    emits=_SPOKEN,
    limit=EXECUTE_LIMIT,
    headers=(GITHUB_EVENT,),
    body_of=(GITHUB_EVENT, GITHUB_EVENTS),
)

GET_WEBHOOK_MESSAGE = Operation(
    "GET",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    query=WebhookQuery,
    result=Message,
    auth=Auth.NONE,
    raises=_ON_MESSAGE,
)

UPDATE_WEBHOOK_MESSAGE = Operation(
    "PATCH",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    body=UpdateWebhookMessage,
    query=UpdateMessageQuery,
    result=Message,
    auth=Auth.NONE,
    raises=(
        *_ON_MESSAGE,
        errors.MISSING_PERMISSIONS,
        errors.EMPTY_MESSAGE,
        errors.MAX_ATTACHMENTS,
        errors.FILE_TOO_LARGE,
        errors.POLL_CANNOT_EDIT,
        errors.POLL_CANNOT_USE_EMOJI,
        errors.POLL_INVALID_CHANNEL_TYPE,
        errors.VOICE_MESSAGE_CANNOT_EDIT,
        errors.THREAD_ARCHIVED,
        errors.THREAD_LOCKED,
        errors.INVALID_FORM_BODY,
    ),
    emits=(messages.MESSAGE_UPDATE,),
    uploads=_UPLOADS,
)

DELETE_WEBHOOK_MESSAGE = Operation(
    "DELETE",
    "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}",
    query=WebhookQuery,
    auth=Auth.NONE,
    raises=(*_ON_MESSAGE, errors.THREAD_ARCHIVED),
    emits=(messages.MESSAGE_DELETE,),
)

# MANAGE_WEBHOOKS is needed in the channel that the body names.
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
