"""The table that commands enter themselves into."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from hubbub.agent.desk import Desk
from hubbub.agent.links import Link
from hubbub.protocol.rpc import Request, RpcError, RpcErrorCode
from hubbub.protocol.rpc_scopes import COMMANDS

Handler = Callable[[Desk, Link, Request], Awaitable[Any]]

TABLE: Final[dict[str, Handler]] = {}


def obeys(*names: str) -> Callable[[Handler], Handler]:
    """This function answers these commands."""

    def enter(handler: Handler) -> Handler:
        for name in names:
            assert name in COMMANDS, name
            assert name not in TABLE, name
            TABLE[name] = handler
        return handler

    return enter


def require(allowed: bool) -> None:
    """RpcError 4006 unless it is."""
    if not allowed:
        raise RpcError(RpcErrorCode.INVALID_PERMISSIONS, "Not authenticated or invalid scope")
