"""Roles: named sets of permissions that are assigned to members."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, IntegrationId, RoleId, Snowflake, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import COLOR_MAX, Int32
from hubbub.protocol.operation import Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels

ROLES_MAX = 250
"""Maximum number of roles per guild."""
ROLE_NAME_MAX = 100
ROLE_UNICODE_EMOJI_MAX = 100
DEFAULT_ROLE_NAME = "new role"
HOLOGRAPHIC_COLORS = (11127295, 16759788, 16761760)
"""Primary, secondary and tertiary RGB colors of the holographic style, which a role has if its third color is set."""

ROLE_CREATE_LIMIT = RateLimit(250, 48 * 3600.0, per="guild_id")

Color = Annotated[int, Meta(ge=0, le=COLOR_MAX)]
RoleName = Annotated[str, Meta(min_length=1, max_length=ROLE_NAME_MAX)]


class RoleColors(Struct, kw_only=True):
    """The colors of a role: one color, a gradient of two, or the holographic three.

    Client libraries require all three keys.
    """

    primary_color: int
    """Primary color as an RGB number."""
    secondary_color: int | None
    """Second color of a gradient as an RGB number; null for a single color."""
    tertiary_color: int | None
    """Third color of the holographic style as an RGB number; null otherwise."""


class RoleTags(Struct, kw_only=True):
    """The origin of a managed role and the mark of a linked role; IDs that do not apply are absent.

    Fields of type null are true if present and false if absent.
    """

    bot_id: UserId | UnsetType = UNSET
    """ID of the bot that the role belongs to."""
    integration_id: IntegrationId | UnsetType = UNSET
    """ID of the integration that the role belongs to."""
    premium_subscriber: None | UnsetType = UNSET
    """Present if this is the role of members who boost the guild."""
    subscription_listing_id: Snowflake | UnsetType = UNSET
    """ID of the SKU and listing of the role subscription."""
    available_for_purchase: None | UnsetType = UNSET
    """Present if the role can be purchased."""
    guild_connections: None | UnsetType = UNSET
    """Present if the role is a linked role."""


class PartialRole(Struct, kw_only=True):
    """A role in the form shown in invites, without permissions and settings."""

    id: RoleId
    """ID of the role."""
    name: str
    """Name of the role."""
    position: int
    """Position of the role in the hierarchy; higher numbers are above lower ones."""
    color: int
    """Deprecated in favor of `colors`: primary color as an RGB number, 0 if there is none."""
    colors: RoleColors | UnsetType = UNSET
    """Colors of the role; absent before 2 July 2025 (changes.ROLE_GRADIENTS)."""
    icon: str | None
    """Hash of the icon; null if there is none."""
    unicode_emoji: str | None
    """Unicode emoji shown as the icon; null if there is none."""


class Role(PartialRole, kw_only=True):
    """A role of a guild.

    The @everyone role has the ID of the guild.
    """

    permissions: Permissions
    """Permissions granted by the role."""
    permissions_new: Permissions | UnsetType = UNSET
    """Copy of `permissions`; only in the response of the token endpoint, and in API versions 6 and 7."""
    hoist: bool
    """Whether members with the role are listed separately."""
    managed: bool
    """Whether an integration manages the role; users cannot assign or delete a managed role."""
    mentionable: bool
    """Whether every member can mention the role."""
    flags: int
    """Flags of the role; a `RoleFlags` bit set."""
    tags: RoleTags | UnsetType = UNSET
    """Origin of a managed role, or the mark of a linked role; absent for other roles."""


class SetRoleColors(Struct, kw_only=True):
    """The colors of a role; the second and third require the feature ENHANCED_ROLE_COLORS."""

    primary_color: Color
    """Primary color as an RGB number."""
    secondary_color: Color | None | UnsetType = UNSET
    """Second color of a gradient as an RGB number; null or absent for a single color."""
    tertiary_color: Color | None | UnsetType = UNSET
    """Third color as an RGB number; any value selects the holographic style, whose colors are fixed."""


class UpdateRole(Struct, kw_only=True):
    """Changes to a role; absent fields keep their value, and null resets a field to its value in a new role."""

    name: RoleName | None | UnsetType = UNSET
    """Name of the role."""
    permissions: Permissions | None | UnsetType = UNSET
    """Permissions granted by the role; only permissions that the caller has can be granted."""
    color: Color | None | UnsetType = UNSET
    """Deprecated in favor of `colors`, which takes precedence: primary color as an RGB number."""
    colors: SetRoleColors | None | UnsetType = UNSET
    """Colors of the role."""
    hoist: bool | None | UnsetType = UNSET
    """Whether members with the role are listed separately."""
    mentionable: bool | None | UnsetType = UNSET
    """Whether every member can mention the role."""
    icon: ImageData | None | UnsetType = UNSET
    """Icon as a data URI, null to remove it; requires the guild feature ROLE_ICONS."""
    unicode_emoji: Annotated[str, Meta(max_length=ROLE_UNICODE_EMOJI_MAX)] | None | UnsetType = UNSET
    """Unicode emoji shown as the icon, null to remove it; requires the guild feature ROLE_ICONS."""


class CreateRole(UpdateRole, kw_only=True):
    """A new role; absent fields take their default."""


class MoveRole(Struct, kw_only=True):
    """The new position of a role."""

    id: RoleId
    """ID of the role."""
    position: Int32 | None | UnsetType = UNSET
    """New position of the role; null or absent keeps it."""


class GuildRole(Struct, kw_only=True):
    """A role that was created or changed."""

    guild_id: GuildId
    """ID of the guild."""
    role: Role
    """Role that was created or changed."""


class GuildRoleDeleted(Struct, kw_only=True):
    """A role that was deleted."""

    guild_id: GuildId
    """ID of the guild."""
    role_id: RoleId
    """ID of the role."""


GUILD_ROLE_CREATE = Event("GUILD_ROLE_CREATE", GuildRole, "Sent when a role is created.", intents=Intents.GUILDS)
GUILD_ROLE_UPDATE = Event("GUILD_ROLE_UPDATE", GuildRole, "Sent when a role changes.", intents=Intents.GUILDS)
GUILD_ROLE_DELETE = Event("GUILD_ROLE_DELETE", GuildRoleDeleted, "Sent when a role is deleted.", intents=Intents.GUILDS)

LIST_GUILD_ROLES = Operation(
    "GET", "/guilds/{guild_id}/roles", result=list[Role], raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS)
)

CREATE_GUILD_ROLE = Operation(
    "POST",
    "/guilds/{guild_id}/roles",
    body=CreateRole,
    result=Role,
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.MISSING_PERMISSIONS,
        errors.MAX_ROLES,
        errors.MORE_BOOSTS_NEEDED,
    ),
    emits=(GUILD_ROLE_CREATE,),
    limit=ROLE_CREATE_LIMIT,
    optional_body=True,
    audits=(AuditLogAction.ROLE_CREATE,),
)

BULK_UPDATE_GUILD_ROLES = Operation(
    "PATCH",
    "/guilds/{guild_id}/roles",
    body=list[MoveRole],
    result=list[Role],
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_ROLE,
        errors.MISSING_PERMISSIONS,
        errors.INVALID_ROLE,
    ),
    emits=(GUILD_ROLE_UPDATE,),
    audits=(AuditLogAction.ROLE_UPDATE,),
)

GUILD_ROLE_MEMBER_COUNTS = Operation(
    "GET",
    "/guilds/{guild_id}/roles/member-counts",
    result=dict[RoleId, int],
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.NOT_FOUND),
)

GET_GUILD_ROLE = Operation(
    "GET",
    "/guilds/{guild_id}/roles/{role_id}",
    result=Role,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.UNKNOWN_ROLE, errors.NOT_FOUND),
)

UPDATE_GUILD_ROLE = Operation(
    "PATCH",
    "/guilds/{guild_id}/roles/{role_id}",
    body=UpdateRole,
    result=Role,
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_ROLE,
        errors.MISSING_PERMISSIONS,
        errors.MORE_BOOSTS_NEEDED,
    ),
    emits=(GUILD_ROLE_UPDATE,),
    audits=(AuditLogAction.ROLE_UPDATE,),
)

# Deleting a role also deletes its overwrites, with a CHANNEL_UPDATE for each channel that had one.
DELETE_GUILD_ROLE = Operation(
    "DELETE",
    "/guilds/{guild_id}/roles/{role_id}",
    needs=Permissions.MANAGE_ROLES,
    raises=(
        errors.UNKNOWN_GUILD,
        errors.MISSING_ACCESS,
        errors.UNKNOWN_ROLE,
        errors.INVALID_ROLE,
        errors.MISSING_PERMISSIONS,
    ),
    emits=(GUILD_ROLE_DELETE, channels.CHANNEL_UPDATE),
    audits=(AuditLogAction.ROLE_DELETE,),
)
