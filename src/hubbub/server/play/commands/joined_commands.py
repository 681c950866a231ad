"""Commands with their permissions, for queries of other slices that join them."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.resources.commands import CommandPermission
from hubbub.server.play.commands.store import CommandRow

__all__ = [
    "COMMAND_WITH_PERMISSIONS_COLUMNS",
    "COMMAND_WITH_PERMISSIONS_COLUMN_COUNT",
    "CommandWithPermissions",
    "command_with_permissions_joins",
    "read_command_with_permissions",
]
"""The interface for other slices."""

_permissions_decoder: Final = codec.decoder(list[CommandPermission])

COMMAND_WITH_PERMISSIONS_COLUMNS: Final = (
    f"{', '.join(f'k.{name}' for name in CommandRow._fields)}, kp.permissions, ka.permissions"
)
"""Columns that `read_command_with_permissions` reads from a query with `command_with_permissions_joins`."""
COMMAND_WITH_PERMISSIONS_COLUMN_COUNT: Final = len(CommandRow._fields) + 2
"""Number of columns in COMMAND_WITH_PERMISSIONS_COLUMNS."""


def command_with_permissions_joins(guild_id: str) -> str:
    """Return the SQL joins of a command by ID, with its permissions and its application's permissions in a guild.

    `guild_id` is an SQL expression. The joins have one parameter, the command ID."""
    return (
        "LEFT JOIN commands k ON k.id = ? "
        f"LEFT JOIN command_permissions kp ON kp.guild_id = {guild_id} AND kp.application_id = k.application_id "
        f"AND kp.target_id = k.id LEFT JOIN command_permissions ka ON ka.guild_id = {guild_id} "
        "AND ka.application_id = k.application_id AND ka.target_id = k.application_id"
    )


class CommandWithPermissions(NamedTuple):
    """A command with the permission entries that apply to it in a guild."""

    row: CommandRow
    entries_by_target: dict[int, list[CommandPermission]]
    """Permission entries of the command and of its application, by command or application ID."""


def read_command_with_permissions(columns: Sequence[Any]) -> CommandWithPermissions | None:
    """Build a command from the columns COMMAND_WITH_PERMISSIONS_COLUMNS of a query; return None if the command does not exist."""
    if columns[0] is None:
        return None
    command = CommandRow._make(columns[:-2])
    entries_by_target = {}
    for target_id, entries_json in ((command.id, columns[-2]), (command.application_id, columns[-1])):
        if entries_json is not None:
            entries_by_target[target_id] = _permissions_decoder.decode(entries_json)
    return CommandWithPermissions(command, entries_by_target)
