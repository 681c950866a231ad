"""Interactions: what people ask of apps, and what apps answer."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources import applications
from hubbub.server.resources.interactions import actions, jobs, routes, speaking
from hubbub.server.resources.oauth2 import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.resources.webhooks import TokenPresented

USER_INSTALL = 1


def _hear_authorized(call: Call, fact: ApplicationAuthorized) -> None:
    if fact.integration_type == USER_INSTALL:
        applications.install_for(call.tx, fact.application_id, fact.user_id, call.now)


def _hear_deauthorized(call: Call, fact: ApplicationDeauthorized) -> None:
    applications.uninstall_for(call.tx, fact.application_id, fact.user_id)


SLICE = Slice(
    name="interactions",
    modules=(routes,),
    jobs={actions.EXPIRE: jobs.expire},
    hears={
        TokenPresented: speaking.hear_token,
        ApplicationAuthorized: _hear_authorized,
        ApplicationDeauthorized: _hear_deauthorized,
    },
)

__all__ = ["SLICE"]
