"""Killed processes end sessions of other nodes only if they did not publish an event that the session needs."""

import asyncio
import contextlib
import itertools
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
    Server,
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
    server: Server
    user: ApiUser
    channel_id: str
    session: GatewaySession
    database_url: str
    flags: list[str]
    """The flags for another node."""

    async def wait_known(self) -> None:
        """Wait until this node knows another node."""

        async def is_known() -> bool:
            return bool(self.feed.other_nodes)

        await repeat_until_true(is_known)

    async def has_other_logged_commits(self) -> bool:
        """Return whether the log of another node has commits."""
        async with await psycopg.AsyncConnection.connect(self.database_url) as connection:
            cursor = await connection.execute(
                "SELECT COUNT(*) FROM meta WHERE name LIKE 'unpublished.%%' AND name NOT LIKE %s",
                [f"unpublished.{self.feed.node}.%"],
            )
            return (await cursor.fetchone()) != (0,)

    async def wait_published(self) -> None:
        """Wait until the logs of the other nodes are empty."""

        async def is_published() -> bool:
            return not await self.has_other_logged_commits()

        await repeat_until_true(is_published)

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
        yield LocalNode(app.gateway.sessions.presence_feed, server, user, channel_id, session, database_url, flags)
        await session.close()


@pytest.mark.parametrize("role", ["voice", "worker", "api"])
async def test_a_killed_process_that_published_everything_ends_no_session(
    tmp_path: Path, postgres_database: str, nats_url: str, role: str
) -> None:
    async with running_local_node(tmp_path, postgres_database, nats_url) as node:
        async with running_server(
            tmp_path, "serve", "--roles", role, "--rate-limits", "off", *node.flags
        ) as killed_server:
            await node.wait_known()
            if role == "worker":
                # The worker commits and publishes an event.
                invite = (await node.user.post(f"/channels/{node.channel_id}/invites", {"max_age": 1})).ok()
                await node.session.wait_event("INVITE_DELETE", lambda data: data["code"] == invite["code"])
                await node.wait_published()
            elif role == "api":
                # The log of the process still has its last commits, but their events have arrived.
                for number in range(20):
                    await node.user.at_server(killed_server).create_message(node.channel_id, f"message {number}")
                await node.session.wait_message("message 19")
                assert await node.has_other_logged_commits()
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
            await repeat_until_true(node.has_other_logged_commits)
            killed_worker.kill()
        await node.detect_lost_nodes()
        assert (await node.session.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False


async def test_a_killed_api_process_ends_only_sessions_that_need_its_unpublished_events(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with (
        running_local_node(tmp_path, postgres_database, nats_url) as node,
        running_proxy(nats_url) as proxy,
    ):
        bob, carol = [await register_user(node.user.client, node.server, name) for name in ("bob", "carol")]
        (_, other_channel_id, _), (_, later_channel_id, _) = await create_guild(bob), await create_guild(carol)
        other_session = await GatewaySession(bob, node.server.gateway).open()
        flags = [*node.flags[: node.flags.index("--nats-url")], "--nats-url", proxy.url]
        async with running_server(tmp_path, "serve", "--roles", "api", "--rate-limits", "off", *flags) as killed_server:
            await node.wait_known()
            proxy.swallow()
            await node.user.at_server(killed_server).create_message(node.channel_id, "lost")
            await carol.at_server(killed_server).create_message(later_channel_id, "lost")
            killed_server.kill()
        # A session that starts now does not need the event.
        later_session = await GatewaySession(carol, node.server.gateway).open()
        await node.detect_lost_nodes()
        assert (await node.session.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False
        await bob.create_message(other_channel_id, "still here")
        await other_session.wait_message("still here")
        await carol.create_message(later_channel_id, "and here")
        await later_session.wait_message("and here")
        for session in (other_session, later_session):
            assert [frame["op"] for frame in session.other_frames] == [GatewayOpcode.HELLO]
            await session.close()


async def test_a_process_that_is_killed_under_load_leaves_no_unnoticed_gap(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_local_node(tmp_path, postgres_database, nats_url) as node:
        acknowledged_contents: list[str] = []

        async def send_messages(user: ApiUser, sender: int) -> None:
            with contextlib.suppress(aiohttp.ClientError):
                for number in itertools.count():
                    content = f"{sender} {number}"
                    await user.create_message(node.channel_id, content)
                    acknowledged_contents.append(content)

        async with running_server(
            tmp_path, "serve", "--roles", "api", "--rate-limits", "off", *node.flags
        ) as killed_server:
            await node.wait_known()
            user = node.user.at_server(killed_server)
            senders = [asyncio.create_task(send_messages(user, sender)) for sender in range(4)]

            async def has_enough() -> bool:
                return len(acknowledged_contents) >= 100

            await repeat_until_true(has_enough)
            killed_server.kill()
            await asyncio.gather(*senders)
        await node.detect_lost_nodes()
        await node.user.create_message(node.channel_id, "end")
        await node.session.wait_until(
            lambda: (
                "end" in node.session.message_contents()
                or any(frame["op"] == GatewayOpcode.INVALID_SESSION for frame in node.session.other_frames)
            )
        )
        if [frame["op"] for frame in node.session.other_frames] == [GatewayOpcode.HELLO]:
            assert set(acknowledged_contents) <= set(node.session.message_contents())
