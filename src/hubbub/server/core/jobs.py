"""Work that outlives the transaction that asked for it: a table of jobs, and the worker that does them when they are due.

A job is written by the transaction it belongs to, so it exists if and only if that committed. A plain handler changes the
database, and its effects and the job's end are one transaction: it counts exactly once. An async handler speaks with the
world outside, so it is run at least once: again after a failure, later and later, until it is given up and kept for a person
to look at.
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

from hubbub.protocol import wire
from hubbub.server.core.clock import Clock, Timer
from hubbub.server.core.store import Database, StoreUnavailable, Tx, places

log = logging.getLogger(__name__)

T = TypeVar("T")

RUNNING_MAX: Final = 64
"""So many jobs that work on the database are in hand at once."""
OUTSIDE_MAX: Final = 256
"""So many that speak with the world outside, which mostly wait; what others are slow at keeps our own work waiting no longer."""
OWNER_MAX: Final = 32
"""So many of those for one owner: somebody's slow server must not take all places."""
LEASE_MS: Final = 120_000
"""A job taken by a worker that then died is free again after so long."""
BACKOFF_MS: Final = 1_000
BACKOFF_MAX_MS: Final = 10 * 60_000
GIVE_UP_AFTER_MS: Final = 24 * 3_600_000
STORE_RETRY_MS: Final = 1_000
"""How soon the worker looks again when the store could not be asked."""

_UNBLOCKED = """(job.key = '' OR NOT EXISTS (
    SELECT 1 FROM jobs AS earlier WHERE earlier.key = job.key AND earlier.key <> '' AND earlier.state = 'waiting'
    AND (earlier.due_ms < job.due_ms OR (earlier.due_ms = job.due_ms AND earlier.id < job.id))))"""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do."""

    id: int
    kind: str
    key: str
    due_ms: int
    payload: str
    """JSON, as it was enqueued."""
    attempts: int
    """How often it was tried before."""
    first_tried_ms: int | None

    def decode(self, kind: type[T]) -> T:
        """The payload as a model."""
        return wire.decode(self.payload, kind)

    @property
    def owner(self) -> str:
        """For whom it is, where its key says so: `kind/owner/subject`."""
        return self.key[: self.key.rfind("/") + 1] if self.key.count("/") == 2 else ""


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A job that was given up."""

    id: int
    kind: str
    key: str
    due_ms: int
    payload: str
    attempts: int
    error: str


JobHandler = Callable[[Tx, Job], None] | Callable[[Job], Awaitable[None]]
"""Plain: runs in the transaction that ends the job. Async: runs outside, and the job ends after it returns."""


class GiveUp(Exception):
    """Raised by a handler that knows trying again is useless."""


class TryAgain(Exception):
    """Raised by a handler that knows when to try again."""

    def __init__(self, after_ms: int, reason: str) -> None:
        self.after_ms = after_ms
        super().__init__(reason)


class Dropped(Exception):
    """Raised by a handler whose job failed for good, and is of no use to anybody later."""


class JobMetrics(Protocol):
    """Counts what became of jobs."""

    def job(self, kind: str, outcome: str) -> None:
        """An attempt ended: `done`, `retried`, `failed` or `dropped`."""
        ...


def enqueue(tx: Tx, kind: str, payload: Any, *, due_ms: int = 0, key: str = "") -> int:
    """Leave a job in this transaction, to run not before `due_ms`; jobs of one non-empty key run in order, one at a time."""
    tx.woken = True
    return int(
        tx.value(
            "INSERT INTO jobs (kind, key, due_ms, ready_ms, payload) VALUES (?, ?, ?, ?, ?) RETURNING id",
            kind,
            key,
            due_ms,
            due_ms,
            wire.encode(payload).decode(),
        )
    )


# Only with `<> ''` is the index of keys seen to fit; without, every job that waits is looked at.
WAITING: Final = "SELECT 1 FROM jobs WHERE key = ? AND key <> '' AND kind = ? AND state = 'waiting'"
"""Whether one of this key and kind waits already; LIMIT 1 where it stands in another statement."""


def enqueue_once(tx: Tx, kind: str, payload: Any, *, due_ms: int, key: str) -> None:
    """Leave a job unless one of this kind and key waits already; two transactions at once may still leave two."""
    if tx.value(WAITING, key, kind) is None:
        enqueue(tx, kind, payload, due_ms=due_ms, key=key)


def cancel(tx: Tx, kind: str, key: str) -> int:
    """Delete the waiting jobs of a kind and key, and say how many; one already in an async handler's hands still finishes."""
    return tx.run("DELETE FROM jobs WHERE kind = ? AND key = ? AND key <> '' AND state = 'waiting'", kind, key)


def forget(tx: Tx, kind: str, key_prefix: str) -> int:
    """Delete all jobs of a kind whose key begins so, those that were given up too, and say how many; one already in an async
    handler's hands still finishes."""
    return tx.run(f"DELETE FROM jobs WHERE kind = ? AND substr(key, 1, {len(key_prefix)}) = ?", kind, key_prefix)


def list_failed(
    tx: Tx, *, kind: str | None = None, key_prefix: str = "", after: int = 0, limit: int = 100
) -> list[FailedJob]:
    """Jobs that were given up, the oldest first."""
    where, parameters = _failed(None, kind, key_prefix)
    return tx.fetch(
        FailedJob,
        f"SELECT id, kind, key, due_ms, payload, attempts, error FROM jobs WHERE {where} AND id > ? ORDER BY id LIMIT ?",
        *parameters,
        after,
        limit,
    )


def retry_failed(tx: Tx, id: int | None = None, *, kind: str | None = None, key_prefix: str = "") -> int:
    """Let given-up jobs (or one) start over, and say how many."""
    tx.woken = True
    where, parameters = _failed(id, kind, key_prefix)
    return tx.run(
        "UPDATE jobs SET state = 'waiting', attempts = 0, first_tried_ms = NULL, ready_ms = due_ms, error = NULL,"
        f" leased_by = '' WHERE {where}",
        *parameters,
    )


def _failed(id: int | None, kind: str | None, key_prefix: str) -> tuple[str, list[Any]]:
    where, parameters = "state = 'failed'", list[Any]()
    if id is not None:
        where += " AND id = ?"
        parameters.append(id)
    if kind is not None:
        where += " AND kind = ?"
        parameters.append(kind)
    if key_prefix:
        where += f" AND substr(key, 1, {len(key_prefix)}) = ?"
        parameters.append(key_prefix)
    return where, parameters


class _Lane:
    """Kinds of jobs that share places."""

    def __init__(self, kinds: Iterable[str], most: int, owner_most: int) -> None:
        self.kinds = tuple(kinds)
        self.jobs: dict[int, Job] = {}
        """In hand."""
        self._most = most
        self._owner_most = owner_most

    @property
    def room(self) -> int:
        """How many more can be taken."""
        return self._most - len(self.jobs) if self.kinds else 0

    def condition(self) -> tuple[str, list[Any]]:
        """What a row of `jobs AS job` must be to be taken: of these kinds, and of nobody who has as much in hand as one may."""
        counts = Counter(job.owner for job in self.jobs.values())
        full = [owner for owner, count in counts.items() if owner and count >= self._owner_most]
        others = "".join(f" AND substr(job.key, 1, {len(owner)}) <> ?" for owner in full)
        return f"job.kind IN ({places(self.kinds)}){others}", [*self.kinds, *full]

    def choose(self, found: Iterable[Job]) -> list[Job]:
        """Of due jobs those that there is room for, and for their owners."""
        counts = Counter(job.owner for job in self.jobs.values())
        chosen: list[Job] = []
        for job in found:
            # The clock of a dev world may leap past a lease; what this worker holds it still holds.
            if job.id in self.jobs or (job.owner and counts[job.owner] >= self._owner_most):
                continue
            if len(chosen) == self.room:
                break
            counts[job.owner] += 1
            chosen.append(job)
        return chosen


class Worker:
    """Does due jobs. Any number of workers may share a database: a job is leased to one of them at a time."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        handlers: Mapping[str, JobHandler],
        metrics: JobMetrics | None = None,
        *,
        give_up_after_ms: Mapping[str, int] | None = None,
        running_max: int = RUNNING_MAX,
        outside_max: int = OUTSIDE_MAX,
        owner_max: int = OWNER_MAX,
        lease_ms: int = LEASE_MS,
        poll_ms: int | None = None,
    ) -> None:
        """With `poll_ms` it looks at least that often, for jobs that another process enqueued without waking this one."""
        self._db = db
        self._clock = clock
        self._handlers = handlers
        outside = {kind for kind, handler in handlers.items() if inspect.iscoroutinefunction(handler)}
        self._lanes = (
            _Lane(handlers.keys() - outside, running_max, running_max),
            _Lane(outside, outside_max, owner_max),
        )
        self._metrics = metrics
        self._give_up_after_ms = give_up_after_ms or {}
        self._lease_ms = lease_ms
        self._poll_ms = poll_ms
        self._name = secrets.token_hex(8)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._again = False
        self._timer: Timer | None = None
        self._stopped = True

    def start(self) -> None:
        """Begin: look for due jobs now, and from then on when one falls due or `wake` is called."""
        self._stopped = False
        self.wake()

    async def stop(self, *, patience_seconds: float = 5.0) -> None:
        """Take no more jobs, let those in hand finish for a while, and give the rest back."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._looking is not None:
            await asyncio.wait([self._looking])
        tasks = list(self._running.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=patience_seconds)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        try:
            await self._db.write(
                lambda tx: tx.run("UPDATE jobs SET ready_ms = due_ms, leased_by = '' WHERE leased_by = ?", self._name)
            )
        except StoreUnavailable:
            log.warning("leased jobs could not be given back; they are free again when their lease ends")

    def wake(self) -> None:
        """Look now: a job was enqueued, or one just ended."""
        if self._stopped:
            return
        if self._looking is not None:
            self._again = True
            return
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def run_due(self) -> None:
        """Return once nothing that is due now is left to do (jobs waiting for a retry are not due)."""
        self.wake()
        while self._looking is not None or self._running:
            tasks: list[asyncio.Task[None]] = list(self._running.values())
            if self._looking is not None:
                tasks.append(self._looking)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)

    async def _look(self) -> None:
        next_ms: int | None = None
        try:
            with self._clock.working():
                while not self._stopped:
                    self._again = False
                    taken, next_ms = list[Job](), None
                    if any(lane.room > 0 for lane in self._lanes):
                        taken, next_ms = await self._db.write(partial(self._take, now_ms=self._clock.now_ms()))
                    for job in taken:
                        self._begin(job)
                    if not taken and not self._again:
                        break
        except StoreUnavailable:
            next_ms = self._clock.now_ms() + STORE_RETRY_MS
        except Exception:
            log.exception("the worker could not look for jobs")
            next_ms = self._clock.now_ms() + STORE_RETRY_MS
        finally:
            self._looking = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._stopped:
            return
        if self._poll_ms is not None:
            poll_ms = self._clock.now_ms() + self._poll_ms
            next_ms = poll_ms if next_ms is None else min(next_ms, poll_ms)
        if self._again:
            self.wake()
        elif next_ms is not None:
            if next_ms <= self._clock.now_ms():
                # The clock was moved while we looked; one that stands still would never come back to it.
                self.wake()
            else:
                self._timer = self._clock.call_at(next_ms, self.wake)

    def _take(self, tx: Tx, now_ms: int) -> tuple[list[Job], int | None]:
        """Lease due jobs; when there are none, say when the next one falls due."""
        lanes = [(lane, *lane.condition()) for lane in self._lanes if lane.room > 0]
        taken: list[Job] = []
        for lane, mine, parameters in lanes:
            found = tx.fetch(
                Job,
                "SELECT job.id, job.kind, job.key, job.due_ms, job.payload, job.attempts, job.first_tried_ms FROM jobs AS job"
                f" WHERE job.state = 'waiting' AND job.ready_ms <= ? AND {mine} AND {_UNBLOCKED}"
                " ORDER BY job.ready_ms, job.id LIMIT ?",
                now_ms,
                *parameters,
                lane.room + len(lane.jobs),
            )
            taken += lane.choose(found)
        if taken:
            tx.run_many(
                "UPDATE jobs SET ready_ms = ?, leased_by = ?, first_tried_ms = COALESCE(first_tried_ms, ?) WHERE id = ?",
                [(now_ms + self._lease_ms, self._name, now_ms, job.id) for job in taken],
            )
            return taken, None
        later = [
            tx.value(
                f"SELECT job.ready_ms FROM jobs AS job WHERE job.state = 'waiting' AND job.ready_ms > ? AND {mine}"
                f" AND {_UNBLOCKED} ORDER BY job.ready_ms, job.id LIMIT 1",
                now_ms,
                *parameters,
            )
            for _, mine, parameters in lanes
        ]
        return [], min((at_ms for at_ms in later if at_ms is not None), default=None)

    def _begin(self, job: Job) -> None:
        lane = next(lane for lane in self._lanes if job.kind in lane.kinds)
        lane.jobs[job.id] = job
        self._running[job.id] = asyncio.get_running_loop().create_task(self._run(job, lane))

    async def _run(self, job: Job, lane: _Lane) -> None:
        try:
            with self._clock.working():
                await self._attempt(job)
        except StoreUnavailable:
            log.warning("job %d (%s) could not be ended; it runs again when its lease ends", job.id, job.kind)
        finally:
            del self._running[job.id], lane.jobs[job.id]
            self.wake()

    async def _attempt(self, job: Job) -> None:
        handler = self._handlers[job.kind]
        try:
            if inspect.iscoroutinefunction(handler):
                # Cut off before the lease ends, so that no second worker begins meanwhile.
                async with asyncio.timeout(self._lease_ms / 1000 * 0.8):
                    await handler(job)
                await self._db.write(lambda tx: self._finish(tx, job))
            else:
                await self._db.write(lambda tx: handler(tx, job) if self._finish(tx, job) else None)  # type: ignore[call-arg,arg-type]
        except StoreUnavailable:
            raise
        except Exception as error:
            outcome = await self._db.write(partial(self._put_back, job=job, error=error))
            log.log(
                logging.ERROR if outcome == "failed" else logging.INFO,
                "job %d (%s) %s after attempt %d",
                job.id,
                job.kind,
                outcome,
                job.attempts + 1,
                exc_info=error,
            )
        else:
            outcome = "done"
        if self._metrics is not None:
            self._metrics.job(job.kind, outcome)

    def _finish(self, tx: Tx, job: Job) -> bool:
        """End the job, unless it was cancelled or the lease went to another worker."""
        return tx.run("DELETE FROM jobs WHERE id = ? AND leased_by = ?", job.id, self._name) == 1

    def _put_back(self, tx: Tx, job: Job, error: Exception) -> str:
        """Have it tried again later, or keep it as failed."""
        if isinstance(error, Dropped):
            self._finish(tx, job)
            return "dropped"
        now_ms = self._clock.now_ms()
        tried_ms = now_ms - (now_ms if job.first_tried_ms is None else job.first_tried_ms)
        after_ms = min(BACKOFF_MS * 2 ** min(job.attempts, 30), BACKOFF_MAX_MS)
        if isinstance(error, TryAgain):
            after_ms = error.after_ms
        failed = isinstance(error, GiveUp) or tried_ms >= self._give_up_after_ms.get(job.kind, GIVE_UP_AFTER_MS)
        tx.run(
            "UPDATE jobs SET state = ?, attempts = attempts + 1, ready_ms = ?, leased_by = '', error = ?"
            " WHERE id = ? AND leased_by = ?",
            "failed" if failed else "waiting",
            now_ms + after_ms,
            f"{type(error).__name__}: {error}"[:2000],
            job.id,
            self._name,
        )
        return "failed" if failed else "retried"
