"""Operations in progress: their duration, their time in the store, their statements, and the span of their trace.

A transport or worker starts an `Observation`, and the store adds its units of work to the current one. A slow operation is
logged. Spans exist only if a collector is configured (decisions/0145); `spans.py` creates them.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from typing import Any, Final, Literal, Protocol

from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

SLOW_LINES_MAX: Final = 20
"""Maximum number of slow operations that are logged in `SLOW_LINES_SECONDS`; the next line has the number of the others."""
SLOW_LINES_SECONDS: Final = 60.0
TRACED_JOBS_MAX: Final = 10_000
"""Maximum number of waiting jobs whose traceparents are stored in memory; the oldest is removed first."""

SpanKind = Literal["server", "client", "producer", "consumer", "internal"]
OperationKind = Literal["http", "page", "gateway", "job"]
"""The kind of an operation, which is a label of metrics."""


class Span(Protocol):
    """One step of a trace that is recorded."""

    @property
    def traceparent(self) -> str:
        """The W3C traceparent of the span."""
        ...

    def start_child(self, name: str, kind: SpanKind, attributes: Mapping[str, Any] | None = None) -> "Span":
        """Start a span below this one."""
        ...

    def add_event(self, name: str) -> None:
        """Add an event with the current time."""
        ...

    def end(self, attributes: Mapping[str, Any] | None = None, *, name: str = "", error: str = "") -> None:
        """End the span; `name` replaces its name and `error` marks it as failed, unless they are empty."""
        ...


class Tracer(Protocol):
    """Starts traces and exports their spans."""

    def start(self, name: str, kind: SpanKind, *, traceparent: str = "", is_trusted: bool = False) -> Span | None:
        """Start a trace, or continue the one of `traceparent`; return None if it is not sampled.

        `is_trusted` means that the traceparent comes from a process of this platform, whose sampling decision applies."""
        ...

    async def close(self) -> None:
        """Export the spans that ended, for a limited time."""
        ...


class ObservedUnit:
    """A unit of work of an observed operation; it is called once for each attempt."""

    __slots__ = ("_attempt_count", "_observation", "_span", "_started_at", "_statement_count", "_work")

    def __init__(self, observation: "Observation", work: Callable[[Any], Any], name: str) -> None:
        self._observation = observation
        self._work = work
        self._attempt_count = 0
        self._statement_count = 0
        self._span = None if observation.span is None else observation.span.start_child(name, "internal")
        self._started_at = time.monotonic()

    def __call__(self, tx: Any) -> Any:
        self._attempt_count += 1
        if self._span is not None:
            if self._attempt_count > 1:
                self._span.add_event("retry")
            tx.traceparent = self._span.traceparent
            tx.on_job = self._observation.on_job
        try:
            return self._work(tx)
        finally:
            self._statement_count += tx.statement_count

    def end(self, error: str = "") -> None:
        """Add the unit to its operation; `error` is the reason why the store could not run it, or empty."""
        self._observation.store_seconds += time.monotonic() - self._started_at
        self._observation.statement_count += self._statement_count
        if self._span is not None:
            self._span.end(
                {"hubbub.store.statements": self._statement_count, "hubbub.store.attempts": self._attempt_count},
                error=error,
            )


class Observation:
    """An operation in progress."""

    __slots__ = ("kind", "name", "on_job", "span", "started_at", "statement_count", "store_seconds", "context_token")

    def __init__(self, kind: OperationKind, name: str, span: Span | None = None) -> None:
        self.kind = kind
        self.name = name
        """Name of the operation from a table, such as `POST /guilds`, never from a request."""
        self.span = span
        self.on_job: Callable[[int, str], None] | None = None
        """Function that remembers the traceparent of an enqueued job by its ID; None without a trace."""
        self.started_at = time.monotonic()
        """Time of the start in seconds of the monotonic clock."""
        self.store_seconds = 0.0
        """Time in seconds that the operation waited for units of work, including their queue and commit."""
        self.statement_count = 0
        self.context_token: Token[Observation | None] | None = None
        """Token with which `Observer.end` resets `CURRENT`; None before `Observer.start` has set it."""

    def start_unit(self, work: Callable[[Any], Any], name: str) -> ObservedUnit:
        """Return the unit to pass to the store instead of `work`; the caller ends it."""
        return ObservedUnit(self, work, name)


CURRENT: Final[ContextVar[Observation | None]] = ContextVar("observation", default=None)
"""The operation that the current task runs; None if it is not observed."""


def start_client_span(method: str, attributes: Mapping[str, Any]) -> Span | None:
    """Start the span of an outbound request of the current operation; return None if it has no trace."""
    observation = CURRENT.get()
    if observation is None or observation.span is None:
        return None
    return observation.span.start_child(method, "client", attributes)


class Observer:
    """Observes the operations of one App."""

    def __init__(self, metrics: Metrics, *, slow_ms: int = 0, tracer: Tracer | None = None) -> None:
        """Create an observer; `slow_ms` is the duration from which an operation is logged, 0 for never."""
        self._metrics = metrics
        self._slow_seconds = slow_ms / 1000
        self.tracer = tracer
        self.is_enabled = slow_ms > 0 or tracer is not None
        """Whether operations are observed at all."""
        self._window_started_at = 0.0
        self._slow_count = 0
        """Number of slow operations since the start of the window, logged or not."""
        self._traceparents_by_job_id: OrderedDict[int, str] = OrderedDict()

    def start(
        self, kind: OperationKind, name: str, *, traceparent: str = "", is_trusted: bool = False
    ) -> Observation | None:
        """Start an operation in the current task, which must end it; return None if nothing is observed.

        `traceparent` and `is_trusted` are the arguments of `Tracer.start`."""
        if not self.is_enabled:
            return None
        observation = Observation(kind, name)
        if self.tracer is not None:
            span_kind: SpanKind = "consumer" if kind == "job" else "server"
            observation.span = self.tracer.start(name, span_kind, traceparent=traceparent, is_trusted=is_trusted)
            if observation.span is not None:
                observation.on_job = self._remember_job
        observation.context_token = CURRENT.set(observation)
        return observation

    def end(
        self, observation: Observation | None, attributes: Mapping[str, Any] | None = None, error: str = ""
    ) -> None:
        """End an operation; log it if it was slow."""
        if observation is None:
            return
        assert observation.context_token is not None
        CURRENT.reset(observation.context_token)
        seconds = time.monotonic() - observation.started_at
        if 0 < self._slow_seconds <= seconds:
            self._metrics.slow_operations(observation.kind).inc()
            self._log_slow(observation, seconds)
        if observation.span is not None:
            observation.span.end(attributes, name=observation.name, error=error)

    def take_job_trace(self, job_id: int) -> str:
        """Return the traceparent of the operation of this process that enqueued a job; empty if it is unknown."""
        return self._traceparents_by_job_id.pop(job_id, "") if self._traceparents_by_job_id else ""

    def _remember_job(self, job_id: int, traceparent: str) -> None:
        self._traceparents_by_job_id[job_id] = traceparent
        if len(self._traceparents_by_job_id) > TRACED_JOBS_MAX:
            self._traceparents_by_job_id.popitem(last=False)

    def _log_slow(self, observation: Observation, seconds: float) -> None:
        now_seconds = time.monotonic()
        suppressed_count = 0
        if not self._window_started_at or now_seconds - self._window_started_at >= SLOW_LINES_SECONDS:
            suppressed_count = max(0, self._slow_count - SLOW_LINES_MAX)
            self._window_started_at, self._slow_count = now_seconds, 0
        self._slow_count += 1
        if self._slow_count > SLOW_LINES_MAX:
            return
        log_fields = {
            "kind": observation.kind,
            "milliseconds": round(seconds * 1000),
            "store_milliseconds": round(observation.store_seconds * 1000),
            "statements": observation.statement_count,
        }
        if suppressed_count:
            log_fields["not_logged"] = suppressed_count
        log.warning("Slow operation: %s", observation.name, extra=log_fields)
