"""Clocks: the machine's clock for log lines, and an estimate of the platform's clock for times that the platform
sets or checks.

The clock of a player's machine may be wrong by days, and a rehearsal's clock can be set freely. Token expiry, the age of
invites and the age of messages therefore follow the platform's clock, which is derived from its responses.
"""

import time
from collections.abc import Callable, Mapping
from typing import Final

from hubbub.protocol.ids import Snowflake

Clock = Callable[[], int]
"""Function that returns the current time as Unix milliseconds."""

DATE_TOLERANCE_MS: Final = 3000
"""Tolerance of the Date header in milliseconds: an estimate that is ahead of the header by less than this is kept.

The header has whole seconds and arrives late."""
JUMP_MIN_MS: Final = 1000
"""Minimum change of the estimate in milliseconds that watchers are notified of: the clock was set, or the machine slept."""


def read_machine_ms() -> int:
    """Return the machine's time as Unix milliseconds."""
    return time.time_ns() // 1_000_000


class PlatformClock:
    """Estimate of the platform's clock; the machine's clock until the first response."""

    def __init__(self, machine_clock: Clock = read_machine_ms) -> None:
        self._machine_clock = machine_clock
        self._offset_ms: float | None = None
        """Platform time minus `monotonic`, in milliseconds; None until it is known."""
        self.monotonic: Callable[[], float] = time.monotonic
        """Monotonic clock in seconds, independent of changes to the machine's clock."""
        self.jump_watchers: Final[list[Callable[[], None]]] = []
        """Functions called after the estimate jumps by `JUMP_MIN_MS` or more."""

    def __call__(self) -> int:
        """Return the estimated time as Unix milliseconds."""
        if self._offset_ms is None:
            return self._machine_clock()
        return int(self._offset_ms + self.monotonic() * 1000)

    def update_from_headers(self, headers: Mapping[str, str]) -> None:
        """Update the estimate from the headers of a response."""
        now_ms = _parse_rate_limit_headers(headers)
        if now_ms is None:
            now_ms = _parse_date_header(headers)
            if now_ms is None or (self._offset_ms is not None and 0 <= self() - now_ms < DATE_TOLERANCE_MS):
                return
        self._set_estimate(now_ms)

    def update_from_id(self, id: int) -> None:
        """Update the estimate from a newly created ID.

        The platform's time is not earlier than the ID's, so the estimate only moves forward."""
        created_ms = Snowflake(id).created_ms
        if id and (self._offset_ms is None or created_ms > self()):
            self._set_estimate(created_ms)

    def _set_estimate(self, now_ms: int) -> None:
        """Set the estimate to the platform's current time, and notify the watchers of a jump."""
        previous_ms = self()
        self._offset_ms = now_ms - self.monotonic() * 1000
        if abs(now_ms - previous_ms) >= JUMP_MIN_MS:
            for watcher in self.jump_watchers:
                watcher()


def _parse_rate_limit_headers(headers: Mapping[str, str]) -> int | None:
    """Return the time of a response as Unix milliseconds, or None: the bucket's reset time minus its reset delay.

    The result is exact to 1 ms (spec/http.md#1.14)."""
    try:
        return round((float(headers["X-RateLimit-Reset"]) - float(headers["X-RateLimit-Reset-After"])) * 1000)
    except (KeyError, ValueError, OverflowError):
        return None


def _parse_date_header(headers: Mapping[str, str]) -> int | None:
    """Return the time of the Date header as Unix milliseconds, or None if the response has no usable one."""
    date = headers.get("Date")
    if date is None or "Age" in headers:
        # A response with an Age header comes from a cache, so its Date is in the past.
        return None
    from email.utils import parsedate_to_datetime

    try:
        return round(parsedate_to_datetime(date).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
