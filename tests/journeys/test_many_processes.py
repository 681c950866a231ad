"""A platform of several processes over one PostgreSQL and one NATS: events, jobs, presences, outages, killed nodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from hubbub.protocol.enums import ChannelType, CloseCode, GatewayOpcode, OverwriteType
from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.core.config import Config, GatewayConfig, Role
from hubbub.server.transports.gateway.presence import NODE_TIMEOUT_SECONDS
from tests.fixtures.nats import NatsServer
from tests.journeys.processes import (
    TIMEOUT_SECONDS,
    ApiUser,
    GatewaySession,
    Server,
    create_guild,
    register_user,
    running_server,
)

pytestmark = pytest.mark.xdist_group("many_processes")

DENY_VIEW_OVERWRITE = {"type": OverwriteType.MEMBER, "allow": "0", "deny": str(int(Permissions.VIEW_CHANNEL))}


@dataclass
class Cluster:
    """The processes, and an HTTP client for them."""

    client: aiohttp.ClientSession
    apis: list[Server]
    gateways: list[Server]

    async def open_session(self, user: ApiUser, gateway_index: int, **options: Any) -> GatewaySession:
        """Open a session at one of the gateways."""
        return await GatewaySession(user, self.gateways[gateway_index].gateway, **options).open()


@contextlib.asynccontextmanager
async def run_cluster(
    directory: Path, database_url: str, nats_url: str, startup_code: str = ""
) -> AsyncIterator[Cluster]:
    """Start all processes at the same time on an empty database, which exactly one of them migrates.

    At the end all processes terminate with exit code 0.
    """
    roles = ["api,worker", "api", "gateway", "gateway"]
    shared_flags = ["--database-url", database_url, "--nats-url", nats_url, "--rate-limits", "off"]
    shared_flags += ["--data", str(directory / "data"), "--gateway-drain-ms", "100"]
    servers = [
        Server(
            directory, "serve", "--roles", role_names, "--worker", str(number), *shared_flags, startup_code=startup_code
        )
        for number, role_names in enumerate(roles)
    ]
    try:
        await asyncio.gather(*(server.start() for server in servers))
        async with aiohttp.ClientSession() as client:
            yield Cluster(client, servers[:2], servers[2:])
        for server in servers:
            server.terminate()
        assert [await server.wait_ended() for server in servers] == [0, 0, 0, 0]
    finally:
        for server in servers:
            server.stop()


@contextlib.asynccontextmanager
async def run_local_node(
    directory: Path, database_url: str, nats_url: str, roles: frozenset[Role] = Config().roles
) -> AsyncIterator[tuple[App, Server, list[str]]]:
    """Run a node in this process, so that a test can advance the time by which it watches other nodes.

    Yield the node, a Server object with its URLs, and the flags for another node.
    """
    gateway = GatewayConfig(drain_ms=0)
    app = App(
        Config(database_url=database_url, nats_url=nats_url, rate_limits="off", port=0, gateway=gateway, roles=roles)
    )
    await app.start()
    try:
        server = Server(directory, "serve")
        server.document = {"web": app.config.public_url, "gateway": f"{app.config.public_url}/gateway"}
        yield app, server, ["--worker", "1", "--database-url", database_url, "--nats-url", nats_url]
    finally:
        await app.stop()


DISABLE_POLLING = "from hubbub.server import app; app.POLL_MS = 3_600_000"
"""Startup code of servers whose workers do not poll during a test, so that they must be notified of jobs."""


async def repeat_until_true(check: Callable[[], Any]) -> None:
    """Repeat a check until it succeeds or times out."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await check():
            await asyncio.sleep(0.02)


async def test_an_event_in_one_process_reaches_all_processes(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with run_cluster(tmp_path, postgres_database, nats_url, DISABLE_POLLING) as cluster:
        first_api, second_api = cluster.apis
        alice, bob, carol = [
            await register_user(cluster.client, api, "user") for api in (first_api, second_api, first_api)
        ]
        guild_id, channel_id, _ = await create_guild(alice, bob, carol)
        alice_session = await cluster.open_session(alice, 0)
        bob_session = await cluster.open_session(bob, 1, compress="zlib-stream")

        await check_messages_reach_both_gateways(alice, second_api, channel_id, [alice_session, bob_session])
        second_alice_session = await cluster.open_session(alice, 1)
        await check_permissions_apply_immediately(
            alice, bob, first_api, second_api, channel_id, bob_session, second_alice_session
        )
        await second_alice_session.close()
        await check_presence_reaches_all_processes(cluster, alice, bob, carol, guild_id, alice_session, bob_session)
        await check_jobs_run_in_the_worker_process(
            alice.at_server(second_api), guild_id, channel_id, alice_session, postgres_database
        )
        await check_revoked_token_is_rejected_everywhere(alice, bob, first_api, second_api, channel_id, bob_session)
        await alice_session.close()


async def check_messages_reach_both_gateways(
    alice: ApiUser, second_api: Server, channel_id: str, sessions: list[GatewaySession]
) -> None:
    await alice.create_message(channel_id, "from the first")
    await alice.at_server(second_api).create_message(channel_id, "from the second")
    for session in sessions:
        await session.wait_message("from the second")
        assert session.message_contents() == ["from the first", "from the second"]


async def check_permissions_apply_immediately(
    alice: ApiUser,
    bob: ApiUser,
    first_api: Server,
    second_api: Server,
    channel_id: str,
    bob_session: GatewaySession,
    second_alice_session: GatewaySession,
) -> None:
    path = f"/channels/{channel_id}/permissions/{bob.id}"
    for number in range(5):
        (await alice.at_server(second_api).request("PUT", path, json=DENY_VIEW_OVERWRITE)).ok()
        await alice.at_server(first_api).create_message(channel_id, f"secret {number}")
        (await bob.at_server(first_api).get(f"/channels/{channel_id}/messages")).rejected(403, 50001)
        # A gateway that reads the permissions late may read them after they are restored, so wait for this message first.
        await second_alice_session.wait_message(f"secret {number}")
        (await alice.at_server(second_api).request("DELETE", path)).ok()
        await alice.at_server(first_api).create_message(channel_id, f"open {number}")
        await bob_session.wait_message(f"open {number}")
    assert not [content for content in bob_session.message_contents() if content.startswith("secret")]


async def check_presence_reaches_all_processes(
    cluster: Cluster,
    alice: ApiUser,
    bob: ApiUser,
    carol: ApiUser,
    guild_id: str,
    alice_session: GatewaySession,
    bob_session: GatewaySession,
) -> None:
    await bob_session.send(
        GatewayOpcode.PRESENCE_UPDATE, {"status": "dnd", "activities": [], "since": None, "afk": False}
    )
    await alice_session.wait_event(
        "PRESENCE_UPDATE", lambda data: data["user"]["id"] == bob.id and data["status"] == "dnd"
    )

    async def has_online_count(api: Server, count: int) -> bool:
        guild = (await alice.at_server(api).get(f"/guilds/{guild_id}?with_counts=true")).ok()
        return bool(guild["approximate_presence_count"] == count)

    for api in cluster.apis:
        await repeat_until_true(lambda api=api: has_online_count(api, 2))  # type: ignore[misc]
    # A user who connects later at the other gateway finds the presence in the guild.
    carol_session = await cluster.open_session(carol, 0)
    guild = await carol_session.wait_event("GUILD_CREATE")
    assert {presence["user"]["id"]: presence["status"] for presence in guild["presences"]}[bob.id] == "dnd"
    await bob_session.wait_event(
        "PRESENCE_UPDATE", lambda data: data["user"]["id"] == carol.id and data["status"] == "online"
    )
    frame_count = len(bob_session.dispatches)
    assert carol_session.socket is not None
    await carol_session.socket.close(code=1000)
    await bob_session.wait_event(
        "PRESENCE_UPDATE",
        lambda data: data["user"]["id"] == carol.id and data["status"] == "offline",
        since=frame_count,
    )
    for api in cluster.apis:
        await repeat_until_true(lambda api=api: has_online_count(api, 2))  # type: ignore[misc]


async def check_jobs_run_in_the_worker_process(
    alice: ApiUser, guild_id: str, channel_id: str, alice_session: GatewaySession, postgres_database: str
) -> None:
    """Check that the worker process runs the jobs of the second API process immediately, without waiting for a poll."""
    channel = (await alice.post(f"/guilds/{guild_id}/channels", {"name": "deleted"})).ok()
    await alice.create_message(channel["id"], "deleted with the channel")
    invite = (await alice.post(f"/channels/{channel_id}/invites", {"max_age": 1})).ok()
    (await alice.request("DELETE", f"/channels/{channel['id']}")).ok()
    async with await psycopg.AsyncConnection.connect(postgres_database, autocommit=True) as connection:

        async def are_messages_deleted() -> bool:
            cursor = await connection.execute("SELECT count(*) FROM messages WHERE channel_id = %s", (channel["id"],))
            return (await cursor.fetchone()) == (0,)

        await repeat_until_true(are_messages_deleted)
    # A job that is due later publishes its own events, on the process that ran it.
    await alice_session.wait_event("INVITE_DELETE", lambda data: data["code"] == invite["code"])


async def check_revoked_token_is_rejected_everywhere(
    alice: ApiUser, bob: ApiUser, first_api: Server, second_api: Server, channel_id: str, bob_session: GatewaySession
) -> None:
    for api in (first_api, second_api):
        (await bob.at_server(api).get("/users/@me")).ok()
    (await bob.at_server(first_api).post("/auth/logout")).ok()
    (await bob.at_server(first_api).get("/users/@me")).rejected(401, 0)
    assert await bob_session.wait_closed() == CloseCode.AUTHENTICATION_FAILED

    async def is_token_rejected() -> bool:
        return (await bob.at_server(second_api).get("/users/@me")).status == 401

    await repeat_until_true(is_token_rejected)


async def test_sessions_restart_after_a_bus_outage(
    tmp_path: Path, postgres_database: str, start_nats_server: Callable[[], NatsServer]
) -> None:
    nats = start_nats_server()
    async with run_cluster(tmp_path, postgres_database, nats.url) as cluster:
        first_api, second_api = cluster.apis
        alice, bob, carol = [
            await register_user(cluster.client, api, "user") for api in (first_api, second_api, first_api)
        ]
        _, channel_id, _ = await create_guild(alice, bob, carol)
        sessions = [
            await cluster.open_session(alice, 0),
            await cluster.open_session(bob, 1),
            await cluster.open_session(alice, 1),
        ]
        await alice.create_message(channel_id, "before")
        for session in sessions:
            await session.wait_message("before")
        (await carol.at_server(second_api).get("/users/@me")).ok()

        async def is_bus_state(is_healthy: bool) -> bool:
            responses = [await cluster.client.get(f"{server.url}/readyz") for server in cluster.apis + cluster.gateways]
            return all((response.status == 200) == is_healthy for response in responses)

        nats.stop()
        await repeat_until_true(lambda: is_bus_state(False))
        # Responses depend only on the store, so writes continue.
        await alice.at_server(first_api).create_message(channel_id, "during the outage")
        # Revocations cannot be received, so no cached token is trusted.
        (await carol.at_server(first_api).post("/auth/logout")).ok()
        (await carol.at_server(second_api).get("/users/@me")).rejected(401, 0)
        nats.start()
        await repeat_until_true(lambda: is_bus_state(True))
        for session in sessions:
            # Missed events are unknown, so the session starts again and reads the current state.
            assert (await session.wait_opcode(GatewayOpcode.INVALID_SESSION))["d"] is False
            frame_count = len(session.dispatches)
            await session.identify()
            await session.wait_event("GUILD_CREATE", since=frame_count)
        history = (await bob.get(f"/channels/{channel_id}/messages")).ok()
        assert [message["content"] for message in history[:2]] == ["during the outage", "before"]
        for server in cluster.apis:
            await alice.at_server(server).create_message(channel_id, f"after by {server.port}")
            for session in sessions:
                await session.wait_message(f"after by {server.port}")
        # Presences are delivered again too.
        await sessions[1].send(
            GatewayOpcode.PRESENCE_UPDATE, {"status": "idle", "activities": [], "since": None, "afk": False}
        )
        await sessions[0].wait_event(
            "PRESENCE_UPDATE", lambda data: data["user"]["id"] == bob.id and data["status"] == "idle"
        )
        for session in sessions:
            await session.close()


async def test_another_node_cleans_up_after_a_killed_gateway(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with run_local_node(tmp_path, postgres_database, nats_url) as (app, local_server, flags):
        async with (
            running_server(tmp_path, "serve", "--roles", "gateway", *flags) as killed_gateway,
            aiohttp.ClientSession() as client,
        ):
            alice, bob = [await register_user(client, local_server, "user") for _ in range(2)]
            guild_id, _, _ = await create_guild(alice, bob)
            channels = (await alice.get(f"/guilds/{guild_id}/channels")).ok()
            voice_id = next(channel["id"] for channel in channels if channel["type"] == ChannelType.GUILD_VOICE)
            alice_session = await GatewaySession(alice, local_server.gateway).open()
            bob_session = await GatewaySession(bob, killed_gateway.gateway).open()
            await bob_session.send(
                GatewayOpcode.VOICE_STATE_UPDATE,
                {"guild_id": guild_id, "channel_id": voice_id, "self_mute": False, "self_deaf": False},
            )
            await alice_session.wait_event("VOICE_STATE_UPDATE", lambda data: data["channel_id"] == voice_id)
            await alice_session.wait_event(
                "PRESENCE_UPDATE", lambda data: data["user"]["id"] == bob.id and data["status"] == "online"
            )
            killed_gateway.kill()
            # Sweep with a later time, as if the timeout of the killed node had passed.
            assert app.gateway is not None
            app.gateway.sessions.presence_feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            await alice_session.wait_event("VOICE_STATE_UPDATE", lambda data: data["channel_id"] is None)
            await alice_session.wait_event(
                "PRESENCE_UPDATE", lambda data: data["user"]["id"] == bob.id and data["status"] == "offline"
            )
            assert (await alice.get(f"/guilds/{guild_id}/voice-states/{bob.id}")).status == 404
            assert [frame["op"] for frame in alice_session.other_frames] == [GatewayOpcode.HELLO]
            await alice_session.close()
            await bob_session.close()


async def test_sessions_continue_when_another_node_shuts_down_or_fails_after_it_published_its_events(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with run_local_node(tmp_path, postgres_database, nats_url) as (app, local_server, flags):
        async with aiohttp.ClientSession() as client:
            alice = await register_user(client, local_server, "alice")
            _, channel_id, _ = await create_guild(alice)
            session = await GatewaySession(alice, local_server.gateway).open()
            assert app.gateway is not None
            feed = app.gateway.sessions.presence_feed

            async with running_server(tmp_path, "serve", "--roles", "api", *flags) as terminated_api:
                await alice.at_server(terminated_api).create_message(channel_id, "from the terminated process")
                terminated_api.terminate()
                assert await terminated_api.wait_ended() == 0
            # Bus messages arrive in order, so after a flush the shutdown announcement has arrived.
            await app.bus.flush()
            feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            await alice.create_message(channel_id, "still here")
            await session.wait_message("still here")
            assert [frame["op"] for frame in session.other_frames] == [GatewayOpcode.HELLO]

            async with running_server(tmp_path, "serve", "--roles", "api", *flags) as killed_api:
                await alice.at_server(killed_api).create_message(channel_id, "from the killed process")
                await session.wait_message("from the killed process")
                killed_api.kill()
            feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            await asyncio.gather(*feed.lost_node_checks)
            await alice.create_message(channel_id, "again")
            await session.wait_message("again")
            assert [frame["op"] for frame in session.other_frames] == [GatewayOpcode.HELLO]
            await session.close()
