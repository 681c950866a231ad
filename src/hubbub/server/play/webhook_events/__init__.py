"""Outgoing webhook events of applications.

Other slices call `send` for each event. The webhook_events slice checks whether the application is subscribed, signs
the request and retries failed deliveries."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting, EventWebhooksSet
from hubbub.server.identity.oauth2 import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.play.webhook_events import actions, routes
from hubbub.server.play.webhook_events.actions import send, send_application_authorized, send_application_deauthorized
from hubbub.server.play.webhook_events.jobs import JOBS


def _on_authorized(call: Call, signal: ApplicationAuthorized) -> None:
    send_application_authorized(
        call,
        signal.application_id,
        signal.user_id,
        list(signal.scopes),
        integration_type=signal.integration_type,
        guild_id=signal.guild_id,
    )


def _on_deauthorized(call: Call, signal: ApplicationDeauthorized) -> None:
    send_application_deauthorized(call, signal.application_id, signal.user_id)


SLICE = Slice(
    name="webhook_events",
    modules=(routes,),
    jobs=JOBS,
    listeners={
        EventWebhooksSet: actions.on_event_webhooks_set,
        ApplicationDeleting: actions.on_application_deleting,
        ApplicationAuthorized: _on_authorized,
        ApplicationDeauthorized: _on_deauthorized,
    },
)

__all__ = ["SLICE", "send_application_authorized", "send_application_deauthorized", "send"]
