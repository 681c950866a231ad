"""Connections break while a guild is busy: every session receives every event once, in commit order."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hubbub.protocol.intents import Intents
from tests.journeys.processes import ApiUser, GatewaySession, Server, demo_users, metric, running

pytestmark = pytest.mark.xdist_group("resume_under_load")

MESSAGES = 360
SMALL_BUFFER = 64 * 1024
ABNORMAL_CLOSURE = 1006
"""The close code of a connection that ended without a close frame."""


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as client:
        yield client


def general(server: Server) -> str:
    channel: str = server.document["guilds"]["Town Square"]["channels"]["general"]
    return channel


async def open_all(people: dict[str, ApiUser], server: Server, *compressions: str) -> list[GatewaySession]:
    listeners = [
        GatewaySession(people[name], server.gateway, compress=compress, intents=Intents.BOT_MASK)
        for name in ("alice", "bob", "carol", "demo-bot")
        for compress in compressions
    ]
    return list(await asyncio.gather(*(listener.open() for listener in listeners)))


async def talk(people: dict[str, ApiUser], channel_id: str, count: int) -> list[str]:
    """Send messages as three users at once; return the contents in the order of the ids."""
    sent: dict[int, str] = {}

    async def say(name: str) -> None:
        for number in range(count // 3):
            made = await people[name].create_message(channel_id, f"{name} {number}")
            sent[int(made["id"])] = made["content"]

    await asyncio.gather(*map(say, ("alice", "bob", "carol")))
    last = await people["alice"].create_message(channel_id, "last")
    sent[int(last["id"])] = "last"
    return [sent[id] for id in sorted(sent)]


async def break_now_and_then(listener: GatewaySession, chance: random.Random, stop: asyncio.Event) -> None:
    """Cut and resume at random moments: inside a frame, a replay or the resume itself."""
    cuts = 0
    while cuts < 3 or not stop.is_set():
        await asyncio.sleep(chance.uniform(0.0, 0.12))
        await listener.cut()
        cuts += 1
        if chance.random() < 0.5:
            await asyncio.sleep(chance.uniform(0.0, 0.05))
        await listener.resume()


async def test_no_event_is_missed_or_repeated_when_connections_break(
    tmp_path: Path, client: aiohttp.ClientSession
) -> None:
    async with running(tmp_path, "dev") as server:
        known = demo_users(client, server)
        listeners = await open_all(known, server, "", "zlib-stream", "zstd-stream")
        steady = await GatewaySession(known["bob"], server.gateway).open()
        stop = asyncio.Event()
        breaking = [
            asyncio.create_task(break_now_and_then(listener, random.Random(number), stop))
            for number, listener in enumerate(listeners)
        ]
        sent = await talk(known, general(server), MESSAGES)
        stop.set()
        await asyncio.gather(*breaking)
        for listener in [*listeners, steady]:
            await listener.message("last")
        assert steady.contents() == sent
        for listener in listeners:
            assert listener.contents() == sent
            assert listener.sequence_numbers() == list(range(1, len(listener.frames) + 1))
            # It was one session all the time.
            assert [frame["t"] for frame in listener.frames].count("READY") == 1
            assert not [frame for frame in listener.opcodes if frame["op"] == 9]
            await listener.close()
        await steady.close()


def small_socket(address: Any) -> socket.socket:
    """Open a socket with a small receive buffer."""
    made = socket.socket(address[0], address[1], address[2])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
    made.setblocking(False)
    return made


SHORT_CLOSE_TIMEOUT = "from hubbub.server.transports import sockets; sockets.CLOSE_TIMEOUT_SECONDS = 0.01"
"""Code for the start of a server that hardly waits until a client has read the close frame."""


@pytest.mark.parametrize("compress", ["", "zlib-stream"])
async def test_a_client_that_stops_reading_is_cut_and_can_resume(
    tmp_path: Path, client: aiohttp.ClientSession, compress: str
) -> None:
    flags = ["--gateway-outgoing-buffer-bytes", str(SMALL_BUFFER)]
    connector = aiohttp.TCPConnector(socket_factory=small_socket)
    async with (
        running(tmp_path, "dev", *flags, first=SHORT_CLOSE_TIMEOUT) as server,
        aiohttp.ClientSession(connector=connector) as narrow,
    ):
        known = demo_users(client, server)
        quick = await GatewaySession(known["carol"], server.gateway, compress=compress).open()
        slow = await GatewaySession(demo_users(narrow, server)["bob"], server.gateway, compress=compress).open()
        connections = await metric(known["alice"], "gateway_connections")
        assert connections == 2
        slow.is_reading.clear()
        chance = random.Random(7)
        sent: list[str] = []
        while await metric(known["alice"], "gateway_connections") == connections:
            since = len(quick.frames)
            # Four bytes a character that hardly compress: the kernel's buffers are full after some hundred messages.
            contents = ["".join(map(chr, chance.choices(range(0x20000, 0x2A000), k=2000))) for _ in range(50)]
            made = await asyncio.gather(
                *(known["alice"].create_message(general(server), content) for content in contents)
            )
            sent += [message["content"] for message in sorted(made, key=lambda message: int(message["id"]))]
            assert len(sent) < 4000, "the slow client was never cut"
            # A reading client is not delayed by one that does not read.
            await quick.message(sent[-1], since=since)
        sent.append("last")
        await known["alice"].create_message(general(server), "last")
        await quick.message("last")
        assert quick.contents() == sent
        slow.is_reading.set()
        # The close frame with 4000 was behind the data that the client did not read in time.
        assert await slow.wait_closed() == ABNORMAL_CLOSURE
        received_count = len(slow.contents())
        assert received_count < len(sent)
        await slow.resume()
        await slow.message("last")
        assert slow.contents() == sent
        assert slow.sequence_numbers() == list(range(1, len(slow.frames) + 1))
        await slow.close()
        await quick.close()
