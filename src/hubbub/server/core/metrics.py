"""What the platform counts, in Prometheus' words. Each App has its own registry.

Hot paths keep the child that `labels` returns (`metrics.dispatches("MESSAGE_CREATE").inc()` looks it up in a dict); the set of
label values is closed by the tables of operations and events, never by what callers send.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics import MetricWrapperBase

M = TypeVar("M", bound=MetricWrapperBase)

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Labelled(Generic[M]):
    """A metric with labels; calling it gives the child of these label values, made once."""

    __slots__ = ("_children", "metric")

    def __init__(self, metric: M) -> None:
        self.metric = metric
        self._children: dict[tuple[str, ...], M] = {}

    def __call__(self, *values: str) -> M:
        """The child to count with."""
        child = self._children.get(values)
        if child is None:
            child = self._children[values] = self.metric.labels(*values)
        return child


class Metrics:
    """Every metric of one App."""

    content_type = CONTENT_TYPE_LATEST
    """Of what `render` returns."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        self.http_requests = self._counters("http_requests", "HTTP requests answered", "method", "route", "status")
        self.http_seconds = self._histograms("http_request_seconds", "Time to answer a request", "method", "route")
        self.http_active = self._gauge("http_requests_active", "HTTP requests being answered")
        self.rate_limited = self._counters("rate_limited", "Requests over a rate limit", "scope")

        self.gateway_connections = self._gauge("gateway_connections", "Open gateway connections")
        self.gateway_sessions = self._gauge("gateway_sessions", "Gateway sessions, connected or resumable")
        self.gateway_identifies = self._counters("gateway_identifies", "Sessions started", "result")
        self.gateway_resumes = self._counters("gateway_resumes", "Sessions asked to resume", "result")
        self.gateway_closes = self._counters("gateway_closes", "Gateway connections closed by us", "code")
        self.commands = self._counters("gateway_commands", "Gateway commands received", "command")
        self.dispatches = self._counters("dispatches", "Events that left a commit", "event")
        self.deliveries = self._counters(
            "deliveries", "Events given to open gateway connections, replays apart", "event"
        )
        self.delivered_bytes = self._counter("delivered_bytes", "Bytes of these events, before compression")

        self.voice_connections = self._gauge("voice_connections", "Open voice connections")
        self.voice_closes = self._counters("voice_closes", "Voice connections closed by us", "code")
        self.voice_packets = self._counters("voice_packets", "Voice packets, by what became of them", "fate")

        self.db_seconds = self._histogram(
            "db_seconds", "Time of a transaction that wrote, its commit included", SECONDS
        )
        self.db_retries = self._counter("db_retries", "Units of work run again after a serialization failure")
        self.db_batch = self._histogram("db_batch_units", "Units of work in one commit", SIZES)

        self.bus_published = self._counter("bus_published", "Messages given to the bus")
        self.bus_received = self._counter("bus_received", "Messages taken from the bus")
        self.bus_dropped = self._counter("bus_dropped", "Messages the bus could not keep")
        self.bus_gaps = self._counter("bus_gaps", "Times that this process may have missed messages")
        self.bus_pending_bytes = self._gauge("bus_pending_bytes", "Bytes that wait for the bus")

        self.jobs = self._counters("jobs", "Outbox jobs run", "job", "result")

    def delivered(self, event: str, count: int, size: int) -> None:
        """An event of this many bytes was given to so many connections."""
        self.deliveries(event).inc(count)
        self.delivered_bytes.inc(count * size)

    def job(self, kind: str, outcome: str) -> None:
        """An attempt at a job ended: `done`, `retried`, `failed` or `dropped`."""
        self.jobs(kind, outcome).inc()

    def render(self) -> bytes:
        """The current values in Prometheus' text format."""
        return generate_latest(self.registry)

    def watch(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """Ask for a gauge's value when it is rendered, instead of keeping it up to date."""
        gauge.set_function(value)

    def _counter(self, name: str, what: str) -> Counter:
        return Counter(f"hubbub_{name}", what, registry=self.registry)

    def _counters(self, name: str, what: str, *labels: str) -> Labelled[Counter]:
        return Labelled(Counter(f"hubbub_{name}", what, labels, registry=self.registry))

    def _gauge(self, name: str, what: str) -> Gauge:
        return Gauge(f"hubbub_{name}", what, registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"hubbub_{name}", what, registry=self.registry, buckets=buckets)

    def _histograms(self, name: str, what: str, *labels: str) -> Labelled[Histogram]:
        return Labelled(Histogram(f"hubbub_{name}", what, labels, registry=self.registry, buckets=SECONDS))
