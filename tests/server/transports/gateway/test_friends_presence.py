"""Presence updates between friends: recipients, content and rate limits."""

from typing import Any

import pytest

from hubbub.protocol.enums import ActivityType, GatewayOpcode, RelationshipType
from hubbub.protocol.flags import ActivityFlags
from hubbub.protocol.intents import Intents
from hubbub.server.core.config import Config
from tests.oauth import create_application
from tests.world import Actor, World, befriend, small_config

RELATIONSHIPS_PATH, GAME_RELATIONSHIPS_PATH = "/users/@me/relationships", "/users/@me/game-relationships"
CHESS_ACTIVITY = {
    "name": "Chess Deluxe",
    "type": ActivityType.PLAYING,
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


def matches_presence(actor: Actor, status: str) -> Any:
    """Return a predicate for presence updates of a user with a status."""
    return lambda update: update["user"]["id"] == str(actor.id) and update["status"] == status


async def test_friends_see_each_other_connect_change_and_disconnect(world: World) -> None:
    alice, bob, stranger = [await world.user() for _ in range(3)]
    await befriend(alice, bob)
    alice_session, stranger_session = await alice.connect(), await stranger.connect()
    bob_session = await bob.connect()

    assert (await alice_session.next("PRESENCE_UPDATE"))["status"] == "online"
    await bob_session.set_presence("idle")
    update = await alice_session.next("PRESENCE_UPDATE")
    assert (update["user"], update["status"], update["client_status"]) == ({"id": str(bob.id)}, "idle", {"web": "idle"})
    assert "guild_id" not in update
    await bob_session.close()
    assert (await alice_session.next("PRESENCE_UPDATE"))["status"] == "offline"
    await stranger_session.assert_not_received("PRESENCE_UPDATE")


async def test_a_friend_who_was_blocked_receives_no_presence_updates(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await befriend(alice, bob)
    await befriend(carol, bob)
    alice_session, watcher, bob_session = await alice.connect(), await carol.connect(), await bob.connect()
    await alice_session.next("PRESENCE_UPDATE", matches_presence(bob, "online"))

    (await bob.put(f"{RELATIONSHIPS_PATH}/{alice.id}", json={"type": RelationshipType.BLOCKED})).ok()
    await bob_session.set_presence("dnd")

    await watcher.next("PRESENCE_UPDATE", matches_presence(bob, "dnd"))
    await alice_session.next("RELATIONSHIP_REMOVE")
    await alice_session.assert_not_received("PRESENCE_UPDATE")


async def test_rich_presence_is_shown_without_secrets(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world, name="Chess")
    await befriend(alice, bob)
    alice_session = await alice.connect()
    game_session = await (await world.bearer(bob, game.id)).connect(Intents.ALL)

    await game_session.set_presence("online", CHESS_ACTIVITY)

    [shown_activity] = (await alice_session.next("PRESENCE_UPDATE", lambda update: update["activities"]))["activities"]
    session_id = game_session.ready["session_id"]
    assert shown_activity == {
        **{
            key: CHESS_ACTIVITY[key]
            for key in ("name", "type", "state", "state_url", "details", "details_url", "assets")
        },
        "status_display_type": 2,
        "timestamps": CHESS_ACTIVITY["timestamps"],
        "party": {"id": "party-1", "size": [1, 4]},
        "supported_platforms": ["desktop", "ps5"],
        "buttons": ["Watch"],
        "instance": True,
        "flags": ActivityFlags.INSTANCE
        | ActivityFlags.JOIN
        | ActivityFlags.EMBEDDED
        | ActivityFlags.PARTY_PRIVACY_FRIENDS
        | ActivityFlags.PARTY_PRIVACY_VOICE_CHANNEL,
        # The server sets the game's own application ID, whatever the game sends.
        "application_id": str(game.id),
        "session_id": session_id,
        "id": shown_activity["id"],
        "created_at": world.clock.now_ms(),
    }
    presences = world.app.presences
    assert presences.join_secret(bob.id, session_id, game.id) == "let-me-in"
    assert presences.button_urls(bob.id, session_id, game.id) == ["https://game.example/watch"]
    stored_activity = presences.find_activity(bob.id, session_id, game.id)
    assert stored_activity is not None
    assert stored_activity["party"]["id"] == "party-1"
    assert presences.join_secret(bob.id, session_id, 1) is None
    assert presences.join_secret(alice.id, session_id, game.id) is None
    assert presences.find_activity(bob.id, "other", game.id) is None


INVALID_ACTIVITY = {
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


async def test_invalid_activity_fields_are_omitted(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world, name="Chess")
    await befriend(alice, bob)
    alice_session = await alice.connect()
    game_session = await (await world.bearer(bob, game.id)).connect(Intents.ALL)

    await game_session.set_presence("online", INVALID_ACTIVITY)

    [shown_activity] = (await alice_session.next("PRESENCE_UPDATE", lambda update: update["activities"]))["activities"]
    assert shown_activity.keys() == {"name", "type", "application_id", "session_id", "id", "created_at"}
    # An activity without a name gets the name of its application.
    assert shown_activity["name"] == "Chess"
    await game_session.set_presence("online", {"name": "x" * 129, "type": ActivityType.PLAYING})
    assert (await alice_session.next("PRESENCE_UPDATE"))["activities"] == []
    for activity_type in (ActivityType.STREAMING, ActivityType.CUSTOM, ActivityType.HANG_STATUS):
        await game_session.set_presence("idle", {"name": "Not a game", "type": activity_type})
    assert (await alice_session.next("PRESENCE_UPDATE"))["activities"] == []


async def test_an_oauth2_session_sets_presence_only_with_the_scope(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    await befriend(alice, bob)
    alice_session = await alice.connect()
    session = await (await world.bearer(bob, game.id, "identify gateway.connect relationships.read")).connect(
        Intents.ALL
    )

    await session.set_presence("online", CHESS_ACTIVITY)

    assert world.app.presences.find(bob.id) is None
    assert world.app.presences.is_playing(bob.id, game.id)
    await alice_session.assert_not_received("PRESENCE_UPDATE")


async def test_game_friends_see_each_other_only_in_their_game(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    chess, other_application = await create_application(world), await create_application(world)
    alice_player, bob_player = await world.bearer(alice, chess.id), await world.bearer(bob, chess.id)
    await befriend(alice_player, bob_player, GAME_RELATIONSHIPS_PATH)
    client, other_game = (
        await alice.connect(),
        await (await world.bearer(alice, other_application.id)).connect(Intents.ALL),
    )
    alice_game_session = await alice_player.connect(Intents.ALL)
    # Alice and Bob are not platform friends, so presence from Bob's chat client is not visible to Alice.
    bob_session = await bob.connect()
    await bob_session.set_presence("dnd", {"name": "Secret hobby", "type": ActivityType.PLAYING})

    game_session = await bob_player.connect(Intents.ALL)
    await game_session.set_presence("online", CHESS_ACTIVITY)

    update = await alice_game_session.next("PRESENCE_UPDATE", lambda update: update["activities"])
    assert (update["status"], [activity["name"] for activity in update["activities"]]) == ("online", ["Chess Deluxe"])
    assert (update["has_played_game"], "Secret hobby" in str(alice_game_session.dispatches)) == (True, False)
    later_session = await alice_player.connect(Intents.ALL)
    assert [presence["user"]["id"] for presence in later_session.ready["presences"]] == [str(bob.id)]
    await game_session.close()
    assert (await alice_game_session.next("PRESENCE_UPDATE"))["status"] == "offline"
    await client.assert_not_received("PRESENCE_UPDATE")
    await other_game.assert_not_received("PRESENCE_UPDATE")


async def test_an_oauth2_session_sees_platform_friends_and_whether_they_played(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    game = await create_application(world)
    await world.bearer(bob, game.id)
    await befriend(alice, bob)
    await befriend(alice, carol)
    session = await (await world.bearer(alice, game.id)).connect(Intents.ALL)
    session_without_intent = await (await world.bearer(alice, game.id)).connect(Intents.ALL & ~Intents.USER_PRESENCE)

    await bob.connect()
    assert (await session.next("PRESENCE_UPDATE", matches_presence(bob, "online")))["has_played_game"] is True
    await carol.connect()
    assert (await session.next("PRESENCE_UPDATE", matches_presence(carol, "online")))["has_played_game"] is False
    await session_without_intent.assert_not_received("PRESENCE_UPDATE")


async def test_several_sessions_are_merged_into_one_presence(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    chess, go = await create_application(world, name="Chess"), await create_application(world, name="Go")
    await befriend(alice, bob)
    alice_session = await alice.connect()
    chat_client = await bob.connect()
    await chat_client.set_presence("dnd", {"name": "Custom Status", "type": ActivityType.CUSTOM, "state": "hi"})
    chess_session = await (await world.bearer(bob, chess.id)).connect(Intents.ALL, properties={"device": "console"})
    await chess_session.set_presence("online", {"type": ActivityType.PLAYING, "state": "one"})
    go_session = await (await world.bearer(bob, go.id)).connect(Intents.ALL, properties={"os": "android"})
    await go_session.set_presence("online", {"type": ActivityType.PLAYING})

    update = await alice_session.next("PRESENCE_UPDATE", lambda update: len(update["activities"]) == 3)

    # The latest activity comes first; the status is the one of the user's own client.
    assert [activity["name"] for activity in update["activities"]] == ["Go", "Chess", "Custom Status"]
    assert update["status"] == "dnd"
    assert update["client_status"] == {"web": "dnd", "desktop": "online", "mobile": "online"}
    created_at = update["activities"][1]["created_at"]
    world.clock.advance(5_000)
    await chess_session.set_presence("idle", {"type": ActivityType.PLAYING, "state": "one"})
    update = await alice_session.next(
        "PRESENCE_UPDATE", lambda update: update["client_status"].get("desktop") == "idle"
    )
    assert update["activities"][0]["created_at"] == created_at
    await go_session.close()
    update = await alice_session.next("PRESENCE_UPDATE")
    assert [activity["name"] for activity in update["activities"]] == ["Chess", "Custom Status"]


async def test_an_invisible_user_is_offline_in_games_too(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    game = await create_application(world)
    await befriend(alice, bob)
    alice_session = await alice.connect()
    chat_client = await bob.connect()
    game_session = await (await world.bearer(bob, game.id)).connect(Intents.ALL)
    await game_session.set_presence("online", {"type": ActivityType.PLAYING})
    await alice_session.next("PRESENCE_UPDATE", lambda update: update["activities"])

    await chat_client.set_presence("invisible")

    update = await alice_session.next("PRESENCE_UPDATE", matches_presence(bob, "offline"))
    assert (update["activities"], update["client_status"]) == ([], {})
    assert world.app.presences.find(bob.id, family_id=game.id) is None
    await chat_client.close()
    assert (await alice_session.next("PRESENCE_UPDATE"))["status"] == "online"


async def test_users_may_set_activities_from_their_client(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    await befriend(alice, bob)
    alice_session, bob_session = await alice.connect(), await bob.connect()

    button = {"label": "Watch", "url": "https://game.example/watch"}
    await bob_session.set_presence(
        "online",
        CHESS_ACTIVITY | {"application_id": "77", "buttons": [button]},
        {"name": "Live", "type": ActivityType.STREAMING},
    )

    update = await alice_session.next("PRESENCE_UPDATE", lambda update: update["activities"])
    assert [(activity["name"], activity.get("buttons")) for activity in update["activities"]] == [
        ("Chess Deluxe", ["Watch"]),
        ("Live", None),
    ]
    assert "secrets" not in str(alice_session.dispatches)
    assert "game.example/watch" not in str(alice_session.dispatches)
    session_id = bob_session.ready["session_id"]
    assert world.app.presences.join_secret(bob.id, session_id, 77) == "let-me-in"
    assert world.app.presences.button_urls(bob.id, session_id, 77) == [button["url"]]


class TestRateLimits:
    @pytest.fixture
    def store_config(self) -> Config:
        return small_config(rate_limits="real")

    async def test_an_oauth2_session_updates_presence_five_times_in_20_seconds(self, world: World) -> None:
        bob = await world.user()
        game = await create_application(world)
        game_session = await (await world.bearer(bob, game.id)).connect(Intents.ALL)
        for number in range(8):
            await game_session.send(
                GatewayOpcode.PRESENCE_UPDATE,
                {"status": "online", "activities": [{"name": str(number)}], "since": None, "afk": False},
            )
        await game_session.wait_processed()

        presence = world.app.presences.find(bob.id)
        assert presence is not None
        assert presence.activities[0]["name"] == "4"
