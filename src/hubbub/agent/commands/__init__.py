"""Handlers of RPC commands."""

# Importing the modules registers their handlers.
from hubbub.agent.commands import (  # noqa: F401
    authorizing,
    looking,
    opening,
    playing,
    selling,
    speaking,
    subscribing,
)
from hubbub.agent.commands.authorizing import renew
from hubbub.agent.commands.table import TABLE, require

__all__ = ["TABLE", "renew", "require"]
