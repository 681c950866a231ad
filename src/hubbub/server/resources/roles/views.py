"""A role as members see it, and as an invite shows it."""

from msgspec import UNSET

from hubbub.protocol import wire as json
from hubbub.protocol.ids import RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import roles as wire
from hubbub.server.resources.roles.store import RoleRow


def role(row: RoleRow) -> wire.Role:
    """A role."""
    return wire.Role(
        id=RoleId(row.id),
        name=row.name,
        permissions=Permissions(row.permissions),
        position=row.position,
        color=row.color,
        colors=_colors(row),
        hoist=bool(row.hoist),
        icon=row.icon,
        unicode_emoji=row.unicode_emoji,
        managed=bool(row.managed),
        mentionable=bool(row.mentionable),
        flags=row.flags,
        tags=UNSET if row.tags is None else json.decode(row.tags, wire.RoleTags),
    )


def partial_role(row: RoleRow) -> wire.PartialRole:
    """The little of a role that an invite tells."""
    return wire.PartialRole(
        id=RoleId(row.id),
        name=row.name,
        position=row.position,
        color=row.color,
        colors=_colors(row),
        icon=row.icon,
        unicode_emoji=row.unicode_emoji,
    )


def _colors(row: RoleRow) -> wire.RoleColors:
    return wire.RoleColors(
        primary_color=row.color, secondary_color=row.secondary_color, tertiary_color=row.tertiary_color
    )
