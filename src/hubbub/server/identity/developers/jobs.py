"""Jobs that expire grants and check the size of applications."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.identity.developers import actions


def expire_grant(call: Call, job: Job) -> None:
    """Expire the grant of an intent, unless it was renewed."""
    application_id, name = job.decode(tuple[int, str])
    actions.expire_grant(call, application_id, name)


def check_size(call: Call, job: Job) -> None:
    """Check whether an application has grown too large for free intents."""
    actions.check_size(call, job.decode(int))


JOBS = {actions.EXPIRE_GRANT_JOB: expire_grant, actions.CHECK_SIZE_JOB: check_size}
