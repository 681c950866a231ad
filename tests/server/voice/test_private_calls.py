"""Calls in direct messages and group DMs: events, ringing, the call message, and real voice sockets and UDP."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import msgspec
import pytest

from hubbub.protocol.enums import ChannelType, CloseCode, GatewayOpcode, MessageType, RelationshipType, VoiceCloseCode
from hubbub.protocol.ids import UserId
from hubbub.protocol.intents import Capabilities
from hubbub.protocol.resources.private_calls import RING_TIMEOUT_SECONDS
from hubbub.server.core.config import Config
from hubbub.server.identity import accounts
from hubbub.server.places.voice_states import voice_server
from hubbub.server.talk import private_calls
from tests.game import SDK_INTENTS, create_game
from tests.server.voice.caller import (
    abort_connection,
    assert_identify_rejected,
    fake_encrypted_frame,
    wait_connection_lost,
)
from tests.server.voice.conftest import ENDPOINT
from tests.server.voice.encrypted_caller import EncryptedCaller
from tests.server.voice.private_caller import PrivateCaller, open_direct_channel
from tests.world import Actor, Guild, World, befriend

MakeCaller = Callable[..., Coroutine[Any, Any, PrivateCaller]]
FriendPair = tuple[PrivateCaller, PrivateCaller, int]
"""Two friends, and the ID of their direct message channel."""
GroupMembers = tuple[list[PrivateCaller], int]
"""The members of a group DM, and its ID."""
CALL_EVENTS = ("CALL_CREATE", "CALL_UPDATE", "CALL_DELETE", "VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")


@pytest.fixture
async def make_caller(world: World) -> AsyncIterator[MakeCaller]:
    """A function that creates a caller with its own session, for a user of the test or a new one."""
    callers: list[PrivateCaller] = []

    async def create(user: Actor | None = None) -> PrivateCaller:
        caller = PrivateCaller(world, await (user or await world.user()).connect())
        callers.append(caller)
        return caller

    yield create
    for caller in callers:
        await caller.close()


@pytest.fixture
async def friends(make_caller: MakeCaller) -> FriendPair:
    """Two friends and their direct message channel."""
    alice, bob = await make_caller(), await make_caller()
    await befriend(alice.actor, bob.actor)
    return alice, bob, await open_direct_channel(alice.actor, bob.actor)


@pytest.fixture
async def group(world: World, make_caller: MakeCaller) -> GroupMembers:
    """Three users and their group DM."""
    callers = [await make_caller() for _ in range(3)]
    await world.guild(*(caller.actor for caller in callers))
    other_ids = [str(caller.actor.id) for caller in callers[1:]]
    channel = (await callers[0].actor.post("/users/@me/channels", json={"recipients": other_ids})).ok()
    return callers, int(channel["id"])


async def wait_left_event(listener: PrivateCaller, caller: PrivateCaller) -> Any:
    """Wait until `listener` receives the VOICE_STATE_UPDATE with which `caller` leaves the call; return it."""
    user_id = str(caller.actor.id)
    return await listener.session.next(
        "VOICE_STATE_UPDATE", lambda state: (state["user_id"], state["channel_id"]) == (user_id, None)
    )


async def test_two_friends_call_each_other(friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    assert (await bob.actor.get(f"/channels/{channel_id}/call")).ok() == {"ringable": True}

    await alice.update_voice_state(channel_id)
    message = await bob.session.next("MESSAGE_CREATE")
    assert (message["type"], message["call"]) == (MessageType.CALL, {"participants": [str(alice.actor.id)]})
    call_create = await bob.session.next("CALL_CREATE")
    assert call_create == {
        "channel_id": str(channel_id),
        "message_id": message["id"],
        "region": "local",
        "ringing": [],
        "voice_states": [],
    }
    state = await bob.session.next("VOICE_STATE_UPDATE")
    assert (state["guild_id"], state["channel_id"], state["user_id"]) == (None, str(channel_id), str(alice.actor.id))
    assert "member" not in state
    await alice.receive_ticket()
    assert alice.voice_state == state
    assert alice.voice_server == {
        "guild_id": None,
        "channel_id": str(channel_id),
        "endpoint": ENDPOINT,
        "token": alice.voice_server["token"],
    }

    (await alice.actor.post(f"/channels/{channel_id}/call/ring", json={"recipients": None})).ok()
    ring_update = await bob.session.next("CALL_UPDATE")
    assert ring_update == {
        "channel_id": str(channel_id),
        "message_id": message["id"],
        "region": "local",
        "ringing": [str(bob.actor.id)],
    }
    await alice.connect_with_ticket()
    await bob.join_and_connect(channel_id)
    # Joining stops the ringing and adds the user to the participants.
    assert (await alice.session.next("CALL_UPDATE"))["ringing"] == [str(bob.actor.id)]
    message_update = await alice.session.next("MESSAGE_UPDATE")
    assert message_update["call"] == {"participants": [str(alice.actor.id), str(bob.actor.id)]}
    assert message_update["edited_timestamp"] is None
    assert (await alice.session.next("CALL_UPDATE"))["ringing"] == []
    bob.send_frame(fake_encrypted_frame("hello"))
    assert await alice.receive_media() == (bob.ready["ssrc"], fake_encrypted_frame("hello"))

    await alice.update_voice_state(None)
    await wait_left_event(bob, alice)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await bob.session.assert_not_received("CALL_DELETE")
    await bob.update_voice_state(None)
    await wait_left_event(alice, bob)
    assert await alice.session.next("CALL_DELETE") == {"channel_id": str(channel_id)}
    ended_message = await alice.session.next("MESSAGE_UPDATE")
    assert ended_message["call"]["participants"] == [str(alice.actor.id), str(bob.actor.id)]
    assert ended_message["call"]["ended_timestamp"].startswith("2026-11-18T")
    (stored_message,) = (await bob.actor.get(f"/channels/{channel_id}/messages")).ok()
    assert stored_message["call"] == ended_message["call"]
    # The next call has its own message.
    await bob.update_voice_state(channel_id)
    assert (await alice.session.next("CALL_CREATE"))["message_id"] != message["id"]


async def test_the_call_is_end_to_end_encrypted(friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    members = [EncryptedCaller(caller, channel_id) for caller in (alice, bob)]
    for member in members:
        await member.join_and_connect()
    for receiver, sender in (members, members[::-1]):
        await receiver.wait_group_members(*members)
        await receiver.assert_decrypts(sender, b"secret")
    for member in members:
        await member.stop()


async def test_a_call_reopens_a_closed_channel(friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    await alice.update_voice_state(channel_id)
    assert (await bob.session.next("CHANNEL_CREATE"))["id"] == str(channel_id)
    await bob.session.next("CALL_CREATE")


async def test_members_of_a_group_call_and_ring_each_other(group: GroupMembers) -> None:
    (alice, bob, carol), channel_id = group
    for caller in (alice, bob):
        await caller.join_and_connect(channel_id)
    ring_path = f"/channels/{channel_id}/call/ring"
    (await alice.actor.post(ring_path)).ok()
    assert (await carol.session.next("CALL_UPDATE"))["ringing"] == [str(carol.actor.id)]
    # Ringing again only extends the time, without an event.
    (await alice.actor.post(ring_path, json={"recipients": [str(carol.actor.id), str(bob.actor.id)]})).ok()
    await carol.session.assert_not_received("CALL_UPDATE")
    (await carol.actor.post(f"/channels/{channel_id}/call/stop-ringing")).ok()
    assert (await alice.session.next("CALL_UPDATE", lambda update: not update["ringing"]))["ringing"] == []
    # Declining a call that does not ring succeeds.
    (await carol.actor.post(f"/channels/{channel_id}/call/stop-ringing", json={})).ok()
    (await alice.actor.post(ring_path, json={"recipients": [str(carol.actor.id)]})).ok()
    (await bob.actor.post(f"/channels/{channel_id}/call/stop-ringing", json={"recipients": [str(carol.actor.id)]})).ok()
    ringing_lists = [(await carol.session.next("CALL_UPDATE"))["ringing"] for _ in range(3)]
    assert ringing_lists == [[], [str(carol.actor.id)], []]
    alice.send_frame(fake_encrypted_frame("hello"))
    assert await bob.receive_media() == (alice.ready["ssrc"], fake_encrypted_frame("hello"))


async def test_joining_a_group_sends_its_call_and_leaving_it_ends_the_call(world: World, group: GroupMembers) -> None:
    (alice, bob, carol), channel_id = group
    await alice.join_and_connect(channel_id)
    await bob.join(channel_id)
    dave = await world.user()
    await world.guild(alice.actor, dave)
    session = await dave.connect()
    (await alice.actor.put(f"/channels/{channel_id}/recipients/{dave.id}")).ok()
    call_create = await session.next("CALL_CREATE")
    assert [state["user_id"] for state in call_create["voice_states"]] == [str(alice.actor.id), str(bob.actor.id)]
    (await alice.actor.delete(f"/channels/{channel_id}/recipients/{alice.actor.id}")).ok()
    for listener in (alice, carol):
        await wait_left_event(listener, alice)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await alice.session.next("CHANNEL_DELETE")
    (await bob.actor.delete(f"/channels/{channel_id}")).ok()
    await carol.session.next("CALL_DELETE")


async def test_call_connect_requests_the_state_of_a_call(
    world: World, friends: FriendPair, make_caller: MakeCaller
) -> None:
    alice, bob, channel_id = friends
    await bob.session.send(GatewayOpcode.CALL_CONNECT, {"channel_id": str(channel_id)})
    await bob.session.wait_processed()
    await bob.session.assert_not_received("CALL_CREATE")
    await alice.join(channel_id)
    second_session, stranger = await make_caller(bob.actor), await make_caller()
    for caller in (second_session, stranger):
        await caller.session.send(GatewayOpcode.CALL_CONNECT, {"channel_id": str(channel_id)})
        await caller.session.wait_processed()
    call_create = await second_session.session.next("CALL_CREATE")
    assert call_create["voice_states"] == [alice.voice_state]
    await stranger.session.assert_not_received("CALL_CREATE")
    # A session with the capability receives the call without a request.
    session = await bob.actor.connect(capabilities=Capabilities.AUTO_CALL_CONNECT)
    await session.wait_delivered()
    assert [frame["d"] for frame in session.dispatches if frame["t"] == "CALL_CREATE"] == [call_create]
    assert "calls" not in session.ready
    await second_session.session.send(GatewayOpcode.CALL_CONNECT, None)
    assert await second_session.session.wait_closed() == CloseCode.DECODE_ERROR


async def test_an_unanswered_ring_times_out(world: World, friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    await alice.join(channel_id)
    (await alice.actor.post(f"/channels/{channel_id}/call/ring")).ok()
    await bob.session.next("CALL_UPDATE")
    await world.clock.run_for(RING_TIMEOUT_SECONDS * 1000 - 1)
    await bob.session.assert_not_received("CALL_UPDATE")
    await world.clock.run_for(1)
    assert (await bob.session.next("CALL_UPDATE"))["ringing"] == []
    # The call itself continues until the caller leaves.
    (await alice.actor.post(f"/channels/{channel_id}/call/ring")).ok()
    await bob.session.next("CALL_UPDATE")
    await alice.update_voice_state(None)
    await bob.session.next("CALL_DELETE")
    await world.clock.run_for(RING_TIMEOUT_SECONDS * 1000)
    await bob.session.assert_not_received("CALL_UPDATE")


async def test_a_user_is_in_one_voice_channel_at_a_time(world: World, guild: Guild, friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    other_guild = await world.guild(alice.actor)
    lounge_id = await other_guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    await alice.session.send(
        GatewayOpcode.VOICE_STATE_UPDATE, {"guild_id": str(other_guild.id), "channel_id": str(lounge_id)}
    )
    joined_state = await alice.session.next("VOICE_STATE_UPDATE")
    assert joined_state["channel_id"] == str(lounge_id)
    await alice.update_voice_state(channel_id)
    left_state = await alice.session.next("VOICE_STATE_UPDATE")
    assert (left_state["guild_id"], left_state["channel_id"]) == (str(other_guild.id), None)
    await bob.session.next("CALL_CREATE")
    await alice.session.send(
        GatewayOpcode.VOICE_STATE_UPDATE, {"guild_id": str(other_guild.id), "channel_id": str(lounge_id)}
    )
    await wait_left_event(bob, alice)
    await bob.session.next("CALL_DELETE")
    # A voice state without guild and channel leaves any call.
    await alice.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] == str(lounge_id))
    await alice.update_voice_state(None)
    left_state = await alice.session.next("VOICE_STATE_UPDATE")
    assert (left_state["guild_id"], left_state["channel_id"]) == (str(other_guild.id), None)
    # Joining another private call leaves the first one.
    carol = await world.user()
    await befriend(alice.actor, carol)
    await alice.join(channel_id)
    await alice.join(await open_direct_channel(alice.actor, carol))
    await wait_left_event(bob, alice)
    await bob.session.next("CALL_DELETE")


@pytest.mark.parametrize("case", ["not a friend", "blocked", "not a recipient", "guild channel", "unknown", "bot"])
async def test_calls_that_are_not_allowed_are_ignored(
    world: World, guild: Guild, make_caller: MakeCaller, case: str
) -> None:
    alice, bob = await make_caller(), await make_caller()
    channel_id = await open_direct_channel(alice.actor, bob.actor)
    if case == "blocked":
        await befriend(alice.actor, bob.actor)
        (
            await bob.actor.put(f"/users/@me/relationships/{alice.actor.id}", json={"type": RelationshipType.BLOCKED})
        ).ok()
    elif case == "not a recipient":
        carol = await world.user()
        await befriend(carol, bob.actor)
        channel_id = await open_direct_channel(carol, bob.actor)
    elif case == "guild channel":
        channel_id = guild.channels["Lounge"]
    elif case == "unknown":
        channel_id = 4711
    elif case == "bot":
        channel_id = await open_direct_channel(alice.actor, await world.bot(await world.guild(alice.actor)))
    await alice.update_voice_state(channel_id)
    await alice.session.wait_processed()
    for caller in (alice, bob):
        await caller.session.assert_not_received(*CALL_EVENTS, "MESSAGE_CREATE")
    response = await alice.actor.get(f"/channels/{channel_id}/call")
    if case == "unknown":
        response.rejected(404, 10003)
    elif case in ("not a recipient", "guild channel"):
        response.rejected(403, 50001)
    else:
        assert response.ok() == {"ringable": False}


async def test_bots_and_oauth2_sessions_cannot_call(world: World, friends: FriendPair) -> None:
    alice, _, channel_id = friends
    bot = await world.bot(await world.guild(alice.actor))
    session = await bot.connect()
    bot_channel_id = await open_direct_channel(bot, alice.actor)
    await session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": None, "channel_id": str(bot_channel_id), "self_mute": False, "self_deaf": False},
    )
    await session.wait_processed()
    for path, method in (("", "GET"), ("/ring", "POST"), ("/stop-ringing", "POST")):
        (await bot.request(method, f"/channels/{bot_channel_id}/call{path}")).rejected(403, 20001)
    game = await create_game(world)
    player = await world.bearer(alice.actor, game.id, "sdk.social_layer voice")
    game_session = await player.connect(SDK_INTENTS)
    await game_session.send(
        GatewayOpcode.VOICE_STATE_UPDATE,
        {"guild_id": None, "channel_id": str(channel_id), "self_mute": False, "self_deaf": False},
    )
    await game_session.wait_processed()
    await alice.session.assert_not_received(*CALL_EVENTS)
    # An OAuth2 session that may read private channels receives the events of a call that the user joined with another client.
    await alice.join(channel_id)
    assert (await game_session.next("CALL_CREATE"))["channel_id"] == str(channel_id)
    await game_session.next("VOICE_STATE_UPDATE")
    await game_session.assert_not_received("VOICE_SERVER_UPDATE")
    await game_session.send(GatewayOpcode.CALL_CONNECT, {"channel_id": str(channel_id)})
    await game_session.next("CALL_CREATE")
    await session.send(GatewayOpcode.CALL_CONNECT, {"channel_id": str(bot_channel_id)})
    assert await session.wait_closed() == CloseCode.UNKNOWN_OPCODE


async def test_invalid_rings_are_rejected(world: World, guild: Guild, friends: FriendPair, group: GroupMembers) -> None:
    alice, bob, channel_id = friends
    ring_path, stop_path = f"/channels/{channel_id}/call/ring", f"/channels/{channel_id}/call/stop-ringing"
    # 10065: first there is no call, then the user who rings is not in the call.
    (await alice.actor.post(ring_path)).rejected(404, 10065)
    await alice.join(channel_id)
    (await bob.actor.post(ring_path)).rejected(404, 10065)
    (await bob.actor.post(stop_path, json={"recipients": [str(alice.actor.id)]})).rejected(404, 10065)
    for recipients in ([str(alice.actor.id)], ["4711"]):
        (await alice.actor.post(ring_path, json={"recipients": recipients})).rejected(400, 50033)
    for path in (ring_path, stop_path):
        assert (await alice.actor.post(path, json={"recipients": ["x"]})).errors("recipients.0") == [
            "NUMBER_TYPE_COERCE"
        ]
        assert (await alice.actor.post(path, json={"recipients": "all"})).errors("recipients")
        assert (await alice.actor.post(path, json={"recipients": [str(user_id) for user_id in range(1, 12)]})).errors(
            "recipients"
        )
        (await (await world.user()).post(path)).rejected(403, 50001)
        (await alice.actor.post(path.replace(str(channel_id), "4711"))).rejected(404, 10003)
        (await guild.owner.post(path.replace(str(channel_id), str(guild.channels["Lounge"])))).rejected(400, 50024)
    (await guild.owner.get(f"/channels/{guild.channels['Lounge']}/call")).rejected(400, 50024)
    # The users end their friendship during the call.
    (await bob.actor.delete(f"/users/@me/relationships/{alice.actor.id}")).ok()
    (await alice.actor.post(ring_path)).rejected(403, 50007)

    # In a group DM a blocked user is silently not rung, so that the block stays hidden.
    (one, two, _), group_id = group
    (await two.actor.put(f"/users/@me/relationships/{one.actor.id}", json={"type": RelationshipType.BLOCKED})).ok()
    await one.join(group_id)
    (await one.actor.post(f"/channels/{group_id}/call/ring", json={"recipients": [str(two.actor.id)]})).ok()
    await one.session.assert_not_received("CALL_UPDATE")


async def test_blocking_ends_the_call_of_two_users(friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    for caller in (alice, bob):
        await caller.join_and_connect(channel_id)
    (await bob.actor.put(f"/users/@me/relationships/{alice.actor.id}", json={"type": RelationshipType.BLOCKED})).ok()
    for caller in (alice, bob):
        await caller.session.next("CALL_DELETE")
        assert await caller.wait_close_code() == VoiceCloseCode.CALL_TERMINATED


async def test_another_session_of_the_user_takes_over(friends: FriendPair, make_caller: MakeCaller) -> None:
    alice, bob, channel_id = friends
    await alice.join_and_connect(channel_id)
    second_caller = await make_caller(alice.actor)
    await second_caller.join_and_connect(channel_id)
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await alice.session.assert_not_received("VOICE_SERVER_UPDATE")
    await bob.session.next("CALL_CREATE")
    await bob.session.assert_not_received("CALL_CREATE", "CALL_DELETE", "MESSAGE_CREATE")


@pytest.mark.parametrize("reason", ["closes", "ends the session", "loses the connection", "is banned"])
async def test_a_user_who_disconnects_leaves_the_call(world: World, friends: FriendPair, reason: str) -> None:
    alice, bob, channel_id = friends
    await alice.join_and_connect(channel_id)
    if reason == "closes":
        await alice.socket.close(code=1000)
    elif reason == "ends the session":
        await alice.session.close()
    elif reason == "is banned":
        await world.write(lambda call: accounts.ban(call, UserId(alice.actor.id)))
    else:
        abort_connection(alice)
        await wait_connection_lost(world, alice)
        await world.clock.run_for(10_000)
    await wait_left_event(bob, alice)
    await bob.session.next("CALL_DELETE")
    if reason in ("ends the session", "is banned"):
        assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED


async def test_callers_of_a_lost_server_are_moved_to_another(world: World, friends: FriendPair) -> None:
    alice, _, channel_id = friends
    await alice.join_and_connect(channel_id)
    await world.write(lambda call: voice_server.remove_server(call, ENDPOINT))
    server = await alice.session.next("VOICE_SERVER_UPDATE")
    assert (server["guild_id"], server["channel_id"]) == (None, str(channel_id))
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED


async def test_a_restart_ends_running_calls(world: World, friends: FriendPair) -> None:
    alice, bob, channel_id = friends
    await alice.join(channel_id)
    await world.write(private_calls.reset)
    (message,) = (await bob.actor.get(f"/channels/{channel_id}/messages")).ok()
    assert message["call"]["ended_timestamp"]


class TestRepeatedFailures:
    """Joins of a private call are delayed after repeated failures."""

    @pytest.fixture
    def world_config(self, world_config: Config) -> Config:
        return msgspec.structs.replace(world_config, rate_limits="real")

    async def test_joins_are_delayed(self, world: World, friends: FriendPair) -> None:
        alice, bob, channel_id = friends
        for _ in range(2):
            await alice.join(channel_id)
            await assert_identify_rejected(alice, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
            await wait_left_event(alice, alice)
            await bob.session.next("CALL_DELETE")
        await alice.update_voice_state(channel_id)
        await alice.session.wait_processed()
        await alice.session.assert_not_received("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
        await world.clock.run_for(1_000)
        await alice.receive_ticket()
        assert (await bob.session.next("CALL_CREATE"))["channel_id"] == str(channel_id)
        await assert_identify_rejected(alice, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
        await bob.session.next("CALL_DELETE")
        # A delayed join is canceled by leaving.
        await alice.update_voice_state(channel_id)
        await alice.update_voice_state(None)
        await alice.session.wait_processed()
        await world.clock.run_for(8_000)
        await bob.session.assert_not_received("CALL_CREATE")
