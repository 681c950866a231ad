"""Connections: accounts of users on other services."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.connections import actions, routes
from hubbub.server.identity.connections.actions import add, export_data, remove
from hubbub.server.identity.connections.store import ConnectionRow, list_user_connections
from hubbub.server.identity.users.signals import UserDeleting

SLICE = Slice(
    name="connections",
    modules=(routes,),
    listeners={UserDeleting: actions.on_user_deleting},
)

__all__ = ["SLICE", "ConnectionRow", "add", "export_data", "list_user_connections", "remove"]
