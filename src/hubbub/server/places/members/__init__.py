"""Members: users in a guild, with their profile, roles and moderation there."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.users.signals import UserChanged, UserDeleting
from hubbub.server.places.members import actions, ports, routes, signals, views
from hubbub.server.places.members.archive import ARCHIVE
from hubbub.server.places.members.gateway import commands, guild_fields
from hubbub.server.places.members.interface import membership, shared_guilds
from hubbub.server.places.members.store import (
    VIEW_COLUMNS,
    MemberRow,
    Membership,
    find,
    find_many,
    find_role_ids,
    find_rows,
    list_memberships,
)

SLICE = Slice(
    name="members",
    archive=ARCHIVE,
    modules=(routes, commands, ports),
    listeners={
        UserChanged: actions.on_user_changed,
        UserDeleting: actions.on_user_deleting,
        ApplicationDeleting: actions.on_application_deleting,
    },
    guild=guild_fields.guild_create_fields,
    session_ended=actions.on_session_ended,
)

__all__ = [
    "MemberRow",
    "Membership",
    "SLICE",
    "VIEW_COLUMNS",
    "find",
    "find_many",
    "find_role_ids",
    "find_rows",
    "list_memberships",
    "membership",
    "ports",
    "shared_guilds",
    "signals",
    "views",
]
