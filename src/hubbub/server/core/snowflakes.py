"""Generation of unique, time-ordered IDs.

An ID takes the first millisecond at or after the clock's time that still has a free counter, and the next counter in
it. A busy (or frozen) millisecond therefore borrows from the following ones, and no caller waits. When the wall clock
is corrected backwards, IDs stay in the last millisecond used. When a controlled clock is deliberately set back, IDs
follow it, because dated rules and pagination derive the time from the ID; the remembered counters keep them distinct
from IDs created there before.
"""

import threading
from typing import Final, TypeVar

from hubbub.protocol.ids import EPOCH_MS, Snowflake
from hubbub.server.core.clock import Clock, ControlledClock

S = TypeVar("S", bound=Snowflake)

IDS_PER_MS_MAX: Final = 1 << 12
"""Number of IDs per millisecond and process."""

REMEMBERED_MS_MAX: Final = 1 << 16
"""Number of milliseconds whose counters are remembered individually; older ones are merged into one range."""


class SnowflakeFactory:
    """Creates the IDs of one process; `worker` and `process` (0 to 31) distinguish the processes.

    `remembered` is the number of milliseconds whose counters are remembered individually."""

    def __init__(self, clock: Clock, worker: int = 0, process: int = 0, *, remembered: int | None = None) -> None:
        if not (0 <= worker < 32 and 0 <= process < 32):
            raise ValueError("worker and process must be numbers from 0 to 31")
        self._clock = clock
        self._process_bits = worker << 17 | process << 12
        self._lock = threading.Lock()
        if remembered is None:
            remembered = REMEMBERED_MS_MAX if isinstance(clock, ControlledClock) else 64
        self._remembered = remembered
        self._used: dict[int, int] = {}
        """Millisecond to its next free counter, in order of first use."""
        self._forgotten: tuple[int, int, int] | None = None
        """First and last millisecond removed from `_used`, and the highest next counter among them."""
        self._backward_set_count = clock.backward_set_count
        self._last_ms = -1

    def new(self, kind: type[S]) -> S:
        """Return a new ID with the current timestamp."""
        with self._lock:
            current_ms = max(0, self._clock.now_ms() - EPOCH_MS)
            if self._clock.backward_set_count != self._backward_set_count:
                self._backward_set_count = self._clock.backward_set_count
                ms = current_ms
            else:
                # Every millisecond up to the last one used is full, or the wall clock was corrected.
                ms = max(current_ms, self._last_ms)
            while (counter := self._next_counter(ms)) >= IDS_PER_MS_MAX:
                # Inside the forgotten range every other millisecond has the same counter.
                ms = ms + 1 if ms in self._used or self._forgotten is None else self._forgotten[1] + 1
            self._used[ms] = counter + 1
            self._last_ms = ms
            if len(self._used) > self._remembered:
                self._forget()
            return kind(ms << 22 | self._process_bits | counter)

    def continue_from(self, other: "SnowflakeFactory") -> None:
        """Never repeat an ID of another factory: for a copy of a world, whose clock starts at or before the other's."""
        with other._lock:
            self._used = dict(other._used)
            self._forgotten = other._forgotten

    def _next_counter(self, ms: int) -> int:
        """Return the next free counter of a millisecond."""
        counter = self._used.get(ms)
        if counter is not None:
            return counter
        if self._forgotten is not None and self._forgotten[0] <= ms <= self._forgotten[1]:
            return self._forgotten[2]
        return 0

    def _forget(self) -> None:
        """Merge the older half of the remembered milliseconds into one range with their highest counter."""
        first, last, highest = self._forgotten or (1 << 63, -1, 0)
        for ms in list(self._used)[: self._remembered // 2 or 1]:
            if ms != self._last_ms:
                first, last, highest = min(first, ms), max(last, ms), max(highest, self._used.pop(ms))
        self._forgotten = (first, last, highest)
