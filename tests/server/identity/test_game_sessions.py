"""Orphaned game sessions: stored sessions that remain after their node crashed."""

from hubbub.protocol.resources.lobbies import LOBBY_IDLE_SECONDS_DEFAULT
from hubbub.server.core.call import Call
from hubbub.server.identity import game_sessions
from hubbub.server.transports.gateway.session_hooks import ORPHAN_AGE_MS
from tests.game import Game, Player, create_game
from tests.world import World


async def add_orphaned_session(world: World, game: Game, player: Player) -> None:
    """Insert a session of a node that has stopped, and mark all lobbies as not idle."""

    def insert_session(call: Call) -> None:
        call.tx.run(
            "INSERT INTO game_sessions (session_id, user_id, application_id, family_id, began_ms) VALUES (?, ?, ?, ?, ?)",
            "0" * 32,
            player.id,
            game.id,
            game.id,
            call.now_ms,
        )
        # While a member is connected, a lobby is not idle; a killed process leaves this state behind.
        call.tx.run("UPDATE lobbies SET idle_ms = NULL")

    await world.write(insert_session)


async def find_connected_players(world: World, game: Game, *players: Player) -> set[int]:
    """Return the IDs of the players who are connected to the game."""
    user_ids = [player.id for player in players]
    connected_ids: set[int] = await world.app.database.read(
        lambda tx: game_sessions.filter_connected(tx, game.id, user_ids)
    )
    return connected_ids


async def test_an_orphaned_session_ends_and_leaves_its_lobbies(world: World) -> None:
    game = await create_game(world)
    alice, bob = await game.add_player(), await game.add_player()
    for player in (alice, bob):
        lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    bob_session = await bob.connect_sdk()
    await add_orphaned_session(world, game, alice)
    assert world.app.gateway is not None
    sessions = world.app.gateway.sessions

    # A new row may belong to a session that is about to start.
    await sessions.end_orphans()
    assert await find_connected_players(world, game, alice, bob) == {alice.id, bob.id}
    world.clock.advance(ORPHAN_AGE_MS + 1)
    await sessions.end_orphans()

    assert await find_connected_players(world, game, alice, bob) == {bob.id}
    event = await bob_session.next("LOBBY_MEMBER_DISCONNECT")
    assert (event["lobby_id"], event["member"]["user_id"]) == (lobby_id, str(alice.id))


async def test_a_lobby_with_only_orphaned_sessions_expires(world: World) -> None:
    game = await create_game(world)
    alice = await game.add_player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    await add_orphaned_session(world, game, alice)
    assert world.app.gateway is not None
    assert world.app.worker is not None
    world.clock.advance(ORPHAN_AGE_MS + 1)
    await world.app.gateway.sessions.end_orphans()

    world.clock.advance((LOBBY_IDLE_SECONDS_DEFAULT + 1) * 1000)
    await world.app.worker.run_due()

    (await game.backend.get(f"/lobbies/{lobby_id}")).rejected(404, 10031)
