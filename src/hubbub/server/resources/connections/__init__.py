"""Connections: the accounts that a person has elsewhere."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.connections import routes
from hubbub.server.resources.connections.actions import add, remove
from hubbub.server.resources.connections.store import ConnectionRow, list_of_user

SLICE = Slice(name="connections", modules=(routes,))

__all__ = ["SLICE", "ConnectionRow", "add", "list_of_user", "remove"]
