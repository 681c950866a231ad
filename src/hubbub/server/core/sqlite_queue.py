"""Entries of the queues of the embedded store, which uses SQLite, and the error after which a batch is run again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from hubbub.server.core.commit_delivery import FinishedUnit
from hubbub.server.core.store import Tx


class BatchRollbackError(Exception):
    """A unit failed after it had written, and earlier units of the batch are in the same transaction.

    The whole transaction must be rolled back and the batch run again."""


class ExclusiveTask:
    """A function that the writer thread runs between batches, with exclusive use of the connection."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self.work = work
        self.future = future


Unit = tuple[Callable[[Tx], Any], "asyncio.Future[Any]", bool]
"""A unit of work: the function, the future that waits for its result, and whether it may write.

A named tuple would take ten times as long to create, for every unit."""


@dataclass(slots=True)
class Batch:
    """Units that have run in the open transaction, and their results, delivered after the commit."""

    units: list[Unit]
    finished_units: list[FinishedUnit]
    started_at: float
    """Monotonic time in seconds at which the batch started."""
    committed: "asyncio.Future[None] | None" = None
    """A future that is resolved after the commit; None if nothing waits for it."""


class Handover:
    """An entry of the writer's queue at which the event loop runs quick units on the connection; the writer commits them."""

    __slots__ = ("finished_batch", "reached")

    def __init__(self, reached: "asyncio.Future[None]") -> None:
        self.reached = reached
        """Resolved when the writer reaches this entry; the event loop may then use the connection."""
        self.finished_batch: SimpleQueue[Batch | None] = SimpleQueue()
        """Receives the batch to commit, or None, when the event loop no longer uses the connection."""


QueueEntry = Unit | ExclusiveTask | Batch | Handover
"""An entry of the writer's queue."""
