"""Queues of completions and events, which are delivered in order by `run_callbacks` or by the event loop of the client."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

_queues: set["CallbackQueue"] = set()
"""Queues of all open clients, and of closed clients with undelivered callbacks."""
_lock = threading.RLock()
"""Guards `_queues`. Reentrant, because the garbage collector may close a client while this thread holds the lock."""
_free_threaded = False
"""Whether new clients may be used from several threads."""


class CallbackQueue:
    """The callback queue of one client."""

    def __init__(self, on_put: Callable[[], None] | None = None) -> None:
        self._queue: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self.on_put = on_put
        """Function called after each `put`, from any thread; None if only the game's thread calls `run`."""
        self.owner_thread: int | None = None if _free_threaded else threading.get_ident()
        """Identifier of the only thread that may use the client; None if every thread may."""
        self.is_closed = False
        with _lock:
            _queues.add(self)

    def put(self, function: Callable[..., object], *args: Any) -> None:
        """Queue a call; safe to call from any thread."""
        self._queue.append((function, args))
        if self.is_closed:
            # An operation started after `close` still completes with an error, which `run_callbacks` delivers only from
            # a registered queue.
            with _lock:
                _queues.add(self)
        if self.on_put is not None:
            self.on_put()

    def run(self) -> int:
        """Call everything that was queued before this call, and return how many calls were made.

        An exception raised by a callback propagates; the remaining callbacks stay queued. Raise RuntimeError if the
        client belongs to another thread."""
        self.check_thread()
        delivered_count = 0
        for _ in range(len(self._queue)):
            try:
                function, args = self._queue.popleft()
            except IndexError:  # A callback cleared the queue.
                break
            delivered_count += 1
            function(*args)
        if self.is_closed:
            self._unregister_if_empty()
        return delivered_count

    def check_thread(self) -> None:
        """Raise RuntimeError if the client belongs to another thread."""
        if self.owner_thread is not None and threading.get_ident() != self.owner_thread:
            raise RuntimeError(
                "This client belongs to another thread; call set_free_threaded() before creating the client to share it"
            )

    def close(self) -> None:
        """Unregister the queue once it is empty; calls that are already queued can still be delivered."""
        self.is_closed = True
        self._unregister_if_empty()

    def clear(self) -> None:
        """Drop all queued calls."""
        self._queue.clear()
        if self.is_closed:
            self._unregister_if_empty()

    def _unregister_if_empty(self) -> None:
        with _lock:
            if not self._queue:
                _queues.discard(self)

    def __len__(self) -> int:
        return len(self._queue)


def run_callbacks() -> int:
    """Deliver the queued callbacks of all clients that belong to the calling thread, and return how many there were.

    Call this once per frame. Clients created after `set_free_threaded` are served from any thread."""
    with _lock:
        queues = [
            queue
            for queue in list(_queues)
            if queue.owner_thread is None or queue.owner_thread == threading.get_ident()
        ]
    return sum(queue.run() for queue in queues)


def set_free_threaded() -> None:
    """Allow clients created from now on to be used from several threads."""
    global _free_threaded
    _free_threaded = True


def all_queues() -> list[CallbackQueue]:
    """Return the queues of all open clients, and of closed clients with undelivered callbacks."""
    with _lock:
        return list(_queues)
