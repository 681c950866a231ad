"""Detection of the end of a process, after which the agent removes the activity of the process (spec/rpc.md#8)."""

import asyncio
import os
from collections.abc import Callable
from typing import Final

POLL_INTERVAL_SECONDS: Final = 5.0
"""Polling interval on systems without pidfd."""


class ProcessWatch:
    """Watch of a process, which calls `on_end` when the process ends; never for a process that does not exist."""

    def __init__(self, pid: int, on_end: Callable[[], None]) -> None:
        self.pid = pid
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._descriptor: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        try:
            self._descriptor = os.pidfd_open(pid)
            self._loop.add_reader(self._descriptor, self._on_process_end)
        except (AttributeError, OSError):
            # The system has no pidfd, or there is no such process: a sandboxed game has another process ID inside its
            # sandbox, and its activity ends with its connection.
            if is_alive(pid):
                self._poll()

    def cancel(self) -> None:
        """Stop watching the process."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._timer is not None:
            self._timer.cancel()

    def _poll(self) -> None:
        if is_alive(self.pid):
            self._timer = self._loop.call_later(POLL_INTERVAL_SECONDS, self._poll)
        else:
            self._on_process_end()

    def _on_process_end(self) -> None:
        self.cancel()
        self._on_end()


def is_alive(pid: int) -> bool:
    """Return whether a process with this ID exists."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
