"""Many concurrent writes to the same rows at two processes: none fails by the conflict, and other callers do not wait."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.chaos.cluster import Node, running_cluster
from tests.journeys.processes import ApiUser, Server, create_guild, register_user
from tests.time_bounds import check_seconds
from tests.world import ApiResponse

CALLER_COUNT = 64
UNRELATED_RESPONSE_SECONDS_MAX = 20.0
"""Maximum response time of an unrelated request in seconds, on a busy machine."""


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


async def prepare_kicks(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    return lambda user, number: user.request(
        "DELETE", f"/guilds/{guild_id}/members/{members[number % len(members)].id}"
    )


async def prepare_pins(owner: ApiUser, guild_id: str, channel_id: str, members: list[ApiUser]) -> WriteRequest:
    message_ids = [(await owner.create_message(channel_id, str(number)))["id"] for number in range(CALLER_COUNT)]
    return lambda user, number: user.request("PUT", f"/channels/{channel_id}/pins/{message_ids[number]}")


SCENARIOS: tuple[tuple[Preparation, set[int]], ...] = (
    (prepare_channel_reorders, {204}),
    (prepare_role_reorders, {200}),
    (prepare_role_edits, {200}),
    (prepare_pins, {204}),
    # Each member is kicked several times; after the first kick the member is unknown.
    (prepare_kicks, {204, 404}),
)


async def test_conflicting_writes_at_two_processes_all_succeed_and_delay_no_unrelated_request(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_cluster(tmp_path, postgres_database, nats_url, [Node(), Node()]) as (client, servers):
        owner, unrelated_user = [await register_user(client, servers[0], "user") for _ in range(2)]
        members = [await register_user(client, servers[number % 2], "member") for number in range(8)]
        guild_id, channel_id, _ = await create_guild(owner, *members)
        _, other_channel_id, _ = await create_guild(unrelated_user)
        for prepare, accepted_statuses in SCENARIOS:
            write = await prepare(owner, guild_id, channel_id, members)
            async with measure_unrelated_requests(unrelated_user, other_channel_id, servers) as durations:
                responses = await asyncio.gather(
                    *(write(owner.at_server(servers[number % 2]), number) for number in range(CALLER_COUNT))
                )
            statuses = [response.status for response in responses]
            assert set(statuses) <= accepted_statuses, (prepare.__name__, statuses)
            check_seconds(max(durations), UNRELATED_RESPONSE_SECONDS_MAX)
