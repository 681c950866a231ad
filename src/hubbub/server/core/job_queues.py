"""The queues of jobs as operators see them: numbers by kind, failures, retries and deletion."""

from typing import Any, Final, NamedTuple

from hubbub.server.core.store import Tx


class QueueRow(NamedTuple):
    """Numbers of jobs of one kind."""

    kind: str
    waiting: int
    """Number of jobs that were not tried yet."""
    retrying: int
    """Number of jobs that failed and are being retried."""
    failed: int
    """Number of jobs that failed permanently."""
    oldest_due_ms: int | None
    """Time in Unix milliseconds at which the oldest job that was not finished became due; None if none is due."""


class JobRow(NamedTuple):
    """A job without its payload, which may contain private data."""

    id: int
    kind: str
    state: str
    """`waiting` or `failed`."""
    attempts: int
    due_ms: int
    ready_ms: int
    """Time of the next attempt in Unix milliseconds."""
    error: str | None
    """Error of the last attempt, or None."""


_COLUMNS = ", ".join(JobRow._fields)

FAILED: Final = "state = 'failed'"
RETRYING: Final = "state = 'waiting' AND attempts > 0"
"""SQL condition for jobs that failed and are being retried."""


def list_queues(tx: Tx, now_ms: int) -> list[QueueRow]:
    """Return the numbers of all kinds that have jobs, by kind."""
    return tx.fetch(
        QueueRow,
        f"SELECT kind, SUM(CASE WHEN state = 'waiting' AND attempts = 0 THEN 1 ELSE 0 END), "
        f"SUM(CASE WHEN {RETRYING} THEN 1 ELSE 0 END), SUM(CASE WHEN {FAILED} THEN 1 ELSE 0 END), "
        "MIN(CASE WHEN state = 'waiting' AND due_ms > 0 AND due_ms <= ? THEN due_ms END) "
        "FROM jobs GROUP BY kind ORDER BY kind",
        now_ms,
    )


def list_jobs(tx: Tx, *, condition: str, kind: str | None, after_id: int, limit: int) -> list[JobRow]:
    """Return jobs with IDs above `after_id`, oldest first.

    `condition` is FAILED or RETRYING; `kind` None matches all kinds."""
    parameters: list[Any] = [after_id] if kind is None else [after_id, kind]
    kind_condition = "" if kind is None else " AND kind = ?"
    return tx.fetch(
        JobRow,
        f"SELECT {_COLUMNS} FROM jobs WHERE {condition} AND id > ?{kind_condition} ORDER BY id LIMIT ?",
        *parameters,
        limit,
    )


def find(tx: Tx, job_id: int) -> JobRow | None:
    """Return a job that failed permanently or is being retried, or None."""
    return tx.find(JobRow, f"SELECT {_COLUMNS} FROM jobs WHERE id = ? AND ({FAILED} OR ({RETRYING}))", job_id)


def retry_now(tx: Tx, job_id: int, now_ms: int) -> None:
    """Make the next attempt of a waiting job due, unless a worker runs it now."""
    tx.wakes_worker = True
    tx.run("UPDATE jobs SET ready_ms = ? WHERE id = ? AND leased_by = '' AND ready_ms > ?", now_ms, job_id, now_ms)


def discard(tx: Tx, job_id: int) -> bool:
    """Delete a job that failed permanently. Return False if there is none."""
    return bool(tx.run(f"DELETE FROM jobs WHERE id = ? AND {FAILED}", job_id))
