"""Publish legal documents, with an entry in the audit log."""

from hubbub.protocol import codec
from hubbub.protocol.resources import legal_documents as wire
from hubbub.protocol.resources.legal_documents import DocumentKind
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import legal_documents
from hubbub.server.identity.administration.audit_entries import audit


@handles(wire.PUBLISH_DOCUMENT)
def publish_document(call: Call, document_kind: str, body: wire.PublishDocument) -> wire.DocumentVersion:
    """Publish a version of a document.

    Earlier versions stay stored. Users must accept the first version, and later versions with `ask_users`.
    """
    kind = legal_documents.require_kind(document_kind)
    return publish(call, kind, body.content, should_ask_users=body.ask_users, reason=body.reason)


def publish(
    call: Call, kind: DocumentKind, content: str, *, should_ask_users: bool, reason: str | None
) -> wire.DocumentVersion:
    """Publish a version of a document and record it in the audit log."""
    row = legal_documents.publish(call, kind, content, should_ask_users=should_ask_users)
    detail = f"version {row.version}" + ("" if should_ask_users else ", without asking users")
    audit.log_action(call, "document.publish", "document", target_name=kind.value, detail=detail, reason=reason)
    return wire.DocumentVersion(kind=kind, version=row.version, published_at=codec.timestamp(row.published_ms))
