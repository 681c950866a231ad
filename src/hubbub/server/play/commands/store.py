"""SQL for the commands and command_permissions tables."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.commands import COMMAND_NAME_MAX, CommandOption, CommandPermission
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "command_permissions",
    "commands",
)
"""Tables that only this slice writes."""


GLOBAL_GUILD_ID: Final = 0
"""The `guild_id` of a global command."""


class Definition(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The fields of a command that have no column of their own.

    Stored as JSON: add fields with a default, never rename."""

    description: str = ""
    name_localizations: dict[str, str] | None = None
    description_localizations: dict[str, str] | None = None
    options: list[CommandOption] = []
    default_member_permissions: Permissions | None = None
    contexts: list[int] | None = None
    """InteractionContextTypes; None for the contexts that follow from the integration types."""
    integration_types: list[int] = []
    """Values of `ApplicationIntegrationType`."""
    nsfw: bool = False
    handler: int | None = None
    """CommandHandlerType of an entry point command; None for other commands."""


class CommandRow(NamedTuple):
    """A global or guild command of an application."""

    id: int
    application_id: int
    guild_id: int
    """The command's guild, or GLOBAL_GUILD_ID."""
    type: int
    """Value of `CommandType`."""
    name: str
    version: int
    """A snowflake that changes with the command's content."""
    position: int
    """Position in the list of the scope's commands."""
    definition: str
    """The Definition as JSON."""

    @property
    def scope(self) -> GuildId | None:
        """The command's guild, or None if it is global."""
        return None if self.guild_id == GLOBAL_GUILD_ID else GuildId(self.guild_id)


COLUMNS: Final = ", ".join(CommandRow._fields)
_definition_decoder: Final = codec.decoder(Definition)
_permissions_decoder: Final = codec.decoder(list[CommandPermission])


def decode_definition(row: CommandRow) -> Definition:
    definition: Definition = _definition_decoder.decode(row.definition)
    return definition


@lru_cache(maxsize=1024)
def cached_definition(definition_json: str) -> Definition:
    """Return the definition encoded in `definition_json` from a cache; callers must not change it.

    The cache pays off because commands run far more often than they change."""
    definition: Definition = _definition_decoder.decode(definition_json)
    return definition


def find(tx: Tx, command_id: int) -> CommandRow | None:
    """Return a command, or None if it does not exist."""
    return tx.find(CommandRow, f"SELECT {COLUMNS} FROM commands WHERE id = ?", command_id)


def find_by_name(tx: Tx, application_id: int, guild_id: int, command_type: int, name: str) -> CommandRow | None:
    """Return the command with a type and name in a scope, or None."""
    return tx.find(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id = ? AND guild_id = ? AND type = ? AND name = ?",
        application_id,
        guild_id,
        command_type,
        name,
    )


def find_many(tx: Tx, command_ids: Iterable[int]) -> list[CommandRow]:
    """List the commands with the IDs `command_ids` that exist, by ascending ID."""
    unique_ids = list(dict.fromkeys(command_ids))
    if not unique_ids:
        return []
    return tx.fetch(
        CommandRow, f"SELECT {COLUMNS} FROM commands WHERE id IN ({placeholders(unique_ids)}) ORDER BY id", *unique_ids
    )


def list_scope_commands(tx: Tx, application_id: int, guild_id: int) -> list[CommandRow]:
    """List the commands of a scope by position; `guild_id` is GLOBAL_GUILD_ID for global commands."""
    return tx.fetch(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id = ? AND guild_id = ? ORDER BY position, id",
        application_id,
        guild_id,
    )


def count_application_commands(tx: Tx, application_id: int) -> int:
    """Return the number of commands of an application in all scopes."""
    return int(tx.value("SELECT COUNT(*) FROM commands WHERE application_id = ?", application_id))


def count_guild_commands(tx: Tx, application_id: int, limit: int) -> dict[int, int]:
    """Return the number of an application's commands of each guild that has any, by guild ID, for at most `limit` guilds."""
    rows = tx.all(
        "SELECT guild_id, COUNT(*) FROM commands WHERE application_id = ? AND guild_id <> ? "
        "GROUP BY guild_id ORDER BY guild_id LIMIT ?",
        application_id,
        GLOBAL_GUILD_ID,
        limit,
    )
    return {row[0]: row[1] for row in rows}


def list_available(tx: Tx, application_ids: Sequence[int], guild_id: int | None) -> list[CommandRow]:
    """List the global commands of applications and, if `guild_id` is not None, their commands in a guild.

    The list is ordered by application, guild and position."""
    if not application_ids:
        return []
    return tx.fetch(
        CommandRow,
        f"SELECT {COLUMNS} FROM commands WHERE application_id IN ({placeholders(application_ids)}) AND guild_id IN (?, ?)"
        " ORDER BY application_id, guild_id, position, id",
        *application_ids,
        GLOBAL_GUILD_ID,
        guild_id or GLOBAL_GUILD_ID,
    )


def insert(tx: Tx, row: CommandRow) -> None:
    tx.run(f"INSERT INTO commands ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def update(tx: Tx, row: CommandRow) -> None:
    tx.run(
        "UPDATE commands SET name = ?, version = ?, position = ?, definition = ? WHERE id = ?",
        row.name,
        row.version,
        row.position,
        row.definition,
        row.id,
    )


def set_temporary_names(tx: Tx, command_ids: Sequence[int]) -> None:
    """Give commands temporary names that cannot collide, because they are longer than the limit."""
    prefix = "x" * COMMAND_NAME_MAX
    tx.run(
        f"UPDATE commands SET name = '{prefix}' || CAST(id AS TEXT) WHERE id IN ({placeholders(command_ids)})",
        *command_ids,
    )


def delete(tx: Tx, command_ids: Iterable[int]) -> None:
    """Delete commands and their permissions."""
    listed_ids = list(command_ids)
    if listed_ids:
        tx.run(f"DELETE FROM commands WHERE id IN ({placeholders(listed_ids)})", *listed_ids)
        delete_permissions(tx, listed_ids)


def delete_guild_commands(tx: Tx, guild_id: int) -> None:
    """Delete the commands and permissions of a guild."""
    tx.run("DELETE FROM commands WHERE guild_id = ? AND guild_id <> ?", guild_id, GLOBAL_GUILD_ID)
    tx.run("DELETE FROM command_permissions WHERE guild_id = ?", guild_id)


def delete_application_commands(tx: Tx, application_id: int) -> None:
    """Delete the commands and permissions of an application."""
    tx.run("DELETE FROM commands WHERE application_id = ?", application_id)
    tx.run("DELETE FROM command_permissions WHERE application_id = ?", application_id)


# Permissions


def list_application_permissions(tx: Tx, guild_id: int, application_id: int) -> dict[int, list[CommandPermission]]:
    """Return the permissions of an application's commands in a guild, by command or application ID."""
    rows = tx.all(
        "SELECT target_id, permissions FROM command_permissions WHERE guild_id = ? AND application_id = ? "
        "ORDER BY target_id",
        guild_id,
        application_id,
    )
    return {target_id: _permissions_decoder.decode(entries_json) for target_id, entries_json in rows}


def list_guild_permissions(tx: Tx, guild_id: int) -> dict[int, list[CommandPermission]]:
    """Return the permissions of all commands in a guild, by command or application ID."""
    rows = tx.all("SELECT target_id, permissions FROM command_permissions WHERE guild_id = ?", guild_id)
    return {target_id: _permissions_decoder.decode(entries_json) for target_id, entries_json in rows}


def set_permissions(
    tx: Tx, guild_id: int, application_id: int, target_id: int, permissions: list[CommandPermission]
) -> None:
    """Replace the permissions of a command or an application in a guild. An empty list deletes the row."""
    if not permissions:
        tx.run("DELETE FROM command_permissions WHERE guild_id = ? AND target_id = ?", guild_id, target_id)
        return
    tx.run(
        "INSERT INTO command_permissions (guild_id, application_id, target_id, permissions) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (guild_id, application_id, target_id) DO UPDATE SET permissions = excluded.permissions",
        guild_id,
        application_id,
        target_id,
        codec.encode(permissions).decode(),
    )


def delete_permissions(tx: Tx, target_ids: list[int]) -> None:
    """Delete the permissions of commands in all guilds."""
    tx.run(f"DELETE FROM command_permissions WHERE target_id IN ({placeholders(target_ids)})", *target_ids)
