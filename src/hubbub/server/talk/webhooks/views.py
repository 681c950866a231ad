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
    """Return webhooks as their managers see them; the token of an application's webhook is shown to it only."""
    key = store.find_key(call.tx) or b""
    creators = users.find_many(call.tx, [row.user_id for row in rows if row.user_id is not None])
    views = _with_sources(call, rows)
    for row, webhook in zip(rows, views, strict=True):
        creator = None if row.user_id is None else creators.get(row.user_id)
        if creator is not None:
            webhook.user = users.user(creator)
        if row.application_id is None or row.application_id == call.actor.application_id:
            _add_token(call, webhook, tokens.token(key, row))
    return views


def webhook(call: Call, row: WebhookRow) -> wire.Webhook:
    """Return a webhook as its managers see it."""
    return webhooks(call, (row,))[0]


def with_token(call: Call, row: WebhookRow) -> wire.Webhook:
    """Return a webhook as the owner of its token sees it, without its creator."""
    view = _with_sources(call, (row,))[0]
    _add_token(call, view, tokens.token(store.find_key(call.tx) or b"", row))
    return view


def references(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Return webhooks without tokens and creators, as references from other objects."""
    return _with_sources(call, rows)


def _add_token(call: Call, view: wire.Webhook, token: str | None) -> None:
    if token is not None:
        base = (call.config.public_url or f"http://{call.config.host}:{call.config.port}").rstrip("/")
        view.token = token
        view.url = f"{base}/api/webhooks/{int(view.id)}/{token}"


def _with_sources(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    followed = [row.source_channel_id for row in rows if row.source_channel_id is not None]
    sources = channels.find_many(call.tx, followed) if followed else {}
    source_guilds = guilds.find_many(call.tx, [row.source_guild_id for row in rows if row.source_guild_id is not None])
    views = []
    for row in rows:
        view = _without_sources(row)
        channel, guild = sources.get(row.source_channel_id or 0), source_guilds.get(row.source_guild_id or 0)
        if row.type == WebhookType.CHANNEL_FOLLOWER and channel is not None and guild is not None:
            view.source_channel = wire.WebhookSourceChannel(id=ChannelId(channel.id), name=channel.name or "")
            view.source_guild = wire.WebhookSourceGuild(id=GuildId(guild.id), icon=guild.icon, name=guild.name)
        views.append(view)
    return views


def _without_sources(row: WebhookRow) -> wire.Webhook:
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
