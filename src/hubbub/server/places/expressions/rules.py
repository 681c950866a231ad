"""Rules that emojis, stickers and sounds of a guild share: permissions and slots."""

from typing import Any

from hubbub.protocol import changes
from hubbub.protocol.errors import ErrorCode
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions import store
from hubbub.server.places.expressions.kinds import ExpressionKind
from hubbub.server.places.expressions.store import RowT
from hubbub.server.places.standing import GuildAccess, access

CREATE_PERMISSION = Permissions.CREATE_GUILD_EXPRESSIONS
MANAGE_PERMISSION = Permissions.MANAGE_GUILD_EXPRESSIONS


def require_can_create(call: Call, guild_id: GuildId) -> GuildAccess:
    """Require a caller who may create expressions, and return their access to the guild (spec/http.md#2.4).

    Before `changes.PERMISSION_SPLITS`, MANAGE_GUILD_EXPRESSIONS was also sufficient."""
    standing = access.get_guild_standing(call, guild_id)
    if changes.PERMISSION_SPLITS.is_active(call.now_ms) or _can_create(call, standing):
        return access.require_guild(call, guild_id, CREATE_PERMISSION)
    return access.require_guild(call, guild_id, MANAGE_PERMISSION)


def require_expression(call: Call, kind: ExpressionKind[RowT, Any], guild_id: GuildId, expression_id: int) -> RowT:
    """Return an expression of a guild that the caller is a member of, or raise an error."""
    access.get_guild_standing(call, guild_id)
    row = kind.table.find(call.tx, expression_id)
    if row is None or row.guild_id != guild_id:
        raise kind.unknown_error()
    return row


def require_changeable(call: Call, kind: ExpressionKind[RowT, Any], guild_id: GuildId, expression_id: int) -> RowT:
    """Return an expression that the caller may change, or raise an error.

    CREATE_GUILD_EXPRESSIONS is enough for the caller's own expressions; others require MANAGE_GUILD_EXPRESSIONS."""
    row = require_expression(call, kind, guild_id, expression_id)
    if row.user_id != call.user_id or not _can_create(call, access.get_guild_standing(call, guild_id)):
        access.require_guild(call, guild_id, MANAGE_PERMISSION)
    return row


def can_see_creators(call: Call, standing: GuildAccess) -> bool:
    """Return whether a member sees the creators of expressions (spec/http.md#3.8)."""
    return _can_create(call, standing) or standing.can(MANAGE_PERMISSION)


def _can_create(call: Call, standing: GuildAccess) -> bool:
    # Until 20 November 2025 CREATE_GUILD_EXPRESSIONS had no effect for bots (spec/dated-changes.md#3).
    is_effective = not call.actor.is_bot or changes.CREATE_PERMISSIONS_FOR_BOTS.is_active(call.now_ms)
    return is_effective and standing.can(CREATE_PERMISSION)


def require_free_slot(
    tx: Tx, kind: ExpressionKind[Any, Any], guild_id: GuildId, no_slot_error: ErrorCode, **column_values: int
) -> None:
    """Raise `no_slot_error` if the expressions of a guild take all slots of its premium tier and features.

    `column_values` restricts the count to expressions with the given column values."""
    guild = store.read_guild_limit_factors(tx, guild_id)
    slots_max = kind.slots_max_by_tier[min(guild.premium_tier, len(kind.slots_max_by_tier) - 1)]
    if kind.more_slots_feature in guild.features:
        slots_max = max(slots_max, kind.more_slots_max)
    if kind.table.count_by(tx, guild_id=guild_id, **column_values) >= slots_max:
        raise no_slot_error()
