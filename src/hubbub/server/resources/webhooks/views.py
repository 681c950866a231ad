"""A webhook as it is shown: with its token to who may use it, with its maker to who may manage it."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol.enums import WebhookType
from hubbub.protocol.ids import ApplicationId, ChannelId, GuildId, WebhookId
from hubbub.protocol.resources import webhooks as wire
from hubbub.server.core.call import Call
from hubbub.server.resources import channels, guilds, users
from hubbub.server.resources.webhooks import store, tokens
from hubbub.server.resources.webhooks.store import WebhookRow


def webhooks(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Webhooks as who manages them sees them; an application's token is its own."""
    key = store.find_key(call.tx) or b""
    makers = users.find_many(call.tx, [row.user_id for row in rows if row.user_id is not None])
    shown = _with_sources(call, rows)
    for row, webhook in zip(rows, shown, strict=True):
        maker = None if row.user_id is None else makers.get(row.user_id)
        if maker is not None:
            webhook.user = users.user(maker)
        if row.application_id is None or row.application_id == call.actor.application_id:
            _add_token(call, webhook, tokens.token(key, row))
    return shown


def webhook(call: Call, row: WebhookRow) -> wire.Webhook:
    """One webhook as who manages it sees it."""
    return webhooks(call, (row,))[0]


def with_token(call: Call, row: WebhookRow) -> wire.Webhook:
    """A webhook as who has its token sees it: without its maker."""
    shown = _with_sources(call, (row,))[0]
    _add_token(call, shown, tokens.token(store.find_key(call.tx) or b"", row))
    return shown


def named(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    """Webhooks that something else speaks of: neither token nor maker."""
    return _with_sources(call, rows)


def _add_token(call: Call, shown: wire.Webhook, token: str | None) -> None:
    if token is not None:
        base = (call.config.public_url or f"http://{call.config.host}:{call.config.port}").rstrip("/")
        shown.token = token
        shown.url = f"{base}/api/webhooks/{int(shown.id)}/{token}"


def _with_sources(call: Call, rows: Sequence[WebhookRow]) -> list[wire.Webhook]:
    followed = [row.source_channel_id for row in rows if row.source_channel_id is not None]
    sources = channels.find_many(call.tx, followed) if followed else {}
    homes = guilds.find_many(call.tx, [row.source_guild_id for row in rows if row.source_guild_id is not None])
    shown = []
    for row in rows:
        one = _bare(row)
        channel, guild = sources.get(row.source_channel_id or 0), homes.get(row.source_guild_id or 0)
        if row.type == WebhookType.CHANNEL_FOLLOWER and channel is not None and guild is not None:
            one.source_channel = wire.WebhookSourceChannel(id=ChannelId(channel.id), name=channel.name or "")
            one.source_guild = wire.WebhookSourceGuild(id=GuildId(guild.id), icon=guild.icon, name=guild.name)
        shown.append(one)
    return shown


def _bare(row: WebhookRow) -> wire.Webhook:
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
