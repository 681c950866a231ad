"""Direct message channels and groups: opening, closing, recipients, limits, incident actions, guild-only operations."""

from typing import Any

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType, MessageType
from hubbub.protocol.flags import MessageFlags
from hubbub.protocol.ids import UserId
from tests.server.talk.private_channels import MY_CHANNELS_PATH, create_group, open_dm, send_message
from tests.world import NOW_MS, Actor, World


async def list_channel_ids(actor: Actor) -> list[str]:
    """Return the IDs of the actor's private channels."""
    return [channel["id"] for channel in (await actor.get(MY_CHANNELS_PATH)).ok()]


async def test_two_users_have_one_direct_message_channel(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    channel = await open_dm(alice, bob)
    assert channel["type"] == ChannelType.DM
    assert channel["last_message_id"] is None
    assert channel["flags"] == 0
    assert [user["id"] for user in channel["recipients"]] == [str(bob.id)]
    assert "name" not in channel
    assert "owner_id" not in channel

    reopened_channel, channel_of_bob = await open_dm(alice, bob), await open_dm(bob, alice)
    assert reopened_channel["id"] == channel_of_bob["id"] == channel["id"]
    assert [user["id"] for user in channel_of_bob["recipients"]] == [str(alice.id)]
    assert (await alice.post(MY_CHANNELS_PATH, json={"recipients": [str(bob.id)]})).ok()["id"] == channel["id"]
    assert (await alice.get(f"/channels/{channel['id']}")).ok() == channel


async def test_invalid_recipients_are_rejected(world: World) -> None:
    alice = await world.user("alice")
    bot = await world.bot()
    (await alice.post(MY_CHANNELS_PATH, json={"recipient_id": str(alice.id)})).rejected(400, 50033)
    (await alice.post(MY_CHANNELS_PATH, json={"recipients": [str(alice.id)]})).rejected(400, 50033)
    (await alice.post(MY_CHANNELS_PATH, json={"recipient_id": "1"})).rejected(404, 10013)
    for actor in (alice, bot):
        assert (await actor.post(MY_CHANNELS_PATH, json={})).errors("recipient_id") == ["BASE_TYPE_REQUIRED"]
    assert (await bot.post(MY_CHANNELS_PATH, json={"recipients": [str(alice.id)]})).errors("recipient_id")
    assert (await alice.post(MY_CHANNELS_PATH, json={"recipient_id": "unknown"})).errors("recipient_id")


async def test_the_recipient_sees_a_channel_after_the_first_message(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    await world.guild(alice, bob)
    alice_session, bob_session = await alice.connect(), await bob.connect()

    channel = await open_dm(alice, bob)
    assert (await alice_session.next("CHANNEL_CREATE"))["id"] == channel["id"]
    await bob_session.assert_not_received("CHANNEL_CREATE")
    assert await list_channel_ids(bob) == []

    message = await send_message(alice, channel["id"])
    event = await bob_session.next("CHANNEL_CREATE")
    assert [user["id"] for user in event["recipients"]] == [str(alice.id)]
    assert event["last_message_id"] == message["id"]
    assert (await bob_session.next("MESSAGE_CREATE"))["id"] == message["id"]
    assert await list_channel_ids(bob) == [channel["id"]]
    await alice_session.next("MESSAGE_CREATE")

    await send_message(alice, channel["id"])
    await bob_session.next("MESSAGE_CREATE")
    await bob_session.assert_not_received("CHANNEL_CREATE")
    await alice_session.assert_not_received("CHANNEL_CREATE")


async def test_a_closed_channel_reopens_with_the_next_message_or_on_request(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    await world.guild(alice, bob)
    channel = await open_dm(alice, bob)
    await send_message(alice, channel["id"])
    alice_session, bob_session = await alice.connect(), await bob.connect()

    assert (await bob.delete(f"/channels/{channel['id']}")).ok()["id"] == channel["id"]

    assert (await bob_session.next("CHANNEL_DELETE"))["id"] == channel["id"]
    await alice_session.assert_not_received("CHANNEL_DELETE")
    assert await list_channel_ids(bob) == []
    assert await list_channel_ids(alice) == [channel["id"]]

    await send_message(alice, channel["id"])
    assert (await bob_session.next("CHANNEL_CREATE"))["id"] == channel["id"]

    (await bob.delete(f"/channels/{channel['id']}")).ok()
    await open_dm(bob, alice)
    assert (await bob_session.next("CHANNEL_CREATE"))["id"] == channel["id"]
    assert await list_channel_ids(bob) == [channel["id"]]


async def test_ready_lists_private_channels_for_users_but_not_for_bots(world: World) -> None:
    alice, bob = await world.user("alice"), await world.user("bob")
    guild = await world.guild(alice, bob)
    bot = await world.bot(guild)
    bob_channel, bot_channel = await open_dm(alice, bob), await open_dm(alice, bot)
    await send_message(alice, bot_channel["id"])
    await send_message(alice, bob_channel["id"])

    ready = (await alice.connect()).ready
    assert [channel["id"] for channel in ready["private_channels"]] == [bob_channel["id"], bot_channel["id"]]
    assert ready["private_channels"] == (await alice.get(MY_CHANNELS_PATH)).ok()
    assert (await bot.connect()).ready["private_channels"] == []
    assert (await bot.get(MY_CHANNELS_PATH)).ok() == []


async def test_bots_receive_no_channel_create_for_direct_messages(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    session, alice_session = await bot.connect(), await alice.connect()

    channel = await open_dm(bot, alice)
    await send_message(bot, channel["id"])
    await alice_session.next("CHANNEL_CREATE")
    await session.next("MESSAGE_CREATE")
    await send_message(alice, channel["id"])
    event = await session.next("MESSAGE_CREATE")
    assert event["content"] == "hello"
    assert "guild_id" not in event
    assert "CHANNEL_CREATE" not in [frame["t"] for frame in session.dispatches]


async def test_users_create_groups_with_users_of_shared_guilds(world: World) -> None:
    alice, bob, carol, stranger = [await world.user() for _ in range(4)]
    guild = await world.guild(alice, bob, carol)
    bot = await world.bot(guild)
    carol_session = await carol.connect()

    group = await create_group(alice, bob, carol)
    assert group["type"] == ChannelType.GROUP_DM
    assert group["owner_id"] == str(alice.id)
    assert group["name"] is None
    assert group["icon"] is None
    assert "application_id" not in group
    assert "managed" not in group
    assert [user["id"] for user in group["recipients"]] == [str(bob.id), str(carol.id)]
    event = await carol_session.next("CHANNEL_CREATE")
    assert [user["id"] for user in event["recipients"]] == [str(alice.id), str(bob.id)]
    assert await list_channel_ids(carol) == [group["id"]]

    for invited_actors in ([bob, stranger], [bob, bot]):
        body = {"recipients": [str(user.id) for user in invited_actors]}
        (await alice.post(MY_CHANNELS_PATH, json=body)).rejected(400, 50033)
    (await alice.post(MY_CHANNELS_PATH, json={"recipients": [str(bob.id), "1"]})).rejected(404, 10013)


async def test_the_size_and_the_number_of_groups_are_limited(world: World) -> None:
    users = [await world.user() for _ in range(11)]
    await world.guild(*users)
    full_group = await create_group(*users[:10])
    body = {"recipients": [str(user.id) for user in users[1:]]}
    (await users[0].post(MY_CHANNELS_PATH, json=body)).rejected(400, 30004)
    (await users[0].put(f"/channels/{full_group['id']}/recipients/{users[10].id}")).rejected(400, 30004)
    for _ in range(9):
        await create_group(*users[:3])
    body = {"recipients": [str(user.id) for user in users[1:3]]}
    (await users[0].post(MY_CHANNELS_PATH, json=body)).rejected(400, 30011)


async def test_a_user_is_added_to_a_group(world: World) -> None:
    alice, bob, carol, dave = [await world.user() for _ in range(4)]
    await world.guild(alice, bob, carol, dave)
    group = await create_group(alice, bob, carol)
    path = f"/channels/{group['id']}/recipients/{dave.id}"
    bob_session, dave_session = await bob.connect(), await dave.connect()

    (await dave.put(path)).rejected(403, 50001)
    response = await bob.put(path)

    assert response.status == 201
    assert len(response.ok()["recipients"]) == 3
    event = await bob_session.next("CHANNEL_RECIPIENT_ADD")
    assert event["channel_id"] == group["id"]
    assert event["user"]["id"] == str(dave.id)
    system_message = await bob_session.next("MESSAGE_CREATE")
    assert system_message["type"] == MessageType.RECIPIENT_ADD
    assert system_message["author"]["id"] == str(bob.id)
    assert [user["id"] for user in system_message["mentions"]] == [str(dave.id)]
    assert (await dave_session.next("CHANNEL_CREATE"))["id"] == group["id"]
    await dave_session.assert_not_received("CHANNEL_RECIPIENT_ADD")
    assert (await bob.put(path)).status == 204
    (await bob.put(f"/channels/{group['id']}/recipients/1")).rejected(404, 10013)
    channel = await open_dm(alice, bob)
    (await alice.put(f"/channels/{channel['id']}/recipients/{dave.id}")).rejected(400, 50024)


async def test_the_owner_removes_members_and_every_member_can_leave(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await world.guild(alice, bob, carol)
    group = await create_group(alice, bob, carol)
    path = f"/channels/{group['id']}"
    bob_session, carol_session = await bob.connect(), await carol.connect()

    (await bob.delete(f"{path}/recipients/{carol.id}")).rejected(403, 50013)
    (await alice.delete(f"{path}/recipients/1")).rejected(404, 10013)
    assert (await alice.delete(f"{path}/recipients/{carol.id}")).status == 204

    assert (await carol_session.next("CHANNEL_DELETE"))["id"] == group["id"]
    assert (await bob_session.next("CHANNEL_RECIPIENT_REMOVE"))["user"]["id"] == str(carol.id)
    system_message = await bob_session.next("MESSAGE_CREATE")
    assert system_message["type"] == MessageType.RECIPIENT_REMOVE
    assert system_message["author"]["id"] == str(alice.id)
    assert [user["id"] for user in system_message["mentions"]] == [str(carol.id)]
    (await carol.get(path)).rejected(403, 50001)
    assert await list_channel_ids(carol) == []

    assert (await alice.delete(path)).ok()["id"] == group["id"]
    assert (await bob_session.next("CHANNEL_RECIPIENT_REMOVE"))["user"]["id"] == str(alice.id)
    updated_event = await bob_session.next("CHANNEL_UPDATE")
    assert updated_event["owner_id"] == str(bob.id)
    assert updated_event["recipients"] == []
    assert (await bob_session.next("MESSAGE_CREATE"))["type"] == MessageType.RECIPIENT_REMOVE

    assert (await bob.delete(f"{path}/recipients/{bob.id}")).status == 204
    await bob_session.next("CHANNEL_DELETE")
    (await bob.get(path)).rejected(404, 10003)


async def test_a_group_is_renamed(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await world.guild(alice, bob, carol)
    group = await create_group(alice, bob, carol)
    carol_session = await carol.connect()
    assert (await bob.patch(f"/channels/{group['id']}", json={"name": "us"})).ok()["name"] == "us"
    updated_event = await carol_session.next("CHANNEL_UPDATE")
    assert updated_event["name"] == "us"
    assert [user["id"] for user in updated_event["recipients"]] == [str(alice.id), str(bob.id)]
    system_message = await carol_session.next("MESSAGE_CREATE")
    assert system_message["type"] == MessageType.CHANNEL_NAME_CHANGE
    assert system_message["content"] == "us"


async def test_an_application_creates_a_group_with_access_tokens(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    bot, other_bot = await world.bot(), await world.bot()
    tokens = [await world.access_token(user, bot.application_id, "gdm.join") for user in (alice, bob)]
    bob_session = await bob.connect()

    group = (await bot.post(MY_CHANNELS_PATH, json={"access_tokens": tokens, "nicks": {str(alice.id): "Al"}})).ok()

    assert group["application_id"] == str(bot.application_id)
    assert group["managed"] is True
    assert group["owner_id"] == str(bot.id)
    assert [user["id"] for user in group["recipients"]] == [str(alice.id), str(bob.id)]
    assert (await bob_session.next("CHANNEL_CREATE"))["id"] == group["id"]

    path = f"/channels/{group['id']}/recipients/{carol.id}"
    (await alice.put(path)).rejected(403, 50013)
    assert (await bot.put(path, json={})).errors("access_token") == ["BASE_TYPE_REQUIRED"]
    (await bot.put(path, json={"access_token": tokens[0]})).rejected(401, 50025)
    token = await world.access_token(carol, bot.application_id, "gdm.join")
    assert (await bot.put(path, json={"access_token": token, "nick": "C"})).status == 201
    assert (await bot.put(path, json={"access_token": token})).status == 204
    event = await bob_session.next("CHANNEL_RECIPIENT_ADD")
    assert event["user"]["id"] == str(carol.id)
    assert event["nick"] == "C"
    assert (await bot.delete(path)).status == 204
    assert (await bob_session.next("CHANNEL_RECIPIENT_REMOVE"))["user"]["id"] == str(carol.id)

    (await bot.post(MY_CHANNELS_PATH, json={"access_tokens": ["nonsense"]})).rejected(401, 50025)
    (
        await bot.post(
            MY_CHANNELS_PATH,
            json={"access_tokens": [await world.access_token(carol, other_bot.application_id, "gdm.join")]},
        )
    ).rejected(401, 50025)
    (
        await bot.post(
            MY_CHANNELS_PATH, json={"access_tokens": [await world.access_token(carol, bot.application_id, "identify")]}
        )
    ).rejected(403, 50026)
    (await bot.post(MY_CHANNELS_PATH, json={"access_tokens": tokens * 6})).rejected(400, 30004)
    body = {"access_tokens": tokens, "nicks": {str(alice.id): "x" * 33}}
    assert (await bot.post(MY_CHANNELS_PATH, json=body)).errors(f"nicks.{alice.id}")


async def test_ready_and_later_events_give_the_same_private_channels(world: World) -> None:
    alice, bob, carol = [await world.user() for _ in range(3)]
    await world.guild(alice, bob, carol)
    session = await alice.connect()
    channels_by_id = {channel["id"]: channel for channel in session.ready["private_channels"]}
    direct_channel, group = await open_dm(bob, alice), await create_group(bob, alice, carol)
    await send_message(bob, direct_channel["id"])
    (await alice.delete(f"/channels/{direct_channel['id']}")).ok()
    await send_message(bob, direct_channel["id"])
    (await bob.delete(f"/channels/{group['id']}")).ok()
    await session.wait_delivered()
    for frame in session.dispatches:
        name, payload = frame["t"], frame["d"]
        if name in ("CHANNEL_CREATE", "CHANNEL_UPDATE"):
            channels_by_id[payload["id"]] = payload
        elif name == "CHANNEL_DELETE":
            del channels_by_id[payload["id"]]
        elif name == "CHANNEL_RECIPIENT_REMOVE":
            users = channels_by_id[payload["channel_id"]]["recipients"]
            users[:] = [user for user in users if user["id"] != payload["user"]["id"]]
        elif name == "MESSAGE_CREATE" and payload["channel_id"] in channels_by_id:
            channels_by_id[payload["channel_id"]]["last_message_id"] = payload["id"]

    ready_channels_by_id = {channel["id"]: channel for channel in (await alice.connect()).ready["private_channels"]}
    assert channels_by_id == ready_channels_by_id
    assert UserId(int(ready_channels_by_id[group["id"]]["owner_id"])) in (alice.id, carol.id)


async def test_incident_actions_block_messages_between_users_without_another_guild(world: World) -> None:
    alice, bob, friend = await world.user(), await world.user(), await world.user()
    guild = await world.guild(None, alice, bob, friend)
    channel_id = (await open_dm(alice, bob))["id"]
    path = f"/channels/{channel_id}/messages"
    blocked_until = codec.timestamp(NOW_MS + 3_600_000)
    (await guild.owner.put(f"/guilds/{guild.id}/incident-actions", json={"dms_disabled_until": blocked_until})).ok()

    (await alice.post(path, json={"content": "hi"})).rejected(403, 50007)
    (await bob.post(path, json={"content": "hi"})).rejected(403, 50007)
    (await alice.post(f"/channels/{channel_id}/typing")).rejected(403, 50007)
    bot = await world.bot(guild)
    (await bot.post(f"/channels/{(await open_dm(bot, bob))['id']}/messages", json={"content": "hi"})).rejected(
        403, 50007
    )

    # Users without a shared guild are not affected, and neither are friends.
    await send_message(alice, (await open_dm(alice, await world.user()))["id"])
    for sender, recipient in ((alice, friend), (friend, alice)):
        (await sender.put(f"/users/@me/relationships/{recipient.id}", json={})).ok()
    await send_message(alice, (await open_dm(alice, friend))["id"])
    (await alice.post(path, json={"content": "hi"})).rejected(403, 50007)

    await world.guild(alice, bob)
    await send_message(alice, channel_id)


async def test_incident_actions_block_messages_until_they_expire(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    guild = await world.guild(None, alice, bob)
    channel_id = (await open_dm(alice, bob))["id"]
    blocked_until = codec.timestamp(NOW_MS + 3_600_000)
    (await guild.owner.put(f"/guilds/{guild.id}/incident-actions", json={"dms_disabled_until": blocked_until})).ok()
    (await alice.post(f"/channels/{channel_id}/messages", json={"content": "hi"})).rejected(403, 50007)
    world.clock.advance(3_600_000)
    await send_message(alice, channel_id)


async def test_the_older_path_opens_the_same_channel_for_the_caller_only(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    bot = await world.bot(await world.guild(alice))
    body = {"recipient_id": str(bob.id)}

    opened_channel = (await alice.post(f"/users/{alice.id}/channels", json=body)).ok()

    assert opened_channel["id"] == (await alice.post(MY_CHANNELS_PATH, json=body)).ok()["id"]
    (await alice.post(f"/users/{bob.id}/channels", json=body)).rejected(403, 50001)
    (await bot.post(f"/users/{bot.id}/channels", json=body)).rejected(403, 20001)


GUILD_ONLY_REQUESTS: tuple[tuple[str, str, Any], ...] = (
    ("GET", "invites", None),
    ("GET", "webhooks", None),
    ("POST", "webhooks", {"name": "hook"}),
    ("PUT", "permissions/1", {"type": 1, "allow": "0", "deny": "0"}),
    ("DELETE", "permissions/1", None),
    ("POST", "messages/bulk-delete", {"messages": ["1", "2"]}),
    ("GET", "threads/archived/private", None),
    ("PUT", "voice-status", {"status": "hello"}),
    ("POST", "send-soundboard-sound", {"sound_id": "1"}),
    ("DELETE", "linked-lobby", None),
)


async def test_guild_only_operations_fail_on_private_channels(world: World) -> None:
    alice, bob, stranger = await world.user(), await world.user(), await world.user()
    channel_path = f"/channels/{(await open_dm(alice, bob))['id']}"

    for method, path, body in GUILD_ONLY_REQUESTS:
        options = {} if body is None else {"json": body}
        (await alice.request(method, f"{channel_path}/{path}", **options)).rejected(400, 50003)
        (await stranger.request(method, f"{channel_path}/{path}", **options)).rejected(403, 50001)
    bob_message = await send_message(bob, channel_path.removeprefix("/channels/"))
    (
        await alice.patch(f"{channel_path}/messages/{bob_message['id']}", json={"flags": MessageFlags.SUPPRESS_EMBEDS})
    ).rejected(400, 50003)


async def test_friends_without_a_shared_guild_can_be_in_a_group(world: World) -> None:
    alice, bob, carol = await world.user(), await world.user(), await world.user()
    for friend in (bob, carol):
        (await alice.put(f"/users/@me/relationships/{friend.id}")).ok()
    (await bob.put(f"/users/@me/relationships/{alice.id}")).ok()
    body = {"recipients": [str(bob.id), str(carol.id)]}

    # A pending friend request is not enough.
    (await alice.post(MY_CHANNELS_PATH, json=body)).rejected(400, 50033)
    (await carol.put(f"/users/@me/relationships/{alice.id}")).ok()

    assert {user["id"] for user in (await alice.post(MY_CHANNELS_PATH, json=body)).ok()["recipients"]} == {
        str(bob.id),
        str(carol.id),
    }
