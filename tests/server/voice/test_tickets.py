"""Voice tickets: each is valid for one user, session and channel, and the voice socket follows the voice state."""

import asyncio

import msgspec
import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.server.core.call import Call as PlatformCall
from hubbub.server.core.config import Config
from hubbub.server.core.voice import SERVER_TIMEOUT_MS
from hubbub.server.places.voice_states import voice_server
from tests.server.voice.caller import Caller, close_code
from tests.server.voice.conftest import ENDPOINT, MakeCaller
from tests.world import Guild, World


async def require_close_code(caller: Caller, code: int, **identify: object) -> None:
    """Identify and assert that the server closes the connection with this code."""
    await caller.open()
    await caller.send_json(0, caller.identify_payload(**identify))
    assert await caller.closed() == code


async def test_each_join_has_its_own_ticket(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join(guild.channels["Lounge"])
    first = caller.server["token"]
    await caller.update_voice_state(None)
    await caller.session.next("VOICE_STATE_UPDATE")
    await require_close_code(caller, 4004)
    await caller.join(guild.channels["Lounge"])
    assert caller.server["token"] != first
    await require_close_code(caller, 4004, token=first)
    await caller.open()
    await caller.identify()


async def test_a_move_closes_the_old_socket_after_both_events(guild: Guild, call: MakeCaller) -> None:
    caller, other = await call(), await call()
    await other.join_and_connect(guild.channels["Lounge"])
    await caller.join_and_connect(guild.channels["Lounge"])
    old = caller.server["token"]
    await guild.owner.patch(
        f"/guilds/{guild.id}/members/{caller.actor.id}", json={"channel_id": str(guild.channels["Den"])}
    )
    await caller.receive_ticket()
    assert caller.state["channel_id"] == str(guild.channels["Den"])
    assert await caller.closed() == 4014
    assert (await other.next(13))["user_id"] == str(caller.actor.id)
    await require_close_code(caller, 4004, token=old)
    await caller.open()
    await caller.identify()
    await caller.select()
    assert 11 not in caller.ops()


async def test_joining_another_channel_closes_the_old_connection(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.join(guild.channels["Den"])
    assert await caller.closed() == 4014
    await caller.open()
    await caller.identify()


async def test_disconnected_and_removed_members_are_closed_with_4014(guild: Guild, call: MakeCaller) -> None:
    one, two, three = await call(), await call(), await call()
    for caller in (one, two, three):
        await caller.join_and_connect(guild.channels["Lounge"])
    (await guild.owner.patch(f"/guilds/{guild.id}/members/{one.actor.id}", json={"channel_id": None})).ok()
    assert await one.closed() == 4014
    (await guild.owner.delete(f"/guilds/{guild.id}/members/{two.actor.id}")).ok()
    assert await two.closed() == 4014
    await three.update_voice_state(None)
    assert await three.closed() == 4014


@pytest.mark.parametrize("deleted", ["channel", "guild"])
async def test_deleting_the_channel_or_guild_ends_the_call_for_all(
    guild: Guild, call: MakeCaller, deleted: str
) -> None:
    one, two = await call(), await call()
    for caller in (one, two):
        await caller.join_and_connect(guild.channels["Lounge"])
    path = f"/channels/{guild.channels['Lounge']}" if deleted == "channel" else f"/guilds/{guild.id}"
    (await guild.owner.delete(path)).ok()
    for caller in (one, two):
        assert await caller.closed() == 4022


async def test_another_session_of_the_user_takes_over(world: World, guild: Guild, call: MakeCaller) -> None:
    first = await call()
    second = await call(first.actor)
    await first.join_and_connect(guild.channels["Lounge"])
    before = len([frame for frame in first.session.dispatches if frame["t"] == "VOICE_SERVER_UPDATE"])
    await second.session.next("VOICE_STATE_UPDATE")
    await second.join_and_connect(guild.channels["Lounge"])
    assert await first.closed() == 4014
    # Only the new session receives the voice server.
    await first.session.settle()
    assert len([frame for frame in first.session.dispatches if frame["t"] == "VOICE_SERVER_UPDATE"]) == before
    await second.heartbeat()


async def test_the_same_ticket_twice_keeps_the_newer_connection(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    old = caller.socket
    await caller.open()
    await caller.identify()
    assert await close_code(old) == 4014
    await caller.heartbeat()
    state = (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()
    assert state["channel_id"] == str(guild.channels["Lounge"])


async def test_closing_the_voice_connection_leaves_the_channel(guild: Guild, call: MakeCaller) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])
    await caller.socket.close(code=1000)
    left = await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
    assert left["user_id"] == str(caller.actor.id)


async def test_a_lost_connection_leaves_the_channel_after_the_timeout(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    caller, other = await call(), await call()
    await other.join_and_connect(guild.channels["Lounge"])
    await caller.join_and_connect(guild.channels["Lounge"])
    abort_connection(caller)
    await wait_connection_lost(world, caller)
    await world.clock.run_for(9_999)
    assert (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()["channel_id"]
    await other.heartbeat()
    assert 13 not in other.ops()
    await world.clock.run_for(1)
    assert (await other.next(13))["user_id"] == str(caller.actor.id)
    await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)


def abort_connection(caller: Caller) -> None:
    """Abort the voice connection without a close frame."""
    caller.socket._response.connection.transport.abort()


async def wait_connection_lost(world: World, caller: Caller) -> None:
    """Wait until the server has noticed the lost connection."""
    assert world.app.voice is not None
    session = world.app.voice.calls._sessions[caller.server_id, caller.actor.id]
    async with asyncio.timeout(10):
        while session.connection is not None:
            await asyncio.sleep(0)


class TestRepeatedFailures:
    """Repeated failed joins are delayed."""

    @pytest.fixture
    def voice_config(self, voice_config: Config) -> Config:
        return msgspec.structs.replace(voice_config, rate_limits="real")

    async def test_joins_are_delayed(self, world: World, guild: Guild, call: MakeCaller) -> None:
        caller = await call()
        lounge = guild.channels["Lounge"]
        for _ in range(2):
            await caller.join(lounge)
            await require_close_code(caller, 4017, max_dave_protocol_version=0)
            left = await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
            assert left["user_id"] == str(caller.actor.id)
        for wait_ms in (1_000, 2_000, 4_000, 8_000, 8_000):
            await caller.update_voice_state(lounge)
            await caller.session.wait_processed()
            await caller.session.none_of("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
            await world.clock.run_for(wait_ms - 1)
            await caller.session.none_of("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
            await world.clock.run_for(1)
            await caller.receive_ticket()
            await require_close_code(caller, 4017, max_dave_protocol_version=0)
            await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
        # A delayed join is canceled by leaving.
        await caller.update_voice_state(lounge)
        await caller.update_voice_state(None)
        await caller.session.wait_processed()
        await world.clock.run_for(8_000)
        await caller.session.none_of("VOICE_STATE_UPDATE", "VOICE_SERVER_UPDATE")
        # A successful connection resets the delay.
        await caller.join_and_connect(lounge)
        await caller.heartbeat()
        await caller.update_voice_state(None)
        assert await caller.closed() == 4014
        await caller.session.next("VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
        await caller.join(lounge)

    async def test_failures_with_a_wrong_token_do_not_delay_joins(self, guild: Guild, call: MakeCaller) -> None:
        caller = await call()
        await caller.join(guild.channels["Lounge"])
        for _ in range(4):
            await require_close_code(caller, 4004, token="0" * 32)
        assert (await caller.actor.get(f"/guilds/{guild.id}/voice-states/@me")).ok()["channel_id"]


async def test_joining_a_full_channel_is_ignored(guild: Guild, call: MakeCaller) -> None:
    lounge = guild.channels["Lounge"]
    (await guild.owner.patch(f"/channels/{lounge}", json={"user_limit": 1})).ok()
    first, second = await call(), await call()
    await first.join_and_connect(lounge)
    await second.update_voice_state(lounge)
    await second.session.wait_processed()
    await second.session.none_of("VOICE_SERVER_UPDATE")
    await guild.allow_permissions(second.actor, Permissions.MOVE_MEMBERS)
    await second.join_and_connect(lounge)


async def test_calls_of_an_unresponsive_server_are_moved_to_another(
    world: World, guild: Guild, call: MakeCaller
) -> None:
    caller = await call()
    await caller.join_and_connect(guild.channels["Lounge"])

    async def serve(endpoint: str) -> None:
        def beat(call: PlatformCall) -> None:
            call.config = msgspec.structs.replace(call.config, nats_url="nats://elsewhere")
            voice_server.record_heartbeat(call, endpoint)

        await world.write(beat)

    await serve(ENDPOINT)
    await serve("other.test:443")
    world.clock.advance(SERVER_TIMEOUT_MS - 1)
    await serve("other.test:443")
    await caller.heartbeat()
    world.clock.advance(1)
    await serve("other.test:443")
    caller.server = await caller.session.next("VOICE_SERVER_UPDATE")
    assert caller.server["endpoint"] == "other.test:443"
    assert await caller.closed() == 4014
    # The ticket of the other server is not valid here.
    await require_close_code(caller, 4011)
