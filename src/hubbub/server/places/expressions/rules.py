"""Rules for creating and changing expressions, and their limits."""

from collections.abc import Sequence

from hubbub.protocol import changes
from hubbub.protocol.ids import GuildId
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.places.expressions import store
from hubbub.server.places.standing import GuildAccess, access

CREATE = Permissions.CREATE_GUILD_EXPRESSIONS
MANAGE = Permissions.MANAGE_GUILD_EXPRESSIONS


def require_create(call: Call, guild_id: GuildId) -> GuildAccess:
    """Require a caller who may create expressions (spec/http.md#2.4). Before the split, managers may, too."""
    standing = access.guild(call, guild_id)
    if changes.PERMISSION_SPLITS.is_active(call.now) or _may_create(call, standing):
        return access.require_guild(call, guild_id, CREATE)
    return access.require_guild(call, guild_id, MANAGE)


def require_change(call: Call, guild_id: int, creator_id: int) -> None:
    """Require a caller who may change an expression: their own with CREATE, others' only with MANAGE."""
    standing = access.guild(call, guild_id)
    if creator_id != call.user_id or not _may_create(call, standing):
        access.require_guild(call, guild_id, MANAGE)


def can_see_creators(call: Call, standing: GuildAccess) -> bool:
    """Return whether a member sees the creators of expressions (spec/http.md#3.8)."""
    return _may_create(call, standing) or standing.can(MANAGE)


def _may_create(call: Call, standing: GuildAccess) -> bool:
    # spec/dated-changes.md#3: until 20 November 2025 CREATE_GUILD_EXPRESSIONS had no effect for bots.
    usable = not call.actor.is_bot or changes.CREATE_PERMISSIONS_FOR_BOTS.is_active(call.now)
    return usable and standing.can(CREATE)


def slots(tx: Tx, guild_id: int, by_tier: Sequence[int], feature: str, minimum: int) -> int:
    """Return the number of expressions a guild may have: by its tier, and at least `more` with the feature."""
    guild = store.expression_limits(tx, guild_id)
    limit = by_tier[min(guild.premium_tier, len(by_tier) - 1)]
    return max(limit, minimum) if feature in guild.features else limit
