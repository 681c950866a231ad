"""SQL for the relationships table. Each relationship is stored once for each side."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from hubbub.protocol.enums import RelationshipType
from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import OTHER_USER, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("relationships",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="relationships.other_id", erasure=Erasure.DELETED, omission=OTHER_USER),
    PersonalColumn(column="relationships.user_id", erasure=Erasure.DELETED, export="relationships"),
)
"""Columns of these tables that contain IDs of users."""
PLATFORM: Final = 0
"""Family ID of relationships that do not belong to a game."""


class RelationshipRow(NamedTuple):
    """One user's side of a relationship."""

    user_id: int
    family_id: int
    """PLATFORM, or the ID of the head of a game's family."""
    other_id: int
    """ID of the other user."""
    type: int
    """Value of `RelationshipType`."""
    nickname: str | None
    """The user's nickname for the other user, or None."""
    application_id: int | None
    """ID of the application in which the relationship was created, or None."""
    since_ms: int
    """Unix milliseconds at which the relationship got its type."""

    @property
    def is_game(self) -> bool:
        """Whether the relationship belongs to a game."""
        return self.family_id != PLATFORM


_COLUMNS: Final = ", ".join(RelationshipRow._fields)


def find(tx: Tx, user_id: int, other_id: int, family_id: int | None = None) -> RelationshipRow | None:
    """Return a user's side of a relationship, or None. A `family_id` of None means the platform."""
    return tx.find(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? AND family_id = ? AND other_id = ?",
        user_id,
        family_id or PLATFORM,
        other_id,
    )


def list_between(tx: Tx, user_id: int, other_id: int) -> list[RelationshipRow]:
    """Return all relationships between two users: both sides, on the platform and in every game."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE (user_id = ? AND other_id = ?) OR (user_id = ? AND other_id = ?) "
        "ORDER BY family_id, user_id",
        user_id,
        other_id,
        other_id,
        user_id,
    )


def list_user_relationships(
    tx: Tx, user_id: int, family_id: int | None = None, *, type: int | None = None
) -> list[RelationshipRow]:
    """Return a user's sides of relationships, of one type or all. A `family_id` of None means the platform."""
    where, parameters = "user_id = ? AND family_id = ?", [user_id, family_id or PLATFORM]
    if type is not None:
        where += " AND type = ?"
        parameters.append(type)
    return tx.fetch(
        RelationshipRow, f"SELECT {_COLUMNS} FROM relationships WHERE {where} ORDER BY other_id", *parameters
    )


def list_in_games(tx: Tx, user_id: int) -> list[RelationshipRow]:
    """Return a user's sides of relationships in all games."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? AND family_id <> {PLATFORM} ORDER BY family_id, other_id",
        user_id,
    )


def list_from_both_sides(tx: Tx, user_id: int) -> list[RelationshipRow]:
    """Return all relationships of a user, from both sides."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? OR other_id = ? ORDER BY family_id, user_id, other_id",
        user_id,
        user_id,
    )


def are_friends(tx: Tx, user_id: int, other_id: int, *, family_id: int | None = None) -> bool:
    """Return whether two users are friends on the platform. With a `family_id`, friends in games of the family count as well."""
    return (
        tx.value(
            "SELECT 1 FROM relationships WHERE user_id = ? AND other_id = ? AND family_id IN (?, ?) AND type = ?",
            user_id,
            other_id,
            PLATFORM,
            family_id or PLATFORM,
            RelationshipType.FRIEND,
        )
        is not None
    )


def have_mutual_friend(tx: Tx, user_id: int, other_id: int, family_id: int) -> bool:
    """Return whether two users have a mutual friend on the platform or in this family's games."""
    family_ids = (PLATFORM, family_id)
    row = tx.one(
        "SELECT 1 FROM relationships a JOIN relationships b ON b.other_id = a.other_id "
        f"WHERE a.user_id = ? AND a.type = {RelationshipType.FRIEND:d} AND a.family_id IN ({placeholders(family_ids)}) "
        f"AND b.user_id = ? AND b.type = {RelationshipType.FRIEND:d} AND b.family_id IN ({placeholders(family_ids)}) LIMIT 1",
        user_id,
        *family_ids,
        other_id,
        *family_ids,
    )
    return row is not None


def is_blocked_between(tx: Tx, user_id: int, other_id: int) -> bool:
    """Return whether either of two users blocks the other."""
    return bool(filter_blocked(tx, user_id, (other_id,)))


def filter_blocked(tx: Tx, user_id: int, other_ids: Iterable[int]) -> set[int]:
    """Return the IDs of the users in `other_ids` who are blocked by a user or block that user."""
    other_id_list, blocked_ids = list(other_ids), set[int]()
    block_condition = f"family_id = {PLATFORM} AND type = {RelationshipType.BLOCKED:d}"
    for batch in batches(other_id_list):
        batch_condition = f"IN ({placeholders(batch)})"
        rows = tx.all(
            f"SELECT other_id FROM relationships WHERE user_id = ? AND {block_condition} AND other_id {batch_condition} "
            f"UNION SELECT user_id FROM relationships WHERE other_id = ? AND {block_condition} AND user_id {batch_condition}",
            user_id,
            *batch,
            user_id,
            *batch,
        )
        blocked_ids.update(row[0] for row in rows)
    return blocked_ids


def list_blocked_ids(tx: Tx, user_id: int) -> list[int]:
    sql = f"SELECT other_id FROM relationships WHERE user_id = ? AND family_id = {PLATFORM} AND type = ? ORDER BY other_id"
    return [row[0] for row in tx.all(sql, user_id, RelationshipType.BLOCKED)]


def list_blocker_ids(tx: Tx, user_id: int) -> list[int]:
    """Return the IDs of users who block a user."""
    sql = "SELECT user_id FROM relationships WHERE other_id = ? AND type = ? ORDER BY user_id"
    return [row[0] for row in tx.all(sql, user_id, RelationshipType.BLOCKED)]


def list_friend_ids(tx: Tx, user_id: int, family_id: int | None = None) -> list[int]:
    """Return the IDs of a user's friends on the platform and, with a `family_id`, in the games of the family."""
    rows = tx.all(
        "SELECT DISTINCT other_id FROM relationships WHERE user_id = ? AND family_id IN (?, ?) AND type = ? ORDER BY other_id",
        user_id,
        PLATFORM,
        family_id or PLATFORM,
        RelationshipType.FRIEND,
    )
    return [row[0] for row in rows]


def list_friends(tx: Tx, user_id: int) -> list[tuple[int, int]]:
    """Return (family ID, friend's ID) for all friends of a user."""
    sql = "SELECT family_id, other_id FROM relationships WHERE user_id = ? AND type = ? ORDER BY family_id, other_id"
    return [(row[0], row[1]) for row in tx.all(sql, user_id, RelationshipType.FRIEND)]


def list_related_ids_by_family(tx: Tx, user_id: int) -> dict[int, set[int]]:
    """Return the IDs of a user's friends and of users with a pending request, by family ID."""
    types = (RelationshipType.FRIEND, RelationshipType.PENDING_INCOMING, RelationshipType.PENDING_OUTGOING)
    sql = f"SELECT family_id, other_id FROM relationships WHERE user_id = ? AND type IN ({placeholders(types)})"
    ids_by_family: dict[int, set[int]] = {}
    for family_id, other_id in tx.all(sql, user_id, *types):
        ids_by_family.setdefault(family_id, set()).add(other_id)
    return ids_by_family


def count(tx: Tx, user_id: int, types: Collection[int]) -> int:
    """Return the number of a user's platform relationships with the types `types`."""
    relationship_count: int = tx.value(
        f"SELECT COUNT(*) FROM relationships WHERE user_id = ? AND family_id = {PLATFORM} AND type IN ({placeholders(types)})",
        user_id,
        *types,
    )
    return relationship_count


def put(tx: Tx, row: RelationshipRow) -> None:
    """Insert or update one side of a relationship."""
    tx.run(
        f"INSERT INTO relationships ({_COLUMNS}) VALUES ({placeholders(row)}) "
        "ON CONFLICT (user_id, family_id, other_id) DO UPDATE SET "
        "type = excluded.type, nickname = excluded.nickname, application_id = excluded.application_id, "
        "since_ms = excluded.since_ms",
        *row,
    )


def remove(tx: Tx, row: RelationshipRow) -> None:
    """Delete one side of a relationship."""
    tx.run(
        "DELETE FROM relationships WHERE user_id = ? AND family_id = ? AND other_id = ?",
        row.user_id,
        row.family_id,
        row.other_id,
    )


def remove_user(tx: Tx, user_id: int) -> None:
    """Delete all relationships of a user, from both sides."""
    tx.run("DELETE FROM relationships WHERE user_id = ? OR other_id = ?", user_id, user_id)


def list_family(tx: Tx, family_id: int) -> list[RelationshipRow]:
    """Return every relationship in a family's games."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE family_id = ? ORDER BY user_id, other_id",
        family_id,
    )


def remove_family(tx: Tx, family_id: int) -> None:
    """Delete the relationships of a family's games."""
    tx.run("DELETE FROM relationships WHERE family_id = ?", family_id)
