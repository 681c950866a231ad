"""Members: users in a guild, with their nickname, roles and permissions there."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.identity.users import DataExportRequested, UserChanged, UserDeleted
from hubbub.server.places.guilds import MemberLeft
from hubbub.server.places.members import actions, commands, routes, views
from hubbub.server.places.members.actions import add, admit, change, grant_roles, remove, remove_many
from hubbub.server.places.members.rules import require_can_join, require_roles
from hubbub.server.places.members.signals import (
    MemberAdded,
    MemberRemoved,
    MemberRenamed,
    VoiceModerated,
    VoiceMoveRequested,
)
from hubbub.server.places.members.store import (
    VIEW_COLUMNS,
    MemberRow,
    Membership,
    find,
    find_many,
    find_roles,
    find_row,
    find_rows,
    is_banned,
    pending_ids,
    ranks,
)
from hubbub.server.places.members.views import (
    find_partial_views,
    find_views,
    guild_member,
    member,
    partial_member,
    presence_in_guild,
)


def _left(call: Call, signal: MemberLeft) -> None:
    remove(call, signal.guild_id, signal.user_id)


SLICE = Slice(
    name="members",
    modules=(routes, commands),
    listeners={
        UserChanged: actions.user_changed,
        UserDeleted: actions.user_deleted,
        DataExportRequested: views.export_data,
        MemberLeft: _left,
        ApplicationDeleting: actions.application_deleting,
    },
    guild=views.guild_create_fields,
    session_ended=actions.session_ended,
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
    "VoiceMoveRequested",
    "add",
    "admit",
    "change",
    "find",
    "find_many",
    "find_partial_views",
    "find_roles",
    "find_row",
    "find_rows",
    "find_views",
    "grant_roles",
    "guild_member",
    "is_banned",
    "member",
    "partial_member",
    "pending_ids",
    "presence_in_guild",
    "ranks",
    "remove",
    "remove_many",
    "require_can_join",
    "require_roles",
]
