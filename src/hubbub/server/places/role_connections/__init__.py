"""Role connections: metadata that applications provide about users, and the linked roles that require it."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleting
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.places.role_connections import actions, routes
from hubbub.server.places.role_connections.actions import export_data
from hubbub.server.places.roles import RoleDeleted

SLICE = Slice(
    name="role_connections",
    modules=(routes,),
    listeners={
        GuildDeleting: actions.on_guild_deleting,
        RoleDeleted: actions.on_role_deleted,
        UserDeleting: actions.on_user_deleting,
    },
)

__all__ = ["SLICE", "export_data"]
