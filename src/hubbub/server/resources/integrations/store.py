"""Which applications have their bot in a guild."""

from hubbub.server.core.store import Tx


def applications_of_guild(tx: Tx, guild_id: int, limit: int) -> list[int]:
    """The applications whose bots are in a guild, the first to come first."""
    rows = tx.all(
        "SELECT a.id FROM applications a JOIN members m ON m.user_id = a.bot_id WHERE m.guild_id = ? "
        "ORDER BY m.joined_ms, a.id LIMIT ?",
        guild_id,
        limit,
    )
    return [row[0] for row in rows]
