"""Publish legal documents, and record which versions users accept."""

from collections.abc import Mapping
from typing import Any

from msgspec import UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import legal_documents as wire
from hubbub.protocol.resources.legal_documents import DocumentKind
from hubbub.server.core.call import Call
from hubbub.server.identity.legal_documents import store
from hubbub.server.identity.legal_documents.store import AcceptanceRow, DocumentRow


def require_kind(kind_name: str) -> DocumentKind:
    """Return a kind of document, or raise NOT_FOUND."""
    try:
        return DocumentKind(kind_name)
    except ValueError:
        raise errors.NOT_FOUND() from None


def list_current(call: Call) -> list[DocumentRow]:
    """Return the current versions of all published documents."""
    rows = [store.find_current(call.tx, kind) for kind in DocumentKind]
    return [row for row in rows if row is not None]


def publish(call: Call, kind: DocumentKind, content: str, *, should_ask_users: bool) -> DocumentRow:
    """Publish the next version of a document.

    Users must accept the first version, and later versions with `should_ask_users`."""
    current_row = store.find_current(call.tx, kind)
    version = 1 if current_row is None else current_row.version + 1
    required_version = version if current_row is None or should_ask_users else current_row.required_version
    row = DocumentRow(kind.value, version, required_version, content, call.now_ms)
    store.insert(call.tx, row)
    return row


def require_accepted(call: Call, accepted_versions: Mapping[str, int] | UnsetType) -> None:
    """Reject a registration unless it accepts the current version of every document."""
    versions = accepted_versions if isinstance(accepted_versions, Mapping) else {}
    if any(versions.get(row.kind) != row.version for row in list_current(call)):
        raise errors.invalid(
            "accepted", "DOCUMENTS_NOT_ACCEPTED", "Read and accept the current terms and privacy notice."
        )


def accept(call: Call, user_id: UserId, accepted_versions: Mapping[str, int] | UnsetType) -> None:
    """Record the documents of which the user accepted the current version. Other versions are ignored."""
    versions = accepted_versions if isinstance(accepted_versions, Mapping) else {}
    for row in list_current(call):
        if versions.get(row.kind) == row.version:
            store.insert_acceptance(call.tx, user_id, AcceptanceRow(row.kind, row.version, call.now_ms))


def list_unaccepted(call: Call, user_id: UserId) -> list[DocumentRow]:
    """Return the documents whose required version the user has not accepted."""
    accepted_versions: dict[str, int] = {}
    for acceptance in store.list_acceptances(call.tx, user_id):
        accepted_versions[acceptance.kind] = max(acceptance.version, accepted_versions.get(acceptance.kind, 0))
    return [row for row in list_current(call) if accepted_versions.get(row.kind, 0) < row.required_version]


def version_view(row: DocumentRow) -> wire.DocumentVersion:
    """Build the wire model of a version without its text."""
    return wire.DocumentVersion(
        kind=DocumentKind(row.kind), version=row.version, published_at=codec.timestamp(row.published_ms)
    )


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the documents that a user accepted, for the data export."""
    return {
        "accepted_documents": [
            {"kind": row.kind, "version": row.version, "accepted_at": codec.timestamp(row.accepted_ms)}
            for row in store.list_acceptances(call.tx, user_id)
        ]
    }
