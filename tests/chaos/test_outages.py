"""PostgreSQL that is silent or gone: requests fail quickly, and succeed again as soon as it is back."""

import asyncio
import os
import signal
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from tests.chaos.cluster import FaultProxy, running_proxy
from tests.fixtures.postgres import start_postgres
from tests.journeys.processes import ApiUser, create_guild, register_user, running_server
from tests.time_bounds import check_seconds, time_bound

RESPONSE_SECONDS_MAX = 5.0
"""Maximum response time in seconds."""
FIRST_SUCCESS_SECONDS_MAX = 1.0
"""Maximum time from the end of the outage until a request succeeds, in seconds."""
RECOVERY_SECONDS_MAX = 5.0
"""Maximum time from the end of the outage until all requests succeed, in seconds."""
OUTAGE_SECONDS = 8.0
RETRY_SECONDS = 0.05
"""Time between two requests of a caller that waits for the end of the outage, in seconds."""


def proxied_url(database_url: str, proxy: FaultProxy) -> str:
    """Return the URL of a database behind a proxy."""
    name = urlsplit(database_url).path
    return f"postgresql://postgres@127.0.0.1:{proxy.port}{name}"


def socket_path_of(database_url: str) -> Path:
    """Return the path of the Unix socket of a PostgreSQL server."""
    (directory,) = parse_qs(urlsplit(database_url).query)["host"]
    return Path(directory) / ".s.PGSQL.5432"


async def measure_request(user: ApiUser, channel_id: str, number: int) -> tuple[int, float]:
    """Send one of three requests, chosen by `number`, and return its status and its response time in seconds."""
    started_at = time.monotonic()
    if number % 3 == 0:
        response = await user.get("/users/@me")
    elif number % 3 == 1:
        response = await user.post(f"/channels/{channel_id}/messages", {"content": "hello"})
    else:
        response = await user.request("PATCH", f"/channels/{channel_id}", json={"topic": str(number)})
    return response.status, time.monotonic() - started_at


async def wait_first_success(user: ApiUser, channel_id: str) -> None:
    """Repeat a request until it succeeds, which must be in time with `make chaos`."""
    async with time_bound(FIRST_SUCCESS_SECONDS_MAX):
        while (await measure_request(user, channel_id, 0))[0] != 200:
            await asyncio.sleep(RETRY_SECONDS)


@pytest.mark.parametrize("mode", ["refuse", "swallow"])
async def test_an_outage_of_postgresql_gives_503_in_time_and_ends_immediately(
    tmp_path: Path, postgres_database: str, mode: str
) -> None:
    async with (
        running_proxy(socket_path_of(postgres_database)) as proxy,
        running_server(
            tmp_path, "serve", "--database-url", proxied_url(postgres_database, proxy), "--rate-limits", "off"
        ) as server,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)

        getattr(proxy, mode)()
        started_at = time.monotonic()
        rounds = []
        while time.monotonic() - started_at < OUTAGE_SECONDS:
            rounds.append(asyncio.gather(*(measure_request(alice, channel_id, number) for number in range(24))))
            await asyncio.sleep(1)
        results = [result for round in rounds for result in await round]
        # The token is cached, but the user is read from the store.
        assert {status for status, _ in results} == {503}
        check_seconds(max(duration for _, duration in results), RESPONSE_SECONDS_MAX)
        async with client.get(f"{server.url}/readyz") as response:
            assert response.status == 503

        proxy.heal()
        async with time_bound(RECOVERY_SECONDS_MAX):
            await wait_first_success(alice, channel_id)
            statuses = {503}
            while statuses != {200}:
                results = await asyncio.gather(*(measure_request(alice, channel_id, number) for number in range(24)))
                statuses = {status for status, _ in results}


@pytest.mark.chaos
async def test_requests_succeed_as_soon_as_a_crashed_postgresql_has_started_again(
    tmp_path: Path, durable_postgres_url: str
) -> None:
    folder = socket_path_of(durable_postgres_url).parent
    async with (
        running_server(tmp_path, "serve", "--database-url", durable_postgres_url, "--rate-limits", "off") as server,
        aiohttp.ClientSession() as client,
    ):
        alice = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(alice)
        os.kill(int((folder / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        async with time_bound(RESPONSE_SECONDS_MAX):
            while (await measure_request(alice, channel_id, 0))[0] != 503:
                await asyncio.sleep(RETRY_SECONDS)
        await asyncio.to_thread(start_postgres, folder.parent, is_durable=True)
        await wait_first_success(alice, channel_id)
