"""Create, update and delete webhooks, and follow announcement channels."""

from typing import Any

import msgspec

from hubbub.protocol.enums import AuditLogAction, MessageType, WebhookType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, UserId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.protocol.resources.messages import MessageReference
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.core.personal_data import export_row
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places import guilds
from hubbub.server.places.audit_log import audit
from hubbub.server.places.channels.signals import ChannelsDeleting
from hubbub.server.places.standing import ChannelRef
from hubbub.server.talk import messages
from hubbub.server.talk.webhooks import rules, store, tokens
from hubbub.server.talk.webhooks.store import WebhookRow


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
    rules.require_below_webhook_max(call, channel.id, guild_id)
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


def on_channels_deleting(call: Call, signal: ChannelsDeleting) -> None:
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
    rules.require_below_webhook_max(call, target_channel.id, guild_id)
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


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Remove a deleted user from the webhooks that they created."""
    store.clear_creator(call.tx, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the webhooks that a user created, without their tokens, for the export of their data."""
    return {"webhooks": [export_row(row, "user_id", "salt") for row in store.list_by_creator(call.tx, user_id)]}
