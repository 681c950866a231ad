"""What scheduled events do by themselves: begin, end, or be called off when their time is over."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.scheduled_events import actions
from hubbub.server.resources.scheduled_events.actions import Due


def advance(call: Call, job: Job) -> None:
    """The time of an event has come."""
    actions.advance(call, job.decode(Due).event_id)


def end(call: Call, job: Job) -> None:
    """A voice channel with an event in it was empty for a while."""
    actions.end(call, job.decode(Due).event_id)


JOBS = {actions.ADVANCE: advance, actions.END: end}
