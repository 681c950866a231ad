"""HTTP handlers for the queues of background jobs."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import administration as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.administration.job_queues import queues


@handles(wire.LIST_JOB_QUEUES)
def list_job_queues(call: Call) -> list[wire.JobQueue]:
    """List the queues of background jobs."""
    return queues.list_queues(call)


@handles(wire.RETRY_JOB_QUEUE)
def retry_job_queue(call: Call, job_kind: str, body: wire.AdministrativeAction) -> wire.RetriedJobs:
    """Retry the failed jobs of a queue.

    The jobs that failed permanently are tried again.
    """
    return wire.RetriedJobs(count=queues.retry_failed(call, job_kind, reason=body.reason))


@handles(wire.LIST_JOBS)
def list_jobs(call: Call, query: wire.ListJobs) -> list[wire.AdministeredJob]:
    """List background jobs that failed permanently, or that wait for their next attempt after a failure."""
    return queues.list_jobs(call, query)


@handles(wire.RETRY_JOB)
def retry_job(call: Call, job_id: Snowflake, body: wire.AdministrativeAction) -> None:
    """Retry a background job.

    A job that waits for its next attempt is tried immediately.
    """
    if not queues.retry(call, job_id, reason=body.reason):
        raise errors.NOT_FOUND()


@handles(wire.DISCARD_JOB)
def discard_job(call: Call, job_id: Snowflake, body: wire.AdministrativeAction) -> None:
    """Delete a background job that failed permanently.

    A job that can still be tried cannot be deleted.
    """
    if not queues.discard(call, job_id, reason=body.reason):
        raise errors.NOT_FOUND()
