"""Create, change and delete commands, and set their permissions."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec, errors
from hubbub.protocol.changes import ENTRY_POINT_COMMANDS
from hubbub.protocol.enums import AuditLogAction, CommandHandlerType, CommandType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import CommandId, Snowflake
from hubbub.protocol.resources import commands as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core import quotas
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import Audience
from hubbub.server.identity.applications import ActivitiesToggled, ApplicationDeleting, ApplicationRow
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleted
from hubbub.server.play.commands import definitions, rules, store, views
from hubbub.server.play.commands.definitions import ValidatedCommand
from hubbub.server.play.commands.store import GLOBAL_GUILD_ID, CommandRow

LAUNCH_COMMAND: Final = wire.CreateCommand(
    name="launch",
    type=CommandType.PRIMARY_ENTRY_POINT,
    handler=CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
)
"""The command that an application gets when it enables activities (spec/activities.md#2)."""


class SavedCommand(NamedTuple):
    """A stored command and whether it is new."""

    row: CommandRow
    is_new: bool


def create(call: Call, application: ApplicationRow, guild_id: int, body: wire.CreateCommand) -> SavedCommand:
    """Create a command, or replace the one with the same type and name."""
    form = errors.FormErrors()
    command = definitions.parse(body, rules.find_scope(call, application, guild_id), form)
    form.raise_if_any()
    known = store.find_named(call.tx, application.id, guild_id, command.type, command.name)
    if known is not None:
        return SavedCommand(_replace(call, known, command, known.position), False)
    rows = store.list_of(call.tx, application.id, guild_id)
    position = rows[-1].position + 1 if rows else 0
    row = _new(call, application, guild_id, command, position)
    rules.require_capacity(call, [*rows, row])
    _insert(call, row)
    return SavedCommand(row, True)


def edit(call: Call, application: ApplicationRow, row: CommandRow, body: wire.UpdateCommand) -> CommandRow:
    """Change fields of a command."""
    form = errors.FormErrors()
    scope = rules.find_scope(call, application, row.guild_id)
    command = definitions.edit(row.type, row.name, store.definition(row), body, scope, form)
    form.raise_if_any()
    if command.name != row.name:
        if store.find_named(call.tx, row.application_id, row.guild_id, row.type, command.name) is not None:
            raise errors.COMMAND_NAME_EXISTS()
        store.delete_permissions(call.tx, [row.id])
    return _replace(call, row, command, row.position)


def bulk_set(
    call: Call, application: ApplicationRow, guild_id: int, bodies: Sequence[wire.SetCommand]
) -> list[CommandRow]:
    """Replace the commands of a scope with these, in this order. Commands with a known ID or name keep their IDs."""
    form = errors.FormErrors()
    scope = rules.find_scope(call, application, guild_id)
    wanted: list[tuple[wire.SetCommand, ValidatedCommand]] = []
    taken: set[tuple[int, str]] = set()
    for index, body in enumerate(bodies):
        command = definitions.parse(body, scope, form, (index,))
        if (command.type, command.name) in taken:
            form.add((index,), *errors.command_duplicate_name())
        taken.add((command.type, command.name))
        wanted.append((body, command))
    form.raise_if_any()
    before = store.list_of(call.tx, application.id, guild_id)
    by_name = {(row.type, row.name): row for row in before}
    by_id = {row.id: row for row in before}
    matched_by_id = _matched_by_id(wanted, by_id, by_name)
    after: list[tuple[CommandRow, ValidatedCommand, bool]] = []
    for position, (body, command) in enumerate(wanted):
        same_name = by_name.get((command.type, command.name))
        known = by_id[body.id] if body.id in matched_by_id else None
        if same_name is not None and same_name.id not in matched_by_id:
            known = same_name
        if known is None or any(row.id == known.id for row, _, _ in after):
            after.append((_new(call, application, guild_id, command, position), command, True))
        else:
            after.append((known, command, False))
    rules.require_capacity(call, [row for row, _, _ in after])
    kept_ids = {row.id for row, _, _ in after}
    store.delete(call.tx, [row.id for row in before if row.id not in kept_ids])
    # Deleting or renaming a command drops its permissions (spec/webhooks-and-interactions.md#5.1).
    renamed = [row for row, command, new in after if not new and row.name != command.name]
    if renamed:
        store.delete_permissions(call.tx, [row.id for row in renamed])
        # Renamed commands may swap names with each other, so give them temporary ones first.
        store.set_temporary_names(call.tx, [row.id for row in renamed])
    rows = []
    for position, (row, command, new) in enumerate(after):
        if new:
            _insert(call, row)
            rows.append(row)
        else:
            rows.append(_replace(call, row, command, position))
    return rows


def _matched_by_id(
    wanted: Sequence[tuple[wire.SetCommand, ValidatedCommand]],
    by_id: Mapping[int, CommandRow],
    by_name: Mapping[tuple[int, str], CommandRow],
) -> set[int]:
    """Return the IDs of existing commands that are identified by ID.

    An existing command with the requested name takes precedence over the ID, unless that command is itself renamed by
    its own ID."""
    matched = {
        int(body.id): by_name.get((command.type, command.name))
        for body, command in wanted
        if body.id and body.id in by_id and by_id[body.id].type == command.type
    }
    while overruled := {
        each for each, same_name in matched.items() if same_name is not None and same_name.id not in matched
    }:
        for each in overruled:
            del matched[each]
    return set(matched)


def delete(call: Call, row: CommandRow) -> None:
    """Delete a command and its permissions."""
    store.delete(call.tx, [row.id])


def guild_deleted(call: Call, signal: GuildDeleted) -> None:
    """Delete the commands of a deleted guild."""
    store.delete_of_guild(call.tx, signal.guild_id)


def activities_toggled(call: Call, signal: ActivitiesToggled) -> None:
    """Create the default entry point command when activities are enabled; delete it when they are disabled."""
    rows = [
        row
        for row in store.list_of(call.tx, signal.row.id, GLOBAL_GUILD_ID)
        if row.type == CommandType.PRIMARY_ENTRY_POINT
    ]
    if not signal.row.flags & ApplicationFlags.EMBEDDED:
        store.delete(call.tx, [row.id for row in rows])
    elif not rows and ENTRY_POINT_COMMANDS.is_active(call.now):
        create(call, signal.row, GLOBAL_GUILD_ID, LAUNCH_COMMAND)


def application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the commands of an application that is being deleted."""
    store.delete_of_application(call.tx, signal.row.id)


def _new(
    call: Call, application: ApplicationRow, guild_id: int, command: ValidatedCommand, position: int
) -> CommandRow:
    return CommandRow(
        id=call.new_id(CommandId),
        application_id=application.id,
        guild_id=guild_id,
        type=command.type,
        name=command.name,
        version=call.new_id(Snowflake),
        position=position,
        definition=codec.encode(command.definition).decode(),
    )


def _insert(call: Call, row: CommandRow) -> None:
    scope = row.application_id if row.guild_id == GLOBAL_GUILD_ID else row.guild_id
    quotas.consume(call, "commands", scope, wire.COMMAND_CREATES_LIMIT, user_id=row.application_id)
    store.insert(call.tx, row)


def _replace(call: Call, row: CommandRow, command: ValidatedCommand, position: int) -> CommandRow:
    after = row._replace(name=command.name, position=position, definition=codec.encode(command.definition).decode())
    if after == row:
        return row
    if after != row._replace(position=position):
        after = after._replace(version=call.new_id(Snowflake))
    store.update(call.tx, after)
    return after


# Permissions


def set_permissions(
    call: Call,
    application: ApplicationRow,
    guild_id: int,
    target_id: int,
    before: Sequence[wire.CommandPermission],
    after: list[wire.CommandPermission],
) -> wire.CommandPermissions:
    """Set the permissions of a command in a guild, record the change and notify the application's bot."""
    store.set_permissions(call.tx, guild_id, application.id, target_id, after)
    result = views.permissions(guild_id, application.id, target_id, after)
    changes = _changes(before, after)
    if changes:
        audit.record(
            call,
            guild_id,
            AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE,
            target_id=target_id,
            changes=changes,
            options={"application_id": int(application.id)},
        )
    if application.bot_id is not None:
        audience = Audience.guild(guild_id, users=frozenset({int(application.bot_id)}))
        call.tx.emit(wire.APPLICATION_COMMAND_PERMISSIONS_UPDATE, result, audience)
    return result


def _changes(before: Sequence[wire.CommandPermission], after: Sequence[wire.CommandPermission]) -> list[AuditLogChange]:
    """Return the audit log changes; each key is the ID of the permission's target (spec/http.md#3.11)."""
    old = {(entry.type, entry.id): entry for entry in before}
    new = {(entry.type, entry.id): entry for entry in after}
    differences = []
    for key in [*old, *(each for each in new if each not in old)]:
        if old.get(key) != new.get(key):
            change = AuditLogChange(key=str(int(key[1])))
            if key in old:
                change.old_value = old[key]
            if key in new:
                change.new_value = new[key]
            differences.append(change)
    return differences
