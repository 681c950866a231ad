"""SIGTERM: sessions are moved to other nodes, requests finish, and the process ends in time."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, demo_users, metric, running

pytestmark = pytest.mark.xdist_group("drain")

DRAIN_S = 8
"""Drain time in seconds, long enough for the steps of these tests on a busy machine."""


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as client:
        yield client


async def begin_message(
    person: ApiUser, server: Server, content: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    """Send the first half of a request; return the connection and the second half."""
    channel_id = server.document["guilds"]["Town Square"]["channels"]["general"]
    body = json.dumps({"content": content}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    head = f"POST /api/v10/channels/{channel_id}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: {person.token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body[:5])
    await writer.drain()
    return reader, writer, body[5:]


async def test_a_terminated_server_drains(tmp_path: Path, client: aiohttp.ClientSession) -> None:
    flags = ("--data", str(tmp_path / "data"), "--gateway-drain-ms", str(DRAIN_S * 1000))
    async with running(tmp_path, "dev", *flags) as server:
        known = demo_users(client, server)
        stubborn = await GatewaySession(known["alice"], server.gateway).open()
        polite = await GatewaySession(known["bob"], server.gateway, compress="zlib-stream").open()
        reader, writer, rest = await begin_message(known["carol"], server, "in flight")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await metric(known["carol"], "http_requests_active") == 0:
                await asyncio.sleep(0.01)
        ended_at = asyncio.get_running_loop().time() + DRAIN_S
        server.terminate()
        for listener in (stubborn, polite):
            await listener.opcode(7)
        # Health checks fail, and new sessions are asked to reconnect at once.
        async with client.get(f"{server.url}/readyz") as response:
            assert (response.status, await response.text()) == (503, "not ready: draining\n")
        async with client.ws_connect(f"{server.gateway}?v=10&encoding=json") as late:
            assert (await late.receive_json())["op"] == 7
            assert (await late.receive()).type is aiohttp.WSMsgType.CLOSE
            assert late.close_code == 4000
        # A session may leave by itself; one that stays is closed with a code on which every library resumes.
        assert polite.socket is not None
        await polite.socket.close(code=4900)
        assert await stubborn.wait_closed() == 4000
        assert asyncio.get_running_loop().time() >= ended_at
        # New connections are refused,
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                try:
                    _, probe = await asyncio.open_connection("127.0.0.1", server.port)
                except OSError:
                    break
                probe.close()
                await asyncio.sleep(0.01)
        # but requests that have started finish.
        writer.write(rest)
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), TIMEOUT_SECONDS)
        assert answer.startswith(b"HTTP/1.1 200 OK"), answer
        made = json.loads(await asyncio.wait_for(reader.read(), TIMEOUT_SECONDS))
        writer.close()
        assert await server.ended() == 0
        log_lines = server.log_text()
        assert '"level":"error"' not in log_lines, log_lines
        assert "Traceback" not in log_lines, log_lines

        # The message was really stored.
        await server.start()
        history = (await known["bob"].get(f"/channels/{made['channel_id']}/messages/{made['id']}")).ok()
        assert history["content"] == "in flight"
        await stubborn.close()


async def test_an_unfinished_request_does_not_delay_shutdown_forever(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    flags = ("--gateway-drain-ms", "300", "--http-read-timeout-ms", "3600000")
    async with running(tmp_path, "dev", *flags) as server:
        known = demo_users(client, server)
        _, writer, _ = await begin_message(known["carol"], server, "never")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while await metric(known["carol"], "http_requests_active") == 0:
                await asyncio.sleep(0.01)
        server.terminate()
        assert await server.ended() == 0
        writer.close()
