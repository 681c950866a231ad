"""Voice tickets: validity, moves and disconnects, lost connections, delayed joins, and unresponsive servers."""

import msgspec
import pytest

from hubbub.protocol.enums import VoiceCloseCode
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.core.call import Call
from hubbub.server.core.config import Config
from hubbub.server.core.voice import SERVER_TIMEOUT_MS
from hubbub.server.places.voice_states import voice_server
from tests.server.voice.caller import abort_connection, assert_identify_rejected, wait_close_code, wait_connection_lost
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.world import Guild, World


async def test_each_join_has_its_own_ticket(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join(guild.channels["Lounge"])
    first_token = caller.voice_server["token"]
    await caller.update_voice_state(None)
    await caller.session.next("VOICE_STATE_UPDATE")
    await assert_identify_rejected(caller, VoiceCloseCode.AUTHENTICATION_FAILED)
    await caller.join(guild.channels["Lounge"])
    assert caller.voice_server["token"] != first_token
    await assert_identify_rejected(caller, VoiceCloseCode.AUTHENTICATION_FAILED, token=first_token)
    await caller.open_socket()
    await caller.identify()


async def test_a_move_closes_the_old_socket_after_both_events(guild: Guild, make_caller: MakeCaller) -> None:
    caller, other_caller = await make_caller(), await make_caller()
    await other_caller.join_and_connect(guild.channels["Lounge"])
    await caller.join_and_connect(guild.channels["Lounge"])
    old_token = caller.voice_server["token"]
    await guild.owner.patch(
        f"/guilds/{guild.id}/members/{caller.actor.id}", json={"channel_id": str(guild.channels["Den"])}
    )
    await caller.receive_ticket()
    assert caller.voice_state["channel_id"] == str(guild.channels["Den"])
    assert await caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    assert (await other_caller.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(caller.actor.id)
    await assert_identify_rejected(caller, VoiceCloseCode.AUTHENTICATION_FAILED, token=old_token)
    await caller.open_socket()
    await caller.identify()
    await caller.select_protocol()
    assert VoiceOpcode.CLIENTS_CONNECT not in caller.opcodes()


async def test_joining_another_channel_closes_the_old_connection(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.join(guild.channels["Den"])
    assert await caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await caller.open_socket()
    await caller.identify()


async def test_disconnected_and_removed_members_are_closed_with_4014(guild: Guild, make_caller: MakeCaller) -> None:
    first_caller, second_caller, third_caller = await make_caller(), await make_caller(), await make_caller()
    for caller in (first_caller, second_caller, third_caller):
        await caller.join_and_connect(guild.channels["Lounge"])
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{first_caller.actor.id}", json={"channel_id": None})).ok()
    assert await first_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{second_caller.actor.id}")).ok()
    assert await second_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    await third_caller.update_voice_state(None)
    assert await third_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED


@pytest.mark.parametrize("deleted", ["channel", "guild"])
async def test_deleting_the_channel_or_guild_ends_the_call_for_all(
    guild: Guild, make_caller: MakeCaller, deleted: str
) -> None:
    first_caller, second_caller = await make_caller(), await make_caller()
    for caller in (first_caller, second_caller):
        await caller.join_and_connect(guild.channels["Lounge"])
    path = f"/channels/{guild.channels['Lounge']}" if deleted == "channel" else f"/guilds/{guild.id}"
    (await guild.owner.delete(path)).ok()
    for caller in (first_caller, second_caller):
        assert await caller.wait_close_code() == VoiceCloseCode.CALL_TERMINATED


async def test_another_session_of_the_user_takes_over(world: World, guild: Guild, make_caller: MakeCaller) -> None:
    first_caller = await make_caller()
    second_caller = await make_caller(first_caller.actor)
    await first_caller.join_and_connect(guild.channels["Lounge"])
    before = len([frame for frame in first_caller.session.dispatches if frame["t"] == "VOICE_SERVER_UPDATE"])
    await second_caller.session.next("VOICE_STATE_UPDATE")
    await second_caller.join_and_connect(guild.channels["Lounge"])
    assert await first_caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    # Only the new session receives the voice server.
    await first_caller.session.wait_delivered()
    assert len([frame for frame in first_caller.session.dispatches if frame["t"] == "VOICE_SERVER_UPDATE"]) == before
    await second_caller.heartbeat()


async def test_the_same_ticket_twice_keeps_the_newer_connection(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    old_socket = caller.socket
    await caller.open_socket()
    await caller.identify()
    assert await wait_close_code(old_socket) == VoiceCloseCode.DISCONNECTED
    await caller.heartbeat()
    state = (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()
    assert state["channel_id"] == str(guild.channels["Lounge"])


async def test_closing_the_voice_connection_leaves_the_channel(guild: Guild, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.socket.close(code=1000)
    left_state = await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
    assert left_state["user_id"] == str(caller.actor.id)


async def test_a_lost_connection_leaves_the_channel_after_the_timeout(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    caller, other_caller = await make_caller(), await make_caller()
    await other_caller.join_and_connect(guild.channels["Lounge"])
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await world.clock.run_for(9_999)
    assert (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()["channel_id"]
    await other_caller.heartbeat()
    assert VoiceOpcode.CLIENT_DISCONNECT not in other_caller.opcodes()
    await world.clock.run_for(1)
    assert (await other_caller.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(caller.actor.id)
    await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)


class TestRepeatedFailures:
    """Joins of a voice channel are delayed after repeated failures."""

    @pytest.fixture
    def world_config(self, world_config: Config) -> Config:
        return msgspec.structs.replace(world_config, rate_limits="real")

    async def test_joins_are_delayed(self, world: World, guild: Guild, make_caller: MakeCaller) -> None:
        caller = await make_caller()
        lounge_id = guild.channels["Lounge"]
        for _ in range(2):
            await caller.join(lounge_id)
            await assert_identify_rejected(caller, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
            left_state = await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
            assert left_state["user_id"] == str(caller.actor.id)
        for wait_ms in (1_000, 2_000, 4_000, 8_000, 8_000):
            await caller.update_voice_state(lounge_id)
            await caller.session.wait_processed()
            await caller.session.assert_not_received("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
            await world.clock.run_for(wait_ms - 1)
            await caller.session.assert_not_received("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
            await world.clock.run_for(1)
            await caller.receive_ticket()
            await assert_identify_rejected(caller, VoiceCloseCode.E2EE_REQUIRED, max_dave_protocol_version=0)
            await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
        # A delayed join is canceled by leaving.
        await caller.update_voice_state(lounge_id)
        await caller.update_voice_state(None)
        await caller.session.wait_processed()
        await world.clock.run_for(8_000)
        await caller.session.assert_not_received("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
        # A successful connection resets the delay.
        await caller.join_and_connect(lounge_id)
        await caller.heartbeat()
        await caller.update_voice_state(None)
        assert await caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
        await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
        await caller.join(lounge_id)

    async def test_failures_with_a_wrong_token_do_not_delay_joins(self, guild: Guild, make_caller: MakeCaller) -> None:
        caller = await make_caller()
        await caller.join(guild.channels["Lounge"])
        for _ in range(4):
            await assert_identify_rejected(caller, VoiceCloseCode.AUTHENTICATION_FAILED, token="0" * 32)
        assert (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()["channel_id"]


async def test_joining_a_full_channel_is_ignored(guild: Guild, make_caller: MakeCaller) -> None:
    lounge_id = guild.channels["Lounge"]
    (await guild.owner.patch(f"/channels/{lounge_id}", json={"user_limit": 1})).ok()
    first_caller, second_caller = await make_caller(), await make_caller()
    await first_caller.join_and_connect(lounge_id)
    await second_caller.update_voice_state(lounge_id)
    await second_caller.session.wait_processed()
    await second_caller.session.assert_not_received("VOICE_SERVER_UPDATE")
    await guild.allow_permissions(second_caller.actor, Permissions.MOVE_MEMBERS)
    await second_caller.join_and_connect(lounge_id)


async def test_calls_of_an_unresponsive_server_are_moved_to_another(
    world: World, guild: Guild, make_caller: MakeCaller
) -> None:
    caller = await make_caller()
    await caller.join_and_connect(guild.channels["Lounge"])

    async def announce_server(endpoint: str) -> None:
        def record(call: Call) -> None:
            call.config = msgspec.structs.replace(call.config, nats_url="nats://elsewhere")
            voice_server.record_heartbeat(call, endpoint)

        await world.write(record)

    await announce_server(ENDPOINT)
    await announce_server("other.test:443")
    world.clock.advance(SERVER_TIMEOUT_MS - 1)
    await announce_server("other.test:443")
    await caller.heartbeat()
    world.clock.advance(1)
    await announce_server("other.test:443")
    caller.voice_server = await caller.session.next("VOICE_SERVER_UPDATE")
    assert caller.voice_server["endpoint"] == "other.test:443"
    assert await caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
    # The ticket of the other server is not valid on this server.
    await assert_identify_rejected(caller, VoiceCloseCode.SERVER_NOT_FOUND)
