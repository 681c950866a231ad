"""The order in which the PostgreSQL store delivers commits, and the lock that lets one unit write alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit


class CommitOrder:
    """Delivers commits in their order, although connections finish in any order.

    A unit that builds on another commit takes its number after that commit's number, because it can only start its
    commit later. Delivery by number therefore has the order that readers of the rows see. Only delivery waits, not the
    commit."""

    def __init__(self, delivery: CommitDelivery) -> None:
        self._delivery = delivery
        self._lock = threading.Lock()
        self._next = 0
        """The number of the next commit."""
        self._next_delivered = 0
        """The number of the next commit to deliver."""
        self._finished_units: dict[int, list[FinishedUnit]] = {}

    def take(self) -> int:
        """Return the number of the next commit; call it right before the commit, and `end` with the number after it."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def end(self, number: int, *finished_units: FinishedUnit) -> None:
        """Record the end of the commit with this number, and deliver all commits that wait for no earlier one.

        `finished_units` are the units that the commit stored; a failed commit has none."""
        with self._lock:
            self._finished_units[number] = list(finished_units)
            ready: list[FinishedUnit] = []
            while self._next_delivered in self._finished_units:
                ready += self._finished_units.pop(self._next_delivered)
                self._next_delivered += 1
            if ready:
                self._delivery.add(ready)


class WriteLock:
    """A lock that any number of units hold together, or one thread alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._writers = 0
        self._is_exclusive = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other units; wait while a thread holds it alone."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_exclusive)
            self._writers += 1
        try:
            yield
        finally:
            self.leave()

    def try_enter(self) -> bool:
        """Acquire the lock together with other units. Return False, without waiting, if a thread holds or awaits it alone.

        After True the caller must call `leave`."""
        with self._condition:
            if self._is_exclusive:
                return False
            self._writers += 1
            return True

    def leave(self) -> None:
        """Release the lock of one unit."""
        with self._condition:
            self._writers -= 1
            if self._is_exclusive:
                self._condition.notify_all()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock alone: wait for the running writers and block all others."""
        with self._condition:
            self._condition.wait_for(lambda: not self._is_exclusive)
            self._is_exclusive = True
            self._condition.wait_for(lambda: not self._writers)
        try:
            yield
        finally:
            with self._condition:
                self._is_exclusive = False
                self._condition.notify_all()
