"""What a client may do how often. Which clock counts what is told in docs/decisions/0005-gateway-time.md."""

import math
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from hubbub.protocol import changes
from hubbub.protocol.resources.gateway import ALL_MEMBERS_SECONDS, SessionStartLimit
from hubbub.protocol.resources.guilds import LARGE_GUILD
from hubbub.server.core.clock import Clock
from hubbub.server.core.config import Config
from hubbub.server.core.rate_limits import Mode, RateLimits

DAY_MS: Final = 86_400_000
IDENTIFY_SECONDS: Final = 5.0
"""The window of `max_concurrency` (gateway.md 4.1)."""
STALE_MOST: Final = 10_000
"""Entries after which old ones are looked for."""

K = TypeVar("K")
V = TypeVar("V")


class Fading(Generic[K, V]):
    """What is remembered for a while: what no longer matters goes whenever there is twice as much as mattered last time."""

    __slots__ = ("_entries", "_sweep_at")

    def __init__(self) -> None:
        self._entries: dict[K, V] = {}
        self._sweep_at = STALE_MOST

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K, default: V) -> V:
        """What was put, or the default."""
        return self._entries.get(key, default)

    def put(self, key: K, value: V, matters: Callable[[V], bool]) -> None:
        """Remember; `matters` says what of the rest still counts."""
        if len(self._entries) >= self._sweep_at and key not in self._entries:
            self._entries = {known: kept for known, kept in self._entries.items() if matters(kept)}
            self._sweep_at = max(STALE_MOST, 2 * len(self._entries))
        self._entries[key] = value


class Window:
    """So many in so many seconds; the window begins with its first one."""

    __slots__ = ("_count", "_most", "_seconds", "_since")

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._since = -math.inf
        self._count = 0

    def take(self, now: float) -> bool:
        """Count one more; False when it is too many."""
        if now - self._since >= self._seconds:
            self._since = now
            self._count = 0
        self._count += 1
        return self._count <= self._most


class SessionStarts:
    """How many sessions each bot may still begin: per day, and within five seconds (gateway.md 4.1)."""

    def __init__(self, config: Config, clock: Clock, rate_limits: RateLimits) -> None:
        self._settings = config.gateway
        self._rate_limits = rate_limits
        self._clock = clock
        self._days: Fading[int, tuple[int, int]] = Fading()
        """Bot to the day's beginning and the starts since."""
        self._windows: Fading[tuple[int, int], float] = Fading()
        """Bot and rate key to the last start, by the event loop's time."""

    def take(self, user_id: int, shard: int, now: float, guilds: int = 0) -> bool:
        """Count a start; False when it has to wait. Only starts that succeed are counted."""
        if self._rate_limits.mode is Mode.OFF:
            return True
        total, concurrency = self._settings.starts(guilds)
        began, used = self._day(user_id)
        if used >= total and self._rate_limits.refuses("session starts", user_id):
            return False
        key = (user_id, shard % concurrency)
        if now - self._windows.get(key, -math.inf) < IDENTIFY_SECONDS:
            if self._rate_limits.refuses("identify", user_id, key[1]):
                return False
        self._windows.put(key, now, lambda at: now - at < IDENTIFY_SECONDS)
        self._days.put(user_id, (began, used + 1), lambda day: self._lasts(day[0]))
        return True

    def left(self, user_id: int, guilds: int = 0) -> SessionStartLimit:
        """What GET /gateway/bot tells a bot in so many guilds."""
        total, concurrency = self._settings.starts(guilds)
        began, used = self._day(user_id)
        return SessionStartLimit(
            total=total,
            remaining=max(0, total - used),
            reset_after=max(0, began + DAY_MS - self._clock.now_ms()) if used else 0,
            max_concurrency=concurrency,
        )

    def _day(self, user_id: int) -> tuple[int, int]:
        now = self._clock.now_ms()
        began, used = self._days.get(user_id, (now, 0))
        return (began, used) if self._lasts(began) else (now, 0)

    def _lasts(self, began: int) -> bool:
        return began <= self._clock.now_ms() < began + DAY_MS


class MemberRequests:
    """Requests for all members: one per guild and bot in 30 seconds (gateway.md 6.1; dated-changes.md 2.4)."""

    def __init__(self, clock: Clock, rate_limits: RateLimits) -> None:
        self._rate_limits = rate_limits
        self._clock = clock
        self._last: Fading[tuple[int, int], int] = Fading()

    def wait_ms(self, user_id: int, guild_id: int, member_count: int) -> int:
        """How long the bot must wait; 0 admits the request and begins the next wait."""
        now = self._clock.now_ms()
        large = member_count >= LARGE_GUILD and changes.MEMBER_REQUEST_LIMIT_LARGE.active(now)
        if self._rate_limits.mode is Mode.OFF or not (large or changes.MEMBER_REQUEST_LIMIT.active(now)):
            return 0
        window = ALL_MEMBERS_SECONDS * 1000
        passed = now - self._last.get((user_id, guild_id), -window)
        # A clock that was set back must not lock anybody out.
        if 0 <= passed < window and self._rate_limits.refuses("all members", user_id, guild_id):
            return window - passed
        self._last.put((user_id, guild_id), now, lambda at: 0 <= now - at < window)
        return 0
