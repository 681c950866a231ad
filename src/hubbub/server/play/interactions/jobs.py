"""Jobs of interactions: delivery to HTTP endpoints, endpoint probes and timeouts."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NoReturn

from hubbub.protocol import codec
from hubbub.protocol.enums import InteractionType
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core import payload_signatures
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import DropJob, Job, RetryLater
from hubbub.server.core.outbound_http import OutboundResponse, TimedOutError, UnreachableError
from hubbub.server.identity import applications
from hubbub.server.play import deliveries
from hubbub.server.play.interactions import actions
from hubbub.server.play.interactions.delivery import endpoints, timeouts

# The response deadline is three seconds; a retry within it helps an endpoint that is restarting.
RETRY_DELAY_MS: Final = 250
"""Delay in milliseconds before the first retry; each retry doubles it."""
DOUBLINGS_MAX: Final = 4
"""Maximum number of doublings; the longest delay exceeds the response deadline."""
PROBLEM_LENGTH_MAX: Final = 2_000
"""Maximum length of a stored error text, in characters."""

DEFERRED_STATUS: Final = 202
"""HTTP status of an endpoint that will respond through the callback route."""


def fail_unanswered(call: Call, job: Job) -> None:
    """Fail the interactions that were not answered within three seconds."""
    actions.fail_unanswered(call, job.decode(timeouts.InteractionExpiry).created_before_ms)


async def deliver(operation: AsyncOperation, job: Job) -> None:
    """Post an interaction and apply the response as its callback.

    The delivery is retried only if the endpoint was unreachable or returned a 5xx status (decisions/0036)."""
    delivery = job.decode(endpoints.InteractionDelivery)
    interaction_id = delivery.interaction_id
    target = await operation.read(lambda call: endpoints.find_pending_target(call, interaction_id))
    if target is None:
        await operation.write(lambda call: _fail_late_delivery(call, interaction_id))
        return
    request = payload_signatures.sign(target.url, target.signing_key, target.now_ms, delivery.body.encode())
    loop = asyncio.get_running_loop()
    start_time = loop.time()

    def describe_attempt(response: OutboundResponse | None) -> deliveries.Attempt:
        return deliveries.Attempt(
            delivery_id=interaction_id,
            application_id=target.application_id,
            kind="interaction",
            name=_describe_interaction(delivery.body),
            job=job,
            url=target.url,
            headers=request.headers,
            body=delivery.body,
            started_ms=target.now_ms,
            duration_ms=round((loop.time() - start_time) * 1000),
            response=response,
        )

    try:
        response = await request.send(
            operation.outbound,
            timeout_seconds=target.remaining_ms / 1000,
            response_bytes_max=wire.ENDPOINT_RESPONSE_BYTES_MAX,
        )
    except TimedOutError as error:
        await _fail(operation, describe_attempt(None), str(error), actions.TIMED_OUT)
    except UnreachableError as error:
        await _retry_or_fail(operation, describe_attempt(None), str(error))
    attempt = describe_attempt(response)
    problem = f"the endpoint returned HTTP {response.status}"
    if response.status >= 500:
        await _retry_or_fail(operation, attempt, problem)
    if response.status == DEFERRED_STATUS and not response.body:
        await operation.write(lambda call: deliveries.log_attempt(call, attempt, "delivered", None))
        return
    if response.status == 200:
        try:
            path = (interaction_id, delivery.token)
            await operation.perform(wire.CREATE_INTERACTION_RESPONSE, path, response.content_type, response.body)
        except ApiError as error:
            problem = f"the endpoint's response was rejected: {codec.encode(error.body()).decode()}"[
                :PROBLEM_LENGTH_MAX
            ]
        else:
            await operation.write(lambda call: deliveries.log_attempt(call, attempt, "delivered", None))
            return
    await _fail(operation, attempt, problem, actions.INVALID_RESPONSE)


def _fail_late_delivery(call: Call, interaction_id: int) -> None:
    """Fail an interaction without a response whose time is over, for example because the server was restarted."""
    if endpoints.compute_remaining_ms(call, interaction_id) <= 0:
        actions.fail(call, interaction_id, "the interaction was not delivered in time", actions.TIMED_OUT)


def _describe_interaction(body: str) -> str:
    """Return the type of an interaction and the name of its command, if it has one."""
    payload = codec.decode(body, dict[str, Any])
    type_name = InteractionType(payload["type"]).name
    command_name = (payload.get("data") or {}).get("name")
    return f"{type_name} {command_name}" if command_name else type_name


async def _retry_or_fail(operation: AsyncOperation, attempt: deliveries.Attempt, problem: str) -> NoReturn:
    """Retry if there is time left, otherwise fail the interaction."""
    delay_ms = RETRY_DELAY_MS << min(attempt.job.attempts, DOUBLINGS_MAX)

    def record_retry_or_failure(call: Call) -> bool:
        if endpoints.compute_remaining_ms(call, attempt.delivery_id) > delay_ms:
            deliveries.log_attempt(call, attempt, "waiting", problem, delay_ms)
            return True
        actions.fail(call, attempt.delivery_id, problem, actions.TIMED_OUT)
        deliveries.log_attempt(call, attempt, "failed", problem)
        return False

    raise RetryLater(delay_ms, problem) if await operation.write(record_retry_or_failure) else DropJob(problem)


async def _fail(operation: AsyncOperation, attempt: deliveries.Attempt, problem: str, reason_code: int) -> NoReturn:
    def fail(call: Call) -> None:
        actions.fail(call, attempt.delivery_id, problem, reason_code)
        deliveries.log_attempt(call, attempt, "failed", problem)

    await operation.write(fail)
    raise DropJob(problem)


async def probe(operation: AsyncOperation, job: Job) -> None:
    """Send a forged interaction to an endpoint. If it is accepted, remove the endpoint, otherwise schedule the next probe."""
    application_id = job.decode(ApplicationId)
    target = await operation.read(lambda call: endpoints.find_target(call, application_id))
    if target is None:
        return
    ping_body = applications.settings.build_interactions_ping(application_id, target.now_ms)
    if await payload_signatures.accepts_forged(operation.outbound, target.url, target.now_ms, ping_body):
        await operation.write(lambda call: endpoints.remove_endpoint(call, application_id))
    else:
        await operation.write(lambda call: endpoints.schedule_probe(call, application_id))


JOBS: Final[dict[str, Callable[..., Any]]] = {
    timeouts.EXPIRE_JOB: fail_unanswered,
    endpoints.DELIVER_JOB: deliver,
    endpoints.PROBE_JOB: probe,
}
