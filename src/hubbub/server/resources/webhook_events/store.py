"""Rows of receivers that fail."""

from hubbub.server.core.store import Tx


def find_failures(tx: Tx, application_id: int) -> tuple[int, int] | None:
    """How many attempts failed in a row and since when, or None."""
    row = tx.one("SELECT attempts, since_ms FROM webhook_event_failures WHERE application_id = ?", application_id)
    return None if row is None else (row[0], row[1])


def count_failure(tx: Tx, application_id: int, now: int) -> tuple[int, int]:
    """One more; how many there are now, and since when."""
    row = tx.one(
        "INSERT INTO webhook_event_failures (application_id, attempts, since_ms) VALUES (?, 1, ?)"
        " ON CONFLICT (application_id) DO UPDATE SET attempts = webhook_event_failures.attempts + 1"
        " RETURNING attempts, since_ms",
        application_id,
        now,
    )
    assert row is not None
    return row[0], row[1]


def forget_failures(tx: Tx, application_id: int) -> None:
    """It works again."""
    tx.run("DELETE FROM webhook_event_failures WHERE application_id = ?", application_id)
