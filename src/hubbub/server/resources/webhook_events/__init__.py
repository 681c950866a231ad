"""Outgoing webhook events.

Other slices call `send` where something happens that applications may want to hear of; whether this one does, how it is signed and
how often it is tried is decided here.
"""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import EventWebhooksChanged
from hubbub.server.resources.webhook_events import actions, routes
from hubbub.server.resources.webhook_events.actions import application_authorized, application_deauthorized, send
from hubbub.server.resources.webhook_events.jobs import JOBS

SLICE = Slice(
    name="webhook_events",
    modules=(routes,),
    jobs=JOBS,
    hears={EventWebhooksChanged: actions.begin_anew},
)

__all__ = ["SLICE", "application_authorized", "application_deauthorized", "send"]
