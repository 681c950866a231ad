"""Unmodified discord.js against the server: login, messages, threads, roles, channels, members, errors, resumes, shards."""

import base64
from collections.abc import AsyncIterator

import pytest

from hubbub.protocol.enums import AuditLogAction, MessageType
from tests.clients.client_setup import LARGE_GUILD_MEMBER_COUNT, ONE_PIXEL_PNG, ClientSetup
from tests.clients.discord_js_bot import JS_FOLDER, REQUIRES_DISCORD_JS, JsBot, StepError, run_js_bot

pytestmark = REQUIRES_DISCORD_JS

HAS_ZLIB_SYNC = any((JS_FOLDER / "node_modules" / "zlib-sync" / "build" / "Release").glob("*.node"))
"""Whether the optional package zlib-sync is installed.

Without it the library has no stream compression and requests compressed payloads instead.
"""

COMPRESSION_LOG_LINES = {
    False: "compression: none",
    True: "compression: zlib-stream" if HAS_ZLIB_SYNC else "compression: identify",
}
"""The library's log line without and with compression."""


@pytest.fixture
async def bot(setup: ClientSetup) -> AsyncIterator[JsBot]:
    """The setup's bot, ready."""
    async with run_js_bot(setup) as bot:
        await bot.wait_event("clientReady")
        yield bot


async def test_login_fills_the_cache(bot: JsBot, setup: ClientSetup) -> None:
    cache = await bot.run_step("cache", guild=str(setup.guild.id))
    assert cache["user"].startswith("crier")
    assert cache["application"] == str(setup.bot.application_id)
    assert (cache["name"], cache["owner"], cache["count"]) == ("Town Square", str(setup.alice.id), 3)
    assert set(cache["channels"]) == {str(channel) for channel in setup.guild.channels.values()}
    assert "@everyone" in cache["roles"]
    assert set(cache["members"]) == {str(setup.alice.id), str(setup.bob.id), str(setup.bot.id)}
    assert cache["administrator"]
    assert await bot.run_step("fetchApplicationAndUser", user=str(setup.bob.id)) == {
        "application": "crier",
        "user": "bob",
    }


async def test_a_wrong_token_fails_the_login(setup: ClientSetup) -> None:
    async with run_js_bot(setup, "MTIz.none.suchtoken") as bot:
        assert (await bot.wait_event("loginFailed"))["code"] == "TokenInvalid"


async def test_messages_are_sent_edited_replied_to_and_deleted(bot: JsBot, setup: ClientSetup) -> None:
    channel_id = str(setup.guild.general)
    bob_message = await setup.guild.send_message(setup.bob, f"ping <@{setup.bot.id}>")
    incoming = await bot.wait_event("messageCreate")
    assert (incoming["id"], incoming["author"], incoming["mentions"]) == (
        bob_message["id"],
        str(setup.bob.id),
        [str(setup.bot.id)],
    )
    reply = await bot.run_step("reply", channel=channel_id, message=bob_message["id"], content="pong")
    assert (reply["reference"], reply["type"]) == (bob_message["id"], MessageType.REPLY)
    echo = await bot.wait_event("messageCreate", lambda message: message["id"] == reply["id"])
    assert (echo["reference"], echo["mentions"]) == (bob_message["id"], [str(setup.bob.id)])
    edited_message = await bot.run_step("edit", channel=channel_id, message=reply["id"], content="pong!")
    assert edited_message == {"content": "pong!", "edited": True}
    assert (await bot.wait_event("messageUpdate", lambda message: message["edited"]))["content"] == "pong!"
    await bot.run_step("deleteMessage", channel=channel_id, message=reply["id"])
    assert (await bot.wait_event("messageDelete"))["id"] == reply["id"]

    sent_messages = [await bot.run_step("send", channel=channel_id, content=f"line {number}") for number in range(5)]
    assert await bot.run_step("history", channel=channel_id, limit=3) == ["line 4", "line 3", "line 2"]
    assert await bot.run_step("history", channel=channel_id, before=sent_messages[2], limit=2) == ["line 1", "line 0"]
    assert set(await bot.run_step("deleteMessages", channel=channel_id, messages=sent_messages[:3])) == set(
        sent_messages[:3]
    )
    assert set(await bot.wait_event("messageDeleteBulk")) == set(sent_messages[:3])


async def test_attachments_and_embeds_are_returned_as_sent(bot: JsBot, setup: ClientSetup) -> None:
    files = [
        {"name": "notes.txt", "data": base64.b64encode(b"text").decode(), "description": "my notes", "spoiler": False},
        {"name": "pixel.png", "data": base64.b64encode(ONE_PIXEL_PNG).decode(), "description": None, "spoiler": True},
    ]
    sent_message = await bot.run_step("sendAttachments", channel=str(setup.guild.general), files=files)
    text_file, picture = sent_message["attachments"]
    assert (text_file["name"], text_file["description"], text_file["size"], text_file["spoiler"]) == (
        "notes.txt",
        "my notes",
        4,
        False,
    )
    assert text_file["type"].startswith("text/plain")
    assert (picture["name"], picture["spoiler"], picture["width"]) == ("SPOILER_pixel.png", True, 1)
    assert [attachment["data"] for attachment in sent_message["attachments"]] == [file["data"] for file in files]
    embed = sent_message["embed"]
    assert (embed["title"], embed["color"], embed["footer"]["text"]) == ("News", 0x336699, "the end")
    assert embed["fields"] == [{"name": "weather", "value": "fine", "inline": True}]
    assert sent_message["timestamp"].startswith("2026-12-01T12:00:00")


async def test_reactions_and_pins_are_added_and_removed(bot: JsBot, setup: ClientSetup) -> None:
    channel_id = str(setup.guild.general)
    message = await bot.run_step("send", channel=channel_id, content="do you like it?")
    target = {"channel": channel_id, "message": message}
    await bot.run_step("react", **target, emoji="👍")
    assert await bot.wait_event("messageReactionAdd") == {
        "emoji": "👍",
        "count": 1,
        "user": str(setup.bot.id),
        "me": True,
    }
    (await setup.bob.put(f"/channels/{channel_id}/messages/{message}/reactions/👍/@me")).ok()
    added_reaction = await bot.wait_event("messageReactionAdd")
    assert (added_reaction["count"], added_reaction["user"]) == (2, str(setup.bob.id))
    assert set(await bot.run_step("reactors", **target, emoji="👍")) == {str(setup.bot.id), str(setup.bob.id)}
    await bot.run_step("unreact", **target, emoji="👍", user=str(setup.bob.id))
    assert (await bot.wait_event("messageReactionRemove"))["user"] == str(setup.bob.id)
    await bot.run_step("unreactAll", **target)
    assert (await bot.wait_event("messageReactionRemoveAll"))["id"] == message

    assert await bot.run_step("pinAndUnpin", **target) == {"pinned": [message], "remaining": 0}
    assert (await bot.wait_event("channelPinsUpdate"))["id"] == channel_id


async def test_threads_and_forum_posts_are_created_joined_and_archived(bot: JsBot, setup: ClientSetup) -> None:
    channel_id = str(setup.guild.general)
    message = await bot.run_step("send", channel=channel_id, content="a long story")
    thread = await bot.run_step("createThread", channel=channel_id, message=message, name="story")
    assert thread == {"id": message, "cached": [message]}
    created_thread = await bot.wait_event("threadCreate")
    assert (created_thread["id"], created_thread["parent"]) == (message, channel_id)
    member_ids = await bot.run_step("addThreadMember", thread=message, user=str(setup.bob.id))
    assert set(member_ids) == {str(setup.bot.id), str(setup.bob.id)}
    await bot.wait_event("threadMembersUpdate", lambda data: data["added"] == [str(setup.bob.id)])
    assert await bot.run_step("archiveThread", thread=message, name="tale") == [message]
    assert (await bot.wait_event("threadUpdate", lambda thread: thread["archived"]))["name"] == "tale"

    post = await bot.run_step("createForumPost", guild=str(setup.guild.id), name="a fountain", content="in the middle")
    assert post["starter"] == "in the middle"
    created_thread = await bot.wait_event("threadCreate")
    assert (created_thread["id"], created_thread["parent"], created_thread["tags"]) == (
        post["id"],
        post["forum"],
        [post["tag"]],
    )


async def test_roles_and_channels_are_created_edited_and_deleted(bot: JsBot, setup: ClientSetup) -> None:
    guild_id, bob = str(setup.guild.id), str(setup.bob.id)
    role = await bot.run_step("createEditAndDeleteRole", guild=guild_id, user=bob)
    assert role["assigned"]
    created_role = await bot.wait_event("roleCreate")
    assert (created_role["id"], created_role["color"], created_role["permissions"]) == (
        role["id"],
        0xFF0000,
        ["KickMembers"],
    )
    await bot.wait_event("roleUpdate", lambda role: role["name"] == "watch")
    await bot.wait_event("guildMemberUpdate", lambda member: role["id"] in member["roles"])
    await bot.wait_event("guildMemberUpdate", lambda member: role["id"] not in member["roles"])
    entry = await bot.wait_event("guildAuditLogEntryCreate", lambda entry: entry["reason"] == "brave")
    assert entry["target"] == bob
    assert (await bot.wait_event("roleDelete"))["id"] == role["id"]

    channel = await bot.run_step("createEditAndDeleteChannel", guild=guild_id, user=bob)
    assert (channel["topic"], channel["hidden"], channel["shown"]) == ("gold", True, True)
    assert (await bot.wait_event("channelCreate"))["id"] == channel["id"]
    await bot.wait_event("channelUpdate", lambda channel: channel["name"] == "treasury")
    assert (await bot.wait_event("channelDelete"))["id"] == channel["id"]
    assert await bot.run_step("renameGuild", guild=guild_id, name="Market Square") == "Market Square"
    assert (await bot.wait_event("guildUpdate"))["name"] == "Market Square"


async def test_members_are_renamed_timed_out_kicked_and_banned(bot: JsBot, setup: ClientSetup) -> None:
    target = {"guild": str(setup.guild.id), "user": str(setup.bob.id)}
    assert await bot.run_step("setNickname", **target, nick="Bobby") == "Bobby"
    await bot.wait_event("guildMemberUpdate", lambda member: member["name"] == "Bobby")
    await bot.run_step("timeout", **target, until=setup.world.clock.now_ms() + 3_600_000)
    await bot.wait_event("guildMemberUpdate", lambda member: member["timedOut"])
    await bot.run_step("kick", **target)
    assert (await bot.wait_event("guildMemberRemove"))["id"] == target["user"]
    with pytest.raises(StepError) as not_found:
        await bot.run_step("fetchMember", **target)
    assert (not_found.value.code, not_found.value.status) == (10007, 404)
    assert await bot.run_step("banAndUnban", **target) == [[target["user"], "spam links"]]
    assert await bot.wait_event("guildBanAdd") == {"user": target["user"]}
    assert await bot.wait_event("guildBanRemove") == {"user": target["user"]}
    assert await bot.run_step("auditLog", guild=target["guild"]) == [
        AuditLogAction.MEMBER_BAN_REMOVE,
        AuditLogAction.MEMBER_BAN_ADD,
        AuditLogAction.MEMBER_KICK,
    ]


async def test_error_responses_become_the_librarys_errors(setup: ClientSetup) -> None:
    unprivileged_account = await setup.world.bot(setup.guild, name="unprivileged")
    async with run_js_bot(setup, unprivileged_account.token) as bot:
        await bot.wait_event("clientReady")
        with pytest.raises(StepError) as rejection:
            await bot.run_step("createEditAndDeleteRole", guild=str(setup.guild.id), user=str(setup.bob.id))
        assert (rejection.value.code, rejection.value.status) == (50013, 403)
        with pytest.raises(StepError) as not_found:
            await bot.run_step("reply", channel=str(setup.guild.general), message="1", content="?")
        assert (not_found.value.code, not_found.value.status) == (10008, 404)
        with pytest.raises(StepError) as invalid_error:
            await bot.run_step("send", channel=str(setup.guild.general), content="x" * 2001)
        assert (invalid_error.value.code, invalid_error.value.status) == (50035, 400)
        assert "content[BASE_TYPE_MAX_LENGTH]" in str(invalid_error.value)


async def test_invites_typing_and_direct_messages_are_sent_and_received(bot: JsBot, setup: ClientSetup) -> None:
    channel_id, guild_id = str(setup.guild.general), str(setup.guild.id)
    invite = await bot.run_step("createInvite", channel=channel_id)
    assert invite["guild"] == guild_id
    assert (await bot.wait_event("inviteCreate"))["code"] == invite["code"]
    carol = await setup.world.user("carol")
    (await carol.post(f"/invites/{invite['code']}", json={})).ok()
    assert (await bot.wait_event("guildMemberAdd"))["id"] == str(carol.id)
    assert await bot.run_step("deleteInvite", guild=guild_id, code=invite["code"]) == 1
    assert (await bot.wait_event("inviteDelete"))["code"] == invite["code"]

    (await setup.bob.post(f"/channels/{channel_id}/typing")).ok()
    assert await bot.wait_event("typingStart") == {"channel": channel_id, "user": str(setup.bob.id)}
    bob_session = await setup.bob.connect()
    await bot.run_step("sendTyping", channel=channel_id)
    assert (await bob_session.next("TYPING_START"))["user_id"] == str(setup.bot.id)

    sent_message = await bot.run_step("sendDirectMessage", user=str(setup.bob.id), content="psst")
    path = f"/channels/{sent_message['channel']}/messages"
    assert [message["content"] for message in (await setup.bob.get(path)).ok()] == ["psst"]
    (await setup.bob.post(path, json={"content": "what?"})).ok()
    incoming = await bot.wait_event("messageCreate", lambda message: message["author"] == str(setup.bob.id))
    assert (incoming["content"], incoming["guild"]) == ("what?", None)


async def test_presences_and_voice_states_are_received_and_sent(bot: JsBot, setup: ClientSetup) -> None:
    bob_session = await setup.bob.connect()
    bob_presence = await bot.wait_event("presenceUpdate", lambda presence: presence["user"] == str(setup.bob.id))
    assert bob_presence["status"] == "online"
    await bot.run_step("setPresence", status="idle", activity="chess")
    bot_presence = await bob_session.next(
        "PRESENCE_UPDATE", lambda data: data["user"]["id"] == str(setup.bot.id) and data["status"] == "idle"
    )
    assert [activity["name"] for activity in bot_presence["activities"]] == ["chess"]

    lounge_id = str(setup.guild.channels["General"])
    voice_events = await bot.run_step("joinAndLeaveVoice", guild=str(setup.guild.id), channel=lounge_id)
    assert (voice_events["state"]["channel_id"], voice_events["state"]["self_mute"]) == (lounge_id, True)
    assert voice_events["server"]["token"]
    assert voice_events["server"]["endpoint"]
    assert (await bot.wait_event("voiceStateUpdate"))["after"] == lounge_id
    assert (await bot.wait_event("voiceStateUpdate"))["after"] is None


@pytest.mark.parametrize("compresses", [False, True], ids=["plain", "compressed"])
async def test_an_aborted_connection_resumes_without_missed_events(setup: ClientSetup, compresses: bool) -> None:
    async with run_js_bot(setup, compresses=compresses) as bot:
        await bot.wait_event("clientReady")
        assert await bot.wait_event("debug") == COMPRESSION_LOG_LINES[compresses]
        expected = []
        for attempt in range(3):
            expected += [
                (await setup.guild.send_message(setup.bob, f"{attempt}.{number} " + "é" * 500))["id"]
                for number in range(5)
            ]
            assert setup.proxy.abort_connections() == 1
            expected += [
                (await setup.guild.send_message(setup.bob, f"{attempt}.{number} while away"))["id"]
                for number in range(5)
            ]
            await bot.wait_event("shardResume")
        incoming = [(await bot.wait_event("messageCreate"))["id"] for _ in expected]
        await setup.guild.send_message(setup.bob, "the end")
        assert (await bot.wait_event("messageCreate"))["content"] == "the end"
        assert incoming == expected


async def test_guilds_are_spread_over_two_shards(setup: ClientSetup) -> None:
    guild_ids_by_shard = await setup.create_guilds_on_both_shards()
    async with run_js_bot(setup, client={"shards": [0, 1], "shardCount": 2}) as bot:
        await bot.wait_event("clientReady")
        assert await bot.run_step("shards") == {
            str(guild_id): shard for shard, guild_ids in guild_ids_by_shard.items() for guild_id in guild_ids
        }


async def test_all_members_of_a_large_guild_are_chunked(setup: ClientSetup) -> None:
    await setup.add_members()
    async with run_js_bot(setup) as bot:
        await bot.wait_event("clientReady")
        counts = await bot.run_step("countMembers", guild=str(setup.guild.id))
        assert counts["large"]
        assert counts["cached"] < 10
        assert (counts["all"], counts["matching"]) == (LARGE_GUILD_MEMBER_COUNT + 3, 100)
