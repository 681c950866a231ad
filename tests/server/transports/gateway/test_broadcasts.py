"""A broadcast is published once on the bus, delivered to sessions with its intent, and traced for each session."""

import pytest

from hubbub.protocol.intents import Intents
from hubbub.server.core import event_dispatch
from tests.game import create_game
from tests.world import World


@pytest.fixture
def small_broadcast_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the threshold for a broadcast to two users."""
    monkeypatch.setattr(event_dispatch, "BROADCAST_USERS_MIN", 2)


@pytest.mark.usefixtures("small_broadcast_threshold")
@pytest.mark.parametrize("is_traced", [False, True])
async def test_a_broadcast_uses_one_subject_and_is_traced_by_session(world: World, is_traced: bool) -> None:
    game = await create_game(world)
    players = [await game.add_player() for _ in range(4)]
    sessions = [await player.connect_sdk() for player in players[:3]]
    session_without_intent = await players[3].connect(Intents.DIRECT_MESSAGES)
    for player in players:
        lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    published_subjects: list[str] = []
    subscription = world.app.bus.subscribe(
        event_dispatch.BROADCAST_SUBJECT, lambda dispatch: published_subjects.append(dispatch.event)
    )
    world.app.trace.is_enabled = is_traced

    message = (await players[0].post(f"/lobbies/{lobby_id}/messages", json={"content": "hello"})).ok()

    for session in sessions:
        assert (await session.next("LOBBY_MESSAGE_CREATE"))["id"] == message["id"]
    await session_without_intent.assert_not_received("LOBBY_MESSAGE_CREATE")
    subscription.cancel()
    assert published_subjects.count("LOBBY_MESSAGE_CREATE") == 1
    outcomes = {
        outcome.session_id: outcome.outcome
        for event in world.app.trace.find()
        if event.event == "LOBBY_MESSAGE_CREATE"
        for outcome in event.outcomes
    }
    expected = {session.ready["session_id"]: "delivered" for session in sessions}
    expected[session_without_intent.ready["session_id"]] = "missing intent: LOBBIES"
    assert outcomes == (expected if is_traced else {})
