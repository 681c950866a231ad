"""SQL for the connections table."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("connections",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (PersonalColumn(column="connections.user_id", erasure=Erasure.DELETED, export="connections"),)
"""Columns of these tables that contain IDs of users."""


PUBLISHER_SCHEME_NEW: Final = "new"
"""Publisher scheme of connections that are never listed if they have a publisher connection type."""
PUBLISHER_SCHEME_LEGACY: Final = "legacy"
"""Publisher scheme of connections that are listed until the date in spec/dated-changes.md#2.7 if they have a publisher
connection type."""


class ConnectionRow(NamedTuple):
    """An account of a user on another service."""

    user_id: int
    type: str
    """Name of the service: a `ConnectionType`, or a publisher connection type of the configuration."""
    id: str
    """ID of the account on the service."""
    name: str | None = None
    """Name of the account on the service, or None."""
    verified: int = 0
    friend_sync: int = 0
    show_activity: int = 0
    two_way_link: int = 0
    visibility: int = 0
    """Value of `ConnectionVisibility`."""
    revoked: int = 0
    publisher_scheme: str = PUBLISHER_SCHEME_LEGACY
    """The publisher scheme under which the connection was created; only publisher connection types use it."""
    created_ms: int = 0


COLUMNS: Final = ", ".join(ConnectionRow._fields)
_KEY_CONDITION: Final = "user_id = ? AND type = ? AND id = ?"
_ASSIGNMENTS: Final = ", ".join(f"{field} = excluded.{field}" for field in ConnectionRow._fields[3:])


def find(tx: Tx, user_id: int, type: str, id: str) -> ConnectionRow | None:
    return tx.find(ConnectionRow, f"SELECT {COLUMNS} FROM connections WHERE {_KEY_CONDITION}", user_id, type, id)


def list_user_connections(tx: Tx, user_id: int) -> list[ConnectionRow]:
    """List the connections of a user, oldest first."""
    return tx.fetch(
        ConnectionRow, f"SELECT {COLUMNS} FROM connections WHERE user_id = ? ORDER BY created_ms, type, id", user_id
    )


def count(tx: Tx, user_id: int) -> int:
    return int(tx.value("SELECT COUNT(*) FROM connections WHERE user_id = ?", user_id))


def put(tx: Tx, row: ConnectionRow) -> None:
    """Insert or update a connection."""
    tx.run(
        f"INSERT INTO connections ({COLUMNS}) VALUES ({placeholders(row)}) "
        f"ON CONFLICT (user_id, type, id) DO UPDATE SET {_ASSIGNMENTS}",
        *row,
    )


def delete(tx: Tx, user_id: int, type: str, id: str) -> bool:
    """Delete a connection. Return False if there was none."""
    return bool(tx.run(f"DELETE FROM connections WHERE {_KEY_CONDITION}", user_id, type, id))


def delete_user_connections(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM connections WHERE user_id = ?", user_id)
