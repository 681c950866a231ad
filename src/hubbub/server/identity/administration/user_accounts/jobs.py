"""Job that deletes an account and everything that its user wrote at the end of the grace period."""

from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.identity.administration.user_accounts import accounts


def delete_user(call: Call, job: Job) -> None:
    """Delete a batch of what the user of an account wrote whose grace period ended, and after the last batch the account.

    Reschedule the job while there is more. Do nothing if the deletion was canceled."""
    accounts.continue_deletion(call, UserId(job.decode(int)))


JOBS = {accounts.DELETE_USER_JOB: delete_user}
