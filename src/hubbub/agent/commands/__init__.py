"""Handlers of RPC commands."""

from hubbub.agent.commands import authorizing, looking, opening, playing, selling, speaking, subscribing
from hubbub.agent.commands.authorizing import renew
from hubbub.agent.commands.table import TABLE, require

__all__ = [
    "TABLE",
    "authorizing",
    "looking",
    "opening",
    "playing",
    "renew",
    "require",
    "selling",
    "speaking",
    "subscribing",
]
