"""Prometheus metrics. Each App has its own registry.

Hot paths use the child that `labels` returns (`metrics.dispatches("MESSAGE_CREATE").inc()` finds it in a dict). Label
values come only from the tables of operations and events, never from requests, so their number is bounded.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics import MetricWrapperBase

M = TypeVar("M", bound=MetricWrapperBase)

SECONDS_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COUNT_BUCKETS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class LabeledMetric(Generic[M]):
    """A metric with labels; calling it returns the cached child for these label values."""

    __slots__ = ("_children", "metric")

    def __init__(self, metric: M) -> None:
        self.metric = metric
        self._children: dict[tuple[str, ...], M] = {}

    def __call__(self, *values: str) -> M:
        """Return the child for these label values."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = self.metric.labels(*values)
        return child


class Metrics:
    """All metrics of one App."""

    content_type = CONTENT_TYPE_LATEST
    """The content type of the output of `render`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        self.http_requests = self._counters("http_requests", "HTTP requests completed", "method", "route", "status")
        self.http_seconds = self._histograms("http_request_seconds", "Duration of an HTTP request", "method", "route")
        self.http_active = self._gauge("http_requests_active", "HTTP requests in progress")
        self.rate_limited = self._counters("rate_limited", "Requests over a rate limit", "scope")

        self.gateway_connections = self._gauge("gateway_connections", "Open gateway connections")
        self.gateway_sessions = self._gauge("gateway_sessions", "Gateway sessions, connected or resumable")
        self.gateway_identifies = self._counters("gateway_identifies", "Identify requests", "result")
        self.gateway_resumes = self._counters("gateway_resumes", "Resume requests", "result")
        self.gateway_closes = self._counters("gateway_closes", "Gateway connections closed by the server", "code")
        self.commands = self._counters("gateway_commands", "Gateway commands received", "command")
        self.dispatches = self._counters("dispatches", "Events published after a commit", "event")
        self.deliveries = self._counters(
            "deliveries", "Events sent to open gateway connections, without replays", "event"
        )
        self.delivered_bytes = self._counter("delivered_bytes", "Bytes of delivered events, before compression")

        self.voice_connections = self._gauge("voice_connections", "Open voice connections")
        self.voice_closes = self._counters("voice_closes", "Voice connections closed by the server", "code")
        self.voice_packets = self._counters("voice_packets", "Voice packets by outcome", "outcome")

        self.db_seconds = self._histogram(
            "db_seconds", "Duration of a write transaction, including the commit", SECONDS_BUCKETS
        )
        self.db_retries = self._counter("db_retries", "Units of work retried after a serialization failure")
        self.db_batch = self._histogram("db_batch_units", "Units of work per commit", COUNT_BUCKETS)

        self.bus_published = self._counter("bus_published", "Messages published on the bus")
        self.bus_received = self._counter("bus_received", "Messages received from the bus")
        self.bus_dropped = self._counter("bus_dropped", "Messages dropped because the buffer of the bus was full")
        self.bus_gaps = self._counter("bus_gaps", "Times this process may have missed bus messages")
        self.bus_pending_bytes = self._gauge("bus_pending_bytes", "Bytes buffered for the bus")

        self.jobs = self._counters("jobs", "Background jobs run", "job", "result")

    def count_delivered(self, event: str, count: int, size: int) -> None:
        """Count an event of this size in bytes that was sent to this number of connections."""
        self.deliveries(event).inc(count)
        self.delivered_bytes.inc(count * size)

    def count_job(self, kind: str, outcome: str) -> None:
        """Count an attempt at a job: `done`, `retried`, `failed` or `dropped`."""
        self.jobs(kind, outcome).inc()

    def render(self) -> bytes:
        """Return the current values in the Prometheus text format."""
        return generate_latest(self.registry)

    def watch(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """Compute a gauge's value when it is rendered, instead of updating it."""
        gauge.set_function(value)

    def _counter(self, name: str, help_text: str) -> Counter:
        return Counter(f"hubbub_{name}", help_text, registry=self.registry)

    def _counters(self, name: str, help_text: str, *labels: str) -> LabeledMetric[Counter]:
        return LabeledMetric(Counter(f"hubbub_{name}", help_text, labels, registry=self.registry))

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(f"hubbub_{name}", help_text, registry=self.registry)

    def _histogram(self, name: str, help_text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"hubbub_{name}", help_text, registry=self.registry, buckets=buckets)

    def _histograms(self, name: str, help_text: str, *labels: str) -> LabeledMetric[Histogram]:
        return LabeledMetric(
            Histogram(f"hubbub_{name}", help_text, labels, registry=self.registry, buckets=SECONDS_BUCKETS)
        )
