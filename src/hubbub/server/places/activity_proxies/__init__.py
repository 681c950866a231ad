"""The activity proxy: URL maps of applications and the tickets that identify a participant."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places.activity_proxies import routes, store
from hubbub.server.places.activity_proxies.routes import find_site, save_url_map

SLICE = Slice(
    name="activity_proxies",
    modules=(routes,),
    listeners={ApplicationDeleting: lambda call, signal: store.replace_mappings(call.tx, signal.row.id, ())},
)

__all__ = ["SLICE", "find_site", "save_url_map"]
