"""Requests of users to applications: commands, autocomplete, components and modals."""

from hubbub.server.play.interactions.requests.command_index import channel_command_index
from hubbub.server.play.interactions.requests.creation import create

__all__ = ["channel_command_index", "create"]
