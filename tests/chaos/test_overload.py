"""Ten callers for each request that may be pending: excess requests get 503, sessions and health checks are served."""

import asyncio
import time
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from tests.journeys.processes import (
    TIMEOUT_SECONDS,
    ApiUser,
    GatewaySession,
    Server,
    create_guild,
    register_user,
    running_server,
)
from tests.time_bounds import check_seconds, time_bound

PENDING_MAX = 32
CALLER_COUNT = 10 * PENDING_MAX
LOAD_SECONDS = 6.0
LATENCY_SECONDS_MAX = 5.0
"""Maximum response time in seconds under load."""
RECOVERY_SECONDS_MAX = 2.0
"""Maximum time after the load until a request succeeds, in seconds."""
GROWTH_BYTES_MAX = 100 * 1024 * 1024


async def send_until(user: ApiUser, channel_id: str, end: float) -> list[tuple[int, float]]:
    """Send messages one after the other until a monotonic time; return status and response time of each."""
    results = []
    while time.monotonic() < end:
        started_at = time.monotonic()
        response = await user.post(f"/channels/{channel_id}/messages", {"content": "hello"})
        results.append((response.status, time.monotonic() - started_at))
        if response.status == 503:
            assert response.headers["Retry-After"] == "1"
    return results


async def check_health(client: aiohttp.ClientSession, server: Server, end: float) -> list[int]:
    """Request the health check until a monotonic time; return the statuses."""
    statuses = []
    while time.monotonic() < end:
        started_at = time.monotonic()
        async with client.get(f"{server.url}/healthz", timeout=aiohttp.ClientTimeout(TIMEOUT_SECONDS)) as response:
            statuses.append(response.status)
        check_seconds(time.monotonic() - started_at, LATENCY_SECONDS_MAX)
        await asyncio.sleep(0.1)
    return statuses


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_an_overloaded_server_rejects_requests_and_serves_the_rest_in_time(
    tmp_path: Path, request: pytest.FixtureRequest, store: str
) -> None:
    flags = ["--rate-limits", "off", "--http-pending-requests-max", str(PENDING_MAX)]
    if store == "postgres":
        flags += ["--database-url", request.getfixturevalue("postgres_database")]
    async with (
        running_server(tmp_path, "serve", *flags) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        session = await GatewaySession(alice, server.gateway).open()
        process = psutil.Process(server.pid)
        bytes_before = process.memory_info().rss

        end = time.monotonic() + LOAD_SECONDS
        health, *send_responses = await asyncio.gather(
            check_health(client, server, end), *(send_until(alice, channel_id, end) for _ in range(CALLER_COUNT))
        )
        results: list[tuple[int, float]] = [result for caller in send_responses for result in caller]

        assert {status for status, _ in results} == {200, 503}
        check_seconds(max(seconds for _, seconds in results), LATENCY_SECONDS_MAX)
        assert set(health) == {200}
        assert session.close_code is None
        assert process.memory_info().rss - bytes_before < GROWTH_BYTES_MAX

        async with time_bound(RECOVERY_SECONDS_MAX):
            while (await alice.post(f"/channels/{channel_id}/messages", {"content": "last"})).status != 200:
                await asyncio.sleep(0.1)
        await session.wait_until(lambda: is_last(session.dispatches[-1]))
        create_frames = [frame for frame in session.dispatches if frame["t"] == "MESSAGE_CREATE"]
        assert len(create_frames) == sum(status == 200 for status, _ in results) + 1
        await session.close()


def is_last(frame: Any) -> bool:
    """Return whether a dispatch is the message that was sent after the load."""
    return bool(frame["t"] == "MESSAGE_CREATE" and frame["d"]["content"] == "last")
