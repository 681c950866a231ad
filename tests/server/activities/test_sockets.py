"""WebSockets through the activity proxy."""

import asyncio

import aiohttp
import pytest

from tests.server.activities.conftest import run_server, with_activities
from tests.server.activities.upstream import ProxiedActivity, Upstream, create_proxied_activity
from tests.world import WAIT_TIMEOUT_SECONDS, small_config


async def test_messages_are_forwarded_in_both_directions(activity: ProxiedActivity) -> None:
    async with activity.connect(
        "/game/socket?room=1", protocols=("go", "bridge"), headers={"Origin": "http://x"}
    ) as socket:
        assert socket.protocol == "go"
        await socket.send_str("héllo")
        await socket.send_bytes(b"\x00\x01")
        await socket.send_bytes(b"x" * 1_000_000)
        assert (await socket.receive(WAIT_TIMEOUT_SECONDS)).data == "héllo"
        assert (await socket.receive(WAIT_TIMEOUT_SECONDS)).data == b"\x00\x01"
        assert len((await socket.receive(WAIT_TIMEOUT_SECONDS)).data) == 1_000_000

    (request,) = activity.upstream.requests
    assert request.raw_path == "/game/socket?room=1"
    assert request.headers["Host"] == activity.upstream.target
    assert request.headers["Origin"] == "http://x"


async def test_a_target_may_accept_no_subprotocol(activity: ProxiedActivity, caplog: pytest.LogCaptureFixture) -> None:
    async with activity.connect("/socket", protocols=("bridge",)) as socket:
        assert socket.protocol is None
        await socket.send_str("hello")
        assert (await socket.receive(WAIT_TIMEOUT_SECONDS)).data == "hello"
    # Only the target logs a warning, not the proxy.
    assert len([record for record in caplog.records if record.name == "aiohttp.websocket"]) == 1


async def test_a_close_frame_is_forwarded(activity: ProxiedActivity) -> None:
    socket = await activity.connect("/socket")
    await socket.close(code=4100, message=b"enough")
    await activity.upstream.wait_until(lambda: bool(activity.upstream.close_frames))
    assert activity.upstream.close_frames == [(4100, "enough")]

    socket = await activity.connect("/socket")
    await socket.send_str("leave")
    message = await socket.receive(WAIT_TIMEOUT_SECONDS)
    assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE, 4321, "done")


async def test_a_lost_client_closes_the_target_connection(activity: ProxiedActivity) -> None:
    socket = await activity.connect("/socket")
    socket._response.connection.transport.abort()

    await activity.upstream.wait_until(lambda: bool(activity.upstream.close_frames))
    assert activity.upstream.close_frames[0][0] == 1011
    await socket.close()


async def test_a_lost_target_closes_the_client_connection(activity: ProxiedActivity) -> None:
    socket = await activity.connect("/socket")
    await activity.upstream.wait_until(lambda: activity.upstream.socket_count == 1)
    transport = activity.upstream.requests[0].transport
    assert transport is not None
    transport.abort()

    message = await socket.receive(WAIT_TIMEOUT_SECONDS)
    assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1011)


@pytest.mark.parametrize(
    ("target_status", "client_status"), [(401, 403), (403, 403), (404, 404), (200, 502), (500, 502), (302, 502)]
)
async def test_a_failed_target_handshake_fails_the_client_handshake(
    activity: ProxiedActivity, target_status: int, client_status: int
) -> None:
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await activity.connect(f"/socket?reject={target_status}")

    assert caught.value.status == client_status


async def test_an_incomplete_handshake_is_rejected(activity: ProxiedActivity) -> None:
    response = await activity.request("/socket", headers={"Upgrade": "websocket", "Connection": "Upgrade"})

    assert response.status == 400
    assert not activity.upstream.requests


async def test_stopping_the_server_closes_both_sides_with_1001(response_monitor: object, upstream: Upstream) -> None:
    async with run_server(with_activities(small_config())) as world:
        activity = await create_proxied_activity(world, upstream)
        socket = await activity.connect("/socket")
        await socket.send_str("hello")
        assert (await socket.receive(WAIT_TIMEOUT_SECONDS)).data == "hello"
        stopping_task = asyncio.create_task(world.app.stop())
        message = await socket.receive(WAIT_TIMEOUT_SECONDS)
        assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1001)
        await stopping_task
    await upstream.wait_until(lambda: bool(upstream.close_frames))
    assert upstream.close_frames[0][0] == 1001
