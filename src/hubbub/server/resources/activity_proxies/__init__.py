"""The proxy of activities: where the paths of an application's own host lead, and who asks there."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.activity_proxies import routes, store
from hubbub.server.resources.activity_proxies.routes import find_site, keep_map
from hubbub.server.resources.applications import ApplicationDeleting

SLICE = Slice(
    name="activity_proxies",
    modules=(routes,),
    hears={ApplicationDeleting: lambda call, fact: store.replace_mappings(call.tx, fact.row.id, ())},
)

__all__ = ["SLICE", "find_site", "keep_map"]
