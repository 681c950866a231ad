"""What needs the operator's approval, and the terms of the social layer."""

from typing import Any

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import developers
from hubbub.protocol.scopes import SOCIAL_LAYER_FLAGS
from hubbub.server.transports.web.portal.common import ONE, address, change, load, refuse, show
from hubbub.server.transports.web.visits import Visit, page

HERE = ONE + "/approvals"

STATES = {
    "open": "Open to this application",
    "none": "Needs approval",
    "pending": "Asked, waiting for the operator",
    "approved": "Approved",
    "denied": "Denied",
    "lapsed": "Ran out",
}


@page("GET", HERE)
async def show_approvals(visit: Visit) -> web.Response:
    """Every scope that needs one, and what came of it."""
    application = await load(visit)
    return show(visit, "approvals.html", application, **await _approvals(visit, application.flags))


@page("POST", HERE)
async def ask_for_scope(visit: Visit) -> web.Response:
    """Ask the operator."""
    form = visit.form
    body = {"kind": "scope", "name": form.text("name"), "reason": form.text("reason").strip()}
    try:
        made = await visit.ask(developers.REQUEST_APPLICATION_APPROVAL, visit.path("application_id"), body=body)
    except ApiError as error:
        application = await load(visit)
        context = await _approvals(visit, application.flags)
        return refuse(visit, "approvals.html", error, application, fields=("name", "reason"), **context)
    approved = made.state == "approved"
    said = f"{made.name} is approved." if approved else f"Asked for {made.name}. The operator decides."
    return visit.go(address(visit, "/approvals"), say=said)


@page("POST", HERE + "/social-layer")
async def accept_terms(visit: Visit) -> web.Response:
    """Accept the terms of the social layer."""
    if visit.form.ticked("accept"):
        await change(visit, {"accept_social_layer_terms": True})
        return visit.go(address(visit, "/approvals"), say="Accepted. The scopes of the social layer are open.")
    return visit.go(address(visit, "/approvals"), say="Tick the box to accept.")


async def _approvals(visit: Visit, flags: int) -> dict[str, Any]:
    approvals = await visit.ask(developers.GET_APPLICATION_APPROVALS, visit.path("application_id"))
    return {
        "approvals": approvals,
        "states": STATES,
        "social_layer": bool(flags & SOCIAL_LAYER_FLAGS),
        "askable": [
            (each.name, f"{each.name}: {each.description}")
            for each in approvals.scopes
            if each.state in ("none", "denied", "lapsed")
        ],
    }
