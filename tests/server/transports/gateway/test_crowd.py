"""What is told to many at once: it travels once, reaches each who is there, and the trace can say so."""

import pytest

from hubbub.protocol.intents import Intents
from hubbub.server.core import event_dispatch
from tests.game import game
from tests.world import World


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are a crowd."""
    monkeypatch.setattr(event_dispatch, "BROADCAST_USERS_MIN", 2)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("traced", [False, True])
async def test_a_crowd_hears_on_one_subject_and_the_trace_knows_who(world: World, traced: bool) -> None:
    played = await game(world)
    players = [await played.player() for _ in range(4)]
    sessions = [await player.connect_sdk() for player in players[:3]]
    deaf = await players[3].connect(Intents.DIRECT_MESSAGES)
    for player in players:
        lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    heard: list[str] = []
    subscription = world.app.bus.subscribe(
        event_dispatch.BROADCAST_SUBJECT, lambda dispatch: heard.append(dispatch.event)
    )
    world.app.trace.enabled = traced

    said = (await players[0].post(f"/lobbies/{lobby_id}/messages", json={"content": "hello"})).ok()

    for session in sessions:
        assert (await session.next("LOBBY_MESSAGE_CREATE"))["id"] == said["id"]
    await deaf.none_of("LOBBY_MESSAGE_CREATE")
    subscription.cancel()
    assert heard.count("LOBBY_MESSAGE_CREATE") == 1
    outcomes = {
        each.session_id: each.outcome
        for event in world.app.trace.find()
        if event.event == "LOBBY_MESSAGE_CREATE"
        for each in event.outcomes
    }
    expected = {session.ready["session_id"]: "delivered" for session in sessions}
    expected[deaf.ready["session_id"]] = "missing intent: LOBBIES"
    assert outcomes == (expected if traced else {})
