"""The time: the machine's for log lines, and the platform's for everything that the platform's rules decide.

A player's machine may be days off, and a rehearsal's clock is where its owner put it. When a token ends, whether an invite is still
fresh and which messages are too old to be shown is counted by the platform's own clock, which its answers tell.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from hubbub.protocol.ids import EPOCH_MS

Clock = Callable[[], int]
"""Gives Unix milliseconds."""

COARSE_MS: Final = 3000
"""A Date says whole seconds, and comes a moment later: what is known better is kept while it is not further off than this."""
JUMP_MS: Final = 1000
"""A change of the clock that is no correction any more: somebody set it, or the machine slept."""


def machine_ms() -> int:
    """The machine's time."""
    return time.time_ns() // 1_000_000


class PlatformClock:
    """The platform's time; until it told of it once, the machine's."""

    def __init__(self, machine: Clock = machine_ms) -> None:
        self._machine = machine
        self._ahead_ms: float | None = None
        """How far the platform's time is ahead of what `passed` counts."""
        self.passed: Callable[[], float] = time.monotonic
        """Seconds that go by here, whatever the machine's clock is set to."""
        self.watchers: Final[list[Callable[[], None]]] = []
        """Told when the time is suddenly another."""

    def __call__(self) -> int:
        """Unix milliseconds."""
        if self._ahead_ms is None:
            return self._machine()
        return int(self._ahead_ms + self.passed() * 1000)

    def note(self, headers: Mapping[str, str]) -> None:
        """An answer of the platform came with these."""
        told = _of_rate_limit(headers)
        if told is None:
            told = _of_date(headers)
            if told is None or (self._ahead_ms is not None and 0 <= self() - told < COARSE_MS):
                return
        self._set(told)

    def heard(self, id: int) -> None:
        """The platform made this id, so it is not earlier there than that."""
        made = (id >> 22) + EPOCH_MS
        if id and (self._ahead_ms is None or made > self()):
            self._set(made)

    def _set(self, now_ms: int) -> None:
        before = self()
        self._ahead_ms = now_ms - self.passed() * 1000
        if abs(now_ms - before) >= JUMP_MS:
            for watcher in self.watchers:
                watcher()


def _of_rate_limit(headers: Mapping[str, str]) -> int | None:
    """When a bucket is full again, less how long that takes: to the millisecond (http.md 1.14)."""
    try:
        return round((float(headers["X-RateLimit-Reset"]) - float(headers["X-RateLimit-Reset-After"])) * 1000)
    except (KeyError, ValueError, OverflowError):
        return None


def _of_date(headers: Mapping[str, str]) -> int | None:
    date = headers.get("Date")
    if date is None or "Age" in headers:
        # What has an age comes from a cache, and tells of the past.
        return None
    from email.utils import parsedate_to_datetime

    try:
        return round(parsedate_to_datetime(date).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
