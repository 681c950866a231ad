"""The application pages of the operator console: search, details and actions."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.resources import administration
from hubbub.protocol.resources import application_administration as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.console.common import (
    SearchPage,
    TargetPage,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.console.texts import grace_periods
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/applications"
"""Path of the page, relative to `CONSOLE_PATH`."""
APPLICATION_PATH: Final = PATH + r"/{application_id:\d{1,19}}"
STATES: Final = (("", gettext_noop("All applications")), ("disabled", gettext_noop("Disabled")))


@console_page("GET", PATH)
async def list_applications(request: PageRequest, operator: Operator) -> web.Response:
    """Search applications."""
    search = SearchPage(request, PATH, STATES)
    if search.query.pop("state", None) is not None:
        search.query["disabled"] = ["true"]
    applications = search.cut(await request.call(wire.SEARCH_APPLICATIONS, query=search.query))
    return render(request, "applications.html", operator, applications=applications, search=search)


@console_page("GET", APPLICATION_PATH)
async def show_application(request: PageRequest, operator: Operator) -> web.Response:
    """Show an application and the actions of operators on it."""
    return render(request, "application.html", operator, **await _context(request))


@console_page("POST", APPLICATION_PATH + "/disable")
async def disable_application(request: PageRequest, operator: Operator) -> web.Response:
    """Disable an application for the reason of the form."""
    body = {"reason": request.form.trimmed("reason")}
    return await PAGE.act(
        request, operator, wire.DISABLE_APPLICATION, body, gettext("Application disabled."), ("reason",)
    )


@console_page("POST", APPLICATION_PATH + "/enable")
async def enable_application(request: PageRequest, operator: Operator) -> web.Response:
    """Enable a disabled application."""
    return await PAGE.act(
        request, operator, wire.ENABLE_APPLICATION, reason_body(request), gettext("Application enabled.")
    )


@console_page("POST", APPLICATION_PATH + "/delete")
async def delete_application(request: PageRequest, operator: Operator) -> web.Response:
    """Delete an application after its name was typed to confirm."""
    fields, context = ("deletion_reason", "grace_days", "confirm"), await _context(request)
    if request.form.trimmed("confirm") != context["application"].name:
        error = errors.invalid("confirm", "NAME_DIFFERS", gettext("Type the name of the application exactly as shown."))
        return render_errors(request, "application.html", error, operator, fields=fields, **context)
    body: dict[str, Any] = {
        "reason": request.form.trimmed("deletion_reason"),
        "delete_messages": bool(request.form.trimmed("delete_messages")),
    }
    if request.form.trimmed("grace_days").isdecimal():
        body["grace_days"] = int(request.form.trimmed("grace_days"))
    operation = wire.ADMINISTRATIVELY_DELETE_APPLICATION
    return await PAGE.act(request, operator, operation, body, gettext("The application is being deleted."), fields)


@console_page("POST", APPLICATION_PATH + "/restore")
async def restore_application(request: PageRequest, operator: Operator) -> web.Response:
    """Cancel the deletion of an application."""
    return await PAGE.act(
        request, operator, wire.RESTORE_APPLICATION, reason_body(request), gettext("Application restored.")
    )


async def _context(request: PageRequest) -> dict[str, Any]:
    application_id = request.path_parameter("application_id")
    query = {"target_id": [application_id], "limit": ["20"]}
    return {
        "application": await request.call(wire.GET_ADMINISTERED_APPLICATION, application_id),
        "entries": await request.call(administration.LIST_OPERATOR_ACTIONS, query=query),
        "grace_periods": grace_periods(),
    }


PAGE: Final = TargetPage(
    PATH,
    "application_id",
    "application.html",
    wire.ADMINISTRATIVELY_DELETE_APPLICATION,
    _context,
)
