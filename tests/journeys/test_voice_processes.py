"""Calls on a platform of several processes: two voice servers over one PostgreSQL and one NATS."""

import ssl
from pathlib import Path

import aiohttp
import pytest

from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, GatewayConfig
from tests.fixtures.validator import ResponseMonitor
from tests.game import game
from tests.journeys.processes import Server, running
from tests.server.voice.caller import Caller, opus
from tests.server.voice.lobby_caller import LobbyCaller, create_lobby
from tests.server.voice.private_caller import PrivateCaller, open_direct_channel
from tests.world import World, befriend

pytestmark = pytest.mark.xdist_group("many_processes")


async def test_a_call_moves_to_another_voice_server_when_its_own_stops(
    tmp_path: Path, postgres_database: str, nats_url: str, watch: ResponseMonitor
) -> None:
    made = certificates.issue(tmp_path / "voice", [])
    trust = ssl.create_default_context(cafile=made.authority)
    shared = ["--database-url", postgres_database, "--nats-url", nats_url, "--data", str(tmp_path / "data")]
    voice = ["--roles", "voice", "--voice-certificate", str(made.certificate), "--voice-key", str(made.key)]
    home = App(
        Config(
            database_url=postgres_database,
            nats_url=nats_url,
            rate_limits="off",
            port=0,
            roles=frozenset({"api", "gateway", "worker"}),
            gateway=GatewayConfig(drain_ms=0, max_concurrency=100),
        )
    )
    await home.start()
    try:
        async with (
            running(tmp_path, "serve", *voice, "--worker", "1", *shared) as one,
            running(tmp_path, "serve", *voice, "--worker", "2", *shared) as two,
            aiohttp.ClientSession() as client,
        ):
            world = World(home, client)
            await calls(world, trust, {server.document["voice"]["endpoint"]: server for server in (one, two)})
            await world.close()
    finally:
        await home.stop()


async def calls(world: World, trust: ssl.SSLContext, servers: dict[str, Server]) -> None:
    """Run a guild call, a lobby call and a private call; move users and disconnect them."""
    guild = await world.guild(await world.user("alice"))
    lounge = await guild.channel("Lounge", type=2)
    alice, bob = [Caller(world, await (await world.bot(guild)).connect(), guild, trust) for _ in range(2)]
    for caller in (alice, bob):
        await caller.join_and_connect(lounge)
        await caller.heartbeat()
    endpoint = alice.server["endpoint"]
    assert bob.server["endpoint"] == endpoint
    alice.send(opus("hello"))
    assert await bob.receive_media() == (alice.ready["ssrc"], opus("hello"))
    (other,) = servers.keys() - {endpoint}
    stranger = Caller(world, bob.session, guild, trust)
    stranger.state, stranger.server = bob.state, {**bob.server, "endpoint": other}
    await stranger.open()
    await stranger.send_json(0, stranger.identify_payload())
    assert await stranger.closed() == 4011

    # The voice server receives the platform's state: a muted user is silent, whichever process muted them.
    path = f"/guilds/{guild.id}/members/{alice.actor.id}"
    (await guild.owner.patch(path, json={"mute": True})).ok()
    await alice.session.next("VOICE_STATE_UPDATE", lambda state: state["mute"])
    (await guild.owner.patch(path, json={"mute": False})).ok()

    played = await game(world)
    carol, dave = [LobbyCaller(world, await (await played.player()).connect_sdk(), trust) for _ in range(2)]
    lobby = await meet(carol, dave, endpoint)
    servers[endpoint].terminate()
    for caller, event in (
        (alice, "VOICE_SERVER_UPDATE"),
        (bob, "VOICE_SERVER_UPDATE"),
        (carol, "LOBBY_VOICE_SERVER_UPDATE"),
        (dave, "LOBBY_VOICE_SERVER_UPDATE"),
    ):
        caller.server = await caller.session.next(event)
        assert caller.server["endpoint"] == other
        assert await caller.closed() == 4014
        caller.udp = None
    assert await servers[endpoint].ended() == 0
    for caller in (alice, bob, carol, dave):
        await connect(caller)
    for one, two in ((alice, bob), (carol, dave)):
        one.send(opus("here"))
        assert await two.receive_media() == (one.ready["ssrc"], opus("here"))
    (await played.backend.delete(f"/lobbies/{lobby}")).ok()
    for caller in (carol, dave):
        assert await caller.closed() == 4022
    await phone(*[PrivateCaller(world, await (await world.user()).connect(), trust) for _ in range(2)])

    (await guild.owner.patch(path, json={"channel_id": None})).ok()
    assert await alice.closed() == 4014
    assert (await bob.next(13))["user_id"] == str(alice.actor.id)
    await bob.socket.close(code=1000)
    own = str(bob.actor.id)
    await bob.session.next("VOICE_STATE_UPDATE", lambda state: (state["user_id"], state["channel_id"]) == (own, None))

    # Without a voice server there is no endpoint.
    servers[other].terminate()
    assert await servers[other].ended() == 0
    await bob.join(lounge)
    assert bob.server["endpoint"] is None
    for caller in (alice, bob, carol, dave):
        await caller.close()


async def connect(caller: Caller) -> None:
    """Complete the connection that follows a voice ticket."""
    await caller.open()
    await caller.identify()
    await caller.discover()
    await caller.select()
    await caller.send_json(5, {"speaking": 1, "delay": 0, "ssrc": caller.ready["ssrc"]})
    await caller.heartbeat()
    caller.number = 0


async def meet(one: LobbyCaller, two: LobbyCaller, endpoint: str) -> int:
    """Send audio in a lobby whose call is on this server; the lobby's id determines the server."""
    for number in range(50):
        lobby = await create_lobby(one.actor, two.actor, secret=f"lobby {number}")
        await one.join(lobby)
        if one.server["endpoint"] == endpoint:
            break
        # The array state is enough; the call ends with the next one.
        await one.update_voice_state()
        await one.session.next("LOBBY_VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
    await connect(one)
    await two.join_and_connect(lobby)
    await two.heartbeat()
    assert two.server["endpoint"] == endpoint
    one.send(opus("hello"))
    assert await two.receive_media() == (one.ready["ssrc"], opus("hello"))
    return lobby


async def phone(one: PrivateCaller, two: PrivateCaller) -> None:
    """Start and end a private call between friends."""
    await befriend(one.actor, two.actor)
    channel = await open_direct_channel(one.actor, two.actor)
    for caller in (one, two):
        await caller.join_and_connect(channel)
        await caller.heartbeat()
    one.send(opus("hello"))
    assert await two.receive_media() == (one.ready["ssrc"], opus("hello"))
    (await two.actor.put(f"/users/@me/relationships/{one.actor.id}", json={"type": 2})).ok()
    for caller in (one, two):
        assert await caller.closed() == 4022
        await caller.session.next("CALL_DELETE")
        await caller.close()
