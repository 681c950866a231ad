"""The announcement page of the operator console: list, creation and end of announcements."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import announcements as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.console.texts import translate_labels
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/announcements"
"""Path of the page, relative to `CONSOLE_PATH`."""
LEVELS: Final = (
    ("info", gettext_noop("Information")),
    ("warning", gettext_noop("Warning")),
    ("critical", gettext_noop("Critical")),
)
STATES: Final = {
    "scheduled": gettext_noop("Scheduled"),
    "active": gettext_noop("Shown"),
    "ended": gettext_noop("Past"),
}
FIELDS: Final = ("content", "level", "starts_at", "ends_at")


@console_page("GET", PATH)
async def list_announcements(request: PageRequest, operator: Operator) -> web.Response:
    """List the announcements with their states."""
    return render(request, "announcements.html", operator, **await _context(request))


@console_page("POST", PATH)
async def create_announcement(request: PageRequest, operator: Operator) -> web.Response:
    """Create an announcement. The times of the form are in UTC."""
    form = request.form
    body: dict[str, Any] = {"content": form.trimmed("content"), "level": form.text("level")} | reason_body(request)
    for name in ("starts_at", "ends_at"):
        if form.trimmed(name):
            # A field of the type `datetime-local` has no time zone, and usually no seconds.
            body[name] = f"{form.trimmed(name)}{':00' if form.trimmed(name).count(':') == 1 else ''}Z"
    try:
        await request.call(wire.CREATE_ANNOUNCEMENT, body=body)
    except ApiError as error:
        context = await _context(request)
        return render_errors(request, "announcements.html", error, operator, fields=FIELDS, **context)
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Announcement created."))


@console_page("POST", PATH + r"/{announcement_id:\d{1,19}}/end")
async def end_announcement(request: PageRequest, operator: Operator) -> web.Response:
    """End an announcement, so that pages no longer show it."""
    await request.call(wire.END_ANNOUNCEMENT, request.path_parameter("announcement_id"), body=reason_body(request))
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Announcement ended."))


async def _context(request: PageRequest) -> dict[str, Any]:
    return {
        "announcement_list": await request.call(wire.LIST_ANNOUNCEMENTS, query={}),
        "levels": translate_labels(LEVELS),
        "states": STATES,
    }
