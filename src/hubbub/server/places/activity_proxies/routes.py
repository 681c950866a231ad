"""HTTP handlers for URL maps and proxy tickets, and functions for the proxy server and for loading a world."""

from collections.abc import Sequence

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import activity_proxies as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.core.url_maps import ActivitySite
from hubbub.server.identity import applications
from hubbub.server.places import activity_instances
from hubbub.server.places.activity_proxies import rules, store, tickets
from hubbub.server.places.activity_proxies.store import MappingRow


@handles(wire.GET_PROXY_CONFIG)
def get_proxy_config(call: Call, application_id: ApplicationId) -> wire.ProxyConfig:
    """Get the URL map of an application."""
    applications.access.require_viewer(call, application_id)
    rows = store.list_mappings(call.tx, application_id)
    return wire.ProxyConfig(url_map=[wire.UrlMapping(prefix=row.prefix, target=row.target) for row in rows])


@handles(wire.UPDATE_PROXY_CONFIG)
def update_proxy_config(call: Call, application_id: ApplicationId, body: wire.ProxyConfig) -> wire.ProxyConfig:
    """Replace the URL map of an application.

    The map applies from the next request on."""
    applications.access.require_manager(call, application_id)
    rows = save_url_map(call, application_id, body.url_map)
    return wire.ProxyConfig(url_map=[wire.UrlMapping(prefix=row.prefix, target=row.target) for row in rows])


@handles(wire.CREATE_PROXY_TICKET, writes=False)
def create_proxy_ticket(call: Call, application_id: ApplicationId, body: wire.CreateProxyTicket) -> Response:
    """Create a proxy ticket.

    The caller must take part in the activity."""
    row = applications.find(call.tx, application_id)
    if row is None:
        raise errors.UNKNOWN_APPLICATION()
    if body.instance_id is UNSET:
        instance = activity_instances.find_last_joined(call.tx, application_id, call.user_id)
        if instance is None:
            raise errors.INVALID_ACTIVITY_ACTION()
    else:
        instance = activity_instances.require_instance(call, application_id, body.instance_id)
        if not activity_instances.is_participant(call.tx, instance.id, call.user_id):
            raise errors.NOT_FOUND()
    return Response(200, wire.ProxyTicket(ticket=tickets.issue(call, row, instance)), {"Cache-Control": "no-store"})


def save_url_map(call: Call, application_id: int, url_map: Sequence[wire.UrlMapping]) -> list[MappingRow]:
    """Validate and store a URL map. Return the stored rows."""
    rows = rules.require_url_map(url_map, allow_private=call.config.allow_private_targets)
    store.replace_mappings(call.tx, application_id, rows)
    return rows


def find_site(call: Call, application_id: int, ticket_texts: Sequence[str]) -> ActivitySite | None:
    """Return the URL map and the valid ticket of a request, or None if the application has no activity.

    `ticket_texts` are the tickets of the request; the first valid ticket identifies the participant."""
    row = applications.find(call.tx, application_id)
    if row is None or not row.flags & ApplicationFlags.EMBEDDED:
        return None
    verified_tickets = (tickets.verify(call, row, ticket_text) for ticket_text in ticket_texts)
    return ActivitySite(
        store.list_mappings(call.tx, application_id),
        next((ticket for ticket in verified_tickets if ticket is not None), None),
    )
