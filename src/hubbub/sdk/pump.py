"""Where what happened waits until the game asks: completions and events, in order, delivered nowhere else."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_pumps: set["Pump"] = set()
_guard = threading.RLock()
"""Taken again by the same thread where a forgotten client is collected in the middle."""
_free_threaded = False


class Pump:
    """The queue of one client."""

    def __init__(self, wake: Callable[[], None] | None = None) -> None:
        self._queue: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self.wake = wake
        """Told when something waits, where somebody delivers by themselves."""
        self.owner: int | None = None if _free_threaded else threading.get_ident()
        """The one thread that may use the client; None where all may."""
        self.closed = False
        with _guard:
            _pumps.add(self)

    def put(self, function: Callable[..., object], *args: Any) -> None:
        """Deliver later; from any thread."""
        self._queue.append((function, args))
        if self.closed:
            # Work that is refused has an end like any other, and the module's pump has to find it.
            with _guard:
                _pumps.add(self)
        if self.wake is not None:
            self.wake()

    def run(self) -> int:
        """Deliver everything that was queued when this was called; returns how much that was.

        What a callback raises comes out here; the rest stays for the next call."""
        self.check_thread()
        delivered = 0
        for _ in range(len(self._queue)):
            try:
                function, args = self._queue.popleft()
            except IndexError:  # a callback reset the queue
                break
            delivered += 1
            function(*args)
        if self.closed:
            self._leave()
        return delivered

    def check_thread(self) -> None:
        """Refuse a second thread, unless `set_free_threaded` was called."""
        if self.owner is not None and threading.get_ident() != self.owner:
            raise RuntimeError("this client belongs to another thread; call set_free_threaded() before making it")

    def close(self) -> None:
        """Nothing more will come but refusals; what waits can still be delivered."""
        self.closed = True
        self._leave()

    def clear(self) -> None:
        """Drop what waits."""
        self._queue.clear()
        if self.closed:
            self._leave()

    def _leave(self) -> None:
        with _guard:
            if not self._queue:
                _pumps.discard(self)

    def __len__(self) -> int:
        return len(self._queue)


def run_callbacks() -> int:
    """Deliver what waits for this thread, of all clients; call it once per frame. Returns how much that was."""
    with _guard:
        pumps = [pump for pump in list(_pumps) if pump.owner is None or pump.owner == threading.get_ident()]
    return sum(pump.run() for pump in pumps)


def set_free_threaded() -> None:
    """Let clients made from here on be used from several threads."""
    global _free_threaded
    _free_threaded = True


def all_pumps() -> list[Pump]:
    """Every queue there is."""
    with _guard:
        return list(_pumps)
