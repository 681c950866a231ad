"""Terms and privacy notice of a server, and their acceptance by users. The public API does not have these routes."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Timestamp
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import READ_LIMIT, WRITE_LIMIT, Reason

DOCUMENT_CONTENT_MAX: Final = 40_000
"""Maximum length of a document, in characters."""


class DocumentKind(StrEnum):
    """Legal document that the server publishes."""

    TERMS = "terms"
    """Terms of use."""
    PRIVACY = "privacy"
    """Privacy notice."""


class DocumentVersion(Struct, kw_only=True):
    """The current version of a document."""

    kind: DocumentKind
    """Kind of the document."""
    version: int
    """Number of the version, starting at 1."""
    published_at: Timestamp
    """Time at which the version was published."""


class LegalDocument(DocumentVersion, kw_only=True):
    """The current version of a document with its text."""

    content: str
    """Text in Markdown without HTML."""


class AcceptDocuments(Struct, kw_only=True):
    """Request body for accepting documents."""

    accepted: dict[str, int]
    """Accepted versions by kind of document; each must be the current one."""


class PublishDocument(Struct, kw_only=True):
    """Request body for publishing a version of a document."""

    content: Annotated[str, Meta(min_length=1, max_length=DOCUMENT_CONTENT_MAX)]
    """Text in Markdown, at most 40,000 characters. HTML is shown as text."""
    ask_users: bool = True
    """Whether users who accepted an earlier version have to accept this one at their next login."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


LIST_DOCUMENTS = Operation("GET", "/documents", result=list[DocumentVersion], auth=Auth.NONE, limit=READ_LIMIT)

GET_DOCUMENT = Operation(
    "GET",
    "/documents/{document_kind}",
    result=LegalDocument,
    auth=Auth.NONE,
    raises=(errors.NOT_FOUND,),
    limit=READ_LIMIT,
)

LIST_UNACCEPTED_DOCUMENTS = Operation(
    "GET", "/users/@me/documents", result=list[DocumentVersion], auth=Auth.USER, limit=READ_LIMIT
)

ACCEPT_DOCUMENTS = Operation("POST", "/users/@me/documents", body=AcceptDocuments, auth=Auth.USER, limit=WRITE_LIMIT)

PUBLISH_DOCUMENT = Operation(
    "PUT",
    "/admin/documents/{document_kind}",
    body=PublishDocument,
    result=DocumentVersion,
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=(errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)
