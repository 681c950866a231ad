"""Delivering events, and probing those who receive them."""

from typing import Final

from hubbub.protocol import wire as json
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import webhook_events as wire
from hubbub.server.core import signing
from hubbub.server.core.guarded import UnreachableError
from hubbub.server.core.jobs import Dropped, GiveUp, Job, TryAgain
from hubbub.server.core.work import Work
from hubbub.server.resources.webhook_events import actions

# Spec, 1.2: exponential, for at most ten minutes; the steps are our choice.
DELAY_MS: Final = 1_000
DELAY_MAX_MS: Final = 128_000


async def deliver(work: Work, job: Job) -> None:
    """Post an event; what is not acknowledged is tried again, later and later, for ten minutes."""
    delivery = job.decode(actions.Delivery)
    application_id = delivery.application_id
    target = await work.read(lambda call: actions.find_target(call, application_id, delivery.url))
    if target is None:
        if await work.read(lambda call: actions.is_gone(call, application_id)):
            raise Dropped("the application was deleted")
        raise GiveUp("the application receives no webhook events")
    try:
        answer = await signing.post(work.outside, target.url, target.key, target.now, delivery.body.encode())
        problem = None if 200 <= answer.status < 300 else f"it answered {answer.status}"
    except UnreachableError as error:
        problem = str(error)
    # How an address of a lobby does says nothing about the application's own.
    own = delivery.url is None
    if problem is None:
        if own and target.failing:
            await work.write(lambda call: actions.succeeded(call, application_id))
        return
    if own:
        await work.write(lambda call: actions.failed(call, application_id))
    after_ms = min(DELAY_MS << min(job.attempts, 10), DELAY_MAX_MS)
    began_ms = target.now if job.first_tried_ms is None else job.first_tried_ms
    if target.now + after_ms - began_ms > wire.WEBHOOK_EVENT_RETRIES_MS:
        raise GiveUp(problem)
    raise TryAgain(after_ms, problem)


async def probe(work: Work, job: Job) -> None:
    """Send a receiver a forged request, and switch it off if it takes it."""
    application_id = ApplicationId(job.decode(int))
    target = await work.read(lambda call: actions.find_target(call, application_id))
    if target is not None:
        ping = json.encode(wire.WebhookPing(application_id=application_id))
        if await signing.takes_forged(work.outside, target.url, target.now, ping):
            await work.write(lambda call: actions.caught(call, application_id))
            return
    await work.write(lambda call: actions.probe_later(call, application_id))


JOBS = {actions.DELIVER: deliver, actions.PROBE: probe}
