"""SQL for the scheduled deletions of applications."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("application_deletions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="application_deletions.operator_id",
        erasure=Erasure.KEPT,
        reason="Deleted with the application.",
        omission=OPERATOR_RECORD,
    ),
)
"""Columns of these tables that contain IDs of users."""


class ApplicationDeletionRow(NamedTuple):
    """The scheduled deletion of an application."""

    application_id: int
    operator_id: int | None
    """ID of the operator; None for the command line."""
    reason: str
    created_ms: int
    due_ms: int
    has_disabled: int
    """Whether the scheduled deletion disabled the application; a restoration then enables it."""
    deletes_messages: int
    """Whether everything that the bot wrote is deleted, too."""


_COLUMNS: Final = ", ".join(ApplicationDeletionRow._fields)


def find(tx: Tx, application_id: int) -> ApplicationDeletionRow | None:
    """Return the scheduled deletion of an application, or None."""
    sql = f"SELECT {_COLUMNS} FROM application_deletions WHERE application_id = ?"
    return tx.find(ApplicationDeletionRow, sql, application_id)


def insert(tx: Tx, row: ApplicationDeletionRow) -> None:
    tx.run(f"INSERT INTO application_deletions ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def delete(tx: Tx, application_id: int) -> None:
    tx.run("DELETE FROM application_deletions WHERE application_id = ?", application_id)
