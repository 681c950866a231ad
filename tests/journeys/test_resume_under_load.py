"""Connections break, or a client stops reading, while a guild is busy: after a resume no event is missing or repeated."""

import asyncio
import random
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents
from tests.journeys.processes import ApiUser, GatewaySession, Server, demo_users, read_metric, running_server

pytestmark = pytest.mark.xdist_group("resume_under_load")

MESSAGE_COUNT = 360
SMALL_BUFFER_BYTES = 64 * 1024
ABNORMAL_CLOSURE = 1006
"""The close code of a connection that ended without a close frame."""


async def open_sessions(users_by_name: dict[str, ApiUser], server: Server, *compressions: str) -> list[GatewaySession]:
    sessions = [
        GatewaySession(users_by_name[name], server.gateway, compress=compress, intents=Intents.BOT_MASK)
        for name in ("alice", "bob", "carol", "demo-bot")
        for compress in compressions
    ]
    return list(await asyncio.gather(*(session.open() for session in sessions)))


async def send_messages(users_by_name: dict[str, ApiUser], channel_id: str, count: int) -> list[str]:
    """Send messages as three users in parallel; return the contents in the order of the message IDs."""
    contents_by_id: dict[int, str] = {}

    async def send_as(name: str) -> None:
        for number in range(count // 3):
            message = await users_by_name[name].create_message(channel_id, f"{name} {number}")
            contents_by_id[int(message["id"])] = message["content"]

    await asyncio.gather(*map(send_as, ("alice", "bob", "carol")))
    last_message = await users_by_name["alice"].create_message(channel_id, "last")
    contents_by_id[int(last_message["id"])] = "last"
    return [contents_by_id[message_id] for message_id in sorted(contents_by_id)]


async def reconnect_randomly(session: GatewaySession, random_source: random.Random, stop_event: asyncio.Event) -> None:
    """Abort and resume the connection at random moments: inside a frame, a replay or the resume itself."""
    abort_count = 0
    while abort_count < 3 or not stop_event.is_set():
        await asyncio.sleep(random_source.uniform(0.0, 0.12))
        await session.abort_connection()
        abort_count += 1
        if random_source.random() < 0.5:
            await asyncio.sleep(random_source.uniform(0.0, 0.05))
        await session.resume()


async def test_no_event_is_missed_or_repeated_when_connections_break(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with running_server(tmp_path, "dev") as server:
        users_by_name = demo_users(client, server)
        sessions = await open_sessions(users_by_name, server, "", "zlib-stream", "zstd-stream")
        steady_session = await GatewaySession(users_by_name["bob"], server.gateway).open()
        stop_event = asyncio.Event()
        reconnect_tasks = [
            asyncio.create_task(reconnect_randomly(session, random.Random(number), stop_event))
            for number, session in enumerate(sessions)
        ]
        sent_contents = await send_messages(users_by_name, server.general_channel_id, MESSAGE_COUNT)
        stop_event.set()
        await asyncio.gather(*reconnect_tasks)
        for session in [*sessions, steady_session]:
            await session.wait_message("last")
        assert steady_session.message_contents() == sent_contents
        for session in sessions:
            assert session.message_contents() == sent_contents
            assert session.sequence_numbers() == list(range(1, len(session.dispatches) + 1))
            # The session was resumed each time and never started again.
            assert [frame["t"] for frame in session.dispatches].count("READY") == 1
            assert not [frame for frame in session.other_frames if frame["op"] == GatewayOpcode.INVALID_SESSION]
            await session.close()
        await steady_session.close()


def create_small_socket(address: Any) -> socket.socket:
    """Open a socket with a small receive buffer."""
    family, kind, protocol, *_ = address
    small = socket.socket(family, kind, protocol)
    small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
    small.setblocking(False)
    return small


SHORT_CLOSE_TIMEOUT = "from hubbub.server.transports import sockets; sockets.CLOSE_TIMEOUT_SECONDS = 0.01"
"""Startup code of a server that waits only 10 ms until a client has read the close frame."""


@pytest.mark.parametrize("compress", ["", "zlib-stream"])
async def test_a_client_that_stops_reading_is_disconnected_and_can_resume(
    tmp_path: Path, client: aiohttp.ClientSession, compress: str
) -> None:
    flags = ["--gateway-outgoing-buffer-bytes-max", str(SMALL_BUFFER_BYTES)]
    connector = aiohttp.TCPConnector(socket_factory=create_small_socket)
    async with (
        running_server(tmp_path, "dev", *flags, startup_code=SHORT_CLOSE_TIMEOUT) as server,
        aiohttp.ClientSession(connector=connector) as small_buffer_client,
    ):
        users_by_name = demo_users(client, server)
        fast_session = await GatewaySession(users_by_name["carol"], server.gateway, compress=compress).open()
        slow_session = await GatewaySession(
            demo_users(small_buffer_client, server)["bob"], server.gateway, compress=compress
        ).open()
        connection_count = await read_metric(users_by_name["alice"], "gateway_connections")
        assert connection_count == 2
        slow_session.reading_allowed.clear()
        random_source = random.Random(7)
        sent_contents: list[str] = []
        while await read_metric(users_by_name["alice"], "gateway_connections") == connection_count:
            frame_count = len(fast_session.dispatches)
            # Random characters of four bytes each compress badly, so a few hundred messages fill the kernel's buffers.
            contents = ["".join(map(chr, random_source.choices(range(0x20000, 0x2A000), k=2000))) for _ in range(50)]
            messages = await asyncio.gather(
                *(users_by_name["alice"].create_message(server.general_channel_id, content) for content in contents)
            )
            sent_contents += [
                message["content"] for message in sorted(messages, key=lambda message: int(message["id"]))
            ]
            assert len(sent_contents) < 4000, "the connection of the slow client was not closed"
            # A reading client is not delayed by one that does not read.
            await fast_session.wait_message(sent_contents[-1], since=frame_count)
        sent_contents.append("last")
        await users_by_name["alice"].create_message(server.general_channel_id, "last")
        await fast_session.wait_message("last")
        assert fast_session.message_contents() == sent_contents
        slow_session.reading_allowed.set()
        # The close frame with 4000 was behind the data that the client did not read in time.
        assert await slow_session.wait_closed() == ABNORMAL_CLOSURE
        received_count = len(slow_session.message_contents())
        assert received_count < len(sent_contents)
        await slow_session.resume()
        await slow_session.wait_message("last")
        assert slow_session.message_contents() == sent_contents
        assert slow_session.sequence_numbers() == list(range(1, len(slow_session.dispatches) + 1))
        await slow_session.close()
        await fast_session.close()
