"""One platform of several processes: two for the API and two for the gateway, over one PostgreSQL and one NATS."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from hubbub.protocol.permissions import Permissions
from hubbub.server.app import App
from hubbub.server.core.config import Config, GatewayConfig
from hubbub.server.transports.gateway.presence import NODE_TIMEOUT_SECONDS
from tests.fixtures.nats import NatsServer
from tests.journeys.processes import TIMEOUT_SECONDS, ApiUser, GatewaySession, Server, create_guild, register, running

pytestmark = pytest.mark.xdist_group("many_processes")

DENIED = {"type": 1, "allow": "0", "deny": str(int(Permissions.VIEW_CHANNEL))}


@dataclass
class Cluster:
    """The processes, and an HTTP client for them."""

    client: aiohttp.ClientSession
    apis: list[Server]
    gateways: list[Server]

    async def listen(self, person: ApiUser, gateway: int, **options: Any) -> GatewaySession:
        """Open a session at one of the gateways."""
        return await GatewaySession(person, self.gateways[gateway].gateway, **options).open()


@contextlib.asynccontextmanager
async def cluster(directory: Path, database_url: str, nats_url: str, first: str = "") -> AsyncIterator[Cluster]:
    """Start all processes at once on an empty database; they agree on which one migrates it."""
    roles = ["api,worker", "api", "gateway", "gateway"]
    shared = ["--database-url", database_url, "--nats-url", nats_url, "--rate-limits", "off"]
    shared += ["--data", str(directory / "data"), "--gateway-drain-ms", "100"]
    servers = [
        Server(directory, "serve", "--roles", some, "--worker", str(number), *shared, first=first)
        for number, some in enumerate(roles)
    ]
    try:
        await asyncio.gather(*(server.start() for server in servers))
        async with aiohttp.ClientSession() as client:
            yield Cluster(client, servers[:2], servers[2:])
        for server in servers:
            server.terminate()
        assert [await server.ended() for server in servers] == [0, 0, 0, 0]
    finally:
        for server in servers:
            server.stop()


@contextlib.asynccontextmanager
async def local_node(directory: Path, database_url: str, nats_url: str) -> AsyncIterator[tuple[App, Server, list[str]]]:
    """Run a node in this process whose node watch a test can advance; yield it, its URL and flags for another node."""
    gateway = GatewayConfig(drain_ms=0)
    here = App(Config(database_url=database_url, nats_url=nats_url, rate_limits="off", port=0, gateway=gateway))
    await here.start()
    try:
        home = Server(directory, "serve")
        home.document = {"web": here.config.public_url, "gateway": f"{here.config.public_url}/gateway"}
        yield here, home, ["--worker", "1", "--database-url", database_url, "--nats-url", nats_url]
    finally:
        await here.stop()


NEVER_POLLS = "from hubbub.server import app; app.POLL_MS = 3_600_000"
"""Workers must be notified of jobs: they do not poll during a test."""


async def wait_until(ask: Callable[[], Any]) -> None:
    """Repeat a check until it succeeds or times out."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not await ask():
            await asyncio.sleep(0.02)


async def test_an_event_in_one_process_reaches_all_processes(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with cluster(tmp_path, postgres_database, nats_url, NEVER_POLLS) as platform:
        one, two = platform.apis
        alice, bob, carol = [await register(platform.client, api, "person") for api in (one, two, one)]
        guild_id, channel_id, _ = await create_guild(alice, bob, carol)
        alice_hears = await platform.listen(alice, 0)
        bob_hears = await platform.listen(bob, 1, compress="zlib-stream")

        await messages_reach_both_gateways(alice, two, channel_id, [alice_hears, bob_hears])
        witness = await platform.listen(alice, 1)
        await permissions_filter_at_once(alice, bob, one, two, channel_id, bob_hears, witness)
        await witness.close()
        await presence_is_seen_everywhere(platform, alice, bob, carol, guild_id, alice_hears, bob_hears)
        await jobs_run_where_the_worker_is(alice.at(two), guild_id, channel_id, alice_hears, postgres_database)
        await a_revoked_token_ends_everywhere(alice, bob, one, two, channel_id, bob_hears)
        await alice_hears.close()


async def messages_reach_both_gateways(
    alice: ApiUser, two: Server, channel_id: str, listeners: list[GatewaySession]
) -> None:
    await alice.create_message(channel_id, "from the first")
    await alice.at(two).create_message(channel_id, "from the second")
    for listener in listeners:
        await listener.message("from the second")
        assert listener.contents() == ["from the first", "from the second"]


async def permissions_filter_at_once(
    alice: ApiUser,
    bob: ApiUser,
    one: Server,
    two: Server,
    channel_id: str,
    bob_hears: GatewaySession,
    witness: GatewaySession,
) -> None:
    path = f"/channels/{channel_id}/permissions/{bob.id}"
    for number in range(5):
        (await alice.at(two).request("PUT", path, json=DENIED)).ok()
        await alice.at(one).create_message(channel_id, f"secret {number}")
        (await bob.at(one).get(f"/channels/{channel_id}/messages")).rejected(403, 50001)
        # A gateway that is late uses the permissions at the time of reading, when Bob may see everything again.
        await witness.message(f"secret {number}")
        (await alice.at(two).request("DELETE", path)).ok()
        await alice.at(one).create_message(channel_id, f"open {number}")
        await bob_hears.message(f"open {number}")
    assert not [content for content in bob_hears.contents() if content.startswith("secret")]


async def presence_is_seen_everywhere(
    platform: Cluster,
    alice: ApiUser,
    bob: ApiUser,
    carol: ApiUser,
    guild_id: str,
    alice_hears: GatewaySession,
    bob_hears: GatewaySession,
) -> None:
    await bob_hears.send(3, {"status": "dnd", "activities": [], "since": None, "afk": False})
    await alice_hears.event("PRESENCE_UPDATE", lambda d: d["user"]["id"] == bob.id and d["status"] == "dnd")

    async def online(api: Server, count: int) -> bool:
        guild = (await alice.at(api).get(f"/guilds/{guild_id}?with_counts=true")).ok()
        return bool(guild["approximate_presence_count"] == count)

    for api in platform.apis:
        await wait_until(lambda api=api: online(api, 2))  # type: ignore[misc]
    # A user who connects later at the other gateway finds the presence in the guild.
    carol_hears = await platform.listen(carol, 0)
    guild = await carol_hears.event("GUILD_CREATE")
    assert {row["user"]["id"]: row["status"] for row in guild["presences"]}[bob.id] == "dnd"
    await bob_hears.event("PRESENCE_UPDATE", lambda d: d["user"]["id"] == carol.id and d["status"] == "online")
    before = len(bob_hears.frames)
    assert carol_hears.socket is not None
    await carol_hears.socket.close(code=1000)
    await bob_hears.event(
        "PRESENCE_UPDATE", lambda d: d["user"]["id"] == carol.id and d["status"] == "offline", since=before
    )
    for api in platform.apis:
        await wait_until(lambda api=api: online(api, 2))  # type: ignore[misc]


async def jobs_run_where_the_worker_is(
    alice: ApiUser, guild_id: str, channel_id: str, alice_hears: GatewaySession, postgres_database: str
) -> None:
    """The second API process has no worker: the first one runs its jobs at once, without waiting for its next poll."""
    made = (await alice.post(f"/guilds/{guild_id}/channels", {"name": "doomed"})).ok()
    await alice.create_message(made["id"], "gone soon")
    invite = (await alice.post(f"/channels/{channel_id}/invites", {"max_age": 1})).ok()
    (await alice.request("DELETE", f"/channels/{made['id']}")).ok()
    async with await psycopg.AsyncConnection.connect(postgres_database, autocommit=True) as connection:

        async def forgotten() -> bool:
            cursor = await connection.execute("SELECT count(*) FROM messages WHERE channel_id = %s", (made["id"],))
            return (await cursor.fetchone()) == (0,)

        await wait_until(forgotten)
    # A job that is due later publishes its own events, on the process that ran it.
    await alice_hears.event("INVITE_DELETE", lambda d: d["code"] == invite["code"])


async def a_revoked_token_ends_everywhere(
    alice: ApiUser, bob: ApiUser, one: Server, two: Server, channel_id: str, bob_hears: GatewaySession
) -> None:
    for api in (one, two):
        (await bob.at(api).get("/users/@me")).ok()
    (await bob.at(one).post("/auth/logout")).ok()
    (await bob.at(one).get("/users/@me")).rejected(401, 0)
    assert await bob_hears.wait_closed() == 4004

    async def refused() -> bool:
        return (await bob.at(two).get("/users/@me")).status == 401

    await wait_until(refused)


async def test_sessions_restart_after_a_bus_outage(
    tmp_path: Path, postgres_database: str, nats_server: Callable[[], NatsServer]
) -> None:
    nats = nats_server()
    async with cluster(tmp_path, postgres_database, nats.url) as platform:
        one, two = platform.apis
        alice, bob, carol = [await register(platform.client, api, "person") for api in (one, two, one)]
        _, channel_id, _ = await create_guild(alice, bob, carol)
        listeners = [await platform.listen(alice, 0), await platform.listen(bob, 1), await platform.listen(alice, 1)]
        await alice.create_message(channel_id, "before")
        for listener in listeners:
            await listener.message("before")
        (await carol.at(two).get("/users/@me")).ok()

        async def bus_is(state: bool) -> bool:
            answers = [
                await platform.client.get(f"{server.url}/readyz") for server in platform.apis + platform.gateways
            ]
            return all((answer.status == 200) == state for answer in answers)

        nats.stop()
        await wait_until(lambda: bus_is(False))
        # Responses depend only on the store, so writes continue.
        await alice.at(one).create_message(channel_id, "unheard")
        # Revocations cannot be received, so no cached token is trusted.
        (await carol.at(one).post("/auth/logout")).ok()
        (await carol.at(two).get("/users/@me")).rejected(401, 0)
        nats.start()
        await wait_until(lambda: bus_is(True))
        for listener in listeners:
            # Missed events are unknown, so the session starts again and reads the current state.
            assert (await listener.opcode(9))["d"] is False
            before = len(listener.frames)
            await listener.identify()
            await listener.event("GUILD_CREATE", since=before)
        history = (await bob.get(f"/channels/{channel_id}/messages")).ok()
        assert [message["content"] for message in history[:2]] == ["unheard", "before"]
        for server in platform.apis:
            await alice.at(server).create_message(channel_id, f"after by {server.port}")
            for listener in listeners:
                await listener.message(f"after by {server.port}")
        # Presences are complete again too.
        await listeners[1].send(3, {"status": "idle", "activities": [], "since": None, "afk": False})
        await listeners[0].event("PRESENCE_UPDATE", lambda d: d["user"]["id"] == bob.id and d["status"] == "idle")
        for listener in listeners:
            await listener.close()


async def test_another_node_cleans_up_after_a_killed_gateway(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    async with local_node(tmp_path, postgres_database, nats_url) as (here, home, flags):
        async with (
            running(tmp_path, "serve", "--roles", "gateway", *flags) as doomed,
            aiohttp.ClientSession() as client,
        ):
            alice, bob = [await register(client, home, "person") for _ in range(2)]
            guild_id, _, _ = await create_guild(alice, bob)
            channels = (await alice.get(f"/guilds/{guild_id}/channels")).ok()
            voice_id = next(channel["id"] for channel in channels if channel["type"] == 2)
            alice_hears = await GatewaySession(alice, home.gateway).open()
            bob_hears = await GatewaySession(bob, doomed.gateway).open()
            await bob_hears.send(
                4, {"guild_id": guild_id, "channel_id": voice_id, "self_mute": False, "self_deaf": False}
            )
            await alice_hears.event("VOICE_STATE_UPDATE", lambda d: d["channel_id"] == voice_id)
            await alice_hears.event("PRESENCE_UPDATE", lambda d: d["user"]["id"] == bob.id and d["status"] == "online")
            doomed.kill()
            # Advance the clock by which nodes watch each other.
            assert here.gateway is not None
            here.gateway.sessions.presence_feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            assert (await alice_hears.opcode(9))["d"] is False

            async def cleared_away() -> bool:
                return (await alice.get(f"/guilds/{guild_id}/voice-states/{bob.id}")).status == 404

            await wait_until(cleared_away)
            before = len(alice_hears.frames)
            await alice_hears.identify()
            guild = await alice_hears.event("GUILD_CREATE", since=before)
            assert guild["voice_states"] == []
            assert bob.id not in {each["user"]["id"] for each in guild["presences"] if each["status"] != "offline"}
            await alice_hears.close()
            await bob_hears.close()


async def test_sessions_restart_when_another_node_dies_but_not_when_it_shuts_down(
    tmp_path: Path, postgres_database: str, nats_url: str
) -> None:
    """Events that a killed process committed but did not publish are lost for the sessions of other nodes."""
    async with local_node(tmp_path, postgres_database, nats_url) as (here, home, flags):
        async with aiohttp.ClientSession() as client:
            alice = await register(client, home, "alice")
            _, channel_id, _ = await create_guild(alice)
            hears = await GatewaySession(alice, home.gateway).open()
            assert here.gateway is not None
            feed = here.gateway.sessions.presence_feed

            async with running(tmp_path, "serve", "--roles", "api", *flags) as leaving:
                await alice.at(leaving).create_message(channel_id, "by one that goes")
                leaving.terminate()
                assert await leaving.ended() == 0
            # Bus messages arrive in order, so with this one the shutdown announcement has arrived too.
            await here.bus.flush()
            feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            await alice.create_message(channel_id, "still here")
            await hears.message("still here")
            assert [frame["op"] for frame in hears.opcodes] == [10]

            async with running(tmp_path, "serve", "--roles", "api", *flags) as doomed:
                await alice.at(doomed).create_message(channel_id, "by one that dies")
                await hears.message("by one that dies")
                doomed.kill()
            feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS / 2)
            assert [frame["op"] for frame in hears.opcodes] == [10]
            feed.sweep(asyncio.get_running_loop().time() + NODE_TIMEOUT_SECONDS)
            assert (await hears.opcode(9))["d"] is False
            before = len(hears.frames)
            await hears.identify()
            await hears.event("GUILD_CREATE", since=before)
            await alice.create_message(channel_id, "again")
            await hears.message("again", since=before)
            await hears.close()
