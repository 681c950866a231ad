"""SQL for the guild_tags table."""

from typing import Final, NamedTuple

from hubbub.server.core.store import Tx

TABLES: Final = ("guild_tags",)
"""Tables that only this slice writes."""


class GuildTagRow(NamedTuple):
    """The tag of a guild: a short text that members show beside their name. A guild has at most one."""

    guild_id: int
    tag: str
    badge: str | None
    """The hash of the badge image, or None."""


def find(tx: Tx, guild_id: int) -> GuildTagRow | None:
    return tx.find(GuildTagRow, "SELECT guild_id, tag, badge FROM guild_tags WHERE guild_id = ?", guild_id)


def put(tx: Tx, guild_id: int, row: GuildTagRow | None) -> None:
    """Insert or replace the tag of a guild, or delete it if `row` is None."""
    if row is None:
        tx.run("DELETE FROM guild_tags WHERE guild_id = ?", guild_id)
        return
    tx.run(
        "INSERT INTO guild_tags (guild_id, tag, badge) VALUES (?, ?, ?) "
        "ON CONFLICT (guild_id) DO UPDATE SET tag = excluded.tag, badge = excluded.badge",
        *row,
    )
