"""Serialization of units of work that conflicted: one unit per object at a time, across all processes.

Without serialization, contended units would conflict with each other repeatedly. A serialized unit can only conflict with
units that are not contended yet, so each attempt is likely to succeed. Units of other objects do not wait for it.
"""

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from psycopg.errors import DeadlockDetected, LockNotAvailable

from hubbub.server.core.postgres_connection import PostgresConnection
from hubbub.server.core.postgres_statements import intern_statement

log = logging.getLogger(__name__)

_LOCK_NAMESPACE: Final = 0x48756262
"""First key of the advisory locks; the second key is derived from the ID of the object."""
LOCKS_MAX: Final = (1 << 31) - 1
"""Number of different locks; a prime, so that all bits of an object ID affect the lock."""

_BEGIN: Final = intern_statement("BEGIN")
_ACQUIRE_LOCK: Final = intern_statement(f"SELECT pg_advisory_lock({_LOCK_NAMESPACE}, CAST(? AS integer))")
_RELEASE_LOCK: Final = intern_statement(f"SELECT pg_advisory_unlock({_LOCK_NAMESPACE}, CAST(? AS integer))")


class ContendedTasks:
    """A queue of functions that several threads run: in order, and only one function per key at a time."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting_tasks: deque[tuple[int, Callable[[], None]]] = deque()
        self._running_keys: set[int] = set()
        self._task_counts: Counter[int] = Counter()
        """Number of waiting and running functions by key, without keys that have none."""
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._waiting_tasks)

    def has_key(self, key: int) -> bool:
        """Return whether functions of a key wait or run."""
        return key in self._task_counts

    def put(self, key: int, task: Callable[[], None]) -> None:
        """Add a function at the end."""
        with self._condition:
            self._waiting_tasks.append((key, task))
            self._task_counts[key] += 1
            self._condition.notify()

    def close(self) -> None:
        """Make the threads end when the queue is empty."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()

    def run(self) -> None:
        """Run functions until the queue is closed and empty; this is the main function of each thread."""
        while (key_and_task := self._take()) is not None:
            key, task = key_and_task
            try:
                task()
            finally:
                with self._condition:
                    self._running_keys.discard(key)
                    self._task_counts[key] -= 1
                    if not self._task_counts[key]:
                        del self._task_counts[key]
                    self._condition.notify_all()

    def _take(self) -> tuple[int, Callable[[], None]] | None:
        """Wait for the first function whose key is not running and return it; return None if the queue is closed and empty."""
        with self._condition:
            while True:
                for index, (key, task) in enumerate(self._waiting_tasks):
                    if key not in self._running_keys:
                        del self._waiting_tasks[index]
                        self._running_keys.add(key)
                        return key, task
                if self._is_closed and not self._waiting_tasks:
                    return None
                self._condition.wait()


@contextmanager
def contention_lock(connection: PostgresConnection, key: int) -> Iterator[None]:
    """Hold the advisory lock of a key. PostgreSQL also releases it when the connection closes.

    If another process does not release the lock in time, continue without it: the lock reduces conflicts, and isolation
    does not depend on it."""
    lock_key = key % LOCKS_MAX
    has_lock = _acquire_lock(connection, lock_key)
    try:
        yield
    finally:
        if has_lock and not connection.is_lost:
            connection.begin(None)
            connection.send(_RELEASE_LOCK, (lock_key,))
            connection.end()


def _acquire_lock(connection: PostgresConnection, lock_key: int) -> bool:
    """Acquire a lock within the connection's lock timeout. Return False if another process still holds it."""
    # The lock belongs to the database session and is acquired before the transaction of the unit, whose snapshot must not be
    # older than the lock.
    connection.begin(_BEGIN)
    try:
        connection.execute(_ACQUIRE_LOCK, (lock_key,))
        connection.commit()
    except (LockNotAvailable, DeadlockDetected):
        log.info("Another process did not release the lock of contended writes in time; continuing without it")
        connection.end()
        return False
    return True
