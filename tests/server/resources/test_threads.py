"""Threads and forum posts: starting, joining, changing and forgetting them."""

import json
from typing import Any

import aiohttp
import pytest

from hubbub.protocol import changes, wire
from hubbub.protocol.ids import ChannelId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import threads as protocol
from hubbub.server.resources import channels
from tests.world import Actor, Guild, World

FORUM = 15
MINUTE_MS = 60_000
PUBLIC, PRIVATE = 11, 12


async def thread(who: Actor, channel: int, kind: int = PUBLIC, **body: Any) -> int:
    """A new thread without a message."""
    made = (await who.post(f"/channels/{channel}/threads", json={"name": "talk", "type": kind, **body})).ok()
    return int(made["id"])


async def post(who: Actor, forum: int, **body: Any) -> Any:
    """A new forum post."""
    return await who.post(f"/channels/{forum}/threads", json={"name": "idea", "message": {"content": "hi"}, **body})


async def get(guild: Guild, channel: int) -> Any:
    return (await guild.owner.get(f"/channels/{channel}")).ok()


# Starting


async def test_a_thread_starts_at_a_message_and_takes_its_id(world: World) -> None:
    guild = await world.guild()
    session = await (await world.bot(guild)).connect()
    said = await guild.say(guild.owner, "first")
    answer = await guild.owner.post(
        f"/channels/{guild.general}/messages/{said['id']}/threads", json={"name": "talk", "auto_archive_duration": 60}
    )
    assert answer.status == 201
    made = answer.ok()
    assert (made["id"], made["type"], made["parent_id"]) == (said["id"], PUBLIC, str(guild.general))
    assert (made["owner_id"], made["member_count"], made["message_count"]) == (str(guild.owner.id), 1, 0)
    assert made["thread_metadata"]["auto_archive_duration"] == 60
    assert made["member"]["user_id"] == str(guild.owner.id)

    created = await session.next("THREAD_CREATE")
    assert (created["id"], created["newly_created"]) == (said["id"], True)
    first = await session.next("THREAD_MEMBERS_UPDATE")
    assert (first["id"], first["member_count"]) == (said["id"], 1)
    assert [each["user_id"] for each in first["added_members"]] == [str(guild.owner.id)]
    updated = await session.next("MESSAGE_UPDATE")
    assert updated["flags"] & 1 << 5
    starter = await session.next("MESSAGE_CREATE")
    assert (starter["type"], starter["channel_id"]) == (21, said["id"])
    assert starter["message_reference"]["message_id"] == said["id"]
    await session.none_of("MESSAGE_CREATE")
    assert (await guild.last_audit_entry(110))["target_id"] == said["id"]

    again = await guild.owner.post(f"/channels/{guild.general}/messages/{said['id']}/threads", json={"name": "x"})
    again.refused(400, 160004)
    shown = (await guild.owner.get(f"/channels/{guild.general}/messages/{said['id']}")).ok()
    assert shown["thread"]["id"] == said["id"]


async def test_a_thread_at_an_older_message_is_announced_in_the_channel(world: World) -> None:
    guild = await world.guild()
    said = await guild.say(guild.owner, "first")
    await guild.say(guild.owner, "second")
    session = await (await world.bot(guild)).connect()
    (await guild.owner.post(f"/channels/{guild.general}/messages/{said['id']}/threads", json={"name": "talk"})).ok()
    told = await session.next("MESSAGE_CREATE", lambda message: message["type"] == 18)
    assert (told["channel_id"], told["content"]) == (str(guild.general), "talk")
    assert told["message_reference"]["channel_id"] == said["id"]


async def test_a_thread_cannot_start_where_there_is_none(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    voice = await guild.channel("voice", type=2)
    said = await guild.say(guild.owner)
    path = f"/channels/{guild.general}/messages"
    (await bob.post(f"{path}/1/threads", json={"name": "x"})).refused(404, 10008)
    (await bob.post(f"/channels/{voice}/threads", json={"name": "x"})).refused(400, 50024)
    inner = await thread(guild.owner, guild.general)
    (await bob.post(f"/channels/{inner}/threads", json={"name": "x"})).refused(400, 50024)
    (await bob.post(f"{path}/{said['id']}/threads", json={"name": ""})).errors("name")
    (await bob.post(f"{path}/{said['id']}/threads", json={"name": " "})).errors("name")
    await guild.overwrite(guild.general, bob.id, deny=Permissions.CREATE_PUBLIC_THREADS)
    (await bob.post(f"{path}/{said['id']}/threads", json={"name": "x"})).refused(403, 50013)
    (await bob.post(f"/channels/{guild.general}/threads", json={"name": "x", "type": PUBLIC})).refused(403, 50013)
    (await bob.post(f"/channels/{guild.general}/threads", json={"name": "x"})).ok()
    answer = await bob.post(f"/channels/{guild.general}/threads", json={"name": "x", "type": 10})
    assert answer.errors("type") == ["BASE_TYPE_CHOICES"]


async def test_a_system_message_starts_no_thread(world: World) -> None:
    guild = await world.guild()
    await thread(guild.owner, guild.general)
    told = (await guild.owner.get(f"/channels/{guild.general}/messages")).ok()[0]
    assert told["type"] == 18
    answer = await guild.owner.post(f"/channels/{guild.general}/messages/{told['id']}/threads", json={"name": "x"})
    answer.refused(403, 50021)


async def test_a_thread_without_a_message_is_private_unless_said_otherwise(world: World) -> None:
    guild = await world.guild()
    made = (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "quiet"})).ok()
    assert (made["type"], made["thread_metadata"]["invitable"]) == (PRIVATE, True)
    assert "message" not in made
    public = await get(guild, await thread(guild.owner, guild.general))
    assert public["type"] == PUBLIC
    assert "invitable" not in public["thread_metadata"]


async def test_an_announcement_channel_has_announcement_threads(world: World) -> None:
    guild = await world.guild()
    sql = "UPDATE guilds SET features = ? WHERE id = ?"
    await world.write(lambda call: call.tx.run(sql, json.dumps(["NEWS"]), guild.id))
    news = await guild.channel("news", type=5)
    assert (await guild.owner.post(f"/channels/{news}/threads", json={"name": "x"})).ok()["type"] == 10
    said = await guild.say(guild.owner, channel=news)
    made = (await guild.owner.post(f"/channels/{news}/messages/{said['id']}/threads", json={"name": "x"})).ok()
    assert made["type"] == 10


async def test_only_its_members_and_moderators_hear_of_a_private_thread(world: World) -> None:
    guild = await world.guild()
    stranger = await (await world.bot(guild)).connect()
    moderator = await (await world.bot(guild, permissions=Permissions.MANAGE_THREADS)).connect()
    made = await thread(guild.owner, guild.general, PRIVATE)
    assert (await moderator.next("THREAD_CREATE"))["id"] == str(made)
    await guild.say(guild.owner, "psst", channel=made)
    assert (await moderator.next("MESSAGE_CREATE"))["content"] == "psst"
    await stranger.none_of("THREAD_CREATE", "MESSAGE_CREATE", "THREAD_MEMBERS_UPDATE")
    bob = await guild.member()
    (await bob.get(f"/channels/{made}")).refused(403, 50001)


@pytest.mark.dated(changes.PERMISSION_SPLITS)
async def test_a_slow_channel_slows_the_threads_of_people(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member(Permissions.MANAGE_CHANNELS)
    bot = await world.bot(guild)
    (await guild.owner.patch(f"/channels/{guild.general}", json={"rate_limit_per_user": 30})).ok()
    await thread(bob, guild.general)
    path = f"/channels/{guild.general}/threads"
    refusal = await bob.post(path, json={"name": "x", "type": PUBLIC})
    assert refusal.refused(429, 20016)["retry_after"] == 30
    for _ in range(2):
        await thread(bot, guild.general)
    world.clock.advance(30_000)
    await thread(bob, guild.general)
    world.clock.set(changes.PERMISSION_SPLITS.at_ms - 1)
    await thread(bob, guild.general)
    await thread(bob, guild.general)


async def test_a_guild_has_a_thousand_active_threads(world: World) -> None:
    guild = await world.guild()

    def fill(call: Any) -> None:
        for _ in range(protocol.ACTIVE_THREADS_MAX):
            row = channels.ChannelRow(call.new_id(ChannelId), PUBLIC, guild.id, "x", parent_id=guild.general)
            channels.insert(call.tx, row)

    await world.write(fill)
    (await guild.owner.post(f"/channels/{guild.general}/threads", json={"name": "x"})).refused(400, 160006)


# Forums


async def test_a_post_comes_with_its_first_message(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel(
        "ideas", type=FORUM, available_tags=[{"name": "bug"}], default_thread_rate_limit_per_user=7
    )
    tag = (await get(guild, forum))["available_tags"][0]["id"]
    session = await (await world.bot(guild)).connect()
    answer = await post(guild.owner, forum, applied_tags=[tag])
    assert answer.status == 201
    made = answer.ok()
    assert (made["type"], made["applied_tags"], made["rate_limit_per_user"]) == (PUBLIC, [tag], 7)
    assert (made["message"]["id"], made["message"]["content"], made["last_message_id"]) == (
        made["id"],
        "hi",
        made["id"],
    )
    assert (made["message_count"], made["total_message_sent"], made["member_count"]) == (0, 0, 1)
    assert (await session.next("THREAD_CREATE"))["id"] == made["id"]
    assert (await session.next("MESSAGE_CREATE"))["id"] == made["id"]
    assert (await get(guild, forum))["last_message_id"] == made["id"]


async def test_a_post_can_bring_files(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel("ideas", type=FORUM)
    form = aiohttp.FormData()
    body = {"name": "idea", "message": {"content": "look", "attachments": [{"id": 0, "description": "words"}]}}
    form.add_field("payload_json", json.dumps(body), content_type="application/json")
    form.add_field("files[0]", b"hello", filename="a.txt", content_type="text/plain")
    made = (await guild.owner.post(f"/channels/{forum}/threads", data=form)).ok()
    assert [each["filename"] for each in made["message"]["attachments"]] == ["a.txt"]


async def test_a_post_is_refused_without_words_permission_or_tag(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel(
        "ideas", type=FORUM, available_tags=[{"name": "official", "moderated": True}], flags=1 << 4
    )
    bob = await guild.member()
    tag = (await get(guild, forum))["available_tags"][0]["id"]
    path = f"/channels/{forum}/threads"
    assert (await bob.post(path, json={"name": "x"})).errors("message") == ["BASE_TYPE_REQUIRED"]
    (await post(bob, forum)).refused(400, 40066)
    (await post(bob, forum, applied_tags=[tag])).refused(403, 50013)
    (await post(bob, forum, applied_tags=["1"])).refused(404, 10087)
    (await post(bob, forum, applied_tags=["1"] * 6)).errors("applied_tags")
    (await post(guild.owner, forum)).refused(400, 40067)
    (await guild.owner.patch(f"/channels/{forum}", json={"available_tags": [{"name": "free"}]})).ok()
    (await post(bob, forum)).refused(400, 40067)
    (await guild.owner.patch(f"/channels/{forum}", json={"flags": 0})).ok()
    (await post(bob, forum, message={})).refused(400, 50006)
    (await post(bob, forum)).ok()
    await guild.overwrite(forum, bob.id, deny=Permissions.SEND_MESSAGES)
    (await post(bob, forum)).refused(403, 50013)
    await guild.overwrite(forum, bob.id, deny=Permissions.SEND_MESSAGES_IN_THREADS)
    (await post(bob, forum)).ok()


async def test_a_forum_pins_one_post_and_archiving_unpins(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel("ideas", type=FORUM)
    one, two = [(await post(guild.owner, forum)).ok()["id"] for _ in range(2)]
    assert (await guild.owner.patch(f"/channels/{one}", json={"flags": 2})).ok()["flags"] == 2
    (await guild.owner.patch(f"/channels/{two}", json={"flags": 2})).refused(400, 30047)
    assert (await guild.owner.patch(f"/channels/{one}", json={"archived": True})).ok()["flags"] == 0
    (await guild.owner.patch(f"/channels/{two}", json={"flags": 2})).ok()
    plain = await thread(guild.owner, guild.general)
    (await guild.owner.patch(f"/channels/{plain}", json={"flags": 2})).refused(400, 50024)


# Speaking


async def test_who_speaks_is_in_and_messages_are_counted(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    made = await thread(guild.owner, guild.general)
    session = await (await world.bot(guild)).connect()
    said = await guild.say(bob, channel=made)
    joined = await session.next("THREAD_MEMBERS_UPDATE")
    assert (joined["member_count"], joined["added_members"][0]["user_id"]) == (2, str(bob.id))
    assert joined["added_members"][0]["member"]["user"]["id"] == str(bob.id)
    assert joined["added_members"][0]["presence"] is None
    await guild.say(bob, channel=made)
    now = await get(guild, made)
    assert (now["message_count"], now["total_message_sent"], now["member_count"]) == (2, 2, 2)
    (await bob.delete(f"/channels/{made}/messages/{said['id']}")).ok()
    now = await get(guild, made)
    assert (now["message_count"], now["total_message_sent"]) == (1, 2)


async def test_a_word_wakes_an_archived_thread_unless_it_is_locked(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    bot = await world.bot(guild)
    made = await thread(guild.owner, guild.general)
    (await bot.put(f"/channels/{made}/thread-members/@me")).ok()
    session = await bot.connect()
    (await guild.owner.patch(f"/channels/{made}", json={"archived": True})).ok()
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is True
    await guild.say(bob, channel=made)
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is False
    mine = await session.next("THREAD_MEMBER_UPDATE")
    assert (mine["id"], mine["user_id"], mine["guild_id"]) == (str(made), str(bot.id), str(guild.id))
    (await guild.owner.patch(f"/channels/{made}", json={"archived": True, "locked": True})).ok()
    (await bob.post(f"/channels/{made}/messages", json={"content": "x"})).refused(400, 160005)
    await guild.say(guild.owner, channel=made)
    assert (await get(guild, made))["thread_metadata"]["archived"] is False


# Members


async def test_one_joins_and_leaves_a_thread(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    made = await thread(guild.owner, guild.general)
    session = await bot.connect(Intents.GUILDS)
    path = f"/channels/{made}/thread-members"
    assert (await bot.put(f"{path}/@me")).status == 204
    joined = await session.next("THREAD_MEMBERS_UPDATE")
    assert joined["added_members"][0]["user_id"] == str(bot.id)
    told = await session.next("THREAD_CREATE")
    assert (told["member"]["user_id"], "newly_created" in told) == (str(bot.id), False)
    (await bot.put(f"{path}/@me")).ok()
    await session.none_of("THREAD_MEMBERS_UPDATE")
    bob = await guild.member()
    (await bob.put(f"{path}/@me")).ok()
    await session.none_of("THREAD_MEMBERS_UPDATE")

    mine = (await bot.get(f"{path}/{bot.id}")).ok()
    assert (mine["id"], mine["user_id"], "member" in mine) == (str(made), str(bot.id), False)
    assert (await bot.get(f"{path}/{bot.id}?with_member=true")).ok()["member"]["user"]["id"] == str(bot.id)
    everybody = [int(each["user_id"]) for each in (await bot.get(path)).ok()]
    assert everybody == sorted([guild.owner.id, bot.id, bob.id])
    page = (await bot.get(f"{path}?with_member=true&limit=1&after={everybody[0]}")).ok()
    assert [int(each["member"]["user"]["id"]) for each in page] == everybody[1:2]

    assert (await bot.delete(f"{path}/@me")).status == 204
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(bot.id)]
    (await bot.get(f"{path}/{bot.id}")).refused(404, 10007)
    (await bot.put(f"/channels/{guild.general}/thread-members/@me")).refused(400, 50024)


async def test_an_app_lists_members_only_with_the_intent(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild, flags=0)
    made = await thread(guild.owner, guild.general)
    (await bot.get(f"/channels/{made}/thread-members")).refused(403, 50001)


async def test_others_are_brought_and_sent_away(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    made = await thread(bob, guild.general, PRIVATE)
    session = await (await world.bot(guild, permissions=Permissions.MANAGE_THREADS)).connect()
    path = f"/channels/{made}/thread-members"
    assert (await bob.put(f"{path}/{carol.id}")).status == 204
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["added_members"][0]["user_id"] == str(carol.id)
    told = await session.next("MESSAGE_CREATE")
    assert (told["type"], [user["id"] for user in told["mentions"]]) == (1, [str(carol.id)])
    (await carol.get(f"/channels/{made}")).ok()
    (await carol.delete(f"{path}/{bob.id}")).refused(403, 50013)
    (await bob.put(f"{path}/1")).refused(404, 10013)
    stranger = await world.user()
    (await bob.put(f"{path}/{stranger.id}")).refused(404, 10007)

    (await bob.delete(f"{path}/{carol.id}")).ok()
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(carol.id)]
    assert (await session.next("MESSAGE_CREATE"))["type"] == 2
    (await bob.delete(f"{path}/{carol.id}")).refused(404, 10007)
    (await carol.get(f"/channels/{made}")).refused(403, 50001)


async def test_a_private_thread_may_be_closed_to_invitations(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    made = await thread(bob, guild.general, PRIVATE, invitable=False)
    (await bob.put(f"/channels/{made}/thread-members/{carol.id}")).refused(403, 50013)
    (await guild.owner.patch(f"/channels/{made}", json={"invitable": True, "locked": True})).ok()
    (await bob.put(f"/channels/{made}/thread-members/{carol.id}")).refused(400, 160005)
    (await guild.owner.put(f"/channels/{made}/thread-members/{carol.id}")).ok()


async def test_private_channels_have_no_threads(world: World) -> None:
    alice, bob = await world.user(), await world.user()
    direct = (await alice.post("/users/@me/channels", json={"recipient_id": str(bob.id)})).ok()["id"]
    said = (await alice.post(f"/channels/{direct}/messages", json={"content": "hi"})).ok()["id"]
    for method, path, body in (
        ("POST", "threads", {"name": "x"}),
        ("POST", f"messages/{said}/threads", {"name": "x"}),
        ("PUT", "thread-members/@me", None),
        ("GET", "thread-members", None),
        ("GET", f"thread-members/{alice.id}", None),
        ("GET", "threads/archived/public", None),
    ):
        (await alice.request(method, f"/channels/{direct}/{path}", json=body)).refused(400, 50003)


async def test_nobody_comes_to_an_archived_thread_nor_leaves_it(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    made = await thread(guild.owner, guild.general)
    (await guild.owner.patch(f"/channels/{made}", json={"archived": True})).ok()
    path = f"/channels/{made}/thread-members"
    for answer in (
        await bob.put(f"{path}/@me"),
        await guild.owner.delete(f"{path}/@me"),
        await guild.owner.put(f"{path}/{bob.id}"),
        await guild.owner.delete(f"{path}/{bob.id}"),
    ):
        answer.refused(400, 50083)


async def test_a_thread_has_a_thousand_members(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    made = await thread(guild.owner, guild.general)
    await world.write(lambda call: call.tx.run("UPDATE channels SET member_count = 1000 WHERE id = ?", made))
    (await bob.put(f"/channels/{made}/thread-members/@me")).refused(400, 30033)
    assert (await get(guild, made))["member_count"] == 50


async def test_who_leaves_the_guild_leaves_its_threads(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    made = await thread(bob, guild.general)
    session = await (await world.bot(guild)).connect()
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    assert (await session.next("THREAD_MEMBERS_UPDATE"))["removed_member_ids"] == [str(bob.id)]
    assert (await get(guild, made))["member_count"] == 0


# Changing


async def test_the_creator_changes_some_and_moderators_all(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    made = await thread(bob, guild.general)
    session = await (await world.bot(guild)).connect()
    path = f"/channels/{made}"
    edited = (await bob.patch(path, json={"name": "Other Words", "auto_archive_duration": 4320})).ok()
    assert (edited["name"], edited["thread_metadata"]["auto_archive_duration"]) == ("Other Words", 4320)
    assert (await session.next("THREAD_UPDATE"))["name"] == "Other Words"
    told = await session.next("MESSAGE_CREATE")
    assert (told["type"], told["content"], told["channel_id"]) == (4, "Other Words", str(made))
    entry = await guild.last_audit_entry(111)
    assert {"key": "name", "old_value": "talk", "new_value": "Other Words"} in entry["changes"]
    (await bob.patch(path, json={"locked": True})).refused(403, 50013)
    (await bob.patch(path, json={"applied_tags": []})).refused(403, 50013)
    (await bob.patch(path, json={"rate_limit_per_user": 5})).refused(403, 50013)
    (await carol.patch(path, json={"name": "x"})).refused(403, 50013)
    (await carol.patch(path, json={"archived": True})).refused(403, 50013)
    await guild.allow(carol, Permissions.MANAGE_THREADS)
    edited = (await carol.patch(path, json={"locked": True, "rate_limit_per_user": 5})).ok()
    assert (edited["thread_metadata"]["locked"], edited["rate_limit_per_user"]) == (True, 5)
    (await bob.patch(path, json={"name": "x"})).refused(400, 160005)


async def test_an_archived_thread_is_opened_before_it_changes(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    made = await thread(bob, guild.general)
    path = f"/channels/{made}"
    world.clock.advance(1000)
    (await bob.patch(path, json={"archived": True})).ok()
    (await bob.patch(path, json={"name": "x"})).refused(400, 50083)
    (await guild.owner.patch(path, json={"locked": True})).refused(400, 50083)
    assert (await carol.patch(path, json={"archived": False})).ok()["thread_metadata"]["archived"] is False
    (await bob.patch(path, json={"archived": True})).ok()
    assert (await bob.patch(path, json={"archived": False, "name": "x"})).ok()["name"] == "x"
    await guild.overwrite(guild.general, carol.id, deny=Permissions.SEND_MESSAGES_IN_THREADS)
    (await bob.patch(path, json={"archived": True})).ok()
    (await carol.patch(path, json={"archived": False})).refused(403, 50013)


async def test_a_silent_thread_archives_itself(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    made = await thread(guild.owner, guild.general, auto_archive_duration=60)
    assert world.app.worker is not None
    await world.clock.run_for(50 * MINUTE_MS)
    await guild.say(guild.owner, channel=made)
    await world.clock.run_for(60 * MINUTE_MS - 1000)
    await world.app.worker.run_due()
    assert (await get(guild, made))["thread_metadata"]["archived"] is False
    session = await bot.connect()
    await world.clock.run_for(2000)
    await world.app.worker.run_due()
    assert (await session.next("THREAD_UPDATE"))["thread_metadata"]["archived"] is True
    assert (await get(guild, made))["thread_metadata"]["archived"] is True


async def test_a_pinned_post_does_not_archive_itself(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel("ideas", type=FORUM)
    made = (await post(guild.owner, forum, auto_archive_duration=60)).ok()["id"]
    (await guild.owner.patch(f"/channels/{made}", json={"flags": 2})).ok()
    assert world.app.worker is not None
    await world.clock.run_for(120 * MINUTE_MS)
    await world.app.worker.run_due()
    assert (await get(guild, made))["thread_metadata"]["archived"] is False
    (await guild.owner.patch(f"/channels/{made}", json={"flags": 0})).ok()
    await world.app.worker.run_due()
    assert (await get(guild, made))["thread_metadata"]["archived"] is True


async def test_a_deleted_thread_is_gone_with_its_words(world: World) -> None:
    guild = await world.guild()
    bob = await guild.member()
    made = await thread(bob, guild.general)
    session = await (await world.bot(guild)).connect()
    (await bob.delete(f"/channels/{made}")).refused(403, 50013)
    answer = await guild.owner.delete(f"/channels/{made}")
    assert (answer.status, answer.ok()["id"]) == (200, str(made))
    assert await session.next("THREAD_DELETE") == {
        "id": str(made),
        "guild_id": str(guild.id),
        "parent_id": str(guild.general),
        "type": PUBLIC,
    }
    assert (await guild.last_audit_entry(112))["target_id"] == str(made)
    (await guild.owner.get(f"/channels/{made}")).refused(404, 10003)


async def test_threads_go_with_their_channel_and_their_guild(world: World) -> None:
    guild = await world.guild()
    channel = await guild.channel("gone")
    made, other = await thread(guild.owner, channel), await thread(guild.owner, guild.general)
    (await guild.owner.delete(f"/channels/{channel}")).ok()
    (await guild.owner.get(f"/channels/{made}")).refused(404, 10003)
    left = "SELECT COUNT(*) FROM thread_members"
    assert await world.write(lambda call: call.tx.value(left)) == 1
    (await guild.owner.delete(f"/guilds/{guild.id}")).ok()
    (await guild.owner.get(f"/channels/{other}")).refused(404, 10003)
    assert await world.write(lambda call: call.tx.value(left)) == 0


# Listing


async def test_archived_threads_come_by_pages_of_time(world: World) -> None:
    guild = await world.guild()
    made = []
    for _ in range(3):
        each = await thread(guild.owner, guild.general)
        world.clock.advance(1000)
        (await guild.owner.patch(f"/channels/{each}", json={"archived": True})).ok()
        made.append(str(each))
    path = f"/channels/{guild.general}/threads/archived/public"
    page = (await guild.owner.get(f"{path}?limit=2")).ok()
    assert ([each["id"] for each in page["threads"]], page["has_more"]) == ([made[2], made[1]], True)
    assert [each["id"] for each in page["members"]] == [made[2], made[1]]
    before = page["threads"][-1]["thread_metadata"]["archive_timestamp"].replace("+", "%2B")
    page = (await guild.owner.get(f"{path}?limit=2&before={before}")).ok()
    assert ([each["id"] for each in page["threads"]], page["has_more"]) == ([made[0]], False)
    (await guild.owner.get(f"{path}?limit=1")).errors("limit")


async def test_private_archived_threads_are_for_moderators_and_ones_own(world: World) -> None:
    guild = await world.guild()
    bob, carol = await guild.member(), await guild.member()
    made = []
    for _ in range(3):
        each = await thread(bob, guild.general, PRIVATE)
        (await bob.patch(f"/channels/{each}", json={"archived": True})).ok()
        made.append(str(each))
    path = f"/channels/{guild.general}"
    (await bob.get(f"{path}/threads/archived/private")).refused(403, 50013)
    listed = (await guild.owner.get(f"{path}/threads/archived/private")).ok()
    assert {each["id"] for each in listed["threads"]} == set(made)
    mine = (await bob.get(f"{path}/users/@me/threads/archived/private?limit=2")).ok()
    assert ([each["id"] for each in mine["threads"]], mine["has_more"]) == ([made[2], made[1]], True)
    rest = (await bob.get(f"{path}/users/@me/threads/archived/private?before={made[1]}")).ok()
    assert [each["id"] for each in rest["threads"]] == [made[0]]
    assert (await carol.get(f"{path}/users/@me/threads/archived/private")).ok()["threads"] == []


async def test_active_threads_are_those_one_sees(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret = await guild.channel("secret")
    await guild.overwrite(secret, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    one = await thread(guild.owner, guild.general)
    two = await thread(bot, guild.general)
    private = await thread(guild.owner, guild.general, PRIVATE)
    hidden = await thread(guild.owner, secret)
    listed = (await bot.get(f"/guilds/{guild.id}/threads/active")).ok()
    assert [int(each["id"]) for each in listed["threads"]] == [two, one]
    assert [int(each["id"]) for each in listed["members"]] == [two]
    everything = (await guild.owner.get(f"/guilds/{guild.id}/threads/active")).ok()
    assert [int(each["id"]) for each in everything["threads"]] == [hidden, private, two, one]

    session = await bot.connect()
    told = {int(each["id"]): each for each in session.guilds[str(guild.id)]["threads"]}
    assert set(told) == {one, two}
    assert "member" not in told[one]
    assert set(told[two]["member"]) == {"join_timestamp", "flags"}


async def test_who_gains_sight_of_a_channel_is_told_its_threads(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    secret = await guild.channel("secret")
    await guild.overwrite(secret, guild.id, deny=Permissions.VIEW_CHANNEL, kind=0)
    made = await thread(guild.owner, secret)
    session = await bot.connect()
    await guild.overwrite(secret, bot.id, allow=Permissions.VIEW_CHANNEL)
    told = await session.next("THREAD_LIST_SYNC")
    assert (told["channel_ids"], [each["id"] for each in told["threads"]]) == ([str(secret)], [str(made)])


@pytest.mark.parametrize("kind", [PUBLIC, PRIVATE])
async def test_threads_have_no_overwrites_of_their_own(world: World, kind: int) -> None:
    guild = await world.guild()
    made = await thread(guild.owner, guild.general, kind)
    path = f"/channels/{made}/permissions/{guild.id}"
    (await guild.owner.put(path, json={"type": 0})).refused(400, 50024)


async def test_who_is_timed_out_comes_to_no_thread_and_changes_none(world: World) -> None:
    guild = await world.guild()
    bob, eve = await guild.member(), await guild.member()
    others, own = await thread(guild.owner, guild.general), await thread(bob, guild.general, PRIVATE)
    (await bob.put(f"/channels/{own}/thread-members/{eve.id}")).ok()
    until = wire.timestamp(world.clock.now_ms() + MINUTE_MS)
    path = f"/guilds/{guild.id}/members/{bob.id}"
    (await guild.owner.patch(path, json={"communication_disabled_until": until})).ok()

    (await bob.put(f"/channels/{others}/thread-members/@me")).refused(403, 50013)
    (await bob.put(f"/channels/{others}/thread-members/{bob.id}")).refused(403, 50013)
    (await bob.patch(f"/channels/{own}", json={"name": "mine"})).refused(403, 50013)
    (await bob.delete(f"/channels/{own}/thread-members/{eve.id}")).refused(403, 50013)
    (await bob.get(f"/channels/{others}/messages")).ok()
    (await bob.delete(f"/channels/{own}/thread-members/@me")).ok()

    world.clock.advance(MINUTE_MS)
    (await bob.put(f"/channels/{others}/thread-members/@me")).ok()


async def test_a_history_does_not_begin_before_its_thread(world: World) -> None:
    guild = await world.guild()
    forum = await guild.channel("forum", type=FORUM)
    made = int((await post(guild.owner, forum)).ok()["id"])
    path = f"/channels/{made}/messages"

    (await guild.owner.get(f"{path}?before={made - 1}")).refused(400, 50085)
    # Who pages back ends at the post itself, which has the thread's id.
    assert (await guild.owner.get(f"{path}?before={made}")).ok() == []
    assert len((await guild.owner.get(f"{path}?before={made + 1}")).ok()) == 1
    assert (await guild.owner.get(f"/channels/{guild.general}/messages?before=1")).ok() == []
