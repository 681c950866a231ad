"""A call of two SDK clients on a platform of several processes moves to another voice server when its own stops."""

from pathlib import Path

import aiohttp
import pytest

from hubbub.sdk import CallStatus
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, GatewayConfig, VoiceConfig
from tests.fixtures.validator import ResponseMonitor
from tests.journeys.processes import running_server
from tests.sdk.audio import CallParticipant, connection_of, wait_for_mutual_audio
from tests.sdk.players import create_game, create_player
from tests.world import World

pytestmark = pytest.mark.xdist_group("many_processes")


async def test_two_sdk_clients_move_with_their_call(
    tmp_path: Path, postgres_database: str, nats_url: str, response_monitor: ResponseMonitor
) -> None:
    certificate_files = certificates.issue(tmp_path / "voice", [])
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
            voice=VoiceConfig(ca_file=str(certificate_files.authority_path)),
        )
    )
    await app.start()
    try:
        async with (
            running_server(tmp_path, "serve", *voice_flags, "--worker", "1", *shared_flags) as first_server,
            running_server(tmp_path, "serve", *voice_flags, "--worker", "2", *shared_flags) as second_server,
            aiohttp.ClientSession() as client,
        ):
            servers = {server.document["voice"]["endpoint"]: server for server in (first_server, second_server)}
            world = World(app, client)
            application, participants = await create_game(world), []
            for name, hertz in (("mary", 440.0), ("zoe", 660.0)):
                sdk_player = await create_player(world, application, name, threaded=False)
                participants.append(
                    CallParticipant(sdk_player, await sdk_player.client.create_or_join_lobby("secret"), hertz)
                )
                await participants[-1].wait_for_status(CallStatus.CONNECTED)
            await wait_for_mutual_audio(*participants)
            ticket = participants[0].call._state.ticket
            assert ticket is not None

            servers[ticket.endpoint].terminate()
            assert await servers[ticket.endpoint].wait_ended() == 0

            for participant in participants:
                await participant.wait_for_status(CallStatus.RECONNECTING)
                await participant.wait_for_status(CallStatus.CONNECTED)
                participant.recorder.clear()
            await wait_for_mutual_audio(*participants)
            assert {
                participant.call._state.ticket.endpoint
                for participant in participants
                if participant.call._state.ticket
            } == (servers.keys() - {ticket.endpoint})
            assert all(connection_of(participant)._encryption.ready for participant in participants)
            for participant in participants:
                await participant.player.client.close()
            await world.close()
    finally:
        await app.stop()
