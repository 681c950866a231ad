"""Portal pages for the log of webhook events and interactions that were sent to an application."""

import json
from typing import Any, Final, get_args

from aiohttp import web

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import deliveries
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import APPLICATION_PATH, load_application, render, section_path

PATH: Final = APPLICATION_PATH + "/log"
DELIVERY_PATH: Final = PATH + r"/{delivery_id:\d{1,19}}"
PAGE_SIZE: Final = 25

STATES: Final = {
    "waiting": ("pending", gettext_noop("Waiting for the next attempt")),
    "delivered": ("approved", gettext_noop("Delivered")),
    "failed": ("denied", gettext_noop("Failed")),
}
"""CSS class and label of each state."""
KINDS: Final = {"event": gettext_noop("Webhook events"), "interaction": gettext_noop("Interactions")}


@page("GET", PATH)
async def show_log(request: PageRequest) -> web.Response:
    """List the deliveries, newest first, with filters for kind and state."""
    application = await load_application(request)
    kind, state, before = (request.query_parameter(name) for name in ("kind", "state", "before"))
    query = {"limit": [str(PAGE_SIZE + 1)]}
    if kind in get_args(deliveries.DeliveryKind):
        query["kind"] = [kind]
    if state in get_args(deliveries.DeliveryState):
        query["state"] = [state]
    if before.isascii() and before.isdigit() and len(before) < 20:
        query["before"] = [before]
    found_deliveries = await request.call(deliveries.LIST_DELIVERIES, application.id, query=query)
    return render(
        request,
        "log.html",
        application,
        deliveries=found_deliveries[:PAGE_SIZE],
        next_id=f"{found_deliveries[PAGE_SIZE - 1].id:d}" if len(found_deliveries) > PAGE_SIZE else None,
        **_labels(),
        chosen_kind=kind if "kind" in query else "",
        chosen_state=state if "state" in query else "",
        count_max=deliveries.DELIVERIES_MAX,
        days=deliveries.DELIVERY_DAYS,
    )


@page("GET", DELIVERY_PATH)
async def show_delivery(request: PageRequest) -> web.Response:
    """Show the request and the response of a delivery."""
    application = await load_application(request)
    delivery = await request.call(deliveries.GET_DELIVERY, application.id, request.path_parameter("delivery_id"))
    return render(
        request,
        "delivery.html",
        application,
        delivery=delivery,
        **_labels(),
        body=_indent(delivery.body),
        response_body=_indent(delivery.response_body),
    )


@page("POST", DELIVERY_PATH + "/resend")
async def resend(request: PageRequest) -> web.Response:
    """Send a webhook event again."""
    path_ids: tuple[Any, Any] = request.path_parameter("application_id"), request.path_parameter("delivery_id")
    try:
        await request.call(deliveries.RESEND_DELIVERY, *path_ids)
    except ApiError as error:
        if error.kind is not errors.NOT_FOUND:
            raise
        return request.redirect(section_path(request, "/log"), notice=gettext("This delivery is no longer in the log."))
    notice = gettext("The event is being sent again. Reload this page to see the result.")
    return request.redirect(section_path(request, "/log"), notice=notice)


def _labels() -> dict[str, Any]:
    """Return the template variables with the labels of states and kinds."""
    return {
        "states": {state: (css_class, gettext(label)) for state, (css_class, label) in STATES.items()},
        "kinds": {kind: gettext(label) for kind, label in KINDS.items()},
    }


def _indent(body: str) -> str:
    """Return JSON with indentation; other text unchanged."""
    try:
        return json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        return body
