"""What a client may do how often. Which clock counts what is told in docs/decisions/0005-gateway-time.md."""

import math
from typing import Final

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
        self._days: dict[int, tuple[int, int]] = {}
        """Bot to the day's beginning and the starts since."""
        self._windows: dict[tuple[int, int], float] = {}
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
        if len(self._windows) > STALE_MOST:
            self._windows = {k: at for k, at in self._windows.items() if now - at < IDENTIFY_SECONDS}
        self._windows[key] = now
        self._days[user_id] = (began, used + 1)
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
        return (began, used) if began <= now < began + DAY_MS else (now, 0)


class MemberRequests:
    """Requests for all members: one per guild and bot in 30 seconds (gateway.md 6.1; dated-changes.md 2.4)."""

    def __init__(self, clock: Clock, rate_limits: RateLimits) -> None:
        self._rate_limits = rate_limits
        self._clock = clock
        self._last: dict[tuple[int, int], int] = {}

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
        if len(self._last) > STALE_MOST:
            self._last = {key: at for key, at in self._last.items() if 0 <= now - at < window}
        self._last[user_id, guild_id] = now
        return 0
