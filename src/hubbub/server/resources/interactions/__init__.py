"""Interactions: requests that users make to applications, and the applications' responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import InteractionsEndpointChanged
from hubbub.server.resources.interactions import endpoints, follow_ups, routes
from hubbub.server.resources.interactions.jobs import JOBS
from hubbub.server.resources.webhooks import TokenPresented

SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs=JOBS,
    listeners={TokenPresented: follow_ups.token_presented, InteractionsEndpointChanged: endpoints.endpoint_changed},
)

__all__ = ["SLICE"]
