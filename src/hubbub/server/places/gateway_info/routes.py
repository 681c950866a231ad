"""HTTP handlers for the gateway URL, the recommended number of shards and the session start limit of a bot."""

from urllib.parse import urlsplit

from hubbub.protocol.resources import gateway as wire
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.slices import handles
from hubbub.server.places import guilds
from hubbub.server.places.gateway_info import ports

GUILDS_PER_SHARD = 1000
"""Guilds per recommended shard (spec/gateway.md#4.1)."""


def build_gateway_url(config: Config) -> str:
    """Return the WebSocket URL of the gateway without a query; clients add their own query."""
    url_parts = urlsplit(config.public_url or f"http://{config.host}:{config.port}")
    scheme = "wss" if url_parts.scheme == "https" else "ws"
    return f"{scheme}://{url_parts.netloc}{url_parts.path.rstrip('/')}/gateway"


@handles(wire.GET_GATEWAY)
def get_gateway(call: Call) -> wire.GatewayUrl:
    """Get the gateway URL."""
    return wire.GatewayUrl(url=build_gateway_url(call.config))


@handles(wire.GET_BOT_GATEWAY)
def get_bot_gateway(call: Call) -> wire.BotGateway:
    """Get the gateway URL, the recommended number of shards and the session start limit of a bot."""
    guild_count = guilds.membership.count_user_guilds(call.tx, call.user_id)
    settings = call.config.gateway
    total_starts, max_concurrency = settings.session_start_limits(guild_count)
    shard_count = max(1, -(-guild_count // GUILDS_PER_SHARD))
    if settings.is_large(guild_count):
        # The shard count of a large bot must be a multiple of `large_bot_concurrency` (spec/gateway.md#4.1).
        shard_count += -shard_count % settings.large_bot_concurrency
    # Each gateway node counts its own session starts; a process without a gateway reports the full limit (decisions/0014).
    session_start_limit = ports.find_session_start_limit(call, guild_count) or wire.SessionStartLimit(
        total=total_starts, remaining=total_starts, reset_after=0, max_concurrency=max_concurrency
    )
    return wire.BotGateway(
        url=build_gateway_url(call.config),
        shards=shard_count,
        session_start_limit=session_start_limit,
    )
