"""Presences and broadcasts between users on different nodes, with PostgreSQL and NATS."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents
from hubbub.protocol.operation import Event
from hubbub.server.app import App
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import BROADCAST_USERS_MIN, GameFilter, UserAudience
from tests.oauth import create_application
from tests.world import Actor, World, befriend, small_config

GAME_RELATIONSHIPS_PATH = "/users/@me/game-relationships"


@asynccontextmanager
async def run_two_nodes(database_url: str, nats_url: str) -> AsyncIterator[tuple[World, World]]:
    """Run two nodes of one platform, and yield a world for each node."""
    settings = {"database_url": database_url, "nats_url": nats_url, "control": False}
    apps = [App(small_config(**settings, worker=number)) for number in range(2)]
    for app in apps:
        await app.start()
    async with aiohttp.ClientSession() as client:
        first_node, second_node = (World(app, client) for app in apps)
        yield first_node, second_node
        for world in (first_node, second_node):
            await world.close()
    for app in apps:
        await app.stop()


def as_client_of(world: World, actor: Actor) -> Actor:
    """Return the actor as a client of another node."""
    return dataclasses.replace(actor, world=world)


async def test_a_friend_on_another_node_sees_a_presence_without_secrets(postgres_database: str, nats_url: str) -> None:
    async with run_two_nodes(postgres_database, nats_url) as (first_node, second_node):
        alice, bob, carol = [await first_node.user() for _ in range(3)]
        game = await create_application(first_node)
        await befriend(alice, bob)
        alice_player, bob_player, carol_player = [
            await first_node.bearer(user, game.id) for user in (alice, bob, carol)
        ]
        await befriend(bob_player, carol_player, GAME_RELATIONSHIPS_PATH)
        alice_session = await alice.connect()
        carol_game_session = await carol_player.connect(Intents.ALL)
        carol_session = await carol.connect()

        bob_session = await as_client_of(second_node, bob_player).connect(Intents.ALL)
        activity = {
            "name": "Chess",
            "type": 0,
            "party": {"id": "p-1", "size": [1, 2]},
            "secrets": {"join": "let-me-in"},
        }
        await bob_session.send(
            GatewayOpcode.PRESENCE_UPDATE, {"status": "idle", "activities": [activity], "since": None, "afk": False}
        )

        update = await alice_session.next("PRESENCE_UPDATE", lambda update: update["activities"])
        assert (update["user"]["id"], update["status"], update["activities"][0]["name"]) == (
            str(bob.id),
            "idle",
            "Chess",
        )
        assert (await carol_game_session.next("PRESENCE_UPDATE", lambda update: update["activities"]))[
            "has_played_game"
        ] is True
        session_id = bob_session.ready["session_id"]
        assert first_node.app.presences.join_secret(bob.id, session_id, game.id) == "let-me-in"
        assert "let-me-in" not in str(alice_session.dispatches) + str(carol_game_session.dispatches)
        # A session that starts later sees the presence on either node.
        for world in (first_node, second_node):
            later = await as_client_of(world, alice_player).connect(Intents.ALL)
            assert [presence["status"] for presence in later.ready["presences"]] == ["idle"]

        await bob_session.close()

        assert (await alice_session.next("PRESENCE_UPDATE"))["status"] == "offline"
        assert (await carol_game_session.next("PRESENCE_UPDATE"))["status"] == "offline"
        await carol_session.assert_not_received("PRESENCE_UPDATE")
        assert first_node.app.presences.join_secret(bob.id, session_id, game.id) is None


async def test_a_broadcast_is_delivered_in_order_on_every_node(postgres_database: str, nats_url: str) -> None:
    async with run_two_nodes(postgres_database, nats_url) as (first_node, second_node):
        users = [await first_node.user() for _ in range(BROADCAST_USERS_MIN)]
        game = await create_application(first_node)
        players = [await first_node.bearer(user, game.id) for user in users[:2]]
        sessions = [
            await as_client_of(world, user).connect(Intents.ALL)
            for world, user in zip((first_node, second_node), players, strict=True)
        ]
        outsider = await as_client_of(second_node, await first_node.bearer(await first_node.user(), game.id)).connect(
            Intents.ALL
        )
        event = Event("NUMBERED", dict, scope="identify")

        def publish(call: Call) -> None:
            all_ids, two_ids = [user.id for user in users], [user.id for user in users[:2]]
            for number in range(20):
                recipients = all_ids if number % 2 else two_ids
                audience = UserAudience.of(*recipients, game_filter=GameFilter(application_id=game.id))
                call.tx.emit(event, {"number": number}, audience)

        await first_node.write(publish)

        for session in sessions:
            assert [(await session.next("NUMBERED"))["number"] for _ in range(20)] == list(range(20))
        await outsider.assert_not_received("NUMBERED")
