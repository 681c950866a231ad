"""SQL for the deliveries table."""

from typing import Any, Final, NamedTuple

from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("deliveries",)
"""Tables that only this slice writes."""


class DeliveryRow(NamedTuple):
    """A logged delivery with its last attempt."""

    id: int
    application_id: int
    kind: str
    """`event` or `interaction`."""
    name: str
    """Type of the event, or type of the interaction and name of its command."""
    state: str
    """`waiting`, `delivered` or `failed`."""
    url: str
    is_own_url: int
    """Whether `url` is from the application's settings, not the URL of a lobby."""
    created_ms: int
    """Unix milliseconds of the first attempt."""
    attempted_ms: int
    """Unix milliseconds of the last attempt."""
    next_ms: int | None
    """Unix milliseconds of the next attempt; None if there is none."""
    attempts: int
    duration_ms: int
    """Duration of the last attempt in milliseconds."""
    status: int | None
    """HTTP status of the last response; None if none arrived."""
    error: str | None
    """Cause of the failure of the last attempt; None if it succeeded."""
    job_id: int
    """ID of the job that made the last attempt."""
    subject_key: str
    """Key of the job, which keeps deliveries about the same subject in order."""
    is_complete: int
    """1 if `body` is the whole request body, 0 if it was truncated."""
    request_headers: str
    """JSON of the headers of the last request."""
    body: str
    """The request body without tokens."""
    response_headers: str
    """JSON of the headers of the last response."""
    response_body: str
    """Beginning of the last response's body."""


COLUMNS: Final = ", ".join(DeliveryRow._fields)
_UNCHANGED_COLUMNS: Final = frozenset({"id", "application_id", "kind", "name", "created_ms"})
"""Columns that a new attempt of the same delivery does not change."""


def find(tx: Tx, application_id: int, delivery_id: int) -> DeliveryRow | None:
    """Return a delivery of an application, or None."""
    return tx.find(
        DeliveryRow,
        f"SELECT {COLUMNS} FROM deliveries WHERE id = ? AND application_id = ?",
        delivery_id,
        application_id,
    )


def list_page(
    tx: Tx, application_id: int, *, kind: str | None, state: str | None, before_id: int | None, limit: int
) -> list[DeliveryRow]:
    """Return the deliveries of an application, newest first; None matches all kinds, states and IDs."""
    where, parameters = "application_id = ?", list[Any]([application_id])
    for condition, value in (("kind = ?", kind), ("state = ?", state), ("id < ?", before_id)):
        if value is not None:
            where += f" AND {condition}"
            parameters.append(value)
    return tx.fetch(
        DeliveryRow, f"SELECT {COLUMNS} FROM deliveries WHERE {where} ORDER BY id DESC LIMIT ?", *parameters, limit
    )


def save(tx: Tx, row: DeliveryRow) -> None:
    """Insert a delivery, or replace its last attempt."""
    assignments = ", ".join(
        f"{name} = excluded.{name}" for name in DeliveryRow._fields if name not in _UNCHANGED_COLUMNS
    )
    tx.run(
        f"INSERT INTO deliveries ({COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (id) DO UPDATE SET {assignments}",
        *row,
    )


def delete_beyond(tx: Tx, application_id: int, count_max: int) -> None:
    """Delete all but the newest `count_max` deliveries of an application."""
    oldest_id = tx.value(
        "SELECT id FROM deliveries WHERE application_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?",
        application_id,
        count_max,
    )
    if oldest_id is not None:
        tx.run("DELETE FROM deliveries WHERE application_id = ? AND id <= ?", application_id, oldest_id)


def delete_older(tx: Tx, application_id: int, before_ms: int) -> None:
    """Delete the deliveries of an application whose last attempt was before a time in Unix milliseconds."""
    tx.run("DELETE FROM deliveries WHERE application_id = ? AND attempted_ms < ?", application_id, before_ms)


def has_any(tx: Tx, application_id: int) -> bool:
    """Return whether an application has logged deliveries."""
    return tx.value("SELECT 1 FROM deliveries WHERE application_id = ? LIMIT 1", application_id) is not None


def delete_all(tx: Tx, application_id: int) -> None:
    tx.run("DELETE FROM deliveries WHERE application_id = ?", application_id)
