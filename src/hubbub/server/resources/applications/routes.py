"""Applications over HTTP."""

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import applications as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.core.work import Work
from hubbub.server.resources.applications import actions, endpoints, rules, store, views
from hubbub.server.resources.applications.facts import EventWebhooksChanged, InteractionsEndpointChanged
from hubbub.server.resources.applications.store import ApplicationRow


@handles(wire.GET_MY_APPLICATION)
def get_my_application(call: Call) -> wire.Application:
    """The calling bot's application."""
    return views.application(call.tx, _mine(call), call.now)


@handles(wire.GET_MY_OAUTH2_APPLICATION)
def get_my_oauth2_application(call: Call) -> wire.Application:
    """The calling bot's application, on the address libraries ask at login."""
    return views.application(call.tx, _mine(call), call.now)


@handles(wire.GET_APPLICATION)
def get_application(call: Call, application_id: ApplicationId) -> wire.Application:
    """An application one manages."""
    return views.application(call.tx, rules.require_manager(call, application_id), call.now)


@handles(wire.UPDATE_MY_APPLICATION)
async def update_my_application(work: Work, body: wire.UpdateApplication) -> wire.Application:
    """Change the calling bot's application."""
    return await _update(work, _mine, body)


@handles(wire.UPDATE_APPLICATION)
async def update_application(
    work: Work, application_id: ApplicationId, body: wire.UpdateApplication
) -> wire.Application:
    """Change an application one manages."""
    return await _update(work, lambda call: rules.require_manager(call, application_id), body)


def _mine(call: Call) -> ApplicationRow:
    row = store.find_by_bot(call.tx, call.user_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    return row


_URLS = (
    "custom_install_url",
    "interactions_endpoint_url",
    "role_connections_verification_url",
    "event_webhooks_url",
)
_PLAIN = (
    "install_params",
    "event_webhooks_types",
    "event_webhooks_status",
    "explicit_content_filter",
    "max_participants",
)


async def _update(work: Work, find: Callable[[Call], ApplicationRow], body: wire.UpdateApplication) -> wire.Application:
    await endpoints.require_sound(work, find, body)
    return await work.write(lambda call: _change(call, find(call), body))


def _change(call: Call, row: ApplicationRow, body: wire.UpdateApplication) -> wire.Application:
    kept = views.settings(row)
    defaults = views.Settings()
    for name in _URLS:
        if (value := getattr(body, name)) is not UNSET:
            setattr(kept, name, rules.require_url(name, value))
    for name in _PLAIN:
        if (value := getattr(body, name)) is not UNSET:
            setattr(kept, name, getattr(defaults, name) if value is None else value)
    row = row._replace(settings=json.encode(kept).decode())
    if body.description is not UNSET:
        text = body.description.default if isinstance(body.description, wire.LocalizedDescription) else body.description
        row = row._replace(description=text or "")
    if body.icon is not UNSET:
        row = row._replace(icon=body.icon.hash if body.icon else None)
    if body.cover_image is not UNSET:
        row = row._replace(cover_image=body.cover_image.hash if body.cover_image else None)
    if body.tags is not UNSET:
        row = row._replace(tags=json.encode(body.tags or []).decode())
    if body.integration_types_config is not UNSET:
        supported: dict[str, Any] = {
            key: value or {} for key, value in (body.integration_types_config or {}).items() if key in ("0", "1")
        }
        row = row._replace(integration_types_config=json.encode(supported).decode())
    if body.flags is not UNSET and body.flags is not None:
        row = row._replace(flags=rules.allowed_flags(call, row, body.flags))
    actions.change(call, row)
    if body.event_webhooks_url is not UNSET or body.event_webhooks_status is not UNSET:
        call.tell(EventWebhooksChanged(ApplicationId(row.id)))
    if body.interactions_endpoint_url is not UNSET:
        call.tell(InteractionsEndpointChanged(ApplicationId(row.id)))
    return views.application(call.tx, row, call.now)
