"""Sessions continue on another gateway node: after SIGTERM, and whenever a client resumes elsewhere."""

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from hubbub.protocol.enums import GatewayOpcode
from tests.chaos.cluster import Node, open_session, running_cluster
from tests.journeys.processes import ApiUser, GatewaySession, Server, create_guild, register_user

pytestmark = pytest.mark.xdist_group("many_processes")

CLIENT_CLOSE_CODE = 4000
"""Close code with which client libraries close a connection that they want to resume."""


@dataclass
class Cluster:
    """An API process, two gateway processes, and a guild with two members."""

    api: Server
    gateways: list[Server]
    alice: ApiUser
    bob: ApiUser
    guild_id: str
    channel_id: str


@pytest.fixture
async def cluster(tmp_path: Path, postgres_database: str, nats_url: str) -> AsyncIterator[Cluster]:
    gateway = Node("gateway", flags=("--gateway-drain-ms", "3000"))
    async with running_cluster(tmp_path, postgres_database, nats_url, [Node(), gateway, gateway]) as (client, servers):
        api, *gateways = servers
        alice, bob = [await register_user(client, api, name) for name in ("alice", "bob")]
        guild_id, channel_id, _ = await create_guild(alice, bob)
        yield Cluster(api, gateways, alice, bob, guild_id, channel_id)


class Sender:
    """Sends messages until it is stopped."""

    def __init__(self, user: ApiUser, channel_id: str) -> None:
        self._user = user
        self._channel_id = channel_id
        self.contents: list[str] = []
        """Contents of the acknowledged messages, in order."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        for number in itertools.count():
            await self._user.create_message(self._channel_id, f"message {number}")
            self.contents.append(f"message {number}")

    async def stop(self, *sessions: GatewaySession) -> None:
        """Stop, and check that each session has received every message once and in order."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._user.create_message(self._channel_id, "end")
        for session in sessions:
            await session.wait_message("end")
            contents = session.message_contents()
            assert contents[: len(self.contents)] == self.contents
            assert len(contents) - len(self.contents) <= 2  # The end, and a message whose response was not received.
            assert session.sequence_numbers() == list(range(1, len(session.dispatches) + 1))
            assert GatewayOpcode.INVALID_SESSION not in [frame["op"] for frame in session.other_frames]


async def resume_after_reconnect(session: GatewaySession, server: Server) -> None:
    """Wait for Reconnect, close the connection as client libraries do, and resume at another node."""
    await session.wait_opcode(GatewayOpcode.RECONNECT)
    assert session.socket is not None
    await session.socket.close(code=CLIENT_CLOSE_CODE)
    await session.resume(server.gateway)
    await session.wait_event("RESUMED")


@contextlib.contextmanager
def paused(server: Server) -> Iterator[None]:
    """Pause a process, and let it continue when the block ends."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


async def test_sessions_of_a_stopped_gateway_process_continue_on_another(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    sessions = [await open_session(user, first_gateway) for user in (cluster.alice, cluster.bob)]
    staying_session = await open_session(cluster.alice, second_gateway)
    sender = Sender(cluster.alice, cluster.channel_id)
    await sessions[0].wait_message("message 20")
    first_gateway.terminate()
    await asyncio.gather(*(resume_after_reconnect(session, second_gateway) for session in sessions))
    assert await first_gateway.wait_ended() == 0
    await sessions[0].wait_message(f"message {len(sender.contents) + 20}")
    await sender.stop(*sessions, staying_session)
    for session in (*sessions, staying_session):
        # No user went offline.
        assert "offline" not in [
            frame["d"]["status"] for frame in session.dispatches if frame["t"] == "PRESENCE_UPDATE"
        ]
        await session.close()


async def test_a_session_whose_client_is_away_continues_on_another_process(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    sender = Sender(cluster.alice, cluster.channel_id)
    await session.wait_message("message 5")
    await session.abort_connection()
    first_gateway.terminate()
    assert await first_gateway.wait_ended() == 0
    await session.resume(second_gateway.gateway)
    await session.wait_event("RESUMED")
    await sender.stop(session)
    await session.close()


async def test_a_session_moves_between_running_processes_under_load(cluster: Cluster) -> None:
    session = await open_session(cluster.bob, cluster.gateways[0])
    senders = [Sender(cluster.alice, cluster.channel_id)]
    for number in range(1, 9):
        dispatch_count = len(session.dispatches)
        await session.wait_event("MESSAGE_CREATE", since=dispatch_count)
        await session.abort_connection()
        # A change of rights is handled by both nodes during the handover.
        role = cluster.alice.post(f"/guilds/{cluster.guild_id}/roles", {"name": f"role {number}"})
        role_task = asyncio.create_task(role)
        await session.resume(cluster.gateways[number % 2].gateway)
        await session.wait_event("RESUMED", since=dispatch_count)
        (await role_task).ok()
    await senders[0].stop(session)
    role_names = [frame["d"]["role"]["name"] for frame in session.dispatches if frame["t"] == "GUILD_ROLE_CREATE"]
    assert role_names == [f"role {number}" for number in range(1, 9)]
    await session.close()


async def test_a_session_is_taken_only_with_its_token(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    thief = GatewaySession(cluster.alice, second_gateway.gateway)
    thief.ready, thief.seq = session.ready, session.seq
    await thief.resume(second_gateway.gateway)
    assert (await thief.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False
    await cluster.alice.create_message(cluster.channel_id, "still here")
    await session.wait_message("still here")
    for opened_session in (session, thief):
        await opened_session.close()


async def test_a_client_may_reconnect_while_its_session_moves(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    await session.abort_connection()
    # The first attempt is abandoned before its replay.
    with contextlib.suppress(aiohttp.ClientError):
        await session.resume(second_gateway.gateway)
        await session.abort_connection()
    await cluster.alice.create_message(cluster.channel_id, "later")
    await session.resume(first_gateway.gateway)
    await session.wait_message("later")
    assert session.sequence_numbers() == list(range(1, len(session.dispatches) + 1))
    await session.close()


async def test_a_session_continues_on_a_process_that_does_not_know_the_other_processes_yet(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    second_gateway.terminate()
    assert await second_gateway.wait_ended() == 0
    with paused(first_gateway):
        await second_gateway.start()
        await session.abort_connection()
        await session.resume(second_gateway.gateway)
    await session.wait_event("RESUMED")
    await Sender(cluster.alice, cluster.channel_id).stop(session)
    await session.close()


async def test_sessions_move_to_a_process_that_starts_while_theirs_stops(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    await session.abort_connection()
    second_gateway.terminate()
    assert await second_gateway.wait_ended() == 0
    with paused(first_gateway):
        await second_gateway.start()
        first_gateway.terminate()
    assert await first_gateway.wait_ended() == 0
    await session.resume(second_gateway.gateway)
    await session.wait_event("RESUMED")
    await Sender(cluster.alice, cluster.channel_id).stop(session)
    await session.close()


async def test_a_client_reconnects_while_the_process_of_its_session_does_not_respond(cluster: Cluster) -> None:
    first_gateway, second_gateway = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    with paused(first_gateway):
        await session.abort_connection()
        await session.resume(second_gateway.gateway)
        await session.wait_opcode(GatewayOpcode.RECONNECT)
        await session.wait_closed()
        await session.resume(second_gateway.gateway)
    await session.wait_event("RESUMED")
    await Sender(cluster.alice, cluster.channel_id).stop(session)
    await session.close()
