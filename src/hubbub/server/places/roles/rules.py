"""Permission and validity checks for roles, and changes of their colors and order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.permissions import Permissions, can_grant
from hubbub.protocol.resources import roles as wire
from hubbub.server.core.denials import Denial, PermissionDenied
from hubbub.server.places.roles.store import RoleRow
from hubbub.server.places.standing import GuildAccess


class Colors(NamedTuple):
    """The three colors of a role, as RGB numbers; None for a color that the role does not have."""

    primary: int
    secondary: int | None = None
    tertiary: int | None = None


def require_below(standing: GuildAccess, row: RoleRow) -> None:
    """Raise MISSING_PERMISSIONS unless the role is below the caller's highest role (spec/http.md#2.3)."""
    if not standing.outranks_role(row.rank):
        raise PermissionDenied(Denial(guild_id=standing.guild_id, role_id=row.id, action="change"))


def require_grantable(standing: GuildAccess, old_permissions: int, new_permissions: int) -> None:
    """Raise MISSING_PERMISSIONS unless the caller has every permission that differs between the old and the new permissions."""
    changed_bits = old_permissions ^ new_permissions
    if not can_grant(standing.allowed, changed_bits):
        raise PermissionDenied(
            Denial(
                guild_id=standing.guild_id,
                missing_permissions=(changed_bits & ~standing.allowed,),
                is_restricted=standing.is_read_only,
                action="change such permissions of a role",
            )
        )


def require_deletable(row: RoleRow) -> None:
    """Raise INVALID_ROLE for roles that users cannot delete: @everyone and managed roles."""
    if row.is_everyone or row.managed:
        raise errors.INVALID_ROLE()


def clean_name(name: str) -> str:
    """Return a role name without surrounding white space, or raise an error if nothing remains."""
    stripped_name = name.strip()
    if not stripped_name:
        raise errors.invalid("name", *errors.bad_length(1, wire.ROLE_NAME_MAX))
    return stripped_name


def require_icon_feature(body: wire.UpdateRole, features: frozenset[str]) -> None:
    """Raise MORE_BOOSTS_NEEDED if the body sets an icon and the guild lacks the feature."""
    if (body.icon or body.unicode_emoji) and GuildFeature.ROLE_ICONS not in features:
        raise errors.MORE_BOOSTS_NEEDED()


def drop_unknown_bits(permissions: int) -> int:
    """Return the permissions without unknown bits, which a later version might define."""
    return permissions & Permissions.ALL


def updated_colors(body: wire.UpdateRole, current_colors: Colors, features: frozenset[str], now_ms: int) -> Colors:
    """Return the colors of a role after a request.

    `current_colors` are its current colors, `features` the guild's features, and `now_ms` is in Unix milliseconds. In the body
    `colors` takes precedence over `color`; either may be absent. A tertiary color selects the holographic colors. Raise a
    form error if the guild cannot use several colors."""
    requested_colors = body.colors if changes.ROLE_GRADIENTS.is_active(now_ms) else UNSET
    if requested_colors is None or (requested_colors is UNSET and body.color is None):
        return Colors(0)
    if requested_colors is UNSET:
        # The old field holds a single color, so changing it ends a gradient.
        return (
            current_colors if body.color is UNSET or body.color == current_colors.primary else Colors(body.color or 0)
        )
    secondary = requested_colors.secondary_color if requested_colors.secondary_color is not UNSET else None
    tertiary = requested_colors.tertiary_color if requested_colors.tertiary_color is not UNSET else None
    if GuildFeature.ENHANCED_ROLE_COLORS not in features:
        form = errors.FormErrors()
        for field, color in (("secondary_color", secondary), ("tertiary_color", tertiary)):
            if color is not None:
                form.add(("colors", field), "ROLE_COLORS_NOT_ENABLED", "This server cannot use enhanced role colors.")
        form.raise_if_any()
    if tertiary is not None:
        return Colors(*wire.HOLOGRAPHIC_COLORS)
    return Colors(requested_colors.primary_color, secondary)


def reorder(rows: Sequence[RoleRow], positions_by_id: Mapping[int, int]) -> list[RoleRow]:
    """Return the roles in their new order: moved roles at the positions in `positions_by_id`, other roles in the gaps.

    `rows` are sorted from lowest to highest, without @everyone. `positions_by_id` maps role IDs to positions, which start
    at 1. A position that occurs twice or is beyond the end becomes the nearest position that keeps the requested order."""
    moved_rows = sorted((row for row in rows if row.id in positions_by_id), key=lambda row: positions_by_id[row.id])
    positions: list[int] = []
    for row in moved_rows:
        positions.append(max(positions_by_id[row.id], positions[-1] + 1 if positions else 1))
    position_max = len(rows)
    for index in range(len(positions) - 1, -1, -1):
        positions[index] = min(positions[index], position_max)
        position_max = positions[index] - 1
    moved_by_position = dict(zip(positions, moved_rows, strict=True))
    other_rows = (row for row in rows if row.id not in positions_by_id)
    return [
        (moved_by_position[position] if position in moved_by_position else next(other_rows))._replace(position=position)
        for position in range(1, len(rows) + 1)
    ]


def require_can_reorder(standing: GuildAccess, old_rows: Sequence[RoleRow], new_rows: Sequence[RoleRow]) -> None:
    """Raise MISSING_PERMISSIONS if the order of roles at or above the caller's highest role would change."""
    protected_ids = [row.id for row in old_rows if not standing.outranks_role(row.rank)]
    if not protected_ids:
        return
    for protected_id, new_row in zip(reversed(protected_ids), reversed(new_rows), strict=False):
        if new_row.id != protected_id:
            raise PermissionDenied(Denial(guild_id=standing.guild_id, role_id=protected_id, action="move"))
