"""Who may change which role, and what a role may be."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.enums import GuildFeature
from hubbub.protocol.permissions import Permissions, can_grant
from hubbub.protocol.resources import roles as wire
from hubbub.server.core.access import GuildAccess
from hubbub.server.resources.roles.store import RoleRow


class Colors(NamedTuple):
    """A role's three colours."""

    primary: int
    secondary: int | None = None
    tertiary: int | None = None


def require_below(access: GuildAccess, row: RoleRow) -> None:
    """Raise unless the role stands below the actor's highest (http.md 2.3)."""
    if not access.above(row.rank):
        raise errors.MISSING_PERMISSIONS()


def require_grantable(access: GuildAccess, before: int, after: int) -> None:
    """Raise unless the actor holds every bit that changes."""
    if not can_grant(access.allowed, before ^ after):
        raise errors.MISSING_PERMISSIONS()


def require_deletable(row: RoleRow) -> None:
    """Raise for a role that nobody deletes by hand: @everyone, and those that an integration keeps."""
    if row.is_everyone or row.managed:
        raise errors.INVALID_ROLE()


def clean_name(name: str) -> str:
    """A role's name without the white space around it, which is no name by itself."""
    cleaned = name.strip()
    if not cleaned:
        raise errors.invalid("name", *errors.bad_length(1, wire.ROLE_NAME_MAX))
    return cleaned


def require_icons(body: wire.UpdateRole, features: frozenset[str]) -> None:
    """Raise unless the guild may give its roles an icon, where one is asked for."""
    if (body.icon or body.unicode_emoji) and GuildFeature.ROLE_ICONS not in features:
        raise errors.MORE_BOOSTS_NEEDED()


def known_bits(permissions: int) -> int:
    """The bits that mean something: one that we do not know yet must not come to life with a later version."""
    return permissions & Permissions.ALL


def colors(body: wire.UpdateRole, before: Colors, features: frozenset[str], now: int) -> Colors:
    """The colours a request leads to; `colors` wins over `color`, and either may be absent."""
    wanted = body.colors if changes.ROLE_GRADIENTS.active(now) else UNSET
    if wanted is None or (wanted is UNSET and body.color is None):
        return Colors(0)
    if wanted is UNSET:
        # The old field knows one colour only, so that it ends a gradient when it changes it.
        return before if body.color is UNSET or body.color == before.primary else Colors(body.color or 0)
    secondary = wanted.secondary_color if wanted.secondary_color is not UNSET else None
    tertiary = wanted.tertiary_color if wanted.tertiary_color is not UNSET else None
    if GuildFeature.ENHANCED_ROLE_COLORS not in features:
        form = errors.FormErrors()
        for key, value in (("secondary_color", secondary), ("tertiary_color", tertiary)):
            if value is not None:
                form.add(("colors", key), "ROLE_COLORS_NOT_ENABLED", "This server cannot use enhanced role colors.")
        form.raise_if_any()
    if tertiary is not None:
        return Colors(*wire.HOLOGRAPHIC_COLORS)
    return Colors(wanted.primary_color, secondary)


def reordered(rows: Sequence[RoleRow], wanted: Mapping[int, int]) -> list[RoleRow]:
    """The roles (lowest first, without @everyone) with some put where they are wanted and the others closing up around them.

    Positions count from 1. What is wanted twice, or beyond the end, goes to the nearest place that keeps the wanted order.
    """
    moved = sorted((row for row in rows if row.id in wanted), key=lambda row: wanted[row.id])
    places: list[int] = []
    for row in moved:
        places.append(max(wanted[row.id], places[-1] + 1 if places else 1))
    limit = len(rows)
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], limit)
        limit = places[index] - 1
    taken = dict(zip(places, moved, strict=True))
    others = (row for row in rows if row.id not in wanted)
    return [
        (taken[place] if place in taken else next(others))._replace(position=place) for place in range(1, len(rows) + 1)
    ]


def require_reorder(access: GuildAccess, before: Sequence[RoleRow], after: Sequence[RoleRow]) -> None:
    """Raise when a role at or above the actor's highest would stand elsewhere, or get company from below."""
    untouchable = [row.id for row in before if not access.above(row.rank)]
    if untouchable and [row.id for row in after[-len(untouchable) :]] != untouchable:
        raise errors.MISSING_PERMISSIONS()
