"""Jobs that deliver webhook events and probe their receivers."""

from typing import Final

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import signing
from hubbub.server.core.guarded import UnreachableError
from hubbub.server.core.jobs import Dropped, GiveUp, Job, TryAgain
from hubbub.server.core.work import Work
from hubbub.server.resources.webhook_events import actions

# Spec, 1.2: exponential backoff for at most ten minutes; the steps are our choice.
DELAY_MS: Final = 1_000
DELAY_MAX_MS: Final = 128_000


async def deliver(work: Work, job: Job) -> None:
    """Post an event; retry with exponential backoff for ten minutes until it is acknowledged."""
    delivery = job.decode(actions.Delivery)
    application_id = delivery.application_id
    target = await work.read(lambda call: actions.find_target(call, application_id, delivery.url))
    if target is None:
        if await work.read(lambda call: actions.is_gone(call, application_id)):
            raise Dropped("the application was deleted")
        raise GiveUp("the application receives no webhook events")
    try:
        response = await signing.post(work.outside, target.url, target.key, target.now, delivery.body.encode())
        problem = None if 200 <= response.status < 300 else f"the endpoint returned status {response.status}"
    except UnreachableError as error:
        problem = str(error)
    # Failures of a lobby's URL do not count against the application's own.
    is_own_url = delivery.url is None
    if problem is None:
        if is_own_url and target.failing:
            await work.write(lambda call: actions.succeeded(call, application_id))
        return
    if is_own_url:
        await work.write(lambda call: actions.failed(call, application_id))
    delay_ms = min(DELAY_MS << min(job.attempts, 10), DELAY_MAX_MS)
    first_attempt_ms = target.now if job.first_tried_ms is None else job.first_tried_ms
    if target.now + delay_ms - first_attempt_ms > wire.WEBHOOK_EVENT_RETRIES_MS:
        raise GiveUp(problem)
    raise TryAgain(delay_ms, problem)


async def probe(work: Work, job: Job) -> None:
    """Send a forged request to a receiver and disable it if the request is accepted."""
    application_id = ApplicationId(job.decode(int))
    target = await work.read(lambda call: actions.find_target(call, application_id))
    if target is not None:
        ping = json.encode(wire.WebhookPing(application_id=application_id))
        if await signing.takes_forged(work.outside, target.url, target.now, ping):
            await work.write(lambda call: actions.caught(call, application_id))
            return
    await work.write(lambda call: actions.probe_later(call, application_id))


JOBS = {actions.DELIVER: deliver, actions.PROBE: probe}
