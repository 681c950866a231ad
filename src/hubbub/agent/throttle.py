"""So many in so many seconds; of what is too much only the last counts."""

import asyncio
from collections import deque
from collections.abc import Callable


class Throttle:
    """Calls something now, or once as soon as it may."""

    def __init__(self, most: int, seconds: float, act: Callable[[], None]) -> None:
        self._most = most
        self._seconds = seconds
        self._act = act
        self._done: deque[float] = deque(maxlen=most)
        self._waiting: asyncio.TimerHandle | None = None

    def call(self) -> None:
        """Act now, or later; whoever asks meanwhile changes nothing of that."""
        if self._waiting is not None:
            return
        loop = asyncio.get_running_loop()
        wait_s = self._done[0] + self._seconds - loop.time() if len(self._done) == self._most else 0.0
        if wait_s > 0:
            self._waiting = loop.call_later(wait_s, self._late)
        else:
            self._do()

    def cancel(self) -> None:
        """Forget what waits."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _late(self) -> None:
        self._waiting = None
        self._do()

    def _do(self) -> None:
        self._done.append(asyncio.get_running_loop().time())
        self._act()
