"""Terms and privacy notice: pages with their texts, and the page that asks users to accept new versions."""

from typing import Any, Final
from urllib.parse import quote

from aiohttp import web
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import legal_documents as wire
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import DEFAULT_PAGE, PageRequest, page

ACCEPT_PATH: Final = "/documents/accept"

# Without HTML and images: `document.html` writes the elements of the tree, so no text of a document becomes markup.
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@page("GET", "/terms", is_public=True)
async def show_terms(request: PageRequest) -> web.Response:
    """Show the terms of use."""
    return await _show_document(request, wire.DocumentKind.TERMS, gettext("Terms of use"))


@page("GET", "/privacy", is_public=True)
async def show_privacy(request: PageRequest) -> web.Response:
    """Show the privacy notice."""
    return await _show_document(request, wire.DocumentKind.PRIVACY, gettext("Privacy notice"))


async def _show_document(request: PageRequest, kind: wire.DocumentKind, title: str) -> web.Response:
    document = await request.call(wire.GET_DOCUMENT, kind.value)
    return request.render("document.html", title=title, document=document, tree=_parse_markdown(document.content))


@page("GET", ACCEPT_PATH)
async def show_acceptance(request: PageRequest) -> web.Response:
    """Ask the user to accept new versions, or continue if there are none."""
    return await _show_acceptance(request)


@page("POST", ACCEPT_PATH)
async def accept(request: PageRequest) -> web.Response:
    """Accept the versions that the page showed."""
    try:
        await request.call(wire.ACCEPT_DOCUMENTS, body={"accepted": read_versions(request)})
    except ApiError as error:
        return await _show_acceptance(request, error)
    return request.redirect(request.next_path or DEFAULT_PAGE)


async def _show_acceptance(request: PageRequest, error: ApiError | None = None) -> web.Response:
    documents = await request.call(wire.LIST_UNACCEPTED_DOCUMENTS)
    if not documents:
        return request.redirect(request.next_path or DEFAULT_PAGE)
    context: dict[str, Any] = {"documents": documents, "next": request.next_path}
    if error is None:
        return request.render("accept_documents.html", **context)
    return request.render_errors("accept_documents.html", error, **context)


def read_versions(request: PageRequest) -> dict[str, int]:
    """Return the versions in the hidden fields of a form, by kind of document, without missing and invalid ones."""
    version_texts = {kind.value: request.form.text(f"{kind.value}_version") for kind in wire.DocumentKind}
    return {
        kind: int(version_text)
        for kind, version_text in version_texts.items()
        if version_text.isascii() and version_text.isdigit() and len(version_text) < 10
    }


async def choose_start_path(request: PageRequest, path: str) -> str:
    """Return the path to open after a login for which `path` was requested.

    It is the page that asks for acceptance and then opens `path`, if the server has documents; otherwise `path`."""
    if not await request.call(wire.LIST_DOCUMENTS):
        return path or DEFAULT_PAGE
    return f"{ACCEPT_PATH}?next={quote(path, safe='/')}" if path else ACCEPT_PATH


async def find_acceptance_path(request: PageRequest) -> str | None:
    """Return the path of the page that asks for acceptance and then opens the requested path.

    Return None if there is nothing to accept, or if the documents cannot be read.
    """
    try:
        documents = await request.call(wire.LIST_UNACCEPTED_DOCUMENTS)
    except ApiError:
        return None
    path = str(request.http_request.rel_url)
    return f"{ACCEPT_PATH}?next={quote(path, safe='/')}" if documents else None


def _parse_markdown(markdown: str) -> SyntaxTreeNode:
    """Return the syntax tree of a Markdown text."""
    return SyntaxTreeNode(_MARKDOWN.parse(markdown))
