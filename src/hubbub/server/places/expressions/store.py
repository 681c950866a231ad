"""SQL for the guild columns that limit expressions."""

from typing import NamedTuple

from hubbub.protocol import codec
from hubbub.server.core.store import Tx


class ExpressionLimits(NamedTuple):
    """The boost tier and features of a guild."""

    premium_tier: int
    features: frozenset[str]


def expression_limits(tx: Tx, guild_id: int) -> ExpressionLimits:
    """Return the boost tier and features of a guild."""
    row = tx.one("SELECT premium_tier, features FROM guilds WHERE id = ?", guild_id)
    if row is None:
        return ExpressionLimits(0, frozenset())
    return ExpressionLimits(row[0], frozenset(codec.decode(row[1], list[str])))
