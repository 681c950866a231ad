"""The registration page of the operator console: requests to approve, and registration invites."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    PAGE_SIZE,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/registrations"
"""Path of the page, relative to `CONSOLE_PATH`."""
STATES: Final = (("pending", gettext_noop("Waiting")), ("rejected", gettext_noop("Rejected")))
FIELDS: Final = ("note", "email", "uses_max", "expires_in_days")
MODES: Final = {
    "open": gettext_noop("Every visitor can register."),
    "invite": gettext_noop("Visitors register with an invite."),
    "approval": gettext_noop("An operator approves new accounts. An invite replaces the approval."),
    "closed": gettext_noop("Registration is closed."),
}


@console_page("GET", PATH)
async def list_registrations(request: PageRequest, operator: Operator) -> web.Response:
    """List the requests for registration and the invites."""
    return render(request, "registrations.html", operator, **await _context(request))


@console_page("POST", PATH + r"/{user_id:\d{1,19}}")
async def decide_registration(request: PageRequest, operator: Operator) -> web.Response:
    """Approve or reject a registration."""
    is_approved = request.form.text("approve") == "1"
    operation = wire.APPROVE_REGISTRATION if is_approved else wire.REJECT_REGISTRATION
    await request.call(operation, request.path_parameter("user_id"), body=reason_body(request))
    notice = gettext("Registration approved.") if is_approved else gettext("Registration rejected.")
    return request.redirect(CONSOLE_PATH + PATH, notice=notice)


@console_page("POST", PATH + "/invites")
async def create_invite(request: PageRequest, operator: Operator) -> web.Response:
    """Create an invite, and show its link once or send it by mail."""
    form = request.form
    body: dict[str, Any] = {"note": form.trimmed("note"), "email": form.trimmed("email") or None} | reason_body(request)
    for name in ("uses_max", "expires_in_days"):
        number_text = form.trimmed(name)
        body[name] = (
            (int(number_text) if number_text.isascii() and number_text.isdigit() else number_text)
            if number_text
            else None
        )
    try:
        invite = await request.call(wire.CREATE_REGISTRATION_INVITE, body=body)
    except ApiError as error:
        context = await _context(request)
        return render_errors(request, "registrations.html", error, operator, fields=FIELDS, **context)
    if invite.url is None:
        return request.redirect(CONSOLE_PATH + PATH, notice=gettext("The invite is sent by mail."))
    return render(request, "registration_invite.html", operator, invite=invite)


@console_page("POST", PATH + r"/invites/{invite_id:\d{1,19}}/delete")
async def delete_invite(request: PageRequest, operator: Operator) -> web.Response:
    """Delete a registration invite."""
    await request.call(wire.DELETE_REGISTRATION_INVITE, request.path_parameter("invite_id"), body=reason_body(request))
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Invite deleted."))


async def _context(request: PageRequest) -> dict[str, Any]:
    state = "rejected" if request.query_parameter("state") == "rejected" else "pending"
    query = {"state": [state], "limit": [str(PAGE_SIZE + 1)]}
    after = request.query_parameter("after")
    if after.isascii() and after.isdigit():
        query["after"] = [after]
    registrations = await request.call(wire.LIST_REGISTRATIONS, query=query)
    page_registrations = registrations[:PAGE_SIZE]
    settings = await request.call(wire.GET_REGISTRATION_SETTINGS)
    return {
        "mode_text": MODES[settings.mode],
        "state": state,
        "states": STATES,
        "registration_list": page_registrations,
        "next_path": f"{CONSOLE_PATH}{PATH}?state={state}&after={int(page_registrations[-1].id)}"
        if len(registrations) > PAGE_SIZE
        else None,
        "invite_list": await request.call(wire.LIST_REGISTRATION_INVITES),
    }
