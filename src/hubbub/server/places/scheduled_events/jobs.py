"""Jobs that start, end and cancel scheduled events at their time, and end events whose voice channel stays empty."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.scheduled_events import actions
from hubbub.server.places.scheduled_events.actions import EventJobPayload


def advance(call: Call, job: Job) -> None:
    """Start, end or cancel an event whose automatic change is due."""
    actions.advance(call, job.decode(EventJobPayload).event_id)


def end(call: Call, job: Job) -> None:
    """End an event whose voice channel was empty when the job was scheduled, if it is still empty."""
    actions.end_if_idle(call, job.decode(EventJobPayload).event_id)


JOBS = {actions.ADVANCE_JOB: advance, actions.END_JOB: end}
