"""Members: users in a guild, with their nickname, roles and permissions there."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.users.signals import UserChanged, UserDeleted
from hubbub.server.places.members import actions, commands, ports, routes, views
from hubbub.server.places.members.actions import (
    add,
    admit,
    delete_of_guild,
    grant_roles,
    insert_owner,
    remove,
    remove_many,
    update,
)
from hubbub.server.places.members.rules import require_can_join, require_roles
from hubbub.server.places.members.signals import (
    MemberAdded,
    MemberRemoved,
    MemberRenamed,
    VoiceModerated,
)
from hubbub.server.places.members.store import (
    VIEW_COLUMNS,
    MemberRow,
    Membership,
    find,
    find_many,
    find_ranks,
    find_role_ids,
    find_row,
    find_rows,
    is_banned,
    list_pending_ids,
)
from hubbub.server.places.members.views import (
    export_data,
    find_partial_views,
    find_views,
    guild_member,
    member,
    partial_member,
    presence_in_guild,
)

SLICE = Slice(
    name="members",
    modules=(routes, commands, ports),
    listeners={
        UserChanged: actions.on_user_changed,
        UserDeleted: actions.on_user_deleted,
        ApplicationDeleting: actions.on_application_deleting,
    },
    guild=views.guild_create_fields,
    session_ended=actions.on_session_ended,
)

__all__ = [
    "VIEW_COLUMNS",
    "SLICE",
    "MemberAdded",
    "MemberRemoved",
    "MemberRenamed",
    "MemberRow",
    "Membership",
    "VoiceModerated",
    "add",
    "admit",
    "update",
    "export_data",
    "find",
    "find_many",
    "find_partial_views",
    "find_role_ids",
    "find_row",
    "find_rows",
    "find_views",
    "grant_roles",
    "guild_member",
    "is_banned",
    "member",
    "partial_member",
    "list_pending_ids",
    "ports",
    "presence_in_guild",
    "find_ranks",
    "remove",
    "remove_many",
    "require_can_join",
    "require_roles",
    "delete_of_guild",
    "insert_owner",
]
