"""Operations that take effect once, although requests for them arrive at several processes at the same time."""

import asyncio
from pathlib import Path

from tests.chaos.cluster import Node, running_cluster
from tests.journeys.processes import create_guild, register_user

CLOCK_SHIFTS_MS = (0, -3_000)
"""Milliseconds by which the clock of each process is ahead; negative if it is behind."""
ROUND_COUNT = 15
CALLER_COUNT = 8


async def test_a_nonce_creates_one_message_at_processes_with_different_clocks(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    nodes = [Node(clock_shift_ms=shift_ms) for shift_ms in CLOCK_SHIFTS_MS]
    async with running_cluster(tmp_path, postgres_database, nats_url, nodes) as (client, servers):
        alice = await register_user(client, servers[0], "alice")
        _, channel_id, _ = await create_guild(alice)
        path = f"/channels/{channel_id}/messages"
        message_ids = set()
        for number in range(ROUND_COUNT):
            body = {"content": f"message {number}", "nonce": str(number), "enforce_nonce": True}
            callers = [alice.at_server(servers[index % 2]) for index in range(CALLER_COUNT)]
            responses = await asyncio.gather(*(caller.post(path, body) for caller in callers))
            # A repetition at the process whose clock is behind sees a nonce of the future.
            responses += [await alice.at_server(server).post(path, body) for server in servers]
            ids = {response.ok()["id"] for response in responses}
            assert len(ids) == 1, f"round {number}: {ids}"
            message_ids |= ids
        history = (await alice.get(f"{path}?limit=100")).ok()
        assert {message["id"] for message in history} == message_ids


async def test_slow_mode_accepts_one_message_at_processes_with_different_clocks(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    nodes = [Node(clock_shift_ms=shift_ms) for shift_ms in CLOCK_SHIFTS_MS]
    async with running_cluster(tmp_path, postgres_database, nats_url, nodes) as (client, servers):
        owner, bob = [await register_user(client, servers[0], "user") for _ in range(2)]
        guild_id, _, _ = await create_guild(owner, bob)
        for number in range(ROUND_COUNT):
            body = {"name": f"slow-{number}", "rate_limit_per_user": 3600}
            channel_id = (await owner.post(f"/guilds/{guild_id}/channels", body)).ok()["id"]
            path = f"/channels/{channel_id}/messages"
            callers = [bob.at_server(servers[index % 2]) for index in range(CALLER_COUNT)]
            responses = await asyncio.gather(*(caller.post(path, {"content": "hello"}) for caller in callers))
            responses += [await bob.at_server(server).post(path, {"content": "again"}) for server in servers]
            accepted_responses = [response for response in responses if response.status == 200]
            assert len(accepted_responses) == 1, f"round {number}: {[response.status for response in responses]}"
            assert {response.status for response in responses} == {200, 429}
