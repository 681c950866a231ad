"""SIGTERM: clients are asked to reconnect, requests finish, and the process ends in time."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from tests.journeys.processes import (
    TIMEOUT_SECONDS,
    ApiUser,
    GatewaySession,
    Server,
    demo_users,
    read_metric,
    running_server,
)

pytestmark = pytest.mark.xdist_group("drain")

DRAIN_SECONDS = 8
"""Drain time in seconds, long enough for the steps of these tests on a busy machine."""


async def send_half_request(
    user: ApiUser, server: Server, content: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """Send the head and the first bytes of the body of a request; return the connection and the rest of the body."""
    channel_id = server.general_channel_id
    body = json.dumps({"content": content}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = (
        f"POST /api/v10/channels/{channel_id}/messages HTTP/1.1\r\nHost: localhost\r\nAuthorization: {user.token}\r\n"
    )
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body[:5])
    await writer.drain()
    return reader, writer, body[5:]


async def test_a_terminated_server_drains(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    flags = ("--data", str(tmp_path / "data"), "--gateway-drain-ms", str(DRAIN_SECONDS * 1000))
    async with running_server(tmp_path, "dev", *flags) as server:
        users_by_name = demo_users(client, server)
        staying_session = await GatewaySession(users_by_name["alice"], server.gateway).open()
        leaving_session = await GatewaySession(users_by_name["bob"], server.gateway, compress="zlib-stream").open()
        reader, writer, second_half = await send_half_request(users_by_name["carol"], server, "in flight")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await read_metric(users_by_name["carol"], "http_requests_active") == 0:
                await asyncio.sleep(0.01)
        drain_ends_at = asyncio.get_running_loop().time() + DRAIN_SECONDS
        server.terminate()
        for session in (staying_session, leaving_session):
            await session.wait_opcode(GatewayOpcode.RECONNECT)
        # The readiness check fails, and new connections are asked to reconnect immediately.
        async with client.get(f"{server.url}/readyz") as response:
            assert (response.status, await response.text()) == (503, "not ready: draining\n")
        async with client.ws_connect(f"{server.gateway}?v=10&encoding=json") as late_socket:
            assert (await late_socket.receive_json())["op"] == GatewayOpcode.RECONNECT
            assert (await late_socket.receive()).type is aiohttp.WSMsgType.CLOSE
            assert late_socket.close_code == CloseCode.UNKNOWN_ERROR
        # A client may close its session; the server closes the other with a code after which every library resumes.
        assert leaving_session.socket is not None
        await leaving_session.socket.close(code=4900)
        assert await staying_session.wait_closed() == CloseCode.UNKNOWN_ERROR
        assert asyncio.get_running_loop().time() >= drain_ends_at
        # New connections are rejected, but requests that have started finish.
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                try:
                    _, probe_writer = await asyncio.open_connection("127.0.0.1", server.port)
                except OSError:
                    break
                probe_writer.close()
                await asyncio.sleep(0.01)
        writer.write(second_half)
        response_head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT_SECONDS)
        assert response_head.startswith(b"HTTP/1.1 200 OK"), response_head
        message = json.loads(await asyncio.wait_for(reader.read(), TIMEOUT_SECONDS))
        writer.close()
        assert await server.wait_ended() == 0
        log_text = server.log_text()
        assert '"level":"error"' not in log_text, log_text
        assert "Traceback" not in log_text, log_text

        # The message is stored: it exists after a restart.
        await server.start()
        stored_message = (
            await users_by_name["bob"].get(f"/channels/{message['channel_id']}/messages/{message['id']}")
        ).ok()
        assert stored_message["content"] == "in flight"
        await staying_session.close()


async def test_an_unfinished_request_does_not_delay_shutdown_forever(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    flags = ("--gateway-drain-ms", "300", "--http-read-timeout-ms", "3600000")
    async with running_server(tmp_path, "dev", *flags) as server:
        users_by_name = demo_users(client, server)
        _, writer, _ = await send_half_request(users_by_name["carol"], server, "never")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await read_metric(users_by_name["carol"], "http_requests_active") == 0:
                await asyncio.sleep(0.01)
        server.terminate()
        assert await server.wait_ended() == 0
        writer.close()
