"""Job that deletes old deliveries."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.play.deliveries import actions


def prune(call: Call, job: Job) -> None:
    """Delete the old deliveries of an application, and schedule the next run while any are left."""
    actions.prune(call, job.decode(int))


JOBS = {actions.PRUNE_JOB: prune}
