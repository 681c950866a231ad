"""Interactions: requests that users make to applications, and the applications' responses."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import InteractionsEndpointChanged
from hubbub.server.resources.interactions import endpoints, routes, speaking
from hubbub.server.resources.interactions.jobs import JOBS
from hubbub.server.resources.webhooks import TokenPresented

SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs=JOBS,
    hears={TokenPresented: speaking.hear_token, InteractionsEndpointChanged: endpoints.begin_anew},
)

__all__ = ["SLICE"]
