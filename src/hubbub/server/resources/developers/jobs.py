"""What time does to approvals."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.developers import actions


def lapse(call: Call, job: Job) -> None:
    """End a grant that was not renewed."""
    application_id, name = job.decode(tuple[int, str])
    actions.lapse(call, application_id, name)


def look(call: Call, job: Job) -> None:
    """See how large an application has become."""
    actions.look(call, job.decode(int))


JOBS = {actions.LAPSE: lapse, actions.WATCH: look}
