"""Create, update and delete webhooks, follow announcement channels, and copy their messages to followers."""

from typing import Any, Final

import msgspec

from hubbub.protocol.enums import AuditLogAction, MessageType, WebhookType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, MessageId, UserId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.messages import MessageReference
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleted
from hubbub.server.places import guilds
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels.signals import ChannelsDeleted
from hubbub.server.places.standing import ChannelRef, access
from hubbub.server.talk import messages
from hubbub.server.talk.messages import MessageRow
from hubbub.server.talk.webhooks import rules, store, tokens
from hubbub.server.talk.webhooks.store import Crosspost, WebhookRow

BATCH_SIZE: Final = 25
"""Maximum number of copies created or updated in one transaction, small enough not to block other writers for long."""

DELETED_CONTENT: Final = "[Original Message Deleted]"
"""Content of a copy whose source was deleted."""


class AuditedWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a webhook that the audit log records."""

    type: int
    name: str
    channel_id: ChannelId
    avatar_hash: str | None
    """Hash of the avatar; the audit log has its own name for this field (spec/http.md#3.11)."""
    application_id: ApplicationId | None


def create(
    call: Call,
    channel: ChannelRef,
    guild_id: int,
    name: str,
    avatar: str | None,
    *,
    application_id: int | None = None,
) -> WebhookRow:
    """Create an incoming webhook, owned by the application `application_id` or by the calling bot's application, if any.

    `avatar` is an image hash."""
    if application_id is None and call.actor.is_bot:
        application_id = call.actor.application_id
    rules.require_below_max(call, channel.id, guild_id)
    store.find_or_create_token_key(call.tx)
    return _insert_and_publish(
        call,
        WebhookRow(
            id=call.new_id(WebhookId),
            type=WebhookType.INCOMING,
            guild_id=guild_id,
            channel_id=channel.id,
            user_id=call.user_id,
            name=name,
            avatar=avatar,
            application_id=application_id,
            salt=tokens.new_salt(),
        ),
    )


def _insert_and_publish(call: Call, row: WebhookRow) -> WebhookRow:
    """Store a new webhook, record it in the audit log and publish it."""
    store.insert(call.tx, row)
    changes = audit.differences(None, _build_audited_webhook(row))
    audit.record(call, row.guild_id, AuditLogAction.WEBHOOK_CREATE, target_id=row.id, changes=changes)
    _publish_update(call, row.guild_id, row.channel_id)
    return row


def update(call: Call, before: WebhookRow, after: WebhookRow) -> WebhookRow:
    """Store the new state of a webhook, record and publish the change. Do nothing if the states are equal."""
    if after == before:
        return after
    store.update(call.tx, after)
    changes = audit.differences(_build_audited_webhook(before), _build_audited_webhook(after))
    audit.record(call, after.guild_id, AuditLogAction.WEBHOOK_UPDATE, target_id=after.id, changes=changes)
    for channel_id in dict.fromkeys((before.channel_id, after.channel_id)):
        _publish_update(call, after.guild_id, channel_id)
    return after


def delete(call: Call, row: WebhookRow) -> None:
    """Delete a webhook. Its messages stay."""
    store.delete(call.tx, row.id)
    changes = audit.differences(_build_audited_webhook(row), None)
    audit.record(call, row.guild_id, AuditLogAction.WEBHOOK_DELETE, target_id=row.id, changes=changes)
    _publish_update(call, row.guild_id, row.channel_id)


def _publish_update(call: Call, guild_id: int, channel_id: int) -> None:
    payload = wire.WebhooksUpdate(guild_id=GuildId(guild_id), channel_id=ChannelId(channel_id))
    call.tx.emit(wire.WEBHOOKS_UPDATE, payload, GuildAudience(guild_id, channel_id))


def _build_audited_webhook(row: WebhookRow) -> AuditedWebhook:
    return AuditedWebhook(
        type=row.type,
        name=row.name,
        channel_id=ChannelId(row.channel_id),
        avatar_hash=row.avatar,
        application_id=None if row.application_id is None else ApplicationId(row.application_id),
    )


def on_channels_deleted(call: Call, signal: ChannelsDeleted) -> None:
    """Delete the webhooks of deleted channels.

    The webhooks of channels that follow a deleted channel are not deleted, although they no longer receive messages."""
    store.delete_channel_webhooks(call.tx, signal.channel_ids)


# Followers


def follow(call: Call, source_channel: ChannelRef, target_channel: ChannelRef) -> WebhookRow:
    """Let `target_channel` follow the announcement channel `source_channel`, and return the webhook.

    If the channel already follows the source, the existing webhook is returned."""
    existing_row = store.find_follower(call.tx, source_channel.id, target_channel.id)
    if existing_row is not None:
        return existing_row
    guild_id, source_guild_id = target_channel.guild_id or 0, source_channel.guild_id or 0
    rules.require_below_max(call, target_channel.id, guild_id)
    source_guild = guilds.find(call.tx, source_guild_id)
    name = f"{source_guild.name if source_guild is not None else ''} #{source_channel.name}".strip()
    row = _insert_and_publish(
        call,
        WebhookRow(
            id=call.new_id(WebhookId),
            type=WebhookType.CHANNEL_FOLLOWER,
            guild_id=guild_id,
            channel_id=target_channel.id,
            user_id=call.user_id,
            name=name[: wire.WEBHOOK_NAME_MAX],
            avatar=None if source_guild is None else source_guild.icon,
            source_guild_id=source_guild_id,
            source_channel_id=source_channel.id,
        ),
    )
    reference = MessageReference(channel_id=source_channel.id, guild_id=GuildId(source_guild_id))
    messages.system_messages.create_system_message(
        call, target_channel, MessageType.CHANNEL_FOLLOW_ADD, call.user_id, content=name, reference=reference
    )
    return row


def copy_to_followers(call: Call, source_row: MessageRow, after_id: int) -> int | None:
    """Copy a published message to a batch of followers: webhooks with IDs above `after_id`.

    Return the ID of the last webhook of the batch, or None if there are no more followers."""
    followers = store.list_followers(call.tx, source_row.channel_id, after_id, BATCH_SIZE)
    for follower in followers:
        channel = access.find_channel(call.tx, follower.channel_id)
        if channel is None:
            continue
        reference = MessageReference(
            channel_id=ChannelId(source_row.channel_id),
            message_id=MessageId(source_row.id),
            guild_id=GuildId(follower.source_guild_id or 0),
        )
        author = rules.build_author(follower, rules.require_guild(call, follower))
        copy = messages.creation.create_crosspost(call, channel, source_row, author, reference)
        store.insert_crosspost(call.tx, source_row.channel_id, source_row.id, Crosspost(copy.id, channel.id))
    return followers[-1].id if len(followers) == BATCH_SIZE else None


def update_copies(call: Call, channel_id: int, message_id: int, after_id: int) -> int | None:
    """Update a batch of copies of a message, with IDs above `after_id`, or mark them if the message was deleted.

    Return the ID of the last copy of the batch, or None if there are no more copies."""
    source_row = messages.history.find(call.tx, channel_id, message_id)
    copies = store.list_crossposts(call.tx, channel_id, message_id, after_id, BATCH_SIZE)
    for copy in copies:
        copy_row = messages.history.find(call.tx, copy.channel_id, copy.message_id)
        channel = access.find_channel(call.tx, copy.channel_id)
        if copy_row is None or channel is None:
            continue
        updated_row = _mark_source_deleted(copy_row) if source_row is None else _copy_content(copy_row, source_row)
        if updated_row != copy_row:
            messages.changes.update(call, channel, updated_row)
    if len(copies) == BATCH_SIZE:
        return copies[-1].message_id
    if source_row is None:
        store.delete_crossposts_by_source(call.tx, channel_id, message_id)
    return None


def _copy_content(copy_row: MessageRow, source_row: MessageRow) -> MessageRow:
    """Return a copy with the current content of its source."""
    return copy_row._replace(
        flags=copy_row.flags & ~messages.creation.CROSSPOST_FLAGS
        | source_row.flags & messages.creation.CROSSPOST_FLAGS,
        content=source_row.content,
        mentions=source_row.mentions,
        attachments=source_row.attachments,
        embeds=source_row.embeds,
        components=source_row.components,
        edited_ms=source_row.edited_ms,
    )


def _mark_source_deleted(row: MessageRow) -> MessageRow:
    """Return a copy without content, marked as the copy of a deleted message."""
    return row._replace(
        flags=row.flags & ~MessageFlags.IS_COMPONENTS_V2 | MessageFlags.SOURCE_MESSAGE_DELETED,
        content=DELETED_CONTENT,
        mentions=None,
        attachments=None,
        embeds=None,
        components=None,
    )


def on_user_deleted(call: Call, signal: UserDeleted) -> None:
    """Remove a deleted user from the webhooks that they created."""
    store.clear_creator(call.tx, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the webhooks that a user created, without their tokens, for the export of their data."""
    return {"webhooks": [export_row(row, "user_id", "salt") for row in store.list_by_creator(call.tx, user_id)]}
