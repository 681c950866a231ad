"""Rate limit for updates of which only the last one matters."""

import asyncio
from collections import deque
from collections.abc import Callable


class Throttle:
    """Calls a function at most `most` times per `seconds`; excess calls are merged into one later call."""

    def __init__(self, most: int, seconds: float, act: Callable[[], None]) -> None:
        self._most = most
        self._seconds = seconds
        self._act = act
        self._done: deque[float] = deque(maxlen=most)
        self._waiting: asyncio.TimerHandle | None = None

    def call(self) -> None:
        """Call the function now, or once the limit allows; further calls until then have no effect."""
        if self._waiting is not None:
            return
        loop = asyncio.get_running_loop()
        wait_s = self._done[0] + self._seconds - loop.time() if len(self._done) == self._most else 0.0
        if wait_s > 0:
            self._waiting = loop.call_later(wait_s, self._late)
        else:
            self._do()

    def cancel(self) -> None:
        """Cancel the delayed call."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _late(self) -> None:
        self._waiting = None
        self._do()

    def _do(self) -> None:
        self._done.append(asyncio.get_running_loop().time())
        self._act()
