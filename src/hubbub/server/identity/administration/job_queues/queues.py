"""List, retry and discard background jobs, which include deliveries of webhook events, interactions and mail."""

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.administration import JobState
from hubbub.server.core import job_queues, jobs
from hubbub.server.core.call import Call
from hubbub.server.core.job_queues import JobRow, QueueRow
from hubbub.server.identity.administration.audit_entries import audit

__all__ = ["discard", "list_jobs", "list_queues", "retry", "retry_failed"]
"""The interface for the command line."""

_CONDITIONS_BY_STATE = {JobState.FAILED: job_queues.FAILED, JobState.RETRYING: job_queues.RETRYING}


def list_queues(call: Call) -> list[wire.JobQueue]:
    """Return the number of waiting, retrying and failed jobs for each kind that has jobs."""
    return [_queue_view(row) for row in job_queues.list_queues(call.tx, call.now_ms)]


def list_jobs(call: Call, query: wire.ListJobs) -> list[wire.AdministeredJob]:
    """Return jobs in a state, oldest first."""
    rows = job_queues.list_jobs(
        call.tx,
        condition=_CONDITIONS_BY_STATE[query.state],
        kind=query.kind,
        after_id=query.after or 0,
        limit=query.limit,
    )
    return [_job_view(row) for row in rows]


def retry_failed(call: Call, kind: str, *, reason: str | None = None) -> int:
    """Retry the jobs of a kind that failed permanently, and return their number."""
    retried_count = jobs.retry_failed(call.tx, kind=kind)
    if retried_count:
        audit.log_action(call, "queue.retry", "queue", target_name=kind, detail=f"{retried_count} jobs", reason=reason)
    return retried_count


def retry(call: Call, job_id: int, *, reason: str | None = None) -> bool:
    """Retry a job. Return False if there is no such job, or no attempt of it failed."""
    row = job_queues.find(call.tx, job_id)
    if row is None:
        return False
    if row.state == "failed":
        jobs.retry_failed(call.tx, row.id)
    else:
        job_queues.retry_now(call.tx, row.id, call.now_ms)
    audit.log_action(call, "job.retry", "job", target_id=row.id, target_name=row.kind, reason=reason)
    return True


def discard(call: Call, job_id: int, *, reason: str | None = None) -> bool:
    """Delete a job that failed permanently. Return False if there is none."""
    row = job_queues.find(call.tx, job_id)
    if row is None or not job_queues.discard(call.tx, job_id):
        return False
    detail = (row.error or "")[: wire.JOB_ERROR_MAX]
    audit.log_action(call, "job.discard", "job", target_id=row.id, target_name=row.kind, detail=detail, reason=reason)
    return True


def _queue_view(row: QueueRow) -> wire.JobQueue:
    return wire.JobQueue(
        kind=row.kind,
        waiting=int(row.waiting),
        retrying=int(row.retrying),
        failed=int(row.failed),
        oldest_due_at=None if row.oldest_due_ms is None else codec.timestamp(row.oldest_due_ms),
    )


def _job_view(row: JobRow) -> wire.AdministeredJob:
    has_failed = row.state == "failed"
    return wire.AdministeredJob(
        id=Snowflake(row.id),
        kind=row.kind,
        state=JobState.FAILED if has_failed else JobState.RETRYING,
        attempts=row.attempts,
        next_attempt_at=None if has_failed else codec.timestamp(row.ready_ms),
        error=None if row.error is None else row.error[: wire.JOB_ERROR_MAX],
    )
