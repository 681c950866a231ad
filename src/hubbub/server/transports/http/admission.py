"""Rejection of requests that the process cannot answer in time, so that latency and memory stay bounded under overload."""

import asyncio
import logging
from types import TracebackType
from typing import Any, Final, Self

from hubbub.protocol import errors
from hubbub.protocol.errors import ApiError
from hubbub.server.core.config import HttpConfig
from hubbub.server.core.loop_monitor import LoopMonitor
from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

RETRY_AFTER_SECONDS: Final = 1
"""Time in seconds after which a client should repeat a request that was rejected."""
LAG_SECONDS_MAX: Final = 0.5
"""Delay in seconds above which two delays of the event loop in a row cause requests to be rejected."""
WATCH_SECONDS: Final = 0.05
"""Time in seconds between two checks for requests that waited too long."""
LOG_INTERVAL_SECONDS: Final = 5.0
"""Minimum time in seconds between two log entries about rejected requests."""
CAUSES: Final = {
    "pending": "http.pending_requests_max requests wait for the database",
    "wait": "the database did not start the operation within http.pending_timeout_ms",
    "lag": "the event loop is late",
    "uploads": "uploads use all the memory for bodies, four times http.upload_bytes_max",
}
"""Text of the log entry by the label of the metric."""


class PendingRequest:
    """A request whose operation waits for the store. A context manager: leaving it ends the wait.

    If the time to wait is over before the operation starts, the context manager raises UNAVAILABLE."""

    __slots__ = ("_admission", "_claim_tokens", "_is_expired", "_is_started", "_task", "deadline")

    def __init__(self, admission: "Admission", task: "asyncio.Task[Any]", deadline: float) -> None:
        self._admission = admission
        self._task = task
        self.deadline = deadline
        """Time of the event loop at which the wait ends."""
        # The store may start the operation in a thread while the event loop ends the wait. Only the first of them gets the
        # entry.
        self._claim_tokens = [None]
        self._is_started = False
        self._is_expired = False

    def start(self) -> None:
        """Record that the operation starts, perhaps again; raise UNAVAILABLE if the request was rejected meanwhile."""
        if self._is_started:
            return
        try:
            self._claim_tokens.pop()
        except IndexError:
            raise errors.UNAVAILABLE(retry_after=RETRY_AFTER_SECONDS) from None
        self._is_started = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        del self._admission.pending[self]
        if self._is_expired:
            self._task.uncancel()
            raise self._admission.record_rejection("wait") from None

    def expire(self) -> None:
        """Cancel the task of the request, unless its operation has started."""
        try:
            self._claim_tokens.pop()
        except IndexError:
            return
        self._is_expired = True
        self._task.cancel()


class Admission:
    """Limits the number of requests that wait for the store, and the time for which they wait (decisions/0157)."""

    def __init__(self, metrics: Metrics, loop_monitor: LoopMonitor | None, config: HttpConfig) -> None:
        """Create the limits; without a monitor the delay of the event loop is not limited."""
        self._loop_monitor = loop_monitor
        self._pending_max = config.pending_requests_max
        self._timeout_seconds = config.pending_timeout_ms / 1000
        self.pending: dict[PendingRequest, None] = {}
        """Requests that wait for the store, in the order of their deadlines."""
        self._is_watching = False
        """Whether a timer looks for pending requests whose deadline has passed."""
        self._rejection_counters = metrics.http_overload
        self._rejected_count = 0
        """Number of rejected requests that are not logged yet."""
        self._last_log_at = -LOG_INTERVAL_SECONDS
        """Time of the event loop at which rejected requests were logged."""
        metrics.watch(metrics.http_pending, lambda: len(self.pending))

    def require_capacity(self) -> None:
        """Raise UNAVAILABLE if too many requests are pending or the event loop is late."""
        if len(self.pending) >= self._pending_max:
            raise self.record_rejection("pending")
        monitor = self._loop_monitor
        if monitor is not None and monitor.is_late and monitor.sustained_lag_seconds > LAG_SECONDS_MAX:
            raise self.record_rejection("lag")

    def enter(self) -> PendingRequest:
        """Add the current task as a pending request; raise UNAVAILABLE if too many are pending."""
        if len(self.pending) >= self._pending_max:
            raise self.record_rejection("pending")
        task = asyncio.current_task()
        assert task is not None, "an operation runs outside of a task"
        loop = task.get_loop()
        pending_request = PendingRequest(self, task, loop.time() + self._timeout_seconds)
        self.pending[pending_request] = None
        if not self._is_watching:
            self._is_watching = True
            loop.call_later(WATCH_SECONDS, self._expire_overdue, loop)
        return pending_request

    def _expire_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the wait of requests whose deadline has passed. One timer for all requests costs less than one for each."""
        now = loop.time()
        for pending_request in self.pending:
            if pending_request.deadline > now:
                break
            pending_request.expire()
        self._is_watching = bool(self.pending)
        if self._is_watching:
            loop.call_later(WATCH_SECONDS, self._expire_overdue, loop)

    def record_rejection(self, cause: str) -> ApiError:
        """Count and log a rejected request, and return the error of its response."""
        self._rejection_counters(cause).inc()
        self._rejected_count += 1
        now = asyncio.get_running_loop().time()
        if now - self._last_log_at >= LOG_INTERVAL_SECONDS:
            log.warning(
                "The server is overloaded: %d requests rejected with status 503 (latest cause: %s)",
                self._rejected_count,
                CAUSES[cause],
            )
            self._last_log_at, self._rejected_count = now, 0
        return errors.UNAVAILABLE(retry_after=RETRY_AFTER_SECONDS)
