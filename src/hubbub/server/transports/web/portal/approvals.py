"""Portal page for scopes that need the operator's approval, and for the terms of the social layer."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.protocol.scopes import SOCIAL_LAYER_FLAGS
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
    update_application,
)

PATH: Final = APPLICATION_PATH + "/approvals"

STATE_LABELS: Final = {
    # The scope needs no approval.
    "open": gettext_noop("Available"),
    "none": gettext_noop("Needs approval"),
    "pending": gettext_noop("Waiting for the operator"),
    "approved": gettext_noop("Granted"),
    "denied": gettext_noop("Denied"),
    "expired": gettext_noop("Expired"),
}
"""Labels by state of an approval."""


@page("GET", PATH)
async def show_approvals(request: PageRequest) -> web.Response:
    """List the scopes that need approval and their states."""
    application = await load_application(request)
    return render(request, "approvals.html", application, **await _approvals_context(request, application.flags))


@page("POST", PATH)
async def request_approval(request: PageRequest) -> web.Response:
    """Request approval of a scope."""
    form = request.form
    body = {"kind": "scope", "name": form.text("name"), "reason": form.text("reason").strip()}
    try:
        approval = await request.call(
            developers.REQUEST_APPLICATION_APPROVAL, request.path_parameter("application_id"), body=body
        )
    except ApiError as error:
        application = await load_application(request)
        context = await _approvals_context(request, application.flags)
        return render_errors(request, "approvals.html", error, application, fields=("name", "reason"), **context)
    is_approved = approval.state == "approved"
    notice = (
        gettext("{name} is approved.", name=approval.name)
        if is_approved
        else gettext("Requested {name}. The operator will review it.", name=approval.name)
    )
    return request.redirect(section_path(request, "/approvals"), notice=notice)


@page("POST", PATH + "/social-layer")
async def accept_terms(request: PageRequest) -> web.Response:
    """Accept the terms of the social layer, if the checkbox is checked."""
    if request.form.checked("accept"):
        await update_application(request, {"accept_social_layer_terms": True})
        notice = gettext("Terms accepted. The social layer scopes are now available.")
    else:
        notice = gettext("Check the box to accept the terms.")
    return request.redirect(section_path(request, "/approvals"), notice=notice)


async def _approvals_context(request: PageRequest, flags: int) -> dict[str, Any]:
    approvals = await request.call(developers.GET_APPLICATION_APPROVALS, request.path_parameter("application_id"))
    return {
        "approvals": approvals,
        "state_labels": {state: gettext(label) for state, label in STATE_LABELS.items()},
        "social_layer": bool(flags & SOCIAL_LAYER_FLAGS),
        "requestable": [
            (scope.name, f"{scope.name}: {gettext(scope.description)}")
            for scope in approvals.scopes
            if scope.state in ("none", "denied", "expired")
        ],
    }
