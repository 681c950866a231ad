"""Fresh ids: time-ordered, and never the same twice.

The rule: an id takes the first millisecond, at or after the clock's, that still has a free counter, and the next counter
in it. A busy (or frozen) millisecond therefore borrows from the following ones and nobody waits. When the wall clock is
corrected backwards, ids stay in the last millisecond used. When a controlled clock is deliberately set back they follow
it, because dated rules and pagination read the time from the id, and the memory of the counters used keeps them apart
from the ids made there before.
"""

import threading
from typing import Final, TypeVar

from hubbub.protocol.ids import EPOCH_MS, Snowflake
from hubbub.server.core.clock import Clock, ControlledClock

S = TypeVar("S", bound=Snowflake)

COUNTERS: Final = 1 << 12
"""Ids in one millisecond of one process."""

REMEMBERED: Final = 1 << 16
"""Milliseconds whose counters are remembered one by one; older ones are remembered together."""


class SnowflakeFactory:
    """Makes the ids of one process; `worker` and `process` (0 to 31) keep processes apart."""

    def __init__(self, clock: Clock, worker: int = 0, process: int = 0, *, remembered: int | None = None) -> None:
        if not (0 <= worker < 32 and 0 <= process < 32):
            raise ValueError("worker and process are numbers from 0 to 31")
        self._clock = clock
        self._low = worker << 17 | process << 12
        self._lock = threading.Lock()
        if remembered is None:
            remembered = REMEMBERED if isinstance(clock, ControlledClock) else 64
        self._remembered = remembered
        self._used: dict[int, int] = {}
        """Millisecond to its next free counter, in the order of first use."""
        self._forgotten: tuple[int, int, int] | None = None
        """First, last, and the highest next counter of the milliseconds that left `_used`."""
        self._set_backs = clock.set_backs
        self._given = -1

    def new(self, kind: type[S]) -> S:
        """A fresh id of this moment."""
        with self._lock:
            asked = max(0, self._clock.now_ms() - EPOCH_MS)
            if self._clock.set_backs != self._set_backs:
                self._set_backs = self._clock.set_backs
                ms = asked
            else:
                # Up to the millisecond given last everything is full, or the wall clock was corrected.
                ms = max(asked, self._given)
            while (counter := self._next(ms)) >= COUNTERS:
                # Inside the forgotten span every other millisecond would answer the same.
                ms = ms + 1 if ms in self._used or self._forgotten is None else self._forgotten[1] + 1
            self._used[ms] = counter + 1
            self._given = ms
            if len(self._used) > self._remembered:
                self._forget()
            return kind(ms << 22 | self._low | counter)

    def continue_from(self, other: "SnowflakeFactory") -> None:
        """Give none of the ids that another has given: for a fork, whose clock begins where the other's is or was."""
        with other._lock:
            self._used = dict(other._used)
            self._forgotten = other._forgotten

    def _next(self, ms: int) -> int:
        counter = self._used.get(ms)
        if counter is not None:
            return counter
        if self._forgotten is not None and self._forgotten[0] <= ms <= self._forgotten[1]:
            return self._forgotten[2]
        return 0

    def _forget(self) -> None:
        """Move the older half of the memory into one span, which is above the highest counter that any of it used."""
        first, last, highest = self._forgotten or (1 << 63, -1, 0)
        for ms in list(self._used)[: self._remembered // 2 or 1]:
            if ms != self._given:
                first, last, highest = min(first, ms), max(last, ms), max(highest, self._used.pop(ms))
        self._forgotten = (first, last, highest)
