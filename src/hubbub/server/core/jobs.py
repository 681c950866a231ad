"""Background jobs: a table of jobs and the worker that runs them when they are due.

A job is written by the transaction it belongs to, so it exists if and only if that transaction committed. A plain
handler changes the database in the transaction that deletes the job, so it takes effect exactly once. An async handler
calls other services, so it runs at least once. A job that fails is retried with exponential backoff until it is marked
as failed; the operator can inspect it and run it again.
"""

import asyncio
import inspect
import logging
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from hubbub.protocol import codec
from hubbub.server.core.clock import Clock, Timer
from hubbub.server.core.observation import CURRENT, Observer
from hubbub.server.core.store import Database, StoreUnavailable, Tx, placeholders

log = logging.getLogger(__name__)

T = TypeVar("T")

DATABASE_JOBS_MAX: Final = 64
"""Maximum number of database jobs that one worker runs at the same time."""
ASYNC_JOBS_MAX: Final = 256
"""Maximum number of async jobs that one worker runs at the same time, so that slow peers do not delay database jobs."""
GROUP_JOBS_MAX: Final = 32
"""Maximum number of async jobs of a concurrency group that run at the same time, so that a slow server cannot take all slots."""
LEASE_MS: Final = 120_000
"""Duration of the lease of a job in milliseconds; if the worker dies, another worker can lease the job afterwards."""
LEASE_USE_MAX: Final = 0.8
"""Fraction of its lease that an async handler may run before it times out."""
BACKOFF_MS: Final = 1_000
"""Delay in milliseconds before the first retry; it doubles with each attempt, up to `BACKOFF_MAX_MS`."""
BACKOFF_MAX_MS: Final = 10 * 60_000
"""Maximum delay in milliseconds before a retry."""
RETRY_PERIOD_MS: Final = 24 * 3_600_000
"""Time in milliseconds since the first attempt after which a job that fails again is marked as failed."""
STORE_RETRY_MS: Final = 1_000
"""Delay in milliseconds before the worker retries after the store was unavailable."""

_SUCCESS_OUTCOMES: Final = frozenset({"done", "dropped"})
"""Outcomes of jobs that traces do not mark as errors."""

# The SQL condition for a row of `jobs AS job` without an earlier waiting job of the same key.
_UNBLOCKED_CONDITION = """(job.key = '' OR NOT EXISTS (
    SELECT 1 FROM jobs AS earlier WHERE earlier.key = job.key AND earlier.key <> '' AND earlier.state = 'waiting'
    AND (earlier.due_ms < job.due_ms OR (earlier.due_ms = job.due_ms AND earlier.id < job.id))))"""


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of background work."""

    id: int
    kind: str
    key: str
    due_ms: int
    payload: str
    """The payload as JSON."""
    attempts: int
    """Number of previous attempts."""
    first_tried_ms: int | None
    """The time of the first attempt in Unix milliseconds; None before it."""

    def decode(self, payload_type: type[T]) -> T:
        """Decode the payload as a model."""
        return codec.decode(self.payload, payload_type)

    @property
    def concurrency_group(self) -> str:
        """The prefix `kind/group/` of a key of the form `kind/group/subject`; empty for any other key.

        The jobs of a group share a limit of concurrent jobs, for example those that call the same server."""
        return self.key[: self.key.rfind("/") + 1] if self.key.count("/") == 2 else ""


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that failed permanently."""

    id: int
    kind: str
    key: str
    due_ms: int
    payload: str
    attempts: int
    error: str


JobHandler = Callable[[Tx, Job], None] | Callable[[Job], Awaitable[None]]
"""A plain handler runs in the transaction that deletes the job; after an async handler returns, another transaction deletes it."""


class PermanentFailure(Exception):
    """Raised by a handler to mark its job as failed without a retry."""


class RetryLater(Exception):
    """Raised by a handler to retry its job after `after_ms` milliseconds."""

    def __init__(self, after_ms: int, reason: str) -> None:
        self.after_ms = after_ms
        super().__init__(reason)


class DropJob(Exception):
    """Raised by a handler to delete its failed job instead of retrying it or keeping it as failed."""


class JobMetrics(Protocol):
    """Counts the outcomes of jobs."""

    def record_job(self, kind: str, outcome: str, *, seconds: float, delay_seconds: float | None) -> None:
        """Count an attempt by its outcome: `done`, `retried`, `failed` or `dropped`.

        `seconds` is its duration. `delay_seconds` is the time from the due time to the start, None if it is unknown."""
        ...


# Without `<> ''` the query planner does not use the index on keys and scans all waiting jobs.
WAITING_JOB_SQL: Final = "SELECT 1 FROM jobs WHERE key = ? AND key <> '' AND kind = ? AND state = 'waiting'"
"""Query that selects a waiting job with this key and kind; add LIMIT 1 when embedding it in another statement."""


def enqueue_once(tx: Tx, kind: str, payload: Any, *, due_ms: int, key: str) -> None:
    """Enqueue a job unless one of this kind and key is waiting. Two concurrent transactions may still enqueue two."""
    if tx.value(WAITING_JOB_SQL, key, kind) is None:
        tx.enqueue(kind, payload, due_ms=due_ms, key=key)


def cancel_jobs(tx: Tx, kind: str, key: str) -> int:
    """Delete the waiting jobs of a kind and key and return their number.

    An async handler that is running still finishes."""
    return tx.run("DELETE FROM jobs WHERE kind = ? AND key = ? AND key <> '' AND state = 'waiting'", kind, key)


def has_successor(tx: Tx, job: Job) -> bool:
    """Return whether a waiting job with the same kind and key was enqueued after this one."""
    successor_sql = "SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND id > ? AND state = 'waiting'"
    return tx.value(successor_sql, job.kind, job.key, job.id) is not None


def delete_by_prefix(tx: Tx, kind: str, key_prefix: str) -> int:
    """Delete all jobs of a kind with this key prefix, failed ones included, and return their number.

    An async handler that is running still finishes."""
    return tx.run(f"DELETE FROM jobs WHERE kind = ? AND substr(key, 1, {len(key_prefix)}) = ?", kind, key_prefix)


def list_failed(
    tx: Tx, *, kind: str | None = None, key_prefix: str = "", after: int = 0, limit: int = 100
) -> list[FailedJob]:
    """Return up to `limit` failed jobs with an ID above `after`, oldest first."""
    condition, parameters = _failed_condition(None, kind, key_prefix)
    return tx.fetch(
        FailedJob,
        f"SELECT id, kind, key, due_ms, payload, attempts, error FROM jobs WHERE {condition} AND id > ? ORDER BY id LIMIT ?",
        *parameters,
        after,
        limit,
    )


def retry_failed(tx: Tx, id: int | None = None, *, kind: str | None = None, key_prefix: str = "") -> int:
    """Make all matching failed jobs run again and return their number."""
    tx.wakes_worker = True
    condition, parameters = _failed_condition(id, kind, key_prefix)
    return tx.run(
        "UPDATE jobs SET state = 'waiting', attempts = 0, first_tried_ms = NULL, ready_ms = due_ms, error = NULL,"
        f" leased_by = '' WHERE {condition}",
        *parameters,
    )


def release_leases(tx: Tx, worker_name: str | None = None) -> int:
    """Make the jobs of a worker that ended claimable immediately and return their number; None stands for all workers."""
    condition, parameters = ("leased_by <> ''", ()) if worker_name is None else ("leased_by = ?", (worker_name,))
    return tx.run(
        f"UPDATE jobs SET ready_ms = due_ms, leased_by = '' WHERE state = 'waiting' AND {condition}", *parameters
    )


def _failed_condition(id: int | None, kind: str | None, key_prefix: str) -> tuple[str, list[Any]]:
    """Return the SQL condition and its parameters for failed jobs; None and an empty prefix match all."""
    condition, parameters = "state = 'failed'", list[Any]()
    if id is not None:
        condition += " AND id = ?"
        parameters.append(id)
    if kind is not None:
        condition += " AND kind = ?"
        parameters.append(kind)
    if key_prefix:
        condition += f" AND substr(key, 1, {len(key_prefix)}) = ?"
        parameters.append(key_prefix)
    return condition, parameters


class _SlotPool:
    """Job kinds that share a limited number of slots."""

    def __init__(self, kinds: Iterable[str], slots_max: int, group_slots_max: int) -> None:
        self.kinds = tuple(kinds)
        self.jobs: dict[int, Job] = {}
        """Running jobs by ID."""
        self._slots_max = slots_max
        self._group_slots_max = group_slots_max

    @property
    def free_slot_count(self) -> int:
        """Number of jobs that can be started now."""
        return self._slots_max - len(self.jobs) if self.kinds else 0

    def condition(self) -> tuple[str, list[Any]]:
        """Return the SQL condition for a claimable row of `jobs AS job`: a known kind, and a concurrency group below the limit."""
        counts_by_group = self._count_by_group()
        full_groups = [group for group, count in counts_by_group.items() if group and count >= self._group_slots_max]
        exclusions = "".join(f" AND substr(job.key, 1, {len(group)}) <> ?" for group in full_groups)
        return f"job.kind IN ({placeholders(self.kinds)}){exclusions}", [*self.kinds, *full_groups]

    def _count_by_group(self) -> Counter[str]:
        # A thread claims jobs while the event loop adds and removes running ones; `list` copies them in one step.
        return Counter(job.concurrency_group for job in list(self.jobs.values()))

    def choose(self, candidates: Iterable[Job]) -> list[Job]:
        """Select the due jobs that there are free slots for, in total and per concurrency group."""
        counts_by_group = self._count_by_group()
        chosen_jobs: list[Job] = []
        for job in candidates:
            # The clock of a rehearsal may jump past the end of a lease while this worker still runs the job.
            if job.id in self.jobs or (
                job.concurrency_group and counts_by_group[job.concurrency_group] >= self._group_slots_max
            ):
                continue
            if len(chosen_jobs) == self.free_slot_count:
                break
            counts_by_group[job.concurrency_group] += 1
            chosen_jobs.append(job)
        return chosen_jobs


class Worker:
    """Runs due jobs. Any number of workers may share a database; a job is leased to one of them at a time."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        handlers: Mapping[str, JobHandler],
        metrics: JobMetrics | None = None,
        *,
        retry_period_ms: Mapping[str, int] | None = None,
        database_jobs_max: int = DATABASE_JOBS_MAX,
        async_jobs_max: int = ASYNC_JOBS_MAX,
        group_jobs_max: int = GROUP_JOBS_MAX,
        lease_ms: int = LEASE_MS,
        poll_ms: int | None = None,
        name: str | None = None,
        observer: Observer | None = None,
    ) -> None:
        """Create a worker; `name` is the unique name under which it leases jobs, by default a random one.

        `retry_period_ms` maps kinds of jobs to the time after which a job is marked as failed; the default is
        `RETRY_PERIOD_MS`. With `poll_ms` the worker also polls for jobs that another process enqueued."""
        self._db = db
        self._clock = clock
        self._handlers = handlers
        async_kinds = {kind for kind, handler in handlers.items() if inspect.iscoroutinefunction(handler)}
        self._pools = (
            _SlotPool(handlers.keys() - async_kinds, database_jobs_max, database_jobs_max),
            _SlotPool(async_kinds, async_jobs_max, group_jobs_max),
        )
        self._metrics = metrics
        self._observer = observer
        self._retry_periods_ms = retry_period_ms or {}
        self._lease_ms = lease_ms
        self._poll_ms = poll_ms
        self._name = name or secrets.token_hex(8)
        self._tasks_by_job_id: dict[int, asyncio.Task[None]] = {}
        self._scan_task: asyncio.Task[None] | None = None
        self._needs_rescan = False
        self._timer: Timer | None = None
        self._is_stopped = True

    @property
    def running_count(self) -> int:
        """The number of jobs in progress."""
        return len(self._tasks_by_job_id)

    def start(self) -> None:
        """Start: scan for due jobs now, and again when one becomes due or `wake` is called."""
        self._is_stopped = False
        self.wake()

    async def stop(self, *, grace_seconds: float = 5.0) -> None:
        """Stop accepting jobs, wait for running ones for a limited time, and release the leases of the rest."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._scan_task is not None:
            await asyncio.wait([self._scan_task])
        tasks = list(self._tasks_by_job_id.values())
        if tasks:
            _, unfinished_tasks = await asyncio.wait(tasks, timeout=grace_seconds)
            for task in unfinished_tasks:
                task.cancel()
            if unfinished_tasks:
                await asyncio.wait(unfinished_tasks)
        try:
            await self._db.write(lambda tx: release_leases(tx, self._name))
        except StoreUnavailable:
            log.warning("Could not release the leases of running jobs; the jobs run again when the leases expire")

    def wake(self) -> None:
        """Scan now: a job was enqueued, or one just ended."""
        if self._is_stopped:
            return
        if self._scan_task is not None:
            self._needs_rescan = True
            return
        self._scan_task = asyncio.get_running_loop().create_task(self._scan())

    async def run_due(self) -> None:
        """Run jobs and return once no due job is left. A job that waits for a retry is not due."""
        self.wake()
        while self._scan_task is not None or self._tasks_by_job_id:
            tasks: list[asyncio.Task[None]] = list(self._tasks_by_job_id.values())
            if self._scan_task is not None:
                tasks.append(self._scan_task)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)

    async def _scan(self) -> None:
        """Claim and start due jobs until none is left, then set a timer for the next one."""
        CURRENT.set(None)  # The operation that woke the worker does not wait for it.
        next_ms: int | None = None
        try:
            with self._clock.working():
                while not self._is_stopped:
                    self._needs_rescan = False
                    claimed_jobs, next_ms = list[Job](), None
                    if any(pool.free_slot_count > 0 for pool in self._pools):
                        claimed_jobs, next_ms = await self._db.write(partial(self._claim, now_ms=self._clock.now_ms()))
                    for job in claimed_jobs:
                        self._start_job(job)
                    if not claimed_jobs and not self._needs_rescan:
                        break
        except StoreUnavailable:
            next_ms = self._clock.now_ms() + STORE_RETRY_MS
        except Exception:
            log.exception("The worker could not scan for due jobs")
            next_ms = self._clock.now_ms() + STORE_RETRY_MS
        finally:
            self._scan_task = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._is_stopped:
            return
        if self._poll_ms is not None:
            next_poll_ms = self._clock.now_ms() + self._poll_ms
            next_ms = next_poll_ms if next_ms is None else min(next_ms, next_poll_ms)
        if self._needs_rescan:
            self.wake()
        elif next_ms is not None:
            if next_ms <= self._clock.now_ms():
                # The clock was moved during the scan; a frozen clock would never fire a timer for this time.
                self.wake()
            else:
                self._timer = self._clock.call_at(next_ms, self.wake)

    def _claim(self, tx: Tx, now_ms: int) -> tuple[list[Job], int | None]:
        """Lease due jobs to this worker and return them, or else the time in Unix milliseconds at which the next one is due."""
        pools = [(pool, *pool.condition()) for pool in self._pools if pool.free_slot_count > 0]
        claimed_jobs: list[Job] = []
        for pool, claimable_condition, parameters in pools:
            due_jobs = tx.fetch(
                Job,
                "SELECT job.id, job.kind, job.key, job.due_ms, job.payload, job.attempts, job.first_tried_ms FROM jobs AS job"
                f" WHERE job.state = 'waiting' AND job.ready_ms <= ? AND {claimable_condition} AND {_UNBLOCKED_CONDITION}"
                " ORDER BY job.ready_ms, job.id LIMIT ?",
                now_ms,
                *parameters,
                pool.free_slot_count + len(pool.jobs),
            )
            claimed_jobs += pool.choose(due_jobs)
        if claimed_jobs:
            tx.run_many(
                "UPDATE jobs SET ready_ms = ?, leased_by = ?, first_tried_ms = COALESCE(first_tried_ms, ?) WHERE id = ?",
                [(now_ms + self._lease_ms, self._name, now_ms, job.id) for job in claimed_jobs],
            )
            return claimed_jobs, None
        next_due_times = [
            tx.value(
                f"SELECT job.ready_ms FROM jobs AS job WHERE job.state = 'waiting' AND job.ready_ms > ? AND {claimable_condition}"
                f" AND {_UNBLOCKED_CONDITION} ORDER BY job.ready_ms, job.id LIMIT 1",
                now_ms,
                *parameters,
            )
            for _, claimable_condition, parameters in pools
        ]
        return [], min((due_ms for due_ms in next_due_times if due_ms is not None), default=None)

    def _start_job(self, job: Job) -> None:
        pool = next(pool for pool in self._pools if job.kind in pool.kinds)
        pool.jobs[job.id] = job
        self._tasks_by_job_id[job.id] = asyncio.get_running_loop().create_task(self._run_job(job, pool))

    async def _run_job(self, job: Job, pool: _SlotPool) -> None:
        """Attempt a job and free its slot."""
        observer, observation, outcome = self._observer, None, "store unavailable"
        if observer is not None:
            traceparent = observer.take_job_trace(job.id)
            observation = observer.start("job", job.kind, traceparent=traceparent, is_trusted=True)
        try:
            with self._clock.working():
                outcome = await self._attempt_job(job)
        except StoreUnavailable:
            log.warning(
                "Job %d (%s) could not be completed in the store; it runs again when its lease expires",
                job.id,
                job.kind,
            )
        finally:
            if observer is not None:
                observer.end(
                    observation, {"hubbub.job.outcome": outcome}, "" if outcome in _SUCCESS_OUTCOMES else outcome
                )
            del self._tasks_by_job_id[job.id], pool.jobs[job.id]
            self.wake()

    async def _attempt_job(self, job: Job) -> str:
        """Run the handler of a job once, record the outcome and return it."""
        handler = self._handlers[job.kind]
        loop = asyncio.get_running_loop()
        started_at = loop.time()
        # A job without a due time does not contain the time at which it was enqueued.
        has_known_delay = job.due_ms > 0 and not job.attempts
        delay_seconds = max(0, self._clock.now_ms() - job.due_ms) / 1000 if has_known_delay else None
        try:
            if inspect.iscoroutinefunction(handler):
                # Time out before the lease ends, so that no second worker starts the job meanwhile.
                async with asyncio.timeout(self._lease_ms * LEASE_USE_MAX / 1000):
                    await handler(job)
                await self._db.write(lambda tx: self._delete_finished(tx, job))
            else:
                await self._db.write(lambda tx: handler(tx, job) if self._delete_finished(tx, job) else None)  # type: ignore[call-arg,arg-type]
        except StoreUnavailable:
            raise
        except Exception as error:
            outcome = await self._db.write(partial(self._record_failure, job=job, error=error))
            # These exceptions state an outcome; all others are defects.
            is_expected = isinstance(error, (DropJob, PermanentFailure, RetryLater))
            failure_level = logging.WARNING if is_expected else logging.ERROR
            log.log(
                failure_level if outcome == "failed" else logging.INFO,
                "Job %d (%s) %s after attempt %d%s",
                job.id,
                job.kind,
                outcome,
                job.attempts + 1,
                f": {error}" if is_expected else "",
                exc_info=None if is_expected else error,
            )
        else:
            outcome = "done"
        if self._metrics is not None:
            seconds = loop.time() - started_at
            self._metrics.record_job(job.kind, outcome, seconds=seconds, delay_seconds=delay_seconds)
        return outcome

    def _delete_finished(self, tx: Tx, job: Job) -> bool:
        """Delete the job. Return False if it was cancelled or leased to another worker."""
        return tx.run("DELETE FROM jobs WHERE id = ? AND leased_by = ?", job.id, self._name) == 1

    def _record_failure(self, tx: Tx, job: Job, error: Exception) -> str:
        """Delete the job, schedule a retry, or mark the job as failed. Return `dropped`, `retried` or `failed`."""
        if isinstance(error, DropJob):
            self._delete_finished(tx, job)
            return "dropped"
        now_ms = self._clock.now_ms()
        since_first_attempt_ms = 0 if job.first_tried_ms is None else now_ms - job.first_tried_ms
        retry_delay_ms = min(BACKOFF_MS * 2 ** min(job.attempts, 30), BACKOFF_MAX_MS)
        if isinstance(error, RetryLater):
            retry_delay_ms = error.after_ms
        retry_period_ms = self._retry_periods_ms.get(job.kind, RETRY_PERIOD_MS)
        has_failed = isinstance(error, PermanentFailure) or since_first_attempt_ms >= retry_period_ms
        tx.run(
            "UPDATE jobs SET state = ?, attempts = attempts + 1, ready_ms = ?, leased_by = '', error = ?"
            " WHERE id = ? AND leased_by = ?",
            "failed" if has_failed else "waiting",
            now_ms + retry_delay_ms,
            f"{type(error).__name__}: {error}"[:2000],
            job.id,
            self._name,
        )
        return "failed" if has_failed else "retried"
