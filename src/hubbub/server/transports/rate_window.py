"""The rate limit of one connection or session, shared by the gateway and the voice gateway."""

import math


class RateWindow:
    """A rate limit of `limit` requests per window of `seconds`; a window starts with its first request."""

    __slots__ = ("_count", "_limit", "_window_seconds", "_window_started_at")

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit = limit
        self._window_seconds = seconds
        self._window_started_at = -math.inf
        self._count = 0

    def take(self, now: float) -> bool:
        """Count a request at the time `now` in seconds; return False if it exceeds the limit."""
        if now - self._window_started_at >= self._window_seconds:
            self._window_started_at = now
            self._count = 0
        self._count += 1
        return self._count <= self._limit
