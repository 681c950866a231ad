"""Application commands of applications, and the permissions to use them."""

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ActivitiesToggled, ApplicationDeleting
from hubbub.server.places.audit_log import AuditLogRead
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.play.commands import actions, routes, store, views
from hubbub.server.play.commands.definitions import derived_contexts, normalize_value
from hubbub.server.play.commands.permissions import can_use
from hubbub.server.play.commands.store import (
    GLOBAL_GUILD_ID,
    PERMITTED_COLUMNS,
    PERMITTED_WIDTH,
    CommandRow,
    Definition,
    Permitted,
    cached_definition,
    definition,
    join_permitted,
    list_available,
    permissions_in,
    read_permitted,
)
from hubbub.server.play.commands.views import commands


def _add_to_audit_log(call: Call, signal: AuditLogRead) -> None:
    command_ids = [
        entry.target_id
        for entry in signal.log.audit_log_entries
        if entry.action_type == AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE and entry.target_id is not None
    ]
    for row in store.find_many(call.tx, command_ids):
        signal.log.application_commands.append(codec.decode(codec.encode(views.command(row, call.now)), dict))


SLICE = Slice(
    name="commands",
    modules=(routes,),
    listeners={
        AuditLogRead: _add_to_audit_log,
        GuildDeleted: actions.guild_deleted,
        ActivitiesToggled: actions.activities_toggled,
        ApplicationDeleting: actions.application_deleting,
    },
)

__all__ = [
    "GLOBAL_GUILD_ID",
    "PERMITTED_COLUMNS",
    "PERMITTED_WIDTH",
    "SLICE",
    "CommandRow",
    "Definition",
    "Permitted",
    "normalize_value",
    "can_use",
    "commands",
    "definition",
    "derived_contexts",
    "join_permitted",
    "cached_definition",
    "list_available",
    "permissions_in",
    "read_permitted",
]
