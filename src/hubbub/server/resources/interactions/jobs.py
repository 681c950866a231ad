"""Timed and outgoing work of interactions: those that are posted, and those that nobody answered in time."""

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

# An answer is good for three seconds; within them an endpoint that is just starting again gets another chance.
RETRY_MS: Final = 250
PROBLEM_MAX: Final = 2_000

LATER: Final = 202
"""The answer will come by the callback route."""


def expire(call: Call, job: Job) -> None:
    """Three seconds are over."""
    actions.expire(call, job.decode(deadlines.Expiry).asked_before_ms)


async def deliver(work: Work, job: Job) -> None:
    """Post an interaction; what is answered is its callback. Tried again only while nothing was answered at all, or that the
    server is out of order (decisions/0036)."""
    delivery = job.decode(endpoints.Delivery)
    interaction_id = delivery.interaction_id
    target = await work.read(lambda call: endpoints.find_waiting(call, interaction_id))
    if target is None:
        return
    try:
        answer = await signing.post(
            work.outside,
            target.url,
            target.key,
            target.now,
            delivery.body.encode(),
            timeout_s=target.left_ms / 1000,
            answer_max=wire.ENDPOINT_ANSWER_MAX,
        )
        problem = f"it answered {answer.status}"
        if answer.status >= 500:
            await _again(work, job, delivery, problem)
    except TimedOutError as error:
        await _give_up(work, delivery, str(error), actions.TOO_LATE)
    except UnreachableError as error:
        problem = str(error)
        await _again(work, job, delivery, problem)
    if answer.status == LATER and not answer.body:
        return
    if answer.status == 200:
        try:
            path = (interaction_id, delivery.token)
            await work.perform(wire.CREATE_INTERACTION_RESPONSE, path, answer.content_type, answer.body)
            return
        except ApiError as error:
            problem = f"its answer is refused: {json.encode(error.body()).decode()}"[:PROBLEM_MAX]
    await _give_up(work, delivery, problem, actions.UNUSABLE)


async def _again(work: Work, job: Job, delivery: endpoints.Delivery, problem: str) -> NoReturn:
    """Try again if there is time, or give up."""
    after_ms = RETRY_MS << min(job.attempts, 4)

    def decide(call: Call) -> bool:
        if endpoints.left(call, delivery.interaction_id) > after_ms:
            return True
        actions.fail(call, delivery.interaction_id, problem, actions.TOO_LATE)
        return False

    raise TryAgain(after_ms, problem) if await work.write(decide) else Dropped(problem)


async def _give_up(work: Work, delivery: endpoints.Delivery, problem: str, reason_code: int) -> NoReturn:
    await work.write(lambda call: actions.fail(call, delivery.interaction_id, problem, reason_code))
    raise Dropped(problem)


async def probe(work: Work, job: Job) -> None:
    """Send an endpoint a forged interaction, and take its address away if it takes it."""
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
