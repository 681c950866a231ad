"""Jobs on every store: due times, order, retries, cancellation, concurrent workers and leases."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hubbub.server.core import jobs
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.jobs import FailedJob, Job, JobHandler, PermanentFailure, RetryLater, Worker
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, Tx
from tests.world import WAIT_TIMEOUT_SECONDS

START_MS = 1_800_000_000_000
MINUTE_MS = 60_000


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock(START_MS, running=False)


class JobHarness:
    """A database, a clock, and the workers of a test."""

    def __init__(self, db: Database, clock: ControlledClock) -> None:
        self.db = db
        self.clock = clock
        self.workers: list[Worker] = []
        self.outcomes: list[tuple[str, str]] = []
        db.on_wake = self.wake

    def record_job(self, kind: str, outcome: str, *, seconds: float, delay_seconds: float | None) -> None:
        """Record the outcome of a job; workers call this instead of the metrics."""
        self.outcomes.append((kind, outcome))

    def wake(self) -> None:
        """Wake all workers after a commit that enqueued a job."""
        for worker in self.workers:
            worker.wake()

    def start_worker(self, handlers: dict[str, JobHandler], **options: Any) -> Worker:
        worker = Worker(self.db, self.clock, handlers, self, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    async def enqueue(self, kind: str, payload: Any = None, *, due_ms: int = 0, key: str = "") -> int:
        return await self.db.write(lambda tx: tx.enqueue(kind, payload, due_ms=due_ms, key=key))

    async def count_jobs(self) -> int:
        return int(await self.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM jobs")))

    async def run_due_jobs(self) -> None:
        """Run all due jobs and wait until they have ended."""
        for worker in self.workers:
            await worker.run_due()
        await self.clock.settle()

    async def failed_jobs(self) -> list[FailedJob]:
        return await self.db.read(jobs.list_failed)


def recording_handler(names: list[str], name: str) -> JobHandler:
    """Return a transactional handler that records its name after the commit, because its transaction can be retried."""

    def handle(tx: Tx, job: Job) -> None:
        tx.after_commit.append(lambda: names.append(name))

    return handle


@pytest.fixture
async def harness(database: Database, clock: ControlledClock) -> AsyncIterator[JobHarness]:
    """A harness on each store; its workers are stopped after the test."""
    harness = JobHarness(database, clock)
    yield harness
    for worker in harness.workers:
        await worker.stop()


async def test_a_transactional_job_commits_together_with_its_removal(harness: JobHarness) -> None:
    def handle(tx: Tx, job: Job) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", job.decode(dict)["name"], "done")

    harness.start_worker({"mark": handle})
    await harness.enqueue("mark", {"name": "a"})
    await harness.run_due_jobs()

    assert await harness.db.read(lambda tx: tx.value("SELECT value FROM meta WHERE name = 'a'")) == "done"
    assert await harness.count_jobs() == 0
    assert harness.outcomes == [("mark", "done")]


async def test_a_failed_transactional_job_is_rolled_back_and_retried(harness: JobHarness) -> None:
    attempts: list[int] = []

    def handle(tx: Tx, job: Job) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES ('a', '1')")
        # A unit of work can run more than once (core/store.py), so attempts are identified by their number.
        if job.attempts not in attempts:
            attempts.append(job.attempts)
        if job.attempts < 2:
            raise RuntimeError("not yet")

    harness.start_worker({"mark": handle})
    await harness.enqueue("mark")
    await harness.run_due_jobs()
    assert attempts == [0]
    assert await harness.db.read(lambda tx: tx.value("SELECT value FROM meta WHERE name = 'a'")) is None

    await harness.clock.run_for(MINUTE_MS)
    await harness.run_due_jobs()

    assert attempts == [0, 1, 2]
    assert await harness.count_jobs() == 0
    assert [outcome for _, outcome in harness.outcomes] == ["retried", "retried", "done"]


async def test_a_job_waits_until_it_is_due(harness: JobHarness) -> None:
    executed_jobs: list[int] = []

    async def handle(job: Job) -> None:
        executed_jobs.append(harness.clock.now_ms())

    harness.start_worker({"later": handle})
    await harness.enqueue("later", due_ms=START_MS + 2 * MINUTE_MS)
    await harness.enqueue("later", due_ms=START_MS + MINUTE_MS)
    await harness.run_due_jobs()
    await harness.clock.run_for(MINUTE_MS - 1)
    await harness.run_due_jobs()
    assert executed_jobs == []

    await harness.clock.run_for(1)
    await harness.run_due_jobs()
    assert executed_jobs == [START_MS + MINUTE_MS]

    await harness.clock.run_for(10 * MINUTE_MS)
    await harness.run_due_jobs()
    assert executed_jobs == [START_MS + MINUTE_MS, START_MS + 2 * MINUTE_MS]


async def test_jobs_that_became_due_without_a_worker_run_in_order(harness: JobHarness) -> None:
    executed_jobs: list[int] = []

    async def handle(job: Job) -> None:
        executed_jobs.append(job.decode(int))

    for number in (3, 1, 2):
        await harness.enqueue("call", number, due_ms=START_MS - 1000 + number)
    harness.start_worker({"call": handle}, async_jobs_max=1)
    await harness.run_due_jobs()

    assert executed_jobs == [1, 2, 3]


async def test_jobs_of_one_key_run_serially_and_in_order_across_a_retry(harness: JobHarness) -> None:
    started_payloads: list[str] = []
    running_count = running_max = 0

    async def handle(job: Job) -> None:
        nonlocal running_count, running_max
        name = job.decode(str)
        started_payloads.append(name)
        if name[0] == "a":
            running_count += 1
            running_max = max(running_count, running_max)
            await asyncio.sleep(0)
            running_count -= 1
        if started_payloads.count("a1") == 1 and name == "a1":
            raise OSError("unreachable")

    for name in ("a1", "a2", "a3", "b1"):
        await harness.enqueue("call", name, key=name[0])
    harness.start_worker({"call": handle})
    await harness.run_due_jobs()
    assert sorted(started_payloads) == ["a1", "b1"]

    await harness.clock.run_for(MINUTE_MS)
    await harness.run_due_jobs()

    assert [name for name in started_payloads if name[0] == "a"] == ["a1", "a1", "a2", "a3"]
    assert running_max == 1
    assert await harness.count_jobs() == 0


async def test_an_async_job_is_retried_with_backoff_then_fails_and_can_be_replayed(harness: JobHarness) -> None:
    attempt_times: list[int] = []
    is_reachable = False

    async def handle(job: Job) -> None:
        attempt_times.append(harness.clock.now_ms() - START_MS)
        if not is_reachable:
            raise OSError("no route")

    harness.start_worker({"call": handle}, retry_period_ms={"call": 10_000})
    await harness.enqueue("call", {"to": "somewhere"}, key="k")
    await harness.run_due_jobs()
    for _ in range(8):
        await harness.clock.run_for(5_000)
        await harness.run_due_jobs()

    assert attempt_times == [0, 1_000, 3_000, 7_000, 15_000]
    (failed_job,) = await harness.failed_jobs()
    assert (failed_job.kind, failed_job.payload, failed_job.attempts, failed_job.error) == (
        "call",
        '{"to":"somewhere"}',
        5,
        "OSError: no route",
    )

    is_reachable = True
    assert await harness.db.write(jobs.retry_failed) == 1
    await harness.run_due_jobs()
    assert len(attempt_times) == 6
    assert await harness.count_jobs() == 0


async def test_a_handler_can_give_up_without_blocking_its_key(harness: JobHarness) -> None:
    executed_jobs: list[str] = []

    async def handle(job: Job) -> None:
        executed_jobs.append(job.decode(str))
        if executed_jobs == ["deleted"]:
            raise PermanentFailure("the endpoint was deleted")

    await harness.enqueue("call", "deleted", key="k")
    await harness.enqueue("call", "next", key="k")
    harness.start_worker({"call": handle})
    await harness.run_due_jobs()

    assert executed_jobs == ["deleted", "next"]
    assert [failed_job.error for failed_job in await harness.failed_jobs()] == [
        "PermanentFailure: the endpoint was deleted"
    ]


async def test_jobs_are_looked_up_by_key_with_an_index() -> None:
    database = SqliteDatabase(None)
    await database.start()
    try:
        plan = await database.read(lambda tx: tx.all(f"EXPLAIN QUERY PLAN {jobs.WAITING_JOB_SQL}", "key", "kind"))
    finally:
        await database.close()

    assert [row[-1] for row in plan] == ["SEARCH jobs USING INDEX jobs_key (key=?)"]


async def test_two_workers_share_jobs_and_never_run_one_twice(harness: JobHarness) -> None:
    executed_jobs: list[int] = []

    async def handle(job: Job) -> None:
        executed_jobs.append(job.id)
        await asyncio.sleep(0)

    enqueued_ids = sorted([await harness.enqueue("call", number) for number in range(30)])
    for _ in range(2):
        harness.start_worker({"call": handle}, async_jobs_max=4)
    await harness.run_due_jobs()

    assert sorted(executed_jobs) == enqueued_ids
    assert await harness.count_jobs() == 0


async def test_slow_jobs_of_one_owner_do_not_delay_others(harness: JobHarness) -> None:
    executed_jobs: list[str] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        if job.key.startswith("call/slow/"):
            await release.wait()
        executed_jobs.append(job.key)

    for number in range(6):
        await harness.enqueue("call", key=f"call/slow/{number}")
    await harness.enqueue("call", key="call/quick/1")
    await harness.enqueue("note")
    harness.start_worker(
        {"call": handle, "note": recording_handler(executed_jobs, "note")}, async_jobs_max=4, group_jobs_max=3
    )
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while len(executed_jobs) < 2:
            await asyncio.sleep(0.01)
    assert sorted(executed_jobs) == ["call/quick/1", "note"]

    release.set()
    await harness.run_due_jobs()
    assert len(executed_jobs) == 8
    assert await harness.count_jobs() == 0


async def test_transactional_jobs_run_while_all_async_slots_are_taken(harness: JobHarness) -> None:
    executed_jobs: list[str] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        await release.wait()

    for _ in range(5):
        await harness.enqueue("call")
    harness.start_worker({"call": handle, "note": recording_handler(executed_jobs, "note")}, async_jobs_max=2)
    await harness.enqueue("note")
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not executed_jobs:
            await asyncio.sleep(0.01)
    release.set()
    await harness.run_due_jobs()
    assert await harness.count_jobs() == 0


async def test_a_job_of_a_dead_worker_is_released_when_its_lease_ends(harness: JobHarness) -> None:
    executed_jobs: list[str] = []

    async def hang(job: Job) -> None:
        executed_jobs.append("hangs")
        await asyncio.Event().wait()

    async def handle(job: Job) -> None:
        executed_jobs.append("works")

    await harness.enqueue("call")
    dead_worker = Worker(harness.db, harness.clock, {"call": hang}, lease_ms=MINUTE_MS)
    dead_worker.start()
    while not executed_jobs:
        await asyncio.sleep(0)
    # The worker crashes: its task ends, and it does not return the job to the queue.
    dead_worker._is_stopped = True
    task = next(iter(dead_worker._tasks_by_job_id.values()))
    task.cancel()
    await asyncio.wait([task])

    worker = harness.start_worker({"call": handle})
    await worker.run_due()
    assert executed_jobs == ["hangs"]
    harness.clock.advance(MINUTE_MS)
    await worker.run_due()

    assert executed_jobs == ["hangs", "works"]
    assert await harness.count_jobs() == 0


async def test_stopping_a_worker_returns_unfinished_jobs(harness: JobHarness) -> None:
    job_started = asyncio.Event()

    async def hang(job: Job) -> None:
        job_started.set()
        await asyncio.Event().wait()

    await harness.enqueue("call")
    worker = Worker(harness.db, harness.clock, {"call": hang})
    worker.start()
    await job_started.wait()
    await worker.stop(grace_seconds=0)

    executed_jobs: list[str] = []
    harness.start_worker({"call": recording_handler(executed_jobs, "call")})
    await harness.run_due_jobs()
    assert executed_jobs == ["call"]
    assert await harness.count_jobs() == 0


async def test_a_clock_jump_does_not_start_a_job_twice(harness: JobHarness) -> None:
    started_ids: list[int] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        started_ids.append(job.id)
        await release.wait()

    worker = harness.start_worker({"call": handle})
    await harness.enqueue("call")
    while not started_ids:
        await asyncio.sleep(0)
    harness.clock.advance(100 * MINUTE_MS)
    # Enqueuing wakes the worker, which has no handler for this job.
    await harness.enqueue("other")
    release.set()
    await worker.run_due()

    assert len(started_ids) == 1
    assert await harness.count_jobs() == 1


async def test_canceled_jobs_do_not_run(harness: JobHarness) -> None:
    executed_jobs: list[str] = []

    async def handle(job: Job) -> None:
        executed_jobs.append(job.decode(str))

    await harness.enqueue("expire", "a", due_ms=START_MS + 10, key="a")
    await harness.enqueue("expire", "b", due_ms=START_MS + 10, key="b")
    harness.start_worker({"expire": handle})
    assert await harness.db.write(lambda tx: jobs.cancel_jobs(tx, "expire", "a")) == 1
    await harness.clock.run_for(10)
    await harness.run_due_jobs()

    assert executed_jobs == ["b"]


async def test_a_handler_can_set_the_retry_delay(harness: JobHarness) -> None:
    attempt_times: list[int] = []

    async def handle(job: Job) -> None:
        attempt_times.append((harness.clock.now_ms() - START_MS) // 1000)
        if len(attempt_times) < 3:
            raise RetryLater(5_000, "not yet")

    harness.start_worker({"call": handle})
    await harness.enqueue("call")
    await harness.run_due_jobs()
    await harness.clock.run_for(60_000)

    assert attempt_times == [0, 5, 10]
    assert await harness.count_jobs() == 0


async def test_failed_jobs_are_listed_by_key_prefix(harness: JobHarness) -> None:
    async def handle(job: Job) -> None:
        raise PermanentFailure("no")

    harness.start_worker({"call": handle, "other": handle})
    for kind, key in (("call", "a/1"), ("call", "a/2"), ("call", "ab/1"), ("other", "a/1")):
        await harness.enqueue(kind, key, key=key)
    await harness.run_due_jobs()

    failed_jobs = await harness.db.read(lambda tx: jobs.list_failed(tx, kind="call", key_prefix="a/"))
    assert sorted(job.key for job in failed_jobs) == ["a/1", "a/2"]
    last_id = max(job.id for job in failed_jobs)
    assert await harness.db.read(lambda tx: jobs.list_failed(tx, kind="call", key_prefix="a/", after=last_id)) == []
    assert await harness.db.write(lambda tx: jobs.retry_failed(tx, last_id, kind="call", key_prefix="ab/")) == 0
    assert await harness.db.write(lambda tx: jobs.retry_failed(tx, kind="call", key_prefix="a/")) == 2


async def test_a_job_without_a_handler_is_left_for_other_workers(harness: JobHarness) -> None:
    harness.start_worker({"handled": lambda tx, job: None})
    await harness.enqueue("unhandled")
    await harness.enqueue("handled")
    await harness.run_due_jobs()
    assert await harness.count_jobs() == 1


async def test_a_polling_worker_finds_jobs_without_being_woken(harness: JobHarness) -> None:
    executed_jobs: list[str] = []
    harness.start_worker({"call": recording_handler(executed_jobs, "call")}, poll_ms=5_000)
    await harness.run_due_jobs()
    harness.db.on_wake = lambda: None
    await harness.enqueue("call")
    assert executed_jobs == []

    await harness.clock.run_for(5_000)
    await harness.run_due_jobs()
    assert executed_jobs == ["call"]


async def test_jobs_can_enqueue_further_jobs(harness: JobHarness) -> None:
    executed_jobs: list[int] = []

    def handle(tx: Tx, job: Job) -> None:
        step = job.decode(int)
        tx.after_commit.append(lambda: executed_jobs.append(step))
        if step < 3:
            tx.enqueue("step", step + 1)

    harness.start_worker({"step": handle})
    await harness.enqueue("step", 1)
    await harness.run_due_jobs()
    assert executed_jobs == [1, 2, 3]
    assert await harness.count_jobs() == 0


def test_jobs_are_claimed_while_others_start_and_end() -> None:
    """A worker claims jobs in a thread, and its event loop adds and removes running ones at the same time."""
    pool = jobs._SlotPool(["mail"], 1000, 10)
    claim_count = 0

    def claim() -> None:
        nonlocal claim_count
        for _ in range(3000):
            pool.condition()
            pool.choose([])
            claim_count += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=claim)
    thread.start()
    while thread.is_alive():
        for number in range(20):
            pool.jobs[number] = Job(number, "mail", "mail/group/1", START_MS, "{}", 0, None)
        pool.jobs.clear()
    sys.setswitchinterval(interval)

    assert claim_count == 3000
