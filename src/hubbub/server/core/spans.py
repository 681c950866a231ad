"""Spans of OpenTelemetry and their export. Only this module imports OpenTelemetry, which the extra hubbub[telemetry] installs.

The export runs in a thread with a bounded queue. While the collector does not respond, spans are dropped and counted; the
server neither waits nor stores them (decisions/0145).
"""

import asyncio
import contextlib
import logging
import random
import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

import hubbub
from hubbub.server.core import observation
from hubbub.server.core.config_sections import TelemetryConfig
from hubbub.server.core.metrics import Metrics

log = logging.getLogger(__name__)

TRACES_PATH: Final = "/v1/traces"
"""Path of traces below the URL of a collector."""
QUEUED_SPANS_MAX: Final = 8192
"""Maximum number of spans that wait for their export; more spans are dropped."""
BATCH_SPANS_MAX: Final = 512
"""Maximum number of spans in one request to the collector."""
EXPORT_INTERVAL_SECONDS: Final = 1.0
"""Maximum time in seconds for which an ended span waits until its export starts."""
EXPORT_TIMEOUT_SECONDS: Final = 5.0
"""Time in seconds after which an export fails; includes its retries."""
CLOSE_TIMEOUT_SECONDS: Final = 2.0
"""Time in seconds for which a server that stops waits for the last export before it aborts the export."""
FAILURE_LOG_EXPORTS: Final = 60
"""Number of successive failed exports after which the failure is logged again."""

_SPAN_KINDS: Final = {
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
    "internal": SpanKind.INTERNAL,
}
_NO_PARENT: Final = Context()
_PROPAGATOR: Final = TraceContextTextMapPropagator()


class SpanExport(SpanProcessor):
    """Sends ended spans to the collector, from a thread."""

    def __init__(self, exporter: OTLPSpanExporter, metrics: Metrics) -> None:
        self._exporter = exporter
        self._metrics = metrics
        self._queue: deque[ReadableSpan] = deque()
        self._export_needed = threading.Event()
        self._closed = threading.Event()
        self._failure_count = 0
        """Number of exports that failed since the last one that succeeded."""
        metrics.watch(metrics.spans_queued, lambda: len(self._queue))
        self._thread = threading.Thread(target=self._run, name="hubbub-span-export", daemon=True)
        self._thread.start()

    def on_end(self, span: ReadableSpan) -> None:
        """Queue an ended span; drop it if the queue is full or the export was stopped."""
        if self._closed.is_set() or len(self._queue) >= QUEUED_SPANS_MAX:
            self._metrics.spans_dropped("closed" if self._closed.is_set() else "queue full").inc()
            return
        self._queue.append(span)
        if len(self._queue) >= BATCH_SPANS_MAX:
            self._export_needed.set()

    def stop(self) -> None:
        """Export the queued spans for a limited time and drop the rest; this blocks."""
        self._closed.set()
        self._export_needed.set()
        self._thread.join(CLOSE_TIMEOUT_SECONDS)
        # This ends the retries of a running export; a request that waits for its response ends by its timeout.
        self._exporter.shutdown()  # type: ignore[no-untyped-call]
        self._thread.join(CLOSE_TIMEOUT_SECONDS / 2)
        self._metrics.spans_dropped("closed").inc(len(self._take(QUEUED_SPANS_MAX)))

    def _run(self) -> None:
        while not self._closed.is_set():
            self._export_needed.wait(EXPORT_INTERVAL_SECONDS)
            self._export_needed.clear()
            while self._queue:
                self._export()
                if self._closed.is_set() and self._failure_count:
                    return

    def _take(self, count: int) -> list[ReadableSpan]:
        """Remove up to `count` spans from the queue and return them."""
        batch: list[ReadableSpan] = []
        with contextlib.suppress(IndexError):
            while len(batch) < count:
                batch.append(self._queue.popleft())
        return batch

    def _export(self) -> None:
        batch = self._take(BATCH_SPANS_MAX)
        try:
            has_succeeded = self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception:
            log.debug("An export of spans failed", exc_info=True)
            has_succeeded = False
        if has_succeeded:
            if self._failure_count:
                log.info("The collector of traces accepts spans again")
            self._failure_count = 0
            self._metrics.spans_exported.inc(len(batch))
            return
        if self._failure_count % FAILURE_LOG_EXPORTS == 0:
            log.warning("The collector of traces does not accept spans; they are dropped")
        self._failure_count += 1
        self._metrics.spans_dropped("export failed").inc(len(batch))


class OpenTelemetrySpan(observation.Span):
    """A recorded span. After its end, `add_event` and `end` do nothing."""

    __slots__ = ("_has_ended", "_span", "_tracer")

    def __init__(self, tracer: trace.Tracer, span: trace.Span) -> None:
        self._tracer = tracer
        self._span = span
        self._has_ended = False

    @property
    def traceparent(self) -> str:
        """The W3C traceparent of the span."""
        context = self._span.get_span_context()
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-01"

    def start_child(
        self, name: str, kind: observation.SpanKind, attributes: Mapping[str, Any] | None = None
    ) -> "OpenTelemetrySpan":
        """Start a span below this one."""
        context = trace.set_span_in_context(self._span, _NO_PARENT)
        return OpenTelemetrySpan(self._tracer, self._tracer.start_span(name, context, _SPAN_KINDS[kind], attributes))

    def add_event(self, name: str) -> None:
        """Add an event with the current time."""
        if not self._has_ended:
            self._span.add_event(name)

    def end(self, attributes: Mapping[str, Any] | None = None, *, name: str = "", error: str = "") -> None:
        """End the span; `name` replaces its name and `error` marks it as failed, unless they are empty."""
        if self._has_ended:
            return
        self._has_ended = True
        if attributes:
            self._span.set_attributes(attributes)
        if name:
            self._span.update_name(name)
        if error:
            self._span.set_attribute("error.type", error)
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


class OpenTelemetryTracer:
    """Starts the traces of one App. It uses no global state of OpenTelemetry."""

    def __init__(self, config: TelemetryConfig, metrics: Metrics, *, instance_id: str) -> None:
        assert config.endpoint is not None
        # The exporter logs every failed attempt; the export logs the first one and counts all of them.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._sample_ratio = config.sample_ratio
        self._random = random.Random()
        self._export = SpanExport(
            OTLPSpanExporter(
                endpoint=build_traces_url(config.endpoint),
                headers=parse_headers(config.headers or ""),
                timeout=EXPORT_TIMEOUT_SECONDS,
            ),
            metrics,
        )
        self._provider = TracerProvider(
            # This class decides which traces are sampled.
            sampler=ALWAYS_ON,
            resource=Resource.create(
                {
                    "service.name": config.service_name,
                    "service.version": hubbub.__version__,
                    "service.instance.id": instance_id,
                }
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(self._export)
        self._tracer = self._provider.get_tracer("hubbub", hubbub.__version__)

    def start(
        self, name: str, kind: observation.SpanKind, *, traceparent: str = "", is_trusted: bool = False
    ) -> OpenTelemetrySpan | None:
        """Start a trace, or continue the one of `traceparent`; return None if it is not sampled.

        A client can prevent the trace of its request with the flag of its traceparent, but not force it. With `is_trusted`, the
        traceparent is of this platform, and its trace is always continued."""
        parent = _parse_traceparent(traceparent) if traceparent else None
        if parent is not None and not parent.trace_flags.sampled:
            return None
        if not (is_trusted and parent is not None) and self._random.random() >= self._sample_ratio:
            return None
        context = _NO_PARENT if parent is None else trace.set_span_in_context(NonRecordingSpan(parent), _NO_PARENT)
        return OpenTelemetrySpan(self._tracer, self._tracer.start_span(name, context, _SPAN_KINDS[kind]))

    async def close(self) -> None:
        """Export the spans that ended, for a limited time."""
        await asyncio.to_thread(self._export.stop)


def build_traces_url(endpoint: str) -> str:
    """Return the URL to which traces are sent: below the URL of a collector, unless that is already the URL of traces."""
    url = endpoint.rstrip("/")
    return url if url.endswith(TRACES_PATH) else url + TRACES_PATH


def parse_headers(text: str) -> dict[str, str]:
    """Return headers from the format of OTEL_EXPORTER_OTLP_HEADERS: names and values with equals signs, separated by commas."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {name.strip().lower(): unquote(value.strip()) for name, _, value in pairs}


def _parse_traceparent(traceparent: str) -> SpanContext | None:
    """Return the remote span of a traceparent; None if it is invalid."""
    span = trace.get_current_span(_PROPAGATOR.extract({"traceparent": traceparent}, _NO_PARENT))
    context = span.get_span_context()
    if not context.is_valid:
        return None
    return SpanContext(context.trace_id, context.span_id, True, TraceFlags(context.trace_flags))
