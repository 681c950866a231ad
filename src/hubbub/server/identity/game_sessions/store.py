"""SQL for the game_sessions table."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.server.core.batches import batches
from hubbub.server.core.personal_data import SESSION, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("game_sessions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="game_sessions.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
)
"""Columns of these tables that contain IDs of users."""


class OAuth2SessionRow(NamedTuple):
    """An OAuth2 session that a game holds for a user."""

    session_id: str
    user_id: int
    application_id: int
    family_id: int
    """ID of the head of the game's application family."""
    began_ms: int
    reads_messages: int
    """Whether the user authorized the game to read their direct messages."""


def filter_connected(tx: Tx, application_id: int, user_ids: Iterable[int]) -> set[int]:
    """Return the IDs of the given users who are connected to a game."""
    user_id_list = list(user_ids)
    connected_ids: set[int] = set()
    for batch in batches(user_id_list):
        rows = tx.all(
            f"SELECT DISTINCT user_id FROM game_sessions WHERE user_id IN ({placeholders(batch)}) AND application_id = ?",
            *batch,
            application_id,
        )
        connected_ids |= {row[0] for row in rows}
    return connected_ids


def is_playing(tx: Tx, user_id: int, family_id: int | None = None) -> bool:
    """Return whether a user is connected to a game of a family, or to any game if `family_id` is None."""
    if family_id is None:
        return tx.value("SELECT 1 FROM game_sessions WHERE user_id = ? LIMIT 1", user_id) is not None
    sql = "SELECT 1 FROM game_sessions WHERE user_id = ? AND family_id = ? LIMIT 1"
    return tx.value(sql, user_id, family_id) is not None


def insert(tx: Tx, row: OAuth2SessionRow) -> None:
    tx.run(f"INSERT INTO game_sessions ({', '.join(OAuth2SessionRow._fields)}) VALUES ({placeholders(row)})", *row)


def delete(tx: Tx, session_id: str) -> int | None:
    """Delete a session. Return the ID of its application, or None if there was no such session."""
    row = tx.one("DELETE FROM game_sessions WHERE session_id = ? RETURNING application_id", session_id)
    return None if row is None else int(row[0])


def list_sessions(tx: Tx) -> list[tuple[int, str]]:
    """List all sessions as (user ID, session ID)."""
    return [(row[0], row[1]) for row in tx.all("SELECT user_id, session_id FROM game_sessions")]


def list_started_before(tx: Tx, before_ms: int) -> list[tuple[int, str]]:
    """List the sessions that started before `before_ms` (Unix milliseconds), as (user ID, session ID)."""
    rows = tx.all("SELECT user_id, session_id FROM game_sessions WHERE began_ms < ?", before_ms)
    return [(row[0], row[1]) for row in rows]


def list_reading_application_ids(tx: Tx, user_ids: Iterable[int], family_id: int | None = None) -> list[int]:
    """List the IDs of the games to which any of the users is connected and that may read the user's messages.

    With `family_id`, only games of that family are listed."""
    user_id_list = list(user_ids)
    rows = tx.all(
        f"SELECT DISTINCT application_id, family_id FROM game_sessions WHERE user_id IN ({placeholders(user_id_list)}) "
        "AND reads_messages = 1 ORDER BY application_id",
        *user_id_list,
    )
    return [row[0] for row in rows if family_id in (None, row[1])]
