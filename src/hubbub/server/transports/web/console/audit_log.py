"""The audit log page of the operator console."""

from typing import Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.transports.web.console.audit_texts import ACTIONS
from hubbub.server.transports.web.console.common import CONSOLE_PATH, console_page, render
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/audit-log"
"""Path of the page, relative to `CONSOLE_PATH`."""
AUDIT_LOG_PAGE_SIZE: Final = 50


@console_page("GET", PATH)
async def show_audit_log(request: PageRequest, operator: Operator) -> web.Response:
    """List the actions of operators, `AUDIT_LOG_PAGE_SIZE` per page, filtered by operator, action and target."""
    filters = {}
    for name in ("operator_id", "target_id"):
        id_text = request.query_parameter(name).strip()
        if id_text.isascii() and id_text.isdigit():
            filters[name] = id_text
    if request.query_parameter("action") in ACTIONS:
        filters["action"] = request.query_parameter("action")
    # The request asks for one entry more than a page, which shows whether there is a next page.
    query = {name: [value] for name, value in filters.items()} | {"limit": [str(AUDIT_LOG_PAGE_SIZE + 1)]}
    before = request.query_parameter("before")
    if before.isascii() and before.isdigit():
        query["before"] = [before]
    entries = await request.call(wire.LIST_OPERATOR_ACTIONS, query=query)
    next_path = None
    if len(entries) > AUDIT_LOG_PAGE_SIZE:
        parameters = filters | {"before": str(int(entries[AUDIT_LOG_PAGE_SIZE - 1].id))}
        next_path = f"{CONSOLE_PATH}{PATH}?{urlencode(parameters)}"
    return render(
        request,
        "audit_log.html",
        operator,
        entries=entries[:AUDIT_LOG_PAGE_SIZE],
        filters=filters,
        operators=await request.call(wire.LIST_OPERATORS),
        next_path=next_path,
    )
