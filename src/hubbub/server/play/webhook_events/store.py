"""SQL for the webhook_event_failures table."""

from typing import Final

from hubbub.server.core.store import Tx

TABLES: Final = ("webhook_event_failures",)
"""Tables that only this slice writes."""


def find_failures(tx: Tx, application_id: int) -> tuple[int, int] | None:
    """Return (failed attempts in a row, Unix milliseconds of the first), or None if the last attempt did not fail."""
    row = tx.one("SELECT attempts, since_ms FROM webhook_event_failures WHERE application_id = ?", application_id)
    return None if row is None else (row[0], row[1])


def record_failure(tx: Tx, application_id: int, now_ms: int) -> tuple[int, int]:
    """Increment the number of failed attempts; return (failed attempts in a row, Unix milliseconds of the first one)."""
    row = tx.one(
        "INSERT INTO webhook_event_failures (application_id, attempts, since_ms) VALUES (?, 1, ?)"
        " ON CONFLICT (application_id) DO UPDATE SET attempts = webhook_event_failures.attempts + 1"
        " RETURNING attempts, since_ms",
        application_id,
        now_ms,
    )
    assert row is not None
    return row[0], row[1]


def delete_failures(tx: Tx, application_id: int) -> None:
    """Reset the number of an application's failed attempts."""
    tx.run("DELETE FROM webhook_event_failures WHERE application_id = ?", application_id)
