"""Rows of what users are to each other, kept once from each side."""

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from hubbub.protocol.enums import RelationshipType
from hubbub.server.core.store import Tx, places

PLATFORM: Final = 0
"""The family of relationships that no game owns."""
AT_ONCE: Final = 500
"""Ids in one query."""
CONVERSATIONS: Final = 200
"""Of somebody's newest conversations so many are told of a new name."""


class RelationshipRow(NamedTuple):
    """What one user is to another, from the first one's side."""

    user_id: int
    family_id: int
    """PLATFORM, or the head of a game's family."""
    other_id: int
    type: int
    nickname: str | None
    """How the user calls the other."""
    application_id: int | None
    """The game it was made in."""
    since_ms: int

    @property
    def is_game(self) -> bool:
        """Whether it counts in a game only."""
        return self.family_id != PLATFORM


_COLUMNS: Final = ", ".join(RelationshipRow._fields)


def find(tx: Tx, user_id: int, other_id: int, family_id: int | None = None) -> RelationshipRow | None:
    """What somebody is to a user on the platform, or in a game's family; None where nothing."""
    return tx.find(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? AND family_id = ? AND other_id = ?",
        user_id,
        family_id or PLATFORM,
        other_id,
    )


def between(tx: Tx, one: int, other: int) -> list[RelationshipRow]:
    """Everything two users are to each other: both sides, on the platform and in every game."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE (user_id = ? AND other_id = ?) OR (user_id = ? AND other_id = ?) "
        "ORDER BY family_id, user_id",
        one,
        other,
        other,
        one,
    )


def list_of(tx: Tx, user_id: int, family_id: int | None = None, *, type: int | None = None) -> list[RelationshipRow]:
    """A user's relationships on the platform, or in a game's family."""
    where, parameters = "user_id = ? AND family_id = ?", [user_id, family_id or PLATFORM]
    if type is not None:
        where += " AND type = ?"
        parameters.append(type)
    return tx.fetch(
        RelationshipRow, f"SELECT {_COLUMNS} FROM relationships WHERE {where} ORDER BY other_id", *parameters
    )


def list_in_games(tx: Tx, user_id: int) -> list[RelationshipRow]:
    """A user's relationships in all games."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? AND family_id <> 0 ORDER BY family_id, other_id",
        user_id,
    )


def list_all(tx: Tx, user_id: int) -> list[RelationshipRow]:
    """Everything that others are to a user, and the user to others."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE user_id = ? OR other_id = ? ORDER BY family_id, user_id, other_id",
        user_id,
        user_id,
    )


def are_friends(tx: Tx, one: int, other: int, *, family_id: int | None = None) -> bool:
    """Whether two users are friends: on the platform, or in this family's games."""
    return (
        tx.value(
            "SELECT 1 FROM relationships WHERE user_id = ? AND other_id = ? AND family_id IN (?, ?) AND type = ?",
            one,
            other,
            PLATFORM,
            family_id or PLATFORM,
            RelationshipType.FRIEND,
        )
        is not None
    )


def have_a_friend_in_common(tx: Tx, one: int, other: int, family_id: int) -> bool:
    """Whether somebody is a friend of two users: on the platform, or in this family's games."""
    families = (PLATFORM, family_id)
    found = tx.value(
        "SELECT 1 FROM relationships a JOIN relationships b ON b.other_id = a.other_id "
        f"WHERE a.user_id = ? AND a.type = 1 AND a.family_id IN ({places(families)}) "
        f"AND b.user_id = ? AND b.type = 1 AND b.family_id IN ({places(families)}) LIMIT 1",
        one,
        *families,
        other,
        *families,
    )
    return found is not None


def share_a_guild(tx: Tx, one: int, other: int) -> bool:
    """Whether two users are in some guild together."""
    sql = "SELECT 1 FROM members a JOIN members b ON b.guild_id = a.guild_id WHERE a.user_id = ? AND b.user_id = ? LIMIT 1"
    return tx.value(sql, one, other) is not None


def is_blocked_between(tx: Tx, one: int, other: int) -> bool:
    """Whether either of two users blocks the other."""
    return bool(blocks_among(tx, one, (other,)))


def blocks_among(tx: Tx, user_id: int, others: Iterable[int]) -> set[int]:
    """Those of these whom the user blocks, or who block the user."""
    wanted, found = list(others), set[int]()
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        within = f"IN ({places(some)})"
        rows = tx.all(
            f"SELECT other_id FROM relationships WHERE user_id = ? AND family_id = 0 AND type = 2 AND other_id {within} "
            f"UNION SELECT user_id FROM relationships WHERE other_id = ? AND family_id = 0 AND type = 2 AND user_id {within}",
            user_id,
            *some,
            user_id,
            *some,
        )
        found.update(row[0] for row in rows)
    return found


def blocked_by(tx: Tx, user_id: int) -> list[int]:
    """Those who block a user."""
    sql = "SELECT user_id FROM relationships WHERE other_id = ? AND type = ? ORDER BY user_id"
    return [row[0] for row in tx.all(sql, user_id, RelationshipType.BLOCKED)]


def friend_ids(tx: Tx, user_id: int, family_id: int | None = None) -> list[int]:
    """A user's friends on the platform, and where a family is named those in its games too."""
    rows = tx.all(
        "SELECT DISTINCT other_id FROM relationships WHERE user_id = ? AND family_id IN (?, ?) AND type = ? ORDER BY other_id",
        user_id,
        PLATFORM,
        family_id or PLATFORM,
        RelationshipType.FRIEND,
    )
    return [row[0] for row in rows]


def friends(tx: Tx, user_id: int) -> list[tuple[int, int]]:
    """All friends of a user, each with the family: PLATFORM or a game's."""
    sql = "SELECT family_id, other_id FROM relationships WHERE user_id = ? AND type = ? ORDER BY family_id, other_id"
    return [(row[0], row[1]) for row in tx.all(sql, user_id, RelationshipType.FRIEND)]


def acquaintances(tx: Tx, user_id: int) -> dict[int, set[int]]:
    """A user's friends and those with whom a request is open, by the family: PLATFORM or a game's."""
    types = (RelationshipType.FRIEND, RelationshipType.PENDING_INCOMING, RelationshipType.PENDING_OUTGOING)
    sql = f"SELECT family_id, other_id FROM relationships WHERE user_id = ? AND type IN ({places(types)})"
    found: dict[int, set[int]] = {}
    for family_id, other_id in tx.all(sql, user_id, *types):
        found.setdefault(family_id, set()).add(other_id)
    return found


def correspondents(tx: Tx, user_id: int) -> set[int]:
    """The people who have a conversation with a user in their list, of the user's newest ones."""
    rows = tx.all(
        "SELECT o.user_id FROM recipients o JOIN users u ON u.id = o.user_id WHERE o.channel_id IN "
        "(SELECT channel_id FROM recipients WHERE user_id = ? ORDER BY channel_id DESC LIMIT ?) "
        "AND o.user_id <> ? AND o.hidden = 0 AND u.bot = 0",
        user_id,
        CONVERSATIONS,
        user_id,
    )
    return {row[0] for row in rows}


def count(tx: Tx, user_id: int, types: Collection[int]) -> int:
    """How many relationships of these kinds a user has on the platform."""
    counted: int = tx.value(
        f"SELECT COUNT(*) FROM relationships WHERE user_id = ? AND family_id = 0 AND type IN ({places(types)})",
        user_id,
        *types,
    )
    return counted


def put(tx: Tx, row: RelationshipRow) -> None:
    """Keep what somebody is to a user from now on."""
    tx.run(
        f"INSERT INTO relationships ({_COLUMNS}) VALUES ({places(row)}) ON CONFLICT (user_id, family_id, other_id) DO UPDATE SET "
        "type = excluded.type, nickname = excluded.nickname, application_id = excluded.application_id, "
        "since_ms = excluded.since_ms",
        *row,
    )


def remove(tx: Tx, row: RelationshipRow) -> None:
    """Forget one side of a relationship."""
    tx.run(
        "DELETE FROM relationships WHERE user_id = ? AND family_id = ? AND other_id = ?",
        row.user_id,
        row.family_id,
        row.other_id,
    )


def remove_user(tx: Tx, user_id: int) -> None:
    """Forget everything a user is to others, and others to them."""
    tx.run("DELETE FROM relationships WHERE user_id = ? OR other_id = ?", user_id, user_id)


def list_family(tx: Tx, family_id: int) -> list[RelationshipRow]:
    """Every relationship in a family's games."""
    return tx.fetch(
        RelationshipRow,
        f"SELECT {_COLUMNS} FROM relationships WHERE family_id = ? ORDER BY user_id, other_id",
        family_id,
    )


def remove_family(tx: Tx, family_id: int) -> None:
    """Forget the relationships of a family's games."""
    tx.run("DELETE FROM relationships WHERE family_id = ?", family_id)
