"""Who is in which game: kept for all nodes to see, and ended even where nobody was left to tell of it."""

from hubbub.server.core.call import Call
from hubbub.server.resources import game_sessions
from tests.game import Game, Player, game
from tests.world import World


async def ghost(world: World, played: Game, player: Player) -> None:
    """A session of a node that was killed together with all others."""

    def leave(call: Call) -> None:
        call.tx.run(
            "INSERT INTO game_sessions (session_id, user_id, application_id, family_id, began_ms) VALUES (?, ?, ?, ?, ?)",
            "0" * 32,
            player.id,
            played.id,
            played.id,
            call.now,
        )
        call.tx.run("UPDATE lobbies SET idle_ms = NULL")

    await world.write(leave)


async def inside(world: World, played: Game, *players: Player) -> set[int]:
    """Who of these is in the game."""
    wanted = [player.id for player in players]
    found: set[int] = await world.app.database.read(lambda tx: game_sessions.connected(tx, played.id, wanted))
    return found


async def test_a_session_that_no_node_has_ends_and_its_lobbies_rest(world: World) -> None:
    played = await game(world)
    alice, bob = await played.player(), await played.player()
    for player in (alice, bob):
        lobby_id = (await player.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    theirs = await bob.play()
    await ghost(world, played, alice)
    assert world.app.gateway is not None
    sessions = world.app.gateway.sessions

    # It may be about to begin.
    await sessions.clear_orphans()
    assert await inside(world, played, alice, bob) == {alice.id, bob.id}
    world.clock.advance(120_001)
    await sessions.clear_orphans()

    assert await inside(world, played, alice, bob) == {bob.id}
    told = await theirs.next("LOBBY_MEMBER_DISCONNECT")
    assert (told["lobby_id"], told["member"]["user_id"]) == (lobby_id, str(alice.id))


async def test_a_lobby_of_the_dead_ends_by_the_clock(world: World) -> None:
    played = await game(world)
    alice = await played.player()
    lobby_id = (await alice.put("/lobbies", json={"secret": "xyzzy"})).ok()["id"]
    await ghost(world, played, alice)
    assert world.app.gateway is not None
    assert world.app.worker is not None
    world.clock.advance(120_001)
    await world.app.gateway.sessions.clear_orphans()

    world.clock.advance(301_000)
    await world.app.worker.run_due()

    (await played.backend.get(f"/lobbies/{lobby_id}")).refused(404, 10031)
