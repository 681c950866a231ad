"""HTTP handlers for roles."""

from msgspec import UNSET

from hubbub.protocol import changes, errors
from hubbub.protocol.ids import GuildId, RoleId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import roles as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.places.roles import actions, rules, store, views
from hubbub.server.places.roles.store import RoleRow
from hubbub.server.places.standing import access


@handles(wire.LIST_GUILD_ROLES)
def list_guild_roles(call: Call, guild_id: GuildId) -> list[wire.Role]:
    """List guild roles.

    The lowest role comes first."""
    access.get_guild_standing(call, guild_id)
    return [views.role(row, call.now_ms) for row in store.list_guild_roles(call.tx, guild_id)]


@handles(wire.GET_GUILD_ROLE)
def get_guild_role(call: Call, guild_id: GuildId, role_id: RoleId) -> wire.Role:
    """Get a guild role."""
    if not changes.GET_GUILD_ROLE.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    access.get_guild_standing(call, guild_id)
    return views.role(_require_role(call, guild_id, role_id), call.now_ms)


@handles(wire.GUILD_ROLE_MEMBER_COUNTS)
def guild_role_member_counts(call: Call, guild_id: GuildId) -> dict[RoleId, int]:
    """Get the number of members of each role."""
    if not changes.ROLE_MEMBER_COUNTS.is_active(call.now_ms):
        raise errors.NOT_FOUND()
    access.get_guild_standing(call, guild_id)
    return store.count_members_by_role(call.tx, guild_id)


@handles(wire.CREATE_GUILD_ROLE)
def create_guild_role(call: Call, guild_id: GuildId, body: wire.CreateRole) -> wire.Role:
    """Create a guild role.

    The new role is placed just above @everyone."""
    standing = access.get_guild_standing(call, guild_id)
    everyone_row = _require_role(call, guild_id, guild_id)
    new_row = RoleRow(call.new_id(RoleId), guild_id, wire.DEFAULT_ROLE_NAME, everyone_row.permissions)
    row = _apply_body(call, body, new_row, everyone_row.permissions)
    rules.require_grantable(standing, 0, row.permissions)
    if store.count(call.tx, guild_id) >= wire.ROLES_MAX:
        raise errors.MAX_ROLES()
    return actions.create(call, row)


@handles(wire.UPDATE_GUILD_ROLE)
def update_guild_role(call: Call, guild_id: GuildId, role_id: RoleId, body: wire.UpdateRole) -> wire.Role:
    """Update a guild role.

    The role must be below the caller's highest role, and the caller can only change permissions that they have."""
    standing = access.get_guild_standing(call, guild_id)
    before = _require_role(call, guild_id, role_id)
    rules.require_below(standing, before)
    if before.is_everyone:
        # Only the permissions of @everyone matter: all members have it, and it has no appearance (decisions/0010).
        body = wire.UpdateRole(permissions=body.permissions)
        default_permissions = Permissions.DEFAULT_EVERYONE
    else:
        default_permissions = _require_role(call, guild_id, guild_id).permissions if body.permissions is None else 0
    after = _apply_body(call, body, before, default_permissions)
    rules.require_grantable(standing, before.permissions, after.permissions)
    return actions.update(call, before, after)


@handles(wire.BULK_UPDATE_GUILD_ROLES)
def bulk_update_guild_roles(call: Call, guild_id: GuildId, body: list[wire.MoveRole]) -> list[wire.Role]:
    """Update the positions of guild roles."""
    standing = access.get_guild_standing(call, guild_id)
    everyone_row, *old_rows = store.list_guild_roles(call.tx, guild_id)
    role_ids = {row.id for row in old_rows}
    positions_by_id: dict[int, int] = {}
    for move in body:
        if move.id == everyone_row.id:
            # discord.js sends the whole list, including @everyone at position 0.
            if move.position:
                raise errors.INVALID_ROLE()
        elif move.id not in role_ids:
            raise errors.UNKNOWN_ROLE()
        elif move.position is not UNSET and move.position is not None:
            positions_by_id[move.id] = move.position
    new_rows = rules.reorder(old_rows, positions_by_id) if positions_by_id else old_rows
    rules.require_can_reorder(standing, old_rows, new_rows)
    actions.reorder(call, old_rows, new_rows)
    return [views.role(row, call.now_ms) for row in (everyone_row, *new_rows)]


@handles(wire.DELETE_GUILD_ROLE)
def delete_guild_role(call: Call, guild_id: GuildId, role_id: RoleId) -> None:
    """Delete a guild role."""
    standing = access.get_guild_standing(call, guild_id)
    row = _require_role(call, guild_id, role_id)
    rules.require_deletable(row)
    rules.require_below(standing, row)
    actions.delete(call, row)


def _require_role(call: Call, guild_id: int, role_id: int) -> RoleRow:
    row = store.find(call.tx, guild_id, role_id)
    if row is None:
        raise errors.UNKNOWN_ROLE()
    return row


def _apply_body(call: Call, body: wire.UpdateRole, row: RoleRow, default_permissions: int) -> RoleRow:
    """Return the role with the changes of a body applied.

    Null resets a field to the value of a new role; for permissions that is `default_permissions`."""
    features = store.find_guild_features(call.tx, row.guild_id)
    rules.require_icon_feature(body, features)
    colors = rules.updated_colors(
        body, rules.Colors(row.color, row.secondary_color, row.tertiary_color), features, call.now_ms
    )
    row = row._replace(color=colors.primary, secondary_color=colors.secondary, tertiary_color=colors.tertiary)
    if body.name is not UNSET:
        row = row._replace(name=wire.DEFAULT_ROLE_NAME if body.name is None else rules.clean_name(body.name))
    if body.permissions is not UNSET:
        row = row._replace(
            permissions=default_permissions if body.permissions is None else rules.drop_unknown_bits(body.permissions)
        )
    if body.hoist is not UNSET:
        row = row._replace(hoist=int(body.hoist or False))
    if body.mentionable is not UNSET:
        row = row._replace(mentionable=int(body.mentionable or False))
    if body.icon is not UNSET:
        row = row._replace(icon=body.icon.hash if body.icon else None)
    if body.unicode_emoji is not UNSET:
        row = row._replace(unicode_emoji=body.unicode_emoji or None)
    return row
