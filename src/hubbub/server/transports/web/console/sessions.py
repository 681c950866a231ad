"""The session page of the operator console: search by IP address, and the end of one session."""

from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import session_administration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.console.common import CONSOLE_PATH, PAGE_SIZE, console_page, reason_body, render
from hubbub.server.transports.web.page_requests import PageRequest, is_local_path

PATH: Final = "/sessions"
"""Path of the page, relative to `CONSOLE_PATH`."""


@console_page("GET", PATH)
async def show_sessions(request: PageRequest, operator: Operator) -> web.Response:
    """Search the login sessions of the server."""
    address = request.query_parameter("address").strip()[: wire.ADDRESS_TEXT_MAX]
    query = {"address": [address], "limit": [str(PAGE_SIZE + 1)]}
    before = request.query_parameter("before")
    if before.isascii() and before.isdigit():
        query["before"] = [before]
    sessions = await request.call(wire.LIST_SESSIONS, query=query)
    filters = {"address": address} if address else {}
    next_path = None
    if len(sessions) > PAGE_SIZE:
        next_path = _search_path(filters | {"before": str(int(sessions[PAGE_SIZE - 1].id))})
    return render(
        request,
        "sessions.html",
        operator,
        sessions=sessions[:PAGE_SIZE],
        address=address,
        path=_search_path(filters),
        next_path=next_path,
    )


@console_page("POST", PATH + r"/{session_id:\d{1,19}}/end")
async def end_session(request: PageRequest, operator: Operator) -> web.Response:
    """End a session, unless it has ended in the meantime, and show the page of the form again."""
    notice = gettext("Session ended.")
    try:
        await request.call(wire.END_SESSION, request.path_parameter("session_id"), body=reason_body(request))
    except ApiError as error:
        if error.kind is not errors.UNKNOWN_SESSION:
            raise
        notice = gettext("This session has ended in the meantime.")
    return_path = request.form.trimmed("return_path")
    return request.redirect(return_path if is_local_path(return_path) else CONSOLE_PATH + PATH, notice=notice)


def _search_path(parameters: dict[str, str]) -> str:
    return f"{CONSOLE_PATH}{PATH}" + (f"?{urlencode(parameters)}" if parameters else "")
