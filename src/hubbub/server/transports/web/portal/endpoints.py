"""Portal pages for the endpoints of an application.

They are the endpoints of webhook events, interactions, linked roles and activities. The page of webhook events shows failed
deliveries too.
"""

from collections.abc import Sequence
from typing import Any

from aiohttp import web
from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import EventWebhooksStatus, WebhookEventType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import activity_proxies, webhook_events
from hubbub.protocol.resources.applications import Application
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.error_texts import translate_error
from hubbub.server.transports.web.page_requests import PageRequest, page
from hubbub.server.transports.web.portal.common import (
    APPLICATION_PATH,
    load_application,
    render,
    render_errors,
    section_path,
    update_application,
)

WEBHOOKS_PATH = APPLICATION_PATH + "/webhooks"
INTERACTIONS_PATH = APPLICATION_PATH + "/interactions"

EVENT_TEXTS = {
    WebhookEventType.APPLICATION_AUTHORIZED: (
        gettext_noop("Application authorized"),
        gettext_noop("A user authorized the application"),
    ),
    WebhookEventType.APPLICATION_DEAUTHORIZED: (
        gettext_noop("Application deauthorized"),
        gettext_noop("A user revoked the authorization or was banned"),
    ),
    WebhookEventType.ENTITLEMENT_CREATE: (
        gettext_noop("Entitlement create"),
        gettext_noop("An entitlement was purchased or granted"),
    ),
    WebhookEventType.ENTITLEMENT_UPDATE: (
        gettext_noop("Entitlement update"),
        gettext_noop("An entitlement changed or ended"),
    ),
    WebhookEventType.ENTITLEMENT_DELETE: (
        gettext_noop("Entitlement delete"),
        gettext_noop("An entitlement was revoked"),
    ),
    WebhookEventType.QUEST_USER_ENROLLMENT: (
        gettext_noop("Quest user enrollment"),
        gettext_noop("A user enrolled in a quest"),
    ),
    WebhookEventType.LOBBY_MESSAGE_CREATE: (
        gettext_noop("Lobby message create"),
        gettext_noop("A lobby message was created"),
    ),
    WebhookEventType.LOBBY_MESSAGE_UPDATE: (
        gettext_noop("Lobby message update"),
        gettext_noop("A lobby message was edited"),
    ),
    WebhookEventType.LOBBY_MESSAGE_DELETE: (
        gettext_noop("Lobby message delete"),
        gettext_noop("A lobby message was deleted"),
    ),
    WebhookEventType.GAME_DIRECT_MESSAGE_CREATE: (
        gettext_noop("Game direct message create"),
        gettext_noop("A game direct message was created"),
    ),
    WebhookEventType.GAME_DIRECT_MESSAGE_UPDATE: (
        gettext_noop("Game direct message update"),
        gettext_noop("A game direct message was edited"),
    ),
    WebhookEventType.GAME_DIRECT_MESSAGE_DELETE: (
        gettext_noop("Game direct message delete"),
        gettext_noop("A game direct message was deleted"),
    ),
}
"""Label and description of each event."""
STATUS_TEXTS: dict[int, str] = {
    EventWebhooksStatus.DISABLED: gettext_noop("Off"),
    EventWebhooksStatus.ENABLED: gettext_noop("On"),
    EventWebhooksStatus.DISABLED_BY_PLATFORM: gettext_noop("Turned off by the platform: too many deliveries failed"),
}
MAPPING_LABELS = {"prefix": gettext_noop("prefix"), "target": gettext_noop("target")}
"""Names of the parts of a URL mapping."""
FORGED_SIGNATURE_TEXT = gettext_noop(
    "Turned off by the platform: the endpoint accepted a forged signature, so its URL was removed"
)
"""Text of the status DISABLED_BY_PLATFORM without a URL (decisions/0032)."""


# Webhook events


@page("GET", WEBHOOKS_PATH)
async def show_events(request: PageRequest) -> web.Response:
    """Show the webhook URL, the selected events and the failed deliveries."""
    application = await load_application(request)
    return render(request, "webhooks.html", application, **await _events_context(request, application))


@page("POST", WEBHOOKS_PATH)
async def change_webhook_settings(request: PageRequest) -> web.Response:
    """Save the webhook settings. The URL is verified before it is stored."""
    form = request.form
    body: dict[str, Any] = {
        "event_webhooks_url": form.optional("event_webhooks_url"),
        "event_webhooks_status": int(
            EventWebhooksStatus.ENABLED if form.checked("on") else EventWebhooksStatus.DISABLED
        ),
        "event_webhooks_types": form.all("event"),
    }
    try:
        await update_application(request, body)
    except ApiError as error:
        application = await load_application(request)
        context = await _events_context(request, application)
        return render_errors(request, "webhooks.html", error, application, fields=("event_webhooks_url",), **context)
    is_verified = body["event_webhooks_url"] is not None
    notice = gettext("Endpoint verified and saved.") if is_verified else gettext("Saved.")
    return request.redirect(section_path(request, "/webhooks"), notice=notice)


@page("POST", WEBHOOKS_PATH + "/retry")
async def retry_events(request: PageRequest) -> web.Response:
    """Retry one failed delivery, or all."""
    event_id = request.form.trimmed("event_id")
    application_id = request.path_parameter("application_id")
    notice = gettext("Delivery restarted.")
    try:
        if event_id:
            await request.call(webhook_events.RETRY_FAILED_WEBHOOK_EVENT, application_id, event_id)
        else:
            await request.call(webhook_events.RETRY_FAILED_WEBHOOK_EVENTS, application_id)
    except ApiError as error:
        # The event is no longer among the failed ones: another attempt has delivered or discarded it.
        if error.kind is not errors.NOT_FOUND:
            raise
        notice = gettext("This event is no longer among the failed deliveries.")
    return request.redirect(section_path(request, "/webhooks"), notice=notice)


async def _events_context(request: PageRequest, application: Application) -> dict[str, Any]:
    try:
        failed_events = await request.call(
            webhook_events.LIST_FAILED_WEBHOOK_EVENTS, request.path_parameter("application_id"), query={"limit": ["20"]}
        )
    except ApiError as error:
        # Team members with the role READ_ONLY do not see payloads.
        if error.kind is not errors.NOT_AUTHORIZED_ON_APPLICATION:
            raise
        failed_events = []
    status = application.event_webhooks_status
    has_accepted_forgery = status == EventWebhooksStatus.DISABLED_BY_PLATFORM and not application.event_webhooks_url
    status_text = STATUS_TEXTS[EventWebhooksStatus.DISABLED if status is UNSET else status]
    return {
        "failed": failed_events,
        "url": application.event_webhooks_url or "",
        "on": status == EventWebhooksStatus.ENABLED,
        "status_text": gettext(FORGED_SIGNATURE_TEXT if has_accepted_forgery else status_text),
        "chosen_events": application.event_webhooks_types or [],
        "events": [
            (str(event_type), gettext(label), gettext(description))
            for event_type, (label, description) in EVENT_TEXTS.items()
        ],
    }


# Interactions


@page("GET", INTERACTIONS_PATH)
async def show_interactions(request: PageRequest) -> web.Response:
    """Show the interactions endpoint, the linked roles URL and the activity settings."""
    application = await load_application(request)
    return render(request, "interactions.html", application, **await _activities_context(request, application))


@page("POST", INTERACTIONS_PATH)
async def change_interactions(request: PageRequest) -> web.Response:
    """Save the endpoint URLs. The interactions endpoint is verified before it is stored."""
    field_names = ("interactions_endpoint_url", "role_connections_verification_url")
    try:
        await update_application(request, {name: request.form.optional(name) for name in field_names})
    except ApiError as error:
        application = await load_application(request)
        context = await _activities_context(request, application)
        return render_errors(request, "interactions.html", error, application, fields=field_names, **context)
    return request.redirect(section_path(request, "/interactions"), notice=gettext("Saved."))


@page("POST", INTERACTIONS_PATH + "/activities")
async def change_activities(request: PageRequest) -> web.Response:
    """Turn activities on or off."""
    await update_application(request, {"activities": request.form.checked("activities")})
    return request.redirect(section_path(request, "/interactions"), notice=gettext("Saved."))


@page("POST", INTERACTIONS_PATH + "/url-map")
async def change_url_map(request: PageRequest) -> web.Response:
    """Save the URL mappings of the activity: one prefix and target per line."""
    lines = enumerate(request.form.text("url_map").splitlines(), 1)
    parts_by_line_number = {number: line.split(maxsplit=1) for number, line in lines if line.strip()}
    url_map = [
        {"prefix": parts[0], "target": parts[1].strip() if len(parts) > 1 else ""}
        for parts in parts_by_line_number.values()
    ]
    application = await load_application(request)
    try:
        await request.call(activity_proxies.UPDATE_PROXY_CONFIG, application.id, body={"url_map": url_map})
    except ApiError as error:
        context = await _activities_context(request, application)
        numbered_error = _add_line_numbers(error, list(parts_by_line_number))
        return render_errors(request, "interactions.html", numbered_error, application, fields=("url_map",), **context)
    return request.redirect(section_path(request, "/interactions"), notice=gettext("Saved."))


async def _activities_context(request: PageRequest, application: Application) -> dict[str, Any]:
    config = await request.call(activity_proxies.GET_PROXY_CONFIG, application.id)
    return {
        "embedded": bool(application.flags & ApplicationFlags.EMBEDDED),
        "url_map": "\n".join(f"{row.prefix} {row.target}" for row in config.url_map),
        "origin": request.config.activity_origin(application.id),
    }


def _add_line_numbers(error: ApiError, line_numbers: Sequence[int]) -> ApiError:
    """Prefix the errors of each mapping with the number of its line, because the form has one field for all lines.

    Errors of the whole map have no prefix."""
    errors_by_mapping = (error.errors or {}).get("url_map", {})
    form = errors.FormErrors()
    for index, fields in errors_by_mapping.items():
        if index == "_errors":
            for leaf_error in fields:
                form.add("url_map", leaf_error["code"], leaf_error["message"])
            continue
        line_number = line_numbers[int(index)]
        for name, leaf in fields.items():
            for leaf_error in leaf.get("_errors", ()):
                message = gettext(
                    "Line {number}, {field}: {message}",
                    number=line_number,
                    field=gettext(MAPPING_LABELS.get(name, name)),
                    message=translate_error(leaf_error["message"]),
                )
                form.add("url_map", leaf_error["code"], message)
    return form.error() if form else error
