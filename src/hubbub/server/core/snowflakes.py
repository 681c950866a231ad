"""Generation of unique, time-ordered IDs.

An ID consists of a millisecond, the numbers of the process and a counter. It takes the first millisecond at or after
the clock's time that still has a free counter, so IDs run ahead of a frozen or overloaded clock, and no caller waits.
When the wall clock is corrected backwards, IDs continue from the last millisecond used. When a controlled clock is
deliberately set back, IDs follow it, because dated rules and pagination derive the time from the ID; the stored
counters prevent duplicate IDs.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from hubbub.protocol.ids import EPOCH_MS, Snowflake
from hubbub.server.core.clock import Clock, ControlledClock

S = TypeVar("S", bound=Snowflake)

IDS_PER_MS_MAX: Final = 1 << 12
"""Maximum number of IDs per millisecond and process."""

CONTROLLED_CLOCK_COUNTERS_MAX: Final = 1 << 16
"""Maximum number of milliseconds with their own counter for a clock that can be set back; older ones are merged into one range."""
REAL_CLOCK_COUNTERS_MAX: Final = 64
"""Maximum number of milliseconds with their own counter for a clock that is never set back deliberately."""


class _MergedRange(NamedTuple):
    """Milliseconds without their own counter."""

    first_ms: int
    last_ms: int
    next_counter: int
    """The highest next counter of the milliseconds in the range."""


class SnowflakeFactory:
    """Creates the IDs of one process; `worker` and `process` (0 to 31) distinguish the processes.

    `counters_max` is the number of milliseconds with their own counter."""

    def __init__(self, clock: Clock, worker: int = 0, process: int = 0, *, counters_max: int | None = None) -> None:
        if not (0 <= worker < 32 and 0 <= process < 32):
            raise ValueError("worker and process must be numbers from 0 to 31")
        self._clock = clock
        self._process_bits = worker << 17 | process << 12
        self._lock = threading.Lock()
        if counters_max is None:
            is_controlled = isinstance(clock, ControlledClock)
            counters_max = CONTROLLED_CLOCK_COUNTERS_MAX if is_controlled else REAL_CLOCK_COUNTERS_MAX
        self._counters_max = counters_max
        self._counters: dict[int, int] = {}
        """Next free counter by millisecond since EPOCH_MS, in order of first use."""
        self._merged_range: _MergedRange | None = None
        """The milliseconds that were removed from `_counters`."""
        self._backward_set_count = clock.backward_set_count
        self._last_ms = -1
        self._limit: tuple[int, float] | None = None
        """Millisecond since EPOCH_MS that limits the clock, and the monotonic time in seconds at which it was set; or None."""
        self.require_lease: Callable[[], None] | None = None
        """Function that raises if another process could use the number of this process; None without a lease."""

    @property
    def newest_ms(self) -> int:
        """The time of the newest ID, or the time that `start_after` set if it is later, in Unix milliseconds."""
        return max(0, self._last_ms) + EPOCH_MS

    def start_after(self, ms: int) -> None:
        """Create only IDs after a time in Unix milliseconds."""
        with self._lock:
            self._last_ms = max(self._last_ms, ms - EPOCH_MS + 1)

    def limit_to(self, ms: int) -> None:
        """Do not follow a clock that jumps beyond a time in Unix milliseconds.

        The limit increases as real time passes, so a clock that does not jump never reaches it."""
        with self._lock:
            self._limit = (ms - EPOCH_MS, time.monotonic())

    def new(self, class_: type[S]) -> S:
        """Return a new ID; its timestamp is the current time, or later while IDs run ahead of the clock."""
        if self.require_lease is not None:
            self.require_lease()
        with self._lock:
            # Comparisons instead of `min` and `max`: this runs for every ID.
            current_ms = self._clock.now_ms() - EPOCH_MS
            if current_ms < 0:
                current_ms = 0
            if self._limit is not None:
                limit_ms, limited_at = self._limit
                if current_ms > limit_ms:
                    current_ms = min(current_ms, limit_ms + int((time.monotonic() - limited_at) * 1000))
            if self._clock.backward_set_count != self._backward_set_count:
                self._backward_set_count = self._clock.backward_set_count
                ms = current_ms
            else:
                # Every millisecond up to the last one used is full, or the wall clock was corrected.
                ms = current_ms if current_ms > self._last_ms else self._last_ms
            while (counter := self._next_counter(ms)) >= IDS_PER_MS_MAX:
                # All milliseconds of the merged range share one counter.
                ms = ms + 1 if ms in self._counters or self._merged_range is None else self._merged_range.last_ms + 1
            self._counters[ms] = counter + 1
            self._last_ms = ms
            if len(self._counters) > self._counters_max:
                self._merge_oldest()
            return class_(ms << 22 | self._process_bits | counter)

    def continue_from(self, other: "SnowflakeFactory") -> None:
        """Copy the counters of another factory, so that none of its IDs is created again.

        Used for a fork of a world, whose clock may start before the clock of the original."""
        with other._lock:
            self._counters = dict(other._counters)
            self._merged_range = other._merged_range

    def _next_counter(self, ms: int) -> int:
        """Return the next free counter of a millisecond."""
        counter = self._counters.get(ms)
        if counter is not None:
            return counter
        if self._merged_range is not None and self._merged_range.first_ms <= ms <= self._merged_range.last_ms:
            return self._merged_range.next_counter
        return 0

    def _merge_oldest(self) -> None:
        """Merge the older half of the counters into one range with the highest of them."""
        first_ms, last_ms, next_counter = self._merged_range or (1 << 63, -1, 0)
        for ms in list(self._counters)[: self._counters_max // 2 or 1]:
            if ms != self._last_ms:
                first_ms, last_ms, next_counter = (
                    min(first_ms, ms),
                    max(last_ms, ms),
                    max(next_counter, self._counters.pop(ms)),
                )
        self._merged_range = _MergedRange(first_ms, last_ms, next_counter)
