"""The proxy of activities over HTTP: where its paths lead."""

from collections.abc import Sequence

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import activity_proxies as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.core.url_maps import Site
from hubbub.server.resources import applications
from hubbub.server.resources.activity_proxies import rules, store


@handles(wire.GET_PROXY_CONFIG)
def get_proxy_config(call: Call, application_id: ApplicationId) -> wire.ProxyConfig:
    """The URL map of an application one manages."""
    applications.require_manager(call, application_id)
    rows = store.list_mappings(call.tx, application_id)
    return wire.ProxyConfig(url_map=[wire.UrlMapping(prefix=row.prefix, target=row.target) for row in rows])


@handles(wire.UPDATE_PROXY_CONFIG)
def update_proxy_config(call: Call, application_id: ApplicationId, body: wire.ProxyConfig) -> wire.ProxyConfig:
    """Let the paths of an application's host lead elsewhere, from the next request on."""
    applications.require_manager(call, application_id)
    rows = rules.require_map(body.url_map, allow_private=call.config.private_targets)
    store.replace_mappings(call.tx, application_id, rows)
    return wire.ProxyConfig(url_map=[wire.UrlMapping(prefix=row.prefix, target=row.target) for row in rows])


def find_site(call: Call, application_id: int, tickets: Sequence[str]) -> Site | None:
    """What is served on an application's host; None where it has no activity."""
    row = applications.find(call.tx, application_id)
    if row is None or not row.flags & ApplicationFlags.EMBEDDED:
        return None
    return Site(store.list_mappings(call.tx, application_id), None)
