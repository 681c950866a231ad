"""Unmodified hikari against the server: login, messages, threads, roles, channels, members, errors, resumes, shards."""

import datetime
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import hikari
import pytest
from hikari.impl.shard import GatewayShardImpl

from tests.clients.client_setup import LARGE_GUILD_MEMBER_COUNT, ONE_PIXEL_PNG, ClientSetup, Inbox

EventT = TypeVar("EventT", bound=hikari.Event)


class Bot(hikari.GatewayBot):
    """A bot that records its events, except the raw payloads."""

    def __init__(self, setup: ClientSetup, token: str | None = None, **options: Any) -> None:
        settings: dict[str, Any] = {"intents": hikari.Intents.ALL, "banner": None, "logs": None}
        super().__init__(
            token or setup.bot.token,
            rest_url=setup.world.api,
            suppress_optimization_warning=True,
            **(settings | options),
        )
        self.inbox = Inbox()
        self.subscribe(hikari.Event, self._record)

    async def _record(self, event: hikari.Event) -> None:
        if not isinstance(event, hikari.ShardPayloadEvent):
            self.inbox.put(event)

    async def wait_event(self, event_type: type[EventT], matches: Callable[[EventT], bool] = lambda _: True) -> EventT:
        """Wait for an event of this type and return it."""
        event: EventT = await self.inbox.take(
            lambda event: isinstance(event, event_type) and matches(event), event_type.__name__
        )
        return event


@asynccontextmanager
async def run_bot(bot: Bot, **options: Any) -> AsyncIterator[Bot]:
    """Log the bot in, connect it to the gateway, and close it on exit."""
    await bot.start(check_for_updates=False, **options)
    try:
        yield bot
    finally:
        await bot.close()


@pytest.fixture
async def bot(setup: ClientSetup) -> AsyncIterator[Bot]:
    """The setup's bot, ready, with the guild in its cache."""
    async with run_bot(Bot(setup)) as bot:
        await bot.wait_event(hikari.GuildAvailableEvent)
        yield bot


async def test_login_fills_the_cache(bot: Bot, setup: ClientSetup) -> None:
    bot_user = bot.get_me()
    assert bot_user is not None
    assert (bot_user.id, bot_user.username, bot_user.is_bot) == (setup.bot.id, "crier", True)
    guild = bot.cache.get_guild(setup.guild.id)
    assert guild is not None
    assert (guild.name, guild.owner_id, guild.member_count) == ("Town Square", setup.alice.id, 3)
    assert set(guild.get_channels()) == set(setup.guild.channels.values())
    assert set(guild.get_members()) == {setup.alice.id, setup.bob.id, setup.bot.id}
    assert guild.id in guild.get_roles()
    application = await bot.rest.fetch_application()
    assert (application.id, application.name) == (setup.bot.application_id, "crier")
    assert (await bot.rest.fetch_user(setup.bob.id)).username == "bob"
    fetched_guild = await bot.rest.fetch_guild(guild)
    assert (fetched_guild.name, fetched_guild.approximate_member_count) == ("Town Square", 3)
    assert [own_guild.id for own_guild in await bot.rest.fetch_my_guilds()] == [guild.id]


async def test_a_wrong_token_fails_the_login(setup: ClientSetup) -> None:
    bot = Bot(setup, "MTIz.none.suchtoken")
    with pytest.raises(hikari.UnauthorizedError):
        await bot.start(check_for_updates=False)
    await bot.close()


async def test_messages_are_sent_edited_replied_to_and_deleted(bot: Bot, setup: ClientSetup) -> None:
    general_channel_id = setup.guild.general
    bob_message = await setup.guild.send_message(setup.bob, f"ping <@{setup.bot.id}>")
    incoming = await bot.wait_event(hikari.GuildMessageCreateEvent)
    assert (incoming.message_id, incoming.author_id, incoming.content) == (
        int(bob_message["id"]),
        setup.bob.id,
        bob_message["content"],
    )
    assert list(incoming.message.user_mentions_ids) == [setup.bot.id]

    reply = await incoming.message.respond("pong", reply=True, mentions_reply=True)
    assert reply.type is hikari.MessageType.REPLY
    assert reply.referenced_message is not None
    assert reply.referenced_message.id == incoming.message_id
    await reply.edit("pong!")
    edit_event = await bot.wait_event(hikari.GuildMessageUpdateEvent)
    assert (edit_event.message_id, edit_event.message.content) == (reply.id, "pong!")
    assert edit_event.message.edited_timestamp is not None
    await reply.delete()
    assert (await bot.wait_event(hikari.GuildMessageDeleteEvent)).message_id == reply.id

    sent_messages = [await bot.rest.create_message(general_channel_id, f"line {number}") for number in range(5)]
    history = await bot.rest.fetch_messages(general_channel_id).limit(3)
    assert [message.content for message in history] == ["line 4", "line 3", "line 2"]
    older = await bot.rest.fetch_messages(general_channel_id, before=sent_messages[2])
    assert [message.id for message in older] == [sent_messages[1].id, sent_messages[0].id, incoming.message_id]
    assert (await bot.rest.fetch_message(general_channel_id, sent_messages[0])).content == "line 0"
    await bot.rest.delete_messages(general_channel_id, sent_messages)
    assert (await bot.wait_event(hikari.GuildBulkMessageDeleteEvent)).message_ids == {
        message.id for message in sent_messages
    }


async def test_attachments_and_embeds_are_returned_as_sent(bot: Bot, setup: ClientSetup) -> None:
    when = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
    embed = hikari.Embed(title="News", description="of the day", color=0x336699, timestamp=when)
    embed.set_author(name="crier").set_footer("the end").add_field("weather", "fine")
    embed.set_image(hikari.Bytes(ONE_PIXEL_PNG, "pixel.png"))
    message = await bot.rest.create_message(
        setup.guild.general,
        "look",
        embed=embed,
        attachments=[hikari.Bytes(b"text", "notes.txt"), hikari.Bytes(ONE_PIXEL_PNG, "two.png", spoiler=True)],
    )

    attachments_by_name = {attachment.filename: attachment for attachment in message.attachments}
    assert {"notes.txt", "SPOILER_two.png"} <= set(attachments_by_name)
    assert await attachments_by_name["notes.txt"].read() == b"text"
    assert await attachments_by_name["SPOILER_two.png"].read() == ONE_PIXEL_PNG
    assert (attachments_by_name["SPOILER_two.png"].width, attachments_by_name["SPOILER_two.png"].height) == (1, 1)
    (sent_embed,) = message.embeds
    assert (sent_embed.title, sent_embed.description, sent_embed.color, sent_embed.timestamp) == (
        "News",
        "of the day",
        0x336699,
        when,
    )
    assert [(field.name, field.value, field.is_inline) for field in sent_embed.fields] == [("weather", "fine", False)]
    assert (
        sent_embed.author and sent_embed.author.name,
        sent_embed.footer and sent_embed.footer.text,
    ) == ("crier", "the end")
    assert sent_embed.image is not None
    assert await sent_embed.image.read() == ONE_PIXEL_PNG

    cleared_message = await message.edit("nothing to see", attachments=None, embeds=None)
    assert (list(cleared_message.attachments), list(cleared_message.embeds)) == ([], [])


async def test_reactions_are_counted_listed_and_removed(bot: Bot, setup: ClientSetup) -> None:
    message = await bot.rest.create_message(setup.guild.general, "do you like it?")
    await message.add_reaction("👍")
    add_event = await bot.wait_event(hikari.GuildReactionAddEvent)
    assert (add_event.emoji_name, add_event.user_id) == ("👍", setup.bot.id)
    (await setup.bob.put(f"/channels/{setup.guild.general}/messages/{message.id}/reactions/👍/@me")).ok()
    add_event = await bot.wait_event(hikari.GuildReactionAddEvent)
    assert (add_event.member.id, add_event.message_id) == (setup.bob.id, message.id)
    reactors = await bot.rest.fetch_reactions_for_emoji(message.channel_id, message, "👍")
    assert {user.id for user in reactors} == {setup.bot.id, setup.bob.id}
    fetched_message = await bot.rest.fetch_message(message.channel_id, message)
    assert [(str(reaction.emoji), reaction.count, reaction.is_me) for reaction in fetched_message.reactions] == [
        ("👍", 2, True)
    ]
    await message.remove_reaction("👍", user=setup.bob.id)
    assert (await bot.wait_event(hikari.GuildReactionDeleteEvent)).user_id == setup.bob.id
    await message.remove_all_reactions("👍")
    assert (await bot.wait_event(hikari.GuildReactionDeleteEmojiEvent)).emoji_name == "👍"
    await message.add_reaction("👎")
    await message.remove_all_reactions()
    await bot.wait_event(hikari.GuildReactionDeleteAllEvent)


async def test_threads_and_forum_posts_are_created_joined_and_archived(bot: Bot, setup: ClientSetup) -> None:
    message = await bot.rest.create_message(setup.guild.general, "a long story")
    thread = await bot.rest.create_message_thread(message.channel_id, message, "story")
    create_event = await bot.wait_event(hikari.GuildThreadCreateEvent)
    assert (create_event.thread_id, create_event.thread.parent_id, thread.id) == (
        message.id,
        setup.guild.general,
        message.id,
    )
    await bot.rest.create_message(thread, "once upon a time")
    await bot.rest.add_thread_member(thread, setup.bob.id)
    join_event = await bot.wait_event(
        hikari.ThreadMembersUpdateEvent, lambda event: setup.bob.id in event.added_members
    )
    assert join_event.thread_id == thread.id
    assert {member.user_id for member in await bot.rest.fetch_thread_members(thread)} == {setup.bot.id, setup.bob.id}
    await bot.rest.edit_channel(thread, archived=True)
    update_event = await bot.wait_event(hikari.GuildThreadUpdateEvent, lambda event: event.thread.is_archived)
    assert update_event.thread_id == thread.id
    archived_threads = await bot.rest.fetch_public_archived_threads(message.channel_id)
    assert [archived_thread.id for archived_thread in archived_threads] == [thread.id]

    forum = await bot.rest.create_guild_forum_channel(
        setup.guild.id, "ideas", available_tags=[hikari.ForumTag(name="good")]
    )
    (tag,) = forum.available_tags
    post = await bot.rest.create_forum_post(forum, "a fountain", "in the middle", tags=[tag])
    create_event = await bot.wait_event(hikari.GuildThreadCreateEvent)
    assert isinstance(create_event.thread, hikari.GuildPublicThread)
    assert (create_event.thread_id, list(create_event.thread.applied_tag_ids)) == (post.id, [tag.id])
    await bot.rest.delete_channel(post)
    assert (await bot.wait_event(hikari.GuildThreadDeleteEvent)).thread_id == post.id


async def test_roles_are_created_edited_assigned_and_removed(bot: Bot, setup: ClientSetup) -> None:
    role = await bot.rest.create_role(
        setup.guild.id, name="guards", color=0xFF0000, hoist=True, permissions=hikari.Permissions.KICK_MEMBERS
    )
    assert (await bot.wait_event(hikari.RoleCreateEvent)).role_id == role.id
    assert (role.color, role.is_hoisted, role.permissions) == (0xFF0000, True, hikari.Permissions.KICK_MEMBERS)
    await bot.rest.edit_role(setup.guild.id, role, name="watch", mentionable=True)
    assert (await bot.wait_event(hikari.RoleUpdateEvent, lambda event: event.role.name == "watch")).role.is_mentionable
    await bot.rest.add_role_to_member(setup.guild.id, setup.bob.id, role, reason="brave")
    update_event = await bot.wait_event(hikari.MemberUpdateEvent)
    assert role.id in update_event.member.role_ids
    entry = await bot.wait_event(hikari.AuditLogEntryCreateEvent, lambda event: event.entry.reason == "brave")
    assert entry.entry.action_type is hikari.AuditLogEventType.MEMBER_ROLE_UPDATE
    cached = bot.cache.get_member(setup.guild.id, setup.bob.id)
    assert cached is not None
    assert role.id in [assigned_role.id for assigned_role in cached.get_roles()]
    await bot.rest.remove_role_from_member(setup.guild.id, setup.bob.id, role)
    await bot.wait_event(hikari.MemberUpdateEvent, lambda event: role.id not in event.member.role_ids)
    await bot.rest.delete_role(setup.guild.id, role)
    assert (await bot.wait_event(hikari.RoleDeleteEvent)).role_id == role.id
    assert bot.cache.get_role(role) is None


async def test_members_are_renamed_timed_out_kicked_and_banned(bot: Bot, setup: ClientSetup) -> None:
    guild_id, bob_id = setup.guild.id, setup.bob.id
    await bot.rest.edit_member(guild_id, bob_id, nickname="Bobby")
    assert (await bot.wait_event(hikari.MemberUpdateEvent)).member.display_name == "Bobby"
    until = datetime.datetime.fromtimestamp(setup.world.clock.now_ms() / 1000 + 3600, datetime.UTC)
    await bot.rest.edit_member(guild_id, bob_id, communication_disabled_until=until)
    assert (await bot.wait_event(hikari.MemberUpdateEvent)).member.communication_disabled_until() is not None

    await bot.rest.kick_member(guild_id, bob_id)
    assert (await bot.wait_event(hikari.MemberDeleteEvent)).user_id == bob_id
    with pytest.raises(hikari.NotFoundError) as not_found:
        await bot.rest.fetch_member(guild_id, bob_id)
    assert not_found.value.code == 10007
    await bot.rest.ban_member(guild_id, bob_id, reason="spam links", delete_message_seconds=0)
    assert (await bot.wait_event(hikari.BanCreateEvent)).user_id == bob_id
    assert [(ban.user.id, ban.reason) for ban in await bot.rest.fetch_bans(guild_id)] == [(bob_id, "spam links")]
    await bot.rest.unban_member(guild_id, bob_id)
    await bot.wait_event(hikari.BanDeleteEvent)


async def test_channels_are_created_edited_restricted_and_deleted(bot: Bot, setup: ClientSetup) -> None:
    deny_view = hikari.PermissionOverwrite(
        id=setup.guild.id, type=hikari.PermissionOverwriteType.ROLE, deny=hikari.Permissions.VIEW_CHANNEL
    )
    channel = await bot.rest.create_guild_text_channel(
        setup.guild.id, "vault", topic="gold", permission_overwrites=[deny_view]
    )
    create_event = await bot.wait_event(hikari.GuildChannelCreateEvent)
    assert (create_event.channel_id, create_event.channel.name) == (channel.id, "vault")
    (await setup.bob.get(f"/channels/{channel.id}")).rejected(403, 50001)
    await channel.edit_overwrite(
        setup.bob.id, target_type=hikari.PermissionOverwriteType.MEMBER, allow=hikari.Permissions.VIEW_CHANNEL
    )
    update_event = await bot.wait_event(hikari.GuildChannelUpdateEvent)
    assert isinstance(update_event.channel, hikari.PermissibleGuildChannel)
    assert setup.bob.id in update_event.channel.permission_overwrites
    await channel.edit(name="treasury")
    await bot.wait_event(hikari.GuildChannelUpdateEvent, lambda event: event.channel.name == "treasury")
    await channel.delete()
    assert (await bot.wait_event(hikari.GuildChannelDeleteEvent)).channel_id == channel.id
    await bot.rest.edit_guild(setup.guild.id, name="Market Square")
    assert (await bot.wait_event(hikari.GuildUpdateEvent)).guild.name == "Market Square"


async def test_error_responses_become_the_librarys_errors(bot: Bot, setup: ClientSetup) -> None:
    unprivileged_account = await setup.world.bot(setup.guild, name="unprivileged")
    async with run_bot(Bot(setup, unprivileged_account.token)) as unprivileged_bot:
        with pytest.raises(hikari.ForbiddenError) as rejection:
            await unprivileged_bot.rest.create_role(setup.guild.id, name="mine")
        assert rejection.value.code == 50013
    with pytest.raises(hikari.NotFoundError) as not_found:
        await bot.rest.fetch_message(setup.guild.general, 1)
    assert not_found.value.code == 10008
    with pytest.raises(hikari.BadRequestError) as invalid_error:
        await bot.rest.create_message(setup.guild.general, "x" * 2001)
    assert invalid_error.value.code == 50035
    assert invalid_error.value.errors is not None
    assert "content" in invalid_error.value.errors


async def test_pins_invites_and_typing_are_sent_and_received(bot: Bot, setup: ClientSetup) -> None:
    message = await bot.rest.create_message(setup.guild.general, "read this first")
    await bot.rest.pin_message(message.channel_id, message)
    assert (await bot.wait_event(hikari.GuildPinsUpdateEvent)).channel_id == setup.guild.general
    assert [pin.message.id for pin in await bot.rest.fetch_pins(message.channel_id)] == [message.id]
    await bot.rest.unpin_message(message.channel_id, message)

    invite = await bot.rest.create_invite(setup.guild.general, max_uses=2, unique=True)
    assert (await bot.wait_event(hikari.InviteCreateEvent)).code == invite.code
    assert (await bot.rest.fetch_invite(invite.code)).guild_id == setup.guild.id
    carol = await setup.world.user("carol")
    (await carol.post(f"/invites/{invite.code}", json={})).ok()
    assert (await bot.wait_event(hikari.MemberCreateEvent)).user_id == carol.id
    assert [
        (guild_invite.code, guild_invite.uses) for guild_invite in await bot.rest.fetch_guild_invites(setup.guild.id)
    ] == [(invite.code, 1)]
    await bot.rest.delete_invite(invite)
    assert (await bot.wait_event(hikari.InviteDeleteEvent)).code == invite.code

    (await setup.bob.post(f"/channels/{setup.guild.general}/typing")).ok()
    assert (await bot.wait_event(hikari.GuildTypingEvent)).user_id == setup.bob.id
    bob_session = await setup.bob.connect()
    await bot.rest.trigger_typing(setup.guild.general)
    assert (await bob_session.next("TYPING_START"))["user_id"] == str(setup.bot.id)


async def test_direct_messages_are_sent_and_received(bot: Bot, setup: ClientSetup) -> None:
    channel = await bot.rest.create_dm_channel(setup.bob.id)
    assert channel.recipient.id == setup.bob.id
    await channel.send("psst")
    path = f"/channels/{channel.id}/messages"
    assert [message["content"] for message in (await setup.bob.get(path)).ok()] == ["psst"]
    (await setup.bob.post(path, json={"content": "what?"})).ok()
    incoming = await bot.wait_event(hikari.DMMessageCreateEvent, lambda event: event.author_id == setup.bob.id)
    assert (incoming.content, incoming.channel_id) == ("what?", channel.id)


async def test_presences_and_voice_states_are_received_and_sent(bot: Bot, setup: ClientSetup) -> None:
    bob_session = await setup.bob.connect()
    presence_event = await bot.wait_event(hikari.PresenceUpdateEvent, lambda event: event.user_id == setup.bob.id)
    assert presence_event.presence.visible_status is hikari.Status.ONLINE
    await bot.update_presence(status=hikari.Status.IDLE, activity=hikari.Activity(name="chess"))
    presence = await bob_session.next(
        "PRESENCE_UPDATE", lambda data: data["user"]["id"] == str(setup.bot.id) and data["status"] == "idle"
    )
    assert [activity["name"] for activity in presence["activities"]] == ["chess"]

    lounge_id = setup.guild.channels["General"]
    await bot.update_voice_state(setup.guild.id, lounge_id, self_mute=True)
    state = (await bot.wait_event(hikari.VoiceStateUpdateEvent)).state
    assert (state.user_id, state.channel_id, state.is_self_muted) == (setup.bot.id, lounge_id, True)
    server = await bot.wait_event(hikari.VoiceServerUpdateEvent)
    assert server.guild_id == setup.guild.id
    assert server.token
    assert server.raw_endpoint
    await bot.update_voice_state(setup.guild.id, None)
    assert (await bot.wait_event(hikari.VoiceStateUpdateEvent)).state.channel_id is None


@pytest.mark.parametrize(
    "compression",
    [hikari.api.GatewayCompression.TRANSPORT_ZLIB_STREAM, hikari.api.GatewayCompression.TRANSPORT_ZSTD_STREAM],
)
async def test_an_aborted_connection_resumes_without_missed_events(
    setup: ClientSetup, monkeypatch: pytest.MonkeyPatch, compression: hikari.api.GatewayCompression
) -> None:
    # The library has no public option for the compression of a bot's shards.
    monkeypatch.setitem(GatewayShardImpl.__init__.__kwdefaults__, "compression", compression)
    async with run_bot(Bot(setup)) as bot:
        await bot.wait_event(hikari.GuildAvailableEvent)
        expected = [(await setup.guild.send_message(setup.bob, f"{number} " + "é" * 500))["id"] for number in range(5)]
        # The connection is aborted only once, because the library waits longer before each further attempt.
        assert setup.proxy.abort_connections() == 1
        expected += [(await setup.guild.send_message(setup.bob, f"{number} while away"))["id"] for number in range(5)]
        await bot.wait_event(hikari.ShardResumedEvent)
        incoming = [str((await bot.wait_event(hikari.GuildMessageCreateEvent)).message_id) for _ in expected]
        await setup.guild.send_message(setup.bob, "the end")
        assert (await bot.wait_event(hikari.GuildMessageCreateEvent)).content == "the end"
        assert incoming == expected
        mode = "zlib-stream" if compression is hikari.api.GatewayCompression.TRANSPORT_ZLIB_STREAM else "zstd-stream"
        assert [f"compress={mode}" in line for line in setup.proxy.request_lines] == [True, True]


async def test_guilds_are_spread_over_two_shards(setup: ClientSetup) -> None:
    guild_ids_by_shard = await setup.create_guilds_on_both_shards()
    async with run_bot(Bot(setup), shard_count=2) as bot:
        assert set(bot.shards) == {0, 1}
        for shard, guild_ids in guild_ids_by_shard.items():
            for guild_id in guild_ids:
                available_event = await bot.wait_event(
                    hikari.GuildAvailableEvent, lambda event, guild_id=guild_id: event.guild_id == guild_id
                )
                assert available_event.shard.id == shard


async def test_all_members_of_a_large_guild_are_chunked(setup: ClientSetup) -> None:
    await setup.add_members()
    async with run_bot(Bot(setup)) as bot:
        member_ids: set[int] = set()
        while len(member_ids) < LARGE_GUILD_MEMBER_COUNT + 3:
            chunk = await bot.wait_event(hikari.MemberChunkEvent)
            member_ids |= set(chunk.members)
        assert chunk.chunk_count == 2
        guild = bot.cache.get_guild(setup.guild.id)
        assert guild is not None
        assert len(guild.get_members()) == LARGE_GUILD_MEMBER_COUNT + 3
        assert len(await bot.rest.fetch_members(guild)) == LARGE_GUILD_MEMBER_COUNT + 3


async def test_a_guild_template_is_created_and_fetched(bot: Bot, setup: ClientSetup) -> None:
    created_template = await bot.rest.create_template(setup.guild.id, "shape", description="The town")
    assert (created_template.name, created_template.source_guild.name) == ("shape", "Town Square")
    assert {channel.name for channel in created_template.source_guild.channels.values()} >= {"general", "General"}
    fetched_template = await bot.rest.fetch_template(created_template.code)
    assert (fetched_template.code, fetched_template.creator.id) == (created_template.code, setup.bot.id)
    assert [template.code for template in await bot.rest.fetch_guild_templates(setup.guild.id)] == [
        created_template.code
    ]
