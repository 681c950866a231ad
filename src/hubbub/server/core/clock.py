"""Clocks and timers: code whose behavior depends on the platform's time reads it from a `Clock` and waits through it.

`RealClock` is the wall clock. `ControlledClock` is the clock of a rehearsal: it can be set, advanced and frozen, and
every timer follows it. Timers are created, moved and cancelled on the event loop's thread; `now_ms` may be called from
any thread.
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

DAY_MS: Final = 86_400_000

SETTLE_ROUNDS: Final = 10
"""Event loop iterations that `settle` grants to tasks that a timer has just woken."""

WAIT_SECONDS_MAX: Final = 3600.0
"""Maximum time in seconds that a timer sleeps before it checks the clock, since the wall clock may be corrected."""

TIMER_SLACK_SECONDS: Final = 0.0005
"""Seconds added to each wait, because loop timers may fire early and `now_ms` rounds down."""

SWEEP_TIMERS_MIN: Final = 1024
"""Minimum number of timers in a controlled clock above which cancelled ones are removed."""


class Timer:
    """A callback with a due time."""

    __slots__ = ("_handle", "callback", "due_ms")

    def __init__(self, due_ms: int, callback: Callable[[], object]) -> None:
        self.due_ms = due_ms
        self.callback: Callable[[], object] | None = callback
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the timer has neither fired nor been cancelled."""
        return self.callback is not None

    def cancel(self) -> None:
        """Cancel the timer. Do nothing if it has already fired."""
        self.callback = None
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Clock(ABC):
    """The source of time, with timers that follow it."""

    backward_set_count: int = 0
    """Number of times that the clock was deliberately set to an earlier time."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._active_work_count = 0
        self._idle: asyncio.Event | None = None

    @abstractmethod
    def now_ms(self) -> int:
        """Return the time in Unix milliseconds."""

    @abstractmethod
    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back at a time in Unix milliseconds.

        If the callback returns a coroutine, the coroutine runs as a task that `settle` waits for."""

    def call_later(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back after a number of milliseconds."""
        return self.call_at(self.now_ms() + ms, callback)

    async def sleep_until(self, ms: int) -> None:
        """Wait until a time in Unix milliseconds. A time in the past only yields to other tasks."""
        if ms <= self.now_ms():
            await asyncio.sleep(0)
            return
        wake_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self.call_at(ms, lambda: None if wake_up.done() else wake_up.set_result(None))
        try:
            await wake_up
        finally:
            timer.cancel()

    async def sleep(self, ms: int) -> None:
        """Wait for a number of milliseconds."""
        await self.sleep_until(self.now_ms() + ms)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Mark the work inside the context as work that `settle` waits for."""
        self._begin_work()
        try:
            yield
        finally:
            self._end_work()

    async def settle(self) -> None:
        """Wait until the work of all fired timers, and all work marked with `working`, is done."""
        while True:
            for _ in range(SETTLE_ROUNDS):
                await asyncio.sleep(0)
            if not self._active_work_count:
                return
            self._idle = self._idle or asyncio.Event()
            await self._idle.wait()

    def _begin_work(self) -> None:
        self._active_work_count += 1

    def _end_work(self) -> None:
        self._active_work_count -= 1
        if not self._active_work_count and self._idle is not None:
            self._idle.set()
            self._idle = None

    def _fire(self, timer: Timer) -> None:
        callback, timer.callback = timer.callback, None
        if callback is None:
            return
        try:
            result = callback()
            if inspect.iscoroutine(result):
                self._begin_work()
                task = asyncio.get_running_loop().create_task(result)
                self._tasks.add(task)
                task.add_done_callback(self._on_task_done)
        except Exception:
            log.exception("A timer callback failed")

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        self._end_work()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A timer task failed", exc_info=error)


class RealClock(Clock):
    """The clock of a server that is not a rehearsal: the wall clock of the machine."""

    def now_ms(self) -> int:
        """Return the time in Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back when the wall clock reaches a time in Unix milliseconds."""
        timer = Timer(ms, callback)
        self._arm(timer)
        return timer

    def _arm(self, timer: Timer) -> None:
        wait_seconds = timer.due_ms / 1000 - time.time() + TIMER_SLACK_SECONDS
        timer._handle = asyncio.get_running_loop().call_later(
            min(max(wait_seconds, 0.0), WAIT_SECONDS_MAX), self._check, timer
        )

    def _check(self, timer: Timer) -> None:
        if self.now_ms() < timer.due_ms:
            self._arm(timer)
        else:
            self._fire(timer)


class ControlledClock(Clock):
    """A clock that can be set, advanced, frozen and resumed; it starts at `start_ms`, frozen unless `running`."""

    def __init__(self, start_ms: int, running: bool = True) -> None:
        super().__init__()
        # A platform time in Unix milliseconds and the monotonic time at which it was valid (None: frozen). It is one
        # tuple, so that any thread reads both consistently.
        self._reading: tuple[int, float | None] = (start_ms, time.monotonic() if running else None)
        self._timers: list[tuple[int, int, Timer]] = []
        self._timer_numbers = itertools.count()
        self._wake_up_handle: asyncio.TimerHandle | None = None
        self._is_moving = False
        self._sweep_timers_min = SWEEP_TIMERS_MIN

    def now_ms(self) -> int:
        """Return the time in Unix milliseconds."""
        base_ms, base_at_seconds = self._reading
        return base_ms if base_at_seconds is None else base_ms + int((time.monotonic() - base_at_seconds) * 1000)

    @property
    def is_running(self) -> bool:
        """Whether time passes by itself."""
        return self._reading[1] is not None

    def call_at(self, ms: int, callback: Callable[[], object]) -> Timer:
        """Call back when the clock reaches a time in Unix milliseconds, by running or by being set."""
        timer = Timer(ms, callback)
        heapq.heappush(self._timers, (ms, next(self._timer_numbers), timer))
        # A cancelled timer is removed when it reaches the top of the heap; occasional sweeps remove those far from the
        # top.
        if len(self._timers) > self._sweep_timers_min:
            self._timers = [heap_entry for heap_entry in self._timers if heap_entry[2].is_pending]
            heapq.heapify(self._timers)
            self._sweep_timers_min = max(SWEEP_TIMERS_MIN, 2 * len(self._timers))
        self._arm()
        return timer

    def set(self, ms: int) -> None:
        """Set the time (Unix ms) and fire all timers due by then, in order. Fired timers do not fire again."""
        self._move(ms)

    def advance(self, ms: int) -> None:
        """Move the time forward by a number of milliseconds and fire all timers due by then, in order."""
        self._move(self.now_ms() + ms)

    async def run_until(self, ms: int) -> None:
        """Like `set`, but wait at each timer until its work is done, so that loops with `sleep` run every iteration."""
        while (due_ms := self._next_due()) is not None and due_ms <= ms:
            self._move(max(due_ms, self.now_ms()))
            await self.settle()
        self._move(ms)
        await self.settle()

    async def run_for(self, ms: int) -> None:
        """Like `advance`, but wait at each due timer until its work is done."""
        await self.run_until(self.now_ms() + ms)

    def freeze(self) -> None:
        """Stop the clock at the current time."""
        self._reading = (self.now_ms(), None)
        self._arm()

    def resume(self) -> None:
        """Let time pass by itself again."""
        if not self.is_running:
            self._reading = (self._reading[0], time.monotonic())
            self._arm()

    def _move(self, target_ms: int) -> None:
        if self._is_moving:
            raise RuntimeError("a timer callback must not move the clock that fires it")
        was_running = self.is_running
        if target_ms < self.now_ms():
            self.backward_set_count += 1
        self._is_moving = True
        try:
            while (due_ms := self._next_due()) is not None and due_ms <= target_ms:
                # A callback sees its due time, not the target time.
                self._reading = (max(due_ms, min(self.now_ms(), target_ms)), None)
                self._fire(heapq.heappop(self._timers)[2])
        finally:
            self._is_moving = False
            self._reading = (target_ms, time.monotonic() if was_running else None)
            self._arm()

    def _next_due(self) -> int | None:
        while self._timers and not self._timers[0][2].is_pending:
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _arm(self) -> None:
        """Schedule a wake-up on the event loop for the earliest timer, if the clock is running."""
        if self._is_moving:
            return
        if self._wake_up_handle is not None:
            self._wake_up_handle.cancel()
            self._wake_up_handle = None
        due_ms = self._next_due()
        base_ms, base_at_seconds = self._reading
        if due_ms is None or base_at_seconds is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # Without an event loop, as in a synchronous test, only `set` and `advance` fire timers.
        wait_seconds = (due_ms - base_ms) / 1000 - (time.monotonic() - base_at_seconds) + TIMER_SLACK_SECONDS
        self._wake_up_handle = loop.call_later(min(max(wait_seconds, 0.0), WAIT_SECONDS_MAX), self._on_wake_up)

    def _on_wake_up(self) -> None:
        self._wake_up_handle = None
        if self.is_running and not self._is_moving:
            now_ms = self.now_ms()
            while (due_ms := self._next_due()) is not None and due_ms <= now_ms:
                self._fire(heapq.heappop(self._timers)[2])
        self._arm()
