"""The commands SUBSCRIBE and UNSUBSCRIBE (rpc.md 9)."""

from typing import Any

from hubbub.agent.commands.authorizing import renew
from hubbub.agent.commands.table import obeys, require
from hubbub.agent.desk import Desk
from hubbub.agent.forms import arguments, snowflake
from hubbub.agent.links import Link, Subscription
from hubbub.protocol import rpc_scopes
from hubbub.protocol.enums import Scope
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode

MESSAGES = ("MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE")


def _read(request: Request) -> Subscription:
    event = request.evt or ""
    if event not in rpc_scopes.EVENTS:
        raise RpcError(RpcErrorCode.INVALID_EVENT, f"Invalid event: {event[:64]}")
    about = rpc_scopes.ABOUT.get(event)
    if about is None:
        return Subscription(event, None)
    if event.startswith("SPEAKING") and (request.args or {}).get("lobby_id") is not None:
        return Subscription(event, arguments(request.args, {"lobby_id": snowflake})["lobby_id"])
    return Subscription(event, arguments(request.args, {about: snowflake}, about)[about])


@obeys("SUBSCRIBE")
async def subscribe(context: Desk, connection: Link, request: Request) -> dict[str, Any]:
    """Subscribe to an event; a repeated subscription has no effect."""
    subscription = _read(request)
    state = context.account.state
    if not rpc_scopes.allows(rpc_scopes.EVENTS[subscription.event], connection.given):
        await renew(context, connection)
        require(rpc_scopes.allows(rpc_scopes.EVENTS[subscription.event], connection.scopes))
    if (
        subscription.about is not None
        and rpc_scopes.ABOUT[subscription.event] == "guild_id"
        and subscription.about not in state.guilds
    ):
        raise RpcError(RpcErrorCode.INVALID_GUILD, "Invalid guild id")
    if (
        subscription.about is not None
        and rpc_scopes.ABOUT[subscription.event] == "channel_id"
        and "lobby_id" not in (request.args or {})
    ):
        channel = state.channels.get(subscription.about)
        if channel is None:
            raise RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id")
        if subscription.event in MESSAGES:
            # Channels of other applications require messages.read (rpc.md 9).
            own = channel.get("application_id") == connection.application_id
            require(own or Scope.MESSAGES_READ.value in connection.scopes)
    connection.subscriptions.add(subscription)
    if subscription.event == "ACTIVITY_JOIN":
        context.launcher.listens(connection.application_id)
    return {"evt": subscription.event}


@obeys("UNSUBSCRIBE")
async def unsubscribe(context: Desk, connection: Link, request: Request) -> dict[str, Any]:
    """Unsubscribe from an event."""
    subscription = _read(request)
    connection.subscriptions.discard(subscription)
    return {"evt": subscription.event}
