"""HTTP handlers that manage webhooks. The handlers that execute webhooks are in `execution_routes.py`."""

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.ids import ChannelId, GuildId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.standing import access
from hubbub.server.talk.webhooks import actions, rules, store, views
from hubbub.server.talk.webhooks.store import WebhookRow


@handles(wire.CREATE_WEBHOOK)
def create_webhook(call: Call, channel_id: ChannelId, body: wire.CreateWebhook) -> wire.Webhook:
    """Create a webhook."""
    channel = access.get_channel_standing(call, channel_id).channel
    guild_id = rules.require_webhook_channel(channel)
    name = rules.clean_name(body.name)
    row = actions.create(call, channel, guild_id, name, body.avatar.hash if body.avatar else None)
    return views.webhook(call, row)


@handles(wire.LIST_CHANNEL_WEBHOOKS)
def list_channel_webhooks(call: Call, channel_id: ChannelId) -> list[wire.Webhook]:
    """List channel webhooks."""
    return views.webhooks(call, store.list_channel_webhooks(call.tx, channel_id))


@handles(wire.GET_GUILD_WEBHOOKS, long=True)
def get_guild_webhooks(call: Call, guild_id: GuildId) -> list[wire.Webhook]:
    """List guild webhooks.

    Webhooks of channels that the caller cannot see are left out."""
    visible_channel_ids = access.visible_channels(call.tx, access.get_guild_standing(call, guild_id))
    return views.webhooks(
        call, [row for row in store.list_guild_webhooks(call.tx, guild_id) if row.channel_id in visible_channel_ids]
    )


@handles(wire.GET_WEBHOOK)
def get_webhook(call: Call, webhook_id: WebhookId) -> wire.Webhook:
    """Get a webhook.

    The caller needs VIEW_CHANNEL and MANAGE_WEBHOOKS in the channel, except the application that owns the webhook.
    """
    row = rules.require_webhook(call, webhook_id)
    rules.require_readable(call, row)
    return views.webhook(call, row)


@handles(wire.UPDATE_WEBHOOK)
def update_webhook(call: Call, webhook_id: WebhookId, body: wire.UpdateWebhook) -> wire.Webhook:
    """Update a webhook.

    Change the name or avatar, or move the webhook to another channel of its guild.

    The caller needs VIEW_CHANNEL and MANAGE_WEBHOOKS in the channel of the webhook and in the new channel.
    """
    row = rules.require_webhook(call, webhook_id)
    access.require_channel(call, row.channel_id, rules.MANAGE_PERMISSIONS)
    updated_row = _apply_update(row, body)
    if body.channel_id and body.channel_id != row.channel_id:
        target = access.require_channel(call, body.channel_id, rules.MANAGE_PERMISSIONS).channel
        if target.guild_id != row.guild_id:
            raise errors.UNKNOWN_CHANNEL()
        rules.require_webhook_channel(target)
        rules.require_below_webhook_max(call, target.id)
        updated_row = updated_row._replace(channel_id=target.id)
    return views.webhook(call, actions.update(call, row, updated_row))


@handles(wire.DELETE_WEBHOOK)
def delete_webhook(call: Call, webhook_id: WebhookId) -> None:
    """Delete a webhook.

    The caller needs VIEW_CHANNEL and MANAGE_WEBHOOKS in the channel of the webhook.
    """
    row = rules.require_webhook(call, webhook_id)
    access.require_channel(call, row.channel_id, rules.MANAGE_PERMISSIONS)
    actions.delete(call, row)


@handles(wire.GET_WEBHOOK_BY_TOKEN)
def get_webhook_by_token(call: Call, webhook_id: WebhookId, webhook_token: str) -> wire.Webhook:
    """Get a webhook by its token.

    The response does not contain the creator."""
    return views.webhook_with_token(call, rules.require_token(call, webhook_id, webhook_token))


@handles(wire.UPDATE_WEBHOOK_BY_TOKEN)
def update_webhook_by_token(
    call: Call, webhook_id: WebhookId, webhook_token: str, body: wire.UpdateWebhookByToken
) -> wire.Webhook:
    """Update a webhook by its token.

    Name and avatar can be changed."""
    row = rules.require_token(call, webhook_id, webhook_token)
    return views.webhook_with_token(call, actions.update(call, row, _apply_update(row, body)))


@handles(wire.DELETE_WEBHOOK_BY_TOKEN)
def delete_webhook_by_token(call: Call, webhook_id: WebhookId, webhook_token: str) -> None:
    """Delete a webhook by its token."""
    actions.delete(call, rules.require_token(call, webhook_id, webhook_token))


@handles(wire.FOLLOW_CHANNEL)
def follow_channel(call: Call, channel_id: ChannelId, body: wire.FollowChannel) -> wire.ChannelFollower:
    """Follow an announcement channel.

    Published messages are copied to the target channel, which may be in another guild.

    The caller needs VIEW_CHANNEL and MANAGE_WEBHOOKS in the target channel.
    """
    source_channel = access.get_channel_standing(call, channel_id).channel
    if source_channel.type != ChannelType.GUILD_ANNOUNCEMENT:
        raise errors.WRONG_CHANNEL_TYPE()
    target_channel = access.require_channel(call, body.webhook_channel_id, rules.MANAGE_PERMISSIONS).channel
    rules.require_webhook_channel(target_channel)
    if target_channel.type not in rules.FOLLOWER_CHANNEL_TYPES or target_channel.id == source_channel.id:
        raise errors.WRONG_CHANNEL_TYPE()
    row = actions.follow(call, source_channel, target_channel)
    return wire.ChannelFollower(channel_id=channel_id, webhook_id=WebhookId(row.id))


def _apply_update(row: WebhookRow, body: wire.UpdateWebhookByToken) -> WebhookRow:
    """Return a webhook with the name and avatar of a request."""
    if body.name is not UNSET:
        row = row._replace(name=rules.clean_name(body.name))
    if body.avatar is not UNSET:
        row = row._replace(avatar=body.avatar.hash if body.avatar else None)
    return row
