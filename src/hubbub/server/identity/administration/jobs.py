"""Job that deletes an account at the end of its grace period."""

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.identity.administration import accounts


def delete_user(call: Call, job: Job) -> None:
    """Delete an account whose grace period ended, in batches of messages."""
    accounts.continue_deletion(call, UserId(job.decode(int)))


JOBS = {accounts.DELETE_USER_JOB: delete_user}
