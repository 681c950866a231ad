"""A monitor of how late the event loop runs its timers: a busy or blocked loop delays every request and session."""

import asyncio
from typing import Final

from hubbub.server.core.metric_families import Histogram

INTERVAL_SECONDS: Final = 0.25
"""Time in seconds between two measurements."""


class LoopMonitor:
    """A timer that records its own delay."""

    def __init__(self, lag_histogram: Histogram) -> None:
        """Create a monitor; `lag_histogram` receives delays in seconds."""
        self._lag_histogram = lag_histogram
        self._timer: asyncio.TimerHandle | None = None
        self._last_lag_seconds = 0.0
        self.is_late = False
        """Whether the last measurement was late by more than one interval."""

    @property
    def sustained_lag_seconds(self) -> float:
        """The smaller of the last delay and the present one, so that a single long callback does not count; 0 if stopped."""
        if self._timer is None:
            return 0.0
        current_lag_seconds = asyncio.get_running_loop().time() - self._timer.when()
        return max(0.0, min(current_lag_seconds, self._last_lag_seconds))

    def start(self) -> None:
        """Start to measure the running event loop."""
        loop = asyncio.get_running_loop()
        self._schedule(loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(due_at := loop.time() + INTERVAL_SECONDS, lambda: self._measure(loop, due_at))

    def _measure(self, loop: asyncio.AbstractEventLoop, due_at: float) -> None:
        self._last_lag_seconds = lag_seconds = max(0.0, loop.time() - due_at)
        self.is_late = lag_seconds > INTERVAL_SECONDS
        self._lag_histogram.observe(lag_seconds)
        self._schedule(loop)
