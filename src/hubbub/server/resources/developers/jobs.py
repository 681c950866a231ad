"""Jobs that expire grants and check the size of applications."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.developers import actions


def lapse(call: Call, job: Job) -> None:
    """Expire a grant that was not renewed."""
    application_id, name = job.decode(tuple[int, str])
    actions.lapse(call, application_id, name)


def look(call: Call, job: Job) -> None:
    """Check the size of an application."""
    actions.look(call, job.decode(int))


JOBS = {actions.LAPSE: lapse, actions.WATCH: look}
