"""HTTP handlers for the legal documents of the server and their acceptance."""

from hubbub.protocol import codec, errors
from hubbub.protocol.resources import legal_documents as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.legal_documents import actions, store


@handles(wire.LIST_DOCUMENTS)
def list_documents(call: Call) -> list[wire.DocumentVersion]:
    """List the current versions of the published documents, without their texts."""
    return [actions.version_view(row) for row in actions.list_current(call)]


@handles(wire.GET_DOCUMENT)
def get_document(call: Call, document_kind: str) -> wire.LegalDocument:
    """Get the current version of a document."""
    kind = actions.require_kind(document_kind)
    row = store.find_current(call.tx, kind)
    if row is None:
        raise errors.NOT_FOUND()
    return wire.LegalDocument(
        kind=kind, version=row.version, published_at=codec.timestamp(row.published_ms), content=row.content
    )


@handles(wire.LIST_UNACCEPTED_DOCUMENTS)
def list_unaccepted_documents(call: Call) -> list[wire.DocumentVersion]:
    """List the documents that the current user has to accept."""
    return [actions.version_view(row) for row in actions.list_unaccepted(call, call.user_id)]


@handles(wire.ACCEPT_DOCUMENTS)
def accept_documents(call: Call, body: wire.AcceptDocuments) -> None:
    """Accept documents as the current user.

    Each version must be the current one of its document; otherwise no document is accepted."""
    current_versions = {row.kind: row.version for row in actions.list_current(call)}
    if any(current_versions.get(kind) != version for kind, version in body.accepted.items()):
        raise errors.invalid(
            "accepted", "DOCUMENT_VERSION_INVALID", "A document has a newer version. Read it and try again."
        )
    actions.accept(call, call.user_id, body.accepted)
