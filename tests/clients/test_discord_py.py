"""Unmodified discord.py against the server: login, messages, threads, guilds, members, errors, voice, resumes, shards."""

import datetime
import importlib.util
import io
import sys
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest

from hubbub.server.places import members
from tests.clients.client_setup import LARGE_GUILD_MEMBER_COUNT, ONE_PIXEL_PNG, ClientSetup, Inbox
from tests.clients.discord_py_bot import Bot, ShardedBot, run_bot

pytestmark = pytest.mark.usefixtures("discord_py_urls")


@pytest.fixture
async def bot(setup: ClientSetup) -> AsyncIterator[Bot]:
    """The bot of the setup after READY."""
    async with run_bot(Bot(), setup.bot.token) as bot:
        yield bot


@pytest.fixture
def guild(bot: Bot, setup: ClientSetup) -> discord.Guild:
    """The setup's guild, from the bot's cache."""
    guild = bot.get_guild(setup.guild.id)
    assert guild is not None
    return guild


@pytest.fixture
def general(guild: discord.Guild, setup: ClientSetup) -> discord.TextChannel:
    """The setup's text channel."""
    channel = guild.get_channel(setup.guild.general)
    assert isinstance(channel, discord.TextChannel)
    return channel


async def test_login_fills_the_cache(bot: Bot, guild: discord.Guild, setup: ClientSetup) -> None:
    assert bot.user is not None
    assert (bot.user.id, bot.user.name, bot.user.bot) == (setup.bot.id, "crier", True)
    assert bot.application_id == setup.bot.application_id
    assert bot.application_flags.gateway_guild_members_limited
    assert (guild.name, guild.owner_id, guild.member_count, guild.chunked) == ("Town Square", setup.alice.id, 3, True)
    assert {member.id for member in guild.members} == {setup.alice.id, setup.bob.id, setup.bot.id}
    assert {channel.id for channel in guild.channels} == set(setup.guild.channels.values())
    assert {type(channel) for channel in guild.channels} == {
        discord.TextChannel,
        discord.VoiceChannel,
        discord.CategoryChannel,
    }
    assert guild.default_role.id == guild.id
    assert guild.me.guild_permissions.administrator
    assert not guild.get_member(setup.bob.id).guild_permissions.administrator
    assert (await bot.application_info()).name == "crier"
    assert (await bot.fetch_user(setup.bob.id)).name == "bob"
    assert [fetched_guild.id async for fetched_guild in bot.fetch_guilds()] == [guild.id]


async def test_a_wrong_token_fails_the_login() -> None:
    async with Bot() as bot:
        with pytest.raises(discord.LoginFailure):
            await bot.login("MTIz.none.suchtoken")


async def test_messages_are_sent_edited_replied_to_and_deleted(
    bot: Bot, general: discord.TextChannel, setup: ClientSetup
) -> None:
    bob_message = await setup.guild.send_message(setup.bob, f"ping <@{setup.bot.id}>")
    incoming = await bot.wait_event("message")
    assert (incoming.id, incoming.author.id, incoming.mentions) == (
        int(bob_message["id"]),
        setup.bob.id,
        [general.guild.me],
    )

    reply = await incoming.reply("pong", mention_author=True)
    assert reply.reference.message_id == incoming.id
    echo = await bot.wait_event("message", lambda message: message.id == reply.id)
    assert echo.type is discord.MessageType.reply
    assert echo.reference.resolved.id == incoming.id
    assert [user.id for user in echo.mentions] == [setup.bob.id]

    await reply.edit(content="pong!")
    previous_message, edited_message = await bot.wait_event(
        "message_edit", lambda _, edited_message: edited_message.edited_at is not None
    )
    assert (previous_message.id, edited_message.content) == (reply.id, "pong!")

    await reply.delete()
    assert (await bot.wait_event("message_delete")).id == reply.id

    sent_messages = [await general.send(f"line {number}") for number in range(5)]
    history = [message async for message in general.history(limit=3)]
    assert [message.content for message in history] == ["line 4", "line 3", "line 2"]
    older = [message.id async for message in general.history(before=sent_messages[2], oldest_first=True)]
    assert older == [incoming.id, sent_messages[0].id, sent_messages[1].id]
    assert (await general.fetch_message(sent_messages[0].id)).content == "line 0"

    await general.delete_messages(sent_messages[:3])
    assert {message.id for message in await bot.wait_event("bulk_message_delete")} == {
        message.id for message in sent_messages[:3]
    }
    purged_messages = await general.purge(limit=2)
    assert {message.id for message in purged_messages} == {sent_messages[3].id, sent_messages[4].id}


async def test_attachments_are_returned_as_sent(bot: Bot, general: discord.TextChannel) -> None:
    notes = discord.File(io.BytesIO(b"three lines\nof\ntext"), "notes.txt", description="my notes")
    picture = discord.File(io.BytesIO(ONE_PIXEL_PNG), "pixel.png", spoiler=True)
    message = await general.send("look", files=[notes, picture])

    text_file, picture = message.attachments
    assert (text_file.filename, text_file.description, text_file.size) == ("notes.txt", "my notes", 19)
    assert text_file.content_type is not None
    assert text_file.content_type.startswith("text/plain")
    assert (picture.filename, picture.is_spoiler(), picture.width, picture.height) == ("SPOILER_pixel.png", True, 1, 1)
    assert await text_file.read() == b"three lines\nof\ntext"
    assert await picture.read() == ONE_PIXEL_PNG

    reduced_message = await message.edit(attachments=[picture])
    assert [attachment.id for attachment in reduced_message.attachments] == [picture.id]
    extended_message = await reduced_message.add_files(discord.File(io.BytesIO(b"more"), "more.txt"))
    assert [attachment.filename for attachment in extended_message.attachments] == ["SPOILER_pixel.png", "more.txt"]


async def test_embeds_keep_every_part(general: discord.TextChannel) -> None:
    when = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
    embed = discord.Embed(
        title="News", description="of the day", url="https://example.com/", color=0x336699, timestamp=when
    )
    embed.set_author(name="crier", url="https://example.com/crier").set_footer(text="the end")
    embed.add_field(name="weather", value="fine", inline=False)
    embed.set_image(url="attachment://pixel.png")
    message = await general.send(embed=embed, file=discord.File(io.BytesIO(ONE_PIXEL_PNG), "pixel.png"))

    (received_embed,) = message.embeds
    assert (received_embed.title, received_embed.description, received_embed.url) == (
        "News",
        "of the day",
        "https://example.com/",
    )
    assert (received_embed.color.value, received_embed.timestamp) == (0x336699, when)
    assert (received_embed.author.name, received_embed.footer.text, received_embed.type) == ("crier", "the end", "rich")
    assert [(field.name, field.value, field.inline) for field in received_embed.fields] == [("weather", "fine", False)]
    assert received_embed.image.url is not None
    assert received_embed.image.url.startswith("http")

    suppressed_message = await message.edit(suppress=True)
    assert suppressed_message.flags.suppress_embeds


async def test_reactions_are_counted_listed_and_removed(
    bot: Bot, general: discord.TextChannel, setup: ClientSetup
) -> None:
    message = await general.send("do you like it?")
    await message.add_reaction("👍")
    reaction, user = await bot.wait_event("reaction_add")
    assert (reaction.emoji, user.id, reaction.me) == ("👍", setup.bot.id, True)
    (await setup.bob.put(f"/channels/{general.id}/messages/{message.id}/reactions/👍/@me")).ok()
    reaction, user = await bot.wait_event("reaction_add")
    assert (reaction.count, user.id) == (2, setup.bob.id)
    assert {user.id async for user in reaction.users()} == {setup.bot.id, setup.bob.id}

    fetched_message = await general.fetch_message(message.id)
    assert [(str(reaction.emoji), reaction.count, reaction.me) for reaction in fetched_message.reactions] == [
        ("👍", 2, True)
    ]
    await message.remove_reaction("👍", general.guild.get_member(setup.bob.id))
    reaction, user = await bot.wait_event("reaction_remove")
    assert (reaction.count, user.id) == (1, setup.bob.id)
    await message.clear_reactions()
    cleared_message, _ = await bot.wait_event("reaction_clear")
    assert cleared_message.id == message.id


async def test_threads_are_created_joined_archived_and_listed(
    bot: Bot, general: discord.TextChannel, setup: ClientSetup
) -> None:
    bob_message = await setup.guild.send_message(setup.bob, "a long story")
    message = await bot.wait_event("message", lambda message: message.id == int(bob_message["id"]))
    thread = await message.create_thread(name="story", auto_archive_duration=60)
    assert (await bot.wait_event("thread_create")).id == thread.id == message.id
    assert general.get_thread(thread.id) is not None

    sent_message = await thread.send("once upon a time")
    incoming = await bot.wait_event("message", lambda message: message.id == sent_message.id)
    assert incoming.channel.id == thread.id
    await thread.add_user(general.guild.get_member(setup.bob.id))
    assert (await bot.wait_event("thread_member_join")).id == setup.bob.id
    assert {member.id for member in await thread.fetch_members()} == {setup.bot.id, setup.bob.id}

    await thread.edit(name="tale", archived=True)
    _, updated_thread = await bot.wait_event("thread_update", lambda _, updated_thread: updated_thread.archived)
    assert updated_thread.name == "tale"
    assert [archived_thread.id async for archived_thread in general.archived_threads()] == [thread.id]
    private_thread = await general.create_thread(
        name="secret", type=discord.ChannelType.private_thread, invitable=False
    )
    assert private_thread.is_private()
    assert [active_threads.id for active_threads in await general.guild.active_threads()] == [private_thread.id]
    await private_thread.delete()
    assert (await bot.wait_event("thread_delete")).id == private_thread.id


async def test_a_forum_post_contains_its_message_and_tags(bot: Bot, guild: discord.Guild) -> None:
    forum = await guild.create_forum("ideas", available_tags=[discord.ForumTag(name="good", emoji="💡")])
    await bot.wait_event("guild_channel_create", lambda channel: channel.id == forum.id)
    (tag,) = forum.available_tags
    post, message = await forum.create_thread(name="a fountain", content="in the middle", applied_tags=[tag])
    assert (post.id, message.content) == (message.id, "in the middle")
    created_thread = await bot.wait_event("thread_create")
    assert (created_thread.id, created_thread.parent_id, [tag.name for tag in created_thread.applied_tags]) == (
        post.id,
        forum.id,
        ["good"],
    )
    assert [thread.id for thread in forum.threads] == [post.id]


async def test_roles_are_created_moved_assigned_and_removed(bot: Bot, guild: discord.Guild, setup: ClientSetup) -> None:
    role = await guild.create_role(
        name="guards", color=discord.Color.red(), hoist=True, permissions=discord.Permissions(kick_members=True)
    )
    assert (await bot.wait_event("guild_role_create")).id == role.id
    assert (role.color, role.hoist, role.permissions.kick_members) == (discord.Color.red(), True, True)

    await role.edit(name="watch", color=discord.Color.blue(), mentionable=True)
    _, updated_role = await bot.wait_event("guild_role_update", lambda _, updated_role: updated_role.name == "watch")
    assert (updated_role.color, updated_role.mentionable) == (discord.Color.blue(), True)

    other_role = await guild.create_role(name="singers")
    await bot.wait_event("guild_role_create", lambda role: role == other_role)
    for move, order in (({"below": other_role}, [other_role, role]), ({"above": other_role}, [role, other_role])):
        await role.move(**move)
        assert [listed_role for listed_role in sorted(await guild.fetch_roles()) if listed_role in order] == order

    bob = guild.get_member(setup.bob.id)
    await bob.add_roles(role, reason="brave")
    previous_member, updated_role = await bot.wait_event("member_update")
    assert (role in previous_member.roles, role in updated_role.roles) == (False, True)
    assert [member.id for member in guild.get_role(role.id).members] == [bob.id]
    assert guild.get_member(bob.id).guild_permissions.kick_members
    entry = await bot.wait_event("audit_log_entry_create", lambda entry: entry.reason == "brave")
    assert (entry.action, entry.target.id) == (discord.AuditLogAction.member_role_update, bob.id)

    await bob.remove_roles(role)
    await bot.wait_event("member_update", lambda _, updated_role: role not in updated_role.roles)
    await role.delete()
    assert (await bot.wait_event("guild_role_delete")).id == role.id
    assert guild.get_role(role.id) is None


async def test_members_are_renamed_timed_out_kicked_and_banned(
    bot: Bot, guild: discord.Guild, setup: ClientSetup
) -> None:
    bob = guild.get_member(setup.bob.id)
    await bob.edit(nick="Bobby")
    _, updated_member = await bot.wait_event("member_update", lambda _, updated_member: updated_member.nick == "Bobby")
    assert updated_member.display_name == "Bobby"

    until = datetime.datetime.fromtimestamp(setup.world.clock.now_ms() / 1000 + 3600, datetime.UTC)
    await bob.timeout(until)
    _, updated_member = await bot.wait_event(
        "member_update", lambda _, updated_member: updated_member.timed_out_until is not None
    )
    assert updated_member.is_timed_out()
    (await setup.bob.post(f"/channels/{setup.guild.general}/messages", json={"content": "?"})).rejected(403, 50013)

    await guild.kick(bob, reason="enough")
    assert (await bot.wait_event("member_remove")).id == bob.id
    assert guild.get_member(bob.id) is None
    with pytest.raises(discord.NotFound) as not_found:
        await guild.fetch_member(bob.id)
    assert not_found.value.code == 10007

    await guild.ban(discord.Object(bob.id), reason="spam links", delete_message_seconds=0)
    _, user = await bot.wait_event("member_ban")
    assert user.id == bob.id
    assert [(ban.user.id, ban.reason) async for ban in guild.bans()] == [(bob.id, "spam links")]
    await guild.unban(discord.Object(bob.id))
    await bot.wait_event("member_unban")
    assert await guild.estimate_pruned_members(days=7) == 0
    assert await guild.prune_members(days=7, compute_prune_count=True) == 0
    actions = [entry.action async for entry in guild.audit_logs(limit=3)]
    assert actions == [discord.AuditLogAction.unban, discord.AuditLogAction.ban, discord.AuditLogAction.kick]


async def test_channels_are_created_edited_restricted_and_deleted(
    bot: Bot, guild: discord.Guild, setup: ClientSetup
) -> None:
    overwrites = {guild.default_role: discord.PermissionOverwrite(view_channel=False)}
    category = await guild.create_category("back office")
    channel = await guild.create_text_channel(
        "vault", topic="gold", category=category, overwrites=overwrites, slowmode_delay=5
    )
    created_channel = await bot.wait_event(
        "guild_channel_create", lambda created_channel: created_channel.id == channel.id
    )
    assert (created_channel.topic, created_channel.category_id, created_channel.slowmode_delay) == (
        "gold",
        category.id,
        5,
    )
    bob = guild.get_member(setup.bob.id)
    assert not created_channel.permissions_for(bob).view_channel
    (await setup.bob.get(f"/channels/{channel.id}")).rejected(403, 50001)

    await channel.set_permissions(bob, view_channel=True)
    _, updated_channel = await bot.wait_event(
        "guild_channel_update", lambda _, updated_channel: updated_channel.id == channel.id
    )
    assert updated_channel.permissions_for(bob).view_channel
    (await setup.bob.get(f"/channels/{channel.id}")).ok()

    await channel.edit(name="treasury", nsfw=True)
    _, updated_channel = await bot.wait_event(
        "guild_channel_update", lambda _, updated_channel: updated_channel.name == "treasury"
    )
    assert updated_channel.nsfw
    await channel.delete()
    assert (await bot.wait_event("guild_channel_delete")).id == channel.id

    # The library sends an empty list of overwrites and documents that the channel is synced with its category.
    await category.set_permissions(guild.default_role, view_channel=False)
    await bot.wait_event("guild_channel_update", lambda _, after: after.id == category.id)
    synced_channel = await guild.create_text_channel("ledger", category=category)
    created_channel = await bot.wait_event(
        "guild_channel_create", lambda created_channel: created_channel.id == synced_channel.id
    )
    assert created_channel.permissions_synced
    assert not created_channel.permissions_for(bob).view_channel
    await guild.edit(name="Market Square")
    _, updated_channel = await bot.wait_event("guild_update")
    assert updated_channel.name == "Market Square"


async def test_error_responses_become_the_librarys_errors(
    bot: Bot, general: discord.TextChannel, setup: ClientSetup
) -> None:
    unprivileged_account = await setup.world.bot(setup.guild, name="unprivileged")
    async with run_bot(Bot(), unprivileged_account.token) as unprivileged_bot:
        guild = unprivileged_bot.get_guild(setup.guild.id)
        assert guild is not None
        with pytest.raises(discord.Forbidden) as rejection:
            await guild.create_role(name="mine")
        assert (rejection.value.status, rejection.value.code) == (403, 50013)
        with pytest.raises(discord.Forbidden) as rejection:
            await guild.kick(discord.Object(setup.bob.id))
        assert rejection.value.code == 50013
    with pytest.raises(discord.NotFound) as not_found:
        await general.fetch_message(1)
    assert not_found.value.code == 10008
    with pytest.raises(discord.NotFound) as not_found:
        await bot.fetch_channel(1)
    assert not_found.value.code == 10003
    with pytest.raises(discord.HTTPException) as invalid_error:
        await general.send("x" * 2001)
    assert (invalid_error.value.status, invalid_error.value.code) == (400, 50035)
    assert "content" in invalid_error.value.text


async def test_messages_are_pinned_and_unpinned(bot: Bot, general: discord.TextChannel) -> None:
    message = await general.send("read this first")
    await message.pin()
    channel, _ = await bot.wait_event("guild_channel_pins_update")
    assert channel.id == general.id
    notice = await bot.wait_event("message", lambda message: message.type is discord.MessageType.pins_add)
    assert notice.reference.message_id == message.id
    pins = [pinned_message async for pinned_message in general.pins()]
    assert [pinned_message.id for pinned_message in pins] == [message.id]
    assert pins[0].pinned
    await message.unpin()
    assert [pinned_message async for pinned_message in general.pins()] == []


async def test_users_join_by_invite(bot: Bot, general: discord.TextChannel, setup: ClientSetup) -> None:
    invite = await general.create_invite(max_age=300, max_uses=2, unique=True)
    assert (await bot.wait_event("invite_create")).code == invite.code
    fetched_invite = await bot.fetch_invite(invite.code)
    assert (fetched_invite.guild.id, fetched_invite.approximate_member_count) == (general.guild.id, 3)
    carol = await setup.world.user("carol")
    (await carol.post(f"/invites/{invite.code}", json={})).ok()
    joined_member = await bot.wait_event("member_join")
    assert (joined_member.id, joined_member.guild.member_count) == (carol.id, 4)
    assert [(guild_invite.code, guild_invite.uses) for guild_invite in await general.guild.invites()] == [
        (invite.code, 1)
    ]
    await invite.delete()
    assert (await bot.wait_event("invite_delete")).code == invite.code


async def test_typing_is_received_and_sent(bot: Bot, general: discord.TextChannel, setup: ClientSetup) -> None:
    (await setup.bob.post(f"/channels/{general.id}/typing")).ok()
    channel, user, _ = await bot.wait_event("typing")
    assert (channel.id, user.id) == (general.id, setup.bob.id)
    bob_session = await setup.bob.connect()
    async with general.typing():
        assert (await bob_session.next("TYPING_START"))["user_id"] == str(setup.bot.id)


async def test_images_are_stored_and_served(bot: Bot, guild: discord.Guild) -> None:
    await guild.edit(icon=ONE_PIXEL_PNG)
    _, updated_guild = await bot.wait_event("guild_update")
    assert await updated_guild.icon.read() == ONE_PIXEL_PNG
    assert (await bot.user.edit(avatar=ONE_PIXEL_PNG)).avatar is not None
    await bot.wait_event("member_update")
    assert await bot.user.avatar.read() == ONE_PIXEL_PNG
    assert await guild.get_member(bot.user.id).default_avatar.read()


async def test_components_forwards_and_polls_are_sent(bot: Bot, general: discord.TextChannel) -> None:
    view = discord.ui.View(timeout=None).add_item(discord.ui.Button(label="more", custom_id="more"))
    message = await general.send("hello", view=view, silent=True, allowed_mentions=discord.AllowedMentions.none())
    assert message.flags.suppress_notifications
    assert [type(child) for row in message.components for child in row.children] == [discord.Button]
    forwarded_message = await message.forward(general)
    assert [snapshot.content for snapshot in forwarded_message.message_snapshots] == ["hello"]
    poll = discord.Poll("tea?", datetime.timedelta(hours=2)).add_answer(text="yes", emoji="🍵").add_answer(text="no")
    poll_message = await general.send(poll=poll)
    assert poll_message.poll is not None
    assert [answer.text for answer in poll_message.poll.answers] == ["yes", "no"]
    assert poll_message.poll.expires_at - poll_message.created_at <= datetime.timedelta(hours=2)


async def test_direct_messages_are_sent_and_received(bot: Bot, guild: discord.Guild, setup: ClientSetup) -> None:
    bob = guild.get_member(setup.bob.id)
    sent_message = await bob.send("psst")
    assert isinstance(sent_message.channel, discord.DMChannel)
    assert sent_message.channel.recipient == bob
    path = f"/channels/{sent_message.channel.id}/messages"
    assert [message["content"] for message in (await setup.bob.get(path)).ok()] == ["psst"]
    (await setup.bob.post(path, json={"content": "what?"})).ok()
    incoming = await bot.wait_event("message", lambda message: message.author.id == bob.id)
    assert (incoming.guild, incoming.content, incoming.channel.id) == (None, "what?", sent_message.channel.id)


async def test_presences_are_received_and_sent(bot: Bot, guild: discord.Guild, setup: ClientSetup) -> None:
    bob_session = await setup.bob.connect()
    _, updated_member = await bot.wait_event(
        "presence_update", lambda _, updated_member: updated_member.id == setup.bob.id
    )
    assert updated_member.status is discord.Status.online
    await bot.change_presence(status=discord.Status.idle, activity=discord.Game("chess"))
    presence = await bob_session.next(
        "PRESENCE_UPDATE", lambda data: data["user"]["id"] == str(setup.bot.id) and data["status"] == "idle"
    )
    assert [(activity["name"], activity["type"]) for activity in presence["activities"]] == [("chess", 0)]
    await bob_session.close()
    _, updated_member = await bot.wait_event(
        "presence_update", lambda _, updated_member: updated_member.status is discord.Status.offline
    )
    assert guild.get_member(setup.bob.id).status is discord.Status.offline


class RecordingVoiceProtocol(discord.VoiceProtocol):
    """The gateway part of a voice connection; it records the voice states and servers that it receives."""

    def __init__(self, client: discord.Client, channel: discord.abc.Connectable) -> None:
        super().__init__(client, channel)
        self.inbox = Inbox()

    async def on_voice_state_update(self, data: Any) -> None:
        """Record the bot's voice state."""
        self.inbox.put(("state", data))

    async def on_voice_server_update(self, data: Any) -> None:
        """Record the voice server."""
        self.inbox.put(("server", data))

    async def connect(
        self, *, timeout: float, reconnect: bool, self_deaf: bool = False, self_mute: bool = False
    ) -> None:
        """Request to join the channel."""
        await self.channel.guild.change_voice_state(channel=self.channel, self_deaf=self_deaf, self_mute=self_mute)

    async def disconnect(self, *, force: bool) -> None:
        """Request to leave the channel."""
        await self.channel.guild.change_voice_state(channel=None)
        self.cleanup()


async def test_a_voice_channel_is_joined_and_left(bot: Bot, guild: discord.Guild, setup: ClientSetup) -> None:
    (channel,) = guild.voice_channels
    connection = await channel.connect(cls=RecordingVoiceProtocol, self_mute=True)
    _, state = await connection.inbox.take(lambda record: record[0] == "state", "the voice state")
    assert (state["channel_id"], state["self_mute"]) == (str(channel.id), True)
    _, server = await connection.inbox.take(lambda record: record[0] == "server", "the voice server")
    assert server["guild_id"] == str(guild.id)
    assert server["token"]
    assert server["endpoint"]
    assert [member.id for member in channel.members] == [setup.bot.id]
    _, previous_state, current_state = await bot.wait_event("voice_state_update")
    assert (previous_state.channel, current_state.channel.id) == (None, channel.id)
    await connection.disconnect(force=False)
    _, previous_state, current_state = await bot.wait_event("voice_state_update")
    assert (previous_state.channel.id, current_state.channel) == (channel.id, None)
    assert channel.members == []


def zlib_decompression_context() -> Any:
    """Return the class that the library decompresses with if the zstandard package is not installed."""
    spec = importlib.util.spec_from_file_location("discord.utils_without_zstandard", discord.utils.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("zstandard", "compression", "compression.zstd"):
            patch.setitem(sys.modules, name, None)
        spec.loader.exec_module(module)
    return module._ActiveDecompressionContext


@pytest.mark.parametrize("compression", ["zlib-stream", "zstd-stream"])
async def test_an_aborted_connection_resumes_without_missed_events(
    setup: ClientSetup, monkeypatch: pytest.MonkeyPatch, compression: str
) -> None:
    if compression == "zlib-stream":
        monkeypatch.setattr(discord.utils, "_ActiveDecompressionContext", zlib_decompression_context())
    assert compression == discord.utils._ActiveDecompressionContext.COMPRESSION_TYPE
    async with run_bot(Bot(), setup.bot.token) as bot:
        session_id = bot.ws.session_id
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
            await bot.wait_event("resumed")
        incoming = [str((await bot.wait_event("message")).id) for _ in expected]
        await setup.guild.send_message(setup.bob, "the end")
        assert (await bot.wait_event("message")).content == "the end"
        assert incoming == expected
        assert bot.ws.session_id == session_id
        assert len(setup.proxy.request_lines) == 4
        assert all(f"compress={compression}" in line for line in setup.proxy.request_lines)


async def test_guilds_are_spread_over_two_shards(setup: ClientSetup) -> None:
    guild_ids_by_shard = await setup.create_guilds_on_both_shards()
    async with run_bot(
        ShardedBot(shard_count=2), setup.bot.token, guild_count=sum(map(len, guild_ids_by_shard.values()))
    ) as bot:
        assert {guild.id: guild.shard_id for guild in bot.guilds} == {
            guild_id: shard for shard, guild_ids in guild_ids_by_shard.items() for guild_id in guild_ids
        }
        assert set(bot.shards) == {0, 1}
        for shard, guild_ids in guild_ids_by_shard.items():
            guild = bot.get_guild(guild_ids[0])
            assert guild is not None
            sent_message = await guild.text_channels[0].send(f"shard {shard}")
            incoming = await bot.wait_event("message")
            assert (incoming.id, incoming.guild.shard_id) == (sent_message.id, shard)
            assert [member.id for member in await guild.query_members("alice")] == [setup.alice.id]


async def test_all_members_of_a_large_guild_are_chunked(setup: ClientSetup) -> None:
    await setup.add_members()
    async with run_bot(Bot(), setup.bot.token) as bot:
        guild = bot.get_guild(setup.guild.id)
        assert guild is not None
        # With presences and more members than the threshold, GUILD_CREATE has only some; the library requests the rest.
        assert guild.large
        assert (guild.member_count, len(guild.members), guild.chunked) == (
            LARGE_GUILD_MEMBER_COUNT + 3,
            LARGE_GUILD_MEMBER_COUNT + 3,
            True,
        )
        users = await guild.query_members("user00", limit=100)
        assert len(users) == 100
        user_ids = [setup.alice.id, setup.bob.id]
        assert {member.id for member in await guild.query_members(user_ids=user_ids, presences=True)} == set(user_ids)
        assert len([member async for member in guild.fetch_members(limit=None)]) == LARGE_GUILD_MEMBER_COUNT + 3


async def test_joining_and_leaving_a_guild_is_reported(bot: Bot, setup: ClientSetup) -> None:
    other_guild = await setup.world.guild(setup.alice, name="Harbour")
    await setup.world.write(
        lambda call: members.membership.add(call, other_guild.id, setup.bot.id), actor=setup.alice.id
    )
    joined_guild = await bot.wait_event("guild_join")
    assert (joined_guild.id, joined_guild.name) == (other_guild.id, "Harbour")
    await joined_guild.leave()
    assert (await bot.wait_event("guild_remove")).id == other_guild.id
    assert bot.get_guild(other_guild.id) is None
