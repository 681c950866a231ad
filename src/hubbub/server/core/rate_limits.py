"""Rate limits of buckets, callers, invalid requests, failed lookups and unapproved applications (spec/http.md#1.14).

A bucket is counted by caller and major parameter. A window is fixed: it starts with the first request and is reset as a
whole when it ends, as the X-RateLimit headers require. The time is that of the platform's clock, so a controlled clock
moves the windows too. Counting runs on the event loop.
"""

import hashlib
import ipaddress
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final

import msgspec

from hubbub.protocol.control.rate_limits import RateLimitHit
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.operation import APPROVAL_WINDOW_SECONDS, MAJOR_PARAMETERS, Operation

GLOBAL_CALLS: Final = 50
"""Default number of requests that a caller may make in `GLOBAL_WINDOW_MS` over all operations."""
GLOBAL_WINDOW_MS: Final = 1000
INVALID_WINDOW_MS: Final = 600_000
"""Default window of the limit of invalid requests, in milliseconds."""
INVALID_STATUSES: Final = frozenset((401, 403, 429))
"""Statuses of responses to invalid requests."""

FAILED_LOOKUPS_MAX: Final = 300
"""Maximum number of failed lookups of one kind and IP address per window; then requests without a caller are rejected.

A large bot also causes some: responses to interactions that have expired."""
FAILED_FILE_LOOKUPS_MAX: Final = 1200
"""Maximum number of failed lookups of files. Old messages may contain many images that were deleted."""
FAILED_LOOKUPS_WINDOW_MS: Final = 60_000
_IPV6_PREFIX_LENGTH: Final = 64
"""Length of the IPv6 prefix that one customer of a provider has at least."""

BUCKETS_MAX: Final = 100_000
"""Default maximum number of windows that each kind of limit stores."""
REPORTED_HITS_MAX: Final = 1000
"""Maximum number of entries in the report; the oldest entry is removed first."""
SWEEP_WINDOWS_MIN: Final = 1024
"""Minimum number of windows from which ended ones are removed; it grows with the number of active windows."""


class RateLimitMode(StrEnum):
    """Enforcement of limits: off, real or report."""

    OFF = "off"
    """Nothing is counted and no headers are sent."""
    REAL = "real"
    """Requests over a limit are rejected."""
    REPORT = "report"
    """Requests are counted and headers are sent, but requests over a limit are only listed in a report."""


class LookupKind(StrEnum):
    """Kind of a lookup that needs no caller. Failed lookups of each kind are counted separately."""

    REQUEST = "failed lookups"
    """Lookup of an object by a request to the API or a page."""
    FILE = "failed lookups of files"
    """Lookup of a file of the CDN, or check of the signature of its URL."""
    ACTIVITY = "failed lookups of activities"
    """Lookup of an application by the host of an activity."""
    SESSION = "failed identifications"
    """Check of the token of a gateway or voice connection."""

    @property
    def failures_max(self) -> int:
        """Maximum number of failed lookups of an IP address per window."""
        return FAILED_FILE_LOOKUPS_MAX if self is LookupKind.FILE else FAILED_LOOKUPS_MAX


@lru_cache(maxsize=4096)
def address_key(ip: str) -> str:
    """Return the key under which limits count a client: its IPv4 address, or the /64 network of its IPv6 address.

    A client can use any address of its IPv6 network. Text that is not an address is returned unchanged."""
    try:
        address = ipaddress.ip_address(ip.partition("%")[0])
    except ValueError:
        return ip
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _IPV6_PREFIX_LENGTH), strict=False))


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """The rate limit of one operation, computed at startup."""

    bucket: str
    """The opaque ID in `X-RateLimit-Bucket`; it does not reveal the major parameter."""
    calls: int
    window_ms: int
    name: str
    """The name of the operation or shared bucket, for the report."""
    major_positions: tuple[int, ...] = ()
    """The positions of the path parameters that separate buckets."""
    age_buckets: tuple[tuple[int, str], ...] = ()
    """(minimum age in ms, bucket) for older targets, by the creation time of the path's last ID; oldest first."""
    code: int = 0
    """The error code of a rejection; 0 for none."""
    message: str = ""
    """The error message of a rejection; empty for the default message."""

    def choose_bucket(self, path_values: Sequence[str], now_ms: int) -> str:
        """Return the bucket of a request to this path; malformed IDs are rejected later by validation."""
        if self.age_buckets and path_values[-1].isascii() and path_values[-1].isdecimal():
            age_ms = now_ms - Snowflake(path_values[-1]).created_ms
            for age_min_ms, bucket in self.age_buckets:
                if age_ms >= age_min_ms:
                    return bucket
        return self.bucket


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The result of checking one request against a limit."""

    is_allowed: bool
    limit: int = 0
    remaining: int = 0
    reset_ms: int = 0
    """The end of the window in Unix milliseconds."""
    reset_after_ms: int = 0
    """The time until the end of the window, in milliseconds."""
    bucket: str = ""
    scope: str = "user"
    """The scope of a rejection: `user`, `global` or `shared`."""
    code: int = 0
    message: str = ""


def build_rule(operation: Operation[Any, Any], name: str) -> Rule | None:
    """Return the rule of an operation, or None if it has no bucket.

    Raise ValueError if it is limited per a parameter that its path does not have."""
    limit = operation.limit
    if limit is None:
        return None
    parameters = operation.parameters
    if limit.per is not None:
        if limit.per not in parameters:
            raise ValueError(f"{name} is limited per {limit.per}, which its path {operation.path} does not have")
        major_parameters: tuple[str, ...] = (limit.per,)
    else:
        major_parameters = tuple(parameter for parameter in MAJOR_PARAMETERS if parameter in parameters)[:1]
    if major_parameters == ("webhook_id",):
        # The token of a webhook belongs to its major parameter.
        major_parameters += tuple(parameter for parameter in parameters if parameter.endswith("token"))
    bucket_key = limit.bucket or f"{operation.method} {operation.path}"
    return Rule(
        bucket=_bucket_id(bucket_key),
        age_buckets=tuple(
            (round(age_seconds * 1000), _bucket_id(f"{bucket_key} {age_seconds}"))
            for age_seconds in sorted(limit.age_thresholds_seconds, reverse=True)
        ),
        calls=limit.calls,
        window_ms=max(1, round(limit.seconds * 1000)),
        name=limit.bucket or name,
        major_positions=tuple(parameters.index(parameter) for parameter in major_parameters),
        code=limit.code.code if limit.code else 0,
        message=limit.code.message if limit.code else "",
    )


def _bucket_id(key: str) -> str:
    """Return an opaque ID for the key of a bucket."""
    return hashlib.sha256(key.encode()).hexdigest()[:32]


Key = tuple[Any, ...]


class _Window:
    """A window with the number of its requests."""

    __slots__ = ("count", "end_ms")

    def __init__(self, end_ms: int) -> None:
        self.end_ms = end_ms
        self.count = 1


class FixedWindows:
    """Fixed time windows by key, with bounded memory."""

    __slots__ = ("_sweep_windows_min", "_windows", "_windows_max")

    def __init__(self, windows_max: int = BUCKETS_MAX) -> None:
        self._windows_max = windows_max
        self._sweep_windows_min = min(SWEEP_WINDOWS_MIN, windows_max)
        self._windows: dict[Key, _Window] = {}

    def __len__(self) -> int:
        return len(self._windows)

    def count(self, key: Key, window_ms: int, now_ms: int) -> tuple[int, int]:
        """Count one request.

        Return the number of requests in the window, including this one, and the end of the window in Unix milliseconds."""
        window = self._windows.get(key)
        # After the clock was set back, windows may end too far in the future.
        if window is not None and now_ms < window.end_ms <= now_ms + window_ms:
            window.count += 1
            return window.count, window.end_ms
        if window is None and len(self._windows) >= self._sweep_windows_min:
            self._sweep(now_ms)
        self._windows[key] = _Window(now_ms + window_ms)
        return 1, now_ms + window_ms

    def peek(self, key: Key, window_ms: int, now_ms: int) -> tuple[int, int]:
        """Return the number of requests in the window and its end in Unix milliseconds, without counting."""
        window = self._windows.get(key)
        if window is None or not now_ms < window.end_ms <= now_ms + window_ms:
            return 0, now_ms + window_ms
        return window.count, window.end_ms

    def refund(self, key: Key) -> None:
        """Subtract one request, because requests over the limit do not count."""
        self._windows[key].count -= 1

    def clear(self) -> None:
        self._windows.clear()

    def _sweep(self, now_ms: int) -> None:
        """Remove ended windows, and some active ones if there are too many."""
        self._windows = {key: window for key, window in self._windows.items() if window.end_ms > now_ms}
        if len(self._windows) >= self._windows_max:
            # Too many active windows: remove a tenth of them, those with the oldest keys.
            for key in list(self._windows)[: self._windows_max // 10 or 1]:
                del self._windows[key]
        self._sweep_windows_min = min(self._windows_max, max(SWEEP_WINDOWS_MIN, 2 * len(self._windows)))


class RateLimits:
    """All rate limit counters of one process."""

    def __init__(
        self,
        now_ms: Callable[[], int],
        mode: RateLimitMode | str = RateLimitMode.REAL,
        *,
        global_calls: int = GLOBAL_CALLS,
        invalid_calls: int = 0,
        invalid_window_ms: int = INVALID_WINDOW_MS,
        buckets_max: int = BUCKETS_MAX,
        approval_mode: RateLimitMode | str = RateLimitMode.OFF,
    ) -> None:
        self._now_ms = now_ms
        self.mode = RateLimitMode(mode)
        self.approval_mode = RateLimitMode(approval_mode)
        """Enforcement of the limits of applications without approval."""
        self.global_calls = global_calls
        """Maximum number of requests per second and caller; 0 turns the global limit off."""
        self.invalid_calls = invalid_calls
        """Maximum number of invalid requests per window before an IP address is blocked; 0 turns blocking off.

        The public platform uses 10,000."""
        self.invalid_window_ms = invalid_window_ms
        self._bucket_windows = FixedWindows(buckets_max)
        self._global_windows = FixedWindows(buckets_max)
        self._invalid_windows = FixedWindows(buckets_max)
        self._unapproved_windows = FixedWindows(buckets_max)
        self._failed_lookup_windows = FixedWindows(buckets_max)
        self._hits: dict[Key, RateLimitHit] = {}

    def check_global(self, caller: str | int) -> Verdict | None:
        """Count a request for the caller's global limit. Return a verdict only if the request is rejected."""
        if self.mode is RateLimitMode.OFF or not self.global_calls:
            return None
        now_ms = self._now_ms()
        key = (caller,)
        request_count, end_ms = self._global_windows.count(key, GLOBAL_WINDOW_MS, now_ms)
        if request_count <= self.global_calls:
            return None
        self._global_windows.refund(key)
        is_rejected = self.mode is RateLimitMode.REAL
        self._record_hit("global", "", str(caller), (), "global", now_ms, is_rejected)
        if not is_rejected:
            return None
        return Verdict(
            is_allowed=False, limit=self.global_calls, reset_ms=end_ms, reset_after_ms=end_ms - now_ms, scope="global"
        )

    def check(self, rule: Rule, caller: str | int, path_values: Sequence[str] = ()) -> Verdict | None:
        """Count a request in its bucket; `path_values` are the path parameters in order.

        Return None if limits are off."""
        if self.mode is RateLimitMode.OFF:
            return None
        now_ms = self._now_ms()
        major_values = tuple([path_values[position] for position in rule.major_positions])
        bucket = rule.choose_bucket(path_values, now_ms) if rule.age_buckets else rule.bucket
        key = (bucket, caller, *major_values)
        request_count, end_ms = self._bucket_windows.count(key, rule.window_ms, now_ms)
        is_allowed = request_count <= rule.calls
        if not is_allowed:
            self._bucket_windows.refund(key)
            is_rejected = self.mode is RateLimitMode.REAL
            self._record_hit(rule.name, bucket, str(caller), major_values, "user", now_ms, is_rejected)
            is_allowed = not is_rejected
        return Verdict(
            is_allowed=is_allowed,
            limit=rule.calls,
            remaining=max(0, rule.calls - request_count),
            reset_ms=end_ms,
            reset_after_ms=end_ms - now_ms,
            bucket=bucket,
            code=rule.code,
            message=rule.message,
        )

    def check_cap(self, name: str, application_id: int, calls: int) -> Verdict | None:
        """Count an action of an application without approval. Return a verdict only if it is rejected."""
        if self.approval_mode is RateLimitMode.OFF:
            return None
        now_ms = self._now_ms()
        key = (name, application_id)
        action_count, end_ms = self._unapproved_windows.count(key, APPROVAL_WINDOW_SECONDS * 1000, now_ms)
        if action_count <= calls:
            return None
        self._unapproved_windows.refund(key)
        is_rejected = self.approval_mode is RateLimitMode.REAL
        self._record_hit(name, "", str(application_id), (), "approval", now_ms, is_rejected)
        if not is_rejected:
            return None
        return Verdict(is_allowed=False, limit=calls, reset_ms=end_ms, reset_after_ms=end_ms - now_ms, scope="shared")

    def report_excess(self, name: str, caller: str | int, *major_values: str | int) -> bool:
        """Record requests over a limit that a transport counts itself, and return whether to reject them."""
        if self.mode is RateLimitMode.OFF:
            return False
        is_rejected = self.mode is RateLimitMode.REAL
        self._record_hit(name, "", str(caller), tuple(map(str, major_values)), "gateway", self._now_ms(), is_rejected)
        return is_rejected

    def record_status(self, ip: str, status: int, *, is_shared: bool = False) -> None:
        """Count an invalid request by its status; a 429 with shared scope is not the caller's fault."""
        if self.invalid_calls and status in INVALID_STATUSES and not is_shared and self.mode is not RateLimitMode.OFF:
            self._invalid_windows.count((address_key(ip),), self.invalid_window_ms, self._now_ms())

    def compute_remaining_block_ms(self, ip: str) -> int:
        """Return the number of milliseconds for which an IP address is still blocked for invalid requests; 0 if it is not.

        A request of a blocked address is added to the report, and is not rejected in the mode "report"."""
        if not self.invalid_calls or self.mode is RateLimitMode.OFF:
            return 0
        now_ms = self._now_ms()
        request_count, end_ms = self._invalid_windows.peek((address_key(ip),), self.invalid_window_ms, now_ms)
        if request_count < self.invalid_calls:
            return 0
        is_rejected = self.mode is RateLimitMode.REAL
        self._record_hit("invalid requests", "", ip, (), "invalid", now_ms, is_rejected)
        return end_ms - now_ms if is_rejected else 0

    def record_failed_lookup(self, ip: str, kind: LookupKind) -> None:
        """Count a request without a caller for an object that does not exist, such as an unknown webhook token."""
        if self.mode is not RateLimitMode.OFF:
            self._failed_lookup_windows.count((kind, address_key(ip)), FAILED_LOOKUPS_WINDOW_MS, self._now_ms())

    def check_lookups(self, ip: str, kind: LookupKind) -> Verdict | None:
        """Return a verdict only if an IP address is rejected for its failed lookups, to prevent guessing of secrets.

        A request over the limit is added to the report, and is not rejected in the mode "report"."""
        if self.mode is RateLimitMode.OFF:
            return None
        now_ms, failures_max = self._now_ms(), kind.failures_max
        failure_count, end_ms = self._failed_lookup_windows.peek(
            (kind, address_key(ip)), FAILED_LOOKUPS_WINDOW_MS, now_ms
        )
        if failure_count < failures_max:
            return None
        is_rejected = self.mode is RateLimitMode.REAL
        self._record_hit(kind, "", ip, (), "invalid", now_ms, is_rejected)
        if not is_rejected:
            return None
        return Verdict(
            is_allowed=False, limit=failures_max, reset_ms=end_ms, reset_after_ms=end_ms - now_ms, scope="global"
        )

    def report(self) -> list[RateLimitHit]:
        """Return the requests over a limit since the last `clear`; one entry per caller and bucket."""
        return list(self._hits.values())

    def clear(self) -> None:
        """Reset all counters and the report."""
        self._bucket_windows.clear()
        self._global_windows.clear()
        self._invalid_windows.clear()
        self._unapproved_windows.clear()
        self._failed_lookup_windows.clear()
        self._hits.clear()

    def _record_hit(
        self,
        name: str,
        bucket: str,
        caller: str,
        major_values: tuple[str, ...],
        scope: str,
        now_ms: int,
        is_rejected: bool,
    ) -> None:
        """Add a request over a limit to the report."""
        key = (bucket or name, caller, scope, is_rejected, *major_values)
        hit = self._hits.get(key)
        if hit is not None:
            hit.times += 1
            hit.last_ms = now_ms
            return
        if len(self._hits) >= REPORTED_HITS_MAX:
            del self._hits[next(iter(self._hits))]
        self._hits[key] = RateLimitHit(
            name=name,
            bucket=bucket,
            caller=caller,
            major=list(major_values),
            scope=scope,
            times=1,
            first_ms=now_ms,
            last_ms=now_ms,
            refused=is_rejected,
        )


__all__ = [
    "FixedWindows",
    "LookupKind",
    "RateLimitHit",
    "RateLimitMode",
    "RateLimits",
    "Rule",
    "Verdict",
    "address_key",
    "build_rule",
]
