"""Retention: a daily job that deletes records which are older than the settings `retention.*` allow."""

from typing import Final

from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.jobs import Job
from hubbub.server.core.slices import Slice
from hubbub.server.identity.retention import ports

DELETE_EXPIRED_JOB: Final = "retention.delete_expired"
"""Kind of the job that deletes expired records."""
BATCH_SIZE: Final = 500
"""Maximum number of records of each kind that one transaction deletes."""
DAY_MS: Final = 24 * 3_600_000


def schedule(call: Call) -> None:
    """Schedule the deletion of expired records, unless it is scheduled; not needed if no setting limits their age."""
    jobs.enqueue_once(call.tx, DELETE_EXPIRED_JOB, None, due_ms=call.now_ms, key=DELETE_EXPIRED_JOB)


def _delete_expired(call: Call, job: Job) -> None:
    if not call.config.retention.is_limited:
        return
    has_more = any(ports.delete_expired(call, BATCH_SIZE))
    due_ms = call.now_ms if has_more else call.now_ms + DAY_MS
    call.tx.enqueue(DELETE_EXPIRED_JOB, None, due_ms=due_ms, key=DELETE_EXPIRED_JOB)


SLICE = Slice(name="retention", modules=(ports,), jobs={DELETE_EXPIRED_JOB: _delete_expired})

__all__ = ["SLICE", "ports", "schedule"]
