"""Gateway events sent to one session: responses to commands, rate limits, and replay after a resume."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.fixtures.validator import ResponseMonitor
from tests.world import NOW_MS, World, small_config


@pytest.fixture
async def limited_world(response_monitor: ResponseMonitor) -> AsyncIterator[World]:
    """A world with production rate limits."""
    app = App(small_config(rate_limits="real"), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def test_soundboard_sounds_are_sent_once_for_each_joined_guild(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    other_guild = await world.guild()
    session = await (await world.bot(guild)).connect()

    await session.send(
        GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, {"guild_ids": [str(guild.id), str(other_guild.id), str(guild.id)]}
    )

    assert await session.next("SOUNDBOARD_SOUNDS") == {"guild_id": str(guild.id), "soundboard_sounds": []}
    await session.assert_not_received("SOUNDBOARD_SOUNDS")


async def test_all_members_can_be_requested_once_in_30_seconds(limited_world: World) -> None:
    world = limited_world
    alice = await world.user()
    guild = await world.guild(alice)
    session = await (await world.bot(guild)).connect()
    request = {"guild_id": str(guild.id), "query": "", "limit": 0, "nonce": "again"}

    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, request)
    assert len((await session.next("GUILD_MEMBERS_CHUNK"))["members"]) == 2
    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, request)

    rate_limit = await session.next("RATE_LIMITED")
    assert rate_limit["opcode"] == GatewayOpcode.REQUEST_GUILD_MEMBERS
    assert rate_limit["meta"] == {"guild_id": str(guild.id), "nonce": "again"}
    assert 0 < rate_limit["retry_after"] <= 30


async def test_a_resumed_session_receives_missed_events(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    session = await (await world.bot(guild)).connect()
    await session.wait_delivered()
    await session.socket.close(code=4000)
    await guild.send_message(alice, "while you were away")

    async with world.client.ws_connect(f"{session.ready['resume_gateway_url']}?v=10&encoding=json") as socket:
        await socket.receive_json()
        resume = {
            "token": session.actor.token,
            "session_id": session.ready["session_id"],
            "seq": session.dispatches[-1]["s"],
        }
        await socket.send_json({"op": GatewayOpcode.RESUME, "d": resume})
        frames = [await socket.receive_json() for _ in range(2)]

    assert [(frame["t"], frame["s"]) for frame in frames] == [
        ("MESSAGE_CREATE", resume["seq"] + 1),
        ("RESUMED", resume["seq"] + 2),
    ]
    assert frames[0]["d"]["content"] == "while you were away"
    world.report_event("RESUMED")
