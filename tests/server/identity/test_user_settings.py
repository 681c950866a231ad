"""User settings: privacy and its effects (spec/sdk.md#9.3, 10.3, 11.3), appearance, status, and order of guilds."""

from typing import Any

import pytest

from hubbub.protocol.codec import timestamp
from hubbub.protocol.enums import ActivityType, GatewayOpcode, InGameMessages, RelationshipType
from tests.game import create_game
from tests.server.play.joinable_activities import start_joinable_activity
from tests.world import Actor, World, befriend

SETTINGS_PATH = "/users/@me/settings"
DEFAULT_SETTINGS: dict[str, Any] = {
    "friend_source_flags": {"all": True, "mutual_friends": True, "mutual_guilds": True},
    "restricted_guilds": [],
    "allow_activity_party_privacy_friends": True,
    "allow_activity_party_privacy_voice_channel": True,
    "allow_game_friend_dms_in_platform": True,
    "slayer_sdk_receive_dms_in_game": InGameMessages.UNSET,
    "status": "online",
    "custom_status": None,
    "theme": "system",
    "message_display_compact": False,
    "font_scale": 100,
    "reduced_motion": False,
    "desktop_notifications": True,
    "notification_sounds": True,
    "emoji_skin_tone": 0,
    "formatting_toolbar": True,
    "render_embeds": True,
    "guild_folders": [],
}


async def change_settings(user: Actor, **settings: Any) -> Any:
    """Change settings of a user and return the new settings."""
    return (await user.patch(SETTINGS_PATH, json=settings)).ok()


async def test_settings_have_defaults_and_changes_reach_own_clients(world: World) -> None:
    alice = await world.user()
    game = await create_game(world)
    chat_session, game_session = await alice.connect(), await (await game.add_player(alice)).connect_sdk()
    assert chat_session.ready["user_settings"] == (await alice.get(SETTINGS_PATH)).ok() == DEFAULT_SETTINGS
    assert game_session.ready["user_settings"] == {}

    settings = await change_settings(
        alice,
        friend_source_flags={"mutual_guilds": True},
        slayer_sdk_receive_dms_in_game=InGameMessages.USERS_WITH_GAME,
    )

    flags = {"all": False, "mutual_friends": False, "mutual_guilds": True}
    assert settings == DEFAULT_SETTINGS | {
        "friend_source_flags": flags,
        "slayer_sdk_receive_dms_in_game": InGameMessages.USERS_WITH_GAME,
    }
    assert await chat_session.next("USER_SETTINGS_UPDATE") == settings == (await alice.get(SETTINGS_PATH)).ok()
    await game_session.assert_not_received("USER_SETTINGS_UPDATE")
    assert (await alice.connect()).ready["user_settings"] == settings
    await change_settings(alice, slayer_sdk_receive_dms_in_game=InGameMessages.USERS_WITH_GAME)
    await chat_session.assert_not_received("USER_SETTINGS_UPDATE")
    assert (await change_settings(alice, friend_source_flags={"all": True}))["friend_source_flags"] == flags | {
        "all": True,
        "mutual_friends": True,
    }


async def test_appearance_is_stored_and_reaches_own_clients(world: World) -> None:
    alice = await world.user()
    session = await alice.connect()
    appearance = {
        "theme": "dark",
        "message_display_compact": True,
        "font_scale": 125,
        "reduced_motion": True,
        "emoji_skin_tone": 4,
        "formatting_toolbar": False,
        "render_embeds": False,
    }

    settings = await change_settings(alice, **appearance)

    assert settings == DEFAULT_SETTINGS | appearance
    assert await session.next("USER_SETTINGS_UPDATE") == settings
    assert (await alice.connect()).ready["user_settings"] == settings


async def test_a_custom_status_expires(world: World) -> None:
    alice = await world.user()
    now_ms = world.app.clock.now_ms()
    await change_settings(alice, status="dnd")

    settings = await change_settings(
        alice,
        custom_status={
            "text": "  At   lunch ",
            "emoji_name": "\N{HOT BEVERAGE}",
            "expires_at": timestamp(now_ms + 60_000),
        },
    )

    assert settings["status"] == "dnd"
    assert settings["custom_status"] == {
        "text": "At lunch",
        "emoji_id": None,
        "emoji_name": "\N{HOT BEVERAGE}",
        "expires_at": timestamp(now_ms + 60_000),
    }
    assert (await alice.get(SETTINGS_PATH)).ok() == settings
    world.clock.advance(60_000)
    assert (await alice.connect()).ready["user_settings"]["custom_status"] is None
    assert (await alice.get(SETTINGS_PATH)).ok()["custom_status"] is None


async def test_a_custom_status_without_text_and_emoji_is_removed(world: World) -> None:
    alice = await world.user()
    assert (await change_settings(alice, custom_status={"text": "Busy"}))["custom_status"]["text"] == "Busy"

    assert (await change_settings(alice, custom_status={"text": "  "}))["custom_status"] is None
    await change_settings(alice, custom_status={"text": "Busy"})
    assert (await change_settings(alice, custom_status=None))["custom_status"] is None


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"friend_source_flags": {"all": "yes"}}, "friend_source_flags.all"),
        ({"friend_source_flags": None}, "friend_source_flags"),
        ({"restricted_guilds": ["here"]}, "restricted_guilds.0"),
        ({"restricted_guilds": [str(guild_id) for guild_id in range(201)]}, "restricted_guilds"),
        ({"slayer_sdk_receive_dms_in_game": 4}, "slayer_sdk_receive_dms_in_game"),
        ({"status": "offline"}, "status"),
        ({"theme": "sepia"}, "theme"),
        ({"font_scale": 79}, "font_scale"),
        ({"font_scale": 151}, "font_scale"),
        ({"emoji_skin_tone": 6}, "emoji_skin_tone"),
        ({"emoji_skin_tone": -1}, "emoji_skin_tone"),
        ({"reduced_motion": "yes"}, "reduced_motion"),
        ({"custom_status": {"text": "x" * 129}}, "custom_status.text"),
        ({"custom_status": {"text": "x", "expires_at": "tomorrow"}}, "custom_status.expires_at"),
        ({"custom_status": {"text": "x", "expires_at": "2020-01-01T00:00:00Z"}}, "custom_status.expires_at"),
    ],
)
async def test_invalid_settings_are_rejected_with_their_field(world: World, body: Any, path: str) -> None:
    alice = await world.user()

    assert (await alice.patch(SETTINGS_PATH, json=body)).errors(path)


async def test_only_own_guilds_can_be_restricted_and_stay_restricted_after_leaving(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    left_guild, own_guild, foreign_guild = (
        await world.guild(bob, alice),
        await world.guild(alice),
        await world.guild(bob),
    )
    await change_settings(alice, restricted_guilds=[str(left_guild.id)])
    (await alice.delete(f"/users/@me/guilds/{left_guild.id}")).ok()

    rejected_response = await alice.patch(
        SETTINGS_PATH, json={"restricted_guilds": [str(own_guild.id), str(foreign_guild.id), str(left_guild.id), "1"]}
    )
    settings = await change_settings(alice, restricted_guilds=[str(own_guild.id), str(left_guild.id)])

    assert (
        rejected_response.errors("restricted_guilds.1")
        == ["GUILD_UNKNOWN"]
        == rejected_response.errors("restricted_guilds.3")
    )
    assert set(rejected_response.json["errors"]["restricted_guilds"]) == {"1", "3"}
    assert set(settings["restricted_guilds"]) == {str(left_guild.id), str(own_guild.id)}
    # After it is removed from the list, a guild that the user left cannot be added again.
    await change_settings(alice, restricted_guilds=[])
    assert (await alice.patch(SETTINGS_PATH, json={"restricted_guilds": [str(left_guild.id)]})).errors(
        "restricted_guilds.0"
    )


async def test_unknown_settings_are_ignored(world: World) -> None:
    alice = await world.user()
    session = await alice.connect()

    assert await change_settings(alice, developer_mode=True) == DEFAULT_SETTINGS
    await session.assert_not_received("USER_SETTINGS_UPDATE")


async def test_games_and_bots_cannot_access_settings(world: World) -> None:
    game = await create_game(world)
    player = await game.add_player()

    for caller, status, code in ((player, 401, 0), (game.backend, 403, 20001)):
        for method in ("GET", "PATCH"):
            response = await caller.request(method, SETTINGS_PATH, json={} if method == "PATCH" else None)
            response.rejected(status, code)


# Friend requests


async def test_disabled_friend_requests_reject_users_and_players_except_replies(world: World) -> None:
    game = await create_game(world)
    alice, bob = await world.user(), await world.user()
    bob_player = await game.add_player(bob)
    await game.add_player(alice)
    await change_settings(alice, friend_source_flags={})

    (await bob.put(f"/users/@me/relationships/{alice.id}")).rejected(400, 80000)
    (await bob.post("/users/@me/relationships", json={"username": alice.name})).rejected(400, 80000)
    (await bob_player.put(f"/users/@me/game-relationships/{alice.id}")).rejected(400, 80000)
    assert (await alice.put(f"/users/@me/relationships/{bob.id}")).status == 204
    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204
    assert [relationship["type"] for relationship in (await alice.get("/users/@me/relationships")).ok()] == [
        RelationshipType.FRIEND
    ]


async def test_friend_requests_can_be_limited_to_friends_of_friends(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await change_settings(alice, friend_source_flags={"mutual_friends": True})
    await world.guild(alice, bob)
    (await bob.put(f"/users/@me/relationships/{alice.id}")).rejected(400, 80000)

    await befriend(alice, carol)
    (await bob.put(f"/users/@me/relationships/{alice.id}")).rejected(400, 80000)
    await befriend(bob, carol)

    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204


async def test_mutual_game_friends_count_only_in_their_game(world: World) -> None:
    game = await create_game(world)
    users = [await world.user() for _ in range(3)]
    alice, bob, carol = [await game.add_player(user) for user in users]
    for sender, recipient in ((alice, carol), (carol, alice), (bob, carol), (carol, bob)):
        (await sender.put(f"/users/@me/game-relationships/{recipient.id}")).ok()
    await change_settings(users[0], friend_source_flags={"mutual_friends": True})

    (await bob.put(f"/users/@me/relationships/{alice.id}")).rejected(400, 80000)
    assert (await bob.put(f"/users/@me/game-relationships/{alice.id}")).status == 204


async def test_friend_requests_can_be_limited_to_members_of_mutual_guilds(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await change_settings(alice, friend_source_flags={"mutual_guilds": True})
    await world.guild(alice, bob)

    assert (await bob.put(f"/users/@me/relationships/{alice.id}")).status == 204
    (await carol.put(f"/users/@me/relationships/{alice.id}")).rejected(400, 80000)


# Messages


async def test_members_of_a_restricted_guild_cannot_message_without_another_mutual_guild(
    world: World,
) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    await change_settings(alice, restricted_guilds=[str(guild.id)])
    channel_id_by_sender = {}
    for sender in (bob, bot):
        channel_id_by_sender[sender.id] = (
            await sender.post("/users/@me/channels", json={"recipient_id": str(alice.id)})
        ).ok()["id"]
        (await sender.post(f"/channels/{channel_id_by_sender[sender.id]}/messages", json={"content": "hi"})).rejected(
            403, 50007
        )

    await world.guild(bob, alice)
    (await bob.post(f"/channels/{channel_id_by_sender[bob.id]}/messages", json={"content": "hi"})).ok()
    # The restriction does not apply in the other direction.
    (await alice.post(f"/channels/{channel_id_by_sender[bob.id]}/messages", json={"content": "hi"})).ok()


async def test_a_restricted_guild_does_not_permit_messages_from_a_game(world: World) -> None:
    game = await create_game(world)
    users = [await world.user() for _ in range(2)]
    alice, bob = [await game.add_player(user) for user in users]
    guild = await world.guild(*users)
    channel_id = (await users[1].post("/users/@me/channels", json={"recipient_id": str(alice.id)})).ok()["id"]
    (await users[1].post(f"/channels/{channel_id}/messages", json={"content": "hi"})).ok()
    path = f"/users/{alice.id}/messages"
    (await bob.post(path, json={"content": "hi"})).ok()

    await change_settings(users[0], restricted_guilds=[str(guild.id)])

    (await bob.post(path, json={"content": "hi"})).rejected(403, 50007)


async def test_game_friend_messages_can_be_kept_out_of_the_chat_client(world: World) -> None:
    game = await create_game(world)
    user = await world.user()
    alice, bob = await game.add_player(user), await game.add_player()
    for sender, recipient in ((alice, bob), (bob, alice)):
        (await sender.put(f"/users/@me/game-relationships/{recipient.id}")).ok()
    await change_settings(user, allow_game_friend_dms_in_platform=False)
    path = f"/users/{alice.id}/messages"

    (await bob.post(path, json={"content": "hi"})).rejected(403, 50007)
    chat_session, game_session = await user.connect(), await alice.connect_sdk()
    await bob.connect_sdk()
    assert (await bob.post(path, json={"content": "hi"})).ok()["channel_id"] == str(alice.id)
    assert (await game_session.next("MESSAGE_CREATE"))["content"] == "hi"
    await chat_session.assert_not_received("MESSAGE_CREATE")


@pytest.mark.parametrize(
    ("setting", "is_friend_player", "is_received"),
    [
        (InGameMessages.ALL, False, True),
        (InGameMessages.USERS_WITH_GAME, False, False),
        (InGameMessages.USERS_WITH_GAME, True, True),
        (InGameMessages.NONE, True, False),
    ],
)
async def test_the_setting_selects_which_direct_messages_reach_games(
    world: World, setting: InGameMessages, is_friend_player: bool, is_received: bool
) -> None:
    game = await create_game(world)
    user, friend = await world.user(), await world.user()
    await befriend(user, friend)
    game_session = await (await game.add_player(user)).connect_sdk()
    if is_friend_player:
        await game.add_player(friend)
    chat_session = await user.connect()
    await change_settings(user, slayer_sdk_receive_dms_in_game=setting)
    channel_id = (await friend.post("/users/@me/channels", json={"recipient_id": str(user.id)})).ok()["id"]

    message = (await friend.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).ok()
    (await friend.patch(f"/channels/{channel_id}/messages/{message['id']}", json={"content": "hello"})).ok()

    assert (await chat_session.next("MESSAGE_UPDATE"))["content"] == "hello"
    if is_received:
        assert (await game_session.next("MESSAGE_UPDATE"))["content"] == "hello"
    else:
        await game_session.assert_not_received("MESSAGE_CREATE", "MESSAGE_UPDATE")


async def test_disabling_messages_in_games_still_permits_invites(world: World) -> None:
    game = await create_game(world)
    user = await world.user()
    alice, bob = await game.add_player(user), await game.add_player()
    alice_session = await alice.connect_sdk()
    activity = await start_joinable_activity(bob, await bob.connect_sdk())
    await change_settings(user, slayer_sdk_receive_dms_in_game=InGameMessages.NONE)

    (await bob.post(f"/users/{alice.id}/messages", json={"content": "hi"})).rejected(403, 50007)
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": activity})).ok()
    assert (await alice_session.next("MESSAGE_CREATE"))["activity"]["party_id"] == "party"
    await befriend(alice, bob)
    (await bob.post(f"/users/{alice.id}/messages", json={"activity": activity})).ok()
    assert (await alice_session.next("MESSAGE_CREATE"))["activity"]["party_id"] == "party"


# Parties


async def test_joining_a_public_party_respects_the_hosts_friend_setting(world: World) -> None:
    game = await create_game(world)
    user = await world.user()
    alice, bob = await game.add_player(user), await game.add_player()
    await befriend(alice, bob)
    session = await alice.connect_sdk()
    activity = {
        "name": "Game",
        "type": ActivityType.PLAYING,
        "party": {"id": "party", "privacy": 1},
        "secrets": {"join": "open sesame"},
    }
    await session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "online", "activities": [activity], "since": None, "afk": False}
    )
    await session.wait_processed()
    path = f"/users/{alice.id}/sessions/{session.ready['session_id']}/activities/{game.id}/1"
    (await bob.get(path)).ok()

    await change_settings(user, allow_activity_party_privacy_friends=False)

    (await bob.get(path)).rejected(403, 50001)


async def test_settings_are_part_of_the_data_export(world: World) -> None:
    alice = await world.user()
    settings = await change_settings(alice, friend_source_flags={})

    assert (await alice.get("/users/@me/harvest")).ok()["records"]["settings"] == settings


# Order of guilds


async def test_folders_of_guilds_are_stored_and_reach_other_clients(world: World) -> None:
    alice = await world.user()
    first_guild_id, second_guild_id, third_guild_id = [(await world.guild(None, alice)).id for _ in range(3)]
    session = await alice.connect()
    folders = [
        {"id": None, "guild_ids": [str(third_guild_id)], "name": None, "color": None, "collapsed": False},
        {
            "id": 7,
            "guild_ids": [str(second_guild_id), str(first_guild_id)],
            "name": "Work",
            "color": 0x0D6B62,
            "collapsed": True,
        },
    ]

    changed_settings = await change_settings(alice, guild_folders=folders)

    assert changed_settings["guild_folders"] == folders
    assert (await session.next("USER_SETTINGS_UPDATE"))["guild_folders"] == folders
    assert (await alice.connect()).ready["user_settings"]["guild_folders"] == folders
    # A guild stays in its folder after the user left it, and other settings do not change the order.
    (await alice.delete(f"/users/@me/guilds/{first_guild_id}")).ok()
    assert (await change_settings(alice, theme="dark"))["guild_folders"] == folders
    assert (await change_settings(alice, guild_folders=folders[1:]))["guild_folders"] == folders[1:]


async def test_wrong_folders_are_rejected_with_the_path_of_the_field(world: World) -> None:
    alice = await world.user()
    own_guild_id, foreign_guild_id = (await world.guild(alice)).id, (await world.guild()).id
    other_guild_id = (await world.guild(alice)).id

    async def errors_of(path: str, *folders: dict[str, Any]) -> list[str]:
        return (await alice.patch(SETTINGS_PATH, json={"guild_folders": list(folders)})).errors(path)

    guild_ids = [str(own_guild_id), str(other_guild_id)]
    assert await errors_of("guild_folders.0.id", {"guild_ids": guild_ids}) == ["FOLDER_ID_REQUIRED"]
    folders_with_same_id = [{"id": 1, "guild_ids": [guild_id]} for guild_id in guild_ids]
    assert await errors_of("guild_folders.1.id", *folders_with_same_id) == ["FOLDER_DUPLICATE"]
    folders_with_repeated_guild = [{"guild_ids": guild_ids[:1]}, {"id": 1, "guild_ids": guild_ids}]
    assert await errors_of("guild_folders.1.guild_ids.0", *folders_with_repeated_guild) == ["GUILD_DUPLICATE"]
    assert await errors_of("guild_folders.0.guild_ids.0", {"guild_ids": [str(foreign_guild_id)]}) == ["GUILD_UNKNOWN"]
    assert await errors_of("guild_folders.0.guild_ids", {"id": 1, "guild_ids": []})
    assert await errors_of("guild_folders.0.name", {"id": 1, "guild_ids": guild_ids, "name": "x" * 33})
    assert await errors_of("guild_folders.0.color", {"id": 1, "guild_ids": guild_ids, "color": 0x1000000})
