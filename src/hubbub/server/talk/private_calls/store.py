"""SQL for the private_calls and private_call_rings tables."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hubbub.server.core.personal_data import SESSION, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = (
    "private_call_rings",
    "private_calls",
)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="private_call_rings.user_id", erasure=Erasure.EXPIRES, reason=SESSION, omission=SESSION),
)
"""Columns of these tables that contain IDs of users."""
READS: Final = {
    "recipients": "calls in the private channels of a user",
}
"""Tables of other slices that this slice reads, with the reason."""


class PrivateCallRow(NamedTuple):
    """The ongoing voice call of a private channel."""

    channel_id: int
    message_id: int
    """ID of the system message about the call in its channel."""


def find(tx: Tx, channel_id: int) -> PrivateCallRow | None:
    return tx.find(PrivateCallRow, "SELECT channel_id, message_id FROM private_calls WHERE channel_id = ?", channel_id)


def list_user_calls(tx: Tx, user_id: int) -> list[PrivateCallRow]:
    """Return the calls in a user's private channels."""
    return tx.fetch(
        PrivateCallRow,
        "SELECT c.channel_id, c.message_id FROM private_calls c JOIN recipients r ON r.channel_id = c.channel_id "
        "WHERE r.user_id = ? ORDER BY c.channel_id",
        user_id,
    )


def list_ongoing(tx: Tx) -> list[PrivateCallRow]:
    """Return all ongoing calls, by ascending channel ID."""
    return tx.fetch(PrivateCallRow, "SELECT channel_id, message_id FROM private_calls ORDER BY channel_id")


def insert(tx: Tx, row: PrivateCallRow) -> None:
    tx.run("INSERT INTO private_calls (channel_id, message_id) VALUES (?, ?)", *row)


def delete(tx: Tx, channel_id: int) -> None:
    """Delete a call and its rings."""
    for table in ("private_call_rings", "private_calls"):
        tx.run(f"DELETE FROM {table} WHERE channel_id = ?", channel_id)


def find_ring_ends(tx: Tx, channel_id: int) -> dict[int, int]:
    """Return the end of the ring in Unix milliseconds for each ringing user of a call, by user ID."""
    rows = tx.all("SELECT user_id, ends_ms FROM private_call_rings WHERE channel_id = ? ORDER BY user_id", channel_id)
    return {row[0]: row[1] for row in rows}


def ring(tx: Tx, channel_id: int, user_ids: Iterable[int], ends_ms: int) -> None:
    """Insert or extend the rings of users until `ends_ms` (Unix milliseconds)."""
    tx.run_many(
        "INSERT INTO private_call_rings (channel_id, user_id, ends_ms) VALUES (?, ?, ?) "
        "ON CONFLICT (channel_id, user_id) DO UPDATE SET ends_ms = excluded.ends_ms",
        [(channel_id, user_id, ends_ms) for user_id in user_ids],
    )


def stop_ringing(tx: Tx, channel_id: int, user_ids: Iterable[int]) -> bool:
    """Delete the rings of users and return whether there were any."""
    listed_ids = list(user_ids)
    if not listed_ids:
        return False
    return (
        tx.run(
            f"DELETE FROM private_call_rings WHERE channel_id = ? AND user_id IN ({placeholders(listed_ids)})",
            channel_id,
            *listed_ids,
        )
        > 0
    )
