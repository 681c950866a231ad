"""Commands of applications, and the permissions to use them."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId
from hubbub.protocol.resources.audit_log import AuditLogEntry
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ActivitiesToggled, ApplicationDeleting
from hubbub.server.places.audit_log import ReferencedObjects
from hubbub.server.places.guilds import GuildDeleting
from hubbub.server.play.commands import actions, joined_commands, routes, store, views
from hubbub.server.play.commands.actions import create_for_world
from hubbub.server.play.commands.definitions import derived_contexts, normalize_value
from hubbub.server.play.commands.permissions import can_use
from hubbub.server.play.commands.store import (
    CommandRow,
    Definition,
    cached_definition,
    decode_definition,
    list_available,
    list_guild_permissions,
)
from hubbub.server.play.commands.views import commands


def list_referenced(call: Call, guild_id: GuildId, entries: Sequence[AuditLogEntry]) -> ReferencedObjects:
    """Return the commands that audit log entries refer to."""
    command_ids = [
        entry.target_id
        for entry in entries
        if entry.action_type == AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE and entry.target_id is not None
    ]
    rows = store.find_many(call.tx, command_ids)
    return ReferencedObjects(
        application_commands=[codec.decode(codec.encode(views.command(row, call.now_ms)), dict) for row in rows]
    )


def count_commands(call: Call, application_id: int) -> int:
    """Return the number of commands of an application in all scopes."""
    return store.count_application_commands(call.tx, application_id)


SLICE = Slice(
    name="commands",
    modules=(routes,),
    listeners={
        GuildDeleting: actions.on_guild_deleting,
        ActivitiesToggled: actions.on_activities_toggled,
        ApplicationDeleting: actions.on_application_deleting,
    },
)

__all__ = [
    "CommandRow",
    "Definition",
    "SLICE",
    "cached_definition",
    "can_use",
    "commands",
    "count_commands",
    "create_for_world",
    "decode_definition",
    "derived_contexts",
    "list_referenced",
    "joined_commands",
    "list_available",
    "list_guild_permissions",
    "normalize_value",
]
