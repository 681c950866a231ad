"""A discrete-event simulation of queueing stations: arrivals, service times, batches, utilization and percentiles."""

import heapq
import itertools
import random
from collections import deque
from collections.abc import Callable
from typing import Final

ServiceTime = Callable[[int], float]
"""Returns the service time in seconds of a batch with this number of jobs."""


class Simulation:
    """The simulated time, and the events that are due, in order of time."""

    def __init__(self, seed: int = 1) -> None:
        self.now_seconds = 0.0
        self.random: Final = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def schedule(self, delay_seconds: float, callback: Callable[[], None]) -> None:
        """Call a function after a delay. Functions that are due at the same time run in the order of their scheduling."""
        heapq.heappush(self._events, (self.now_seconds + delay_seconds, next(self._numbers), callback))

    def run(self) -> None:
        """Run until no event is left."""
        while self._events:
            self.now_seconds, _, callback = heapq.heappop(self._events)
            callback()

    def schedule_poisson_arrivals(self, rate: float, count: int, arrive: Callable[[], None]) -> None:
        """Call `arrive` a number of times, with exponential intervals at a mean rate per second."""
        remaining = count

        def arrive_and_continue() -> None:
            nonlocal remaining
            remaining -= 1
            if remaining:
                self.schedule(self.random.expovariate(rate), arrive_and_continue)
            arrive()

        self.schedule(self.random.expovariate(rate), arrive_and_continue)


class Station:
    """A queue in order of arrival with one or more equal servers, each of which serves up to `batch_max` jobs at once."""

    def __init__(self, simulation: Simulation, server_count: int = 1, batch_max: int = 1) -> None:
        self._simulation = simulation
        self._free_server_count = server_count
        self._server_count = server_count
        self._batch_max = batch_max
        self._jobs: deque[tuple[ServiceTime, Callable[[], None]]] = deque()
        self.busy_seconds = 0.0
        self.served_count = 0

    def submit(self, service_time: ServiceTime, complete: Callable[[], None]) -> None:
        """Append a job; `complete` is called when its service ends. The first job of a batch determines the service time."""
        self._jobs.append((service_time, complete))
        if self._free_server_count:
            self._start_service()

    def _start_service(self) -> None:
        batch = [self._jobs.popleft() for _ in range(min(len(self._jobs), self._batch_max))]
        self._free_server_count -= 1
        duration_seconds = batch[0][0](len(batch))
        self.busy_seconds += duration_seconds
        self._simulation.schedule(duration_seconds, lambda: self._complete(batch))

    def _complete(self, batch: list[tuple[ServiceTime, Callable[[], None]]]) -> None:
        self._free_server_count += 1
        self.served_count += len(batch)
        for _, complete in batch:
            complete()
        while self._jobs and self._free_server_count:
            self._start_service()

    def compute_utilization(self) -> float:
        """Return the busy share of the servers until now."""
        return self.busy_seconds / self._server_count / self._simulation.now_seconds


def compute_percentile(values: list[float], percent: float) -> float:
    """Return the smallest value that at least `percent` percent of the values do not exceed."""
    sorted_values = sorted(values)
    return sorted_values[max(-int(-len(sorted_values) * percent // 100) - 1, 0)]
