"""What invites do by themselves: they end when their time is over, and long lists of target users are read in by parts."""

from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.resources.invites import actions, store
from hubbub.server.resources.invites.actions import Expiry, MoreTargets


def expire(call: Call, job: Job) -> None:
    """End an invite whose time is over."""
    row = store.find(call.tx, job.decode(Expiry).code)
    if row is not None and row.expired(call.now):
        actions.delete(call, row)


def read_targets(call: Call, job: Job) -> None:
    """Read in the next target users of an invite."""
    actions.read_more_targets(call, job.decode(MoreTargets))


JOBS = {actions.EXPIRE: expire, actions.READ_TARGETS: read_targets}
