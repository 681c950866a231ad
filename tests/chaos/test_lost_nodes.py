"""Killed voice and worker processes end sessions of other nodes only if they did not publish events that they committed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import psycopg
import pytest

from hubbub.protocol.enums import GatewayOpcode
from hubbub.server.core.config import Role
from hubbub.server.transports.gateway import PresenceFeed
from hubbub.server.transports.gateway.presence import NODE_TIMEOUT_SECONDS
from tests.chaos.cluster import running_proxy
from tests.journeys.processes import (
    ApiUser,
    GatewaySession,
    create_guild,
    register_user,
    running_server,
)
from tests.journeys.test_many_processes import repeat_until_true, run_local_node

LOCAL_ROLES: frozenset[Role] = frozenset({"api", "gateway"})


@dataclass
class LocalNode:
    """A node in this process with one session."""

    feed: PresenceFeed
    user: ApiUser
    channel_id: str
    session: GatewaySession
    flags: list[str]
    """The flags for another node."""

    async def wait_known(self) -> None:
        """Wait until this node knows another node."""

        async def is_known() -> bool:
            return bool(self.feed.other_nodes)

        await repeat_until_true(is_known)

    async def detect_lost_nodes(self) -> None:
        """Sweep with a later time, as if the timeout of a killed node had passed."""
        self.feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
        assert not self.feed.other_nodes
        await asyncio.gather(*self.feed.lost_node_checks)


@asynccontextmanager
async def running_local_node(directory: Path, database_url: str, nats_url: str) -> AsyncIterator[LocalNode]:
    async with (
        run_local_node(directory, database_url, nats_url, LOCAL_ROLES) as (app, server, flags),
        aiohttp.ClientSession() as client,
    ):
        user = await register_user(client, server, "alice")
        _, channel_id, _ = await create_guild(user)
        session = await GatewaySession(user, server.gateway).open()
        assert app.gateway is not None
        yield LocalNode(app.gateway.sessions.presence_feed, user, channel_id, session, flags)
        await session.close()


@pytest.mark.parametrize("role", ["voice", "worker"])
async def test_a_killed_process_that_published_everything_ends_no_session(
    tmp_path: Path, postgres_database: str, nats_url: str, role: str
) -> None:
    async with running_local_node(tmp_path, postgres_database, nats_url) as node:
        async with running_server(tmp_path, "serve", "--roles", role, *node.flags) as killed_server:
            await node.wait_known()
            if role == "worker":
                # The worker commits and publishes an event.
                invite = (await node.user.post(f"/channels/{node.channel_id}/invites", {"max_age": 1})).ok()
                await node.session.wait_event("INVITE_DELETE", lambda data: data["code"] == invite["code"])
                await repeat_until_true(lambda: is_everything_published(postgres_database))
            killed_server.kill()
        await node.detect_lost_nodes()
        await node.user.create_message(node.channel_id, "still here")
        await node.session.wait_message("still here")
        assert [frame["op"] for frame in node.session.other_frames] == [GatewayOpcode.HELLO]


async def test_a_killed_worker_with_unpublished_events_ends_the_sessions_of_other_nodes(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with (
        running_local_node(tmp_path, postgres_database, nats_url) as node,
        running_proxy(nats_url) as proxy,
    ):
        flags = [*node.flags[: node.flags.index("--nats-url")], "--nats-url", proxy.url]
        async with running_server(tmp_path, "serve", "--roles", "worker", *flags) as killed_worker:
            await node.wait_known()
            # The worker runs the job, but nothing that it publishes arrives.
            proxy.swallow()
            (await node.user.post(f"/channels/{node.channel_id}/invites", {"max_age": 1})).ok()

            async def has_unpublished_events() -> bool:
                return not await is_everything_published(postgres_database)

            await repeat_until_true(has_unpublished_events)
            killed_worker.kill()
        await node.detect_lost_nodes()
        assert (await node.session.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False


async def is_everything_published(database_url: str) -> bool:
    """Return whether no process has committed events that the bus has not confirmed."""
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        cursor = await connection.execute("SELECT COUNT(*) FROM meta WHERE name LIKE 'unpublished.%'")
        return (await cursor.fetchone()) == (0,)
