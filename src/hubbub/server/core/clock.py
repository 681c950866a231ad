"""Time, for everything that asks what time it is or waits for a moment.

`RealClock` is the wall clock. `ControlledClock` belongs to whoever runs a dev world: it can be set, advanced and
frozen, and every timer follows it. Timers are made, moved and cancelled on the event loop's thread; `now_ms` may be
called from any.
"""

import asyncio
import heapq
import inspect
import itertools
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

log = logging.getLogger(__name__)

SETTLE_ROUNDS: Final = 10
"""Turns of the event loop that `settle` grants to tasks a timer has just woken."""

LONGEST_WAIT_S: Final = 3600.0
"""A real timer looks at the clock at least this often, since the wall clock may be corrected meanwhile."""

EARLY_S: Final = 0.0005
"""Loop timers may fire a little early and `now_ms` rounds down; half a millisecond more avoids waking for nothing."""

SWEEP_AT: Final = 1024
"""Timers in a controlled clock before it first looks for cancelled ones."""


class Timer:
    """A callback that waits for its moment."""

    __slots__ = ("_handle", "callback", "due_ms")

    def __init__(self, due_ms: int, callback: Callable[[], object]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], object] | None = callback
        self._handle: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> bool:
        """Whether it has neither fired nor been cancelled."""
        return self.callback is not None

    def cancel(self) -> None:
        """Never fire; nothing happens if it already has."""
        self.callback = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Clock(ABC):
    """What time it is, and timers that follow it."""

    set_backs: int = 0
    """How often the time was deliberately set to an earlier one."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._working = 0
        self._idle: asyncio.Event | None = None

    @abstractmethod
    def now_ms(self) -> int:
        """Unix milliseconds."""

    @abstractmethod
    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back once that moment has come; a coroutine it returns is run as a task that `settle` waits for."""

    def call_later(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back after so many milliseconds."""
        return self.call_at(self.now_ms() + ms, callback)

    async def sleep_until(self, ms: int) -> None:
        """Wait for a moment; one in the past only lets others run."""
        if ms <= self.now_ms():
            await asyncio.sleep(0)
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_at(ms, lambda: None if woken.done() else woken.set_result(None))
        try:
            await woken
        finally:
            timer.cancel()

    async def sleep(self, ms: int) -> None:
        """Wait so many milliseconds."""
        await self.sleep_until(self.now_ms() + ms)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Mark what a task does after its sleep as work that `settle` waits for."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    async def settle(self) -> None:
        """Return once the timers that were due have done their work."""
        while True:
            for _ in range(SETTLE_ROUNDS):
                await asyncio.sleep(0)
            if not self._working:
                return
            self._idle = self._idle or asyncio.Event()
            await self._idle.wait()

    def _begin(self) -> None:
        self._working += 1

    def _end(self) -> None:
        self._working -= 1
        if not self._working and self._idle is not None:
            self._idle.set()
            self._idle = None

    def _fire(self, timer: Timer) -> None:
        callback, timer.callback = timer.callback, None
        if callback is None:
            return
        try:
            result = callback()
            if inspect.iscoroutine(result):
                self._begin()
                task = asyncio.get_running_loop().create_task(result)
                self._tasks.add(task)
                task.add_done_callback(self._finished)
        except Exception:
            log.exception("a timer's callback failed")

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._end()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a timer's task failed", exc_info=error)


class RealClock(Clock):
    """The wall clock."""

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back once the wall clock shows that moment."""
        timer = Timer(ms, callback)
        self._arm(timer)
        return timer

    def _arm(self, timer: Timer) -> None:
        wait_s = timer.due_ms / 1000 - time.time() + EARLY_S
        timer._handle = asyncio.get_running_loop().call_later(min(max(wait_s, 0.0), LONGEST_WAIT_S), self._check, timer)

    def _check(self, timer: Timer) -> None:
        if self.now_ms() < timer.due_ms:
            self._arm(timer)
        else:
            self._fire(timer)


class ControlledClock(Clock):
    """A clock that its owner sets, advances, freezes and resumes; it starts at `start_ms`."""

    def __init__(self, start_ms: int, running: bool = True) -> None:
        super().__init__()
        # The shown time and the instant it was shown at (None: frozen): one tuple, so that any thread may read it.
        self._reading: tuple[int, float | None] = (start_ms, time.monotonic() if running else None)
        self._timers: list[tuple[int, int, Timer]] = []
        self._order = itertools.count()
        self._alarm: asyncio.TimerHandle | None = None
        self._moving = False
        self._sweep_at = SWEEP_AT

    def now_ms(self) -> int:
        """Unix milliseconds."""
        shown_ms, since = self._reading
        return shown_ms if since is None else shown_ms + int((time.monotonic() - since) * 1000)

    @property
    def running(self) -> bool:
        """Whether time passes by itself."""
        return self._reading[1] is not None

    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back once the clock shows that moment, whether it came by itself or was brought about."""
        timer = Timer(ms, callback)
        heapq.heappush(self._timers, (ms, next(self._order), timer))
        # Cancelled timers leave when they come to the top; those that would wait long for that are swept now and then.
        if len(self._timers) > self._sweep_at:
            self._timers = [entry for entry in self._timers if entry[2].waiting]
            heapq.heapify(self._timers)
            self._sweep_at = max(SWEEP_AT, 2 * len(self._timers))
        self._arm()
        return timer

    def set(self, ms: int) -> None:
        """Show another time and fire what is due by then, in time order; timers that fired stay fired."""
        self._move(ms)

    def advance(self, ms: int) -> None:
        """Go forward and fire what falls due on the way, in time order."""
        self._move(self.now_ms() + ms)

    async def run_until(self, ms: int) -> None:
        """Like `set`, but stop at each timer until its work is done, so a loop around `sleep` gets all its turns."""
        while (due_ms := self._next_due()) is not None and due_ms <= ms:
            self._move(max(due_ms, self.now_ms()))
            await self.settle()
        self._move(ms)
        await self.settle()

    async def run_for(self, ms: int) -> None:
        """Like `advance`, but stop at every due timer until its work is done."""
        await self.run_until(self.now_ms() + ms)

    def freeze(self) -> None:
        """Stop time where it is."""
        self._reading = (self.now_ms(), None)
        self._arm()

    def resume(self) -> None:
        """Let time pass by itself again."""
        if not self.running:
            self._reading = (self._reading[0], time.monotonic())
            self._arm()

    def _move(self, target_ms: int) -> None:
        if self._moving:
            raise RuntimeError("a timer's callback may not move the clock that fires it")
        running = self.running
        if target_ms < self.now_ms():
            self.set_backs += 1
        self._moving = True
        try:
            while (due_ms := self._next_due()) is not None and due_ms <= target_ms:
                # A callback sees the time it asked for, not the end of the journey.
                self._reading = (max(due_ms, min(self.now_ms(), target_ms)), None)
                self._fire(heapq.heappop(self._timers)[2])
        finally:
            self._moving = False
            self._reading = (target_ms, time.monotonic() if running else None)
            self._arm()

    def _next_due(self) -> int | None:
        while self._timers and not self._timers[0][2].waiting:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _arm(self) -> None:
        """Have the event loop wake us for the earliest timer, while time passes by itself."""
        if self._moving:
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        due_ms = self._next_due()
        shown_ms, since = self._reading
        if due_ms is None or since is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # A synchronous test: only `set` and `advance` fire timers.
        wait_s = (due_ms - shown_ms) / 1000 - (time.monotonic() - since) + EARLY_S
        self._alarm = loop.call_later(min(max(wait_s, 0.0), LONGEST_WAIT_S), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self.running and not self._moving:
            now_ms = self.now_ms()
            while (due_ms := self._next_due()) is not None and due_ms <= now_ms:
                self._fire(heapq.heappop(self._timers)[2])
        self._arm()
