"""Recording of HTTP requests in the delivery trace and the traffic of a rehearsal. Unused while both are disabled."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

from aiohttp import web

from hubbub.protocol import codec
from hubbub.protocol.control.traffic import RateLimitBudget
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.core.trace import Trace
from hubbub.server.core.traffic import (
    BODY_BYTES_MAX,
    PERSON_HEADER,
    Traffic,
    TrafficContent,
    request_kind,
)
from hubbub.server.transports.http.incoming_requests import RequestState
from hubbub.server.transports.http.request_bodies import IncomingBody
from hubbub.server.transports.http.responses import EncodedResponse

REPLAY_HEADER: Final = "X-Hubbub-Replay"
"""Header of a request that repeats an entry of the traffic; its value is the ID of the entry."""
_STORED_HEADERS: Final = ("Authorization", "Content-Type", "X-Audit-Log-Reason", "User-Agent")
_STORED_RESPONSE_PREFIXES: Final = ("x-ratelimit-", "retry-after", "content-type", "x-request-id")

_FIELD_PATTERN: Final = re.compile(rb'"([a-z_]{1,40})"\s*:')
"""Names of fields in JSON, also in a part of a multipart body. Quotation marks inside of texts are escaped: no match."""


class RecordedBody(IncomingBody):
    """The body of an incoming request, stored while it is read; a body that is read in chunks is stored only at its start."""

    def __init__(self, request: web.BaseRequest, timeout_seconds: float) -> None:
        super().__init__(request, timeout_seconds)
        self.data = b""

    async def read_all(self, bytes_max: int) -> bytes:
        """Read the whole body; raise 413 if it exceeds `bytes_max` bytes."""
        self.data = await super().read_all(bytes_max)
        return self.data

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives."""
        async for chunk in super().chunks():
            if len(self.data) <= BODY_BYTES_MAX:
                self.data += chunk
            yield chunk


def open_body(trace: Trace, state: RequestState, timeout_seconds: float) -> IncomingBody:
    """Return the body of a request, which is recorded if the trace or the traffic log is enabled."""
    if not trace.is_enabled and not trace.traffic.is_enabled:
        return IncomingBody(state.request, timeout_seconds)
    body = RecordedBody(state.request, timeout_seconds)
    state.recorded_body = body
    return body


def attribute_events(traffic: Traffic, request_id: str, make_call: Callable[[Tx], Call]) -> Callable[[Tx], Call]:
    """Return a `make_call` whose transactions emit events that name this request as their cause."""

    def make_attributed_call(tx: Tx) -> Call:
        tx.after_commit.append(lambda: traffic.attribute(tx.dispatches, request_id))
        return make_call(tx)

    return make_attributed_call


def record_request(
    trace: Trace, now_ms: int, state: RequestState, method: str, response: EncodedResponse, seconds: float
) -> None:
    """Record a request in the trace and in the traffic log, each only if it is enabled."""
    user_id = None if state.actor is None else state.actor.user_id
    if trace.is_enabled:
        trace.count_request(method, state.route, user_id)
        trace.record_uses(user_id, _list_uses(method, state))
        if response.status >= 400:
            at = codec.timestamp(now_ms)
            trace.add_rejected(
                at, method, state.route, state.ids, user_id, response.status, response.body, response.denial
            )
    if trace.traffic.is_enabled:
        headers = state.request.headers
        replayed_entry_id = headers.get(REPLAY_HEADER, "")
        trace.traffic.add(
            TrafficContent(
                method=state.request.method,
                path=state.request.rel_url.raw_path_qs,
                route=state.route,
                parameters=state.ids,
                denial=response.denial,
                headers={name: headers[name] for name in _STORED_HEADERS if name in headers},
                body=state.recorded_body.data if isinstance(state.recorded_body, RecordedBody) else b"",
                response_headers={
                    name: value
                    for name, value in {**state.headers, "Content-Type": response.content_type}.items()
                    if name.lower().startswith(_STORED_RESPONSE_PREFIXES)
                },
                response_body=response.body or b"",
                start=state.start,
                is_person=PERSON_HEADER in headers,
            ),
            kind=request_kind(state.route),
            direction="in",
            summary=f"{method} {state.route}",
            user_id=user_id,
            status=response.status,
            milliseconds=round(seconds * 1000, 1),
            request_id=state.headers.get("X-Request-Id"),
            guild_id=state.ids.get("guild_id"),
            channel_id=state.ids.get("channel_id"),
            rate_limit=_read_budget(state.headers),
            note=f"Repeats entry {replayed_entry_id}" if replayed_entry_id.isdecimal() else None,
        )


def _list_uses(method: str, state: RequestState) -> Iterator[str]:
    """Yield the uses of the platform in a request, as in `protocol/change_uses.py`."""
    operation = f"{method} {state.route}"
    yield operation
    if state.request.content_type == "multipart/form-data":
        yield f"upload {operation}"
    body = state.recorded_body.data if isinstance(state.recorded_body, RecordedBody) else b""
    for field_name in {name.decode() for name in _FIELD_PATTERN.findall(body)}:
        yield f"{operation} {field_name}"
        yield f"field {field_name}"


def _read_budget(headers: dict[str, str]) -> RateLimitBudget | None:
    """Return the rate limit in the headers of a response, or None."""
    if "X-RateLimit-Bucket" not in headers:
        return None
    return RateLimitBudget(
        bucket=headers["X-RateLimit-Bucket"],
        limit=int(headers["X-RateLimit-Limit"]),
        remaining=int(headers["X-RateLimit-Remaining"]),
        reset_after=float(headers["X-RateLimit-Reset-After"]),
    )
