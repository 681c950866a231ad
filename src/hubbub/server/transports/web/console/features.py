"""The feature page of the operator console, where operators switch features on and off."""

from typing import Any, Final

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import features as wire
from hubbub.protocol.resources.administration import Operator
from hubbub.server.core.translation import gettext
from hubbub.server.transports.web.console.common import (
    CONSOLE_PATH,
    console_page,
    reason_body,
    render,
    render_errors,
)
from hubbub.server.transports.web.console.texts import FEATURES
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/features"
"""Path of the page, relative to `CONSOLE_PATH`."""


@console_page("GET", PATH)
async def list_features(request: PageRequest, operator: Operator) -> web.Response:
    """List the features with their switches."""
    return render(request, "features.html", operator, **await _context(request))


@console_page("POST", PATH + r"/{feature_name:[a-z_]{1,40}}")
async def switch_feature(request: PageRequest, operator: Operator) -> web.Response:
    """Switch a feature on or off."""
    name, is_on = request.path_parameter("feature_name"), request.form.text("enabled") == "true"
    body: dict[str, Any] = {"enabled": is_on} | reason_body(request)
    if request.form.trimmed("message"):
        body["message"] = request.form.trimmed("message")
    try:
        await request.call(wire.SET_FEATURE, name, body=body)
    except ApiError as error:
        return render_errors(request, "features.html", error, operator, fields=(), **await _context(request))
    title = gettext(FEATURES[name][0])
    notice = (
        gettext("{feature}: switched on.", feature=title)
        if is_on
        else gettext("{feature}: switched off.", feature=title)
    )
    return request.redirect(CONSOLE_PATH + PATH, notice=notice)


async def _context(request: PageRequest) -> dict[str, Any]:
    return {"features": await request.call(wire.LIST_ADMINISTERED_FEATURES), "texts": FEATURES}
