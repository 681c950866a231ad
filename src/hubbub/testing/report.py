"""The report section of a failed test.

It lists rejected requests, closed connections, events, sessions, rate limits and faults, and ends with the platform's log.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from hubbub.people.context import PlatformContext
from hubbub.people.errors import format_error
from hubbub.protocol.control.clock import GET_CLOCK
from hubbub.protocol.control.faults import LIST_FAULTS, LIST_SESSIONS, ActiveFault, SessionState
from hubbub.protocol.control.rate_limits import GET_RATE_LIMITS, RateLimitHit
from hubbub.protocol.control.trace import GET_TRACE, ClosedConnection, ExplainedRequest, Outcome, TracedEvent
from hubbub.protocol.delivery_outcomes import DELIVERED, NOT_SENT_TO_SUBJECT, REDACTED
from hubbub.protocol.shared_enums import CloseCode
from hubbub.testing.platform import Platform

EVENTS_SHOWN_MAX: Final = 25
REQUESTS_SHOWN_MAX: Final = 15
FAULT_KEYS: Final = ("method", "route", "user_id", "status", "code", "session_id")
"""Keys that describe a fault in the report."""
REDACTED_CAUSE: Final = "; missing intent: MESSAGE_CONTENT"
QUERY_TIMEOUT_SECONDS: Final = 10.0
"""Time limit for requests to the platform, which may itself have failed."""


def format_report(platform: Platform) -> str:
    """Return the text of the report section; an error of the platform becomes a line of the text."""
    try:
        lines = platform.background.run_and_wait(_report_lines(platform.context), QUERY_TIMEOUT_SECONDS)
    except Exception as error:
        lines = [f"Cannot query the platform: {error!r}"]
    log = platform.log().strip()
    return "\n".join(lines + (["Platform log:", log] if log else []))


async def _report_lines(context: PlatformContext) -> list[str]:
    call = context.control.call
    trace, limits, faults = await call(GET_TRACE), await call(GET_RATE_LIMITS), await call(LIST_FAULTS)
    sessions, clock = await call(LIST_SESSIONS), await call(GET_CLOCK)
    frozen_note = "" if clock.running else ", frozen"
    return [
        f"{context.ready.web}, platform time {clock.now}{frozen_note}",
        *_rejected_request_lines(context, trace.refused),
        *_closed_connection_lines(context, trace.closed),
        *_event_lines(context, trace.events),
        *_session_lines(context, sessions),
        *_rate_limit_lines(context, limits.refusals),
        *_fault_lines(faults),
    ]


def _rejected_request_lines(context: PlatformContext, rejected: list[ExplainedRequest]) -> Iterator[str]:
    if not rejected:
        return
    yield _section_title("Rejected requests", len(rejected), REQUESTS_SHOWN_MAX)
    for request in rejected[-REQUESTS_SHOWN_MAX:]:
        caller = "unauthenticated" if request.user_id is None else context.name_of(request.user_id)
        error = format_error(request.status, msgspec.json.decode(request.body)).replace("\n", "\n      ")
        cause = f"\n      {request.cause}" if request.cause is not None else ""
        yield f"  {_time(request)} {caller} {request.method} {request.route}:{error[1:]}{cause}"


def _closed_connection_lines(context: PlatformContext, closed: list[ClosedConnection]) -> Iterator[str]:
    if not closed:
        return
    yield _section_title("Closed gateway connections", len(closed), REQUESTS_SHOWN_MAX)
    for connection in closed[-REQUESTS_SHOWN_MAX:]:
        caller = "unauthenticated" if connection.user_id is None else context.name_of(connection.user_id)
        yield f"  {_time(connection)} {caller} with {connection.code}: {connection.reason}"
        if connection.cause is not None:
            yield f"      {connection.cause}"
        if connection.code == CloseCode.DISALLOWED_INTENTS:
            yield "      Add them to `intents` of the application in the world file, or do not request them."


def _event_lines(context: PlatformContext, events: list[TracedEvent]) -> Iterator[str]:
    # An event that only the user it is about did not receive needs no report.
    events = [event for event in events if any(outcome.outcome != NOT_SENT_TO_SUBJECT for outcome in event.outcomes)]
    if not events:
        yield "No events were sent to gateway sessions."
        return
    yield _section_title("Events and their recipients", len(events), EVENTS_SHOWN_MAX)
    for event in events[-EVENTS_SHOWN_MAX:]:
        recipients = _user_names(context, [outcome for outcome in event.outcomes if outcome.outcome == DELIVERED])
        parts = [f"to {', '.join(recipients)}"] if recipients else ["to no user"]
        for outcome in event.outcomes:
            if outcome.outcome != DELIVERED:
                # The event was delivered without message content, or was not delivered.
                negation = "" if outcome.delivered else "not to "
                reason = outcome.outcome + (REDACTED_CAUSE if outcome.outcome == REDACTED else "")
                parts.append(f"{negation}{context.name_of(outcome.user_id)} ({reason})")
        yield f"  {_time(event)} {event.event}{context.location_of(event)}: {'; '.join(parts)}"


def _session_lines(context: PlatformContext, sessions: list[SessionState]) -> Iterator[str]:
    if sessions:
        names = (
            f"{context.name_of(session.user_id)}{'' if session.connected else ' (disconnected, resumable)'}"
            for session in sessions
        )
        yield f"Gateway sessions: {', '.join(names)}"
    else:
        yield "There are no gateway sessions."


def _rate_limit_lines(context: PlatformContext, hits: list[RateLimitHit]) -> Iterator[str]:
    for hit in hits:
        verb = "rejected" if hit.refused else "would have rejected"
        yield f"The rate limit {hit.name} ({hit.scope}) {verb} {context.name_of(hit.caller)} {hit.times} times"


def _fault_lines(faults: list[ActiveFault]) -> Iterator[str]:
    for active_fault in faults:
        fault, occurrences = active_fault.fault, active_fault.occurrences
        values = ((key, getattr(fault, key, None)) for key in FAULT_KEYS)
        details = [f"{key}={value}" for key, value in values if value is not None]
        yield f"Fault still active after {occurrences} occurrences: {fault.effect} {', '.join(details)}"


def _user_names(context: PlatformContext, outcomes: list[Outcome]) -> list[str]:
    return list(dict.fromkeys(context.name_of(outcome.user_id) for outcome in outcomes))


def _section_title(text: str, count: int, shown: int) -> str:
    return f"{text}:" if count <= shown else f"{text} (the last {shown} of {count}):"


def _time(entry: TracedEvent | ExplainedRequest | ClosedConnection) -> str:
    return entry.at[11:23]
