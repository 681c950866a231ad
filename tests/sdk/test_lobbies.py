"""Lobbies through the SDK: joining, messages, leaving and linked channels."""

import pytest

from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.sdk import ChannelType, ErrorType, SdkError
from tests.sdk.players import create_game, create_player, create_two_players
from tests.world import World


async def test_two_players_join_a_lobby_by_its_secret(world: World) -> None:
    mary, zoe = await create_two_players(world)
    created_events, added_events = mary.record_event("lobby_created"), mary.record_event("lobby_member_added")

    lobby_id = await mary.client.create_or_join_lobby_with_metadata("secret", {"map": "pond"}, {"boots": "red"})
    assert await created_events.next() == lobby_id
    assert await zoe.client.create_or_join_lobby("secret") == lobby_id

    assert await added_events.next() == (lobby_id, zoe.id)
    lobby = mary.client.get_lobby_handle(lobby_id)
    assert lobby is not None
    assert mary.client.get_lobby_ids() == [lobby_id]
    assert lobby.metadata == {"map": "pond"}
    assert sorted(lobby.lobby_member_ids) == sorted([mary.id, zoe.id])
    member = lobby.get_lobby_member_handle(mary.id)
    assert member is not None
    assert (member.metadata, member.can_link_lobby) == ({"boots": "red"}, False)
    other_member = lobby.get_lobby_member_handle(zoe.id)
    assert other_member is not None
    assert other_member.user is not None
    assert other_member.user.username == "zoe"
    assert len(created_events.calls) == 1
    await mary.client.close()
    await zoe.client.close()


async def test_a_message_handle_has_the_message_and_its_moderation_metadata(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_player(world, application, "mary"), await create_player(world, application, "zoe")
    lobby_id = await mary.client.create_or_join_lobby("secret")
    await zoe.client.create_or_join_lobby("secret")
    received_events, updated_events = zoe.record_event("message_created"), zoe.record_event("message_updated")

    message_id = await mary.client.send_lobby_message_with_metadata(lobby_id, f"hello <@{zoe.id}>", {"mood": "wet"})

    assert await received_events.next() == message_id
    message = zoe.client.get_message_handle(message_id)
    assert message is not None
    assert (message.author_id, message.channel_id, message.raw_content) == (mary.id, lobby_id, f"hello <@{zoe.id}>")
    assert message.content == "hello @zoe"
    assert message.metadata == {"mood": "wet"}
    assert message.lobby is not None
    assert message.lobby.id == lobby_id
    assert message.channel is not None
    assert message.channel.type is ChannelType.LOBBY
    assert (message.moderation_metadata, message.edited_timestamp, message.recipient_id) == ({}, 0, 0)
    assert message.sent_timestamp == world.clock.now_ms()
    assert not zoe.client.can_open_message_in_platform(message_id)

    assert application.bot is not None
    path = f"/lobbies/{lobby_id}/messages/{message_id}/moderation-metadata"
    assert (await application.bot.put(path, json={"verdict": "splashy"})).status == 204
    assert await updated_events.next() == message_id
    assert message.moderation_metadata == {"verdict": "splashy"}
    await mary.client.close()
    await zoe.client.close()
    assert (message.id, message.content, message.metadata) == (0, "", {})


async def test_history_is_newest_first(world: World) -> None:
    mary, zoe = await create_two_players(world)
    lobby_id = await mary.client.create_or_join_lobby("secret")
    ids = [await mary.client.send_lobby_message(lobby_id, f"line {number}") for number in range(4)]
    await zoe.client.create_or_join_lobby("secret")

    messages = await zoe.client.get_lobby_messages_with_limit(lobby_id, 3)

    assert [message.id for message in messages] == ids[:0:-1]
    with pytest.raises(SdkError) as caught:
        await zoe.client.get_lobby_messages_with_limit(lobby_id, 201)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()
    await zoe.client.close()


async def test_leaving_removes_the_member_and_disconnecting_does_not(world: World) -> None:
    mary, zoe = await create_two_players(world)
    lobby_id = await mary.client.create_or_join_lobby("secret")
    await zoe.client.create_or_join_lobby("secret")
    removed_events, changed_events = (
        mary.record_event("lobby_member_removed"),
        mary.record_event("lobby_member_updated"),
    )
    deleted_events = zoe.record_event("lobby_deleted")
    lobby = mary.client.get_lobby_handle(lobby_id)
    assert lobby is not None

    await zoe.client.disconnect()
    await changed_events.next(lambda _, user_id: user_id == zoe.id)
    member = lobby.get_lobby_member_handle(zoe.id)
    assert member is not None
    assert not member.connected

    await zoe.client.connect()
    await changed_events.next(lambda _, user_id: user_id == zoe.id)
    assert member.connected
    assert zoe.client.get_lobby_ids() == [lobby_id]

    await zoe.client.leave_lobby(lobby_id)
    assert await deleted_events.next() == lobby_id
    assert await removed_events.next() == (lobby_id, zoe.id)
    assert lobby.lobby_member_ids == [mary.id]
    assert zoe.client.get_lobby_ids() == []
    assert zoe.client.get_lobby_handle(lobby_id) is None
    assert len(deleted_events.calls) == 1
    await mary.client.close()
    await zoe.client.close()


async def test_channels_are_listed_in_the_order_of_the_chat_client(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary")
    guild = await world.guild(mary.user)
    for channel_id in guild.channels.values():
        (await mary.user.delete(f"/channels/{channel_id}")).ok()
    for category in (await mary.user.get(f"/guilds/{guild.id}/channels")).ok():
        (await mary.user.delete(f"/channels/{category['id']}")).ok()
    low_channel_id = await guild.channel("low", type=ChannelType.GUILD_CATEGORY, position=9)
    high_channel_id = await guild.channel("high", type=ChannelType.GUILD_CATEGORY, position=1)
    await guild.channel("low voice", type=ChannelType.GUILD_VOICE, parent_id=str(low_channel_id), position=0)
    await guild.channel("low-text", parent_id=str(low_channel_id), position=7)
    await guild.channel("low-news", parent_id=str(low_channel_id), position=4)
    await guild.channel("high-text", parent_id=str(high_channel_id), position=8)
    await guild.channel("lone voice", type=ChannelType.GUILD_VOICE, position=2)
    await guild.channel("lone-text", position=20)

    channels = await mary.client.get_guild_channels(guild.id)

    assert [channel.name for channel in channels] == [
        "lone-text",
        "lone voice",
        "high",
        "high-text",
        "low",
        "low-news",
        "low-text",
        "low voice",
    ]
    await mary.client.close()


async def test_a_lobby_is_linked_to_a_channel(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary")
    guild = await world.guild(mary.user)
    await guild.channel("second", position=5)
    assert application.bot is not None
    body = {"members": [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}]}
    created_events = mary.record_event("lobby_created")
    created_lobby = (await application.bot.post("/lobbies", json=body)).ok()
    lobby_id = int(created_lobby["id"])
    await created_events.next()

    guilds = await mary.client.get_user_guilds()
    assert [(view.id, view.name) for view in guilds] == [
        (guild.id, (await guild.owner.get(f"/guilds/{guild.id}")).ok()["name"])
    ]
    channels = await mary.client.get_guild_channels(guild.id)
    general = next(channel for channel in channels if channel.id == guild.general)
    assert (general.name, general.type, general.is_linkable, general.linked_lobby) == (
        "general",
        ChannelType.GUILD_TEXT,
        True,
        None,
    )

    updated_events = mary.record_event("lobby_updated")
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    lobby = mary.client.get_lobby_handle(lobby_id)
    assert lobby is not None
    await updated_events.next()
    assert lobby.linked_channel is not None
    assert (lobby.linked_channel.id, lobby.linked_channel.guild_id, lobby.linked_channel.name) == (
        guild.general,
        guild.id,
        "general",
    )

    received_events = mary.record_event("message_created")
    guild_message = await guild.send_message(mary.user, "from the guild")
    assert await received_events.next() == int(guild_message["id"])
    message = mary.client.get_message_handle(int(guild_message["id"]))
    assert message is not None
    assert message.content == "from the guild"
    assert mary.client.can_open_message_in_platform(message.id)
    channel = message.channel
    assert channel is not None
    assert message.lobby is not None
    assert (channel.id, channel.name, channel.type) == (message.channel_id, "general", ChannelType.GUILD_TEXT)
    assert (message.channel_id, message.lobby.id) == (guild.general, lobby_id)

    # The game resolves the mentions that it has names for; it has none for other channels and for roles.
    mentions = f"<@{mary.id}> <#{guild.general}> <#{guild.id + 1}> <@&{guild.id}>"
    message_id = int((await guild.send_message(mary.user, mentions))["id"])
    await received_events.next(lambda created_id: created_id == message_id)
    message = mary.client.get_message_handle(message_id)
    assert message is not None
    assert (message.raw_content, message.content) == (mentions, f"@mary #general <#{guild.id + 1}> <@&{guild.id}>")

    deleted_events = mary.record_event("message_deleted")
    (await mary.user.delete(f"/channels/{guild.general}/messages/{message_id}")).ok()
    assert await deleted_events.next() == (message_id, guild.general)

    await mary.client.unlink_channel_from_lobby(lobby_id)
    assert lobby.linked_channel is None
    await mary.client.close()


async def test_a_player_joins_the_guild_of_the_linked_channel(world: World) -> None:
    application = await create_game(world)
    opened_urls: list[str] = []
    mary = await create_player(world, application, "mary")
    zoe = await create_player(world, application, "zoe", open_browser=opened_urls.append)
    guild = await world.guild(mary.user)
    assert application.bot is not None
    body = {"members": [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(zoe.id)}]}
    created_events = zoe.record_event("lobby_created")
    lobby_id = int((await application.bot.post("/lobbies", json=body)).ok()["id"])
    await created_events.next()

    with pytest.raises(SdkError) as caught:
        await zoe.client.join_linked_lobby_guild(lobby_id, lambda: None)
    assert caught.value.result.type is ErrorType.VALIDATION_ERROR

    updated_events = zoe.record_event("lobby_updated")
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    await updated_events.next()
    url = await zoe.client.join_linked_lobby_guild(lobby_id, lambda: pytest.fail("zoe is not a provisional account"))

    assert opened_urls == [url]
    (await zoe.user.post(f"/invites/{url.rpartition('/')[2]}", json={})).ok()
    (await zoe.user.get(f"/guilds/{guild.id}")).ok()
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("secret", "metadata"),
    [("", {}), ("s" * 251, {}), ("s", {str(n): "x" for n in range(26)}), ("s", {"k": "v" * 1000})],
)
async def test_invalid_lobby_arguments_are_rejected_before_sending(
    world: World, secret: str, metadata: dict[str, str]
) -> None:
    mary = await create_player(world, await create_game(world))

    with pytest.raises(SdkError) as caught:
        await mary.client.create_or_join_lobby_with_metadata(secret, metadata, {})

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await mary.client.close()


async def test_lobbies_need_more_than_the_presence_scopes(world: World) -> None:
    mary = await create_player(world, await create_game(world), scopes="openid sdk.social_layer_presence")

    with pytest.raises(SdkError) as caught:
        await mary.client.create_or_join_lobby("secret")

    assert (caught.value.result.type, caught.value.result.error_code) == (ErrorType.HTTP_ERROR, 50026)
    await mary.client.close()
