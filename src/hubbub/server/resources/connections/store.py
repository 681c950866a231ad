"""Rows of connections."""

from typing import Final, NamedTuple

from hubbub.server.core.store import Tx, places

NEW: Final = "new"
LEGACY: Final = "legacy"


class ConnectionRow(NamedTuple):
    """An account elsewhere, as we keep it."""

    user_id: int
    type: str
    id: str
    name: str | None = None
    verified: int = 0
    friend_sync: int = 0
    show_activity: int = 0
    two_way_link: int = 0
    visibility: int = 0
    revoked: int = 0
    publisher_scheme: str = LEGACY
    """Under which scheme of its publisher it was made; it matters to the types of some publishers only."""
    created_ms: int = 0


COLUMNS: Final = ", ".join(ConnectionRow._fields)
_KEY: Final = "user_id = ? AND type = ? AND id = ?"
_CHANGING: Final = ", ".join(f"{field} = excluded.{field}" for field in ConnectionRow._fields[3:])


def find(tx: Tx, user_id: int, type: str, id: str) -> ConnectionRow | None:
    """A connection, or None."""
    return tx.find(ConnectionRow, f"SELECT {COLUMNS} FROM connections WHERE {_KEY}", user_id, type, id)


def list_of_user(tx: Tx, user_id: int) -> list[ConnectionRow]:
    """All of a person's, the oldest first."""
    return tx.fetch(
        ConnectionRow, f"SELECT {COLUMNS} FROM connections WHERE user_id = ? ORDER BY created_ms, type, id", user_id
    )


def count(tx: Tx, user_id: int) -> int:
    """How many a person has."""
    return int(tx.value("SELECT COUNT(*) FROM connections WHERE user_id = ?", user_id))


def put(tx: Tx, row: ConnectionRow) -> None:
    """Keep a connection, new or known."""
    tx.run(
        f"INSERT INTO connections ({COLUMNS}) VALUES ({places(row)}) ON CONFLICT (user_id, type, id) DO UPDATE SET {_CHANGING}",
        *row,
    )


def delete(tx: Tx, user_id: int, type: str, id: str) -> bool:
    """Forget a connection; False when there is none."""
    return bool(tx.run(f"DELETE FROM connections WHERE {_KEY}", user_id, type, id))


def delete_of_user(tx: Tx, user_id: int) -> None:
    """Forget all of a person's."""
    tx.run("DELETE FROM connections WHERE user_id = ?", user_id)
