"""Rows of guild tags."""

from typing import NamedTuple

from hubbub.server.core.store import Tx


class GuildTagRow(NamedTuple):
    """A guild's tag."""

    guild_id: int
    tag: str
    badge: str | None


def find(tx: Tx, guild_id: int) -> GuildTagRow | None:
    """A guild's tag, or None."""
    return tx.find(GuildTagRow, "SELECT guild_id, tag, badge FROM guild_tags WHERE guild_id = ?", guild_id)


def put(tx: Tx, row: GuildTagRow | None, guild_id: int) -> None:
    """Keep a guild's tag, or that it has none."""
    if row is None:
        tx.run("DELETE FROM guild_tags WHERE guild_id = ?", guild_id)
        return
    tx.run(
        "INSERT INTO guild_tags (guild_id, tag, badge) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET tag = excluded.tag, badge = excluded.badge",
        *row,
    )
