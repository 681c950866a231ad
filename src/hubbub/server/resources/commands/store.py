"""Rows of commands and of who may use them."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from hubbub.protocol import wire as json
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import COMMAND_NAME_MAX, CommandOption, CommandPermission
from hubbub.server.core.store import Tx, places

EVERYWHERE: Final = 0
"""The guild of a global command."""


class Definition(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All of a command that is not looked for. Stored as JSON: add fields with a default, never rename."""

    description: str = ""
    name_localizations: dict[str, str] | None = None
    description_localizations: dict[str, str] | None = None
    options: list[CommandOption] = []
    default_member_permissions: Permissions | None = None
    contexts: list[int] | None = None
    integration_types: list[int] = []
    nsfw: bool = False
    handler: int | None = None


class CommandRow(NamedTuple):
    """A command as we keep it."""

    id: int
    application_id: int
    guild_id: int
    type: int
    name: str
    version: int
    position: int
    """Where it stands in lists."""
    definition: str

    @property
    def scope(self) -> GuildId | None:
        """Its guild, or None of a global one."""
        return None if self.guild_id == EVERYWHERE else GuildId(self.guild_id)


COLUMNS: Final = ", ".join(CommandRow._fields)
_definition: Final = json.decoder(Definition)
_permissions: Final = json.decoder(list[CommandPermission])


def definition(row: CommandRow) -> Definition:
    """All that a command says."""
    found: Definition = _definition.decode(row.definition)
    return found


@lru_cache(maxsize=1024)
def known_definition(text: str) -> Definition:
    """The same, for those who only read it: a command is run much more often than it is changed."""
    found: Definition = _definition.decode(text)
    return found


def find(tx: Tx, command_id: int) -> CommandRow | None:
    """A command, or None."""
    return tx.find(CommandRow, f"SELECT {COLUMNS} FROM commands WHERE id = ?", command_id)


PERMITTED_COLUMNS: Final = f"{', '.join(f'k.{name}' for name in CommandRow._fields)}, kp.permissions, ka.permissions"
"""What `read_permitted` reads, where the command is joined by `join_permitted`."""
PERMITTED_WIDTH: Final = len(CommandRow._fields) + 2


def join_permitted(guild_id: str) -> str:
    """What joins the command of an id, and what is said of it and of its application in a guild, to another query."""
    return (
        "LEFT JOIN commands k ON k.id = ? "
        f"LEFT JOIN command_permissions kp ON kp.guild_id = {guild_id} AND kp.application_id = k.application_id "
        f"AND kp.target_id = k.id LEFT JOIN command_permissions ka ON ka.guild_id = {guild_id} "
        "AND ka.application_id = k.application_id AND ka.target_id = k.application_id"
    )


class Permitted(NamedTuple):
    """A command, and what is said in a guild of it and of its application, by their ids."""

    row: CommandRow
    entries: dict[int, list[CommandPermission]]


def read_permitted(row: Sequence[Any]) -> Permitted | None:
    """The command that was joined, or None where there is none."""
    if row[0] is None:
        return None
    found = CommandRow._make(row[:-2])
    entries = {}
    for target, kept in ((found.id, row[-2]), (found.application_id, row[-1])):
        if kept is not None:
            entries[target] = _permissions.decode(kept)
    return Permitted(found, entries)


def find_named(tx: Tx, application_id: int, guild_id: int, kind: int, name: str) -> CommandRow | None:
    """The command of a name in a scope, or None."""
    return tx.find(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id = ? AND guild_id = ? AND type = ? AND name = ?",
        application_id,
        guild_id,
        kind,
        name,
    )


def find_many(tx: Tx, command_ids: Iterable[int]) -> list[CommandRow]:
    """The commands there are of these."""
    wanted = list(dict.fromkeys(command_ids))
    if not wanted:
        return []
    return tx.fetch(CommandRow, f"SELECT {COLUMNS} FROM commands WHERE id IN ({places(wanted)}) ORDER BY id", *wanted)


def list_of(tx: Tx, application_id: int, guild_id: int) -> list[CommandRow]:
    """The commands of a scope, in their order."""
    return tx.fetch(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id = ? AND guild_id = ? ORDER BY position, id",
        application_id,
        guild_id,
    )


def list_offered(tx: Tx, application_ids: Sequence[int], guild_id: int | None) -> list[CommandRow]:
    """What applications offer everywhere, and in a guild if one is named, in their order."""
    if not application_ids:
        return []
    return tx.fetch(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id IN ({places(application_ids)}) AND guild_id IN (?, ?)"
        " ORDER BY application_id, guild_id, position, id",
        *application_ids,
        EVERYWHERE,
        guild_id or EVERYWHERE,
    )


def insert(tx: Tx, row: CommandRow) -> None:
    """Keep a new command."""
    tx.run(f"INSERT INTO commands ({COLUMNS}) VALUES ({places(row)})", *row)


def update(tx: Tx, row: CommandRow) -> None:
    """Keep what changed of a command."""
    tx.run(
        "UPDATE commands SET name = ?, version = ?, position = ?, definition = ? WHERE id = ?",
        row.name,
        row.version,
        row.position,
        row.definition,
        row.id,
    )


def take_names(tx: Tx, ids: Sequence[int]) -> None:
    """Let commands that are about to be renamed have names that no other can want: longer than any may be."""
    spare = "x" * COMMAND_NAME_MAX
    tx.run(f"UPDATE commands SET name = '{spare}' || CAST(id AS TEXT) WHERE id IN ({places(ids)})", *ids)


def delete(tx: Tx, command_ids: Iterable[int]) -> None:
    """Remove commands, and who might use them."""
    wanted = list(command_ids)
    if wanted:
        tx.run(f"DELETE FROM commands WHERE id IN ({places(wanted)})", *wanted)
        delete_permissions(tx, wanted)


def delete_of_guild(tx: Tx, guild_id: int) -> None:
    """Remove all that concerns a guild that goes."""
    tx.run("DELETE FROM commands WHERE guild_id = ? AND guild_id <> 0", guild_id)
    tx.run("DELETE FROM command_permissions WHERE guild_id = ?", guild_id)


def delete_of_application(tx: Tx, application_id: int) -> None:
    """Remove all commands of an application that goes."""
    tx.run("DELETE FROM commands WHERE application_id = ?", application_id)
    tx.run("DELETE FROM command_permissions WHERE application_id = ?", application_id)


# Permissions


def permissions_of(tx: Tx, guild_id: int, application_id: int) -> dict[int, list[CommandPermission]]:
    """Everything that is said in a guild of an application's commands, by command or application id."""
    rows = tx.all(
        "SELECT target_id, permissions FROM command_permissions WHERE guild_id = ? AND application_id = ? "
        "ORDER BY target_id",
        guild_id,
        application_id,
    )
    return {target: _permissions.decode(kept) for target, kept in rows}


def permissions_in(tx: Tx, guild_id: int) -> dict[int, list[CommandPermission]]:
    """Everything that is said in a guild of anybody's commands, by command or application id."""
    rows = tx.all("SELECT target_id, permissions FROM command_permissions WHERE guild_id = ?", guild_id)
    return {target: _permissions.decode(kept) for target, kept in rows}


def set_permissions(
    tx: Tx, guild_id: int, application_id: int, target_id: int, permissions: list[CommandPermission]
) -> None:
    """Keep who may use a command in a guild; nobody in particular leaves no trace."""
    if not permissions:
        tx.run("DELETE FROM command_permissions WHERE guild_id = ? AND target_id = ?", guild_id, target_id)
        return
    tx.run(
        "INSERT INTO command_permissions (guild_id, application_id, target_id, permissions) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (guild_id, application_id, target_id) DO UPDATE SET permissions = excluded.permissions",
        guild_id,
        application_id,
        target_id,
        json.encode(permissions).decode(),
    )


def delete_permissions(tx: Tx, target_ids: list[int]) -> None:
    """Forget who might use commands."""
    tx.run(f"DELETE FROM command_permissions WHERE target_id IN ({places(target_ids)})", *target_ids)
