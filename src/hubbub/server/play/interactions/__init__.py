"""Interactions: requests that users make to applications, and the applications' responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import InteractionsEndpointSet
from hubbub.server.play.interactions import routes
from hubbub.server.play.interactions.actions import count_failures
from hubbub.server.play.interactions.delivery import endpoints
from hubbub.server.play.interactions.follow_ups import find_by_token as find_author
from hubbub.server.play.interactions.jobs import JOBS
from hubbub.server.play.interactions.store import map_application_ids

SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs=JOBS,
    listeners={InteractionsEndpointSet: endpoints.on_endpoint_set},
)

__all__ = ["SLICE", "count_failures", "find_author", "map_application_ids"]
