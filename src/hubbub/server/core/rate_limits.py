"""Rate limits (http.md 1.14): buckets by caller and major parameter, the global limit, the guard for invalid requests.

A window is fixed: it opens with the first call and refills whole when it ends, which is what the X-RateLimit headers
can say. Time is the platform's clock, so a controlled clock moves the windows too. Counting happens on the event loop.
"""

import hashlib
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from hubbub.protocol.ids import Snowflake
from hubbub.protocol.operation import APPROVAL_WINDOW_SECONDS, Operation

MAJOR_PARAMETERS: Final = ("channel_id", "guild_id", "webhook_id")
"""The path parameters that a bucket is counted by, the first that the path has (http.md 1.14)."""

GLOBAL_CALLS: Final = 50
GLOBAL_WINDOW_MS: Final = 1000
INVALID_WINDOW_MS: Final = 600_000
INVALID_STATUSES: Final = frozenset((401, 403, 429))

MAX_BUCKETS: Final = 100_000
MAX_REPORTED: Final = 1000


class Mode(StrEnum):
    """What is done about limits."""

    OFF = "off"
    """Nothing is counted and no headers are sent."""
    REAL = "real"
    """Calls over a limit are refused."""
    REPORT = "report"
    """Everything is counted, headers are true, nothing is refused, and what would have been is kept in a report."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One operation's limit, worked out once at startup."""

    bucket: str
    """The opaque id that `X-RateLimit-Bucket` shows; it says nothing of the major parameter."""
    calls: int
    window_ms: int
    name: str
    """The operation, or the shared bucket's name, for the report."""
    major: tuple[int, ...] = ()
    """Which path parameters, by position, the bucket is counted by."""
    aged: tuple[tuple[int, str], ...] = ()
    """From which age of what the path's last id names, in milliseconds, another bucket counts; oldest first."""
    code: int = 0
    message: str = ""

    def bucket_of(self, values: Sequence[str], now: int) -> str:
        """The bucket that counts a call to this path; ids that are none are left to the form."""
        if self.aged and values[-1].isascii() and values[-1].isdecimal():
            age_ms = now - Snowflake(values[-1]).created_ms
            for least_ms, bucket in self.aged:
                if age_ms >= least_ms:
                    return bucket
        return self.bucket


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a limit says about one call."""

    allowed: bool
    limit: int = 0
    remaining: int = 0
    reset_ms: int = 0
    """When the window ends, Unix milliseconds."""
    reset_after_ms: int = 0
    bucket: str = ""
    scope: str = "user"
    """`user`, `global` or `shared`, for a refusal."""
    code: int = 0
    message: str = ""


class Refusal(msgspec.Struct, kw_only=True):
    """Calls that a limit refused, or would have refused, for one caller and bucket."""

    name: str
    bucket: str
    caller: str
    major: list[str]
    scope: str
    times: int
    first_ms: int
    last_ms: int
    refused: bool
    """False in report mode: the call went through."""


def rule(operation: Operation[Any, Any], name: str) -> Rule | None:
    """The rule of an operation, or None where it has no bucket."""
    limit = operation.limit
    if limit is None:
        return None
    parameters = operation.parameters
    if limit.per is not None:
        if limit.per not in parameters:
            raise ValueError(f"{name} is limited per {limit.per}, which its path {operation.path} does not have")
        major: tuple[str, ...] = (limit.per,)
    else:
        major = tuple(parameter for parameter in MAJOR_PARAMETERS if parameter in parameters)[:1]
    if major == ("webhook_id",):
        # A webhook's token belongs to its major parameter.
        major += tuple(parameter for parameter in parameters if parameter.endswith("token"))
    key = limit.bucket or f"{operation.method} {operation.path}"
    return Rule(
        bucket=_opaque(key),
        aged=tuple((round(age * 1000), _opaque(f"{key} {age}")) for age in sorted(limit.ages, reverse=True)),
        calls=limit.calls,
        window_ms=max(1, round(limit.seconds * 1000)),
        name=limit.bucket or name,
        major=tuple(parameters.index(parameter) for parameter in major),
        code=limit.code.code if limit.code else 0,
        message=limit.code.message if limit.code else "",
    )


def _opaque(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:32]


Key = tuple[Any, ...]


class Windows:
    """Fixed windows by key, in bounded memory."""

    __slots__ = ("_most", "_sweep_at", "_windows")

    def __init__(self, most: int = MAX_BUCKETS) -> None:
        self._most = most
        self._sweep_at = min(1024, most)
        self._windows: dict[Key, list[int]] = {}
        """Key to (end, calls so far)."""

    def __len__(self) -> int:
        return len(self._windows)

    def count(self, key: Key, window_ms: int, now: int) -> tuple[int, int]:
        """Count one call; gives the calls in this window, this one included, and when the window ends."""
        window = self._windows.get(key)
        # A clock that was set back leaves windows that end too far ahead.
        if window is not None and now < window[0] <= now + window_ms:
            window[1] += 1
            return window[1], window[0]
        if window is None and len(self._windows) >= self._sweep_at:
            self._sweep(now)
        self._windows[key] = [now + window_ms, 1]
        return 1, now + window_ms

    def peek(self, key: Key, window_ms: int, now: int) -> tuple[int, int]:
        """The calls in the window so far and when it ends, without counting."""
        window = self._windows.get(key)
        if window is None or not now < window[0] <= now + window_ms:
            return 0, now + window_ms
        return window[1], window[0]

    def uncount(self, key: Key) -> None:
        """Take one call back: what was refused uses nothing up."""
        self._windows[key][1] -= 1

    def clear(self) -> None:
        """Forget everything."""
        self._windows.clear()

    def _sweep(self, now: int) -> None:
        self._windows = {key: window for key, window in self._windows.items() if window[0] > now}
        if len(self._windows) >= self._most:
            # Too many live windows: those that opened first end soonest, as good as any to forgive.
            for key in list(self._windows)[: self._most // 10 or 1]:
                del self._windows[key]
        self._sweep_at = min(self._most, max(1024, 2 * len(self._windows)))


class RateLimits:
    """Everything one process counts."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        mode: Mode | str = Mode.REAL,
        *,
        global_calls: int = GLOBAL_CALLS,
        invalid_calls: int = 0,
        invalid_window_ms: int = INVALID_WINDOW_MS,
        max_buckets: int = MAX_BUCKETS,
        caps: Mode | str = Mode.OFF,
    ) -> None:
        self._now_ms = now_ms
        self.mode = Mode(mode)
        self.caps = Mode(caps)
        """What is done about applications that are not approved yet."""
        self.global_calls = global_calls
        """Calls a second for each caller; 0: no global limit."""
        self.invalid_calls = invalid_calls
        """Refused requests in a window before an address is blocked; 0: never. The public platform has 10,000."""
        self.invalid_window_ms = invalid_window_ms
        self._buckets = Windows(max_buckets)
        self._global = Windows(max_buckets)
        self._invalid = Windows(max_buckets)
        self._capped = Windows(max_buckets)
        self._refusals: dict[Key, Refusal] = {}

    def check_global(self, caller: str | int) -> Verdict | None:
        """Count a call against the caller's global limit; a verdict only where it refuses."""
        if self.mode is Mode.OFF or not self.global_calls:
            return None
        now = self._now_ms()
        key = (caller,)
        used, end = self._global.count(key, GLOBAL_WINDOW_MS, now)
        if used <= self.global_calls:
            return None
        self._global.uncount(key)
        refused = self.mode is Mode.REAL
        self._note("global", "", str(caller), (), "global", now, refused)
        if not refused:
            return None
        return Verdict(allowed=False, limit=self.global_calls, reset_ms=end, reset_after_ms=end - now, scope="global")

    def check(self, rule: Rule, caller: str | int, values: Sequence[str] = ()) -> Verdict | None:
        """Count a call against its bucket; `values` are the path's, in order. None where limits are off."""
        if self.mode is Mode.OFF:
            return None
        now = self._now_ms()
        major = tuple([values[position] for position in rule.major])
        bucket = rule.bucket_of(values, now) if rule.aged else rule.bucket
        key = (bucket, caller, *major)
        used, end = self._buckets.count(key, rule.window_ms, now)
        allowed = used <= rule.calls
        if not allowed:
            self._buckets.uncount(key)
            refused = self.mode is Mode.REAL
            self._note(rule.name, bucket, str(caller), major, "user", now, refused)
            allowed = not refused
        return Verdict(
            allowed=allowed,
            limit=rule.calls,
            remaining=max(0, rule.calls - used),
            reset_ms=end,
            reset_after_ms=end - now,
            bucket=bucket,
            code=rule.code,
            message=rule.message,
        )

    def check_cap(self, name: str, application_id: int, calls: int) -> Verdict | None:
        """Count what an application does before it is approved; a verdict only where it refuses."""
        if self.caps is Mode.OFF:
            return None
        now = self._now_ms()
        key = (name, application_id)
        used, end = self._capped.count(key, APPROVAL_WINDOW_SECONDS * 1000, now)
        if used <= calls:
            return None
        self._capped.uncount(key)
        refused = self.caps is Mode.REAL
        self._note(name, "", str(application_id), (), "approval", now, refused)
        if not refused:
            return None
        return Verdict(allowed=False, limit=calls, reset_ms=end, reset_after_ms=end - now, scope="shared")

    def refuses(self, name: str, caller: str | int, *major: str | int) -> bool:
        """Whether what a door itself counts, and found to be too much, is refused; either way it is in the report."""
        if self.mode is Mode.OFF:
            return False
        refused = self.mode is Mode.REAL
        self._note(name, "", str(caller), tuple(map(str, major)), "gateway", self._now_ms(), refused)
        return refused

    def note_status(self, ip: str, status: int, *, shared: bool = False) -> None:
        """Count a refused request for the guard; a 429 of shared scope is not the caller's doing."""
        if self.invalid_calls and status in INVALID_STATUSES and not shared and self.mode is not Mode.OFF:
            self._invalid.count((ip,), self.invalid_window_ms, self._now_ms())

    def blocked_ms(self, ip: str) -> int:
        """How long an address remains blocked for too many invalid requests; 0 when it is not."""
        if not self.invalid_calls or self.mode is Mode.OFF:
            return 0
        now = self._now_ms()
        used, end = self._invalid.peek((ip,), self.invalid_window_ms, now)
        if used < self.invalid_calls:
            return 0
        refused = self.mode is Mode.REAL
        self._note("invalid requests", "", ip, (), "invalid", now, refused)
        return end - now if refused else 0

    def report(self) -> list[Refusal]:
        """What was refused, or would have been, since the last `clear`; one entry for each caller and bucket."""
        return list(self._refusals.values())

    def clear(self) -> None:
        """Open every bucket again and forget the report."""
        self._buckets.clear()
        self._global.clear()
        self._invalid.clear()
        self._capped.clear()
        self._refusals.clear()

    def _note(
        self, name: str, bucket: str, caller: str, major: tuple[str, ...], scope: str, now: int, refused: bool
    ) -> None:
        key = (bucket or name, caller, scope, refused, *major)
        known = self._refusals.get(key)
        if known is not None:
            known.times += 1
            known.last_ms = now
            return
        if len(self._refusals) >= MAX_REPORTED:
            del self._refusals[next(iter(self._refusals))]
        self._refusals[key] = Refusal(
            name=name,
            bucket=bucket,
            caller=caller,
            major=list(major),
            scope=scope,
            times=1,
            first_ms=now,
            last_ms=now,
            refused=refused,
        )


__all__ = ["Mode", "RateLimits", "Refusal", "Rule", "Verdict", "Windows", "rule"]
