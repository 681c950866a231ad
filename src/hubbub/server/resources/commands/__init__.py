"""Application commands of applications, and the permissions to use them."""

from hubbub.protocol import wire as json
from hubbub.protocol.enums import AuditLogAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import ActivitiesSwitched, ApplicationDeleting
from hubbub.server.resources.audit_log import AuditLogRead
from hubbub.server.resources.commands import actions, routes, store, views
from hubbub.server.resources.commands.definitions import as_kind, derived_contexts
from hubbub.server.resources.commands.permissions import can_use
from hubbub.server.resources.commands.store import (
    EVERYWHERE,
    PERMITTED_COLUMNS,
    PERMITTED_WIDTH,
    CommandRow,
    Definition,
    Permitted,
    definition,
    join_permitted,
    known_definition,
    list_offered,
    permissions_in,
    read_permitted,
)
from hubbub.server.resources.commands.views import commands
from hubbub.server.resources.guilds import GuildDeleted


def _add_to_audit_log(call: Call, signal: AuditLogRead) -> None:
    command_ids = [
        entry.target_id
        for entry in signal.log.audit_log_entries
        if entry.action_type == AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE and entry.target_id is not None
    ]
    for row in store.find_many(call.tx, command_ids):
        signal.log.application_commands.append(json.decode(json.encode(views.command(row, call.now)), dict))


SLICE = Slice(
    name="commands",
    modules=(routes,),
    hears={
        AuditLogRead: _add_to_audit_log,
        GuildDeleted: actions.guild_deleted,
        ActivitiesSwitched: actions.activities_switched,
        ApplicationDeleting: actions.application_deleting,
    },
)

__all__ = [
    "EVERYWHERE",
    "PERMITTED_COLUMNS",
    "PERMITTED_WIDTH",
    "SLICE",
    "CommandRow",
    "Definition",
    "Permitted",
    "as_kind",
    "can_use",
    "commands",
    "definition",
    "derived_contexts",
    "join_permitted",
    "known_definition",
    "list_offered",
    "permissions_in",
    "read_permitted",
]
