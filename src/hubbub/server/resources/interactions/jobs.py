"""Jobs of interactions: delivery to HTTP endpoints, endpoint probes and timeouts."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from hubbub.protocol import wire as json
from hubbub.protocol.errors import ApiError
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import interactions as wire
from hubbub.server.core import signing
from hubbub.server.core.call import Call
from hubbub.server.core.guarded import TimedOutError, UnreachableError
from hubbub.server.core.jobs import Dropped, Job, TryAgain
from hubbub.server.core.work import Work
from hubbub.server.resources import applications
from hubbub.server.resources.interactions import actions, deadlines, endpoints

# The response deadline is three seconds; a retry within it helps an endpoint that is restarting.
RETRY_MS: Final = 250
PROBLEM_MAX: Final = 2_000

DEFERRED_STATUS: Final = 202
"""HTTP status of an endpoint that will respond through the callback route."""


def expire(call: Call, job: Job) -> None:
    """Fail the interactions whose three seconds are over."""
    actions.expire(call, job.decode(deadlines.Expiry).asked_before_ms)


async def deliver(work: Work, job: Job) -> None:
    """Post an interaction and apply the response as its callback.

    Retried only if no response arrived or the endpoint returned a 5xx status (decisions/0036)."""
    delivery = job.decode(endpoints.Delivery)
    interaction_id = delivery.interaction_id
    target = await work.read(lambda call: endpoints.find_waiting(call, interaction_id))
    if target is None:
        return
    try:
        response = await signing.post(
            work.outside,
            target.url,
            target.key,
            target.now,
            delivery.body.encode(),
            timeout_s=target.left_ms / 1000,
            answer_max=wire.ENDPOINT_ANSWER_MAX,
        )
        problem = f"the endpoint returned HTTP {response.status}"
        if response.status >= 500:
            await _retry_or_fail(work, job, delivery, problem)
    except TimedOutError as error:
        await _fail(work, delivery, str(error), actions.TOO_LATE)
    except UnreachableError as error:
        problem = str(error)
        await _retry_or_fail(work, job, delivery, problem)
    if response.status == DEFERRED_STATUS and not response.body:
        return
    if response.status == 200:
        try:
            path = (interaction_id, delivery.token)
            await work.perform(wire.CREATE_INTERACTION_RESPONSE, path, response.content_type, response.body)
            return
        except ApiError as error:
            problem = f"the endpoint's response was rejected: {json.encode(error.body()).decode()}"[:PROBLEM_MAX]
    await _fail(work, delivery, problem, actions.UNUSABLE)


async def _retry_or_fail(work: Work, job: Job, delivery: endpoints.Delivery, problem: str) -> NoReturn:
    """Retry if there is time left, otherwise fail the interaction."""
    after_ms = RETRY_MS << min(job.attempts, 4)

    def decide(call: Call) -> bool:
        if endpoints.left(call, delivery.interaction_id) > after_ms:
            return True
        actions.fail(call, delivery.interaction_id, problem, actions.TOO_LATE)
        return False

    raise TryAgain(after_ms, problem) if await work.write(decide) else Dropped(problem)


async def _fail(work: Work, delivery: endpoints.Delivery, problem: str, reason_code: int) -> NoReturn:
    await work.write(lambda call: actions.fail(call, delivery.interaction_id, problem, reason_code))
    raise Dropped(problem)


async def probe(work: Work, job: Job) -> None:
    """Send a forged interaction to an endpoint, and remove the endpoint if it accepts it."""
    application_id = job.decode(ApplicationId)
    target = await work.read(lambda call: endpoints.find_target(call, application_id))
    if target is None:
        return
    ping = applications.interactions_ping(application_id, target.now)
    if await signing.takes_forged(work.outside, target.url, target.now, ping):
        await work.write(lambda call: endpoints.caught(call, application_id))
    else:
        await work.write(lambda call: endpoints.probe_later(call, application_id))


JOBS: Final[dict[str, Callable[..., Any]]] = {
    deadlines.EXPIRE: expire,
    endpoints.DELIVER: deliver,
    endpoints.PROBE: probe,
}
