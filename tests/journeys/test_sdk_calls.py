"""A call of two SDK clients on a platform of several processes moves to another voice server when theirs stops."""

from pathlib import Path

import aiohttp
import pytest

from hubbub.sdk import CallStatus
from hubbub.server.app import App
from hubbub.server.commands import certificates
from hubbub.server.core.config import Config, GatewayConfig, VoiceConfig
from tests.fixtures.validator import ResponseMonitor
from tests.journeys.processes import running
from tests.sdk.audio import CallParticipant
from tests.sdk.players import game, player
from tests.sdk.test_calls import connection_of, wait_for_mutual_audio
from tests.world import World

pytestmark = pytest.mark.xdist_group("many_processes")


async def test_two_sdk_clients_move_with_their_call(
    tmp_path: Path, postgres_database: str, nats_url: str, watch: ResponseMonitor
) -> None:
    made = certificates.issue(tmp_path / "voice", [])
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
            voice=VoiceConfig(authority=str(made.authority)),
        )
    )
    await home.start()
    try:
        async with (
            running(tmp_path, "serve", *voice, "--worker", "1", *shared) as one,
            running(tmp_path, "serve", *voice, "--worker", "2", *shared) as two,
            aiohttp.ClientSession() as client,
        ):
            servers = {server.document["voice"]["endpoint"]: server for server in (one, two)}
            world = World(home, client)
            application, people = await game(world), []
            for name, hertz in (("mary", 440.0), ("zoe", 660.0)):
                person = await player(world, application, name, threaded=False)
                people.append(CallParticipant(person, await person.client.create_or_join_lobby("secret"), hertz))
                await people[-1].wait_for_status(CallStatus.CONNECTED)
            await wait_for_mutual_audio(*people)
            first = people[0].call._state.ticket
            assert first is not None

            servers[first.endpoint].terminate()
            assert await servers[first.endpoint].ended() == 0

            for each in people:
                await each.wait_for_status(CallStatus.RECONNECTING)
                await each.wait_for_status(CallStatus.CONNECTED)
                each.recorder.clear()
            await wait_for_mutual_audio(*people)
            assert {each.call._state.ticket.endpoint for each in people if each.call._state.ticket} == (
                servers.keys() - {first.endpoint}
            )
            assert all(connection_of(each)._encryption.ready for each in people)
            for each in people:
                await each.player.client.close()
            await world.close()
    finally:
        await home.stop()
