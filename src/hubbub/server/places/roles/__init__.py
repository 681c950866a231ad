"""Roles: named sets of permissions that are assigned to members."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.roles import assignments, routes, views
from hubbub.server.places.roles.actions import create, delete, update
from hubbub.server.places.roles.archive import ARCHIVE
from hubbub.server.places.roles.signals import RoleDeleted
from hubbub.server.places.roles.store import (
    RoleRow,
    delete_guild_roles,
    find,
    find_many,
    find_permissions,
    insert_many,
    list_guild_roles,
)
from hubbub.server.places.roles.views import partial_role, role

SLICE = Slice(name="roles", archive=ARCHIVE, modules=(routes,), guild=views.guild_create_fields)

__all__ = [
    "RoleDeleted",
    "RoleRow",
    "SLICE",
    "assignments",
    "create",
    "delete",
    "delete_guild_roles",
    "find",
    "find_many",
    "find_permissions",
    "insert_many",
    "list_guild_roles",
    "partial_role",
    "role",
    "update",
]
