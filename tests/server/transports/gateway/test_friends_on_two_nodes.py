"""Friends on different nodes, over one PostgreSQL and one NATS."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import BROADCAST_USERS_MIN, Audience
from tests.oauth import create_application
from tests.world import Actor, World, befriend, small_config

GAME = "/users/@me/game-relationships"


@asynccontextmanager
async def nodes(database_url: str, nats_url: str) -> AsyncIterator[tuple[World, World]]:
    """Two nodes of one platform."""
    settings = {"database_url": database_url, "nats_url": nats_url, "control": False}
    apps = [App(small_config(**settings, worker=number)) for number in range(2)]
    for app in apps:
        await app.start()
    async with aiohttp.ClientSession() as client:
        one, two = (World(app, client) for app in apps)
        yield one, two
        for world in (one, two):
            await world.close()
    for app in apps:
        await app.stop()


def at(world: World, actor: Actor) -> Actor:
    """The same one, by way of another node."""
    return dataclasses.replace(actor, world=world)


async def test_friends_see_each_other_and_secrets_stay_between_nodes(postgres_database: str, nats_url: str) -> None:
    async with nodes(postgres_database, nats_url) as (one, two):
        alice, bob, carol = [await one.user() for _ in range(3)]
        game = await create_application(one)
        await befriend(alice, bob)
        alice_plays, bob_plays, carol_plays = [await one.bearer(who, game.id) for who in (alice, bob, carol)]
        await befriend(bob_plays, carol_plays, GAME)
        hers = await alice.connect()
        in_game = await carol_plays.connect(Intents.ALL)
        not_in_game = await carol.connect()

        plays = await at(two, bob_plays).connect(Intents.ALL)
        secret = {"name": "Chess", "type": 0, "party": {"id": "p-1", "size": [1, 2]}, "secrets": {"join": "let-me-in"}}
        await plays.send(3, {"status": "idle", "activities": [secret], "since": None, "afk": False})

        told = await hers.next("PRESENCE_UPDATE", lambda each: each["activities"])
        assert (told["user"]["id"], told["status"], told["activities"][0]["name"]) == (str(bob.id), "idle", "Chess")
        assert (await in_game.next("PRESENCE_UPDATE", lambda each: each["activities"]))["has_played_game"] is True
        session_id = plays.ready["session_id"]
        assert one.app.presences.join_secret(bob.id, session_id, game.id) == "let-me-in"
        assert "let-me-in" not in str(hers.dispatches) + str(in_game.dispatches)
        # Who comes later finds it, on either node.
        for world in (one, two):
            later = await at(world, alice_plays).connect(Intents.ALL)
            assert [each["status"] for each in later.ready["presences"]] == ["idle"]

        await plays.close()

        assert (await hers.next("PRESENCE_UPDATE"))["status"] == "offline"
        assert (await in_game.next("PRESENCE_UPDATE"))["status"] == "offline"
        await not_in_game.none_of("PRESENCE_UPDATE")
        assert one.app.presences.join_secret(bob.id, session_id, game.id) is None


async def test_a_crowd_hears_on_every_node_in_the_order_it_was_said(postgres_database: str, nats_url: str) -> None:
    async with nodes(postgres_database, nats_url) as (one, two):
        people = [await one.user() for _ in range(BROADCAST_USERS_MIN)]
        game = await create_application(one)
        players = [await one.bearer(who, game.id) for who in people[:2]]
        sessions = [await at(world, who).connect(Intents.ALL) for world, who in zip((one, two), players, strict=True)]
        outsider = await at(two, await one.bearer(await one.user(), game.id)).connect(Intents.ALL)
        said = Event("SAID", dict, scope="identify")

        def say(call: Call) -> None:
            everybody, two_of_them = [who.id for who in people], [who.id for who in people[:2]]
            for number in range(20):
                users = everybody if number % 2 else two_of_them
                call.tx.emit(said, {"number": number}, Audience.of_users(*users, application_id=game.id))

        await one.write(say)

        for session in sessions:
            assert [(await session.next("SAID"))["number"] for _ in range(20)] == list(range(20))
        await outsider.none_of("SAID")
