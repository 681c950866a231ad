"""Handlers of RPC commands, which the agent runs through `HANDLERS`; `registry.py` declares it."""

# Importing the modules registers their handlers.
from hubbub.agent.commands import (  # noqa: F401
    activities,
    authorization,
    browser,
    directory,
    store,
    subscriptions,
    voice,
)
from hubbub.agent.commands.authorization import recheck_token
from hubbub.agent.commands.registry import HANDLERS, require_allowed

__all__ = ["HANDLERS", "recheck_token", "require_allowed"]
