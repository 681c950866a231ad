"""Sessions of a gateway process that is killed or paused continue on another one, without Invalid Session (decisions/0172)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import discord
import pytest
import yarl

from hubbub.protocol.enums import GatewayOpcode
from tests.chaos.cluster import Node, open_session, running_cluster
from tests.chaos.test_handover import Cluster, Sender, paused
from tests.chaos.test_lost_nodes import LocalNode, running_local_node
from tests.clients.discord_py_bot import Bot, run_bot
from tests.deploy.test_rolling_restart import create_bot
from tests.journeys.processes import (
    ApiUser,
    GatewaySession,
    Server,
    create_guild,
    read_metric,
    register_user,
    running_server,
)
from tests.journeys.test_many_processes import repeat_until_true

pytestmark = pytest.mark.xdist_group("many_processes")


@pytest.fixture
async def cluster(tmp_path: Path, postgres_database: str, nats_url: str) -> AsyncIterator[Cluster]:
    """An API process, three gateway processes, and a guild with two members."""
    nodes = [Node(), *(Node("gateway") for _ in range(3))]
    async with running_cluster(tmp_path, postgres_database, nats_url, nodes) as (client, servers):
        api, *gateways = servers
        alice, bob = [await register_user(client, api, name) for name in ("alice", "bob")]
        guild_id, channel_id, _ = await create_guild(alice, bob)
        yield Cluster(api, gateways, alice, bob, guild_id, channel_id)


async def wait_metric(user: ApiUser, server: Server, name: str, value: float) -> None:
    """Wait until a metric of a process has a value."""

    async def has_value() -> bool:
        return await read_metric(user.at_server(server), name) == value

    await repeat_until_true(has_value)


async def wait_copied(user: ApiUser, server: Server) -> None:
    """Wait until another process has a copy of every session of a process."""
    await wait_metric(user, server, "gateway_unprotected_sessions", 0)


async def resume_at(session: GatewaySession, server: Server) -> None:
    """Resume at a process, again whenever it asks the client to reconnect."""
    await session.abort_connection()
    dispatch_count, frame_count = len(session.dispatches), len(session.other_frames)

    def is_answered() -> bool:
        opcodes = [frame["op"] for frame in session.other_frames[frame_count:]]
        events = [frame["t"] for frame in session.dispatches[dispatch_count:]]
        return "RESUMED" in events or GatewayOpcode.INVALID_SESSION in opcodes

    while not is_answered():
        with suppress(aiohttp.ClientError):
            await session.resume(server.gateway)
            await session.wait_until(lambda: session.close_code is not None or is_answered())


async def test_sessions_of_a_killed_process_continue_on_other_processes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_gateway, second_gateway, third_gateway = cluster.gateways
    token = await create_bot(cluster.alice, cluster.guild_id)
    sessions = [await open_session(user, first_gateway) for user in (cluster.alice, cluster.bob, cluster.alice)]
    staying_session = await open_session(cluster.bob, second_gateway)
    monkeypatch.setattr(discord.http.Route, "BASE", f"{cluster.api.url}/api/v10")
    monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(first_gateway.gateway))
    async with run_bot(Bot(intents=discord.Intents(guilds=True, guild_messages=True)), token) as bot:
        # A load balancer would choose another process.
        bot.ws.gateway = yarl.URL(third_gateway.gateway)
        sender = Sender(cluster.alice, cluster.channel_id)
        await wait_copied(cluster.alice, first_gateway)
        await sessions[0].wait_message(f"message {len(sender.contents) + 20}")
        first_gateway.kill()
        targets = (second_gateway, third_gateway, second_gateway)
        await asyncio.gather(*(resume_at(session, target) for session, target in zip(sessions, targets, strict=True)))
        await bot.wait_event("resumed")
        await sessions[0].wait_message(f"message {len(sender.contents) + 20}")
        await sender.stop(*sessions, staying_session)
        for frame in sessions[0].dispatches:
            if frame["t"] == "MESSAGE_CREATE":
                assert (await bot.wait_event("message")).id == int(frame["d"]["id"])
        assert {"message", "ready", "guild_available"}.isdisjoint(record[0] for record in bot.inbox.events)
    for session in (*sessions, staying_session):
        # No user went offline.
        assert (cluster.alice.id, "offline") not in [
            (frame["d"]["user"]["id"], frame["d"]["status"])
            for frame in session.dispatches
            if frame["t"] == "PRESENCE_UPDATE"
        ]
        await session.close()


@asynccontextmanager
async def running_gateway(node: LocalNode, directory: Path) -> AsyncIterator[Server]:
    """Run a gateway process whose backup node is the node in this process."""
    async with running_server(
        directory,
        "serve",
        "--roles",
        "gateway",
        "--rate-limits",
        "off",
        "--gateway-drain-ms",
        "0",
        *node.flags,
    ) as server:
        await node.wait_known()
        yield server


async def test_a_session_continues_exactly_with_the_events_after_the_loss(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_local_node(tmp_path, postgres_database, nats_url) as node:
        async with running_gateway(node, tmp_path) as gateway:
            session = await open_session(node.user, gateway)
            sender = Sender(node.user, node.channel_id)
            await wait_copied(node.user, gateway)
            await session.wait_message(f"message {len(sender.contents) + 10}")
            gateway.kill()
            # Events of these messages are only buffered, because no client has resumed yet.
            await node.session.wait_message(f"message {len(sender.contents) + 10}")
            await resume_at(session, node.server)
            await sender.stop(session, node.session)
            await session.close()


async def test_a_paused_process_does_not_serve_sessions_that_another_one_continues(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with running_local_node(tmp_path, postgres_database, nats_url) as node:
        async with running_gateway(node, tmp_path) as gateway:
            moving_session, waiting_session = [await open_session(node.user, gateway) for _ in range(2)]
            await wait_copied(node.user, gateway)
            sender = Sender(node.user, node.channel_id)
            await moving_session.wait_message("message 5")
            with paused(gateway):
                await node.detect_lost_nodes()
                await resume_at(moving_session, node.server)
            # The process asks the client that is still connected to it to reconnect.
            await waiting_session.wait_closed()
            await wait_metric(node.user, gateway, "gateway_sessions", 0)
            await resume_at(waiting_session, node.server)
            await sender.stop(moving_session, waiting_session, node.session)
            for session in (moving_session, waiting_session):
                await session.close()


async def test_a_client_misses_nothing_when_the_backup_process_is_killed_too(cluster: Cluster) -> None:
    first_gateway, *other_gateways = cluster.gateways
    session = await open_session(cluster.bob, first_gateway)
    sender = Sender(cluster.alice, cluster.channel_id)
    await wait_copied(cluster.alice, first_gateway)
    copy_counts = [
        await read_metric(cluster.alice.at_server(server), "gateway_copied_sessions") for server in other_gateways
    ]
    backup_gateway, last_gateway = other_gateways if copy_counts[0] else reversed(other_gateways)
    first_gateway.kill()
    await resume_at(session, backup_gateway)
    backup_gateway.kill()
    await resume_at(session, last_gateway)
    opcodes = [frame["op"] for frame in session.other_frames]
    if GatewayOpcode.INVALID_SESSION not in opcodes:
        await sender.stop(session)
    # A client that starts again has no gap in what it received before.
    contents = session.message_contents()
    start = sender.contents.index(contents[0])
    assert contents[: len(sender.contents) - start] == sender.contents[start : start + len(contents)]
    assert session.sequence_numbers() == list(range(1, len(session.dispatches) + 1))
    await sender.stop()
    await session.close()
