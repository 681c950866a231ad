"""HTTP handlers for the gateway URL and the recommended number of shards."""

import sys
from urllib.parse import urlsplit

from hubbub.protocol.resources import gateway as wire
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.ports import port
from hubbub.server.core.slices import Slice, handles
from hubbub.server.places import guilds

GUILDS_PER_SHARD = 1000
"""Guilds per recommended shard (spec/gateway.md#4.1)."""


@port
def find_session_start_limit(call: Call, guild_count: int) -> wire.SessionStartLimit | None:
    """Return the remaining session starts of the calling bot, or None in a process without a gateway."""


def gateway_url(config: Config) -> str:
    """Return the WebSocket URL without a query; clients add their own."""
    parts = urlsplit(config.public_url or f"http://{config.host}:{config.port}")
    scheme = "wss" if parts.scheme == "https" else "ws"
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/gateway"


@handles(wire.GET_GATEWAY)
def get_gateway(call: Call) -> wire.GatewayUrl:
    """Get the gateway URL."""
    return wire.GatewayUrl(url=gateway_url(call.config))


@handles(wire.GET_BOT_GATEWAY)
def get_bot_gateway(call: Call) -> wire.BotGateway:
    """Get the gateway URL, the recommended number of shards and the session start limit of a bot."""
    served = guilds.count_of_user(call.tx, call.user_id)
    settings = call.config.gateway
    total, concurrency = settings.session_start_limits(served)
    shards = max(1, -(-served // GUILDS_PER_SHARD))
    if settings.is_large(served):
        # The shard count of a large bot must be a multiple of this number (spec/gateway.md#4.1).
        shards += -shards % settings.large_bot_concurrency
    # Each gateway node counts its own session starts; a process without a gateway reports the full limit (decisions/0014).
    limit = find_session_start_limit(call, served) or wire.SessionStartLimit(
        total=total, remaining=total, reset_after=0, max_concurrency=concurrency
    )
    return wire.BotGateway(
        url=gateway_url(call.config),
        shards=shards,
        session_start_limit=limit,
    )


SLICE = Slice(name="gateway_info", modules=(sys.modules[__name__],))
