"""The typing indicator: permissions and recipients of the event."""

from hubbub.protocol.enums import ChannelType
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from tests.world import NOW_MS, World


async def test_typing_is_sent_to_members_who_can_view_the_channel(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot, excluded_bot = await world.bot(guild), await world.bot(guild)
    await guild.overwrite(guild.general, excluded_bot.id, deny=Permissions.VIEW_CHANNEL)
    session, excluded_session = await bot.connect(), await excluded_bot.connect()
    session_without_intent = await bot.connect(Intents.BOT_MASK & ~Intents.GUILD_MESSAGE_TYPING)

    assert (await alice.post(f"/channels/{guild.general}/typing")).status == 204

    event = await session.next("TYPING_START")
    assert event["channel_id"] == str(guild.general)
    assert event["guild_id"] == str(guild.id)
    assert event["user_id"] == str(alice.id)
    assert event["timestamp"] == NOW_MS // 1000
    assert event["member"]["user"]["id"] == str(alice.id)
    await excluded_session.assert_not_received("TYPING_START")
    await session_without_intent.assert_not_received("TYPING_START")


async def test_typing_requires_permission_to_send_messages(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    await guild.overwrite(guild.general, bot.id, deny=Permissions.SEND_MESSAGES)
    (await bot.post(f"/channels/{guild.general}/typing")).rejected(403, 50013)
    await guild.overwrite(guild.general, bot.id, deny=Permissions.VIEW_CHANNEL)
    (await bot.post(f"/channels/{guild.general}/typing")).rejected(403, 50001)
    (await bot.post("/channels/1/typing")).rejected(404, 10003)
    category_id = await guild.channel("category", type=ChannelType.GUILD_CATEGORY)
    (await bot.post(f"/channels/{category_id}/typing")).rejected(400, 50008)


async def test_typing_in_threads_requires_send_messages_in_threads(world: World) -> None:
    guild = await world.guild()
    bot = await world.bot(guild)
    body = {"name": "thread", "type": ChannelType.PUBLIC_THREAD}
    thread_id = int((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    await guild.overwrite(guild.general, bot.id, deny=Permissions.SEND_MESSAGES)
    assert (await bot.post(f"/channels/{thread_id}/typing")).status == 204
    await guild.overwrite(guild.general, bot.id, deny=Permissions.SEND_MESSAGES_IN_THREADS)
    (await bot.post(f"/channels/{thread_id}/typing")).rejected(403, 50013)


async def test_typing_in_a_private_thread_is_sent_only_to_its_members(world: World) -> None:
    guild = await world.guild()
    member_bot, other_bot = await world.bot(guild), await world.bot(guild)
    body = {"name": "secret", "type": ChannelType.PRIVATE_THREAD}
    thread_id = int((await guild.owner.post(f"/channels/{guild.general}/threads", json=body)).ok()["id"])
    (await guild.owner.put(f"/channels/{thread_id}/thread-members/{member_bot.id}")).ok()
    member_session, other_session = await member_bot.connect(), await other_bot.connect()

    (await guild.owner.post(f"/channels/{thread_id}/typing")).ok()

    assert (await member_session.next("TYPING_START"))["channel_id"] == str(thread_id)
    await other_session.assert_not_received("TYPING_START")


async def test_typing_in_a_direct_message_is_sent_to_the_other_participant(world: World) -> None:
    alice = await world.user("alice")
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    channel_id = int((await alice.post("/users/@me/channels", json={"recipient_id": str(bot.id)})).ok()["id"])
    session = await bot.connect()

    assert (await alice.post(f"/channels/{channel_id}/typing")).status == 204

    assert await session.next("TYPING_START") == {
        "channel_id": str(channel_id),
        "user_id": str(alice.id),
        "timestamp": NOW_MS // 1000,
    }
