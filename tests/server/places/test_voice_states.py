"""Voice states: joins, events, moderation, reads, the status of a voice channel, and the AFK channel."""

from typing import Any

import pytest

from hubbub.protocol import codec
from hubbub.protocol.enums import AuditLogAction, ChannelType, GatewayOpcode, InviteTargetType, OverwriteType
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call
from hubbub.server.places import members
from tests.world import NOW_MS, Actor, Guild, Session, World

VOICE_INTENTS = Intents.GUILDS | Intents.GUILD_VOICE_STATES


async def assert_join_ignored(session: Session, guild: Guild, channel_id: int) -> None:
    """Send a request to join a voice channel and assert that the server ignores it."""
    await session.send_voice_state(guild, channel_id)
    # Commands of a connection are handled in order, so the response to this one comes after the ignored join.
    await session.send(GatewayOpcode.REQUEST_CHANNEL_INFO, {"guild_id": str(guild.id), "fields": []})
    await session.next("CHANNEL_INFO")
    assert session.unread_names() == []
    (await session.actor.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)


async def list_status_entries(world: World, guild: Guild) -> list[tuple[int, int, Any]]:
    """Return action, target and options of the audit log entries of voice status changes, oldest first."""

    def read(call: Call) -> list[Any]:
        return call.tx.all(
            "SELECT action_type, target_id, options FROM audit_log WHERE guild_id = ? AND action_type IN (?, ?) "
            "ORDER BY id",
            guild.id,
            int(AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE),
            int(AuditLogAction.VOICE_CHANNEL_STATUS_DELETE),
        )

    return [
        (action, target, codec.decode(options, dict[str, Any])) for action, target, options in await world.write(read)
    ]


@pytest.fixture
async def bob(world: World) -> Actor:
    """The user who joins voice channels."""
    return await world.user("bob")


@pytest.fixture
async def guild(world: World, bob: Actor) -> Guild:
    """A guild with Bob and two voice channels."""
    guild = await world.guild(await world.user("alice"), bob)
    await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    await guild.channel("Den", type=ChannelType.GUILD_VOICE)
    return guild


# Connecting


async def test_joining_publishes_the_state_and_returns_the_voice_server(world: World, guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    bot = await world.bot(guild)
    observer_session, session = await bot.connect(VOICE_INTENTS), await bob.connect()
    state = await session.join_voice(guild, lounge_id, self_mute=True)
    assert (state["channel_id"], state["guild_id"]) == (str(lounge_id), str(guild.id))
    assert (state["self_mute"], state["self_deaf"], state["mute"], state["deaf"], state["suppress"]) == (
        True,
        False,
        False,
        False,
        False,
    )
    assert state["member"]["user"]["id"] == str(bob.id)
    assert state["session_id"] != session.ready["session_id"]
    server = await session.next("VOICE_SERVER_UPDATE")
    assert server["guild_id"] == str(guild.id)
    assert server["token"]
    # No voice server runs here; tests/server/voice has one.
    assert server["endpoint"] is None
    assert await observer_session.next("VOICE_STATE_UPDATE") == state
    start_time_update = await observer_session.next("VOICE_CHANNEL_START_TIME_UPDATE")
    assert start_time_update == {"id": str(lounge_id), "guild_id": str(guild.id), "voice_start_time": NOW_MS // 1000}
    await observer_session.assert_not_received("VOICE_SERVER_UPDATE")


async def test_rejoining_the_same_channel_only_updates_the_state(guild: Guild, bob: Actor) -> None:
    session = await bob.connect()
    first_state = await session.join_voice(guild, guild.channels["Lounge"])
    await session.next("VOICE_CHANNEL_START_TIME_UPDATE")
    await session.next("VOICE_SERVER_UPDATE")
    second_state = await session.join_voice(guild, guild.channels["Lounge"], self_deaf=True)
    assert second_state == {**first_state, "self_deaf": True}
    await session.assert_not_received("VOICE_SERVER_UPDATE", "VOICE_CHANNEL_START_TIME_UPDATE")


async def test_leaving_is_published_and_clears_the_channel_status(world: World, guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    observer_session = await (await world.bot(guild)).connect(VOICE_INTENTS)
    session = await bob.connect()
    await session.join_voice(guild, lounge_id)
    (await guild.owner.put(f"/channels/{lounge_id}/voice-status", json={"status": "chess"})).ok()
    await observer_session.next("VOICE_CHANNEL_STATUS_UPDATE")
    await session.send_voice_state(guild, None)
    state = await observer_session.next("VOICE_STATE_UPDATE")
    assert (state["channel_id"], state["user_id"]) == (None, str(bob.id))
    assert (await observer_session.next("VOICE_CHANNEL_START_TIME_UPDATE"))["voice_start_time"] is None
    assert (await observer_session.next("VOICE_CHANNEL_STATUS_UPDATE"))["status"] is None
    (await bob.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)


async def test_moving_sends_one_state_update_to_each_viewer(world: World, guild: Guild, bob: Actor) -> None:
    lounge_id, den_channel_id = guild.channels["Lounge"], guild.channels["Den"]
    viewer, other_bot = await world.bot(guild), await world.bot(guild)
    await guild.overwrite(den_channel_id, other_bot.id, deny=Permissions.VIEW_CHANNEL)
    viewer_session, other_session = await viewer.connect(VOICE_INTENTS), await other_bot.connect(VOICE_INTENTS)
    session = await bob.connect()
    await session.join_voice(guild, lounge_id)
    for observer_session in (viewer_session, other_session):
        await observer_session.next("VOICE_STATE_UPDATE")
    moved_state = await session.join_voice(guild, den_channel_id)
    assert moved_state["channel_id"] == str(den_channel_id)
    assert (await viewer_session.next("VOICE_STATE_UPDATE"))["channel_id"] == str(den_channel_id)
    assert (await other_session.next("VOICE_STATE_UPDATE"))["channel_id"] is None
    assert (await session.next("VOICE_SERVER_UPDATE"))["guild_id"] == str(guild.id)
    for observer_session in (viewer_session, other_session, session):
        await observer_session.assert_not_received("VOICE_STATE_UPDATE")


async def test_voice_events_of_a_hidden_channel_are_not_sent(world: World, guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    other_bot = await world.bot(guild)
    await guild.overwrite(lounge_id, other_bot.id, deny=Permissions.VIEW_CHANNEL)
    observer_session = await other_bot.connect(VOICE_INTENTS)
    session = await bob.connect()
    await session.join_voice(guild, lounge_id)
    await session.send_voice_state(guild, None)
    await session.next("VOICE_STATE_UPDATE")
    await observer_session.assert_not_received("VOICE_STATE_UPDATE", "VOICE_CHANNEL_START_TIME_UPDATE")


async def test_a_bot_without_the_intent_receives_its_own_state(world: World, guild: Guild, bob: Actor) -> None:
    bot = await world.bot(guild)
    bot_session = await bot.connect(Intents.GUILDS)
    session = await bob.connect()
    await session.join_voice(guild, guild.channels["Lounge"])
    state = await bot_session.join_voice(guild, guild.channels["Lounge"])
    assert state["user_id"] == str(bot.id)
    assert [frame["d"]["user_id"] for frame in bot_session.dispatches if frame["t"] == "VOICE_STATE_UPDATE"] == [
        str(bot.id)
    ]
    assert (await bot_session.next("VOICE_SERVER_UPDATE"))["token"]


@pytest.mark.parametrize("denied_permissions", [Permissions.CONNECT, Permissions.VIEW_CHANNEL])
async def test_connecting_without_permission_is_ignored(guild: Guild, bob: Actor, denied_permissions: int) -> None:
    session = await bob.connect()
    lounge_id = guild.channels["Lounge"]
    await guild.overwrite(lounge_id, bob.id, deny=denied_permissions)
    await session.next("CHANNEL_UPDATE")
    await assert_join_ignored(session, guild, lounge_id)


async def test_connecting_to_a_text_or_foreign_channel_is_ignored(world: World, guild: Guild, bob: Actor) -> None:
    session = await bob.connect()
    await assert_join_ignored(session, guild, guild.general)
    other_guild = await world.guild()
    await assert_join_ignored(session, guild, await other_guild.channel("Theirs", type=ChannelType.GUILD_VOICE))


async def test_a_full_channel_admits_only_members_with_move_members(guild: Guild, bob: Actor) -> None:
    small_channel_id = await guild.channel("Small", type=ChannelType.GUILD_VOICE, user_limit=1)
    bob_session, owner_session = await bob.connect(), await guild.owner.connect()
    await owner_session.join_voice(guild, small_channel_id)
    await bob_session.next("VOICE_CHANNEL_START_TIME_UPDATE")
    await assert_join_ignored(bob_session, guild, small_channel_id)
    await owner_session.send_voice_state(guild, None)
    await bob_session.next("VOICE_CHANNEL_START_TIME_UPDATE")
    await bob_session.join_voice(guild, small_channel_id)
    # A connected member stays, and the owner, who has MOVE_MEMBERS, may exceed the limit.
    await bob_session.join_voice(guild, small_channel_id, self_mute=True)
    await owner_session.join_voice(guild, small_channel_id)


async def test_stage_audience_and_members_without_speak_are_suppressed(guild: Guild, bob: Actor) -> None:
    (
        await guild.owner.patch(
            f"/guilds/{guild.id}", json={"features": ["COMMUNITY"], **(await community_settings(guild))}
        )
    ).ok()
    stage_channel_id = await guild.channel("Stage", type=ChannelType.GUILD_STAGE_VOICE)
    session, owner_session = await bob.connect(), await guild.owner.connect()
    assert (await session.join_voice(guild, stage_channel_id))["suppress"] is True
    assert (await owner_session.join_voice(guild, stage_channel_id))["suppress"] is False
    lounge_id = guild.channels["Lounge"]
    await guild.overwrite(lounge_id, bob.id, deny=Permissions.SPEAK)
    assert (await session.join_voice(guild, lounge_id))["suppress"] is True


async def community_settings(guild: Guild) -> dict[str, str]:
    """Return the channel settings that a community guild needs."""
    return {"rules_channel_id": str(guild.general), "public_updates_channel_id": str(guild.general)}


async def test_a_member_with_stream_shares_a_screen_and_invites_others_to_it(
    world: World, guild: Guild, bob: Actor
) -> None:
    lounge_id = guild.channels["Lounge"]
    session, observer = await bob.connect(), await guild.owner.connect()
    stream_invite = {"target_type": InviteTargetType.STREAM, "target_user_id": str(bob.id)}

    async def stream(is_streaming: bool) -> bool:
        await session.send_voice_state(guild, lounge_id, self_stream=is_streaming)
        state = await observer.next("VOICE_STATE_UPDATE")
        return bool(state["self_stream"])

    assert not await stream(False)
    (await bob.post(f"/channels/{lounge_id}/invites", json=stream_invite)).rejected(400, 50035)
    assert await stream(True)
    invite = (await bob.post(f"/channels/{lounge_id}/invites", json=stream_invite)).ok()
    assert (invite["target_type"], invite["target_user"]["id"]) == (InviteTargetType.STREAM, str(bob.id))
    assert not await stream(False)

    overwrite = {"type": OverwriteType.ROLE, "deny": str(int(Permissions.STREAM))}
    (await guild.owner.put(f"/channels/{lounge_id}/permissions/{guild.id}", json=overwrite)).ok()
    assert not await stream(True)


async def test_a_second_session_takes_over_the_voice_state(guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    first_session, second_session = await bob.connect(), await bob.connect()
    first_state = await first_session.join_voice(guild, lounge_id)
    await second_session.next("VOICE_STATE_UPDATE")
    second_state = await second_session.join_voice(guild, lounge_id)
    assert second_state["session_id"] != first_state["session_id"]
    await second_session.next("VOICE_SERVER_UPDATE")
    assert (await first_session.next("VOICE_STATE_UPDATE"))["session_id"] == second_state["session_id"]
    await first_session.close()
    await second_session.assert_not_received("VOICE_STATE_UPDATE")
    (await bob.get(f"/guilds/{guild.id}/voice-states/@me")).ok()


async def test_a_session_that_ends_leaves_voice(guild: Guild, bob: Actor) -> None:
    observer_session, session = await guild.owner.connect(), await bob.connect()
    await session.join_voice(guild, guild.channels["Lounge"])
    await observer_session.next("VOICE_STATE_UPDATE")
    await session.close()
    state = await observer_session.next("VOICE_STATE_UPDATE")
    assert (state["user_id"], state["channel_id"]) == (str(bob.id), None)


async def test_guild_create_contains_visible_voice_states(world: World, guild: Guild, bob: Actor) -> None:
    session = await bob.connect()
    state = await session.join_voice(guild, guild.channels["Lounge"])
    bot, other_bot = await world.bot(guild), await world.bot(guild)
    await guild.overwrite(guild.channels["Lounge"], other_bot.id, deny=Permissions.VIEW_CHANNEL)
    guild_create = (await bot.connect(VOICE_INTENTS)).guilds[str(guild.id)]
    expected_state = {key: value for key, value in state.items() if key != "guild_id"}
    assert guild_create["voice_states"] == [expected_state]
    assert (await other_bot.connect(VOICE_INTENTS)).guilds[str(guild.id)]["voice_states"] == []
    assert (await bot.connect(Intents.GUILDS)).guilds[str(guild.id)]["voice_states"] == []


# Moderation and departures


async def test_a_moderator_moves_mutes_and_disconnects(guild: Guild, bob: Actor) -> None:
    lounge_id, den_channel_id = guild.channels["Lounge"], guild.channels["Den"]
    session, observer_session = await bob.connect(), await guild.owner.connect()
    await session.join_voice(guild, lounge_id)
    await session.next("VOICE_SERVER_UPDATE")
    await observer_session.next("VOICE_STATE_UPDATE")
    path = f"/guilds/{guild.id}/members/{bob.id}"
    (await guild.owner.patch(path, json={"channel_id": str(den_channel_id)})).ok()
    assert (await session.next("VOICE_STATE_UPDATE"))["channel_id"] == str(den_channel_id)
    assert (await session.next("VOICE_SERVER_UPDATE"))["guild_id"] == str(guild.id)
    assert (await observer_session.next("VOICE_STATE_UPDATE"))["channel_id"] == str(den_channel_id)
    (await guild.owner.patch(path, json={"mute": True, "deaf": True})).ok()
    state = await observer_session.next("VOICE_STATE_UPDATE")
    assert (state["mute"], state["deaf"], state["channel_id"]) == (True, True, str(den_channel_id))
    (await guild.owner.patch(path, json={"channel_id": None})).ok()
    assert (await observer_session.next("VOICE_STATE_UPDATE"))["channel_id"] is None
    assert (await session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None))["mute"] is True
    await observer_session.assert_not_received("VOICE_SERVER_UPDATE")


async def test_a_kicked_member_is_disconnected(guild: Guild, bob: Actor) -> None:
    session, observer_session = await bob.connect(), await guild.owner.connect()
    await session.join_voice(guild, guild.channels["Lounge"])
    await observer_session.next("VOICE_STATE_UPDATE")
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{bob.id}")).ok()
    state = await observer_session.next("VOICE_STATE_UPDATE")
    assert (state["user_id"], state["channel_id"]) == (str(bob.id), None)
    (await guild.owner.get(f"/guilds/{guild.id}/voice-states/{bob.id}")).rejected(404, 10065)


async def test_deleting_a_channel_disconnects_its_members(guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    session, observer_session = await bob.connect(), await guild.owner.connect()
    await session.join_voice(guild, lounge_id)
    await observer_session.join_voice(guild, lounge_id)
    (await guild.owner.delete(f"/channels/{lounge_id}")).ok()
    states = [await session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None) for _ in range(2)]
    assert {state["user_id"] for state in states} == {str(bob.id), str(guild.owner.id)}
    await session.next("CHANNEL_DELETE")
    (await bob.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)


# HTTP


async def test_voice_states_can_be_read_without_a_connection(world: World, guild: Guild, bob: Actor) -> None:
    session = await bob.connect()
    state = await session.join_voice(guild, guild.channels["Lounge"])
    assert (await bob.get(f"/guilds/{guild.id}/voice-states/@me")).ok() == state
    bot = await world.bot(guild)
    assert (await bot.get(f"/guilds/{guild.id}/voice-states/{bob.id}")).ok() == state
    (await bot.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)
    (await bot.get(f"/guilds/{guild.id}/voice-states/{bot.id}")).rejected(404, 10065)
    (await (await world.user()).get(f"/guilds/{guild.id}/voice-states/@me")).rejected(403, 50001)
    (await bot.get("/guilds/1/voice-states/@me")).rejected(404, 10004)


async def test_another_members_state_requires_connect_in_its_channel(guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    session = await guild.owner.connect()
    await session.join_voice(guild, lounge_id)
    path = f"/guilds/{guild.id}/voice-states/{guild.owner.id}"
    await guild.overwrite(lounge_id, bob.id, deny=Permissions.CONNECT)
    (await bob.get(path)).rejected(403, 50013)
    await guild.overwrite(lounge_id, bob.id, deny=Permissions.VIEW_CHANNEL)
    (await bob.get(path)).rejected(403, 50001)


# Status and start time


async def test_a_connected_member_with_the_permission_sets_the_status(world: World, guild: Guild, bob: Actor) -> None:
    lounge_id = guild.channels["Lounge"]
    path = f"/channels/{lounge_id}/voice-status"
    observer_session = await (await world.bot(guild)).connect(Intents.GUILDS)
    session = await bob.connect()
    (await bob.put(path, json={"status": "chess"})).rejected(403, 50013)
    await guild.allow_permissions(bob, Permissions.SET_VOICE_CHANNEL_STATUS)
    # A member who is not connected also needs MANAGE_CHANNELS.
    (await bob.put(path, json={"status": "chess"})).rejected(403, 50013)
    await session.join_voice(guild, lounge_id)
    response = await bob.put(path, json={"status": "chess"}, headers={"X-Audit-Log-Reason": "fun"})
    assert response.status == 204
    event = await observer_session.next("VOICE_CHANNEL_STATUS_UPDATE")
    assert event == {"id": str(lounge_id), "guild_id": str(guild.id), "status": "chess"}
    (await bob.put(path, json={"status": "chess"})).ok()
    await observer_session.assert_not_received("VOICE_CHANNEL_STATUS_UPDATE")
    (await bob.put(path, json={"status": ""})).ok()
    assert (await observer_session.next("VOICE_CHANNEL_STATUS_UPDATE"))["status"] is None
    assert await list_status_entries(world, guild) == [
        (AuditLogAction.VOICE_CHANNEL_STATUS_UPDATE, lounge_id, {"channel_id": str(lounge_id), "status": "chess"}),
        (AuditLogAction.VOICE_CHANNEL_STATUS_DELETE, lounge_id, {"channel_id": str(lounge_id)}),
    ]
    assert "status" not in (await bob.get(f"/channels/{lounge_id}")).ok()


async def test_a_member_with_manage_channels_sets_the_status_without_being_connected(guild: Guild, bob: Actor) -> None:
    await guild.allow_permissions(bob, Permissions.SET_VOICE_CHANNEL_STATUS | Permissions.MANAGE_CHANNELS)
    assert (await bob.put(f"/channels/{guild.channels['Lounge']}/voice-status", json={"status": "soon"})).status == 204


async def test_a_status_has_at_most_500_characters_and_needs_a_voice_channel(guild: Guild) -> None:
    path = f"/channels/{guild.channels['Lounge']}/voice-status"
    assert (await guild.owner.put(path, json={"status": "x" * 501})).errors("status") == ["BASE_TYPE_MAX_LENGTH"]
    assert (await guild.owner.put(path, json={"status": "x" * 500})).status == 204
    (await guild.owner.put(f"/channels/{guild.general}/voice-status", json={"status": "x"})).rejected(400, 50024)
    (await guild.owner.put("/channels/1/voice-status", json={"status": "x"})).rejected(404, 10003)


async def test_channel_info_contains_only_requested_fields_of_visible_channels(
    world: World, guild: Guild, bob: Actor
) -> None:
    lounge_id, den_channel_id = guild.channels["Lounge"], guild.channels["Den"]
    owner_session = await guild.owner.connect()
    await owner_session.join_voice(guild, lounge_id)
    (await guild.owner.put(f"/channels/{den_channel_id}/voice-status", json={"status": "quiet"})).ok()
    bot = await world.bot(guild)
    session = await bot.connect(Intents.GUILDS)

    async def channel_info(guild_id: int, *fields: str) -> Any:
        await session.send(GatewayOpcode.REQUEST_CHANNEL_INFO, {"guild_id": str(guild_id), "fields": list(fields)})
        event = await session.next("CHANNEL_INFO")
        return sorted(event["channels"], key=lambda channel: int(channel["id"]))

    start_seconds = NOW_MS // 1000
    assert await channel_info(guild.id, "status", "voice_start_time", "weather") == [
        {"id": str(lounge_id), "status": None, "voice_start_time": start_seconds},
        {"id": str(den_channel_id), "status": "quiet", "voice_start_time": None},
    ]
    assert await channel_info(guild.id, "voice_start_time") == [
        {"id": str(lounge_id), "voice_start_time": start_seconds}
    ]
    assert await channel_info(guild.id, "status") == [{"id": str(den_channel_id), "status": "quiet"}]
    await guild.overwrite(den_channel_id, bot.id, deny=Permissions.VIEW_CHANNEL)
    assert await channel_info(guild.id, "status") == []
    # The server does not respond for a guild that the bot is not in, so the next event is for the guild of the bot.
    await session.send(
        GatewayOpcode.REQUEST_CHANNEL_INFO, {"guild_id": str((await world.guild()).id), "fields": ["status"]}
    )
    assert await channel_info(guild.id) == []
    assert sum(frame["t"] == "CHANNEL_INFO" for frame in session.dispatches) == 5


# AFK channel


async def test_a_deafened_member_is_moved_to_the_afk_channel(world: World, guild: Guild, bob: Actor) -> None:
    afk_channel_id = await guild.channel("away", type=ChannelType.GUILD_VOICE)
    body = {"afk_channel_id": str(afk_channel_id), "afk_timeout": 60}
    (await guild.owner.patch(f"/guilds/{guild.id}", json=body)).ok()
    session = await bob.connect()
    lounge_id = guild.channels["Lounge"]

    await session.join_voice(guild, lounge_id, self_deaf=True)
    world.clock.advance(50_000)
    await session.join_voice(guild, lounge_id, self_deaf=True, self_mute=True)
    world.clock.advance(59_999)
    await session.assert_not_received("VOICE_STATE_UPDATE")
    world.clock.advance(1)

    moved_state = await session.next("VOICE_STATE_UPDATE")
    assert (moved_state["user_id"], moved_state["channel_id"]) == (str(bob.id), str(afk_channel_id))
    assert (await session.next("VOICE_SERVER_UPDATE"))["guild_id"] == str(guild.id)


async def test_members_are_not_moved_while_listening_after_leaving_or_without_an_afk_channel(
    world: World, guild: Guild, bob: Actor
) -> None:
    lounge_id = guild.channels["Lounge"]
    session = await bob.connect()
    await session.join_voice(guild, lounge_id, self_deaf=True)
    world.clock.advance(300_000)
    await session.assert_not_received("VOICE_STATE_UPDATE")

    afk_channel_id = await guild.channel("away", type=ChannelType.GUILD_VOICE)
    body = {"afk_channel_id": str(afk_channel_id), "afk_timeout": 60}
    (await guild.owner.patch(f"/guilds/{guild.id}", json=body)).ok()
    await session.join_voice(guild, lounge_id, self_mute=True)
    world.clock.advance(60_000)
    await session.assert_not_received("VOICE_STATE_UPDATE")
    await session.join_voice(guild, lounge_id, self_deaf=True)
    await session.send_voice_state(guild, None)
    await session.next("VOICE_STATE_UPDATE")
    world.clock.advance(60_000)
    await session.assert_not_received("VOICE_STATE_UPDATE")


async def test_a_user_has_one_voice_state_and_a_bot_one_per_guild(world: World, guild: Guild, bob: Actor) -> None:
    other_guild = await world.guild(guild.owner, bob)
    lounge_id, other_lounge_id = (
        guild.channels["Lounge"],
        await other_guild.channel("Parlour", type=ChannelType.GUILD_VOICE),
    )
    bot = await world.bot(guild)
    await world.write(lambda call: members.membership.add(call, other_guild.id, bot.id), actor=guild.owner.id)
    session, bot_session = await bob.connect(), await bot.connect()
    for voice_session in (session, bot_session):
        await voice_session.join_voice(guild, lounge_id)
        await voice_session.join_voice(other_guild, other_lounge_id)
    (await bob.get(f"/guilds/{guild.id}/voice-states/@me")).rejected(404, 10065)
    (await bob.get(f"/guilds/{other_guild.id}/voice-states/@me")).ok()
    for voice_guild in (guild, other_guild):
        (await bot.get(f"/guilds/{voice_guild.id}/voice-states/@me")).ok()
