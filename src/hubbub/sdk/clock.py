"""The time, for those who are not told it: when a token ends, whether an invite is still fresh, when a line was logged."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Gives Unix milliseconds."""


def machine_ms() -> int:
    """The machine's time."""
    return time.time_ns() // 1_000_000
