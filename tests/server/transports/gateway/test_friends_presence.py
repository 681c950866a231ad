"""Presence among friends: who sees it, and what of it."""

from typing import Any

import pytest

from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.intents import Intents
from hubbub.server.core.config import Config
from tests.oauth import create_application
from tests.world import Actor, Session, World, befriend, small_config

PLATFORM, GAME = "/users/@me/relationships", "/users/@me/game-relationships"
CHESS = {
    "name": "Chess Deluxe",
    "type": 0,
    "state": "In a match",
    "state_url": "https://game.example/match",
    "details": "Round 2",
    "details_url": "https://game.example/round",
    "status_display_type": 2,
    "timestamps": {"start": 1_795_000_000_000},
    "party": {"id": "party-1", "size": [1, 4], "privacy": 1},
    "assets": {
        "large_image": "board",
        "large_text": "The board",
        "large_url": "https://game.example/board",
        "small_image": "https://game.example/s.png",
        "small_text": "A pawn",
        "small_url": "https://game.example/pawn",
        "invite_cover_image": "cover",
    },
    "secrets": {"join": "let-me-in"},
    "supported_platforms": ["desktop", "ps5", "toaster"],
    "buttons": ["Watch"],
    "metadata": {"button_urls": ["https://game.example/watch"]},
    "instance": True,
    "flags": 0xFFFF,
    "application_id": "1",
}


async def show(session: Session, status: str = "online", *activities: Any) -> None:
    """Say how one is, and wait until it is done."""
    await session.send(3, {"since": None, "activities": list(activities), "status": status, "afk": False})
    await session.wait_processed()


def of(actor: Actor, status: str) -> Any:
    return lambda told: told["user"]["id"] == str(actor.id) and told["status"] == status


async def test_friends_see_each_other_come_change_and_go(world: World) -> None:
    alice, bob, stranger = [await world.user() for _ in range(3)]
    await befriend(alice, bob)
    hers, others = await alice.connect(), await stranger.connect()
    his = await bob.connect()

    assert (await hers.next("PRESENCE_UPDATE"))["status"] == "online"
    await show(his, "idle")
    told = await hers.next("PRESENCE_UPDATE")
    assert (told["user"], told["status"], told["client_status"]) == ({"id": str(bob.id)}, "idle", {"web": "idle"})
    assert "guild_id" not in told
    await his.close()
    assert (await hers.next("PRESENCE_UPDATE"))["status"] == "offline"
    await others.none_of("PRESENCE_UPDATE")


async def test_who_is_no_friend_any_more_sees_nothing_more(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await befriend(alice, bob)
    await befriend(carol, bob)
    hers, watcher, his = await alice.connect(), await carol.connect(), await bob.connect()
    await hers.next("PRESENCE_UPDATE", of(bob, "online"))

    (await bob.put(f"{PLATFORM}/{alice.id}", json={"type": 2})).ok()
    await show(his, "dnd")

    await watcher.next("PRESENCE_UPDATE", of(bob, "dnd"))
    await hers.next("RELATIONSHIP_REMOVE")
    await hers.none_of("PRESENCE_UPDATE")


async def test_rich_presence_shows_all_but_secrets(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world, name="Chess")
    await befriend(alice, bob)
    hers = await alice.connect()
    plays = await (await world.bearer(bob, game.id)).connect(Intents.ALL)

    await show(plays, "online", CHESS)

    [shown] = (await hers.next("PRESENCE_UPDATE", lambda told: told["activities"]))["activities"]
    session_id = plays.ready["session_id"]
    assert shown == {
        **{key: CHESS[key] for key in ("name", "type", "state", "state_url", "details", "details_url", "assets")},
        "status_display_type": 2,
        "timestamps": CHESS["timestamps"],
        "party": {"id": "party-1", "size": [1, 4]},
        "supported_platforms": ["desktop", "ps5"],
        "buttons": ["Watch"],
        "instance": True,
        "flags": ActivityFlags.INSTANCE
        | ActivityFlags.JOIN
        | ActivityFlags.EMBEDDED
        | ActivityFlags.PARTY_PRIVACY_FRIENDS
        | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL,
        # A game speaks of itself, whatever it says.
        "application_id": str(game.id),
        "session_id": session_id,
        "id": shown["id"],
        "created_at": world.clock.now_ms(),
    }
    presences = world.app.presences
    assert presences.join_secret(bob.id, session_id, game.id) == "let-me-in"
    assert presences.button_urls(bob.id, session_id, game.id) == ["https://game.example/watch"]
    kept = presences.find_activity(bob.id, session_id, game.id)
    assert kept is not None
    assert kept["party"]["id"] == "party-1"
    assert presences.join_secret(bob.id, session_id, 1) is None
    assert presences.join_secret(alice.id, session_id, game.id) is None
    assert presences.find_activity(bob.id, "other", game.id) is None


BAD = {
    "state": "x",
    "details": "x" * 129,
    "state_url": "javascript:alert(1)",
    "details_url": "https://e.example/" + "x" * 256,
    "status_display_type": 7,
    "party": {"id": "p", "size": [5, 4]},
    "assets": {"large_image": "x" * 301, "large_text": "x", "small_url": "ftp://e.example"},
    "secrets": {"join": "x"},
    "buttons": ["x" * 33, {"label": "", "url": "https://e.example"}],
    "supported_platforms": ["toaster"],
    "timestamps": {"start": -1},
    "flags": ActivityFlags.JOIN | ActivityFlags.SPECTATE,
}


async def test_what_is_outside_its_limits_is_left_out(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world, name="Chess")
    await befriend(alice, bob)
    hers = await alice.connect()
    plays = await (await world.bearer(bob, game.id)).connect(Intents.ALL)

    await show(plays, "online", BAD)

    [shown] = (await hers.next("PRESENCE_UPDATE", lambda told: told["activities"]))["activities"]
    assert shown.keys() == {"name", "type", "application_id", "session_id", "id", "created_at"}
    # A game that gives no name is shown by its own.
    assert shown["name"] == "Chess"
    await show(plays, "online", {"name": "x" * 129, "type": 0})
    assert (await hers.next("PRESENCE_UPDATE"))["activities"] == []
    for kind in (1, 4, 6):
        await show(plays, "idle", {"name": "Not a game", "type": kind})
    assert (await hers.next("PRESENCE_UPDATE"))["activities"] == []


async def test_a_game_shows_its_player_only_with_the_scope(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    await befriend(alice, bob)
    hers = await alice.connect()
    listens = await (await world.bearer(bob, game.id, "identify gateway.connect relationships.read")).connect(
        Intents.ALL
    )

    await show(listens, "online", CHESS)

    assert world.app.presences.find(bob.id) is None
    assert world.app.presences.is_playing(bob.id, game.id)
    await hers.none_of("PRESENCE_UPDATE")


async def test_game_friends_see_each_other_only_inside_their_games(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    chess, other = await create_application(world), await create_application(world)
    alice_plays, bob_plays = await world.bearer(alice, chess.id), await world.bearer(bob, chess.id)
    await befriend(alice_plays, bob_plays, GAME)
    client, elsewhere = await alice.connect(), await (await world.bearer(alice, other.id)).connect(Intents.ALL)
    inside = await alice_plays.connect(Intents.ALL)
    # In the chat client, bob is nothing to them.
    his = await bob.connect()
    await show(his, "dnd", {"name": "Secret hobby", "type": 0})

    plays = await bob_plays.connect(Intents.ALL)
    await show(plays, "online", CHESS)

    told = await inside.next("PRESENCE_UPDATE", lambda told: told["activities"])
    assert (told["status"], [each["name"] for each in told["activities"]]) == ("online", ["Chess Deluxe"])
    assert (told["has_played_game"], "Secret hobby" in str(inside.dispatches)) == (True, False)
    again = await alice_plays.connect(Intents.ALL)
    assert [each["user"]["id"] for each in again.ready["presences"]] == [str(bob.id)]
    await plays.close()
    assert (await inside.next("PRESENCE_UPDATE"))["status"] == "offline"
    await client.none_of("PRESENCE_UPDATE")
    await elsewhere.none_of("PRESENCE_UPDATE")


async def test_a_game_sees_platform_friends_and_whether_they_play(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    game = await create_application(world)
    await world.bearer(bob, game.id)
    await befriend(alice, bob)
    await befriend(alice, carol)
    hears = await (await world.bearer(alice, game.id)).connect(Intents.ALL)
    deaf = await (await world.bearer(alice, game.id)).connect(Intents.ALL & ~Intents.USER_PRESENCE)

    await bob.connect()
    assert (await hears.next("PRESENCE_UPDATE", of(bob, "online")))["has_played_game"] is True
    await carol.connect()
    assert (await hears.next("PRESENCE_UPDATE", of(carol, "online")))["has_played_game"] is False
    await deaf.none_of("PRESENCE_UPDATE")


async def test_several_sessions_are_one_presence(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    chess, go = await create_application(world, name="Chess"), await create_application(world, name="Go")
    await befriend(alice, bob)
    hers = await alice.connect()
    desktop = await bob.connect()
    await show(desktop, "dnd", {"name": "Custom Status", "type": 4, "state": "hi"})
    first = await (await world.bearer(bob, chess.id)).connect(Intents.ALL, properties={"device": "console"})
    await show(first, "online", {"type": 0, "state": "one"})
    second = await (await world.bearer(bob, go.id)).connect(Intents.ALL, properties={"os": "android"})
    await show(second, "online", {"type": 0})

    told = await hers.next("PRESENCE_UPDATE", lambda told: len(told["activities"]) == 3)

    # The latest first; how present somebody is, their own client says.
    assert [each["name"] for each in told["activities"]] == ["Go", "Chess", "Custom Status"]
    assert told["status"] == "dnd"
    assert told["client_status"] == {"web": "dnd", "desktop": "online", "mobile": "online"}
    began = told["activities"][1]["created_at"]
    world.clock.advance(5_000)
    await show(first, "idle", {"type": 0, "state": "one"})
    told = await hers.next("PRESENCE_UPDATE", lambda told: told["client_status"].get("desktop") == "idle")
    assert told["activities"][0]["created_at"] == began
    await second.close()
    told = await hers.next("PRESENCE_UPDATE")
    assert [each["name"] for each in told["activities"]] == ["Chess", "Custom Status"]


async def test_who_hides_in_the_chat_client_is_hidden_in_games_too(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    await befriend(alice, bob)
    hers = await alice.connect()
    desktop = await bob.connect()
    plays = await (await world.bearer(bob, game.id)).connect(Intents.ALL)
    await show(plays, "online", {"type": 0})
    await hers.next("PRESENCE_UPDATE", lambda told: told["activities"])

    await show(desktop, "invisible")

    told = await hers.next("PRESENCE_UPDATE", of(bob, "offline"))
    assert (told["activities"], told["client_status"]) == ([], {})
    assert world.app.presences.find(bob.id, family_id=game.id) is None
    await desktop.close()
    assert (await hers.next("PRESENCE_UPDATE"))["status"] == "online"


async def test_people_may_say_what_they_play_through_their_client(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    await befriend(alice, bob)
    hers, his = await alice.connect(), await bob.connect()

    button = {"label": "Watch", "url": "https://game.example/watch"}
    await show(his, "online", CHESS | {"application_id": "77", "buttons": [button]}, {"name": "Live", "type": 1})

    told = await hers.next("PRESENCE_UPDATE", lambda told: told["activities"])
    assert [(each["name"], each.get("buttons")) for each in told["activities"]] == [
        ("Chess Deluxe", ["Watch"]),
        ("Live", None),
    ]
    assert "secrets" not in str(hers.dispatches)
    assert "game.example/watch" not in str(hers.dispatches)
    session_id = his.ready["session_id"]
    assert world.app.presences.join_secret(bob.id, session_id, 77) == "let-me-in"
    assert world.app.presences.button_urls(bob.id, session_id, 77) == [button["url"]]


class TestRates:
    @pytest.fixture
    def store_config(self) -> Config:
        return small_config(rate_limits="real")

    async def test_a_game_may_change_it_five_times_in_twenty_seconds(self, world: World) -> None:
        bob = await world.user()
        game = await create_application(world)
        plays = await (await world.bearer(bob, game.id)).connect(Intents.ALL)
        for number in range(8):
            await plays.send(
                3, {"status": "online", "activities": [{"name": str(number)}], "since": None, "afk": False}
            )
        await plays.wait_processed()

        shown = world.app.presences.find(bob.id)
        assert shown is not None
        assert shown.activities[0]["name"] == "4"
