"""Prometheus metrics. Each App has its own registry.

Calling a family with label values returns the counter or histogram (`metrics.dispatches("MESSAGE_CREATE").inc()`). Label
values come from bounded sets such as the tables of operations and events, never from the content of requests.
"""

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Info, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import hubbub
from hubbub.server.core.metric_families import Counter, CounterFamily, Histogram, HistogramFamily

SECONDS_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
DELAY_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)
COUNT_BUCKETS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class _Registry(CollectorRegistry):
    """A registry that does not check for duplicate names.

    The check would take half of the time to create the metrics of an App, which matters for the forks of a rehearsal. The
    names are constants of this module, and a test checks them instead."""

    def __init__(self) -> None:
        super().__init__()
        self._collectors: list[Collector] = []

    def register(self, collector: Collector) -> None:
        self._collectors.append(collector)

    def collect(self) -> Iterator[Metric]:
        for collector in self._collectors:
            yield from collector.collect()


class Metrics:
    """All metrics of one App."""

    content_type = CONTENT_TYPE_LATEST
    """The content type of the output of `render`."""

    def __init__(self) -> None:
        self.registry = _Registry()
        # Memory, file descriptors, CPU and start time of the process, under the usual names `process_...`; Linux only.
        ProcessCollector(registry=self.registry)
        Info("hubbub_build", "Version of the server", registry=self.registry).info({"version": hubbub.__version__})

        self.http_requests = self._counter_family(
            "http_requests", "HTTP requests completed", "method", "route", "status"
        )
        self.http_seconds = self._histogram_family(
            "http_request_seconds", "Duration of an HTTP request", "method", "route"
        )
        self.http_active = self._gauge("http_requests_active", "HTTP requests in progress")
        self.http_pending = self._gauge("http_requests_pending", "API requests that wait for the database")
        self.http_overload = self._counter_family("http_overload", "API requests rejected because of overload", "cause")
        self.rate_limited = self._counter_family("rate_limited", "Requests over a rate limit", "scope")

        self.gateway_connections = self._gauge("gateway_connections", "Open gateway connections")
        self.gateway_sessions = self._gauge("gateway_sessions", "Gateway sessions, connected or resumable")
        self.gateway_copied_sessions = self._gauge(
            "gateway_copied_sessions", "Sessions of other processes of which this process has a copy"
        )
        self.gateway_unprotected_sessions = self._gauge(
            "gateway_unprotected_sessions", "Gateway sessions of which no other process has a copy"
        )
        self.gateway_identifies = self._counter_family("gateway_identifies", "Identify requests", "result")
        self.gateway_resumes = self._counter_family("gateway_resumes", "Resume requests", "result")
        self.gateway_closes = self._counter_family("gateway_closes", "Gateway connections closed by the server", "code")
        self.commands = self._counter_family("gateway_commands", "Gateway commands received", "command")
        self.dispatches = self._counter_family("dispatches", "Events published after a commit", "event")
        self.deliveries = self._counter_family(
            "deliveries", "Events sent to open gateway connections, without replays", "event"
        )
        self.delivered_bytes = self._counter("delivered_bytes", "Bytes of delivered events, before compression")

        self.voice_connections = self._gauge("voice_connections", "Open voice connections")
        self.voice_closes = self._counter_family("voice_closes", "Voice connections closed by the server", "code")
        self.voice_packets = self._counter_family("voice_packets", "Voice packets by outcome", "outcome")

        self.db_write_seconds = self._histogram(
            "db_seconds", "Duration of a write transaction, including the commit", SECONDS_BUCKETS
        )
        self.db_retries = self._counter("db_retries", "Units of work retried after a serialization failure")
        self.db_batch = self._histogram("db_batch_units", "Units of work per commit", COUNT_BUCKETS)
        self.db_queued = self._gauge("db_queued_units", "Units of work that wait for a thread or a connection")
        self.db_connections = self._gauge("db_connections", "Open connections to PostgreSQL")
        self.db_connections_busy = self._gauge("db_connections_busy", "Connections to PostgreSQL in use")

        self.bus_published = self._counter("bus_published", "Messages published on the bus")
        self.bus_received = self._counter("bus_received", "Messages received from the bus")
        self.bus_dropped = self._counter("bus_dropped", "Messages dropped because the buffer of the bus was full")
        self.bus_gaps = self._counter("bus_gaps", "Times this process may have missed bus messages")
        self.bus_pending_bytes = self._gauge("bus_pending_bytes", "Bytes buffered for the bus")

        self.jobs = self._counter_family("jobs", "Attempts at background jobs", "kind", "result")
        self.job_seconds = self._histogram_family("job_seconds", "Duration of an attempt at a background job", "kind")
        self.job_delay = self._histogram(
            "job_delay_seconds", "Time between the due time of a background job and its start", DELAY_BUCKETS
        )
        self.jobs_running = self._gauge("jobs_running", "Background jobs in progress")
        self.stored_jobs = self._gauge(
            "stored_jobs", "Unfinished background jobs of all processes, read every ten seconds", "state"
        )
        self.failed_jobs = self._gauge(
            "failed_jobs", "Background jobs that failed permanently, read every ten seconds", "kind"
        )

        self.outbound_requests = self._counter_family(
            "outbound_requests", "Requests to URLs that users supplied", "result"
        )
        self.outbound_seconds = self._histogram(
            "outbound_request_seconds", "Duration of a request to a URL that a user supplied", SECONDS_BUCKETS
        )

        self.loop_lag = self._histogram(
            "event_loop_lag_seconds",
            "Delay of a timer on the event loop, sampled several times a second",
            SECONDS_BUCKETS,
        )
        self.slow_operations = self._counter_family("slow_operations", "Operations slower than log.slow_ms", "kind")
        self.spans_exported = self._counter("spans_exported", "Spans sent to the collector")
        self.spans_dropped = self._counter_family("spans_dropped", "Spans that did not reach the collector", "reason")
        self.spans_queued = self._gauge("spans_queued", "Spans that wait for their export")

    def count_delivered(self, event: str, connection_count: int, event_bytes: int) -> None:
        """Count an event of `event_bytes` bytes that was sent to `connection_count` connections."""
        self.deliveries(event).inc(connection_count)
        self.delivered_bytes.inc(connection_count * event_bytes)

    def record_job(self, kind: str, outcome: str, *, seconds: float, delay_seconds: float | None) -> None:
        """Count an attempt at a job with the outcome `done`, `retried`, `failed` or `dropped`.

        `seconds` is its duration. `delay_seconds` is the time from the due time to the start, None if it is unknown."""
        self.jobs(kind, outcome).inc()
        self.job_seconds(kind).observe(seconds)
        if delay_seconds is not None:
            self.job_delay.observe(delay_seconds)

    def record_outbound(self, result: str, seconds: float) -> None:
        """Count an outbound request by the class of its status, such as 2xx, or by the reason of its failure."""
        self.outbound_requests(result).inc()
        self.outbound_seconds.observe(seconds)

    def render(self) -> bytes:
        """Return the current values in the Prometheus text format."""
        return generate_latest(self.registry)

    def watch(self, gauge: Gauge, read_value: Callable[[], float]) -> None:
        """Compute a gauge's value when it is rendered, instead of updating it."""
        gauge.set_function(read_value)

    def _counter(self, name: str, help_text: str) -> Counter:
        return self._counter_family(name, help_text)()

    def _counter_family(self, name: str, help_text: str, *labels: str) -> CounterFamily:
        family = CounterFamily(f"hubbub_{name}", help_text, labels)
        self.registry.register(family)
        return family

    def _gauge(self, name: str, help_text: str, *labels: str) -> Gauge:
        return Gauge(f"hubbub_{name}", help_text, labels, registry=self.registry)

    def _histogram(self, name: str, help_text: str, buckets: tuple[float, ...]) -> Histogram:
        return self._histogram_family(name, help_text, buckets=buckets)()

    def _histogram_family(
        self, name: str, help_text: str, *labels: str, buckets: tuple[float, ...] = SECONDS_BUCKETS
    ) -> HistogramFamily:
        family = HistogramFamily(f"hubbub_{name}", help_text, labels, buckets)
        self.registry.register(family)
        return family
