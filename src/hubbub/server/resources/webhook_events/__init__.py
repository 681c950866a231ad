"""Outgoing webhook events.

Other slices call `send` where something happens that applications may want to hear of; whether this one does, how it is signed and
how often it is tried is decided here.
"""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import ApplicationDeleting, EventWebhooksChanged
from hubbub.server.resources.oauth2 import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.resources.webhook_events import actions, routes
from hubbub.server.resources.webhook_events.actions import application_authorized, application_deauthorized, send
from hubbub.server.resources.webhook_events.jobs import JOBS


def _hear_authorized(call: Call, fact: ApplicationAuthorized) -> None:
    application_authorized(
        call,
        fact.application_id,
        fact.user_id,
        list(fact.scopes),
        integration_type=fact.integration_type,
        guild_id=fact.guild_id,
    )


def _hear_deauthorized(call: Call, fact: ApplicationDeauthorized) -> None:
    application_deauthorized(call, fact.application_id, fact.user_id)


SLICE = Slice(
    name="webhook_events",
    modules=(routes,),
    jobs=JOBS,
    hears={
        EventWebhooksChanged: actions.begin_anew,
        ApplicationDeleting: actions.application_deleting,
        ApplicationAuthorized: _hear_authorized,
        ApplicationDeauthorized: _hear_deauthorized,
    },
)

__all__ = ["SLICE", "application_authorized", "application_deauthorized", "send"]
