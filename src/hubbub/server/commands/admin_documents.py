"""Action of `hubbub admin` that publishes the terms and the privacy notice."""

import argparse

from hubbub.protocol.resources.legal_documents import DOCUMENT_CONTENT_MAX, DocumentKind
from hubbub.server.commands.admin_actions import AdminError, action
from hubbub.server.core.call import Call
from hubbub.server.identity import administration


@action("publish-document")
def publish_document(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Publish a new version of the terms or the privacy notice."""
    content = arguments.text
    if not 0 < len(content.strip()) <= DOCUMENT_CONTENT_MAX:
        raise AdminError(f"the document must have 1 to {DOCUMENT_CONTENT_MAX} characters")
    version = administration.publish_document(
        call,
        DocumentKind(arguments.kind),
        content,
        should_ask_users=not arguments.keep_acceptance,
        reason=arguments.reason,
    )
    return [f"Published version {version.version} at /{version.kind}."]
