"""Unmodified hikari against the server."""

import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import hikari
import pytest
from hikari.impl.shard import GatewayShardImpl

from tests.clients.scene import LARGE_GUILD_MEMBERS, ONE_PIXEL_PNG, ClientScene, Inbox

E = TypeVar("E", bound=hikari.Event)


class Bot(hikari.GatewayBot):
    """A bot that records its events."""

    def __init__(self, town: ClientScene, token: str | None = None, **options: Any) -> None:
        settings: dict[str, Any] = {"intents": hikari.Intents.ALL, "banner": None, "logs": None}
        super().__init__(
            token or town.bot.token, rest_url=town.world.api, suppress_optimization_warning=True, **(settings | options)
        )
        self.inbox = Inbox()
        self.subscribe(hikari.Event, self._remember)

    async def _remember(self, event: hikari.Event) -> None:
        if not isinstance(event, hikari.ShardPayloadEvent):
            self.inbox.put(event)

    async def received(self, kind: type[E], matches: Callable[[E], bool] = lambda _: True) -> E:
        """Return an event of this type."""
        event: E = await self.inbox.take(lambda event: isinstance(event, kind) and matches(event), kind.__name__)
        return event


@asynccontextmanager
async def running(bot: Bot, **options: Any) -> AsyncIterator[Bot]:
    """Log in, connect, and close afterwards."""
    await bot.start(check_for_updates=False, **options)
    try:
        yield bot
    finally:
        await bot.close()


@pytest.fixture
async def bot(town: ClientScene) -> AsyncIterator[Bot]:
    """The town's bot, ready, with the guild in its cache."""
    async with running(Bot(town)) as bot:
        await bot.received(hikari.GuildAvailableEvent)
        yield bot


async def test_login_fills_the_cache(bot: Bot, town: ClientScene) -> None:
    me = bot.get_me()
    assert me is not None
    assert (me.id, me.username, me.is_bot) == (town.bot.id, "crier", True)
    guild = bot.cache.get_guild(town.guild.id)
    assert guild is not None
    assert (guild.name, guild.owner_id, guild.member_count) == ("Town Square", town.alice.id, 3)
    assert set(guild.get_channels()) == set(town.guild.channels.values())
    assert set(guild.get_members()) == {town.alice.id, town.bob.id, town.bot.id}
    assert guild.id in guild.get_roles()
    application = await bot.rest.fetch_application()
    assert (application.id, application.name) == (town.bot.application_id, "crier")
    assert (await bot.rest.fetch_user(town.bob.id)).username == "bob"
    fetched = await bot.rest.fetch_guild(guild)
    assert (fetched.name, fetched.approximate_member_count) == ("Town Square", 3)
    assert [own.id for own in await bot.rest.fetch_my_guilds()] == [guild.id]


async def test_a_wrong_token_fails_the_login(town: ClientScene) -> None:
    bot = Bot(town, "MTIz.none.suchtoken")
    with pytest.raises(hikari.UnauthorizedError):
        await bot.start(check_for_updates=False)
    await bot.close()


async def test_messages_are_sent_edited_replied_to_and_deleted(bot: Bot, town: ClientScene) -> None:
    general = town.guild.general
    message_sent = await town.guild.send_message(town.bob, f"ping <@{town.bot.id}>")
    incoming = await bot.received(hikari.GuildMessageCreateEvent)
    assert (incoming.message_id, incoming.author_id, incoming.content) == (
        int(message_sent["id"]),
        town.bob.id,
        message_sent["content"],
    )
    assert list(incoming.message.user_mentions_ids) == [town.bot.id]

    reply = await incoming.message.respond("pong", reply=True, mentions_reply=True)
    assert reply.type is hikari.MessageType.REPLY
    assert reply.referenced_message is not None
    assert reply.referenced_message.id == incoming.message_id
    await reply.edit("pong!")
    edited = await bot.received(hikari.GuildMessageUpdateEvent)
    assert (edited.message_id, edited.message.content) == (reply.id, "pong!")
    assert edited.message.edited_timestamp is not None
    await reply.delete()
    assert (await bot.received(hikari.GuildMessageDeleteEvent)).message_id == reply.id

    sent = [await bot.rest.create_message(general, f"line {number}") for number in range(5)]
    history = await bot.rest.fetch_messages(general).limit(3)
    assert [message.content for message in history] == ["line 4", "line 3", "line 2"]
    older = await bot.rest.fetch_messages(general, before=sent[2])
    assert [message.id for message in older] == [sent[1].id, sent[0].id, incoming.message_id]
    assert (await bot.rest.fetch_message(general, sent[0])).content == "line 0"
    await bot.rest.delete_messages(general, sent)
    assert (await bot.received(hikari.GuildBulkMessageDeleteEvent)).message_ids == {message.id for message in sent}


async def test_attachments_and_embeds_come_back_as_they_were_sent(bot: Bot, town: ClientScene) -> None:
    when = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
    embed = hikari.Embed(title="News", description="of the day", color=0x336699, timestamp=when)
    embed.set_author(name="crier").set_footer("the end").add_field("weather", "fine")
    embed.set_image(hikari.Bytes(ONE_PIXEL_PNG, "pixel.png"))
    message = await bot.rest.create_message(
        town.guild.general,
        "look",
        embed=embed,
        attachments=[hikari.Bytes(b"text", "notes.txt"), hikari.Bytes(ONE_PIXEL_PNG, "two.png", spoiler=True)],
    )

    names = {attachment.filename: attachment for attachment in message.attachments}
    assert {"notes.txt", "SPOILER_two.png"} <= set(names)
    assert await names["notes.txt"].read() == b"text"
    assert await names["SPOILER_two.png"].read() == ONE_PIXEL_PNG
    assert (names["SPOILER_two.png"].width, names["SPOILER_two.png"].height) == (1, 1)
    (seen,) = message.embeds
    assert (seen.title, seen.description, seen.color, seen.timestamp) == ("News", "of the day", 0x336699, when)
    assert [(field.name, field.value, field.is_inline) for field in seen.fields] == [("weather", "fine", False)]
    assert (seen.author and seen.author.name, seen.footer and seen.footer.text) == ("crier", "the end")
    assert seen.image is not None
    assert await seen.image.read() == ONE_PIXEL_PNG

    bare = await message.edit("nothing to see", attachments=None, embeds=None)
    assert (list(bare.attachments), list(bare.embeds)) == ([], [])


async def test_reactions_are_counted_listed_and_removed(bot: Bot, town: ClientScene) -> None:
    message = await bot.rest.create_message(town.guild.general, "do you like it?")
    await message.add_reaction("👍")
    added = await bot.received(hikari.GuildReactionAddEvent)
    assert (added.emoji_name, added.user_id) == ("👍", town.bot.id)
    (await town.bob.put(f"/channels/{town.guild.general}/messages/{message.id}/reactions/👍/@me")).ok()
    added = await bot.received(hikari.GuildReactionAddEvent)
    assert (added.member.id, added.message_id) == (town.bob.id, message.id)
    reactors = await bot.rest.fetch_reactions_for_emoji(message.channel_id, message, "👍")
    assert {user.id for user in reactors} == {town.bot.id, town.bob.id}
    fetched = await bot.rest.fetch_message(message.channel_id, message)
    assert [(str(reaction.emoji), reaction.count, reaction.is_me) for reaction in fetched.reactions] == [
        ("👍", 2, True)
    ]
    await message.remove_reaction("👍", user=town.bob.id)
    assert (await bot.received(hikari.GuildReactionDeleteEvent)).user_id == town.bob.id
    await message.remove_all_reactions("👍")
    assert (await bot.received(hikari.GuildReactionDeleteEmojiEvent)).emoji_name == "👍"
    await message.add_reaction("👎")
    await message.remove_all_reactions()
    await bot.received(hikari.GuildReactionDeleteAllEvent)


async def test_threads_and_forum_posts_are_created_joined_and_archived(bot: Bot, town: ClientScene) -> None:
    message = await bot.rest.create_message(town.guild.general, "a long story")
    thread = await bot.rest.create_message_thread(message.channel_id, message, "story")
    created = await bot.received(hikari.GuildThreadCreateEvent)
    assert (created.thread_id, created.thread.parent_id, thread.id) == (message.id, town.guild.general, message.id)
    await bot.rest.create_message(thread, "once upon a time")
    await bot.rest.add_thread_member(thread, town.bob.id)
    joined = await bot.received(hikari.ThreadMembersUpdateEvent, lambda event: town.bob.id in event.added_members)
    assert joined.thread_id == thread.id
    assert {member.user_id for member in await bot.rest.fetch_thread_members(thread)} == {town.bot.id, town.bob.id}
    await bot.rest.edit_channel(thread, archived=True)
    updated = await bot.received(hikari.GuildThreadUpdateEvent, lambda event: event.thread.is_archived)
    assert updated.thread_id == thread.id
    archived = await bot.rest.fetch_public_archived_threads(message.channel_id)
    assert [found.id for found in archived] == [thread.id]

    forum = await bot.rest.create_guild_forum_channel(
        town.guild.id, "ideas", available_tags=[hikari.ForumTag(name="good")]
    )
    (tag,) = forum.available_tags
    post = await bot.rest.create_forum_post(forum, "a fountain", "in the middle", tags=[tag])
    created = await bot.received(hikari.GuildThreadCreateEvent)
    assert isinstance(created.thread, hikari.GuildPublicThread)
    assert (created.thread_id, list(created.thread.applied_tag_ids)) == (post.id, [tag.id])
    await bot.rest.delete_channel(post)
    assert (await bot.received(hikari.GuildThreadDeleteEvent)).thread_id == post.id


async def test_roles_are_created_edited_assigned_and_removed(bot: Bot, town: ClientScene) -> None:
    role = await bot.rest.create_role(
        town.guild.id, name="guards", color=0xFF0000, hoist=True, permissions=hikari.Permissions.KICK_MEMBERS
    )
    assert (await bot.received(hikari.RoleCreateEvent)).role_id == role.id
    assert (role.color, role.is_hoisted, role.permissions) == (0xFF0000, True, hikari.Permissions.KICK_MEMBERS)
    await bot.rest.edit_role(town.guild.id, role, name="watch", mentionable=True)
    assert (await bot.received(hikari.RoleUpdateEvent, lambda event: event.role.name == "watch")).role.is_mentionable
    await bot.rest.add_role_to_member(town.guild.id, town.bob.id, role, reason="brave")
    updated = await bot.received(hikari.MemberUpdateEvent)
    assert role.id in updated.member.role_ids
    entry = await bot.received(hikari.AuditLogEntryCreateEvent, lambda event: event.entry.reason == "brave")
    assert entry.entry.action_type is hikari.AuditLogEventType.MEMBER_ROLE_UPDATE
    cached = bot.cache.get_member(town.guild.id, town.bob.id)
    assert cached is not None
    assert role.id in [assigned.id for assigned in cached.get_roles()]
    await bot.rest.remove_role_from_member(town.guild.id, town.bob.id, role)
    await bot.received(hikari.MemberUpdateEvent, lambda event: role.id not in event.member.role_ids)
    await bot.rest.delete_role(town.guild.id, role)
    assert (await bot.received(hikari.RoleDeleteEvent)).role_id == role.id
    assert bot.cache.get_role(role) is None


async def test_members_are_renamed_timed_out_kicked_and_banned(bot: Bot, town: ClientScene) -> None:
    guild, bob = town.guild.id, town.bob.id
    await bot.rest.edit_member(guild, bob, nickname="Bobby")
    assert (await bot.received(hikari.MemberUpdateEvent)).member.display_name == "Bobby"
    until = datetime.datetime.fromtimestamp(town.world.clock.now_ms() / 1000 + 3600, datetime.UTC)
    await bot.rest.edit_member(guild, bob, communication_disabled_until=until)
    assert (await bot.received(hikari.MemberUpdateEvent)).member.communication_disabled_until() is not None

    await bot.rest.kick_member(guild, bob)
    assert (await bot.received(hikari.MemberDeleteEvent)).user_id == bob
    with pytest.raises(hikari.NotFoundError) as missing:
        await bot.rest.fetch_member(guild, bob)
    assert missing.value.code == 10007
    await bot.rest.ban_member(guild, bob, reason="for good", delete_message_seconds=0)
    assert (await bot.received(hikari.BanCreateEvent)).user_id == bob
    assert [(ban.user.id, ban.reason) for ban in await bot.rest.fetch_bans(guild)] == [(bob, "for good")]
    await bot.rest.unban_member(guild, bob)
    await bot.received(hikari.BanDeleteEvent)


async def test_channels_are_created_edited_restricted_and_deleted(bot: Bot, town: ClientScene) -> None:
    hidden = hikari.PermissionOverwrite(
        id=town.guild.id, type=hikari.PermissionOverwriteType.ROLE, deny=hikari.Permissions.VIEW_CHANNEL
    )
    channel = await bot.rest.create_guild_text_channel(
        town.guild.id, "vault", topic="gold", permission_overwrites=[hidden]
    )
    made = await bot.received(hikari.GuildChannelCreateEvent)
    assert (made.channel_id, made.channel.name) == (channel.id, "vault")
    (await town.bob.get(f"/channels/{channel.id}")).rejected(403, 50001)
    await channel.edit_overwrite(
        town.bob.id, target_type=hikari.PermissionOverwriteType.MEMBER, allow=hikari.Permissions.VIEW_CHANNEL
    )
    updated = await bot.received(hikari.GuildChannelUpdateEvent)
    assert isinstance(updated.channel, hikari.PermissibleGuildChannel)
    assert town.bob.id in updated.channel.permission_overwrites
    await channel.edit(name="treasury")
    await bot.received(hikari.GuildChannelUpdateEvent, lambda event: event.channel.name == "treasury")
    await channel.delete()
    assert (await bot.received(hikari.GuildChannelDeleteEvent)).channel_id == channel.id
    await bot.rest.edit_guild(town.guild.id, name="Market Square")
    assert (await bot.received(hikari.GuildUpdateEvent)).guild.name == "Market Square"


async def test_error_responses_become_the_librarys_errors(bot: Bot, town: ClientScene) -> None:
    humble = await town.world.bot(town.guild, name="humble")
    async with running(Bot(town, humble.token)) as other:
        with pytest.raises(hikari.ForbiddenError) as refused:
            await other.rest.create_role(town.guild.id, name="mine")
        assert refused.value.code == 50013
    with pytest.raises(hikari.NotFoundError) as missing:
        await bot.rest.fetch_message(town.guild.general, 1)
    assert missing.value.code == 10008
    with pytest.raises(hikari.BadRequestError) as wrong:
        await bot.rest.create_message(town.guild.general, "x" * 2001)
    assert wrong.value.code == 50035
    assert wrong.value.errors is not None
    assert "content" in wrong.value.errors


async def test_pins_invites_and_typing(bot: Bot, town: ClientScene) -> None:
    message = await bot.rest.create_message(town.guild.general, "read this first")
    await bot.rest.pin_message(message.channel_id, message)
    assert (await bot.received(hikari.GuildPinsUpdateEvent)).channel_id == town.guild.general
    assert [pin.message.id for pin in await bot.rest.fetch_pins(message.channel_id)] == [message.id]
    await bot.rest.unpin_message(message.channel_id, message)

    invite = await bot.rest.create_invite(town.guild.general, max_uses=2, unique=True)
    assert (await bot.received(hikari.InviteCreateEvent)).code == invite.code
    assert (await bot.rest.fetch_invite(invite.code)).guild_id == town.guild.id
    carol = await town.world.user("carol")
    (await carol.post(f"/invites/{invite.code}", json={})).ok()
    assert (await bot.received(hikari.MemberCreateEvent)).user_id == carol.id
    assert [(known.code, known.uses) for known in await bot.rest.fetch_guild_invites(town.guild.id)] == [
        (invite.code, 1)
    ]
    await bot.rest.delete_invite(invite)
    assert (await bot.received(hikari.InviteDeleteEvent)).code == invite.code

    (await town.bob.post(f"/channels/{town.guild.general}/typing")).ok()
    assert (await bot.received(hikari.GuildTypingEvent)).user_id == town.bob.id
    watcher = await town.bob.connect()
    await bot.rest.trigger_typing(town.guild.general)
    assert (await watcher.next("TYPING_START"))["user_id"] == str(town.bot.id)


async def test_direct_messages_are_sent_and_received(bot: Bot, town: ClientScene) -> None:
    channel = await bot.rest.create_dm_channel(town.bob.id)
    assert channel.recipient.id == town.bob.id
    await channel.send("psst")
    path = f"/channels/{channel.id}/messages"
    assert [message["content"] for message in (await town.bob.get(path)).ok()] == ["psst"]
    (await town.bob.post(path, json={"content": "what?"})).ok()
    incoming = await bot.received(hikari.DMMessageCreateEvent, lambda event: event.author_id == town.bob.id)
    assert (incoming.content, incoming.channel_id) == ("what?", channel.id)


async def test_presences_and_voice_states_are_received_and_sent(bot: Bot, town: ClientScene) -> None:
    watcher = await town.bob.connect()
    seen = await bot.received(hikari.PresenceUpdateEvent, lambda event: event.user_id == town.bob.id)
    assert seen.presence.visible_status is hikari.Status.ONLINE
    await bot.update_presence(status=hikari.Status.IDLE, activity=hikari.Activity(name="chess"))
    shown = await watcher.next(
        "PRESENCE_UPDATE", lambda shown: shown["user"]["id"] == str(town.bot.id) and shown["status"] == "idle"
    )
    assert [activity["name"] for activity in shown["activities"]] == ["chess"]

    lounge = town.guild.channels["General"]
    await bot.update_voice_state(town.guild.id, lounge, self_mute=True)
    state = (await bot.received(hikari.VoiceStateUpdateEvent)).state
    assert (state.user_id, state.channel_id, state.is_self_muted) == (town.bot.id, lounge, True)
    server = await bot.received(hikari.VoiceServerUpdateEvent)
    assert server.guild_id == town.guild.id
    assert server.token
    assert server.raw_endpoint
    await bot.update_voice_state(town.guild.id, None)
    assert (await bot.received(hikari.VoiceStateUpdateEvent)).state.channel_id is None


@pytest.mark.parametrize(
    "compression",
    [hikari.api.GatewayCompression.TRANSPORT_ZLIB_STREAM, hikari.api.GatewayCompression.TRANSPORT_ZSTD_STREAM],
)
async def test_a_cut_connection_resumes_without_missed_events(
    town: ClientScene, monkeypatch: pytest.MonkeyPatch, compression: hikari.api.GatewayCompression
) -> None:
    # The bot leaves this option of its shards at the default.
    monkeypatch.setitem(GatewayShardImpl.__init__.__kwdefaults__, "compression", compression)
    async with running(Bot(town)) as bot:
        await bot.received(hikari.GuildAvailableEvent)
        expected = [(await town.guild.send_message(town.bob, f"{number} " + "é" * 500))["id"] for number in range(5)]
        # Once only: the library waits longer before each further attempt.
        assert town.proxy.cut() == 1
        expected += [(await town.guild.send_message(town.bob, f"{number} while away"))["id"] for number in range(5)]
        await bot.received(hikari.ShardResumedEvent)
        incoming = [str((await bot.received(hikari.GuildMessageCreateEvent)).message_id) for _ in expected]
        await town.guild.send_message(town.bob, "the end")
        assert (await bot.received(hikari.GuildMessageCreateEvent)).content == "the end"
        assert incoming == expected
        mode = "zlib-stream" if compression is hikari.api.GatewayCompression.TRANSPORT_ZLIB_STREAM else "zstd-stream"
        assert [f"compress={mode}" in query for query in town.proxy.queries] == [True, True]


async def test_guilds_are_spread_over_two_shards(town: ClientScene) -> None:
    shards = await town.guilds_on_both_shards()
    async with running(Bot(town), shard_count=2) as bot:
        assert set(bot.shards) == {0, 1}
        for shard, guild_ids in shards.items():
            for guild_id in guild_ids:
                available = await bot.received(
                    hikari.GuildAvailableEvent, lambda event, g=guild_id: event.guild_id == g
                )
                assert available.shard.id == shard


async def test_all_members_of_a_large_guild_are_chunked(town: ClientScene) -> None:
    await town.add_members()
    async with running(Bot(town)) as bot:
        seen: set[int] = set()
        while len(seen) < LARGE_GUILD_MEMBERS + 3:
            chunk = await bot.received(hikari.MemberChunkEvent)
            seen |= set(chunk.members)
        assert chunk.chunk_count == 2
        guild = bot.cache.get_guild(town.guild.id)
        assert guild is not None
        assert len(guild.get_members()) == LARGE_GUILD_MEMBERS + 3
        assert len(await bot.rest.fetch_members(guild)) == LARGE_GUILD_MEMBERS + 3
