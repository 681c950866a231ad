"""The guild pages of the operator console: search, details and actions."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import administration, file_administration
from hubbub.protocol.resources import guild_administration as wire
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

PATH: Final = "/guilds"
"""Path of the page, relative to `CONSOLE_PATH`."""
GUILD_PATH: Final = PATH + r"/{guild_id:\d{1,19}}"
STATES: Final = (
    ("", gettext_noop("All guilds")),
    ("suspended", gettext_noop("Suspended")),
    ("deleting", gettext_noop("Being deleted")),
)


@console_page("GET", PATH)
async def list_guilds(request: PageRequest, operator: Operator) -> web.Response:
    """Search guilds."""
    search = SearchPage(request, PATH, STATES)
    guilds = search.cut(await request.call(wire.SEARCH_GUILDS, query=search.query))
    return render(request, "guilds.html", operator, guilds=guilds, search=search)


@console_page("GET", GUILD_PATH)
async def show_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Show a guild and the actions of operators on it."""
    return render(request, "guild.html", operator, **await _context(request))


@console_page("POST", GUILD_PATH + "/suspend")
async def suspend_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Suspend a guild for the reason of the form."""
    body = {"reason": request.form.trimmed("reason")}
    return await PAGE.act(request, operator, wire.SUSPEND_GUILD, body, gettext("Guild suspended."), ("reason",))


@console_page("POST", GUILD_PATH + "/unsuspend")
async def unsuspend_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Lift the suspension of a guild."""
    return await PAGE.act(request, operator, wire.UNSUSPEND_GUILD, reason_body(request), gettext("Suspension lifted."))


@console_page("POST", GUILD_PATH + "/transfer")
async def transfer_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Make the member with the entered username the owner of a guild."""
    username = request.form.trimmed("owner")[: administration.SEARCH_TEXT_MAX]
    matching_users = await request.call(administration.SEARCH_USERS, query={"username": [username]}) if username else []
    if not matching_users:
        error = errors.invalid("owner", "UNKNOWN_USER", gettext("There is no user with this name."))
        return render_errors(request, "guild.html", error, operator, fields=("owner",), **await _context(request))
    body = {"owner_id": str(int(matching_users[0].id))} | reason_body(request)
    return await PAGE.act(request, operator, wire.TRANSFER_GUILD, body, gettext("Ownership transferred."), ("owner",))


@console_page("POST", GUILD_PATH + "/delete")
async def delete_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Delete a guild after its name was typed to confirm."""
    form = request.form
    body: dict[str, Any] = {"reason": form.trimmed("deletion_reason")}
    if form.trimmed("grace_days").isdecimal():
        body["grace_days"] = int(form.trimmed("grace_days"))
    fields = ("deletion_reason", "grace_days", "confirm")
    context = await _context(request)
    if form.trimmed("confirm") != context["guild"].name:
        error = errors.invalid("confirm", "NAME_DIFFERS", gettext("Type the name of the guild exactly as shown."))
        return render_errors(request, "guild.html", error, operator, fields=fields, **context)
    notice = gettext("The guild is being deleted.")
    return await PAGE.act(request, operator, wire.ADMINISTRATIVELY_DELETE_GUILD, body, notice, fields)


@console_page("POST", GUILD_PATH + "/restore")
async def restore_guild(request: PageRequest, operator: Operator) -> web.Response:
    """Cancel the deletion of a guild."""
    return await PAGE.act(request, operator, wire.RESTORE_GUILD, reason_body(request), gettext("Guild restored."))


async def _context(request: PageRequest) -> dict[str, Any]:
    guild_id = request.path_parameter("guild_id")
    query = {"target_id": [guild_id], "limit": ["20"]}
    return {
        "guild": await request.call(wire.GET_ADMINISTERED_GUILD, guild_id),
        "storage": await request.call(file_administration.GET_GUILD_STORAGE, guild_id),
        "entries": await request.call(administration.LIST_OPERATOR_ACTIONS, query=query),
        "grace_periods": grace_periods(),
    }


def _replace_error(error: ApiError) -> ApiError:
    if error.kind is errors.UNKNOWN_MEMBER:
        return errors.invalid("owner", "UNKNOWN_MEMBER", gettext("This user is not a member of the guild."))
    return error


PAGE: Final = TargetPage(PATH, "guild_id", "guild.html", wire.ADMINISTRATIVELY_DELETE_GUILD, _context, _replace_error)
