"""Interactions: requests that users make to applications, and the applications' responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import InteractionsEndpointChanged
from hubbub.server.play.interactions import endpoints, follow_ups, routes
from hubbub.server.play.interactions.jobs import JOBS
from hubbub.server.talk.webhooks import TokenPresented

SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs=JOBS,
    listeners={TokenPresented: follow_ups.token_presented, InteractionsEndpointChanged: endpoints.endpoint_changed},
)

__all__ = ["SLICE"]
