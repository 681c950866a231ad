"""A collector of traces for tests: accepts OTLP over HTTP and decodes the spans."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1 import trace_pb2

from tests.world import WAIT_TIMEOUT_SECONDS

KINDS = {
    trace_pb2.Span.SPAN_KIND_SERVER: "server",
    trace_pb2.Span.SPAN_KIND_CLIENT: "client",
    trace_pb2.Span.SPAN_KIND_PRODUCER: "producer",
    trace_pb2.Span.SPAN_KIND_CONSUMER: "consumer",
    trace_pb2.Span.SPAN_KIND_INTERNAL: "internal",
}


@dataclass
class ReceivedSpan:
    """A decoded span."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    """ID of the parent span; empty for a root."""
    attributes: dict[str, Any]
    events: list[str]
    is_error: bool
    resource: dict[str, Any] = field(repr=False)


def _decode_attributes(attributes: Any) -> dict[str, Any]:
    return {entry.key: getattr(entry.value, str(entry.value.WhichOneof("value"))) for entry in attributes}


class Collector:
    """Receives spans on a free port."""

    def __init__(self) -> None:
        self.spans: list[ReceivedSpan] = []
        self.headers: list[dict[str, str]] = []
        """Headers of each export, with lowercase names."""
        self.url = ""
        self._request_received = asyncio.Event()
        self._runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/v1/traces", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def wait_for(self, condition: Callable[[ReceivedSpan], bool]) -> ReceivedSpan:
        """Return the first span that fulfills the condition, after waiting for it."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while True:
                for span in self.spans:
                    if condition(span):
                        return span
                self._request_received.clear()
                await self._request_received.wait()

    async def wait_for_name(self, name: str) -> ReceivedSpan:
        return await self.wait_for(lambda span: span.name == name)

    def chain(self, span: ReceivedSpan) -> list[str]:
        """Return the names of the received ancestors of a span, the oldest first, and of the span."""
        spans_by_id = {other.span_id: other for other in self.spans}
        names = [span.name]
        while span.parent_id in spans_by_id:
            span = spans_by_id[span.parent_id]
            names.insert(0, span.name)
        return names

    async def _handle(self, request: web.Request) -> web.Response:
        message = ExportTraceServiceRequest.FromString(await request.read())
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        for resource_spans in message.resource_spans:
            resource = _decode_attributes(resource_spans.resource.attributes)
            for scope_spans in resource_spans.scope_spans:
                self.spans += [
                    ReceivedSpan(
                        name=span.name,
                        kind=KINDS[span.kind],
                        trace_id=span.trace_id.hex(),
                        span_id=span.span_id.hex(),
                        parent_id=span.parent_span_id.hex(),
                        attributes=_decode_attributes(span.attributes),
                        events=[event.name for event in span.events],
                        is_error=span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
                        resource=resource,
                    )
                    for span in scope_spans.spans
                ]
        self._request_received.set()
        return web.Response(body=b"", content_type="application/x-protobuf")
