"""Making, changing and ending commands, and saying who may use them: write, audit, publish."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.changes import ENTRY_POINT_COMMANDS
from hubbub.protocol.enums import AuditLogAction, CommandHandlerType, CommandType
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import CommandId, Snowflake
from hubbub.protocol.resources import commands as wire
from hubbub.protocol.resources.audit_log import AuditLogChange
from hubbub.server.core import audit, quotas
from hubbub.server.core.call import Call
from hubbub.server.core.dispatches import Audience
from hubbub.server.resources.applications import ActivitiesSwitched, ApplicationDeleting, ApplicationRow
from hubbub.server.resources.commands import definitions, rules, store, views
from hubbub.server.resources.commands.definitions import Made
from hubbub.server.resources.commands.store import EVERYWHERE, CommandRow
from hubbub.server.resources.guilds import GuildDeleted

LAUNCH: Final = wire.CreateCommand(
    name="launch",
    type=CommandType.PRIMARY_ENTRY_POINT,
    handler=CommandHandlerType.PLATFORM_LAUNCH_ACTIVITY,
)
"""What an app gets with its activities (activities.md 2)."""


class Kept(NamedTuple):
    """A command, and whether it is new."""

    row: CommandRow
    new: bool


def create(call: Call, application: ApplicationRow, guild_id: int, body: wire.CreateCommand) -> Kept:
    """Keep a command; one of the same type and name becomes it."""
    form = errors.FormErrors()
    made = definitions.read(body, rules.around(call, application, guild_id), form)
    form.raise_if_any()
    known = store.find_named(call.tx, application.id, guild_id, made.type, made.name)
    if known is not None:
        return Kept(_replace(call, known, made, known.position), False)
    rows = store.list_of(call.tx, application.id, guild_id)
    position = rows[-1].position + 1 if rows else 0
    row = _new(call, application, guild_id, made, position)
    rules.require_room(call, [*rows, row])
    _insert(call, row)
    return Kept(row, True)


def edit(call: Call, application: ApplicationRow, row: CommandRow, body: wire.UpdateCommand) -> CommandRow:
    """Change some of a command."""
    form = errors.FormErrors()
    around = rules.around(call, application, row.guild_id)
    made = definitions.edit(row.type, row.name, store.definition(row), body, around, form)
    form.raise_if_any()
    if made.name != row.name:
        if store.find_named(call.tx, row.application_id, row.guild_id, row.type, made.name) is not None:
            raise errors.COMMAND_NAME_EXISTS()
        store.delete_permissions(call.tx, [row.id])
    return _replace(call, row, made, row.position)


def bulk_set(
    call: Call, application: ApplicationRow, guild_id: int, bodies: Sequence[wire.SetCommand]
) -> list[CommandRow]:
    """Let exactly these be the commands of a scope, in this order. Those of a known id or name keep their ids."""
    form = errors.FormErrors()
    around = rules.around(call, application, guild_id)
    wanted: list[tuple[wire.SetCommand, Made]] = []
    taken: set[tuple[int, str]] = set()
    for index, body in enumerate(bodies):
        made = definitions.read(body, around, form, (index,))
        if (made.type, made.name) in taken:
            form.add((index,), *errors.command_duplicate_name())
        taken.add((made.type, made.name))
        wanted.append((body, made))
    form.raise_if_any()
    before = store.list_of(call.tx, application.id, guild_id)
    by_name = {(row.type, row.name): row for row in before}
    by_id = {row.id: row for row in before}
    meant = _meant(wanted, by_id, by_name)
    after: list[tuple[CommandRow, Made, bool]] = []
    for position, (body, made) in enumerate(wanted):
        named = by_name.get((made.type, made.name))
        known = by_id[body.id] if body.id in meant else None
        if named is not None and named.id not in meant:
            known = named
        if known is None or any(row.id == known.id for row, _, _ in after):
            after.append((_new(call, application, guild_id, made, position), made, True))
        else:
            after.append((known, made, False))
    rules.require_room(call, [row for row, _, _ in after])
    kept = {row.id for row, _, _ in after}
    store.delete(call.tx, [row.id for row in before if row.id not in kept])
    # Deleting or renaming drops who might use it (webhooks-and-interactions.md 5.1).
    renamed = [row for row, made, new in after if not new and row.name != made.name]
    if renamed:
        store.delete_permissions(call.tx, [row.id for row in renamed])
        # They may take each other's names.
        store.take_names(call.tx, [row.id for row in renamed])
    rows = []
    for position, (row, made, new) in enumerate(after):
        if new:
            _insert(call, row)
            rows.append(row)
        else:
            rows.append(_replace(call, row, made, position))
    return rows


def _meant(
    wanted: Sequence[tuple[wire.SetCommand, Made]],
    by_id: Mapping[int, CommandRow],
    by_name: Mapping[tuple[int, str], CommandRow],
) -> set[int]:
    """The commands that are told by their ids: a name that is there already wins over an id that says it is somebody else,
    unless that one gets another name by its own id."""
    told = {
        int(body.id): by_name.get((made.type, made.name))
        for body, made in wanted
        if body.id and body.id in by_id and by_id[body.id].type == made.type
    }
    while lost := {each for each, named in told.items() if named is not None and named.id not in told}:
        for each in lost:
            del told[each]
    return set(told)


def delete(call: Call, row: CommandRow) -> None:
    """End a command."""
    store.delete(call.tx, [row.id])


def guild_deleted(call: Call, fact: GuildDeleted) -> None:
    """A guild goes, and the commands that were only for it."""
    store.delete_of_guild(call.tx, fact.guild_id)


def activities_switched(call: Call, fact: ActivitiesSwitched) -> None:
    """An app with activities can be launched from the first moment; without them there is nothing to launch."""
    rows = [
        row for row in store.list_of(call.tx, fact.row.id, EVERYWHERE) if row.type == CommandType.PRIMARY_ENTRY_POINT
    ]
    if not fact.row.flags & ApplicationFlags.EMBEDDED:
        store.delete(call.tx, [row.id for row in rows])
    elif not rows and ENTRY_POINT_COMMANDS.active(call.now):
        create(call, fact.row, EVERYWHERE, LAUNCH)


def application_deleting(call: Call, fact: ApplicationDeleting) -> None:
    """An application goes with all its commands."""
    store.delete_of_application(call.tx, fact.row.id)


def _new(call: Call, application: ApplicationRow, guild_id: int, made: Made, position: int) -> CommandRow:
    return CommandRow(
        id=call.new_id(CommandId),
        application_id=application.id,
        guild_id=guild_id,
        type=made.type,
        name=made.name,
        version=call.new_id(Snowflake),
        position=position,
        definition=json.encode(made.definition).decode(),
    )


def _insert(call: Call, row: CommandRow) -> None:
    scope = row.application_id if row.guild_id == EVERYWHERE else row.guild_id
    quotas.take(call, "commands", scope, wire.CREATES_LIMIT, user_id=row.application_id)
    store.insert(call.tx, row)


def _replace(call: Call, row: CommandRow, made: Made, position: int) -> CommandRow:
    after = row._replace(name=made.name, position=position, definition=json.encode(made.definition).decode())
    if after == row:
        return row
    if after != row._replace(position=position):
        after = after._replace(version=call.new_id(Snowflake))
    store.update(call.tx, after)
    return after


# Who may use them


def set_permissions(
    call: Call,
    application: ApplicationRow,
    guild_id: int,
    target_id: int,
    before: Sequence[wire.CommandPermission],
    after: list[wire.CommandPermission],
) -> wire.CommandPermissions:
    """Say who may use a command in a guild; the app hears of it."""
    store.set_permissions(call.tx, guild_id, application.id, target_id, after)
    told = views.permissions(guild_id, application.id, target_id, after)
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
        to = Audience.guild(guild_id, users=frozenset({int(application.bot_id)}))
        call.tx.emit(wire.APPLICATION_COMMAND_PERMISSIONS_UPDATE, told, to)
    return told


def _changes(before: Sequence[wire.CommandPermission], after: Sequence[wire.CommandPermission]) -> list[AuditLogChange]:
    """http.md 3.11: the key of each is the id of whom or what it is about."""
    old = {(entry.type, entry.id): entry for entry in before}
    new = {(entry.type, entry.id): entry for entry in after}
    found = []
    for key in [*old, *(each for each in new if each not in old)]:
        if old.get(key) != new.get(key):
            change = AuditLogChange(key=str(int(key[1])))
            if key in old:
                change.old_value = old[key]
            if key in new:
                change.new_value = new[key]
            found.append(change)
    return found
