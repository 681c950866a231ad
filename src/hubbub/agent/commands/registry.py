"""Registry of RPC command handlers, and the error for missing scopes."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from hubbub.agent.connections import ProgramConnection
from hubbub.agent.context import AgentContext
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_names import RpcCommand
from hubbub.protocol.rpc_scopes import COMMAND_SCOPES

Handler = Callable[[AgentContext, ProgramConnection, Request], Awaitable[Any]]
"""Function that runs a command and returns the data of the response."""

HANDLERS: Final[dict[str, Handler]] = {}
"""Handlers by the name of the command."""


def handles_command(*names: RpcCommand) -> Callable[[Handler], Handler]:
    """Register a function as the handler of one or more commands."""

    def register(handler: Handler) -> Handler:
        for name in names:
            assert name in COMMAND_SCOPES, name
            assert name not in HANDLERS, name
            HANDLERS[name] = handler
        return handler

    return register


def require_allowed(is_allowed: bool) -> None:
    """Raise RpcError INVALID_PERMISSIONS unless `is_allowed`."""
    if not is_allowed:
        raise RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope")
