"""Portal page for the rollover of an application's signing key."""

from datetime import UTC, datetime
from typing import Any, Final

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import application_keys
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
)

PATH: Final = APPLICATION_PATH + "/keys"


@page("GET", PATH)
async def show_keys(request: PageRequest) -> web.Response:
    """Show the signing keys and the next step of the rollover."""
    return render(request, "keys.html", await load_application(request), **await _keys_context(request))


@page("POST", PATH + "/prepare")
async def create_next_key(request: PageRequest) -> web.Response:
    """Create the key that the rollover switches to later."""
    return await _run_rollover_step(
        request, application_keys.PREPARE_KEY_ROLLOVER, gettext("The next key is shown below. It is not used yet.")
    )


@page("POST", PATH + "/switch")
async def switch_key(request: PageRequest) -> web.Response:
    """Switch to the next key, immediately or at the time of the form, which is in UTC."""
    time_text = request.form.trimmed("switch_at")
    if not time_text or request.form.text("when") == "now":
        days = application_keys.KEY_OVERLAP_DAYS
        notice = gettext("Requests are now signed with the new key. You can switch back for {days} days.", days=days)
        return await _run_rollover_step(request, application_keys.SWITCH_SIGNING_KEY, notice, body={})
    try:
        switch_at = datetime.fromisoformat(time_text).replace(tzinfo=UTC).isoformat()
    except ValueError:
        switch_at = time_text
    notice = gettext("The switch is scheduled.")
    return await _run_rollover_step(request, application_keys.SWITCH_SIGNING_KEY, notice, body={"switch_at": switch_at})


@page("POST", PATH + "/restore")
async def restore_key(request: PageRequest) -> web.Response:
    """Use the previous key again."""
    notice = gettext("Requests are signed with the previous key again. The new key stays prepared.")
    return await _run_rollover_step(request, application_keys.RESTORE_SIGNING_KEY, notice)


@page("POST", PATH + "/finish")
async def delete_other_key(request: PageRequest) -> web.Response:
    """Delete the next or previous key."""
    return await _run_rollover_step(
        request, application_keys.DELETE_KEY_ROLLOVER, gettext("The other key was deleted.")
    )


async def _run_rollover_step(
    request: PageRequest, operation: Any, notice: str, body: dict[str, Any] | None = None
) -> web.Response:
    """Call an operation of the rollover and show the page again, with the notice or with the errors."""
    try:
        await request.call(operation, request.path_parameter("application_id"), body=body)
    except ApiError as error:
        if error.kind is errors.NOT_FOUND:
            return request.redirect(section_path(request, "/keys"), notice=gettext("This step is no longer possible."))
        if error.kind is errors.NOT_AUTHORIZED_ON_APPLICATION:
            raise
        application = await load_application(request)
        context = await _keys_context(request)
        return render_errors(request, "keys.html", error, application, fields=("switch_at",), **context)
    return request.redirect(section_path(request, "/keys"), notice=notice)


async def _keys_context(request: PageRequest) -> dict[str, Any]:
    rollover = await request.call(application_keys.GET_KEY_ROLLOVER, request.path_parameter("application_id"))
    return {"rollover": rollover, "days": application_keys.KEY_OVERLAP_DAYS}
