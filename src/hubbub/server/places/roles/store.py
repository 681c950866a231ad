"""SQL for the roles table, and for reading and deleting the assignments of roles in the member_roles table."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from hubbub.protocol import codec
from hubbub.protocol.ids import RoleId
from hubbub.protocol.permissions import Rank, base_permissions
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("roles",)
"""Tables that only this slice writes."""
READS: Final = {
    "guilds": "features that allow role icons and gradients",
}
"""Tables of other slices that this slice reads, with the reason."""


class RoleRow(NamedTuple):
    """A role of a guild. The @everyone role has the ID of the guild."""

    id: int
    guild_id: int
    name: str
    permissions: int
    position: int = 1
    color: int = 0
    secondary_color: int | None = None
    tertiary_color: int | None = None
    hoist: int = 0
    icon: str | None = None
    unicode_emoji: str | None = None
    managed: int = 0
    mentionable: int = 0
    flags: int = 0
    tags: str | None = None
    """JSON of `RoleTags`, or None."""

    @property
    def rank(self) -> Rank:
        """Position and ID, which determine the place of the role in the role hierarchy."""
        return self.position, self.id

    @property
    def is_everyone(self) -> bool:
        """Whether this is the @everyone role, which all members have."""
        return self.id == self.guild_id


COLUMNS = ", ".join(RoleRow._fields)


def find(tx: Tx, guild_id: int, role_id: int) -> RoleRow | None:
    return tx.find(RoleRow, f"SELECT {COLUMNS} FROM roles WHERE id = ? AND guild_id = ?", role_id, guild_id)


def find_many(tx: Tx, guild_id: int, role_ids: Iterable[int]) -> dict[int, RoleRow]:
    """Return the roles among `role_ids` that exist in the guild, by ID."""
    distinct_ids = list(dict.fromkeys(role_ids))
    if not distinct_ids:
        return {}
    rows = tx.fetch(
        RoleRow,
        f"SELECT {COLUMNS} FROM roles WHERE id IN ({placeholders(distinct_ids)}) AND guild_id = ?",
        *distinct_ids,
        guild_id,
    )
    return {row.id: row for row in rows}


def list_guild_roles(tx: Tx, guild_id: int) -> list[RoleRow]:
    """Return a guild's roles from lowest (@everyone) to highest."""
    rows = tx.fetch(RoleRow, f"SELECT {COLUMNS} FROM roles WHERE guild_id = ?", guild_id)
    # Among equal positions the lower ID ranks higher (spec/http.md#2.3).
    return sorted(rows, key=lambda row: (row.position, -row.id))


def count(tx: Tx, guild_id: int) -> int:
    """Return the number of roles of a guild without @everyone."""
    return int(tx.value("SELECT COUNT(*) FROM roles WHERE guild_id = ? AND id <> ?", guild_id, guild_id))


def insert(tx: Tx, row: RoleRow) -> None:
    tx.run(f"INSERT INTO roles ({COLUMNS}) VALUES ({placeholders(row)})", *row)


def insert_many(tx: Tx, rows: Sequence[RoleRow]) -> None:
    tx.run_many(f"INSERT INTO roles ({COLUMNS}) VALUES ({placeholders(RoleRow._fields)})", rows)


def update(tx: Tx, row: RoleRow) -> None:
    fields = RoleRow._fields[2:]
    assignments = ", ".join(f"{field} = ?" for field in fields)
    tx.run(f"UPDATE roles SET {assignments} WHERE id = ?", *row[2:], row.id)


def set_positions(tx: Tx, rows: Sequence[RoleRow]) -> None:
    tx.run_many("UPDATE roles SET position = ? WHERE id = ?", [(row.position, row.id) for row in rows])


def delete(tx: Tx, row: RoleRow) -> None:
    """Delete a role and its member assignments."""
    tx.run("DELETE FROM member_roles WHERE role_id = ?", row.id)
    tx.run("DELETE FROM roles WHERE id = ?", row.id)


def delete_guild_roles(tx: Tx, guild_id: int) -> None:
    """Delete the roles of a guild and their assignments to members."""
    tx.run("DELETE FROM member_roles WHERE guild_id = ?", guild_id)
    tx.run("DELETE FROM roles WHERE guild_id = ?", guild_id)


def count_members_by_role(tx: Tx, guild_id: int) -> dict[RoleId, int]:
    """Return the number of members of each role of a guild, without @everyone."""
    rows = tx.all(
        "SELECT r.id, COUNT(mr.user_id) FROM roles r LEFT JOIN member_roles mr ON mr.role_id = r.id "
        "WHERE r.guild_id = ? AND r.id <> ? GROUP BY r.id ORDER BY r.id",
        guild_id,
        guild_id,
    )
    return {RoleId(role_id): member_count for role_id, member_count in rows}


def find_guild_features(tx: Tx, guild_id: int) -> frozenset[str]:
    features_json = tx.value("SELECT features FROM guilds WHERE id = ?", guild_id)
    return frozenset(codec.decode(features_json or "[]", list[str]))


def find_permissions(tx: Tx, user_id: int, guild_owner_pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return a member's permission bits in each guild, by guild ID; `guild_owner_pairs` are pairs of guild ID and owner ID."""
    owner_ids_by_guild = dict(guild_owner_pairs)
    if not owner_ids_by_guild:
        return {}
    guild_ids = list(owner_ids_by_guild)
    role_permissions_by_guild: dict[int, list[int]] = {guild_id: [] for guild_id in guild_ids}
    for guild_id, permissions in tx.all(
        "SELECT mr.guild_id, r.permissions FROM member_roles mr JOIN roles r ON r.id = mr.role_id "
        f"WHERE mr.guild_id IN ({placeholders(guild_ids)}) AND mr.user_id = ? "
        f"UNION ALL SELECT id, permissions FROM roles WHERE id IN ({placeholders(guild_ids)})",
        *guild_ids,
        user_id,
        *guild_ids,
    ):
        role_permissions_by_guild[guild_id].append(permissions)
    return {
        guild_id: base_permissions(owner_ids_by_guild[guild_id] == user_id, 0, role_permissions_by_guild[guild_id])
        for guild_id in guild_ids
    }
