"""Where the gateway is, and how a bot should spread over it."""

import sys
from urllib.parse import urlsplit

import msgspec

from hubbub.protocol.resources import gateway as wire
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.slices import Slice, handles
from hubbub.server.resources import guilds

GUILDS_PER_SHARD = 1000
"""Spec, gateway.md 4.1: the recommended number of shards is one per so many guilds."""


class SessionStartsAsked(msgspec.Struct, kw_only=True):
    """Told to learn how many sessions a bot may still begin: a gateway in this process puts what is left in `limit`."""

    user_id: int
    guilds: int
    """How many guilds it is in."""
    limit: wire.SessionStartLimit


def gateway_url(config: Config) -> str:
    """The address of the socket, without a query: clients add their own."""
    parts = urlsplit(config.public_url or f"http://{config.host}:{config.port}")
    scheme = "wss" if parts.scheme == "https" else "ws"
    return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/gateway"


@handles(wire.GET_GATEWAY)
def get_gateway(call: Call) -> wire.GatewayUrl:
    """The address, for anybody."""
    return wire.GatewayUrl(url=gateway_url(call.config))


@handles(wire.GET_BOT_GATEWAY)
def get_bot_gateway(call: Call) -> wire.BotGateway:
    """The address, the recommended shards, and how many sessions may begin."""
    served = guilds.count_of_user(call.tx, call.user_id)
    settings = call.config.gateway
    total, concurrency = settings.session_start_limits(served)
    shards = max(1, -(-served // GUILDS_PER_SHARD))
    if settings.is_large(served):
        # A large bot's shards come in this multiple, and anything else is refused (gateway.md 4.1).
        shards += -shards % settings.large_bot_concurrency
    # Each gateway node counts the starts it sees; a process without a gateway tells the allowance (decisions/0014).
    allowance = wire.SessionStartLimit(
        total=total,
        remaining=total,
        reset_after=0,
        max_concurrency=concurrency,
    )
    asked = SessionStartsAsked(user_id=call.user_id, guilds=served, limit=allowance)
    call.notify(asked)
    return wire.BotGateway(
        url=gateway_url(call.config),
        shards=shards,
        session_start_limit=asked.limit,
    )


SLICE = Slice(name="gateway_info", modules=(sys.modules[__name__],))
