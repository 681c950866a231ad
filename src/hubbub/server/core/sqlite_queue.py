"""Entries of the queues of the embedded store, and the error after which a batch is run again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from hubbub.server.core.commit_delivery import FinishedUnit
from hubbub.server.core.store import Tx


class UndoError(Exception):
    """A unit failed after it had written, and earlier units of the batch are in the same transaction.

    The whole transaction must be rolled back and the batch run again."""


class ExclusiveTask:
    """A function that the writer thread runs between batches, with exclusive use of the connection."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], Any], future: "asyncio.Future[Any]") -> None:
        self.work = work
        self.future = future


Unit = tuple[Callable[[Tx], Any], "asyncio.Future[Any]", bool]
"""A unit of work: the function, the future that waits for it, and whether it may write."""


@dataclass(slots=True)
class Batch:
    """Units that have run in the open transaction, and their results, delivered after the commit."""

    units: list[Unit]
    finished_units: list[FinishedUnit]
    started: float
    """Monotonic time at which the batch started."""
    committed: "asyncio.Future[None] | None" = None
    """A future that is resolved after the commit; None if nothing waits for it."""


class Handover:
    """An entry of the writer's queue at which the event loop runs quick units on the connection; the writer commits them."""

    __slots__ = ("ended", "reached")

    def __init__(self, reached: "asyncio.Future[None]") -> None:
        self.reached = reached
        """Resolved when the writer reaches this entry; the event loop may then use the connection."""
        self.ended: SimpleQueue[Batch | None] = SimpleQueue()
        """Receives the batch to commit, or None, when the event loop no longer uses the connection."""


Task = Unit | ExclusiveTask | Batch | Handover
"""An entry of the writer's queue."""
