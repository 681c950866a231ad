"""Commands with their permissions, for queries of other slices that join them."""

from hubbub.server.play.commands.store import (
    COMMAND_WITH_PERMISSIONS_COLUMNS,
    COMMAND_WITH_PERMISSIONS_WIDTH,
    CommandWithPermissions,
    command_with_permissions_joins,
    read_command_with_permissions,
)

__all__ = [
    "COMMAND_WITH_PERMISSIONS_COLUMNS",
    "COMMAND_WITH_PERMISSIONS_WIDTH",
    "CommandWithPermissions",
    "command_with_permissions_joins",
    "read_command_with_permissions",
]
