"""WebSockets through the proxy of activities."""

import asyncio

import aiohttp
import pytest

from tests.server.activities.conftest import running, with_activities
from tests.server.activities.upstream import Stage, Upstream
from tests.server.activities.upstream import stage as make_stage
from tests.world import PATIENCE, small_config


async def test_messages_go_both_ways(stage: Stage) -> None:
    async with stage.connect(
        "/game/socket?room=1", protocols=("go", "bridge"), headers={"Origin": "http://x"}
    ) as socket:
        assert socket.protocol == "go"
        await socket.send_str("héllo")
        await socket.send_bytes(b"\x00\x01")
        await socket.send_bytes(b"x" * 1_000_000)
        assert (await socket.receive(PATIENCE)).data == "héllo"
        assert (await socket.receive(PATIENCE)).data == b"\x00\x01"
        assert len((await socket.receive(PATIENCE)).data) == 1_000_000

    (asked,) = stage.upstream.seen
    assert asked.raw_path == "/game/socket?room=1"
    assert asked.headers["Host"] == stage.upstream.target
    assert asked.headers["Origin"] == "http://x"


async def test_a_target_may_take_none_of_the_protocols(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    async with stage.connect("/socket", protocols=("bridge",)) as socket:
        assert socket.protocol is None
        await socket.send_str("hello")
        assert (await socket.receive(PATIENCE)).data == "hello"
    # The target's own complaint, and none of ours.
    assert len([record for record in caplog.records if record.name == "aiohttp.websocket"]) == 1


async def test_a_goodbye_is_heard_on_the_other_side(stage: Stage) -> None:
    socket = await stage.connect("/socket")
    await socket.close(code=4100, message=b"enough")
    await stage.upstream.until(lambda: bool(stage.upstream.closed_with))
    assert stage.upstream.closed_with == [(4100, "enough")]

    socket = await stage.connect("/socket")
    await socket.send_str("leave")
    message = await socket.receive(PATIENCE)
    assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE, 4321, "done")


async def test_a_client_that_breaks_off_leaves_the_target(stage: Stage) -> None:
    socket = await stage.connect("/socket")
    socket._response.connection.transport.abort()

    await stage.upstream.until(lambda: bool(stage.upstream.closed_with))
    assert stage.upstream.closed_with[0][0] == 1011
    await socket.close()


async def test_a_target_that_breaks_off_leaves_the_client(stage: Stage) -> None:
    socket = await stage.connect("/socket")
    await stage.upstream.until(lambda: stage.upstream.sockets == 1)
    transport = stage.upstream.seen[0].transport
    assert transport is not None
    transport.abort()

    message = await socket.receive(PATIENCE)
    assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1011)


@pytest.mark.parametrize(("status", "told"), [(401, 403), (403, 403), (404, 404), (200, 502), (500, 502), (302, 502)])
async def test_a_target_that_does_not_open_is_answered_for(stage: Stage, status: int, told: int) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await stage.connect(f"/socket?refuse={status}")

    assert caught.value.status == told


async def test_half_a_handshake_is_refused(stage: Stage) -> None:
    answer = await stage.ask("/socket", headers={"Upgrade": "websocket", "Connection": "Upgrade"})

    assert answer.status == 400
    assert not stage.upstream.seen


async def test_who_stops_says_so(watch: object, upstream: Upstream) -> None:
    async with running(with_activities(small_config())) as world:
        stage = await make_stage(world, upstream)
        socket = await stage.connect("/socket")
        await socket.send_str("hello")
        assert (await socket.receive(PATIENCE)).data == "hello"
        stopping = asyncio.create_task(world.app.stop())
        message = await socket.receive(PATIENCE)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1001)
        await stopping
    await upstream.until(lambda: bool(upstream.closed_with))
    assert upstream.closed_with[0][0] == 1001
