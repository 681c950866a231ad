"""Rows of the sessions that players have in games."""

from collections.abc import Iterable
from typing import NamedTuple

from hubbub.server.core.store import Tx, places

BATCH = 500
"""How many ids go into one IN list."""


class SessionRow(NamedTuple):
    """A session that a game holds for its player."""

    session_id: str
    user_id: int
    application_id: int
    family_id: int
    began_ms: int
    reads_messages: int
    """Whether the player let the game read their direct messages."""


def connected(tx: Tx, application_id: int, user_ids: Iterable[int]) -> set[int]:
    """Which of these users are in a game now."""
    wanted = list(user_ids)
    found: set[int] = set()
    for start in range(0, len(wanted), BATCH):
        some = wanted[start : start + BATCH]
        rows = tx.all(
            f"SELECT DISTINCT user_id FROM game_sessions WHERE user_id IN ({places(some)}) AND application_id = ?",
            *some,
            application_id,
        )
        found |= {row[0] for row in rows}
    return found


def is_playing(tx: Tx, user_id: int, family_id: int | None = None) -> bool:
    """Whether a user is in a game of a family, or in any."""
    if family_id is None:
        return tx.value("SELECT 1 FROM game_sessions WHERE user_id = ? LIMIT 1", user_id) is not None
    found = tx.value("SELECT 1 FROM game_sessions WHERE user_id = ? AND family_id = ? LIMIT 1", user_id, family_id)
    return found is not None


def insert(tx: Tx, row: SessionRow) -> None:
    """Keep a session."""
    tx.run(f"INSERT INTO game_sessions ({', '.join(SessionRow._fields)}) VALUES ({places(row)})", *row)


def delete(tx: Tx, session_id: str) -> int | None:
    """Remove a session; the application it was in, or None when it was in none."""
    row = tx.one("DELETE FROM game_sessions WHERE session_id = ? RETURNING application_id", session_id)
    return None if row is None else int(row[0])


def all_sessions(tx: Tx) -> list[tuple[int, str]]:
    """Every session, as user and session id."""
    return [(row[0], row[1]) for row in tx.all("SELECT user_id, session_id FROM game_sessions")]


def sessions_before(tx: Tx, before_ms: int) -> list[tuple[int, str]]:
    """The sessions that began before a moment, as user and session id."""
    rows = tx.all("SELECT user_id, session_id FROM game_sessions WHERE began_ms < ?", before_ms)
    return [(row[0], row[1]) for row in rows]


def readers_of(tx: Tx, user_ids: Iterable[int], family_id: int | None = None) -> list[int]:
    """The games (of one family, or of all) that any of these users are in now and let read their messages."""
    wanted = list(user_ids)
    rows = tx.all(
        f"SELECT DISTINCT application_id, family_id FROM game_sessions WHERE user_id IN ({places(wanted)}) "
        "AND reads_messages = 1 ORDER BY application_id",
        *wanted,
    )
    return [row[0] for row in rows if family_id in (None, row[1])]
