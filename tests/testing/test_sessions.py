"""The events that a gateway session of an actor keeps."""

from typing import Any

import aiohttp
import pytest

from hubbub.people import sessions
from hubbub.people.sessions import ActorSession
from hubbub.protocol.enums import GatewayOpcode


def dispatch(name: str, data: Any, sequence: int) -> dict[str, Any]:
    """Return a frame with an event."""
    return {"op": GatewayOpcode.DISPATCH, "t": name, "s": sequence, "d": data}


async def test_a_session_keeps_the_latest_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "EVENTS_KEPT_MAX", 3)
    async with aiohttp.ClientSession() as http:
        session = ActorSession(http, "ws://127.0.0.1", "alice", {})
        await session._handle_frame(dispatch("READY", {"session_id": "s"}, 1))
        for number in range(5):
            await session._handle_frame(dispatch("TYPING_START", {"number": number}, number + 2))

    assert session.ready == {"session_id": "s"}
    assert [event.data["number"] for event in session.kept_events] == [2, 3, 4]
    # Positions are those of all events, so that a discarded event does not change them.
    assert session.find("TYPING_START") == 3
    assert session.consume(3) == {"number": 2}
    assert session.find("TYPING_START") == 4
    assert [event.data["number"] for event in session.unmatched_events()] == [3, 4]
