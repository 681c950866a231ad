"""Role connections: metadata that applications provide about users, and the linked roles that require it."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.guilds import GuildDeleted
from hubbub.server.resources.role_connections import actions, routes
from hubbub.server.resources.roles import RoleDeleted
from hubbub.server.resources.users import UserDeleted

SLICE = Slice(
    name="role_connections",
    modules=(routes,),
    listeners={GuildDeleted: actions.forget_guild, RoleDeleted: actions.forget_role, UserDeleted: actions.forget_user},
)

__all__ = ["SLICE"]
