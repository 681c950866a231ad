"""Jobs that deliver webhook events and probe their receivers."""

import asyncio
from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import webhook_events as wire
from hubbub.protocol.resources.deliveries import DeliveryState
from hubbub.server.core import payload_signatures
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import DropJob, Job, PermanentFailure, RetryLater
from hubbub.server.core.outbound_http import UnreachableError
from hubbub.server.play import deliveries
from hubbub.server.play.webhook_events import actions

# spec/webhooks-and-interactions.md#1.2: exponential backoff for at most ten minutes; the steps are our choice.
RETRY_DELAY_MS: Final = 1_000
"""Delay in milliseconds before the first retry; each retry doubles it."""
RETRY_DELAY_MAX_MS: Final = 128_000
"""Maximum delay in milliseconds between two attempts."""
DOUBLINGS_MAX: Final = 10
"""Maximum number of doublings, more than RETRY_DELAY_MAX_MS needs; it only keeps the computed delay small."""


async def deliver(operation: AsyncOperation, job: Job) -> None:
    """Post an event; retry with exponential backoff for ten minutes until it is acknowledged."""
    delivery = job.decode(actions.Delivery)
    application_id = delivery.application_id
    target = await operation.read(lambda call: actions.find_target(call, application_id, delivery.url))
    if target is None:
        if await operation.read(lambda call: actions.is_deleted_or_disabled(call, application_id)):
            raise DropJob("the application was deleted or disabled")
        raise PermanentFailure("the application receives no webhook events")
    request = payload_signatures.sign(target.url, target.signing_key, target.now_ms, delivery.body.encode())
    # A failure of a lobby's URL does not count as a failure of the application's own URL.
    is_own_url = delivery.url is None
    loop = asyncio.get_running_loop()
    start_time, response = loop.time(), None
    try:
        response = await request.send(operation.outbound)
        problem = None if 200 <= response.status < 300 else f"the endpoint returned status {response.status}"
    except UnreachableError as error:
        problem = str(error)
    attempt = deliveries.Attempt(
        delivery_id=delivery.delivery_id or 0,
        application_id=application_id,
        kind="event",
        name=delivery.type.value,
        job=job,
        url=target.url,
        is_own_url=is_own_url,
        headers=request.headers,
        body=delivery.body,
        started_ms=target.now_ms,
        duration_ms=round((loop.time() - start_time) * 1000),
        response=response,
    )
    if problem is None:
        await operation.write(lambda call: _record_success(call, target, attempt))
        return
    delay_ms = min(RETRY_DELAY_MS << min(job.attempts, DOUBLINGS_MAX), RETRY_DELAY_MAX_MS)
    first_attempt_ms = target.now_ms if job.first_tried_ms is None else job.first_tried_ms
    is_last_attempt = target.now_ms + delay_ms - first_attempt_ms > wire.WEBHOOK_EVENT_RETRY_WINDOW_MS
    next_delay_ms = None if is_last_attempt else delay_ms
    await operation.write(lambda call: _record_failure(call, attempt, problem, next_delay_ms))
    raise PermanentFailure(problem) if is_last_attempt else RetryLater(delay_ms, problem)


def _record_success(call: Call, target: actions.Target, attempt: deliveries.Attempt) -> None:
    if attempt.is_own_url and target.is_failing:
        actions.record_success(call, attempt.application_id)
    _log_attempt(call, attempt, "delivered", None, None)


def _record_failure(call: Call, attempt: deliveries.Attempt, problem: str, delay_ms: int | None) -> None:
    if attempt.is_own_url:
        actions.record_failure(call, attempt.application_id)
    _log_attempt(call, attempt, "failed" if delay_ms is None else "waiting", problem, delay_ms)


def _log_attempt(
    call: Call, attempt: deliveries.Attempt, state: DeliveryState, problem: str | None, delay_ms: int | None
) -> None:
    # Events that were enqueued before the log existed have no ID. Nothing is logged for a deleted or disabled application.
    if attempt.delivery_id and not actions.is_deleted_or_disabled(call, attempt.application_id):
        deliveries.log_attempt(call, attempt, state, problem, delay_ms)


async def probe(operation: AsyncOperation, job: Job) -> None:
    """Send a forged request to a receiver. If it is accepted, disable the receiver, otherwise schedule the next probe."""
    application_id = ApplicationId(job.decode(int))
    target = await operation.read(lambda call: actions.find_target(call, application_id))
    if target is not None:
        ping_body = codec.encode(wire.WebhookPing(application_id=application_id))
        if await payload_signatures.accepts_forged(operation.outbound, target.url, target.now_ms, ping_body):
            await operation.write(lambda call: actions.disable_unverified(call, application_id))
            return
    await operation.write(lambda call: actions.schedule_probe(call, application_id))


JOBS = {actions.DELIVER_JOB: deliver, actions.PROBE_JOB: probe}
