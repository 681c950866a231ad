"""Activity links: URLs that open an activity."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.places.activity_links import routes, store

SLICE = Slice(
    name="activity_links",
    modules=(routes,),
    listeners={ApplicationDeleting: lambda call, signal: store.delete_application_links(call.tx, signal.row.id)},
    assets={"activity-links": store.find_image_key},
)

__all__ = ["SLICE"]
