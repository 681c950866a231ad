"""What a person's own clients know of all their sessions, and what games say that nobody answers yet (decisions/0046)."""

from typing import Any

from hubbub.protocol.intents import Intents
from tests.game import game
from tests.world import Session, World


async def say(session: Session, **more: object) -> None:
    """A presence, and the wait until it is done."""
    await session.send(3, {"since": None, "activities": [], "status": "online", "afk": False, **more})
    await session.wait_processed()


def quiet(told: list[dict[str, Any]]) -> bool:
    """Nobody shows chat."""
    return not any(each["showing_chat"] for each in told)


async def test_a_game_that_shows_chat_lets_the_persons_clients_stay_quiet(world: World) -> None:
    alice = await world.user()
    played = await game(world)
    client = await alice.connect()
    await client.none_of("SESSIONS_REPLACE")
    playing = await (await played.player(alice)).connect_sdk()
    (first, second) = await client.next("SESSIONS_REPLACE")
    assert (first["session_id"], first["showing_chat"], "application_id" in first) == (
        client.ready["session_id"],
        False,
        False,
    )
    assert (second["session_id"], second["application_id"]) == (playing.ready["session_id"], str(played.id))

    await say(playing, showing_chat=True, activities=[{"type": 0, "state": "In a match"}])

    told = await client.next("SESSIONS_REPLACE")
    assert [each["showing_chat"] for each in told] == [False, True]
    assert told[1]["activities"][0]["state"] == "In a match"
    # Another client that comes later knows it too.
    late = await alice.connect()
    await late.settle()
    (told,) = [frame["d"] for frame in late.dispatches if frame["t"] == "SESSIONS_REPLACE"]
    assert [each["showing_chat"] for each in told] == [False, True, False]
    await say(playing)
    assert [each["showing_chat"] for each in await late.next("SESSIONS_REPLACE", quiet)] == [False] * 3
    await playing.close()
    told = await client.next("SESSIONS_REPLACE", lambda told: len(told) == 2)
    assert {each["session_id"] for each in told} == {client.ready["session_id"], late.ready["session_id"]}
    assert "SESSIONS_REPLACE" not in playing.unread_names()


async def test_who_is_left_alone_is_told_once(world: World) -> None:
    alice = await world.user()
    one, other = await alice.connect(), await alice.connect()
    await one.next("SESSIONS_REPLACE")

    await other.close()

    assert [each["session_id"] for each in await one.next("SESSIONS_REPLACE")] == [one.ready["session_id"]]
    await say(one, status="idle")
    await one.none_of("SESSIONS_REPLACE")


async def test_bots_and_friends_hear_nothing_of_it(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    (await alice.put(f"/users/@me/relationships/{bob.id}")).ok()
    (await bob.put(f"/users/@me/relationships/{alice.id}")).ok()
    bot = await world.bot()
    first, friend = await bot.connect(), await bob.connect()
    await bot.connect()
    await alice.connect()
    playing = await (await (await game(world)).player(alice)).connect(Intents.ALL)
    await say(playing, showing_chat=True)

    await first.none_of("SESSIONS_REPLACE")
    await friend.none_of("SESSIONS_REPLACE")
    # What others see of somebody does not say it.
    assert "showing_chat" not in str(friend.dispatches)


async def test_what_only_clients_of_people_say_closes_a_bot(world: World) -> None:
    person = await (await world.user()).connect()
    for opcode in (5, 14, 37, 38, 39, 41):
        await person.send(opcode, None)
    # Of lobbies and their calls a person's own client knows nothing.
    await person.send(17, [{"lobby_id": "1", "self_mute": False, "self_deaf": False}])
    await person.send(42, {"lobby_id": "1"})
    await person.wait_processed()
    await person.none_of("LOBBY_VOICE_STATE_UPDATE", "LOBBY_VOICE_SERVER_UPDATE")

    bot = await (await world.bot()).connect()
    await bot.send(17, [])
    assert await bot.wait_closed() == 4001
