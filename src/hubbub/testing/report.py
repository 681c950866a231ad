"""The report section of a failed test: rejected requests, connections, events, sessions, rate limits and faults."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hubbub.testing.context import DELIVERED, PlatformContext
from hubbub.testing.errors import format_error
from hubbub.testing.platform import Platform

EVENTS_SHOWN_MAX: Final = 25
SELF_OUTCOME: Final = "not sent to the user it is about"
"""An outcome that is always expected and therefore not worth reporting."""
REQUESTS_SHOWN_MAX: Final = 15
FAULT_KEYS: Final = ("method", "route", "user_id", "status", "code", "session_id")
"""Keys that describe a fault in the report."""
QUERY_TIMEOUT_SECONDS: Final = 10.0
"""Time limit in seconds for querying the platform, which may itself have failed."""


def section(platform: Platform) -> str:
    """Return the text of the section."""
    try:
        lines = platform.context.background.run_and_wait(_lines(platform.context), QUERY_TIMEOUT_SECONDS)
    except Exception as error:
        lines = [f"Cannot query the platform: {error!r}"]
    log = platform.log().strip()
    return "\n".join(lines + (["Platform log:", log] if log else []))


async def _lines(scene: PlatformContext) -> list[str]:
    ask = scene.control.request
    trace, limits, faults = await ask("GET", "/trace"), await ask("GET", "/rate-limits"), await ask("GET", "/faults")
    sessions, clock = await ask("GET", "/sessions"), await ask("GET", "/clock")
    running = "" if clock["running"] else ", frozen"
    return [
        f"{scene.ready.web}, platform time {clock['now']}{running}",
        *_calls(scene, trace["refused"]),
        *_closed(scene, trace["closed"]),
        *_events(scene, trace["events"]),
        *_sessions(scene, sessions),
        *_limits(scene, limits["refusals"]),
        *_faults(faults),
    ]


def _calls(scene: PlatformContext, refused: list[dict[str, Any]]) -> Iterator[str]:
    if not refused:
        return
    yield _title("Rejected requests", len(refused), REQUESTS_SHOWN_MAX)
    for call in refused[-REQUESTS_SHOWN_MAX:]:
        caller = "unauthenticated" if call["user_id"] is None else scene.name_of(call["user_id"])
        error = format_error(call["status"], call["body"]).replace("\n", "\n      ")
        yield f"  {_time(call)} {caller} {call['method']} {call['route']}:{error[1:]}"


def _closed(scene: PlatformContext, closed: list[dict[str, Any]]) -> Iterator[str]:
    if not closed:
        return
    yield _title("Closed gateway connections", len(closed), REQUESTS_SHOWN_MAX)
    for each in closed[-REQUESTS_SHOWN_MAX:]:
        caller = "unauthenticated" if each["user_id"] is None else scene.name_of(each["user_id"])
        yield f"  {_time(each)} {caller} with {each['code']}: {each['reason']}"


def _events(scene: PlatformContext, events: list[dict[str, Any]]) -> Iterator[str]:
    events = [event for event in events if any(each["outcome"] != SELF_OUTCOME for each in event["outcomes"])]
    if not events:
        yield "No events were sent to gateway sessions."
        return
    yield _title("Events and their recipients", len(events), EVENTS_SHOWN_MAX)
    for event in events[-EVENTS_SHOWN_MAX:]:
        recipients = _names(scene, [each for each in event["outcomes"] if each["outcome"] == DELIVERED])
        parts = [f"to {', '.join(recipients)}"] if recipients else ["to no user"]
        for each in event["outcomes"]:
            if each["outcome"] != DELIVERED:
                # Delivered without message content, or not delivered.
                verb = "" if each["outcome"].startswith(DELIVERED) else "not to "
                parts.append(f"{verb}{scene.name_of(each['user_id'])} ({each['outcome']})")
        yield f"  {_time(event)} {event['event']}{scene.location_of(event)}: {'; '.join(parts)}"


def _sessions(scene: PlatformContext, sessions: list[dict[str, Any]]) -> Iterator[str]:
    if sessions:
        names = (
            f"{scene.name_of(each['user_id'])}{'' if each['connected'] else ' (disconnected, resumable)'}"
            for each in sessions
        )
        yield f"Gateway sessions: {', '.join(names)}"
    else:
        yield "There are no gateway sessions."


def _limits(scene: PlatformContext, refusals: list[dict[str, Any]]) -> Iterator[str]:
    for each in refusals:
        verb = "rejected" if each["refused"] else "would have rejected"
        caller = scene.name_of(each["caller"])
        yield f"The rate limit {each['name']} ({each['scope']}) {verb} {caller} {each['times']} times"


def _faults(faults: list[dict[str, Any]]) -> Iterator[str]:
    for each in faults:
        fault = each["fault"]
        details = [f"{key}={fault[key]}" for key in FAULT_KEYS if fault.get(key) is not None]
        yield f"Fault still active after {each['happened']} occurrences: {fault['effect']} {', '.join(details)}"


def _names(scene: PlatformContext, outcomes: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(scene.name_of(each["user_id"]) for each in outcomes))


def _title(text: str, count: int, shown: int) -> str:
    return f"{text}:" if count <= shown else f"{text} (the last {shown} of {count}):"


def _time(entry: Mapping[str, Any]) -> str:
    return str(entry["at"])[11:23]
