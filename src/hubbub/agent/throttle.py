"""Rate limit for updates of which only the last one matters."""

import asyncio
from collections import deque
from collections.abc import Callable


class Throttle:
    """Rate limit of a function: at most `limit` calls in `window_seconds` seconds; excess calls become one later call."""

    def __init__(self, limit: int, window_seconds: float, function: Callable[[], None]) -> None:
        self._limit = limit
        self._window_seconds = window_seconds
        self._function = function
        self._called_at: deque[float] = deque(maxlen=limit)
        """Loop times of the last `limit` calls, oldest first."""
        self._timer: asyncio.TimerHandle | None = None

    def call(self) -> None:
        """Call the function now, or once the limit allows; further calls until then have no effect."""
        if self._timer is not None:
            return
        loop = asyncio.get_running_loop()
        wait_seconds = (
            self._called_at[0] + self._window_seconds - loop.time() if len(self._called_at) == self._limit else 0.0
        )
        if wait_seconds > 0:
            self._timer = loop.call_later(wait_seconds, self._call_delayed)
        else:
            self._call_now()

    def cancel(self) -> None:
        """Cancel the delayed call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _call_delayed(self) -> None:
        self._timer = None
        self._call_now()

    def _call_now(self) -> None:
        self._called_at.append(asyncio.get_running_loop().time())
        self._function()
