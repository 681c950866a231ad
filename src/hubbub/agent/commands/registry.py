"""Registry of RPC command handlers."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_scopes import COMMANDS

Handler = Callable[[AgentContext, ProgramConnection, Request], Awaitable[Any]]

HANDLERS: Final[dict[str, Handler]] = {}


def handles_command(*names: str) -> Callable[[Handler], Handler]:
    """Register a function as the handler of one or more commands."""

    def register(handler: Handler) -> Handler:
        for name in names:
            assert name in COMMANDS, name
            assert name not in HANDLERS, name
            HANDLERS[name] = handler
        return handler

    return register


def require(allowed: bool) -> None:
    """Raise RpcError 4006 unless the program is allowed."""
    if not allowed:
        raise RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope")
