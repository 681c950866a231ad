"""Roles: named sets of permissions that members wear."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.enums import AuditLogAction
from hubbub.protocol.ids import GuildId, IntegrationId, RoleId, Snowflake, UserId
from hubbub.protocol.images import ImageData
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Event, Operation, RateLimit
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import channels

ROLES_MAX = 250
ROLE_NAME_MAX = 100
ROLE_UNICODE_EMOJI_MAX = 100
DEFAULT_ROLE_NAME = "new role"
COLOR_MAX = 0xFFFFFF
HOLOGRAPHIC_COLORS = (11127295, 16759788, 16761760)
"""A third colour means the holographic style, whose three colours are fixed."""

ROLE_CREATE_LIMIT = RateLimit(250, 48 * 3600.0, per="guild_id")

Color = Annotated[int, Meta(ge=0, le=COLOR_MAX)]
RoleName = Annotated[str, Meta(min_length=1, max_length=ROLE_NAME_MAX)]


class RoleColors(Struct, kw_only=True):
    """One colour, a gradient of two, or the holographic three; libraries need all three keys."""

    primary_color: int
    secondary_color: int | None
    tertiary_color: int | None


class RoleTags(Struct, kw_only=True):
    """What a role belongs to. The null ones are true by being there."""

    bot_id: UserId | UnsetType = UNSET
    integration_id: IntegrationId | UnsetType = UNSET
    premium_subscriber: None | UnsetType = UNSET
    subscription_listing_id: Snowflake | UnsetType = UNSET
    available_for_purchase: None | UnsetType = UNSET
    guild_connections: None | UnsetType = UNSET


class PartialRole(Struct, kw_only=True):
    """A role as an invite shows it: exactly these keys."""

    id: RoleId
    name: str
    position: int
    color: int
    colors: RoleColors | UnsetType = UNSET
    """From role_gradients on."""
    icon: str | None
    unicode_emoji: str | None


class Role(PartialRole, kw_only=True):
    """A role of a guild. The one that everybody has bears the guild's id."""

    permissions: Permissions
    hoist: bool
    """That its members are listed apart."""
    managed: bool
    """That an integration keeps it; nobody else gives or deletes it."""
    mentionable: bool
    flags: int
    tags: RoleTags | UnsetType = UNSET


class SetRoleColors(Struct, kw_only=True):
    """A role's colours; the second and third need ENHANCED_ROLE_COLORS."""

    primary_color: Color
    secondary_color: Color | None | UnsetType = UNSET
    tertiary_color: Color | None | UnsetType = UNSET


class UpdateRole(Struct, kw_only=True):
    """What a role may be made of."""

    name: RoleName | None | UnsetType = UNSET
    permissions: Permissions | None | UnsetType = UNSET
    color: Color | None | UnsetType = UNSET
    """The first of `colors`, which wins where both are sent."""
    colors: SetRoleColors | None | UnsetType = UNSET
    hoist: bool | None | UnsetType = UNSET
    mentionable: bool | None | UnsetType = UNSET
    icon: ImageData | None | UnsetType = UNSET
    """A data URI of the picture."""
    unicode_emoji: Annotated[str, Meta(max_length=ROLE_UNICODE_EMOJI_MAX)] | None | UnsetType = UNSET


class CreateRole(UpdateRole, kw_only=True):
    """A new role; what is left out takes its default."""


class MoveRole(Struct, kw_only=True):
    """One role's new place."""

    id: RoleId
    position: Int32 | None | UnsetType = UNSET


class GuildRole(Struct, kw_only=True):
    """A role that was made or changed."""

    guild_id: GuildId
    role: Role


class GuildRoleDeleted(Struct, kw_only=True):
    """A role that is gone."""

    guild_id: GuildId
    role_id: RoleId


GUILD_ROLE_CREATE = Event("GUILD_ROLE_CREATE", GuildRole, intents=Intents.GUILDS)
GUILD_ROLE_UPDATE = Event("GUILD_ROLE_UPDATE", GuildRole, intents=Intents.GUILDS)
GUILD_ROLE_DELETE = Event("GUILD_ROLE_DELETE", GuildRoleDeleted, intents=Intents.GUILDS)

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

# Overwrites for the role vanish too, with a CHANNEL_UPDATE for each channel that had one.
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
