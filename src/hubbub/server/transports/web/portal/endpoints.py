"""Where an application hears from the platform: webhook events with what could not be delivered, and interactions."""

from typing import Any

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import WebhookEventType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import activity_proxies, webhook_events
from hubbub.protocol.resources.applications import Application
from hubbub.server.transports.web.portal.common import ONE, address, change, load, refuse, show
from hubbub.server.transports.web.visits import Visit, page

EVENTS = ONE + "/webhooks"
INTERACTIONS = ONE + "/interactions"

WORDS = {
    WebhookEventType.APPLICATION_AUTHORIZED: "Somebody let the application in",
    WebhookEventType.APPLICATION_DEAUTHORIZED: "Somebody unlinked it, or was banned",
    WebhookEventType.ENTITLEMENT_CREATE: "Somebody bought something, or was given it",
    WebhookEventType.ENTITLEMENT_UPDATE: "What somebody has changed, or ended",
    WebhookEventType.ENTITLEMENT_DELETE: "It was taken back",
    WebhookEventType.QUEST_USER_ENROLLMENT: "Somebody began a quest",
    WebhookEventType.LOBBY_MESSAGE_CREATE: "A message in a lobby",
    WebhookEventType.LOBBY_MESSAGE_UPDATE: "A message in a lobby was changed",
    WebhookEventType.LOBBY_MESSAGE_DELETE: "A message in a lobby was deleted",
    WebhookEventType.GAME_DIRECT_MESSAGE_CREATE: "A direct message in the game",
    WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE: "A direct message in the game was changed",
    WebhookEventType.GAME_DIRECT_MESSAGE_DELETE: "A direct message in the game was deleted",
}
STATUSES = {1: "Off", 2: "On", 3: "Switched off by the platform: too much could not be delivered"}
FORGED = "Switched off by the platform: a request with a forged signature was taken, so the address was removed"
"""Of status 3 without an address (decisions/0032)."""


# Webhook events


@page("GET", EVENTS)
async def show_events(visit: Visit) -> web.Response:
    """The address, what is sent there, and what could not be."""
    application = await load(visit)
    return show(visit, "webhooks.html", application, **await _events(visit, application))


@page("POST", EVENTS)
async def change_events(visit: Visit) -> web.Response:
    """Keep an address that proved itself."""
    form = visit.form
    body: dict[str, Any] = {
        "event_webhooks_url": form.optional("event_webhooks_url"),
        "event_webhooks_status": 2 if form.ticked("on") else 1,
        "event_webhooks_types": form.all("event"),
    }
    try:
        await change(visit, body)
    except ApiError as error:
        application = await load(visit)
        context = await _events(visit, application)
        return refuse(visit, "webhooks.html", error, application, fields=("event_webhooks_url",), **context)
    checked = body["event_webhooks_url"] is not None
    return visit.go(address(visit, "/webhooks"), say="Checked and saved." if checked else "Saved.")


@page("POST", EVENTS + "/retry")
async def retry_events(visit: Visit) -> web.Response:
    """Deliver again what was given up: one, or all."""
    one = visit.form.line("event_id")
    application_id = visit.path("application_id")
    try:
        if one:
            await visit.ask(webhook_events.RETRY_FAILED_WEBHOOK_EVENT, application_id, one)
        else:
            await visit.ask(webhook_events.RETRY_FAILED_WEBHOOK_EVENTS, application_id)
    except ApiError as error:
        if error.kind is not errors.NOT_FOUND:
            raise
    return visit.go(address(visit, "/webhooks"), say="Under way again.")


async def _events(visit: Visit, application: Application) -> dict[str, Any]:
    failed = await visit.ask(
        webhook_events.LIST_FAILED_WEBHOOK_EVENTS, visit.path("application_id"), query={"limit": ["20"]}
    )
    status = application.event_webhooks_status
    forged = status == 3 and not application.event_webhooks_url
    return {
        "failed": failed,
        "url": application.event_webhooks_url or "",
        "on": status == 2,
        "condition": FORGED if forged else STATUSES.get(status if status is not UNSET else 1, "Off"),
        "chosen": application.event_webhooks_types or [],
        "events": [(str(kind), words) for kind, words in WORDS.items()],
    }


# Interactions


@page("GET", INTERACTIONS)
async def show_interactions(visit: Visit) -> web.Response:
    """Where interactions go, where linked roles are proved, whether there are activities and where their paths lead."""
    application = await load(visit)
    return show(visit, "interactions.html", application, **await _activities(visit, application))


@page("POST", INTERACTIONS)
async def change_interactions(visit: Visit) -> web.Response:
    """Keep addresses that proved themselves."""
    names = ("interactions_endpoint_url", "role_connections_verification_url")
    try:
        await change(visit, {name: visit.form.optional(name) for name in names})
    except ApiError as error:
        application = await load(visit)
        context = await _activities(visit, application)
        return refuse(visit, "interactions.html", error, application, fields=names, **context)
    return visit.go(address(visit, "/interactions"), say="Saved.")


@page("POST", INTERACTIONS + "/activities")
async def change_activities(visit: Visit) -> web.Response:
    """Let the application be launched, or no more."""
    await change(visit, {"activities": visit.form.ticked("activities")})
    return visit.go(address(visit, "/interactions"), say="Saved.")


@page("POST", INTERACTIONS + "/url-map")
async def change_url_map(visit: Visit) -> web.Response:
    """Let the paths of its activity lead elsewhere: a line for each, with the prefix and the target."""
    lines = [line.split(maxsplit=1) for line in visit.form.text("url_map").splitlines() if line.strip()]
    rows = [{"prefix": words[0], "target": words[1].strip() if len(words) > 1 else ""} for words in lines]
    application = await load(visit)
    try:
        await visit.ask(activity_proxies.UPDATE_PROXY_CONFIG, application.id, body={"url_map": rows})
    except ApiError as error:
        context = await _activities(visit, application)
        told = _by_line(error)
        return refuse(visit, "interactions.html", told, application, fields=("url_map",), **context)
    return visit.go(address(visit, "/interactions"), say="Saved.")


async def _activities(visit: Visit, application: Application) -> dict[str, Any]:
    kept = await visit.ask(activity_proxies.GET_PROXY_CONFIG, application.id)
    return {
        "embedded": bool(application.flags & ApplicationFlags.EMBEDDED),
        "url_map": "\n".join(f"{row.prefix} {row.target}" for row in kept.url_map),
        "origin": visit.config.activity_origin(application.id),
    }


def _by_line(error: ApiError) -> ApiError:
    """The same with the number of the line in words, for all lines are one field."""
    rows = (error.errors or {}).get("url_map", {})
    form = errors.FormErrors()
    for place, fields in rows.items():
        if place == "_errors":
            for wrong in fields:
                form.add("url_map", wrong["code"], wrong["message"])
            continue
        for name, inner in fields.items():
            for wrong in inner.get("_errors", ()):
                form.add("url_map", wrong["code"], f"Line {int(place) + 1}, {name}: {wrong['message']}")
    return form.error() if form else error
