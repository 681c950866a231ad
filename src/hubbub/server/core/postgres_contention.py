"""Units of work that conflicted: units of one object run in turn, over all processes.

Contended units would conflict with each other again and again. In turn they can only conflict with units that run for the
first time, so each attempt is likely to succeed. Units of other objects do not wait for them.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from psycopg.errors import DeadlockDetected, LockNotAvailable

from hubbub.server.core.postgres_connection import PostgresConnection
from hubbub.server.core.postgres_statements import find_statement

log = logging.getLogger(__name__)

_TURN_LOCKS: Final = 0x48756262
"""First number of the advisory locks of the database; the second one is derived from the key of the units."""
LOCKS_MAX: Final = (1 << 31) - 1
"""Number of different locks; a prime, so that all bits of a key count."""

_BEGIN: Final = find_statement("BEGIN")
_ACQUIRE: Final = find_statement(f"SELECT pg_advisory_lock({_TURN_LOCKS}, CAST(? AS integer))")
_RELEASE: Final = find_statement(f"SELECT pg_advisory_unlock({_TURN_LOCKS}, CAST(? AS integer))")


class ContendedTasks:
    """A queue of functions that several threads run: in order, and only one function per key at a time."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self._running_keys: set[int] = set()
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, key: int, task: Callable[[], None]) -> None:
        """Add a function at the end."""
        with self._condition:
            self._waiting.append((key, task))
            self._condition.notify()

    def close(self) -> None:
        """Let the threads end when no function is left."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def run(self) -> None:
        """Run functions until the queue is closed and empty; each thread runs this."""
        while (taken := self._take()) is not None:
            key, task = taken
            try:
                task()
            finally:
                with self._condition:
                    self._running_keys.discard(key)
                    self._condition.notify_all()

    def _take(self) -> tuple[int, Callable[[], None]] | None:
        """Wait for the first function whose key is not running and return it; return None after the end."""
        with self._condition:
            while True:
                for index, (key, task) in enumerate(self._waiting):
                    if key not in self._running_keys:
                        del self._waiting[index]
                        self._running_keys.add(key)
                        return key, task
                if self._is_closed and not self._waiting:
                    return None
                self._condition.wait()


@contextmanager
def turn(connection: PostgresConnection, key: int) -> Iterator[None]:
    """Hold the turn of the contended units of a key; it ends with the connection, too.

    If another process does not finish its turn in time, continue without it: the turn reduces conflicts, and isolation
    does not depend on it."""
    lock = key % LOCKS_MAX
    has_turn = _acquire(connection, lock)
    try:
        yield
    finally:
        if has_turn and not connection.is_lost:
            connection.begin(None)
            connection.send(_RELEASE, (lock,))
            connection.end()


def _acquire(connection: PostgresConnection, lock: int) -> bool:
    """Wait for the turn, at most for the lock timeout of the connection. Return False if it did not become free."""
    # A lock of the session, acquired before the transaction: its snapshot must not be older than the turn.
    connection.begin(_BEGIN)
    try:
        connection.execute(_ACQUIRE, (lock,))
        connection.commit()
    except (LockNotAvailable, DeadlockDetected):
        log.info("Another process did not finish its turn of contended units in time")
        connection.end()
        return False
    return True
