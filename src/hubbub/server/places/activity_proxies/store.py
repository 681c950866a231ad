"""SQL for the activity_url_mappings table."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hubbub.server.core.store import Tx

TABLES: Final = ("activity_url_mappings",)
"""Tables that only this slice writes."""


class MappingRow(NamedTuple):
    """One entry of an application's URL map."""

    prefix: str
    """Path prefix without a trailing slash, or `/`."""
    target: str
    """Host with optional port and path, without a scheme or trailing slash."""


def list_mappings(tx: Tx, application_id: int) -> list[MappingRow]:
    """List the entries of an application's URL map in order. The first entry with a matching prefix applies."""
    return tx.fetch(
        MappingRow,
        "SELECT prefix, target FROM activity_url_mappings WHERE application_id = ? ORDER BY position",
        application_id,
    )


def replace_mappings(tx: Tx, application_id: int, rows: Sequence[MappingRow]) -> None:
    """Replace the URL map of an application."""
    tx.run("DELETE FROM activity_url_mappings WHERE application_id = ?", application_id)
    tx.run_many(
        "INSERT INTO activity_url_mappings (application_id, position, prefix, target) VALUES (?, ?, ?, ?)",
        [(application_id, position, row.prefix, row.target) for position, row in enumerate(rows)],
    )
