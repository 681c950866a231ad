"""Calls on a platform of several processes: two voice servers over one PostgreSQL and one NATS."""

import ssl
from pathlib import Path

import aiohttp
import pytest

from hubbub.protocol.enums import ChannelType, RelationshipType, VoiceCloseCode
from hubbub.protocol.voice import VoiceOpcode
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, GatewayConfig
from tests.fixtures.validator import ResponseMonitor
from tests.game import create_game
from tests.journeys.processes import Server, running_server
from tests.server.voice.caller import Caller, fake_encrypted_frame
from tests.server.voice.lobby_caller import LobbyCaller, create_lobby_of_players
from tests.server.voice.private_caller import PrivateCaller, open_direct_channel
from tests.world import World, befriend

pytestmark = pytest.mark.xdist_group("many_processes")


async def test_a_call_moves_to_another_voice_server_when_its_own_stops(
    tmp_path: Path, postgres_database: str, nats_url: str, response_monitor: ResponseMonitor
) -> None:
    certificate_files = certificates.issue(tmp_path / "voice", [])
    ssl_context = ssl.create_default_context(cafile=certificate_files.authority_path)
    shared_flags = ["--database-url", postgres_database, "--nats-url", nats_url, "--data", str(tmp_path / "data")]
    voice_flags = [
        "--roles",
        "voice",
        "--voice-certificate-file",
        str(certificate_files.certificate_path),
        "--voice-key-file",
        str(certificate_files.key_path),
    ]
    app = App(
        Config(
            database_url=postgres_database,
            nats_url=nats_url,
            rate_limits="off",
            port=0,
            roles=frozenset({"api", "gateway", "worker"}),
            gateway=GatewayConfig(drain_ms=0, max_concurrency=100),
        )
    )
    await app.start()
    try:
        async with (
            running_server(tmp_path, "serve", *voice_flags, "--worker", "1", *shared_flags) as first_server,
            running_server(tmp_path, "serve", *voice_flags, "--worker", "2", *shared_flags) as second_server,
            aiohttp.ClientSession() as client,
        ):
            world = World(app, client)
            await check_calls(
                world,
                ssl_context,
                {server.document["voice"]["endpoint"]: server for server in (first_server, second_server)},
            )
            await world.close()
    finally:
        await app.stop()


async def check_calls(world: World, ssl_context: ssl.SSLContext, servers_by_endpoint: dict[str, Server]) -> None:
    """Run guild, lobby and private calls, stop both voice servers one after the other, and disconnect the callers."""
    guild = await world.guild(await world.user("alice"))
    channel_id = await guild.channel("Lounge", type=ChannelType.GUILD_VOICE)
    alice, bob = [Caller(world, await (await world.bot(guild)).connect(), guild, ssl_context) for _ in range(2)]
    for caller in (alice, bob):
        await caller.join_and_connect(channel_id)
        await caller.heartbeat()
    endpoint = alice.voice_server["endpoint"]
    assert bob.voice_server["endpoint"] == endpoint
    alice.send_frame(fake_encrypted_frame("hello"))
    assert await bob.receive_media() == (alice.ready["ssrc"], fake_encrypted_frame("hello"))
    (other_endpoint,) = servers_by_endpoint.keys() - {endpoint}
    unauthorized_caller = Caller(world, bob.session, guild, ssl_context)
    unauthorized_caller.voice_state, unauthorized_caller.voice_server = (
        bob.voice_state,
        {**bob.voice_server, "endpoint": other_endpoint},
    )
    await unauthorized_caller.open_socket()
    await unauthorized_caller.send_json(VoiceOpcode.IDENTIFY, unauthorized_caller.identify_payload())
    assert await unauthorized_caller.wait_close_code() == VoiceCloseCode.SERVER_NOT_FOUND

    # A process without a voice server mutes and unmutes a member of the call.
    path = f"/guilds/{guild.id}/members/{alice.actor.id}"
    (await guild.owner.patch(path, json={"mute": True})).ok()
    await alice.session.next("VOICE_STATE_UPDATE", lambda state: state["mute"])
    (await guild.owner.patch(path, json={"mute": False})).ok()

    lobby_game = await create_game(world)
    carol, dave = [
        LobbyCaller(world, await (await lobby_game.add_player()).connect_sdk(), ssl_context) for _ in range(2)
    ]
    lobby_id = await start_lobby_call(carol, dave, endpoint)
    servers_by_endpoint[endpoint].terminate()
    for caller, event in (
        (alice, "VOICE_SERVER_UPDATE"),
        (bob, "VOICE_SERVER_UPDATE"),
        (carol, "LOBBY_VOICE_SERVER_UPDATE"),
        (dave, "LOBBY_VOICE_SERVER_UPDATE"),
    ):
        caller.voice_server = await caller.session.next(event)
        assert caller.voice_server["endpoint"] == other_endpoint
        assert await caller.wait_close_code() == VoiceCloseCode.DISCONNECTED
        caller.udp_transport = None
    assert await servers_by_endpoint[endpoint].wait_ended() == 0
    for caller in (alice, bob, carol, dave):
        await connect_caller(caller)
    for sender, receiver in ((alice, bob), (carol, dave)):
        sender.send_frame(fake_encrypted_frame("here"))
        assert await receiver.receive_media() == (sender.ready["ssrc"], fake_encrypted_frame("here"))
    (await lobby_game.backend.delete(f"/lobbies/{lobby_id}")).ok()
    for caller in (carol, dave):
        assert await caller.wait_close_code() == VoiceCloseCode.CALL_TERMINATED
    await run_private_call(*[PrivateCaller(world, await (await world.user()).connect(), ssl_context) for _ in range(2)])

    (await guild.owner.patch(path, json={"channel_id": None})).ok()
    assert await alice.wait_close_code() == VoiceCloseCode.DISCONNECTED
    assert (await bob.next(VoiceOpcode.CLIENT_DISCONNECT))["user_id"] == str(alice.actor.id)
    await bob.socket.close(code=1000)
    bob_id = str(bob.actor.id)
    await bob.session.next(
        "VOICE_STATE_UPDATE", lambda state: (state["user_id"], state["channel_id"]) == (bob_id, None)
    )

    # Without a voice server there is no endpoint.
    servers_by_endpoint[other_endpoint].terminate()
    assert await servers_by_endpoint[other_endpoint].wait_ended() == 0
    await bob.join(channel_id)
    assert bob.voice_server["endpoint"] is None
    for caller in (alice, bob, carol, dave):
        await caller.close()


async def connect_caller(caller: Caller) -> None:
    """Connect to the voice server of the caller's ticket, announce speaking, and send a heartbeat."""
    await caller.open_socket()
    await caller.identify()
    await caller.discover_ip()
    await caller.select_protocol()
    await caller.send_json(VoiceOpcode.SPEAKING, {"speaking": 1, "delay": 0, "ssrc": caller.ready["ssrc"]})
    await caller.heartbeat()
    caller.last_nonce = 0


async def start_lobby_call(sender: LobbyCaller, receiver: LobbyCaller, endpoint: str) -> int:
    """Create a lobby whose call is on the server `endpoint`, connect both callers to it and check that audio arrives.

    The ID of a lobby determines the server of its call, so lobbies are created until one matches. Return the lobby's ID.
    """
    for number in range(50):
        lobby_id = await create_lobby_of_players(sender.actor, receiver.actor, secret=f"lobby {number}")
        await sender.join(lobby_id)
        if sender.voice_server["endpoint"] == endpoint:
            break
        # The sender has no connection to the voice server yet, so a voice state update is enough to leave the call.
        await sender.update_voice_state()
        await sender.session.next("LOBBY_VOICE_STATE_UPDATE", lambda state: state["channel_id"] is None)
    await connect_caller(sender)
    await receiver.join_and_connect(lobby_id)
    await receiver.heartbeat()
    assert receiver.voice_server["endpoint"] == endpoint
    sender.send_frame(fake_encrypted_frame("hello"))
    assert await receiver.receive_media() == (sender.ready["ssrc"], fake_encrypted_frame("hello"))
    return lobby_id


async def run_private_call(sender: PrivateCaller, receiver: PrivateCaller) -> None:
    """Start a private call between friends, check that audio arrives, and end the call with a block."""
    await befriend(sender.actor, receiver.actor)
    channel_id = await open_direct_channel(sender.actor, receiver.actor)
    for caller in (sender, receiver):
        await caller.join_and_connect(channel_id)
        await caller.heartbeat()
    sender.send_frame(fake_encrypted_frame("hello"))
    assert await receiver.receive_media() == (sender.ready["ssrc"], fake_encrypted_frame("hello"))
    (
        await receiver.actor.put(f"/users/@me/relationships/{sender.actor.id}", json={"type": RelationshipType.BLOCKED})
    ).ok()
    for caller in (sender, receiver):
        assert await caller.wait_close_code() == VoiceCloseCode.CALL_TERMINATED
        await caller.session.next("CALL_DELETE")
        await caller.close()
