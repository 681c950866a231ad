"""Events for objects that become visible: the object and its contents are sent (spec/gateway.md#9)."""

from hubbub.protocol.enums import ChannelType, GatewayOpcode, OverwriteType
from hubbub.protocol.permissions import Permissions
from tests.world import World


async def test_gaining_access_to_a_voice_channel_sends_its_voice_states(world: World) -> None:
    alice, carol = await world.user(), await world.user()
    guild = await world.guild(alice, carol)
    channel_id = await guild.channel("lounge", type=ChannelType.GUILD_VOICE)
    await guild.overwrite(channel_id, guild.id, deny=Permissions.VIEW_CHANNEL, target_type=OverwriteType.ROLE)
    await guild.overwrite(channel_id, carol.id, allow=Permissions.VIEW_CHANNEL)
    carol_session = await carol.connect()
    await carol_session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": str(guild.id), "channel_id": str(channel_id), "self_mute": True, "self_deaf": False},
    )
    await carol_session.next("VOICE_STATE_UPDATE")
    bot = await world.bot(guild)
    session = await bot.connect()
    assert session.guilds[str(guild.id)]["voice_states"] == []

    await guild.overwrite(channel_id, bot.id, allow=Permissions.VIEW_CHANNEL)

    event = await session.next("VOICE_STATE_UPDATE")
    assert (event["guild_id"], event["channel_id"], event["user_id"]) == (str(guild.id), str(channel_id), str(carol.id))
    assert (event["self_mute"], event["member"]["user"]["id"]) == (True, str(carol.id))


async def test_gaining_manage_threads_sends_private_threads(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    bot = await world.bot(guild)
    session = await bot.connect()
    thread = (
        await alice.post(
            f"/channels/{guild.general}/threads", json={"name": "quiet", "type": ChannelType.PRIVATE_THREAD}
        )
    ).ok()
    await session.assert_not_received("THREAD_CREATE")

    await guild.allow_permissions(bot, Permissions.MANAGE_THREADS)

    event = await session.next("THREAD_LIST_SYNC")
    assert event["channel_ids"] == [str(guild.general)]
    assert [entry["id"] for entry in event["threads"]] == [thread["id"]]
    assert event["members"] == []
