"""Jobs of invites: expiry, and batches of long target user lists."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.places.invites import actions, store
from hubbub.server.places.invites.actions import InviteExpiry, TargetsBatch


def expire(call: Call, job: Job) -> None:
    """Delete the invite of the job if it still exists and has expired."""
    row = store.find(call.tx, job.decode(InviteExpiry).code)
    if row is not None and row.is_expired(call.now_ms):
        actions.delete(call, row)


def store_targets_batch(call: Call, job: Job) -> None:
    """Store the next batch of an invite's target users."""
    actions.store_targets_batch(call, job.decode(TargetsBatch))


JOBS = {actions.EXPIRE_JOB: expire, actions.STORE_TARGETS_JOB: store_targets_batch}
