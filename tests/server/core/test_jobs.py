"""Jobs, on every store, with a clock that the tests move."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hubbub.server.core import jobs
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.jobs import FailedJob, GiveUp, Job, JobHandler, TryAgain, Worker
from hubbub.server.core.sqlite import SqliteDatabase
from hubbub.server.core.store import Database, Tx
from tests.world import PATIENCE

START_MS = 1_800_000_000_000
MINUTE_MS = 60_000


@pytest.fixture
def clock() -> ControlledClock:
    return ControlledClock(START_MS, running=False)


class Desk:
    """A store, a clock, and the workers of a test."""

    def __init__(self, db: Database, clock: ControlledClock) -> None:
        self.db = db
        self.clock = clock
        self.workers: list[Worker] = []
        self.outcomes: list[tuple[str, str]] = []
        db.on_wake = self.wake

    def job(self, kind: str, outcome: str) -> None:
        self.outcomes.append((kind, outcome))

    def wake(self) -> None:
        for worker in self.workers:
            worker.wake()

    def hire(self, handlers: dict[str, JobHandler], **options: Any) -> Worker:
        worker = Worker(self.db, self.clock, handlers, self, **options)
        self.workers.append(worker)
        worker.start()
        return worker

    async def enqueue(self, kind: str, payload: Any = None, *, due_ms: int = 0, key: str = "") -> int:
        return await self.db.write(lambda tx: tx.enqueue(kind, payload, due_ms=due_ms, key=key))

    async def left(self) -> int:
        return int(await self.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM jobs")))

    async def done(self) -> None:
        for worker in self.workers:
            await worker.run_due()
        await self.clock.settle()

    async def failed(self) -> list[FailedJob]:
        return await self.db.read(jobs.list_failed)


@pytest.fixture
async def desk(database: Database, clock: ControlledClock) -> AsyncIterator[Desk]:
    desk = Desk(database, clock)
    yield desk
    for worker in desk.workers:
        await worker.stop()


async def test_a_plain_job_takes_effect_in_the_transaction_that_ends_it(desk: Desk) -> None:
    def handle(tx: Tx, job: Job) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES (?, ?)", job.decode(dict)["name"], "done")

    desk.hire({"mark": handle})
    await desk.enqueue("mark", {"name": "a"})
    await desk.done()

    assert await desk.db.read(lambda tx: tx.value("SELECT value FROM meta WHERE name = 'a'")) == "done"
    assert await desk.left() == 0
    assert desk.outcomes == [("mark", "done")]


async def test_a_plain_job_that_fails_leaves_no_effect_and_is_tried_again(desk: Desk) -> None:
    attempts: list[int] = []

    def handle(tx: Tx, job: Job) -> None:
        tx.run("INSERT INTO meta (name, value) VALUES ('a', '1')")
        # A unit of work may run more than once (core/store.py), so attempts are told apart by their number.
        if job.attempts not in attempts:
            attempts.append(job.attempts)
        if job.attempts < 2:
            raise RuntimeError("not yet")

    desk.hire({"mark": handle})
    await desk.enqueue("mark")
    await desk.done()
    assert attempts == [0]
    assert await desk.db.read(lambda tx: tx.value("SELECT value FROM meta WHERE name = 'a'")) is None

    await desk.clock.run_for(MINUTE_MS)
    await desk.done()

    assert attempts == [0, 1, 2]
    assert await desk.left() == 0
    assert [outcome for _, outcome in desk.outcomes] == ["retried", "retried", "done"]


async def test_a_job_waits_for_its_moment(desk: Desk) -> None:
    ran: list[int] = []
    desk.hire({"later": lambda tx, job: ran.append(desk.clock.now_ms())})
    await desk.enqueue("later", due_ms=START_MS + 2 * MINUTE_MS)
    await desk.enqueue("later", due_ms=START_MS + MINUTE_MS)
    await desk.done()
    await desk.clock.run_for(MINUTE_MS - 1)
    await desk.done()
    assert ran == []

    await desk.clock.run_for(1)
    await desk.done()
    assert ran == [START_MS + MINUTE_MS]

    await desk.clock.run_for(10 * MINUTE_MS)
    await desk.done()
    assert ran == [START_MS + MINUTE_MS, START_MS + 2 * MINUTE_MS]


async def test_jobs_that_were_due_while_nobody_worked_run_in_order(desk: Desk) -> None:
    ran: list[int] = []

    async def handle(job: Job) -> None:
        ran.append(job.decode(int))

    for number in (3, 1, 2):
        await desk.enqueue("call", number, due_ms=START_MS - 1000 + number)
    desk.hire({"call": handle}, outside_max=1)
    await desk.done()

    assert ran == [1, 2, 3]


async def test_jobs_of_one_key_run_one_at_a_time_and_in_order_across_a_retry(desk: Desk) -> None:
    began: list[str] = []
    at_once = most_at_once = 0

    async def handle(job: Job) -> None:
        nonlocal at_once, most_at_once
        name = job.decode(str)
        began.append(name)
        if name[0] == "a":
            at_once += 1
            most_at_once = max(at_once, most_at_once)
            await asyncio.sleep(0)
            at_once -= 1
        if began.count("a1") == 1 and name == "a1":
            raise OSError("unreachable")

    for name in ("a1", "a2", "a3", "b1"):
        await desk.enqueue("call", name, key=name[0])
    desk.hire({"call": handle})
    await desk.done()
    assert sorted(began) == ["a1", "b1"]

    await desk.clock.run_for(MINUTE_MS)
    await desk.done()

    assert [name for name in began if name[0] == "a"] == ["a1", "a1", "a2", "a3"]
    assert most_at_once == 1
    assert await desk.left() == 0


async def test_an_async_job_is_tried_later_and_later_then_kept_as_failed_and_can_be_replayed(desk: Desk) -> None:
    tried: list[int] = []
    reachable = False

    async def handle(job: Job) -> None:
        tried.append(desk.clock.now_ms() - START_MS)
        if not reachable:
            raise OSError("no route")

    desk.hire({"call": handle}, give_up_after_ms={"call": 10_000})
    await desk.enqueue("call", {"to": "somewhere"}, key="k")
    await desk.done()
    for _ in range(8):
        await desk.clock.run_for(5_000)
        await desk.done()

    assert tried == [0, 1_000, 3_000, 7_000, 15_000]
    (failed,) = await desk.failed()
    assert (failed.kind, failed.payload, failed.attempts, failed.error) == (
        "call",
        '{"to":"somewhere"}',
        5,
        "OSError: no route",
    )

    reachable = True
    assert await desk.db.write(jobs.retry_failed) == 1
    await desk.done()
    assert len(tried) == 6
    assert await desk.left() == 0


async def test_a_handler_may_give_up_at_once_and_does_not_hold_up_its_key(desk: Desk) -> None:
    ran: list[str] = []

    async def handle(job: Job) -> None:
        ran.append(job.decode(str))
        if ran == ["gone"]:
            raise GiveUp("the endpoint was deleted")

    await desk.enqueue("call", "gone", key="k")
    await desk.enqueue("call", "next", key="k")
    desk.hire({"call": handle})
    await desk.done()

    assert ran == ["gone", "next"]
    assert [failed.error for failed in await desk.failed()] == ["GiveUp: the endpoint was deleted"]


async def test_a_job_is_found_by_its_key_however_many_wait() -> None:
    database = SqliteDatabase(None)
    await database.start()
    try:
        plan = await database.read(lambda tx: tx.all(f"EXPLAIN QUERY PLAN {jobs.WAITING}", "key", "kind"))
    finally:
        await database.close()

    assert [row[-1] for row in plan] == ["SEARCH jobs USING INDEX jobs_key (key=?)"]


async def test_two_workers_share_the_work_and_never_a_job(desk: Desk) -> None:
    ran: list[int] = []

    async def handle(job: Job) -> None:
        ran.append(job.id)
        await asyncio.sleep(0)

    expected = sorted([await desk.enqueue("call", number) for number in range(30)])
    for _ in range(2):
        desk.hire({"call": handle}, outside_max=4)
    await desk.done()

    assert sorted(ran) == expected
    assert await desk.left() == 0


async def test_what_others_are_slow_at_keeps_nobody_else_waiting(desk: Desk) -> None:
    ran: list[str] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        if job.key.startswith("call/slow/"):
            await release.wait()
        ran.append(job.key)

    for number in range(6):
        await desk.enqueue("call", key=f"call/slow/{number}")
    await desk.enqueue("call", key="call/quick/1")
    await desk.enqueue("note")
    desk.hire({"call": handle, "note": lambda tx, job: ran.append("note")}, outside_max=4, owner_max=3)
    async with asyncio.timeout(PATIENCE):
        while len(ran) < 2:
            await asyncio.sleep(0.01)
    assert sorted(ran) == ["call/quick/1", "note"]

    release.set()
    await desk.done()
    assert len(ran) == 8
    assert await desk.left() == 0


async def test_work_on_the_database_goes_on_while_every_place_outside_is_taken(desk: Desk) -> None:
    ran: list[str] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        await release.wait()

    for _ in range(5):
        await desk.enqueue("call")
    desk.hire({"call": handle, "note": lambda tx, job: ran.append("note")}, outside_max=2)
    await desk.enqueue("note")
    async with asyncio.timeout(PATIENCE):
        while not ran:
            await asyncio.sleep(0.01)
    release.set()
    await desk.done()
    assert await desk.left() == 0


async def test_a_job_of_a_worker_that_died_is_free_when_its_lease_ends(desk: Desk) -> None:
    ran: list[str] = []

    async def hang(job: Job) -> None:
        ran.append("hangs")
        await asyncio.Event().wait()

    async def handle(job: Job) -> None:
        ran.append("works")

    await desk.enqueue("call")
    dead = Worker(desk.db, desk.clock, {"call": hang}, lease_ms=MINUTE_MS)
    dead.start()
    while not ran:
        await asyncio.sleep(0)
    # It dies: nothing of it runs any more, and it gives nothing back.
    dead._stopped = True
    task = next(iter(dead._running.values()))
    task.cancel()
    await asyncio.wait([task])

    worker = desk.hire({"call": handle})
    await worker.run_due()
    assert ran == ["hangs"]
    desk.clock.advance(MINUTE_MS)
    await worker.run_due()

    assert ran == ["hangs", "works"]
    assert await desk.left() == 0


async def test_stopping_gives_back_what_did_not_finish(desk: Desk) -> None:
    began = asyncio.Event()

    async def hang(job: Job) -> None:
        began.set()
        await asyncio.Event().wait()

    await desk.enqueue("call")
    worker = Worker(desk.db, desk.clock, {"call": hang})
    worker.start()
    await began.wait()
    await worker.stop(patience_seconds=0)

    ran: list[int] = []
    desk.hire({"call": lambda tx, job: ran.append(job.id)})
    await desk.done()
    assert len(ran) == 1


async def test_a_leap_of_the_clock_does_not_start_a_job_twice(desk: Desk) -> None:
    began: list[int] = []
    release = asyncio.Event()

    async def handle(job: Job) -> None:
        began.append(job.id)
        await release.wait()

    worker = desk.hire({"call": handle})
    await desk.enqueue("call")
    while not began:
        await asyncio.sleep(0)
    desk.clock.advance(100 * MINUTE_MS)
    await desk.enqueue("other")
    release.set()
    await worker.run_due()

    assert len(began) == 1
    assert await desk.left() == 1


async def test_cancelled_jobs_do_not_run(desk: Desk) -> None:
    ran: list[str] = []
    await desk.enqueue("expire", "a", due_ms=START_MS + 10, key="a")
    await desk.enqueue("expire", "b", due_ms=START_MS + 10, key="b")
    desk.hire({"expire": lambda tx, job: ran.append(job.decode(str))})
    assert await desk.db.write(lambda tx: jobs.cancel(tx, "expire", "a")) == 1
    await desk.clock.run_for(10)
    await desk.done()

    assert ran == ["b"]


async def test_a_handler_may_say_when_to_try_again(desk: Desk) -> None:
    tried: list[int] = []

    async def handle(job: Job) -> None:
        tried.append((desk.clock.now_ms() - START_MS) // 1000)
        if len(tried) < 3:
            raise TryAgain(5_000, "not yet")

    desk.hire({"call": handle})
    await desk.enqueue("call")
    await desk.done()
    await desk.clock.run_for(60_000)

    assert tried == [0, 5, 10]
    assert await desk.left() == 0


async def test_given_up_jobs_are_found_by_how_their_keys_begin(desk: Desk) -> None:
    async def handle(job: Job) -> None:
        raise GiveUp("no")

    desk.hire({"call": handle, "other": handle})
    for kind, key in (("call", "a/1"), ("call", "a/2"), ("call", "ab/1"), ("other", "a/1")):
        await desk.enqueue(kind, key, key=key)
    await desk.done()

    found = await desk.db.read(lambda tx: jobs.list_failed(tx, kind="call", key_prefix="a/"))
    assert sorted(job.key for job in found) == ["a/1", "a/2"]
    after = max(job.id for job in found)
    assert await desk.db.read(lambda tx: jobs.list_failed(tx, kind="call", key_prefix="a/", after=after)) == []
    assert await desk.db.write(lambda tx: jobs.retry_failed(tx, after, kind="call", key_prefix="ab/")) == 0
    assert await desk.db.write(lambda tx: jobs.retry_failed(tx, kind="call", key_prefix="a/")) == 2


async def test_a_kind_nobody_here_handles_is_left_for_others(desk: Desk) -> None:
    desk.hire({"mine": lambda tx, job: None})
    await desk.enqueue("theirs")
    await desk.enqueue("mine")
    await desk.done()
    assert await desk.left() == 1


async def test_a_worker_that_polls_finds_what_it_was_not_told_of(desk: Desk) -> None:
    ran: list[int] = []
    desk.hire({"call": lambda tx, job: ran.append(job.id)}, poll_ms=5_000)
    await desk.done()
    desk.db.on_wake = lambda: None
    await desk.enqueue("call")
    assert ran == []

    await desk.clock.run_for(5_000)
    await desk.done()
    assert len(ran) == 1


async def test_jobs_may_enqueue_jobs_and_emit_nothing_when_they_fail(desk: Desk) -> None:
    ran: list[int] = []

    def handle(tx: Tx, job: Job) -> None:
        step = job.decode(int)
        ran.append(step)
        if step < 3:
            tx.enqueue("step", step + 1)

    desk.hire({"step": handle})
    await desk.enqueue("step", 1)
    await desk.done()
    assert ran == [1, 2, 3]
    assert await desk.left() == 0
