"""Measures how late the event loop runs its timers: a busy or blocked loop delays every request and session."""

import asyncio
from typing import Final

from prometheus_client import Histogram

INTERVAL_SECONDS: Final = 0.25
"""Time in seconds between two measurements."""


class LoopMonitor:
    """A timer that records its own delay."""

    def __init__(self, lag: Histogram) -> None:
        """Create a monitor; `lag` receives delays in seconds."""
        self._lag = lag
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start to measure the running event loop."""
        loop = asyncio.get_running_loop()
        self._schedule(loop)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_at(due := loop.time() + INTERVAL_SECONDS, lambda: self._measure(loop, due))

    def _measure(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self._lag.observe(max(0.0, loop.time() - due))
        self._schedule(loop)
