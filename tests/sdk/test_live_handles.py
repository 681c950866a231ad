"""Handles reflect changes made by others without new requests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from hubbub.sdk import AuthorizationTokenType, Client, ClientStatus, LinkedChannel, StatusType
from tests.oauth import Client as Application
from tests.sdk.players import CallbackRecorder, Player, game, new_client, player
from tests.sdk.test_presence import activity_of, friends, joinable_activity
from tests.sdk.test_provisional import provisional_token
from tests.world import WAIT_TIMEOUT_SECONDS, Guild, World


@asynccontextmanager
async def provisional_player(world: World, application: Application) -> AsyncIterator[tuple[Client, int]]:
    """Create a connected provisional player."""
    token = (await provisional_token(application, "hero-1")).ok()["access_token"]
    client = new_client(world)
    await client.update_token(AuthorizationTokenType.BEARER, token)
    await client.connect()
    me = client.get_current_user_v2()
    assert me is not None
    yield client, me.id
    await client.close()


class Linked:
    """A lobby linked to a channel, seen by the member who did not link it."""

    def __init__(
        self,
        application: Application,
        mary: Player,
        zoe: Player,
        guild: Guild,
        lobby_id: int,
        updated: CallbackRecorder,
    ) -> None:
        self.application, self.mary, self.zoe, self.guild = application, mary, zoe, guild
        self.lobby_id = lobby_id
        self.updated = updated

    @property
    def seen(self) -> LinkedChannel | None:
        lobby = self.zoe.client.get_lobby_handle(self.lobby_id)
        assert lobby is not None
        return lobby.linked_channel


@asynccontextmanager
async def linked(world: World) -> AsyncIterator[Linked]:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    guild = await world.guild(mary.user)
    assert application.bot is not None
    body = {"members": [{"id": str(mary.id), "flags": 1}, {"id": str(zoe.id)}]}
    created, updated = [each.record_event("lobby_created") for each in (mary, zoe)], zoe.record_event("lobby_updated")
    lobby_id = int((await application.bot.post("/lobbies", json=body)).ok()["id"])
    for received in created:
        await received.next()
    house = Linked(application, mary, zoe, guild, lobby_id, updated)
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    await updated.next(lambda _: house.seen is not None)
    yield house
    await mary.client.close()
    await zoe.client.close()


async def test_unlinking_by_another_member_is_visible(world: World) -> None:
    async with linked(world) as house:
        await house.mary.client.unlink_channel_from_lobby(house.lobby_id)

        await house.updated.next(lambda _: house.seen is None)
        # The channel is now unknown to the game.
        assert house.zoe.client.get_channel_handle(house.guild.general) is None
        assert house.mary.client.get_channel_handle(house.guild.general) is None


async def test_linking_another_channel_is_visible(world: World) -> None:
    async with linked(world) as house:
        other = await house.guild.channel("elsewhere")

        await house.mary.client.link_channel_to_lobby(house.lobby_id, other)

        await house.updated.next(lambda _: house.seen is not None and house.seen.id == other)
        known = [house.zoe.client.get_channel_handle(each) is not None for each in (house.guild.general, other)]
        assert known == [False, True]


async def test_deleting_the_lobby_removes_the_linked_channel(world: World) -> None:
    async with linked(world) as house:
        gone = house.zoe.record_event("lobby_deleted")
        assert house.zoe.client.get_channel_handle(house.guild.general) is not None

        assert house.application.bot is not None
        (await house.application.bot.delete(f"/lobbies/{house.lobby_id}")).ok()

        await gone.next()
        for channel_id in (house.lobby_id, house.guild.general):
            assert house.zoe.client.get_channel_handle(channel_id) is None


async def test_unlinking_from_the_guild_side_is_visible(world: World) -> None:
    async with linked(world) as house:
        (await house.mary.user.delete(f"/channels/{house.guild.general}/linked-lobby")).ok()

        await house.updated.next(lambda _: house.seen is None)


async def test_renaming_and_deleting_the_linked_channel_is_visible(world: World) -> None:
    async with linked(world) as house:
        (await house.mary.user.patch(f"/channels/{house.guild.general}", json={"name": "pond"})).ok()

        await house.updated.next(lambda _: house.seen is not None and house.seen.name == "pond")

        (await house.mary.user.delete(f"/channels/{house.guild.general}")).ok()

        await house.updated.next(lambda _: house.seen is None)


def name_of(viewer: Player, user_id: int) -> str:
    user = viewer.client.get_user(user_id)
    assert user is not None
    return user.display_name


async def rename(renamed: Player, name: str) -> None:
    (await renamed.user.patch("/users/@me", json={"global_name": name})).ok()


async def test_a_game_friends_new_name_is_visible(world: World) -> None:
    mary, zoe = await friends(world)
    updated, regrouped = zoe.record_event("user_updated"), zoe.record_event("relationship_groups_updated")

    await rename(mary, "Mary the Great")

    await updated.next(lambda user_id: user_id == mary.id and name_of(zoe, mary.id) == "Mary the Great")
    await regrouped.next(lambda user_id: user_id == mary.id)
    await mary.client.close()
    await zoe.client.close()


async def test_a_platform_friends_new_name_is_visible(world: World) -> None:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    asked, accepted = zoe.record_event("relationship_created"), mary.record_event("relationship_created")
    await mary.client.send_platform_friend_request_by_id(zoe.id)
    await asked.next()
    await zoe.client.accept_platform_friend_request(mary.id)
    await accepted.next(lambda user_id, _: mary.client.get_relationship_handle(user_id).platform_relationship_type == 1)
    updated = mary.record_event("user_updated")

    await rename(zoe, "Zoe the Wise")

    await updated.next(lambda user_id: user_id == zoe.id and name_of(mary, zoe.id) == "Zoe the Wise")
    await mary.client.close()
    await zoe.client.close()


async def test_a_lobby_members_new_name_is_visible_to_members_only(world: World) -> None:
    application = await game(world)
    mary, zoe, rob = [await player(world, application, name) for name in ("mary", "zoe", "rob")]
    added, joined = mary.record_event("lobby_member_added"), rob.record_event("lobby_member_added")
    await mary.client.create_or_join_lobby("pond")
    await zoe.client.create_or_join_lobby("pond")
    await added.next()
    elsewhere = await rob.client.create_or_join_lobby("another pond")
    updated, changed, strange = (
        mary.record_event("user_updated"),
        mary.record_event("lobby_member_updated"),
        rob.record_event("user_updated"),
    )

    await rename(zoe, "Zoe the Wise")

    await updated.next(lambda user_id: user_id == zoe.id and name_of(mary, zoe.id) == "Zoe the Wise")
    await changed.next(lambda _, user_id: user_id == zoe.id)
    # Events about Zoe would reach Rob before the next event that he receives.
    await mary.client.create_or_join_lobby("another pond")
    await joined.next(lambda lobby_id, _: lobby_id == elsewhere)
    assert strange.all == []
    for each in (mary, zoe, rob):
        await each.client.close()


async def test_a_conversation_partners_new_name_is_visible(world: World) -> None:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    watch = await player(world, application, "rob", scopes="openid sdk.social_layer_presence")
    await world.guild(mary.user, zoe.user, watch.user)
    began = mary.record_event("message_created")
    for each in (mary, watch):
        body = {"recipients": [str(each.id)]}
        channel = (await zoe.user.post("/users/@me/channels", json=body)).ok()["id"]
        (await zoe.user.post(f"/channels/{channel}/messages", json={"content": "hello"})).ok()
    await began.next()
    updated, unseen = mary.record_event("user_updated"), watch.record_event("user_updated")

    await rename(zoe, "Zoe the Wise")

    await updated.next(lambda user_id: user_id == zoe.id and name_of(mary, zoe.id) == "Zoe the Wise")
    # A game without access to conversations does not know their recipients. Its next event would follow any about them.
    await rename(watch, "Rob the Watchful")
    assert await unseen.next() == watch.id
    for each in (mary, zoe, watch):
        await each.client.close()


async def test_a_blocked_users_new_name_is_visible(world: World) -> None:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    blocked = mary.record_event("relationship_created")
    await mary.client.block_user(zoe.id)
    await blocked.next()
    updated = mary.record_event("user_updated")

    await rename(zoe, "Zoe the Wise")

    await updated.next(lambda user_id: user_id == zoe.id and name_of(mary, zoe.id) == "Zoe the Wise")
    await mary.client.close()
    await zoe.client.close()


async def test_group_recipients_joining_and_leaving_are_visible(world: World) -> None:
    application = await game(world)
    mary, zoe, rob, ann = (
        await player(world, application, "mary"),
        *[await world.user(name) for name in ("zoe", "rob", "ann")],
    )
    await world.guild(mary.user, zoe, rob, ann)
    body = {"recipients": [str(zoe.id), str(rob.id)]}
    received = mary.record_event("message_created")
    group = int((await mary.user.post("/users/@me/channels", json=body)).ok()["id"])
    # The message about a change arrives after the change.
    (await mary.user.put(f"/channels/{group}/recipients/{ann.id}", json={})).ok()
    await received.next()
    channel = mary.client.get_channel_handle(group)
    assert channel is not None
    assert sorted(channel.recipients) == [zoe.id, rob.id, ann.id]
    assert name_of(mary, ann.id) == "ann"

    (await mary.user.delete(f"/channels/{group}/recipients/{zoe.id}")).ok()
    await received.next()
    assert sorted(channel.recipients) == [rob.id, ann.id]
    await mary.client.close()


async def test_a_provisional_friends_new_name_is_visible(world: World) -> None:
    application = await game(world)
    mary = await player(world, application, "mary")
    async with provisional_player(world, application) as (client, provisional_id):
        asked, accepted = CallbackRecorder(), mary.record_event("relationship_created")
        client.set_relationship_created_callback(asked)
        await mary.client.send_game_friend_request_by_id(provisional_id)
        await asked.next()
        await client.accept_game_friend_request(mary.id)
        await accepted.next(lambda user_id, _: mary.client.get_relationship_handle(user_id).game_relationship_type == 1)
        updated = mary.record_event("user_updated")

        await client.update_provisional_account_display_name("Heroine")

        await updated.next(lambda user_id: user_id == provisional_id and name_of(mary, provisional_id) == "Heroine")
    await mary.client.close()


async def seen_playing(world: World) -> tuple[Player, Player, CallbackRecorder]:
    """Create two friends; the second sees the activity of the first."""
    mary, zoe = await friends(world)
    updated = zoe.record_event("user_updated")
    await mary.client.update_rich_presence(joinable_activity())
    await updated.next(lambda _: activity_of(zoe, mary) is not None)
    return mary, zoe, updated


def hidden(viewer: Player, other: Player) -> bool:
    """Return whether the viewer sees neither status nor activity of the other player."""
    user = viewer.client.get_user(other.id)
    assert user is not None
    return (user.status, user.game_activity) == (StatusType.OFFLINE, None)


async def test_removing_a_friend_hides_their_activity(world: World) -> None:
    mary, zoe, updated = await seen_playing(world)

    await mary.client.remove_game_friend(zoe.id)

    await updated.next(lambda user_id: user_id == mary.id and hidden(zoe, mary))
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize("blocker", ["player", "viewer"])
async def test_a_block_hides_presence(world: World, blocker: str) -> None:
    mary, zoe, updated = await seen_playing(world)

    if blocker == "player":
        await mary.client.block_user(zoe.id)
    else:
        await zoe.client.block_user(mary.id)

    await updated.next(lambda user_id: user_id == mary.id and hidden(zoe, mary))
    await mary.client.close()
    await zoe.client.close()


async def test_a_remaining_game_friend_still_sees_the_activity(world: World) -> None:
    mary, zoe, updated = await seen_playing(world)
    made, ended = mary.record_event("relationship_created"), zoe.record_event("relationship_deleted")
    await zoe.client.send_platform_friend_request_by_id(mary.id)
    await made.next()
    await mary.client.accept_platform_friend_request(zoe.id)
    await made.next(lambda user_id, _: mary.client.get_relationship_handle(user_id).platform_relationship_type == 1)

    (await mary.user.delete(f"/users/@me/relationships/{zoe.id}")).ok()

    await ended.next(lambda user_id, platform: (user_id, platform) == (mary.id, True))
    assert activity_of(zoe, mary) is not None
    await mary.client.update_rich_presence(joinable_activity(state="Out of the puddle"))
    await updated.next(lambda _: (now := activity_of(zoe, mary)) is not None and now.state == "Out of the puddle")
    await mary.client.close()
    await zoe.client.close()


def profile_of(viewer: Player, user_id: int) -> list[tuple[str, str]]:
    return [
        (each.provider_issued_user_id, each.username) for each in viewer.client.get_user_application_profiles(user_id)
    ]


async def test_a_new_lobby_member_comes_with_their_application_profile(world: World) -> None:
    application = await game(world)
    mary, zoe = await player(world, application, "mary"), await player(world, application, "zoe")
    async with provisional_player(world, application) as (client, provisional_id):
        added, created = mary.record_event("lobby_member_added"), zoe.record_event("lobby_created")
        lobby_id = await mary.client.create_or_join_lobby("pond")

        await client.create_or_join_lobby("pond")

        await added.next(lambda _, user_id: user_id == provisional_id)
        assert [external for external, _ in profile_of(mary, provisional_id)] == ["hero-1"]

        # Later members receive it too. The backend adds them, since an HTTP response does not carry the profile.
        assert application.bot is not None
        (await application.bot.put(f"/lobbies/{lobby_id}/members/{zoe.id}", json={})).ok()
        await created.next()
        assert [external for external, _ in profile_of(zoe, provisional_id)] == ["hero-1"]
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize("platform", [True, False])
async def test_a_new_friend_comes_with_their_application_profile(world: World, platform: bool) -> None:
    application = await game(world)
    mary = await player(world, application, "mary")
    async with provisional_player(world, application) as (client, provisional_id):
        made = mary.record_event("relationship_created")

        if platform:
            await client.send_platform_friend_request_by_id(mary.id)
        else:
            await client.send_game_friend_request_by_id(mary.id)

        await made.next(lambda user_id, _: user_id == provisional_id)
        assert [external for external, _ in profile_of(mary, provisional_id)] == ["hero-1"]
    await mary.client.close()


async def test_a_profile_changed_by_the_backend_is_visible(world: World) -> None:
    application = await game(world)
    mary, zoe, rob = [await player(world, application, name) for name in ("mary", "zoe", "rob")]
    async with provisional_player(world, application) as (client, provisional_id):
        asked, added = mary.record_event("relationship_created"), zoe.record_event("lobby_member_added")
        await client.send_game_friend_request_by_id(mary.id)
        await asked.next()
        await zoe.client.create_or_join_lobby("pond")
        await client.create_or_join_lobby("pond")
        await added.next()
        own, strange, joined = (
            CallbackRecorder(),
            rob.record_event("user_updated"),
            rob.record_event("lobby_member_added"),
        )
        client.set_user_updated_callback(own)
        hears = [each.record_event("user_updated") for each in (mary, zoe)]
        (handle,) = mary.client.get_user_application_profiles(provisional_id)

        assert application.bot is not None
        path = f"/applications/{application.id}/users/{provisional_id}/identities/hero-1/profile"
        (await application.bot.patch(path, json={"username": "Paladin", "metadata": {"level": "9"}})).ok()

        for each, received in zip((mary, zoe), hears, strict=True):
            await received.next(lambda user_id: user_id == provisional_id)
            assert profile_of(each, provisional_id) == [("hero-1", "Paladin")]
        await own.next(lambda user_id: user_id == provisional_id)
        assert client.get_user_application_profiles(provisional_id)[0].username == "Paladin"
        assert (handle.username, json.loads(handle.metadata)) == ("Paladin", {"level": "9"})
        # Events about the provisional player would reach Rob before the next event that he receives.
        await rob.client.create_or_join_lobby("another pond")
        await mary.client.create_or_join_lobby("another pond")
        await joined.next()
        assert strange.all == []
    for each in (mary, zoe, rob):
        await each.client.close()


async def test_reads_under_the_lock_are_consistent(world: World) -> None:
    mary = await player(world, await game(world), "mary", threaded=True, connect=False)
    mary.client.connect()
    updated = mary.record_event("user_updated")
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while mary.client.get_status() is not ClientStatus.READY:
            mary.client.run_callbacks()
            await asyncio.sleep(0.01)
    me = mary.client.get_current_user_v2()
    assert me is not None

    with mary.client.locked():
        before = me.display_name, mary.client.get_user_application_profiles_no_lock(me.id)
        (await mary.user.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
        assert not await asyncio.to_thread(mary.client._core.lock.acquire, blocking=False)
        assert (me.display_name, mary.client.get_user_application_profiles_no_lock(me.id)) == before

    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not updated.all:
            mary.client.run_callbacks()
            await asyncio.sleep(0.01)
    assert me.display_name == "Mary the Great"
    mary.client.close()
