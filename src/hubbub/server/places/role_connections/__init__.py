"""Role connections: metadata that applications provide about users, and the linked roles that require it."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.users.signals import UserDeleted
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.places.role_connections import actions, routes
from hubbub.server.places.role_connections.actions import export_data
from hubbub.server.places.roles import RoleDeleted

SLICE = Slice(
    name="role_connections",
    modules=(routes,),
    listeners={
        GuildDeleted: actions.on_guild_deleted,
        RoleDeleted: actions.on_role_deleted,
        UserDeleted: actions.on_user_deleted,
    },
)

__all__ = ["SLICE", "export_data"]
