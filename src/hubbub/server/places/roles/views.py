"""Build the wire models of roles."""

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec
from hubbub.protocol.ids import RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import roles as wire
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.places.roles.store import RoleRow


def role(row: RoleRow, now_ms: int | None) -> wire.Role:
    """Return a role with the fields that exist at `now_ms` (Unix milliseconds); None includes all fields."""
    return wire.Role(
        id=RoleId(row.id),
        name=row.name,
        permissions=Permissions(row.permissions),
        position=row.position,
        color=row.color,
        colors=_colors(row, now_ms),
        hoist=bool(row.hoist),
        icon=row.icon,
        unicode_emoji=row.unicode_emoji,
        managed=bool(row.managed),
        mentionable=bool(row.mentionable),
        flags=row.flags,
        tags=UNSET if row.tags is None else codec.decode(row.tags, wire.RoleTags),
    )


def partial_role(row: RoleRow, now_ms: int) -> wire.PartialRole:
    """Return the partial role that an invite shows at `now_ms` (Unix milliseconds)."""
    return wire.PartialRole(
        id=RoleId(row.id),
        name=row.name,
        position=row.position,
        color=row.color,
        colors=_colors(row, now_ms),
        icon=row.icon,
        unicode_emoji=row.unicode_emoji,
    )


def guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the roles of GUILD_CREATE if they differ from the roles that the gateway caches.

    The gateway caches roles with all fields, so fields that a dated change has yet to add are removed."""
    if changes.ROLE_GRADIENTS.is_active(call.now_ms):
        return {}
    return {
        "roles": [
            msgspec.structs.replace(cached_role, colors=UNSET) for cached_role in view.guild.shared_fields["roles"]
        ]
    }


def _colors(row: RoleRow, now_ms: int | None) -> wire.RoleColors | UnsetType:
    # spec/dated-changes.md#3: before gradients a role had `color` only.
    if now_ms is not None and not changes.ROLE_GRADIENTS.is_active(now_ms):
        return UNSET
    return wire.RoleColors(
        primary_color=row.color, secondary_color=row.secondary_color, tertiary_color=row.tertiary_color
    )
