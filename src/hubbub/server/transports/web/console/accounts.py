"""The account pages of the operator console: search, details and actions."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources import file_administration
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web import data_export_responses
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    SearchPage,
    TargetPage,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.console.texts import grace_periods
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/users"
"""Path of the page, relative to `CONSOLE_PATH`."""
USER_PATH: Final = PATH + r"/{user_id:\d{1,19}}"
STATES: Final = (
    ("", gettext_noop("All accounts")),
    ("suspended", gettext_noop("Suspended")),
    ("deleting", gettext_noop("Being deleted")),
)


@console_page("GET", "")
async def open_console(request: PageRequest, operator: Operator) -> web.Response:
    """Redirect to the first section of the console."""
    return request.redirect(CONSOLE_PATH + PATH)


@console_page("GET", PATH)
async def list_accounts(request: PageRequest, operator: Operator) -> web.Response:
    """Search accounts."""
    search = SearchPage(request, PATH, STATES)
    accounts = search.cut(await request.call(wire.SEARCH_USERS, query=search.query))
    return render(request, "accounts.html", operator, accounts=accounts, search=search)


@console_page("GET", USER_PATH)
async def show_account(request: PageRequest, operator: Operator) -> web.Response:
    """Show an account and the actions of operators on it."""
    return render(request, "account.html", operator, **await _account_context(request))


@console_page("POST", USER_PATH + "/suspend")
async def suspend_account(request: PageRequest, operator: Operator) -> web.Response:
    """Suspend an account, until the end date of the form if there is one."""
    form, body = request.form, dict[str, Any]()
    body["reason"] = form.trimmed("reason")
    if form.trimmed("ends_at"):
        body["ends_at"] = f"{form.trimmed('ends_at')}T00:00:00Z"
    return await PAGE.act(
        request, operator, wire.SUSPEND_USER, body, gettext("Account suspended."), ("reason", "ends_at")
    )


@console_page("POST", USER_PATH + "/unsuspend")
async def unsuspend_account(request: PageRequest, operator: Operator) -> web.Response:
    """Lift the suspension of an account."""
    return await PAGE.act(request, operator, wire.UNSUSPEND_USER, reason_body(request), gettext("Suspension lifted."))


@console_page("POST", USER_PATH + "/end-sessions")
async def end_sessions(request: PageRequest, operator: Operator) -> web.Response:
    """Log a user out everywhere."""
    return await PAGE.act(
        request, operator, wire.END_USER_SESSIONS, reason_body(request), gettext("All sessions ended.")
    )


@console_page("POST", USER_PATH + "/delete")
async def delete_account(request: PageRequest, operator: Operator) -> web.Response:
    """Delete an account after its username was typed to confirm."""
    form = request.form
    body: dict[str, Any] = {"reason": form.trimmed("deletion_reason")}
    if form.trimmed("grace_days").isdecimal():
        body["grace_days"] = int(form.trimmed("grace_days"))
    fields = ("deletion_reason", "grace_days", "confirm")
    context = await _account_context(request)
    if form.trimmed("confirm") != context["account"].username:
        error = errors.invalid("confirm", "NAME_DIFFERS", gettext("Type the username exactly as shown."))
        return render_errors(request, "account.html", error, operator, fields=fields, **context)
    return await PAGE.act(request, operator, wire.DELETE_USER, body, gettext("The account is being deleted."), fields)


@console_page("POST", USER_PATH + "/restore")
async def restore_account(request: PageRequest, operator: Operator) -> web.Response:
    """Cancel the deletion of an account."""
    return await PAGE.act(request, operator, wire.RESTORE_USER, reason_body(request), gettext("Account restored."))


@console_page("POST", USER_PATH + "/export")
async def export_account(request: PageRequest, operator: Operator) -> web.Response:
    """Export the data of an account as one JSON file."""
    user_id = request.path_parameter("user_id")
    account = await request.call(wire.EXPORT_USER, user_id, body=reason_body(request))
    return data_export_responses.build_response(
        account, lambda query: request.call(wire.LIST_EXPORTED_MESSAGES, user_id, query=query)
    )


async def _account_context(request: PageRequest) -> dict[str, Any]:
    user_id = request.path_parameter("user_id")
    return {
        "account": await request.call(wire.GET_ADMINISTERED_USER, user_id),
        "storage": await request.call(file_administration.GET_USER_STORAGE, user_id),
        "entries": await request.call(wire.LIST_OPERATOR_ACTIONS, query={"target_id": [user_id], "limit": ["20"]}),
        "grace_periods": grace_periods(),
    }


def _replace_error(error: ApiError) -> ApiError:
    if error.kind is errors.MUST_TRANSFER_OWNERSHIP:
        message = gettext(
            "This user owns guilds or applications. Transfer or delete them before you delete the account."
        )
        return errors.FORBIDDEN(message=message)
    return error


PAGE: Final = TargetPage(PATH, "user_id", "account.html", wire.DELETE_USER, _account_context, _replace_error)
