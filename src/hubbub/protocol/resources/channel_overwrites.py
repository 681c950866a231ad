"""Permission overwrites of channels: grants and denials for a role or a member in one channel."""

from msgspec import UNSET, Struct, UnsetType

from hubbub.protocol.enums import OverwriteType
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.permissions import Permissions


class Overwrite(Struct, kw_only=True):
    """Permissions of a role or a member in one channel, which override the permissions of the member's roles."""

    id: Snowflake
    """ID of the role or the user."""
    type: int
    """Type of the overwrite: 0 role, 1 member."""
    allow: Permissions
    """Permissions granted in the channel."""
    deny: Permissions
    """Permissions denied in the channel."""


class OverwriteRequest(Struct, kw_only=True):
    """A permission overwrite in the body of a channel request."""

    id: Snowflake
    """ID of the role or the user."""
    type: OverwriteType | None | UnsetType = UNSET
    """Type of the overwrite: 0 role, 1 member; if absent or null, determined from the ID."""
    allow: Permissions | None | UnsetType = UNSET
    """Permissions to grant; none if absent or null."""
    deny: Permissions | None | UnsetType = UNSET
    """Permissions to deny; none if absent or null."""


class SetChannelPermissionOverwrite(Struct, kw_only=True):
    """Request body for creating or replacing a permission overwrite."""

    type: OverwriteType | None | UnsetType = UNSET
    """Type of the overwrite: 0 role, 1 member; if absent or null, determined from the ID."""
    allow: Permissions | None | UnsetType = UNSET
    """Permissions to grant; none if absent or null."""
    deny: Permissions | None | UnsetType = UNSET
    """Permissions to deny; none if absent or null."""
