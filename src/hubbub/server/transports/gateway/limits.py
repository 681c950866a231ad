"""Rate limits of session starts and of requests for all members of a guild.

docs/decisions/0005-gateway-time.md explains which clock each limit uses.
"""

import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from hubbub.protocol import changes
from hubbub.protocol.resources.gateway import ALL_MEMBERS_INTERVAL_SECONDS, SessionStartLimit
from hubbub.protocol.resources.guilds import LARGE_GUILD_MEMBERS
from hubbub.server.core.clock import DAY_MS, Clock
from hubbub.server.core.config import Config
from hubbub.server.core.rate_limits import RateLimitMode, RateLimits

IDENTIFY_WINDOW_SECONDS: Final = 5.0
"""The window of `max_concurrency` (spec/gateway.md#4.1)."""
SWEEP_THRESHOLD: Final = 10_000
"""Minimum number of entries at which expired entries are removed."""

K = TypeVar("K")
V = TypeVar("V")


class ExpiringMap(Generic[K, V]):
    """A dict that removes expired entries when its size has doubled since the last removal.

    With fewer than `SWEEP_THRESHOLD` entries it removes none.
    """

    __slots__ = ("_entries", "_sweep_entries_min")

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}
        self._sweep_entries_min = SWEEP_THRESHOLD

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K, default: V) -> V:
        """Return the stored value, or the default."""
        return self._entries.get(key, default)

    def put(self, key: K, value: V, is_current: Callable[[V], bool]) -> None:
        """Store a value. `is_current` returns False for the value of an expired entry."""
        if len(self._entries) >= self._sweep_entries_min and key not in self._entries:
            self._entries = {
                stored_key: stored_value
                for stored_key, stored_value in self._entries.items()
                if is_current(stored_value)
            }
            self._sweep_entries_min = max(SWEEP_THRESHOLD, 2 * len(self._entries))
        self._entries[key] = value


class SessionStarts:
    """Limits on session starts of each bot: per day, and within five seconds (spec/gateway.md#4.1)."""

    def __init__(self, config: Config, clock: Clock, rate_limits: RateLimits) -> None:
        self._settings = config.gateway
        self._rate_limits = rate_limits
        self._clock = clock
        self._daily_usage: ExpiringMap[int, tuple[int, int]] = ExpiringMap()
        """Start of the 24-hour window as Unix milliseconds and number of session starts since, by bot ID."""
        self._last_starts: ExpiringMap[tuple[int, int], float] = ExpiringMap()
        """Time of the last session start in seconds of the event loop's clock, by bot ID and rate limit key."""

    def take(self, user_id: int, shard_index: int, now: float, guild_count: int = 0) -> bool:
        """Count a session start of a bot in a shard; return False if a limit rejects it.

        Rejected starts are not counted, and no starts are counted while rate limits are off.
        `now` is in seconds of the event loop's clock, and `guild_count` is the number of the bot's guilds.
        """
        if self._rate_limits.mode is RateLimitMode.OFF:
            return True
        daily_max, concurrency = self._settings.session_start_limits(guild_count)
        day_start_ms, start_count = self._day_usage(user_id)
        if start_count >= daily_max and self._rate_limits.report_excess("session starts", user_id):
            return False
        rate_limit_key = shard_index % concurrency
        key = (user_id, rate_limit_key)
        if now - self._last_starts.get(key, -math.inf) < IDENTIFY_WINDOW_SECONDS:
            if self._rate_limits.report_excess("identify", user_id, rate_limit_key):
                return False
        self._last_starts.put(key, now, lambda last_start_at: now - last_start_at < IDENTIFY_WINDOW_SECONDS)
        self._daily_usage.put(user_id, (day_start_ms, start_count + 1), lambda usage: self._is_current_day(usage[0]))
        return True

    def remaining(self, user_id: int, guild_count: int = 0) -> SessionStartLimit:
        """Return the limits that GET /gateway/bot reports to a bot in this number of guilds."""
        daily_max, concurrency = self._settings.session_start_limits(guild_count)
        day_start_ms, start_count = self._day_usage(user_id)
        return SessionStartLimit(
            total=daily_max,
            remaining=max(0, daily_max - start_count),
            reset_after=max(0, day_start_ms + DAY_MS - self._clock.now_ms()) if start_count else 0,
            max_concurrency=concurrency,
        )

    def _day_usage(self, user_id: int) -> tuple[int, int]:
        """Return the start of a bot's current 24-hour window as Unix milliseconds, and its number of session starts."""
        now_ms = self._clock.now_ms()
        day_start_ms, start_count = self._daily_usage.get(user_id, (now_ms, 0))
        return (day_start_ms, start_count) if self._is_current_day(day_start_ms) else (now_ms, 0)

    def _is_current_day(self, day_start_ms: int) -> bool:
        return day_start_ms <= self._clock.now_ms() < day_start_ms + DAY_MS


class MemberRequests:
    """Limit on requests for all members: one per guild and bot in 30 seconds (spec/gateway.md#6.1; spec/dated-changes.md#2.4)."""

    def __init__(self, clock: Clock, rate_limits: RateLimits) -> None:
        self._rate_limits = rate_limits
        self._clock = clock
        self._last_requests: ExpiringMap[tuple[int, int], int] = ExpiringMap()
        """Time of the last accepted request as Unix milliseconds, by bot ID and guild ID."""

    def record_request(self, user_id: int, guild_id: int, member_count: int) -> tuple[int, bool]:
        """Record a request for all members; return the milliseconds that the bot must wait first, and whether to reject it.

        A wait of 0 means that the request is accepted. If the limit applies, the time of an accepted request is stored, so that
        the next request must wait. In the mode "report" a bot that does not wait receives RATE_LIMITED, too, but its request
        is not rejected.
        """
        now_ms = self._clock.now_ms()
        is_large = member_count >= LARGE_GUILD_MEMBERS and changes.MEMBER_REQUEST_LIMIT_LARGE.is_active(now_ms)
        if self._rate_limits.mode is RateLimitMode.OFF or not (
            is_large or changes.MEMBER_REQUEST_LIMIT.is_active(now_ms)
        ):
            return 0, False
        window_ms = ALL_MEMBERS_INTERVAL_SECONDS * 1000
        passed_ms = now_ms - self._last_requests.get((user_id, guild_id), -window_ms)
        # If the clock was set back, `passed_ms` is negative; that must not lock a bot out.
        if 0 <= passed_ms < window_ms:
            return window_ms - passed_ms, self._rate_limits.report_excess("all members", user_id, guild_id)
        self._last_requests.put(
            (user_id, guild_id), now_ms, lambda last_request_ms: 0 <= now_ms - last_request_ms < window_ms
        )
        return 0, False
