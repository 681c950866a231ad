"""The commands SUBSCRIBE and UNSUBSCRIBE (spec/rpc.md#9)."""

from typing import Any, Final

from hubbub.agent.commands.authorization import recheck_token
from hubbub.agent.commands.registry import handles_command, require_allowed
from hubbub.agent.connections import ProgramConnection, Subscription
from hubbub.agent.context import AgentContext
from hubbub.agent.validation import parse_arguments, snowflake
from hubbub.protocol import rpc_scopes
from hubbub.protocol.enums import Scope
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand, RpcEvent

MESSAGE_EVENTS: Final = (RpcEvent.MESSAGE_CREATE, RpcEvent.MESSAGE_UPDATE, RpcEvent.MESSAGE_DELETE)
CHANNEL_OR_LOBBY_EVENTS: Final = (RpcEvent.SPEAKING_START, RpcEvent.SPEAKING_STOP)
"""Events for which a program subscribes to a channel or to a lobby."""


def _parse_subscription(request: Request) -> Subscription:
    event = request.evt or ""
    if event not in rpc_scopes.EVENT_SCOPES:
        raise RpcError(RpcErrorCode.INVALID_EVENT, f"Invalid event: {event[:64]}")
    argument_name = rpc_scopes.SUBSCRIPTION_ARGUMENTS.get(event)
    if argument_name is None:
        return Subscription(event, None)
    if _names_lobby(request):
        argument_name = "lobby_id"
    return Subscription(event, parse_arguments(request.args, {argument_name: snowflake}, argument_name)[argument_name])


def _names_lobby(request: Request) -> bool:
    """Return whether the subscription is to a lobby instead of a channel; only some events have lobbies."""
    return request.evt in CHANNEL_OR_LOBBY_EVENTS and (request.args or {}).get("lobby_id") is not None


@handles_command(RpcCommand.SUBSCRIBE)
async def subscribe(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Subscribe to an event; a repeated subscription has no effect."""
    subscription = _parse_subscription(request)
    state = context.account.state
    if not rpc_scopes.is_allowed(rpc_scopes.EVENT_SCOPES[subscription.event], connection.transport_scopes):
        await recheck_token(context, connection)
        require_allowed(rpc_scopes.is_allowed(rpc_scopes.EVENT_SCOPES[subscription.event], connection.scopes))
    if (
        subscription.subscribed_id is not None
        and rpc_scopes.SUBSCRIPTION_ARGUMENTS[subscription.event] == "guild_id"
        and subscription.subscribed_id not in state.guilds
    ):
        raise RpcError(RpcErrorCode.INVALID_GUILD, "Invalid guild id")
    if (
        subscription.subscribed_id is not None
        and rpc_scopes.SUBSCRIPTION_ARGUMENTS[subscription.event] == "channel_id"
        and not _names_lobby(request)
    ):
        channel = state.channels.get(subscription.subscribed_id)
        if channel is None:
            raise RpcError(RpcErrorCode.INVALID_CHANNEL, "Invalid channel id")
        if subscription.event in MESSAGE_EVENTS:
            # Channels of other applications require messages.read (spec/rpc.md#9).
            is_own_channel = channel.get("application_id") == connection.application_id
            require_allowed(is_own_channel or Scope.MESSAGES_READ.value in connection.scopes)
    connection.subscriptions.add(subscription)
    if subscription.event == RpcEvent.ACTIVITY_JOIN:
        context.launcher.on_subscribed(connection.application_id)
    return {"evt": subscription.event}


@handles_command(RpcCommand.UNSUBSCRIBE)
async def unsubscribe(context: AgentContext, connection: ProgramConnection, request: Request) -> dict[str, Any]:
    """Remove a subscription to an event, if it exists."""
    subscription = _parse_subscription(request)
    connection.subscriptions.discard(subscription)
    return {"evt": subscription.event}
