"""The order in which the PostgreSQL store delivers commits."""

import threading

from hubbub.server.core.commit_delivery import CommitDelivery, FinishedUnit


class CommitOrder:
    """Delivers commits in their order, although connections finish in any order.

    A unit that builds on another commit takes its number after that commit's number, because it can only start its
    commit later. Delivery by number therefore has the order that readers of the rows see. Only delivery waits, not the
    commit."""

    def __init__(self, delivery: CommitDelivery) -> None:
        self._delivery = delivery
        self._lock = threading.Lock()
        self._next_number = 0
        """The number of the next commit."""
        self._next_delivered_number = 0
        """The number of the next commit to deliver."""
        self._units_by_number: dict[int, list[FinishedUnit]] = {}

    def take(self) -> int:
        """Return the number of the next commit; call it right before the commit, and `end` with the number after it."""
        with self._lock:
            self._next_number += 1
            return self._next_number - 1

    def end(self, number: int, *finished_units: FinishedUnit) -> None:
        """Record the end of the commit with this number, and deliver all commits that wait for no earlier one.

        `finished_units` are the units that the commit stored; a failed commit has none."""
        with self._lock:
            self._units_by_number[number] = list(finished_units)
            deliverable_units: list[FinishedUnit] = []
            while self._next_delivered_number in self._units_by_number:
                deliverable_units += self._units_by_number.pop(self._next_delivered_number)
                self._next_delivered_number += 1
            if deliverable_units:
                self._delivery.add(deliverable_units)
