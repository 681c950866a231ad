"""Jobs that deliver webhook events and probe their receivers."""

from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import payload_signatures
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.jobs import DropJob, Job, PermanentFailure, RetryLater
from hubbub.server.core.outbound_http import UnreachableError
from hubbub.server.play.webhook_events import actions

# spec/webhooks-and-interactions.md#1.2: exponential backoff for at most ten minutes; the steps are our choice.
DELAY_MS: Final = 1_000
"""Delay in milliseconds before the first retry; each retry doubles it."""
DELAY_MAX_MS: Final = 128_000
"""Maximum delay in milliseconds between two attempts."""
DOUBLINGS_MAX: Final = 10
"""Maximum number of doublings, more than DELAY_MAX_MS needs; it only keeps the computed delay small."""


async def deliver(operation: AsyncOperation, job: Job) -> None:
    """Post an event; retry with exponential backoff for ten minutes until it is acknowledged."""
    delivery = job.decode(actions.Delivery)
    application_id = delivery.application_id
    target = await operation.read(lambda call: actions.find_target(call, application_id, delivery.url))
    if target is None:
        if await operation.read(lambda call: actions.is_deleted_or_disabled(call, application_id)):
            raise DropJob("the application was deleted or disabled")
        raise PermanentFailure("the application receives no webhook events")
    try:
        response = await payload_signatures.post_signed(
            operation.outbound, target.url, target.key, target.now_ms, delivery.body.encode()
        )
        problem = None if 200 <= response.status < 300 else f"the endpoint returned status {response.status}"
    except UnreachableError as error:
        problem = str(error)
    # A failure of a lobby's URL does not count as a failure of the application's own URL.
    is_own_url = delivery.url is None
    if problem is None:
        if is_own_url and target.is_failing:
            await operation.write(lambda call: actions.record_success(call, application_id))
        return
    if is_own_url:
        await operation.write(lambda call: actions.record_failure(call, application_id))
    delay_ms = min(DELAY_MS << min(job.attempts, DOUBLINGS_MAX), DELAY_MAX_MS)
    first_attempt_ms = target.now_ms if job.first_tried_ms is None else job.first_tried_ms
    if target.now_ms + delay_ms - first_attempt_ms > wire.WEBHOOK_EVENT_RETRY_WINDOW_MS:
        raise PermanentFailure(problem)
    raise RetryLater(delay_ms, problem)


async def probe(operation: AsyncOperation, job: Job) -> None:
    """Send a forged request to a receiver and disable it if the request is accepted."""
    application_id = ApplicationId(job.decode(int))
    target = await operation.read(lambda call: actions.find_target(call, application_id))
    if target is not None:
        ping = codec.encode(wire.WebhookPing(application_id=application_id))
        if await payload_signatures.accepts_forged(operation.outbound, target.url, target.now_ms, ping):
            await operation.write(lambda call: actions.disable_unverified(call, application_id))
            return
    await operation.write(lambda call: actions.schedule_probe(call, application_id))


JOBS = {actions.DELIVER_JOB: deliver, actions.PROBE_JOB: probe}
