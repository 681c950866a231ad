"""Many concurrent writes to the same rows at two processes: none fails by the conflict, and other callers do not wait.

A guild, a role and a channel are changed by many callers at once."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tests.chaos.cluster import Node, running_cluster
from tests.journeys.processes import ApiUser, Server, create_guild, register_user
from tests.time_bounds import ARE_BOUNDS_CHECKED, check_seconds
from tests.world import ApiResponse, wait_until

CALLER_COUNT = 64
UNRELATED_REQUESTS_MIN = 200
"""Minimum number of unrelated requests of which the 99th percentile is computed, with `make chaos`."""
UNRELATED_DELAY_SECONDS_MAX = 0.05
"""Maximum difference between the 99th percentiles of unrelated requests with and without conflicting writes, in seconds."""


@asynccontextmanager
async def measure_unrelated_requests(
    unrelated_user: ApiUser, channel_id: str, servers: list[Server]
) -> AsyncIterator[list[float]]:
    """Read and write in another guild during the block; yield the list of response times in seconds."""
    durations: list[float] = []
    end_event = asyncio.Event()

    async def send_requests(user: ApiUser) -> None:
        while not end_event.is_set():
            for request in (
                lambda: user.get("/users/@me"),
                lambda: user.get(f"/channels/{channel_id}/messages"),
                lambda: user.post(f"/channels/{channel_id}/messages", {"content": "hello"}),
                lambda: user.request("PATCH", f"/channels/{channel_id}", json={"topic": str(len(durations))}),
            ):
                started_at = time.monotonic()
                (await request()).ok()
                durations.append(time.monotonic() - started_at)

    tasks = [asyncio.create_task(send_requests(unrelated_user.at_server(server))) for server in servers]
    try:
        yield durations
    finally:
        end_event.set()
        await asyncio.gather(*tasks)


WriteRequest = Callable[[ApiUser, int], Awaitable[ApiResponse]]
"""A request of a user; the number distinguishes the requests."""
Preparation = Callable[[ApiUser, str, str, list[ApiUser]], Awaitable[WriteRequest]]
"""Function that creates the objects that requests change, from owner, guild ID, channel ID and members, and returns the request."""


async def prepare_channel_reorders(
    owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]
) -> WriteRequest:
    channels = [
        (await owner.post(f"/guilds/{guild_id}/channels", {"name": f"c{number}"})).ok()["id"] for number in range(8)
    ]

    async def write(user: ApiUser, number: int) -> ApiResponse:
        order = random.Random(number).sample(channels, len(channels))
        moves = [{"id": id, "position": (position + number) % 8} for position, id in enumerate(order)]
        return await user.request("PATCH", f"/guilds/{guild_id}/channels", json=moves)

    return write


async def prepare_role_reorders(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    roles = [(await owner.post(f"/guilds/{guild_id}/roles", {"name": f"r{number}"})).ok()["id"] for number in range(8)]

    async def write(user: ApiUser, number: int) -> ApiResponse:
        order = random.Random(number).sample(roles, len(roles))
        moves = [{"id": id, "position": position + 1} for position, id in enumerate(order)]
        return await user.request("PATCH", f"/guilds/{guild_id}/roles", json=moves)

    return write


async def prepare_role_edits(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    role_id = (await owner.post(f"/guilds/{guild_id}/roles", {"name": "hot"})).ok()["id"]
    return lambda user, number: user.request(
        "PATCH", f"/guilds/{guild_id}/roles/{role_id}", json={"name": f"name {number}"}
    )


async def prepare_messages(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    return lambda user, number: user.post(f"/channels/{channel_id}/messages", {"content": str(number)})


async def prepare_kicks(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    return lambda user, number: user.request(
        "DELETE", f"/guilds/{guild_id}/members/{members[number % len(members)].id}"
    )


async def prepare_pins(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    message_ids = [(await owner.create_message(channel_id, str(number)))["id"] for number in range(CALLER_COUNT)]
    return lambda user, number: user.request("PUT", f"/channels/{channel_id}/pins/{message_ids[number]}")


SCENARIOS: tuple[tuple[Preparation, set[int], float], ...] = (
    (prepare_channel_reorders, {204}, 0.0),
    (prepare_role_reorders, {200}, 0.0),
    (prepare_role_edits, {200}, 0.0),
    (prepare_pins, {204}, 0.0),
    # Messages do not wait for each other. Without pauses, 64 callers would use all processors, which delays everyone.
    (prepare_messages, {200}, 0.5),
    # Each member is kicked several times; after the first kick the member is unknown.
    (prepare_kicks, {204, 404}, 0.0),
)
"""Requests, the statuses that they may have, and the pause of a caller after each request in seconds."""


def compute_p99(durations: list[float]) -> float:
    return sorted(durations)[len(durations) * 99 // 100]


async def wait_measured(durations: list[float]) -> None:
    """Wait until there are enough durations for their 99th percentile, if `make chaos` checks it."""
    await wait_until(lambda: len(durations) >= (UNRELATED_REQUESTS_MIN if ARE_BOUNDS_CHECKED else 1))


async def write_until(end_event: asyncio.Event, write: Callable[[], Awaitable[ApiResponse]], pause: float) -> list[int]:
    """Send requests one after the other until an event, at least one; return their statuses."""
    statuses = []
    while not (statuses and end_event.is_set()):
        statuses.append((await write()).status)
        await asyncio.sleep(pause)
    return statuses


async def test_conflicting_writes_at_two_processes_all_succeed_and_delay_no_unrelated_request(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_cluster(tmp_path, postgres_database, nats_url, [Node(), Node()]) as (client, servers):
        owner, unrelated_user = [await register_user(client, servers[0], "user") for _ in range(2)]
        members = [await register_user(client, servers[number % 2], "member") for number in range(8)]
        guild_id, channel_id, _ = await create_guild(owner, *members)
        _, other_channel_id, _ = await create_guild(unrelated_user)
        async with measure_unrelated_requests(unrelated_user, other_channel_id, servers) as idle_durations:
            await wait_measured(idle_durations)
        print(f"idle: p99 {compute_p99(idle_durations) * 1000:.0f} ms")
        for prepare, accepted_statuses, pause in SCENARIOS:
            write = await prepare(owner, guild_id, channel_id, members)
            end_event = asyncio.Event()
            if not ARE_BOUNDS_CHECKED:
                # Each caller sends one request.
                end_event.set()
            async with measure_unrelated_requests(unrelated_user, other_channel_id, servers) as durations:
                callers = [
                    asyncio.create_task(
                        write_until(end_event, partial(write, owner.at_server(servers[number % 2]), number), pause)
                    )
                    for number in range(CALLER_COUNT)
                ]
                await wait_measured(durations)
                end_event.set()
                statuses = [status for caller_statuses in await asyncio.gather(*callers) for status in caller_statuses]
            assert set(statuses) <= accepted_statuses, (prepare.__name__, Counter(statuses))
            p99_seconds = compute_p99(durations)
            print(f"{prepare.__name__}: {len(statuses)} writes, p99 of others {p99_seconds * 1000:.0f} ms")
            check_seconds(p99_seconds - compute_p99(idle_durations), UNRELATED_DELAY_SECONDS_MAX)
