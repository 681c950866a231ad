"""HTTP handlers that execute webhooks in the native, Slack and GitHub formats, and manage the sent messages."""

from typing import Any

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import FORUM_TYPES, AllowedMentionType
from hubbub.protocol.ids import ChannelId, MessageId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.github import GithubWebhook
from hubbub.protocol.resources.messages import AllowedMentions, CreateMessage, Message, UpdateMessage
from hubbub.server.core import quotas
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages, threads
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.webhooks import rules
from hubbub.server.talk.webhooks.execution import github, slack
from hubbub.server.talk.webhooks.store import WebhookRow


@handles(wire.EXECUTE_WEBHOOK)
def execute_webhook(
    call: Call, webhook_id: WebhookId, webhook_token: str, body: wire.ExecuteWebhook, query: wire.ExecuteQuery
) -> Message | Response:
    """Execute a webhook.

    With `wait`, the response contains the message; otherwise the status is 204.

    A mention of all members takes effect if the bot that owns the webhook has MENTION_EVERYONE; a webhook without a
    bot has the permissions of the role @everyone.
    """
    sender = rules.require_sender(call, webhook_id, webhook_token)
    if not isinstance(sender, WebhookRow):
        # The token belongs to an interaction, and the request creates a follow-up message.
        return sender.create(call, body)
    message = _send_message(call, sender, body, query, with_components=query.with_components)
    return message if query.wait else Response(204)


@handles(wire.EXECUTE_SLACK_COMPATIBLE_WEBHOOK)
def execute_slack_compatible_webhook(
    call: Call, webhook_id: WebhookId, webhook_token: str, body: wire.SlackWebhook, query: wire.CompatibleQuery
) -> bytes:
    """Execute a Slack-compatible webhook."""
    row = rules.require_token(call, webhook_id, webhook_token)
    _send_message(call, row, slack.convert(body), query)
    return b"ok"


@handles(wire.EXECUTE_GITHUB_COMPATIBLE_WEBHOOK)
def execute_github_compatible_webhook(
    call: Call, webhook_id: WebhookId, webhook_token: str, body: GithubWebhook | None, query: wire.CompatibleQuery
) -> None:
    """Execute a GitHub-compatible webhook.

    Events without a message format are accepted and ignored."""
    row = rules.require_token(call, webhook_id, webhook_token)
    embed = None if body is None else github.build_embed(call.headers.get(wire.GITHUB_EVENT_HEADER, ""), body)
    if embed is not None:
        _send_message(call, row, wire.ExecuteWebhook(embeds=[embed]), query)


@handles(wire.GET_WEBHOOK_MESSAGE)
def get_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, message_id: MessageId, query: wire.WebhookQuery
) -> Message:
    """Get a message of a webhook."""
    sender = rules.require_sender(call, webhook_id, webhook_token)
    if not isinstance(sender, WebhookRow):
        return sender.get(call, message_id)
    channel, message = _require_message(call, sender, message_id, query)
    return messages.views.message(call, message, guild_id=channel.guild_id)


@handles(wire.UPDATE_WEBHOOK_MESSAGE)
def update_webhook_message(
    call: Call,
    webhook_id: WebhookId,
    webhook_token: str,
    message_id: MessageId,
    body: wire.UpdateWebhookMessage,
    query: wire.UpdateMessageQuery,
) -> Message:
    """Update a message of a webhook."""
    sender = rules.require_sender(call, webhook_id, webhook_token)
    if not isinstance(sender, WebhookRow):
        return sender.update(call, message_id, body)
    channel, message = _require_message(call, sender, message_id, query)
    _require_unarchived(channel)
    if channel.locked:
        raise errors.THREAD_LOCKED()
    if messages.views.extra(message).poll is not None:
        raise errors.POLL_CANNOT_EDIT()
    edit_body = UpdateMessage(
        content=body.content,
        embeds=body.embeds,
        flags=body.flags,
        allowed_mentions=body.allowed_mentions,
        components=rules.require_sendable_components(sender, body.components, with_components=query.with_components),
        attachments=body.attachments,
    )
    if not edit_body.allowed_mentions and (edit_body.content is not UNSET or edit_body.components is not UNSET):
        edit_body.allowed_mentions = _default_allowed_mentions()
    guild = rules.require_guild(call, sender)
    channel_access = rules.webhook_channel_access(call, sender, guild, channel)
    return messages.changes.edit(call, channel_access, rules.build_author(sender, guild), message, edit_body)


@handles(wire.DELETE_WEBHOOK_MESSAGE)
def delete_webhook_message(
    call: Call, webhook_id: WebhookId, webhook_token: str, message_id: MessageId, query: wire.WebhookQuery
) -> None:
    """Delete a message of a webhook."""
    sender = rules.require_sender(call, webhook_id, webhook_token)
    if not isinstance(sender, WebhookRow):
        return sender.delete(call, message_id)
    channel, message = _require_message(call, sender, message_id, query)
    _require_unarchived(channel)
    channel_access = rules.webhook_channel_access(call, sender, rules.require_guild(call, sender), channel)
    messages.changes.delete(call, channel_access, message)


def _send_message(
    call: Call, row: WebhookRow, body: wire.ExecuteWebhook, query: wire.WebhookQuery, *, with_components: bool = False
) -> Message:
    """Create a message of a webhook and return it; `with_components` allows components that are not interactive."""
    channel = rules.require_channel(call, row)
    name = rules.clean_name(body.username, "username") if body.username else None
    avatar = rules.resolve_avatar_hash(call, body.avatar_url) if body.avatar_url else None
    # spec/http.md#3.13: the limit applies to all webhooks of a channel together, including its threads.
    quotas.consume_quota(call, "webhooks", channel.id, wire.CHANNEL_EXECUTE_LIMIT)
    target, post_message_id = _find_or_create_target(call, row, channel, body, query)
    guild = rules.require_guild(call, row)
    message_body = CreateMessage(
        content=body.content,
        embeds=body.embeds,
        allowed_mentions=body.allowed_mentions or _default_allowed_mentions(),
        components=rules.require_sendable_components(row, body.components, with_components=with_components),
        attachments=body.attachments,
        flags=(body.flags or 0) & rules.SETTABLE_FLAGS,
        poll=body.poll,
        tts=body.tts,
    )
    channel_access = rules.webhook_channel_access(call, row, guild, target)
    author = rules.build_author(row, guild, name=name, avatar=avatar)
    return messages.creation.create(call, channel_access, message_body, author=author, message_id=post_message_id)


def _find_or_create_target(
    call: Call, row: WebhookRow, channel: ChannelRef, body: wire.ExecuteWebhook, query: wire.WebhookQuery
) -> tuple[ChannelRef, MessageId | None]:
    """Return the channel that the message is sent to, and the ID for the first message of a new forum post, or None.

    Create the post if the body has a thread name."""
    is_forum = channel.type in FORUM_TYPES
    if body.thread_name:
        if not is_forum:
            raise errors.WEBHOOK_THREAD_OUTSIDE_FORUM()
        if query.thread_id:
            raise errors.FORUM_WEBHOOK_THREAD_TWICE()
        post = threads.create_post_without_member(
            call, channel.id, body.thread_name, body.applied_tags or (), owner_id=row.id
        )
        target = access.find_channel(call.tx, post.id)
        if target is None:
            raise errors.UNKNOWN_CHANNEL()
        return target, MessageId(post.id)
    if query.thread_id:
        thread = rules.require_thread(call, row, query.thread_id)
        if thread.locked:
            raise errors.THREAD_LOCKED()
        return thread, None
    if is_forum:
        raise errors.FORUM_WEBHOOK_NEEDS_THREAD()
    return channel, None


def _require_message(
    call: Call, row: WebhookRow, message_id: int, query: wire.WebhookQuery
) -> tuple[ChannelRef, MessageRow]:
    """Return a message of the webhook with its channel. Raise UNKNOWN_MESSAGE for messages of other authors."""
    rules.require_guild(call, row)
    if query.thread_id:
        channel = rules.require_thread(call, row, query.thread_id)
    else:
        channel = rules.require_channel(call, row)
    message = messages.history.get(call.tx, ChannelId(channel.id), message_id)
    if message.webhook_id != row.id:
        raise errors.UNKNOWN_MESSAGE()
    return channel, message


def _require_unarchived(channel: ChannelRef) -> None:
    if channel.archived:
        raise errors.THREAD_ARCHIVED()


def _default_allowed_mentions() -> Any:
    """Return the default allowed mentions of webhooks: users only (spec/http.md#3.4)."""
    return AllowedMentions(parse=[AllowedMentionType.USERS])
