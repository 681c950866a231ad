"""Timed work of interactions: what nobody answered in time."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.interactions import actions


def expire(call: Call, job: Job) -> None:
    """Three seconds are over."""
    actions.expire(call, job.decode(actions.Expiry).asked_before_ms)
