"""HTTP handlers that list and retry failed webhook events, and resend logged webhook events."""

from msgspec import UNSET, Raw

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.resources import deliveries as deliveries_wire
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import FailedJob
from hubbub.server.core.slices import handles
from hubbub.server.identity import applications
from hubbub.server.play import deliveries
from hubbub.server.play.webhook_events import actions


@handles(wire.LIST_FAILED_WEBHOOK_EVENTS)
def list_failed_webhook_events(
    call: Call, application_id: ApplicationId, query: wire.ListFailedWebhookEvents
) -> list[wire.FailedWebhookEvent]:
    """List the failed webhook events of an application.

    The oldest event is first."""
    applications.access.require_manager(call, application_id)
    failed_jobs = jobs.list_failed(
        call.tx,
        kind=actions.DELIVER_JOB,
        key_prefix=actions.delivery_key_prefix(application_id),
        after=0 if query.after is UNSET else query.after,
        limit=query.limit,
    )
    return [_failed_event_view(job) for job in failed_jobs]


@handles(wire.RETRY_FAILED_WEBHOOK_EVENTS)
def retry_failed_webhook_events(call: Call, application_id: ApplicationId) -> None:
    """Retry all failed webhook events of an application."""
    _retry_deliveries(call, application_id)


@handles(wire.RETRY_FAILED_WEBHOOK_EVENT)
def retry_failed_webhook_event(call: Call, application_id: ApplicationId, event_id: Snowflake) -> None:
    """Retry a failed webhook event."""
    if not _retry_deliveries(call, application_id, event_id):
        raise errors.NOT_FOUND()


@handles(deliveries_wire.RESEND_DELIVERY)
def resend_delivery(call: Call, application_id: ApplicationId, delivery_id: Snowflake) -> None:
    """Resend a webhook event.

    An event that waits for its next attempt is sent immediately. Interactions cannot be sent again."""
    applications.access.require_manager(call, application_id)
    row = deliveries.find(call.tx, application_id, delivery_id)
    if row is None:
        raise errors.NOT_FOUND()
    if not deliveries.is_resendable(row):
        text = "Only webhook events with a completely stored body can be sent again."
        raise errors.invalid("delivery_id", "DELIVERY_NOT_RESENDABLE", text)
    actions.resend(call, row)


def _retry_deliveries(call: Call, application_id: ApplicationId, event_id: int | None = None) -> int:
    """Retry one failed event, or all of an application if `event_id` is None; return the number of retried events."""
    applications.access.require_manager(call, application_id)
    key_prefix = actions.delivery_key_prefix(application_id)
    return jobs.retry_failed(call.tx, event_id, kind=actions.DELIVER_JOB, key_prefix=key_prefix)


def _failed_event_view(job: FailedJob) -> wire.FailedWebhookEvent:
    delivery = codec.decode(job.payload, actions.Delivery)
    return wire.FailedWebhookEvent(
        id=Snowflake(job.id),
        type=delivery.type,
        attempts=job.attempts,
        error=job.error,
        payload=Raw(delivery.body.encode()),
    )
