"""The document pages of the operator console: the terms and the privacy notice."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import legal_documents as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.protocol.resources.legal_documents import DocumentKind
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.console.texts import DOCUMENT_TITLES
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/documents"
"""Path of the page, relative to `CONSOLE_PATH`."""


@console_page("GET", PATH)
async def list_documents(request: PageRequest, operator: Operator) -> web.Response:
    """List the terms and the privacy notice with their versions."""
    versions = {document.kind: document for document in await request.call(wire.LIST_DOCUMENTS)}
    return render(request, "documents.html", operator, titles=DOCUMENT_TITLES, versions=versions)


@console_page("GET", PATH + "/{document_kind:terms|privacy}")
async def show_document(request: PageRequest, operator: Operator) -> web.Response:
    """Show the form that publishes a version of a document."""
    return render(request, "document.html", operator, **await _context(request))


@console_page("POST", PATH + "/{document_kind:terms|privacy}")
async def publish_document(request: PageRequest, operator: Operator) -> web.Response:
    """Publish a version of a document."""
    form = request.form
    body = {"content": form.text("content"), "ask_users": form.checked("ask_users")} | reason_body(request)
    try:
        await request.call(wire.PUBLISH_DOCUMENT, request.path_parameter("document_kind"), body=body)
    except ApiError as error:
        context = await _context(request)
        return render_errors(request, "document.html", error, operator, fields=("content",), **context)
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Document published."))


async def _context(request: PageRequest) -> dict[str, Any]:
    kind = DocumentKind(request.path_parameter("document_kind"))
    try:
        content = (await request.call(wire.GET_DOCUMENT, kind.value)).content
    except ApiError as error:
        if error.status != 404:
            raise
        content = ""
    return {"kind": kind, "document_title": gettext(DOCUMENT_TITLES[kind]), "content": content}
