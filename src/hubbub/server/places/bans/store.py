"""SQL for the bans table."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol.ids import GuildId, UserId
from hubbub.server.core.personal_data import GUILD_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("bans",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="bans.user_id", erasure=Erasure.KEPT, reason=GUILD_RECORD, omission=GUILD_RECORD),
)
"""Columns of these tables that contain IDs of users."""


class BanRow(NamedTuple):
    """A ban from a guild. The banned user may never have been a member."""

    guild_id: GuildId
    user_id: UserId
    reason: str | None
    created_ms: int


COLUMNS = ", ".join(BanRow._fields)


def find(tx: Tx, guild_id: int, user_id: int) -> BanRow | None:
    return tx.find(BanRow, f"SELECT {COLUMNS} FROM bans WHERE guild_id = ? AND user_id = ?", guild_id, user_id)


def find_banned_ids(tx: Tx, guild_id: int, user_ids: Sequence[int]) -> set[int]:
    """Return the IDs of the banned users among `user_ids`. Pass at most a few hundred IDs."""
    if not user_ids:
        return set()
    rows = tx.all(
        f"SELECT user_id FROM bans WHERE guild_id = ? AND user_id IN ({placeholders(user_ids)})", guild_id, *user_ids
    )
    return {row[0] for row in rows}


def list_page(tx: Tx, guild_id: int, *, before: int | None, after: int | None, limit: int) -> list[BanRow]:
    """Return a page of bans by ascending user ID. `before` takes precedence over `after` (spec/http.md#1.10)."""
    select = f"SELECT {COLUMNS} FROM bans WHERE guild_id = ?"
    if before is not None:
        rows = tx.fetch(BanRow, f"{select} AND user_id < ? ORDER BY user_id DESC LIMIT ?", guild_id, before, limit)
        return rows[::-1]
    return tx.fetch(BanRow, f"{select} AND user_id > ? ORDER BY user_id LIMIT ?", guild_id, after or 0, limit)


def insert_many(tx: Tx, rows: Iterable[BanRow]) -> None:
    """Insert bans; existing bans stay unchanged."""
    tx.run_many(f"INSERT INTO bans ({COLUMNS}) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", list(rows))


def delete(tx: Tx, guild_id: int, user_id: int) -> bool:
    """Delete a ban. Return False if there was none."""
    return bool(tx.run("DELETE FROM bans WHERE guild_id = ? AND user_id = ?", guild_id, user_id))


def delete_guild_bans(tx: Tx, guild_id: int) -> None:
    tx.run("DELETE FROM bans WHERE guild_id = ?", guild_id)
