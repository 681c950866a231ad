"""Interactions: what people ask of apps, and what apps answer."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.interactions import actions, jobs, routes, speaking
from hubbub.server.resources.webhooks import TokenPresented

SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs={actions.EXPIRE: jobs.expire},
    hears={TokenPresented: speaking.hear_token},
)

__all__ = ["SLICE"]
