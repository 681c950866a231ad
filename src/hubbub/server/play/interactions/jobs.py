"""Jobs of interactions: delivery to HTTP endpoints, endpoint probes and timeouts."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from hubbub.protocol import codec
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core import payload_signatures
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import DropJob, Job, RetryLater
from hubbub.server.core.outbound_http import TimedOutError, UnreachableError
from hubbub.server.identity import applications
from hubbub.server.play.interactions import actions, endpoints, timeouts

# The response deadline is three seconds; a retry within it helps an endpoint that is restarting.
RETRY_MS: Final = 250
"""Delay in milliseconds before the first retry; each retry doubles it."""
DOUBLINGS_MAX: Final = 4
"""Maximum number of doublings; the longest delay exceeds the response deadline."""
PROBLEM_MAX: Final = 2_000
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
        return
    try:
        response = await payload_signatures.post_signed(
            operation.outbound,
            target.url,
            target.key,
            target.now_ms,
            delivery.body.encode(),
            timeout_seconds=target.remaining_ms / 1000,
            response_bytes_max=wire.ENDPOINT_RESPONSE_BYTES_MAX,
        )
        problem = f"the endpoint returned HTTP {response.status}"
        if response.status >= 500:
            await _retry_or_fail(operation, job, delivery, problem)
    except TimedOutError as error:
        await _fail(operation, delivery, str(error), actions.TIMED_OUT)
    except UnreachableError as error:
        problem = str(error)
        await _retry_or_fail(operation, job, delivery, problem)
    if response.status == DEFERRED_STATUS and not response.body:
        return
    if response.status == 200:
        try:
            path = (interaction_id, delivery.token)
            await operation.perform(wire.CREATE_INTERACTION_RESPONSE, path, response.content_type, response.body)
            return
        except ApiError as error:
            problem = f"the endpoint's response was rejected: {codec.encode(error.body()).decode()}"[:PROBLEM_MAX]
    await _fail(operation, delivery, problem, actions.INVALID_RESPONSE)


async def _retry_or_fail(
    operation: AsyncOperation, job: Job, delivery: endpoints.InteractionDelivery, problem: str
) -> NoReturn:
    """Retry if there is time left, otherwise fail the interaction."""
    delay_ms = RETRY_MS << min(job.attempts, DOUBLINGS_MAX)

    def decide(call: Call) -> bool:
        if endpoints.compute_remaining_ms(call, delivery.interaction_id) > delay_ms:
            return True
        actions.fail(call, delivery.interaction_id, problem, actions.TIMED_OUT)
        return False

    raise RetryLater(delay_ms, problem) if await operation.write(decide) else DropJob(problem)


async def _fail(
    operation: AsyncOperation, delivery: endpoints.InteractionDelivery, problem: str, reason_code: int
) -> NoReturn:
    await operation.write(lambda call: actions.fail(call, delivery.interaction_id, problem, reason_code))
    raise DropJob(problem)


async def probe(operation: AsyncOperation, job: Job) -> None:
    """Send a forged interaction to an endpoint, and remove the endpoint if it accepts it."""
    application_id = job.decode(ApplicationId)
    target = await operation.read(lambda call: endpoints.find_target(call, application_id))
    if target is None:
        return
    ping = applications.settings.build_interactions_ping(application_id, target.now_ms)
    if await payload_signatures.accepts_forged(operation.outbound, target.url, target.now_ms, ping):
        await operation.write(lambda call: endpoints.remove_endpoint(call, application_id))
    else:
        await operation.write(lambda call: endpoints.schedule_probe(call, application_id))


JOBS: Final[dict[str, Callable[..., Any]]] = {
    timeouts.EXPIRE_JOB: fail_unanswered,
    endpoints.DELIVER_JOB: deliver,
    endpoints.PROBE_JOB: probe,
}
