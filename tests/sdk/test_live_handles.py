"""Handles reflect changes by other users and by the platform without new requests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.sdk import AuthorizationTokenType, Client, ClientStatus, LinkedChannel, RelationshipType, StatusType
from tests.oauth import Client as Application
from tests.sdk.players import (
    CallbackRecorder,
    Player,
    create_friends,
    create_game,
    create_player,
    is_game_friend,
    joinable_activity,
    new_client,
    request_provisional_token,
    visible_activity,
)
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World


@asynccontextmanager
async def connect_provisional_player(world: World, application: Application) -> AsyncIterator[tuple[Client, int]]:
    """Create and connect a provisional player; yield the client and the user ID."""
    token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    client = new_client(world)
    await client.update_token(AuthorizationTokenType.BEARER, token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    yield client, me.id
    await client.close()


class LinkedLobbySetup:
    """A lobby linked to a channel, seen by the member who did not link it."""

    def __init__(
        self,
        application: Application,
        mary: Player,
        zoe: Player,
        guild: Guild,
        lobby_id: int,
        update_recorder: CallbackRecorder,
    ) -> None:
        self.application, self.mary, self.zoe, self.guild = application, mary, zoe, guild
        self.lobby_id = lobby_id
        self.update_recorder = update_recorder

    @property
    def linked_channel(self) -> LinkedChannel | None:
        lobby = self.zoe.client.get_lobby_handle(self.lobby_id)
        assert lobby is not None
        return lobby.linked_channel


@asynccontextmanager
async def open_linked_lobby(world: World) -> AsyncIterator[LinkedLobbySetup]:
    """Create a lobby of Mary and Zoe that Mary links to a channel; disconnect both players at the end of the block."""
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    guild = await world.guild(mary.user)
    assert application.bot is not None
    body = {"members": [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(zoe.id)}]}
    created_recorders, update_recorder = (
        [player.record_event("lobby_created") for player in (mary, zoe)],
        zoe.record_event("lobby_updated"),
    )
    lobby_id = int((await application.bot.post("/lobbies", json=body)).ok()["id"])
    for recorder in created_recorders:
        await recorder.next()
    setup = LinkedLobbySetup(application, mary, zoe, guild, lobby_id, update_recorder)
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    await update_recorder.next(lambda _: setup.linked_channel is not None)
    yield setup
    await mary.client.close()
    await zoe.client.close()


async def test_unlinking_by_another_member_is_visible(world: World) -> None:
    async with open_linked_lobby(world) as setup:
        await setup.mary.client.unlink_channel_from_lobby(setup.lobby_id)

        await setup.update_recorder.next(lambda _: setup.linked_channel is None)
        # The channel is now unknown to the game.
        assert setup.zoe.client.get_channel_handle(setup.guild.general) is None
        assert setup.mary.client.get_channel_handle(setup.guild.general) is None


async def test_linking_another_channel_is_visible(world: World) -> None:
    async with open_linked_lobby(world) as setup:
        other_channel_id = await setup.guild.channel("elsewhere")

        await setup.mary.client.link_channel_to_lobby(setup.lobby_id, other_channel_id)

        await setup.update_recorder.next(
            lambda _: setup.linked_channel is not None and setup.linked_channel.id == other_channel_id
        )
        is_known = [
            setup.zoe.client.get_channel_handle(channel_id) is not None
            for channel_id in (setup.guild.general, other_channel_id)
        ]
        assert is_known == [False, True]


async def test_deleting_the_lobby_removes_the_linked_channel(world: World) -> None:
    async with open_linked_lobby(world) as setup:
        deleted_events = setup.zoe.record_event("lobby_deleted")
        assert setup.zoe.client.get_channel_handle(setup.guild.general) is not None

        assert setup.application.bot is not None
        (await setup.application.bot.delete(f"/lobbies/{setup.lobby_id}")).ok()

        await deleted_events.next()
        for channel_id in (setup.lobby_id, setup.guild.general):
            assert setup.zoe.client.get_channel_handle(channel_id) is None


async def test_unlinking_from_the_guild_side_is_visible(world: World) -> None:
    async with open_linked_lobby(world) as setup:
        (await setup.mary.user.delete(f"/channels/{setup.guild.general}/linked-lobby")).ok()

        await setup.update_recorder.next(lambda _: setup.linked_channel is None)


async def test_renaming_and_deleting_the_linked_channel_is_visible(world: World) -> None:
    async with open_linked_lobby(world) as setup:
        (await setup.mary.user.patch(f"/channels/{setup.guild.general}", json={"name": "pond"})).ok()

        await setup.update_recorder.next(
            lambda _: setup.linked_channel is not None and setup.linked_channel.name == "pond"
        )

        (await setup.mary.user.delete(f"/channels/{setup.guild.general}")).ok()

        await setup.update_recorder.next(lambda _: setup.linked_channel is None)


def is_platform_friend(player: Player, user_id: int) -> bool:
    """Return whether a user is a friend of a player on the platform."""
    return player.client.get_relationship_handle(user_id).platform_relationship_type is RelationshipType.FRIEND


def display_name(viewer: Player, user_id: int) -> str:
    user = viewer.client.get_user(user_id)
    assert user is not None
    return user.display_name


async def rename_player(player: Player, name: str) -> None:
    (await player.user.patch("/users/@me", json={"global_name": name})).ok()


async def test_a_game_friends_new_name_is_visible(world: World) -> None:
    mary, zoe = await create_friends(world)
    updated_events, regrouped_events = zoe.record_event("user_updated"), zoe.record_event("relationship_groups_updated")

    await rename_player(mary, "Mary the Great")

    await updated_events.next(lambda user_id: user_id == mary.id and display_name(zoe, mary.id) == "Mary the Great")
    await regrouped_events.next(lambda user_id: user_id == mary.id)
    await mary.client.close()
    await zoe.client.close()


async def test_a_platform_friends_new_name_is_visible(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    request_events, accepted_events = (
        zoe.record_event("relationship_created"),
        mary.record_event("relationship_created"),
    )
    await mary.client.send_platform_friend_request_by_id(zoe.id)
    await request_events.next()
    await zoe.client.accept_platform_friend_request(mary.id)
    await accepted_events.next(lambda user_id, _: is_platform_friend(mary, user_id))
    updated_events = mary.record_event("user_updated")

    await rename_player(zoe, "Zoe the Wise")

    await updated_events.next(lambda user_id: user_id == zoe.id and display_name(mary, zoe.id) == "Zoe the Wise")
    await mary.client.close()
    await zoe.client.close()


async def test_a_lobby_members_new_name_is_visible_to_members_only(world: World) -> None:
    application = await create_game(world)
    mary, zoe, rob = [await create_player(world, application, name) for name in ("mary", "zoe", "rob")]
    added_events, joined_events = mary.record_event("lobby_member_added"), rob.record_event("lobby_member_added")
    await mary.client.create_or_join_lobby("pond")
    await zoe.client.create_or_join_lobby("pond")
    await added_events.next()
    other_lobby_id = await rob.client.create_or_join_lobby("another pond")
    updated_events, changed_events, rob_updated_events = (
        mary.record_event("user_updated"),
        mary.record_event("lobby_member_updated"),
        rob.record_event("user_updated"),
    )

    await rename_player(zoe, "Zoe the Wise")

    await updated_events.next(lambda user_id: user_id == zoe.id and display_name(mary, zoe.id) == "Zoe the Wise")
    await changed_events.next(lambda _, user_id: user_id == zoe.id)
    # Events about Zoe would reach Rob before the next event that he receives.
    await mary.client.create_or_join_lobby("another pond")
    await joined_events.next(lambda lobby_id, _: lobby_id == other_lobby_id)
    assert rob_updated_events.calls == []
    for player in (mary, zoe, rob):
        await player.client.close()


async def test_a_conversation_partners_new_name_is_visible(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    rob = await create_player(world, application, "rob", scopes="openid sdk.social_layer_presence")
    await world.guild(mary.user, zoe.user, rob.user)
    message_events = mary.record_event("message_created")
    for player in (mary, rob):
        body = {"recipients": [str(player.id)]}
        channel_id = (await zoe.user.post("/users/@me/channels", json=body)).ok()["id"]
        (await zoe.user.post(f"/channels/{channel_id}/messages", json={"content": "hello"})).ok()
    await message_events.next()
    updated_events, rob_updated_events = mary.record_event("user_updated"), rob.record_event("user_updated")

    await rename_player(zoe, "Zoe the Wise")

    await updated_events.next(lambda user_id: user_id == zoe.id and display_name(mary, zoe.id) == "Zoe the Wise")
    # A game without access to conversations does not know their recipients. An event about Zoe would arrive before the
    # event about Rob.
    await rename_player(rob, "Rob the Watchful")
    assert await rob_updated_events.next() == rob.id
    for player in (mary, zoe, rob):
        await player.client.close()


async def test_a_blocked_users_new_name_is_visible(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    blocked_events = mary.record_event("relationship_created")
    await mary.client.block_user(zoe.id)
    await blocked_events.next()
    updated_events = mary.record_event("user_updated")

    await rename_player(zoe, "Zoe the Wise")

    await updated_events.next(lambda user_id: user_id == zoe.id and display_name(mary, zoe.id) == "Zoe the Wise")
    await mary.client.close()
    await zoe.client.close()


async def test_group_recipients_joining_and_leaving_are_visible(world: World) -> None:
    application = await create_game(world)
    mary, zoe, rob, ann = (
        await create_player(world, application, "mary"),
        *[await world.user(name) for name in ("zoe", "rob", "ann")],
    )
    await world.guild(mary.user, zoe, rob, ann)
    body = {"recipients": [str(zoe.id), str(rob.id)]}
    received_events = mary.record_event("message_created")
    group_id = int((await mary.user.post("/users/@me/channels", json=body)).ok()["id"])
    # The message about a change arrives after the change.
    (await mary.user.put(f"/channels/{group_id}/recipients/{ann.id}", json={})).ok()
    await received_events.next()
    channel = mary.client.get_channel_handle(group_id)
    assert channel is not None
    assert sorted(channel.recipients) == [zoe.id, rob.id, ann.id]
    assert display_name(mary, ann.id) == "ann"

    (await mary.user.delete(f"/channels/{group_id}/recipients/{zoe.id}")).ok()
    await received_events.next()
    assert sorted(channel.recipients) == [rob.id, ann.id]
    await mary.client.close()


async def test_a_provisional_friends_new_name_is_visible(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary")
    async with connect_provisional_player(world, application) as (client, provisional_id):
        request_events, accepted_events = CallbackRecorder(), mary.record_event("relationship_created")
        client.set_relationship_created_callback(request_events)
        await mary.client.send_game_friend_request_by_id(provisional_id)
        await request_events.next()
        await client.accept_game_friend_request(mary.id)
        await accepted_events.next(lambda user_id, _: is_game_friend(mary, user_id))
        updated_events = mary.record_event("user_updated")

        await client.update_provisional_account_display_name("Heroine")

        await updated_events.next(
            lambda user_id: user_id == provisional_id and display_name(mary, provisional_id) == "Heroine"
        )
    await mary.client.close()


async def create_friends_with_activity(world: World) -> tuple[Player, Player, CallbackRecorder]:
    """Create two friends. The second sees the activity of the first.

    Return the friends and the recorder of the user updates of the second.
    """
    mary, zoe = await create_friends(world)
    updated_events = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await updated_events.next(lambda _: visible_activity(zoe, mary) is not None)
    return mary, zoe, updated_events


def is_hidden(viewer: Player, other: Player) -> bool:
    """Return whether the viewer sees neither status nor activity of the other player."""
    user = viewer.client.get_user(other.id)
    assert user is not None
    return (user.status, user.game_activity) == (StatusType.OFFLINE, None)


async def test_removing_a_friend_hides_their_activity(world: World) -> None:
    mary, zoe, updated_events = await create_friends_with_activity(world)

    await mary.client.remove_game_friend(zoe.id)

    await updated_events.next(lambda user_id: user_id == mary.id and is_hidden(zoe, mary))
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize("blocker", ["player", "viewer"])
async def test_a_block_hides_presence(world: World, blocker: str) -> None:
    mary, zoe, updated_events = await create_friends_with_activity(world)

    if blocker == "player":
        await mary.client.block_user(zoe.id)
    else:
        await zoe.client.block_user(mary.id)

    await updated_events.next(lambda user_id: user_id == mary.id and is_hidden(zoe, mary))
    await mary.client.close()
    await zoe.client.close()


async def test_a_remaining_game_friend_still_sees_the_activity(world: World) -> None:
    mary, zoe, updated_events = await create_friends_with_activity(world)
    relationship_events, deleted_events = (
        mary.record_event("relationship_created"),
        zoe.record_event("relationship_deleted"),
    )
    await zoe.client.send_platform_friend_request_by_id(mary.id)
    await relationship_events.next()
    await mary.client.accept_platform_friend_request(zoe.id)
    await relationship_events.next(lambda user_id, _: is_platform_friend(mary, user_id))

    (await mary.user.delete(f"/users/@me/relationships/{zoe.id}")).ok()

    await deleted_events.next(lambda user_id, platform: (user_id, platform) == (mary.id, True))
    assert visible_activity(zoe, mary) is not None
    await mary.client.update_rich_presence(joinable_activity(state="Out of the puddle"))
    await updated_events.next(
        lambda _: (activity := visible_activity(zoe, mary)) is not None and activity.state == "Out of the puddle"
    )
    await mary.client.close()
    await zoe.client.close()


def application_profiles(viewer: Player, user_id: int) -> list[tuple[str, str]]:
    return [
        (profile.provider_issued_user_id, profile.username)
        for profile in viewer.client.get_user_application_profiles(user_id)
    ]


async def test_a_new_lobby_member_comes_with_the_application_profile(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    async with connect_provisional_player(world, application) as (client, provisional_id):
        added_events, created_events = mary.record_event("lobby_member_added"), zoe.record_event("lobby_created")
        lobby_id = await mary.client.create_or_join_lobby("pond")

        await client.create_or_join_lobby("pond")

        await added_events.next(lambda _, user_id: user_id == provisional_id)
        assert [external for external, _ in application_profiles(mary, provisional_id)] == ["hero-1"]

        # Members who join later also receive the profile. The game's backend adds Zoe, because the response to a
        # member who joins does not contain the profile.
        assert application.bot is not None
        (await application.bot.put(f"/lobbies/{lobby_id}/members/{zoe.id}", json={})).ok()
        await created_events.next()
        assert [external for external, _ in application_profiles(zoe, provisional_id)] == ["hero-1"]
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize("is_platform_request", [True, False])
async def test_a_friend_request_comes_with_the_application_profile(world: World, is_platform_request: bool) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary")
    async with connect_provisional_player(world, application) as (client, provisional_id):
        relationship_events = mary.record_event("relationship_created")

        if is_platform_request:
            await client.send_platform_friend_request_by_id(mary.id)
        else:
            await client.send_game_friend_request_by_id(mary.id)

        await relationship_events.next(lambda user_id, _: user_id == provisional_id)
        assert [external for external, _ in application_profiles(mary, provisional_id)] == ["hero-1"]
    await mary.client.close()


async def test_a_profile_changed_by_the_backend_is_visible(world: World) -> None:
    application = await create_game(world)
    mary, zoe, rob = [await create_player(world, application, name) for name in ("mary", "zoe", "rob")]
    async with connect_provisional_player(world, application) as (client, provisional_id):
        request_events, added_events = mary.record_event("relationship_created"), zoe.record_event("lobby_member_added")
        await client.send_game_friend_request_by_id(mary.id)
        await request_events.next()
        await zoe.client.create_or_join_lobby("pond")
        await client.create_or_join_lobby("pond")
        await added_events.next()
        own_updated_events, rob_updated_events, joined_events = (
            CallbackRecorder(),
            rob.record_event("user_updated"),
            rob.record_event("lobby_member_added"),
        )
        client.set_user_updated_callback(own_updated_events)
        recorders = [player.record_event("user_updated") for player in (mary, zoe)]
        (handle,) = mary.client.get_user_application_profiles(provisional_id)

        assert application.bot is not None
        path = f"/applications/{application.id}/users/{provisional_id}/identities/hero-1/profile"
        (await application.bot.patch(path, json={"username": "Paladin", "metadata": {"level": "9"}})).ok()

        for player, recorder in zip((mary, zoe), recorders, strict=True):
            await recorder.next(lambda user_id: user_id == provisional_id)
            assert application_profiles(player, provisional_id) == [("hero-1", "Paladin")]
        await own_updated_events.next(lambda user_id: user_id == provisional_id)
        assert client.get_user_application_profiles(provisional_id)[0].username == "Paladin"
        assert (handle.username, json.loads(handle.metadata)) == ("Paladin", {"level": "9"})
        # Events about the provisional player would reach Rob before the next event that he receives.
        await rob.client.create_or_join_lobby("another pond")
        await mary.client.create_or_join_lobby("another pond")
        await joined_events.next()
        assert rob_updated_events.calls == []
    for player in (mary, zoe, rob):
        await player.client.close()


async def test_reads_under_the_lock_are_consistent(world: World) -> None:
    mary = await create_player(world, await create_game(world), "mary", threaded=True, connect=False)
    mary.client.connect()
    updated_events = mary.record_event("user_updated")
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while mary.client.get_status() is not ClientStatus.READY:
            mary.client.run_callbacks()
            await asyncio.sleep(0.01)
    me = mary.client.get_current_user_v2()
    assert me is not None

    with mary.client.locked():
        state_before = me.display_name, mary.client.get_user_application_profiles_no_lock(me.id)
        (await mary.user.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
        assert not await asyncio.to_thread(mary.client._core.lock.acquire, blocking=False)
        assert (me.display_name, mary.client.get_user_application_profiles_no_lock(me.id)) == state_before

    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not updated_events.calls:
            mary.client.run_callbacks()
            await asyncio.sleep(0.01)
    assert me.display_name == "Mary the Great"
    mary.client.close()
