"""Build the wire models of webhooks: with tokens for callers who may use them, with creators for managers."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol.enums import WebhookType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.places import channels, guilds
from hubbub.server.talk.webhooks import store, tokens
from hubbub.server.talk.webhooks.store import WebhookRow


def webhooks(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Return webhooks for a caller who manages them, with creators and tokens.

    The token of an application's webhook is included only if the caller is that application."""
    token_key = store.find_token_key(call.tx) or b""
    creators_by_id = users.find_many(call.tx, [row.user_id for row in rows if row.user_id is not None])
    views = _build_webhooks(call, rows)
    for row, webhook in zip(rows, views, strict=True):
        creator = None if row.user_id is None else creators_by_id.get(row.user_id)
        if creator is not None:
            webhook.user = users.user_view(creator)
        if row.application_id is None or row.application_id == call.actor.application_id:
            _add_token(call, webhook, tokens.derive_token(token_key, row))
    return views


def webhook(call: Call, row: WebhookRow) -> wire.Webhook:
    """Return a webhook for a caller who manages it, with its creator and token."""
    return webhooks(call, (row,))[0]


def webhook_with_token(call: Call, row: WebhookRow) -> wire.Webhook:
    """Return a webhook with its token and without its creator."""
    view = _build_webhooks(call, (row,))[0]
    _add_token(call, view, tokens.derive_token(store.find_token_key(call.tx) or b"", row))
    return view


def webhook_references(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Return webhooks without tokens and creators, as references from other objects."""
    return _build_webhooks(call, rows)


def _add_token(call: Call, view: wire.Webhook, token: str | None) -> None:
    """Set the token and URL of a webhook, unless it has no token."""
    if token is not None:
        base_url = (call.config.public_url or f"http://{call.config.host}:{call.config.port}").rstrip("/")
        view.token = token
        view.url = f"{base_url}/api/webhooks/{int(view.id)}/{token}"


def _build_webhooks(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Build webhooks without tokens and creators; follower webhooks have their source channel and guild."""
    source_channel_ids = [row.source_channel_id for row in rows if row.source_channel_id is not None]
    source_channels = channels.find_many(call.tx, source_channel_ids) if source_channel_ids else {}
    source_guilds = guilds.find_many(call.tx, [row.source_guild_id for row in rows if row.source_guild_id is not None])
    views = []
    for row in rows:
        view = _build_webhook(row)
        channel, guild = source_channels.get(row.source_channel_id or 0), source_guilds.get(row.source_guild_id or 0)
        if row.type == WebhookType.CHANNEL_FOLLOWER and channel is not None and guild is not None:
            view.source_channel = wire.WebhookSourceChannel(id=ChannelId(channel.id), name=channel.name or "")
            view.source_guild = wire.WebhookSourceGuild(id=GuildId(guild.id), icon=guild.icon, name=guild.name)
        views.append(view)
    return views


def _build_webhook(row: WebhookRow) -> wire.Webhook:
    return wire.Webhook(
        id=WebhookId(row.id),
        type=row.type,
        name=row.name,
        avatar=row.avatar,
        channel_id=ChannelId(row.channel_id),
        guild_id=GuildId(row.guild_id),
        application_id=None if row.application_id is None else ApplicationId(row.application_id),
        user=UNSET,
    )
