"""The operator page of the operator console: operators and their roles."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.console.common import CONSOLE_PATH, console_page, render, render_errors
from hubbub.server.transports.web.console.texts import ROLE_NAMES, translate_labels
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/operators"
"""Path of the page, relative to `CONSOLE_PATH`."""
ROLES: Final = (
    ("auditor", gettext_noop("Auditor: reads everything")),
    ("moderator", gettext_noop("Moderator: suspends and deletes accounts")),
    ("owner", gettext_noop("Owner: manages operators")),
)
FIELDS: Final = ("username", "role", "reason")


@console_page("GET", PATH)
async def list_operators(request: PageRequest, operator: Operator) -> web.Response:
    """List the operators with their roles."""
    return render(request, "operators.html", operator, **await _context(request))


@console_page("POST", PATH)
async def set_operator(request: PageRequest, operator: Operator) -> web.Response:
    """Grant a role to a user, or change it."""
    form = request.form
    username = form.trimmed("username")[: wire.SEARCH_TEXT_MAX]
    body: dict[str, Any] = {"role": form.text("role")}
    if form.trimmed("reason"):
        body["reason"] = form.trimmed("reason")
    try:
        matching_users = await request.call(wire.SEARCH_USERS, query={"username": [username]})
        if not matching_users:
            raise errors.invalid("username", "UNKNOWN_USER", gettext("There is no user with this name."))
        user = matching_users[0]
        await request.call(wire.SET_OPERATOR, user.id, body=body)
    except ApiError as error:
        return render_errors(request, "operators.html", error, operator, fields=FIELDS, **await _context(request))
    notice = gettext(
        "{username} now has the role {role}.", username=user.username, role=gettext(ROLE_NAMES[body["role"]])
    )
    return request.redirect(CONSOLE_PATH + PATH, notice=notice)


@console_page("POST", PATH + r"/{user_id:\d{1,19}}/remove")
async def remove_operator(request: PageRequest, operator: Operator) -> web.Response:
    """Remove the role of an operator."""
    try:
        await request.call(wire.REMOVE_OPERATOR, request.path_parameter("user_id"), body={})
    except ApiError as error:
        return render_errors(request, "operators.html", error, operator, fields=(), **await _context(request))
    if str(int(operator.user_id)) == request.path_parameter("user_id"):
        return request.redirect("/", notice=gettext("You are not an operator anymore."))
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Role removed."))


async def _context(request: PageRequest) -> dict[str, Any]:
    return {"operators": await request.call(wire.LIST_OPERATORS), "roles": translate_labels(ROLES)}
