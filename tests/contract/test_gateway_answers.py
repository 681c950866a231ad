"""Events that answer one session: what it asked for, what it asked for too soon, and what it missed."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from tests.fixtures.validator import Watch
from tests.world import NOW_MS, World, small_config


@pytest.fixture
async def limited_world(watch: Watch) -> AsyncIterator[World]:
    """A world with the rate limits of the wire."""
    app = App(small_config(rate_limits="real"), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as client:
        world = World(app, client)
        yield world
        await world.close()
    await app.stop()


async def test_soundboard_sounds_are_told_for_each_guild_one_is_in(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    elsewhere = await world.guild()
    session = await (await world.bot(guild)).connect()

    await session.send(
        GatewayOpcode.REQUEST_SOUNDBOARD_SOUNDS, {"guild_ids": [str(guild.id), str(elsewhere.id), str(guild.id)]}
    )

    assert await session.next("SOUNDBOARD_SOUNDS") == {"guild_id": str(guild.id), "soundboard_sounds": []}
    await session.none_of("SOUNDBOARD_SOUNDS")


async def test_all_members_are_told_once_in_30_seconds(limited_world: World) -> None:
    world = limited_world
    alice = await world.user()
    guild = await world.guild(alice)
    session = await (await world.bot(guild)).connect()
    request = {"guild_id": str(guild.id), "query": "", "limit": 0, "nonce": "again"}

    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, request)
    assert len((await session.next("GUILD_MEMBERS_CHUNK"))["members"]) == 2
    await session.send(GatewayOpcode.REQUEST_GUILD_MEMBERS, request)

    refused = await session.next("RATE_LIMITED")
    assert refused["opcode"] == GatewayOpcode.REQUEST_GUILD_MEMBERS
    assert refused["meta"] == {"guild_id": str(guild.id), "nonce": "again"}
    assert 0 < refused["retry_after"] <= 30


async def test_a_session_that_resumes_is_told_what_it_missed(world: World) -> None:
    alice = await world.user()
    guild = await world.guild(alice)
    session = await (await world.bot(guild)).connect()
    await session.settle()
    await session.socket.close(code=4000)
    await guild.say(alice, "while you were away")

    async with world.client.ws_connect(f"{session.ready['resume_gateway_url']}?v=10&encoding=json") as socket:
        await socket.receive_json()
        seen = {"token": session.actor.token, "session_id": session.ready["session_id"], "seq": session.seen[-1]["s"]}
        await socket.send_json({"op": GatewayOpcode.RESUME, "d": seen})
        frames = [await socket.receive_json() for _ in range(2)]

    assert [(frame["t"], frame["s"]) for frame in frames] == [
        ("MESSAGE_CREATE", seen["seq"] + 1),
        ("RESUMED", seen["seq"] + 2),
    ]
    assert frames[0]["d"]["content"] == "while you were away"
    world.heard("RESUMED")
