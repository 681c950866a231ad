"""What a failed test's report says about its platform: calls that were refused, events and who did not get them, limits, faults."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hubbub.testing.errors import in_words
from hubbub.testing.platform import Platform
from hubbub.testing.scene import DELIVERED, Scene

EVENTS_SHOWN: Final = 25
SELF: Final = "not sent to the user it is about"
"""Nobody wonders about these."""
CALLS_SHOWN: Final = 15
FAULT: Final = ("method", "route", "user_id", "status", "code", "session_id")
"""What tells one fault from another."""
ASK_S: Final = 10.0
"""How long the platform may take to tell; it may be what failed."""


def section(platform: Platform) -> str:
    """The text of the section."""
    try:
        lines = platform.scene.background.wait(_lines(platform.scene), ASK_S)
    except Exception as error:
        lines = [f"the platform cannot be asked: {error!r}"]
    log = platform.log().strip()
    return "\n".join(lines + (["The platform logged:", log] if log else []))


async def _lines(scene: Scene) -> list[str]:
    ask = scene.control.ask
    trace, limits, faults = await ask("GET", "/trace"), await ask("GET", "/rate-limits"), await ask("GET", "/faults")
    sessions, clock = await ask("GET", "/sessions"), await ask("GET", "/clock")
    running = "" if clock["running"] else ", frozen"
    return [
        f"{scene.ready.web}, where it is {clock['now']}{running}",
        *_calls(scene, trace["refused"]),
        *_closed(scene, trace["closed"]),
        *_events(scene, trace["events"]),
        *_sessions(scene, sessions),
        *_limits(scene, limits["refusals"]),
        *_faults(faults),
    ]


def _calls(scene: Scene, refused: list[dict[str, Any]]) -> Iterator[str]:
    if not refused:
        return
    yield _title("Calls that were refused", len(refused), CALLS_SHOWN)
    for call in refused[-CALLS_SHOWN:]:
        who = "somebody" if call["user_id"] is None else scene.name_of(call["user_id"])
        words = in_words(call["status"], call["body"]).replace("\n", "\n      ")
        yield f"  {_time(call)} {who} {call['method']} {call['route']}:{words[1:]}"


def _closed(scene: Scene, closed: list[dict[str, Any]]) -> Iterator[str]:
    if not closed:
        return
    yield _title("Gateway connections that were closed", len(closed), CALLS_SHOWN)
    for each in closed[-CALLS_SHOWN:]:
        who = "somebody" if each["user_id"] is None else scene.name_of(each["user_id"])
        yield f"  {_time(each)} {who} with {each['code']}: {each['reason']}"


def _events(scene: Scene, events: list[dict[str, Any]]) -> Iterator[str]:
    events = [event for event in events if any(each["outcome"] != SELF for each in event["outcomes"])]
    if not events:
        yield "No event was told to any session."
        return
    yield _title("Events, and who got them", len(events), EVENTS_SHOWN)
    for event in events[-EVENTS_SHOWN:]:
        got = _names(scene, [each for each in event["outcomes"] if each["outcome"] == DELIVERED])
        parts = [f"to {', '.join(got)}"] if got else ["to nobody"]
        for each in event["outcomes"]:
            if each["outcome"] != DELIVERED:
                # Delivered without its content, or not at all.
                verb = "" if each["outcome"].startswith(DELIVERED) else "not to "
                parts.append(f"{verb}{scene.name_of(each['user_id'])} ({each['outcome']})")
        yield f"  {_time(event)} {event['event']}{scene.place_of(event)}: {'; '.join(parts)}"


def _sessions(scene: Scene, sessions: list[dict[str, Any]]) -> Iterator[str]:
    if sessions:
        shown = (
            f"{scene.name_of(each['user_id'])}{'' if each['connected'] else ' (lost, may resume)'}" for each in sessions
        )
        yield f"Sessions now: {', '.join(shown)}"
    else:
        yield "There is no gateway session now."


def _limits(scene: Scene, refusals: list[dict[str, Any]]) -> Iterator[str]:
    for each in refusals:
        verb = "refused" if each["refused"] else "would have refused"
        caller = scene.name_of(each["caller"])
        yield f"The rate limit {each['name']} ({each['scope']}) {verb} {caller} {each['times']} times"


def _faults(faults: list[dict[str, Any]]) -> Iterator[str]:
    for each in faults:
        fault = each["fault"]
        said = [f"{key}={fault[key]}" for key in FAULT if fault.get(key) is not None]
        yield f"A fault still waits, after it happened {each['happened']} times: {fault['effect']} {', '.join(said)}"


def _names(scene: Scene, outcomes: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(scene.name_of(each["user_id"]) for each in outcomes))


def _title(text: str, count: int, shown: int) -> str:
    return f"{text}:" if count <= shown else f"{text} (the last {shown} of {count}):"


def _time(entry: Mapping[str, Any]) -> str:
    return str(entry["at"])[11:23]
