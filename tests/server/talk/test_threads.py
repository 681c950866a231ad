"""Threads and forum posts: creation, messages, members, updates, archiving, deletion, lists, and history."""

import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, MessageType, OverwriteType
from hubbub.protocol.flags import ChannelFlags, MessageFlags
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import threads as wire
from hubbub.server.places import channels
from tests.world import Actor, World

MINUTE_MS = 60_000
PUBLIC_THREAD, PRIVATE_THREAD = ChannelType.PUBLIC_THREAD, ChannelType.PRIVATE_THREAD


async def create_post(actor: Actor, forum_id: int, **body: Any) -> Any:
    return await actor.post(
        f"/channels/{forum_id}/threads", json={"name": "idea", "message": {"content": "hi"}, **body}
    )


# Starting


async def test_a_thread_started_from_a_message_has_the_id_of_the_message(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    message = await guild.send_message(guild.owner, "first")
    response = await guild.owner.post(
        f"/channels/{guild.general}/messages/{message['id']}/threads",
        json={"name": "talk", "auto_archive_duration": 60},
    )
    assert response.status == 201
    thread = response.ok()
    assert (thread["id"], thread["type"], thread["parent_id"]) == (message["id"], PUBLIC_THREAD, str(guild.general))
    assert (thread["owner_id"], thread["member_count"], thread["message_count"]) == (str(guild.owner.id), 1, 0)
    assert thread["thread_metadata"]["auto_archive_duration"] == 60
    assert thread["member"]["user_id"] == str(guild.owner.id)

    created_event = await session.next("THREAD_CREATE")
    assert (created_event["id"], created_event["newly_created"]) == (message["id"], True)
    members_event = await session.next("THREAD_MEMBERS_UPDATE")
    assert (members_event["id"], members_event["member_count"]) == (message["id"], 1)
    assert [member["user_id"] for member in members_event["added_members"]] == [str(guild.owner.id)]
    updated_event = await session.next("MESSAGE_UPDATE")
    assert updated_event["flags"] & MessageFlags.HAS_THREAD
    starter = await session.next("MESSAGE_CREATE")
    assert (starter["type"], starter["channel_id"]) == (MessageType.THREAD_STARTER_MESSAGE, message["id"])
    assert starter["message_reference"]["message_id"] == message["id"]
    await session.assert_not_received("MESSAGE_CREATE")
    assert (await guild.last_audit_entry(AuditLogAction.THREAD_CREATE))["target_id"] == message["id"]

    second_response = await guild.owner.post(
        f"/channels/{guild.general}/messages/{message['id']}/threads", json={"name": "x"}
    )
    second_response.rejected(400, 160004)
    fetched_message = (await guild.owner.get(f"/channels/{guild.general}/messages/{message['id']}")).ok()
    assert fetched_message["thread"]["id"] == message["id"]


async def test_a_thread_from_an_older_message_posts_a_system_message(world: World) -> None:
    guild = await world.guild()
    message = await guild.send_message(guild.owner, "first")
    await guild.send_message(guild.owner, "second")
    session = await (await world.bot(guild)).connect()
    (await guild.owner.post(f"/channels/{guild.general}/messages/{message['id']}/threads", json={"name": "talk"})).ok()
    event = await session.next("MESSAGE_CREATE", lambda data: data["type"] == MessageType.THREAD_CREATED)
    assert (event["channel_id"], event["content"]) == (str(guild.general), "talk")
    assert event["message_reference"]["channel_id"] == message["id"]


async def test_starting_a_thread_requires_channel_message_and_permission(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    voice_channel_id = await guild.channel("voice", type=ChannelType.GUILD_VOICE)
    message = await guild.send_message(guild.owner)
    path = f"/channels/{guild.general}/messages"
    (await bob.post(f"{path}/1/threads", json={"name": "x"})).rejected(404, 10008)
    (await bob.post(f"/channels/{voice_channel_id}/threads", json={"name": "x"})).rejected(400, 50024)
    thread_id = await guild.owner.create_thread(guild.general)
    (await bob.post(f"/channels/{thread_id}/threads", json={"name": "x"})).rejected(400, 50024)
    (await bob.post(f"{path}/{message['id']}/threads", json={"name": ""})).errors("name")
    (await bob.post(f"{path}/{message['id']}/threads", json={"name": " "})).errors("name")
    await guild.overwrite(guild.general, bob.id, deny=Permissions.CREATE_PUBLIC_THREADS)
    (await bob.post(f"{path}/{message['id']}/threads", json={"name": "x"})).rejected(403, 50013)
    (await bob.post(f"/channels/{guild.general}/threads", json={"name": "x", "type": PUBLIC_THREAD})).rejected(
        403, 50013
    )
    (await bob.post(f"/channels/{guild.general}/threads", json={"name": "x"})).ok()
    response = await bob.post(
        f"/channels/{guild.general}/threads", json={"name": "x", "type": ChannelType.ANNOUNCEMENT_THREAD}
    )
    assert response.errors("type") == ["BASE_TYPE_CHOICES"]


async def test_a_system_message_cannot_start_a_thread(world: World) -> None:
    guild = await world.guild()
    await guild.owner.create_thread(guild.general)
    event = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()[0]
    assert event["type"] == MessageType.THREAD_CREATED
    response = await guild.owner.post(f"/channels/{guild.general}/messages/{event['id']}/threads", json={"name": "x"})
    response.rejected(403, 50021)


async def test_a_thread_without_a_message_is_private_by_default(world: World) -> None:
    guild = await world.guild()
    thread = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "quiet"})).ok()
    assert (thread["type"], thread["thread_metadata"]["invitable"]) == (PRIVATE_THREAD, True)
    assert "message" not in thread
    public_thread = await guild.get_channel(await guild.owner.create_thread(guild.general))
    assert public_thread["type"] == PUBLIC_THREAD
    assert "invitable" not in public_thread["thread_metadata"]


async def test_an_announcement_channel_has_announcement_threads(world: World) -> None:
    guild = await world.guild()
    sql = "UPDATE guilds SET features = ? WHERE id = ?"
    await world.write(lambda call: call.tx.run(sql, json.dumps(["NEWS"]), guild.id))
    news_channel_id = await guild.channel("news", type=ChannelType.GUILD_ANNOUNCEMENT)
    assert (await guild.owner.post(f"/channels/{news_channel_id}/threads", json={"name": "x"})).ok()[
        "type"
    ] == ChannelType.ANNOUNCEMENT_THREAD
    message = await guild.send_message(guild.owner, channel_id=news_channel_id)
    thread = (
        await guild.owner.post(f"/channels/{news_channel_id}/messages/{message['id']}/threads", json={"name": "x"})
    ).ok()
    assert thread["type"] == ChannelType.ANNOUNCEMENT_THREAD


async def test_private_thread_events_reach_moderators_but_not_other_guild_members(world: World) -> None:
    guild = await world.guild()
    outsider_session = await (await world.bot(guild)).connect()
    moderator_session = await (await world.bot(guild, permissions=Permissions.MANAGE_THREADS)).connect()
    thread_id = await guild.owner.create_thread(guild.general, PRIVATE_THREAD)
    assert (await moderator_session.next("THREAD_CREATE"))["id"] == str(thread_id)
    await guild.send_message(guild.owner, "psst", channel_id=thread_id)
    assert (await moderator_session.next("MESSAGE_CREATE"))["content"] == "psst"
    await outsider_session.assert_not_received("THREAD_CREATE", "MESSAGE_CREATE", "THREAD_MEMBERS_UPDATE")
    bob = await guild.member()
    (await bob.get(f"/channels/{thread_id}")).rejected(403, 50001)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_slowmode_limits_thread_creation_by_users(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    bot = await world.bot(guild)
    (await guild.owner.patch(f"/channels/{guild.general}", json={"rate_limit_per_user": 30})).ok()
    await bob.create_thread(guild.general)
    path = f"/channels/{guild.general}/threads"
    rejected_response = await bob.post(path, json={"name": "x", "type": PUBLIC_THREAD})
    assert rejected_response.rejected(429, 20016)["retry_after"] == 30
    for _ in range(2):
        await bot.create_thread(guild.general)
    world.clock.advance(30_000)
    await bob.create_thread(guild.general)
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    await bob.create_thread(guild.general)
    await bob.create_thread(guild.general)


async def test_a_guild_has_at_most_one_thousand_active_threads(world: World) -> None:
    guild = await world.guild()

    def insert_threads(call: Any) -> None:
        for _ in range(wire.ACTIVE_THREADS_MAX):
            row = channels.ChannelRow(call.new_id(ChannelId), PUBLIC_THREAD, guild.id, "x", parent_id=guild.general)
            channels.creation.insert(call.tx, row)

    await world.write(insert_threads)
    (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "x"})).rejected(400, 160006)


# Forums


async def test_a_forum_post_contains_its_first_message(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel(
        "ideas", type=ChannelType.GUILD_FORUM, available_tags=[{"name": "bug"}], default_thread_rate_limit_per_user=7
    )
    tag_id = (await guild.get_channel(forum_id))["available_tags"][0]["id"]
    session = await (await world.bot(guild)).connect()
    response = await create_post(guild.owner, forum_id, applied_tags=[tag_id])
    assert response.status == 201
    post = response.ok()
    assert (post["type"], post["applied_tags"], post["rate_limit_per_user"]) == (PUBLIC_THREAD, [tag_id], 7)
    assert (post["message"]["id"], post["message"]["content"], post["last_message_id"]) == (
        post["id"],
        "hi",
        post["id"],
    )
    assert (post["message_count"], post["total_message_sent"], post["member_count"]) == (0, 0, 1)
    assert (await session.next("THREAD_CREATE"))["id"] == post["id"]
    assert (await session.next("MESSAGE_CREATE"))["id"] == post["id"]
    assert (await guild.get_channel(forum_id))["last_message_id"] == post["id"]


async def test_a_forum_post_can_contain_files(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    form = aiohttp.FormData()
    body = {"name": "idea", "message": {"content": "look", "attachments": [{"id": 0, "description": "words"}]}}
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    form.add_field("files[0]", b"hello", filename="a.txt", content_type="text/plain")
    post = (await guild.owner.post(f"/channels/{forum_id}/threads", data=form)).ok()
    assert [attachment["filename"] for attachment in post["message"]["attachments"]] == ["a.txt"]


async def test_a_forum_post_requires_content_permission_and_tag(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel(
        "ideas",
        type=ChannelType.GUILD_FORUM,
        available_tags=[{"name": "official", "moderated": True}],
        flags=ChannelFlags.REQUIRE_TAG,
    )
    bob = await guild.member()
    tag_id = (await guild.get_channel(forum_id))["available_tags"][0]["id"]
    path = f"/channels/{forum_id}/threads"
    assert (await bob.post(path, json={"name": "x"})).errors("message") == ["BASE_TYPE_REQUIRED"]
    (await create_post(bob, forum_id)).rejected(400, 40066)
    (await create_post(bob, forum_id, applied_tags=[tag_id])).rejected(403, 50013)
    (await create_post(bob, forum_id, applied_tags=["1"])).rejected(404, 10087)
    (await create_post(bob, forum_id, applied_tags=["1"] * 6)).errors("applied_tags")
    (await create_post(guild.owner, forum_id)).rejected(400, 40067)
    (await guild.owner.patch(f"/channels/{forum_id}", json={"available_tags": [{"name": "free"}]})).ok()
    (await create_post(bob, forum_id)).rejected(400, 40067)
    (await guild.owner.patch(f"/channels/{forum_id}", json={"flags": 0})).ok()
    (await create_post(bob, forum_id, message={})).rejected(400, 50006)
    (await create_post(bob, forum_id)).ok()
    await guild.overwrite(forum_id, bob.id, deny=Permissions.SEND_MESSAGES)
    (await create_post(bob, forum_id)).rejected(403, 50013)
    await guild.overwrite(forum_id, bob.id, deny=Permissions.SEND_MESSAGES_IN_THREADS)
    (await create_post(bob, forum_id)).ok()


async def test_a_forum_pins_one_post_and_archiving_unpins_it(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    first_id, second_id = [(await create_post(guild.owner, forum_id)).ok()["id"] for _ in range(2)]
    assert (await guild.owner.patch(f"/channels/{first_id}", json={"flags": ChannelFlags.PINNED})).ok()[
        "flags"
    ] == ChannelFlags.PINNED
    (await guild.owner.patch(f"/channels/{second_id}", json={"flags": ChannelFlags.PINNED})).rejected(400, 30047)
    assert (await guild.owner.patch(f"/channels/{first_id}", json={"archived": True})).ok()["flags"] == 0
    (await guild.owner.patch(f"/channels/{second_id}", json={"flags": ChannelFlags.PINNED})).ok()
    plain_thread_id = await guild.owner.create_thread(guild.general)
    (await guild.owner.patch(f"/channels/{plain_thread_id}", json={"flags": ChannelFlags.PINNED})).rejected(400, 50024)


# Messages


async def test_sending_a_message_joins_the_thread_and_is_counted(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await guild.owner.create_thread(guild.general)
    session = await (await world.bot(guild)).connect()
    message = await guild.send_message(bob, channel_id=thread_id)
    joined_event = await session.next("THREAD_MEMBERS_UPDATE")
    assert (joined_event["member_count"], joined_event["added_members"][0]["user_id"]) == (2, str(bob.id))
    assert joined_event["added_members"][0]["member"]["user"]["id"] == str(bob.id)
    assert joined_event["added_members"][0]["presence"] is None
    await guild.send_message(bob, channel_id=thread_id)
    channel = await guild.get_channel(thread_id)
    assert (channel["message_count"], channel["total_message_sent"], channel["member_count"]) == (2, 2, 2)
    (await bob.delete(f"/channels/{thread_id}/messages/{message['id']}")).ok()
    channel = await guild.get_channel(thread_id)
    assert (channel["message_count"], channel["total_message_sent"]) == (1, 2)


async def test_a_message_unarchives_a_thread_but_only_moderators_write_in_locked_threads(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    bot = await world.bot(guild)
    thread_id = await guild.owner.create_thread(guild.general)
    # nextcord joins with POST (decisions/0186).
    (await bot.post(f"/channels/{thread_id}/thread-members/@me")).ok()
    session = await bot.connect()
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is True
    await guild.send_message(bob, channel_id=thread_id)
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is False
    own_member = await session.next("THREAD_MEMBER_UPDATE")
    assert (own_member["id"], own_member["user_id"], own_member["guild_id"]) == (
        str(thread_id),
        str(bot.id),
        str(guild.id),
    )
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True, "locked": True})).ok()
    (await bob.post(f"/channels/{thread_id}/messages", json={"content": "x"})).rejected(400, 160005)
    await guild.send_message(guild.owner, channel_id=thread_id)
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is False


# Members


async def test_a_member_joins_and_leaves_a_thread(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    thread_id = await guild.owner.create_thread(guild.general)
    session = await bot.connect(Intents.GUILDS)
    path = f"/channels/{thread_id}/thread-members"
    assert (await bot.put(f"{path}/@me")).status == 204
    joined_event = await session.next("THREAD_MEMBERS_UPDATE")
    assert joined_event["added_members"][0]["user_id"] == str(bot.id)
    event = await session.next("THREAD_CREATE")
    assert (event["member"]["user_id"], "newly_created" in event) == (str(bot.id), False)
    (await bot.put(f"{path}/@me")).ok()
    await session.assert_not_received("THREAD_MEMBERS_UPDATE")
    bob = await guild.member()
    # Without the members intent the bot receives only the changes of its own membership.
    (await bob.put(f"{path}/@me")).ok()
    await session.assert_not_received("THREAD_MEMBERS_UPDATE")

    own_member = (await bot.get(f"{path}/{bot.id}")).ok()
    assert (own_member["id"], own_member["user_id"], "member" in own_member) == (str(thread_id), str(bot.id), False)
    assert (await bot.get(f"{path}/{bot.id}?with_member=true")).ok()["member"]["user"]["id"] == str(bot.id)
    member_ids = [int(member["user_id"]) for member in (await bot.get(path)).ok()]
    assert member_ids == sorted([guild.owner.id, bot.id, bob.id])
    page = (await bot.get(f"{path}?with_member=true&limit=1&after={member_ids[0]}")).ok()
    assert [int(member["member"]["user"]["id"]) for member in page] == member_ids[1:2]

    assert (await bot.delete(f"{path}/@me")).status == 204
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(bot.id)]
    (await bot.get(f"{path}/{bot.id}")).rejected(404, 10007)
    (await bot.put(f"/channels/{guild.general}/thread-members/@me")).rejected(400, 50024)


async def test_an_app_without_the_members_intent_cannot_list_thread_members(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    thread_id = await guild.owner.create_thread(guild.general)
    (await bot.get(f"/channels/{thread_id}/thread-members")).rejected(403, 50001)


async def test_other_members_are_added_and_removed(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    thread_id = await bob.create_thread(guild.general, PRIVATE_THREAD)
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_THREADS)).connect()
    path = f"/channels/{thread_id}/thread-members"
    assert (await bob.put(f"{path}/{carol.id}")).status == 204
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["added_members"][0]["user_id"] == str(carol.id)
    event = await session.next("MESSAGE_CREATE")
    assert (event["type"], [user["id"] for user in event["mentions"]]) == (MessageType.RECIPIENT_ADD, [str(carol.id)])
    (await carol.get(f"/channels/{thread_id}")).ok()
    (await carol.delete(f"{path}/{bob.id}")).rejected(403, 50013)
    (await bob.put(f"{path}/1")).rejected(404, 10013)
    stranger = await world.user()
    (await bob.put(f"{path}/{stranger.id}")).rejected(404, 10007)

    (await bob.delete(f"{path}/{carol.id}")).ok()
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(carol.id)]
    assert (await session.next("MESSAGE_CREATE"))["type"] == MessageType.RECIPIENT_REMOVE
    (await bob.delete(f"{path}/{carol.id}")).rejected(404, 10007)
    (await carol.get(f"/channels/{thread_id}")).rejected(403, 50001)


async def test_a_private_thread_can_disallow_invitations(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    thread_id = await bob.create_thread(guild.general, PRIVATE_THREAD, invitable=False)
    (await bob.put(f"/channels/{thread_id}/thread-members/{carol.id}")).rejected(403, 50013)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"invitable": True, "locked": True})).ok()
    (await bob.put(f"/channels/{thread_id}/thread-members/{carol.id}")).rejected(400, 160005)
    (await guild.owner.put(f"/channels/{thread_id}/thread-members/{carol.id}")).ok()


async def test_private_channels_have_no_threads(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    dm_id = (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()["id"]
    message_id = (await alice.post(f"/channels/{dm_id}/messages", json={"content": "hi"})).ok()["id"]
    for method, path, body in (
        ("POST", "threads", {"name": "x"}),
        ("POST", f"messages/{message_id}/threads", {"name": "x"}),
        ("PUT", "thread-members/@me", None),
        ("GET", "thread-members", None),
        ("GET", f"thread-members/{alice.id}", None),
        ("GET", "threads/archived/public", None),
    ):
        (await alice.request(method, f"/channels/{dm_id}/{path}", json=body)).rejected(400, 50003)


async def test_members_of_an_archived_thread_cannot_change(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await guild.owner.create_thread(guild.general)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
    path = f"/channels/{thread_id}/thread-members"
    for response in (
        await bob.put(f"{path}/@me"),
        await guild.owner.delete(f"{path}/@me"),
        await guild.owner.put(f"{path}/{bob.id}"),
        await guild.owner.delete(f"{path}/{bob.id}"),
    ):
        response.rejected(400, 50083)


async def test_a_thread_has_at_most_1000_members_and_reports_at_most_50(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await guild.owner.create_thread(guild.general)
    await world.write(lambda call: call.tx.run("UPDATE channels SET member_count = 1000 WHERE id = ?", thread_id))
    (await bob.put(f"/channels/{thread_id}/thread-members/@me")).rejected(400, 30033)
    assert (await guild.get_channel(thread_id))["member_count"] == 50


async def test_a_full_thread_accepts_messages_only_from_its_members(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await guild.owner.create_thread(guild.general)
    await world.write(lambda call: call.tx.run("UPDATE channels SET member_count = 1000 WHERE id = ?", thread_id))

    (await bob.post(f"/channels/{thread_id}/messages", json={"content": "hello"})).rejected(400, 30033)
    (await guild.owner.post(f"/channels/{thread_id}/messages", json={"content": "hello"})).ok()

    assert [message["author"]["id"] for message in (await bob.get(f"/channels/{thread_id}/messages")).ok()] == [
        str(guild.owner.id)
    ]


async def test_an_archived_thread_accepts_messages_only_below_the_maximum_of_active_threads(world: World) -> None:
    guild = await world.guild()
    thread_id = await guild.owner.create_thread(guild.general)
    (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()

    def insert_threads(call: Any) -> None:
        for _ in range(wire.ACTIVE_THREADS_MAX):
            row = channels.ChannelRow(call.new_id(ChannelId), PUBLIC_THREAD, guild.id, "x", parent_id=guild.general)
            channels.creation.insert(call.tx, row)

    await world.write(insert_threads)

    (await guild.owner.post(f"/channels/{thread_id}/messages", json={"content": "hello"})).rejected(400, 160006)
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is True


async def test_a_member_removed_from_a_guild_leaves_its_threads(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await bob.create_thread(guild.general)
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(bob.id)]
    assert (await guild.get_channel(thread_id))["member_count"] == 0


# Updating


async def test_the_creator_updates_some_fields_and_moderators_all(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    thread_id = await bob.create_thread(guild.general)
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{thread_id}"
    edited_thread = (await bob.patch(path, json={"name": "Other Words", "auto_archive_duration": 4320})).ok()
    assert (edited_thread["name"], edited_thread["thread_metadata"]["auto_archive_duration"]) == ("Other Words", 4320)
    assert (await session.next("THREAD_UPDATE"))["name"] == "Other Words"
    event = await session.next("MESSAGE_CREATE")
    assert (event["type"], event["content"], event["channel_id"]) == (
        MessageType.CHANNEL_NAME_CHANGE,
        "Other Words",
        str(thread_id),
    )
    entry = await guild.last_audit_entry(AuditLogAction.THREAD_UPDATE)
    assert {"key": "name", "old_value": "talk", "new_value": "Other Words"} in entry["changes"]
    (await bob.patch(path, json={"locked": True})).rejected(403, 50013)
    (await bob.patch(path, json={"applied_tags": []})).rejected(403, 50013)
    (await bob.patch(path, json={"rate_limit_per_user": 5})).rejected(403, 50013)
    (await carol.patch(path, json={"name": "x"})).rejected(403, 50013)
    (await carol.patch(path, json={"archived": True})).rejected(403, 50013)
    await guild.allow_permissions(carol, Permissions.MANAGE_THREADS)
    edited_thread = (await carol.patch(path, json={"locked": True, "rate_limit_per_user": 5})).ok()
    assert (edited_thread["thread_metadata"]["locked"], edited_thread["rate_limit_per_user"]) == (True, 5)
    (await bob.patch(path, json={"name": "x"})).rejected(400, 160005)


async def test_an_archived_thread_must_be_unarchived_before_other_changes(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    thread_id = await bob.create_thread(guild.general)
    path = f"/channels/{thread_id}"
    world.clock.advance(1000)
    (await bob.patch(path, json={"archived": True})).ok()
    (await bob.patch(path, json={"name": "x"})).rejected(400, 50083)
    (await guild.owner.patch(path, json={"locked": True})).rejected(400, 50083)
    assert (await carol.patch(path, json={"archived": False})).ok()["thread_metadata"]["archived"] is False
    (await bob.patch(path, json={"archived": True})).ok()
    assert (await bob.patch(path, json={"archived": False, "name": "x"})).ok()["name"] == "x"
    await guild.overwrite(guild.general, carol.id, deny=Permissions.SEND_MESSAGES_IN_THREADS)
    (await bob.patch(path, json={"archived": True})).ok()
    (await carol.patch(path, json={"archived": False})).rejected(403, 50013)


async def test_an_inactive_thread_is_archived_automatically(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    thread_id = await guild.owner.create_thread(guild.general, auto_archive_duration=60)
    assert world.app.worker is not None
    await world.clock.run_for(50 * MINUTE_MS)
    await guild.send_message(guild.owner, channel_id=thread_id)
    await world.clock.run_for(60 * MINUTE_MS - 1000)
    await world.app.worker.run_due()
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is False
    session = await bot.connect()
    await world.clock.run_for(2000)
    await world.app.worker.run_due()
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is True
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is True


async def test_a_pinned_post_is_not_archived_automatically(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel("ideas", type=ChannelType.GUILD_FORUM)
    thread_id = (await create_post(guild.owner, forum_id, auto_archive_duration=60)).ok()["id"]
    (await guild.owner.patch(f"/channels/{thread_id}", json={"flags": ChannelFlags.PINNED})).ok()
    assert world.app.worker is not None
    await world.clock.run_for(120 * MINUTE_MS)
    await world.app.worker.run_due()
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is False
    (await guild.owner.patch(f"/channels/{thread_id}", json={"flags": 0})).ok()
    await world.app.worker.run_due()
    assert (await guild.get_channel(thread_id))["thread_metadata"]["archived"] is True


async def test_only_moderators_delete_threads_and_deletions_are_published_and_audited(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    thread_id = await bob.create_thread(guild.general)
    session = await (await world.bot(guild)).connect()
    (await bob.delete(f"/channels/{thread_id}")).rejected(403, 50013)
    response = await guild.owner.delete(f"/channels/{thread_id}")
    assert (response.status, response.ok()["id"]) == (200, str(thread_id))
    assert await session.next("THREAD_DELETE") == {
        "id": str(thread_id),
        "guild_id": str(guild.id),
        "parent_id": str(guild.general),
        "type": PUBLIC_THREAD,
    }
    assert (await guild.last_audit_entry(AuditLogAction.THREAD_DELETE))["target_id"] == str(thread_id)
    (await guild.owner.get(f"/channels/{thread_id}")).rejected(404, 10003)


async def test_threads_are_deleted_with_their_channel_and_guild(world: World) -> None:
    guild = await world.guild()
    channel_id = await guild.channel("deleted")
    thread_id, other_thread_id = (
        await guild.owner.create_thread(channel_id),
        await guild.owner.create_thread(guild.general),
    )
    (await guild.owner.delete(f"/channels/{channel_id}")).ok()
    (await guild.owner.get(f"/channels/{thread_id}")).rejected(404, 10003)
    count_sql = "SELECT COUNT(*) FROM thread_members"
    assert await world.write(lambda call: call.tx.value(count_sql)) == 1
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    (await guild.owner.get(f"/channels/{other_thread_id}")).rejected(404, 10003)
    assert await world.write(lambda call: call.tx.value(count_sql)) == 0


# Listing


async def test_archived_threads_are_paged_by_archive_time(world: World) -> None:
    guild = await world.guild()
    thread_ids = []
    for _ in range(3):
        thread_id = await guild.owner.create_thread(guild.general)
        world.clock.advance(1000)
        (await guild.owner.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
        thread_ids.append(str(thread_id))
    path = f"/channels/{guild.general}/threads/archived/public"
    page = (await guild.owner.get(f"{path}?limit=2")).ok()
    assert ([thread["id"] for thread in page["threads"]], page["has_more"]) == ([thread_ids[2], thread_ids[1]], True)
    assert [member["id"] for member in page["members"]] == [thread_ids[2], thread_ids[1]]
    before_time = page["threads"][-1]["thread_metadata"]["archive_timestamp"].replace("+", "%2B")
    page = (await guild.owner.get(f"{path}?limit=2&before={before_time}")).ok()
    assert ([thread["id"] for thread in page["threads"]], page["has_more"]) == ([thread_ids[0]], False)
    (await guild.owner.get(f"{path}?limit=1")).errors("limit")


async def test_private_archived_threads_are_listed_for_moderators_and_members(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    thread_ids = []
    for _ in range(3):
        thread_id = await bob.create_thread(guild.general, PRIVATE_THREAD)
        (await bob.patch(f"/channels/{thread_id}", json={"archived": True})).ok()
        thread_ids.append(str(thread_id))
    path = f"/channels/{guild.general}"
    (await bob.get(f"{path}/threads/archived/private")).rejected(403, 50013)
    listed_page = (await guild.owner.get(f"{path}/threads/archived/private")).ok()
    assert {thread["id"] for thread in listed_page["threads"]} == set(thread_ids)
    own_page = (await bob.get(f"{path}/users/@me/threads/archived/private?limit=2")).ok()
    assert ([thread["id"] for thread in own_page["threads"]], own_page["has_more"]) == (
        [thread_ids[2], thread_ids[1]],
        True,
    )
    second_page = (await bob.get(f"{path}/users/@me/threads/archived/private?before={thread_ids[1]}")).ok()
    assert [thread["id"] for thread in second_page["threads"]] == [thread_ids[0]]
    assert (await carol.get(f"{path}/users/@me/threads/archived/private")).ok()["threads"] == []


async def test_active_threads_are_limited_to_visible_ones(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret_channel_id = await guild.channel("secret")
    await guild.overwrite(secret_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    owner_thread_id = await guild.owner.create_thread(guild.general)
    bot_thread_id = await bot.create_thread(guild.general)
    private_thread_id = await guild.owner.create_thread(guild.general, PRIVATE_THREAD)
    hidden_thread_id = await guild.owner.create_thread(secret_channel_id)
    listed_threads = (await bot.get(f"/guilds/{guild.id}/threads/active")).ok()
    assert [int(thread["id"]) for thread in listed_threads["threads"]] == [bot_thread_id, owner_thread_id]
    assert [int(member["id"]) for member in listed_threads["members"]] == [bot_thread_id]
    all_threads = (await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()
    assert [int(thread["id"]) for thread in all_threads["threads"]] == [
        hidden_thread_id,
        private_thread_id,
        bot_thread_id,
        owner_thread_id,
    ]

    session = await bot.connect()
    threads_by_id = {int(thread["id"]): thread for thread in session.guilds[str(guild.id)]["threads"]}
    assert set(threads_by_id) == {owner_thread_id, bot_thread_id}
    assert "member" not in threads_by_id[owner_thread_id]
    assert set(threads_by_id[bot_thread_id]["member"]) == {"join_timestamp", "flags"}


async def test_gaining_access_to_a_channel_syncs_its_threads(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret_channel_id = await guild.channel("secret")
    await guild.overwrite(secret_channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    thread_id = await guild.owner.create_thread(secret_channel_id)
    session = await bot.connect()
    await guild.overwrite(secret_channel_id, bot.id, allow=Permissions.VIEW_CHANNEL)
    event = await session.next("THREAD_LIST_SYNC")
    assert (event["channel_ids"], [thread["id"] for thread in event["threads"]]) == (
        [str(secret_channel_id)],
        [str(thread_id)],
    )


@pytest.mark.parametrize("thread_type", [PUBLIC_THREAD, PRIVATE_THREAD])
async def test_threads_have_no_permission_overwrites(world: World, thread_type: int) -> None:
    guild = await world.guild()
    thread_id = await guild.owner.create_thread(guild.general, thread_type)
    path = f"/channels/{thread_id}/permissions/{guild.id}"
    (await guild.owner.put(path, json={"type": OverwriteType.ROLE})).rejected(400, 50024)


async def test_a_timed_out_member_cannot_join_or_change_threads(world: World) -> None:
    guild = await world.guild()
    bob, eve = await guild.member(), await guild.member()
    other_thread_id, own_thread_id = (
        await guild.owner.create_thread(guild.general),
        await bob.create_thread(guild.general, PRIVATE_THREAD),
    )
    (await bob.put(f"/channels/{own_thread_id}/thread-members/{eve.id}")).ok()
    timeout_end = codec.timestamp(world.clock.now_ms() + MINUTE_MS)
    path = f"/guilds/{guild.id}/members/{bob.id}"
    (await guild.owner.patch(path, json={"communication_disabled_until": timeout_end})).ok()

    (await bob.put(f"/channels/{other_thread_id}/thread-members/@me")).rejected(403, 50013)
    (await bob.put(f"/channels/{other_thread_id}/thread-members/{bob.id}")).rejected(403, 50013)
    (await bob.patch(f"/channels/{own_thread_id}", json={"name": "renamed"})).rejected(403, 50013)
    (await bob.delete(f"/channels/{own_thread_id}/thread-members/{eve.id}")).rejected(403, 50013)
    (await bob.get(f"/channels/{other_thread_id}/messages")).ok()
    (await bob.delete(f"/channels/{own_thread_id}/thread-members/@me")).ok()

    world.clock.advance(MINUTE_MS)
    (await bob.put(f"/channels/{other_thread_id}/thread-members/@me")).ok()


async def test_history_before_the_start_of_a_thread_is_rejected(world: World) -> None:
    guild = await world.guild()
    forum_id = await guild.channel("forum", type=ChannelType.GUILD_FORUM)
    thread_id = int((await create_post(guild.owner, forum_id)).ok()["id"])
    path = f"/channels/{thread_id}/messages"

    (await guild.owner.get(f"{path}?before={thread_id - 1}")).rejected(400, 50085)
    # The first message of a post has the thread's ID, so paging back ends there.
    assert (await guild.owner.get(f"{path}?before={thread_id}")).ok() == []
    assert len((await guild.owner.get(f"{path}?before={thread_id + 1}")).ok()) == 1
    assert (await guild.owner.get(f"/channels/{guild.general}/messages?before=1")).ok() == []
