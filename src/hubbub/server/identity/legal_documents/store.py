"""SQL for legal documents and their acceptance."""

from typing import Final, NamedTuple

from hubbub.server.core.personal_data import Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("legal_acceptances", "legal_documents")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(column="legal_acceptances.user_id", erasure=Erasure.DELETED, export="accepted_documents"),
)
"""Columns of these tables that contain IDs of users."""


class DocumentRow(NamedTuple):
    """A version of the terms or of the privacy notice."""

    kind: str
    """Value of `DocumentKind`."""
    version: int
    required_version: int
    """Oldest version whose acceptance is sufficient."""
    content: str
    published_ms: int


class AcceptanceRow(NamedTuple):
    """A version of a document that a user accepted."""

    kind: str
    version: int
    accepted_ms: int


_COLUMNS: Final = ", ".join(DocumentRow._fields)


def find_current(tx: Tx, kind: str) -> DocumentRow | None:
    """Return the current version of a document, or None."""
    return tx.find(
        DocumentRow, f"SELECT {_COLUMNS} FROM legal_documents WHERE kind = ? ORDER BY version DESC LIMIT 1", kind
    )


def insert(tx: Tx, row: DocumentRow) -> None:
    tx.run(f"INSERT INTO legal_documents ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def list_acceptances(tx: Tx, user_id: int) -> list[AcceptanceRow]:
    """Return the versions that a user accepted, oldest first."""
    return tx.fetch(
        AcceptanceRow,
        "SELECT kind, version, accepted_ms FROM legal_acceptances WHERE user_id = ? ORDER BY accepted_ms, kind, version",
        user_id,
    )


def insert_acceptance(tx: Tx, user_id: int, row: AcceptanceRow) -> None:
    """Record an acceptance, unless it is recorded already."""
    tx.run(
        "INSERT INTO legal_acceptances (user_id, kind, version, accepted_ms) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (user_id, kind, version) DO NOTHING",
        user_id,
        *row,
    )


def delete_acceptances(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM legal_acceptances WHERE user_id = ?", user_id)
