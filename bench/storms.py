"""Large worlds: many sessions that connect at once, presences, a bot in many guilds, and all members of a large guild.

Work that grows with the square of the sessions, or that blocks the event loop, shows in these figures first."""

import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp

from bench.load import GatewayConnection, Subject, encode_request, masked_frame, send_requests, wait_until_idle
from hubbub.protocol.enums import GatewayOpcode
from hubbub.protocol.intents import Intents

CHANNEL_COUNT = 66
"""Channels that are added to the guild, which has text channels and categories of its own."""
FIRST_MEMBER_ID = 1_000_000
WARM_UP_COUNT = 50
"""Sessions that connect before a storm."""
CLOSE_SECONDS = 1.0
BYTES_MIN = 1000
"""Bytes that a session receives at least until it has its guild."""


async def add_channels(subject: Subject) -> None:
    """Add channels to the guild of the benchmark."""
    info = subject.connection_info
    path = f"/api/v10/guilds/{info['guild']}/channels"
    requests = [
        encode_request("POST", path, info["user_token"], {"name": f"channel-{number}", "topic": "A topic of a channel"})
        for number in range(CHANNEL_COUNT)
    ]
    await send_requests(info["url"], requests, 1)


async def connect_sessions(
    subject: Subject, tokens: list[str], intents: int, bytes_min: int = BYTES_MIN
) -> list[GatewayConnection]:
    """Connect a session for each token, as fast as the server accepts them.

    Wait until they received `bytes_min` bytes on average, and no more data arrives."""
    host, _, port = subject.connection_info["url"].removeprefix("http://").partition(":")
    loop = asyncio.get_running_loop()
    connections = []
    for number, token in enumerate(tokens):
        _, connection = await loop.create_connection(
            lambda token=token: GatewayConnection(token, "", intents), host, int(port)
        )
        connections.append(connection)
        if number % 50 == 49:
            await asyncio.sleep(0.02)
    await wait_until_idle(connections, bytes_min=len(tokens) * bytes_min, timeout_seconds=300)
    return connections


async def run_storms_benchmark(benchmarks: set[str], record_figure: Callable[..., None], is_quick: bool) -> None:
    """Run the named benchmarks of large worlds."""
    if "storms" in benchmarks:
        await measure_storms(record_figure, is_quick)
    if "presences" in benchmarks:
        await measure_presences(record_figure, is_quick)
    if "guilds" in benchmarks:
        await measure_guilds(record_figure, is_quick)
    if "members" in benchmarks:
        await measure_member_requests(record_figure, is_quick)


async def measure_storms(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure the CPU time of a connection until GUILD_CREATE with few and with many sessions of a bot."""
    few, many = (200, 1000) if is_quick else (1000, 5000)
    costs = {}
    for count in (few, many):
        with tempfile.TemporaryDirectory() as folder, Subject("hubbub", folder) as subject:
            await add_channels(subject)
            bot_token, intents = subject.connection_info["bot_token"], Intents.GUILDS | Intents.GUILD_MESSAGES
            # The first sessions load modules and fill caches, which would count for more with few sessions.
            warm_up_connections = await connect_sessions(subject, [bot_token] * WARM_UP_COUNT, intents)
            session_bytes = sum(connection.received_bytes for connection in warm_up_connections) // WARM_UP_COUNT
            cpu_before = subject.cpu_seconds()
            connections = await connect_sessions(subject, [bot_token] * count, intents, session_bytes - BYTES_MIN)
            costs[count] = (subject.cpu_seconds() - cpu_before) / count * 1e6
            await close_all([*warm_up_connections, *connections])
    record_figure(
        f"connection until GUILD_CREATE of {many} sessions / {few} sessions, CPU",
        costs[many] / costs[few],
        1.25,
        "x",
        f"{costs[many]:.0f} us against {costs[few]:.0f} us for each session",
    )


async def measure_presences(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure sessions of different users that receive the presences of each other."""
    count = 200 if is_quick else 1000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            guild_id = subject.connection_info["guild"]
        with Subject("hubbub-members", folder, guild_id, str(count)) as subject:
            cpu_before = subject.cpu_seconds()
            connections = await connect_sessions(
                subject, subject.connection_info["member_tokens"], Intents.GUILDS | Intents.GUILD_PRESENCES
            )
            cost = (subject.cpu_seconds() - cpu_before) / count * 1e3
            received_kilobytes = sum(connection.received_bytes for connection in connections) / count / 1000
            await close_all(connections)
    record_figure(f"connection of {count} sessions with presences, CPU of a session", cost, None, "ms")
    record_figure(f"connection of {count} sessions with presences, data of a session", received_kilobytes, None, "KB")


async def measure_guilds(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure a bot that connects and receives many guilds."""
    count = 300 if is_quick else 2500
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            info = subject.connection_info
        with Subject("hubbub-guilds", folder, info["bot_id"], info["user_id"], str(count)) as subject:
            [warm_up] = await connect_sessions(subject, [info["bot_token"]], Intents.GUILDS)
            bytes_before, cpu_before = subject.memory_bytes(), subject.cpu_seconds()
            [connection] = await connect_sessions(subject, [info["bot_token"]], Intents.GUILDS)
            cost = subject.cpu_seconds() - cpu_before
            session_megabytes = (subject.memory_bytes() - bytes_before) / 1e6
            received_megabytes = connection.received_bytes / 1e6
            await close_all([warm_up, connection])
    record_figure(f"bot in {count} guilds until the last GUILD_CREATE, CPU", cost * 1e3, None, "ms")
    record_figure(
        f"bot in {count} guilds, memory of a session",
        session_megabytes,
        None,
        "MB",
        f"{received_megabytes:.1f} MB were sent",
    )


def insert_members(database: Path, guild_id: int, count: int) -> None:
    """Insert members into the store of a stopped server."""
    ids = range(FIRST_MEMBER_ID, FIRST_MEMBER_ID + count)
    with sqlite3.connect(database) as connection:
        connection.executemany(
            "INSERT INTO users (id, username) VALUES (?, ?)", ((each, f"crowd{each}") for each in ids)
        )
        connection.executemany(
            "INSERT INTO members (guild_id, user_id, joined_ms) VALUES (?, ?, 1)", ((guild_id, each) for each in ids)
        )
        connection.execute("UPDATE guilds SET member_count = member_count + ? WHERE id = ?", (count, guild_id))


async def measure_member_requests(record_figure: Callable[..., None], is_quick: bool) -> None:
    """Measure a request for all members of a large guild (opcode 8), and how long other requests wait meanwhile."""
    count = 10_000 if is_quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        with Subject("hubbub", folder) as subject:
            info = subject.connection_info
        insert_members(Path(folder) / "hubbub.sqlite3", int(info["guild"]), count)
        with Subject("hubbub-again", folder) as subject:
            [connection] = await connect_sessions(subject, [info["bot_token"]], Intents.GUILDS | Intents.GUILD_MEMBERS)
            bytes_before, received_before = subject.memory_bytes(), connection.received_bytes
            cpu_before = subject.cpu_seconds()
            request: dict[str, Any] = {"guild_id": info["guild"], "query": "", "limit": 0}
            connection.transport.write(
                masked_frame(json.dumps({"op": GatewayOpcode.REQUEST_GUILD_MEMBERS, "d": request}).encode())
            )
            waits_ms = await measure_waits(subject, info["user_token"], connection, received_before + count * 100)
            await wait_until_idle([connection], bytes_min=received_before + count * 100)
            cost = subject.cpu_seconds() - cpu_before
            growth_megabytes = (subject.memory_bytes() - bytes_before) / 1e6
            await close_all([connection])
    record_figure(f"all {count} members, CPU", cost * 1e3, None, "ms")
    record_figure(f"all {count} members, growth of memory", growth_megabytes, None, "MB")
    record_figure(
        f"longest wait of another request during all {count} members, by the clock",
        max(waits_ms),
        None,
        "ms",
        f"median {statistics.median(waits_ms):.1f} ms of {len(waits_ms)} requests",
    )


async def measure_waits(
    subject: Subject, token: str, connection: GatewayConnection, received_bytes_min: int
) -> list[float]:
    """Return the durations of small requests in milliseconds, sent until a session has received enough."""
    waits_ms: list[float] = []
    deadline = time.monotonic() + 60
    async with aiohttp.ClientSession(headers={"Authorization": token}) as client:
        while connection.received_bytes < received_bytes_min or not waits_ms:
            if time.monotonic() > deadline:
                raise TimeoutError(f"only {connection.received_bytes} of {received_bytes_min} bytes arrived")
            started_at = time.perf_counter()
            async with client.get(f"{subject.connection_info['url']}/api/v10/users/@me") as response:
                await response.read()
            waits_ms.append((time.perf_counter() - started_at) * 1e3)
    return waits_ms


async def close_all(connections: list[GatewayConnection]) -> None:
    """Close connections, and give the server time to notice it before it stops."""
    for connection in connections:
        connection.transport.close()
    await asyncio.sleep(CLOSE_SECONDS)
