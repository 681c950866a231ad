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
from hubbub.server.core.event_dispatch import GuildAudience
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.signals import ActivitiesToggled, ApplicationDeleting
from hubbub.server.places.audit_log import audit
from hubbub.server.places.guilds import GuildDeleting
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


def create_for_world(
    call: Call, application: ApplicationRow, guild_id: int | None, command_id: CommandId, body: wire.CreateCommand
) -> None:
    """Create a command of a world file with a given ID; `guild_id` is None for a global command."""
    create(call, application, GLOBAL_GUILD_ID if guild_id is None else guild_id, body, command_id=command_id)


def create(
    call: Call,
    application: ApplicationRow,
    guild_id: int,
    body: wire.CreateCommand,
    *,
    command_id: CommandId | None = None,
) -> SavedCommand:
    """Create a command, or replace the existing command with the same type and name.

    `guild_id` is GLOBAL_GUILD_ID for a global command. `command_id` is the ID of a new command; None for a generated one."""
    form = errors.FormErrors()
    command = definitions.validate_new(body, rules.build_scope(call, application, guild_id), form)
    form.raise_if_any()
    existing_row = store.find_by_name(call.tx, application.id, guild_id, command.type, command.name)
    if existing_row is not None:
        return SavedCommand(_update_if_changed(call, existing_row, command, existing_row.position), False)
    scope_rows = store.list_scope_commands(call.tx, application.id, guild_id)
    position = scope_rows[-1].position + 1 if scope_rows else 0
    new_row = _new_row(call, application, guild_id, command, position)
    if command_id is not None:
        new_row = new_row._replace(id=command_id, version=Snowflake(command_id))
    rules.require_capacity(call, [*scope_rows, new_row])
    _insert_new(call, new_row)
    return SavedCommand(new_row, True)


def edit(call: Call, application: ApplicationRow, row: CommandRow, body: wire.UpdateCommand) -> CommandRow:
    """Change fields of a command. A new name deletes its permissions; raise COMMAND_NAME_EXISTS if the name is taken."""
    form = errors.FormErrors()
    scope = rules.build_scope(call, application, row.guild_id)
    command = definitions.validate_changes(row.type, row.name, store.decode_definition(row), body, scope, form)
    form.raise_if_any()
    if command.name != row.name:
        if store.find_by_name(call.tx, row.application_id, row.guild_id, row.type, command.name) is not None:
            raise errors.COMMAND_NAME_EXISTS()
        store.delete_permissions(call.tx, [row.id])
    return _update_if_changed(call, row, command, row.position)


def bulk_set(
    call: Call, application: ApplicationRow, guild_id: int, bodies: Sequence[wire.SetCommand]
) -> list[CommandRow]:
    """Replace the commands of a scope with the requested ones, in their order.

    A scope is the global commands of an application (`guild_id` is GLOBAL_GUILD_ID) or its commands in one guild.
    Requested commands with an existing ID or name keep their IDs."""
    form = errors.FormErrors()
    scope = rules.build_scope(call, application, guild_id)
    requested_commands: list[tuple[wire.SetCommand, ValidatedCommand]] = []
    taken_names: set[tuple[int, str]] = set()
    for index, body in enumerate(bodies):
        command = definitions.validate_new(body, scope, form, (index,))
        if (command.type, command.name) in taken_names:
            form.add((index,), *errors.command_duplicate_name())
        taken_names.add((command.type, command.name))
        requested_commands.append((body, command))
    form.raise_if_any()
    existing_rows = store.list_scope_commands(call.tx, application.id, guild_id)
    existing_by_name = {(row.type, row.name): row for row in existing_rows}
    existing_by_id = {row.id: row for row in existing_rows}
    matched_ids = _find_matched_ids(requested_commands, existing_by_id, existing_by_name)
    resulting_commands: list[tuple[CommandRow, ValidatedCommand, bool]] = []
    for position, (body, command) in enumerate(requested_commands):
        same_name_row = existing_by_name.get((command.type, command.name))
        existing_row = existing_by_id[body.id] if body.id in matched_ids else None
        if same_name_row is not None and same_name_row.id not in matched_ids:
            existing_row = same_name_row
        if existing_row is None or any(row.id == existing_row.id for row, _, _ in resulting_commands):
            resulting_commands.append((_new_row(call, application, guild_id, command, position), command, True))
        else:
            resulting_commands.append((existing_row, command, False))
    rules.require_capacity(call, [row for row, _, _ in resulting_commands])
    remaining_ids = {row.id for row, _, _ in resulting_commands}
    store.delete(call.tx, [row.id for row in existing_rows if row.id not in remaining_ids])
    # Deleting or renaming a command drops its permissions (spec/webhooks-and-interactions.md#5.1).
    renamed_rows = [row for row, command, is_new in resulting_commands if not is_new and row.name != command.name]
    if renamed_rows:
        store.delete_permissions(call.tx, [row.id for row in renamed_rows])
        # Renamed commands may swap names with each other, so give them temporary ones first.
        store.set_temporary_names(call.tx, [row.id for row in renamed_rows])
    saved_rows: dict[int, CommandRow] = {}
    # Save the commands in the order of IDs, because concurrent requests must lock the rows in the same order.
    for position, (row, command, is_new) in sorted(enumerate(resulting_commands), key=lambda item: item[1][0].id):
        if is_new:
            _insert_new(call, row)
            saved_rows[position] = row
        else:
            saved_rows[position] = _update_if_changed(call, row, command, position)
    return [saved_rows[position] for position in range(len(resulting_commands))]


def _find_matched_ids(
    requested_commands: Sequence[tuple[wire.SetCommand, ValidatedCommand]],
    existing_by_id: Mapping[int, CommandRow],
    existing_by_name: Mapping[tuple[int, str], CommandRow],
) -> set[int]:
    """Return the IDs of the existing commands that requested commands are matched to by ID.

    An existing command with the requested name takes precedence over the ID, unless that command is itself renamed by
    its own ID."""
    same_name_rows_by_id = {
        int(body.id): existing_by_name.get((command.type, command.name))
        for body, command in requested_commands
        if body.id and body.id in existing_by_id and existing_by_id[body.id].type == command.type
    }
    while overruled_ids := {
        command_id
        for command_id, same_name_row in same_name_rows_by_id.items()
        if same_name_row is not None and same_name_row.id not in same_name_rows_by_id
    }:
        for command_id in overruled_ids:
            del same_name_rows_by_id[command_id]
    return set(same_name_rows_by_id)


def delete(call: Call, row: CommandRow) -> None:
    """Delete a command and its permissions."""
    store.delete(call.tx, [row.id])


def on_guild_deleting(call: Call, signal: GuildDeleting) -> None:
    """Delete the commands of a deleted guild."""
    store.delete_guild_commands(call.tx, signal.guild_id)


def on_activities_toggled(call: Call, signal: ActivitiesToggled) -> None:
    """Create the default entry point command when activities are enabled, if the application has none.

    When activities are disabled, delete the application's entry point command."""
    rows = [
        row
        for row in store.list_scope_commands(call.tx, signal.row.id, GLOBAL_GUILD_ID)
        if row.type == CommandType.PRIMARY_ENTRY_POINT
    ]
    if not signal.row.flags & ApplicationFlags.EMBEDDED:
        store.delete(call.tx, [row.id for row in rows])
    elif not rows and ENTRY_POINT_COMMANDS.is_active(call.now_ms):
        create(call, signal.row, GLOBAL_GUILD_ID, LAUNCH_COMMAND)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Delete the commands of an application that is being deleted."""
    store.delete_application_commands(call.tx, signal.row.id)


def _new_row(
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


def _insert_new(call: Call, row: CommandRow) -> None:
    scope_id = row.application_id if row.guild_id == GLOBAL_GUILD_ID else row.guild_id
    quotas.consume_quota(call, "commands", scope_id, wire.COMMAND_CREATES_LIMIT, user_id=row.application_id)
    store.insert(call.tx, row)


def _update_if_changed(call: Call, row: CommandRow, command: ValidatedCommand, position: int) -> CommandRow:
    changed_row = row._replace(
        name=command.name, position=position, definition=codec.encode(command.definition).decode()
    )
    if changed_row == row:
        return row
    if changed_row != row._replace(position=position):
        changed_row = changed_row._replace(version=call.new_id(Snowflake))
    store.update(call.tx, changed_row)
    return changed_row


# Permissions


def set_permissions(
    call: Call,
    application: ApplicationRow,
    guild_id: int,
    target_id: int,
    entries_before: Sequence[wire.CommandPermission],
    entries_after: list[wire.CommandPermission],
) -> wire.CommandPermissions:
    """Set the permissions of a command in a guild, record changes in the audit log and publish the result to the bot.

    `target_id` is the command, or the application for all its commands. `entries_before` and `entries_after` are the permission
    entries."""
    store.set_permissions(call.tx, guild_id, application.id, target_id, entries_after)
    view = views.permissions(guild_id, application.id, target_id, entries_after)
    audit_changes = _audit_changes(entries_before, entries_after)
    if audit_changes:
        audit.record(
            call,
            guild_id,
            AuditLogAction.APPLICATION_COMMAND_PERMISSION_UPDATE,
            target_id=target_id,
            changes=audit_changes,
            options={"application_id": int(application.id)},
        )
    if application.bot_id is not None:
        audience = GuildAudience(guild_id, users=frozenset({int(application.bot_id)}))
        call.tx.emit(wire.APPLICATION_COMMAND_PERMISSIONS_UPDATE, view, audience)
    return view


def _audit_changes(
    entries_before: Sequence[wire.CommandPermission], entries_after: Sequence[wire.CommandPermission]
) -> list[AuditLogChange]:
    """Return the audit log changes; each key is the ID of the permission's target (spec/http.md#3.11)."""
    old_entries = {(entry.type, entry.id): entry for entry in entries_before}
    new_entries = {(entry.type, entry.id): entry for entry in entries_after}
    changes = []
    for target_key in [*old_entries, *(target_key for target_key in new_entries if target_key not in old_entries)]:
        if old_entries.get(target_key) != new_entries.get(target_key):
            _, target_id = target_key
            change = AuditLogChange(key=str(int(target_id)))
            if target_key in old_entries:
                change.old_value = old_entries[target_key]
            if target_key in new_entries:
                change.new_value = new_entries[target_key]
            changes.append(change)
    return changes
