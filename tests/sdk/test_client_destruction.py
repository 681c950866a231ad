"""Destroying a client in every status, and during authorizations and requests.

Pending operations fail once with CLIENT_DESTROYED, and no thread, listening port or warning remains.
"""

import asyncio
import gc
import os
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

import hubbub.sdk as sdk
from hubbub.protocol.control.faults import Fault, GatewayFault, HttpFault
from hubbub.protocol.enums import CloseCode
from hubbub.protocol.flags import LobbyMemberFlags
from hubbub.sdk import (
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    ClientStatus,
    DeviceAuthorizationArgs,
    ErrorType,
)
from tests.machine import NewMachine
from tests.sdk import sdk_threads
from tests.sdk.game_loop import ResultRecorder, pump_until
from tests.sdk.players import create_game, create_player, request_provisional_token
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

BEARER = AuthorizationTokenType.BEARER
DELAY_MS = 90_000
"""Delay of a request in milliseconds, longer than any test of this module runs, so that the request is still pending."""


@pytest.fixture(autouse=True)
def check_nothing_left(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    """Check that the test leaves no warning, thread or listening port behind."""
    # Collect the garbage of earlier tests now, so that its warnings are not counted.
    gc.collect()
    recwarn.clear()
    previous_ports = listening_ports()
    yield
    gc.collect()
    assert sdk_threads.network_threads() == set()
    assert listening_ports() <= previous_ports
    assert [str(warning.message) for warning in recwarn if issubclass(warning.category, ResourceWarning)] == []


def listening_ports() -> set[int]:
    """Return the ports that this process listens on."""
    connections = psutil.Process(os.getpid()).net_connections("tcp")
    return {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}


def count_connections(port: int) -> int:
    """Return the number of connections of this process to a port."""
    connections = psutil.Process(os.getpid()).net_connections("tcp")
    return len(
        [
            connection
            for connection in connections
            if connection.raddr and connection.raddr.port == port and connection.status != "TIME_WAIT"
        ]
    )


def destroy_client_when(
    world: World, token: str, condition: Callable[[Client], bool], prepare: Callable[[Client], Any]
) -> ResultRecorder:
    """Call `prepare` with a new client, run a game loop until `condition` holds, start three requests, and close the client.

    Return the results of the requests, which were pending."""
    client = Client(ClientCreateOptions(web_base=world.url))
    client.update_token(BEARER, token).result(WAIT_TIMEOUT_SECONDS)
    prepare(client)
    pump_until(client, lambda: condition(client))
    results = ResultRecorder()
    for _ in range(3):
        client.fetch_current_user(BEARER, token, results)
    client.close()
    sdk.run_callbacks()
    client.run_callbacks()
    return results


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        (ClientStatus.CONNECTING, [HttpFault(effect="delay", delay_ms=DELAY_MS, route="/gateway")]),
        (ClientStatus.HTTP_WAIT, [HttpFault(effect="status", status=503, route="/gateway", times=None)]),
        (ClientStatus.CONNECTED, [GatewayFault(effect="delay", delay_ms=DELAY_MS, moment="identify")]),
        (ClientStatus.RECONNECTING, [GatewayFault(effect="close", moment="identify", times=None)]),
        (ClientStatus.READY, []),
        (
            ClientStatus.DISCONNECTED,
            [GatewayFault(effect="close", code=CloseCode.AUTHENTICATION_FAILED, moment="identify")],
        ),
    ],
)
async def test_pending_operations_fail_once_in_every_status(
    world: World, status: ClientStatus, faults: list[Fault]
) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    await mary.client.close()
    # Delay the three requests, so that they are pending when the client closes.
    for fault in (*faults, HttpFault(effect="delay", delay_ms=DELAY_MS, route="/users/@me", times=3)):
        world.app.faults.add(fault)
    connecting_status = ClientStatus.CONNECTING
    seen_statuses: list[ClientStatus] = []

    def prepare(client: Client) -> None:
        client.set_status_changed_callback(lambda new_status, *_: seen_statuses.append(new_status))
        client.connect()

    results = await asyncio.to_thread(
        destroy_client_when,
        world,
        mary.tokens["access_token"],
        lambda client: connecting_status in seen_statuses and client.get_status() is status,
        prepare,
    )

    assert results.types == [ErrorType.CLIENT_DESTROYED] * 3


async def test_destroying_a_client_ends_a_browser_authorization(world: World) -> None:
    application = await create_game(world)
    opened_urls: list[str] = []
    results = ResultRecorder()

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url), open_browser=opened_urls.append)
        client.authorize(AuthorizationArgs(client_id=application.id, scopes="identify"), results)
        pump_until(client, lambda: bool(opened_urls))
        port = int(opened_urls[0].partition("127.0.0.1%3A")[2].partition("%2F")[0])
        # A browser opens connections that it may never use.
        with socket.create_connection(("127.0.0.1", port)) as idle:
            client.close()
            idle.settimeout(WAIT_TIMEOUT_SECONDS)
            try:
                assert idle.recv(1) == b""
            except ConnectionResetError:
                pass  # The connection was closed before the listener accepted it.
        assert port not in listening_ports()
        sdk.run_callbacks()

    await asyncio.to_thread(run_game)

    assert results.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_a_client_ends_a_device_authorization(world: World) -> None:
    application = await create_game(world)
    opened_urls: list[str] = []
    results = ResultRecorder()

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url), open_browser=opened_urls.append)
        client.get_token_from_device(DeviceAuthorizationArgs(client_id=application.id, scopes="identify"), results)
        pump_until(client, lambda: bool(opened_urls))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(run_game)

    assert results.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_a_client_ends_account_linking(world: World) -> None:
    application = await create_game(world)
    token = (await request_provisional_token(application, "hero-1")).ok()["access_token"]
    mary = await create_player(world, application)
    guild = await world.guild(mary.user)
    assert application.bot is not None
    provisional_user = await mary.client.fetch_current_user(BEARER, token)
    members = [{"id": str(mary.id), "flags": LobbyMemberFlags.CAN_LINK_LOBBY}, {"id": str(provisional_user.id)}]
    lobby_id = int((await application.bot.post("/lobbies", json={"members": members})).ok()["id"])
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    merge_calls: list[str] = []
    results = ResultRecorder()

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        client.update_token(BEARER, token, lambda _: client.connect())
        pump_until(client, lambda: lobby_id in client.get_lobby_ids())
        pump_until(client, lambda: client.get_status() is ClientStatus.READY)
        client.join_linked_lobby_guild(lobby_id, lambda: merge_calls.append("merge"), results)
        pump_until(client, lambda: bool(merge_calls))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(run_game)

    assert (merge_calls, results.types) == (["merge"], [ErrorType.CLIENT_DESTROYED])
    await mary.client.close()


async def test_destroying_a_client_ends_a_request_to_the_chat_client(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, application = await new_machine(await world.user()), await create_game(world)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    machine.consent.release = asyncio.Event()
    results = ResultRecorder()

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        client.set_application_id(application.id)
        challenge = client.create_authorization_code_verifier().challenge
        client.authorize(AuthorizationArgs(scopes="identify", code_challenge=challenge), results)
        pump_until(client, lambda: bool(machine.consent.requests))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(run_game)

    assert results.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_a_client_closes_its_connections_to_the_platform(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    await mary.client.close()
    port = int(world.url.rpartition(":")[2])
    previous_count = count_connections(port)

    for _ in range(3):
        await asyncio.to_thread(
            destroy_client_when,
            world,
            mary.tokens["access_token"],
            lambda client: client.get_status() is ClientStatus.READY,
            lambda client: client.connect(),
        )

    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while count_connections(port) > previous_count or sdk_threads.network_threads() or sdk_threads.background_threads():
        assert time.monotonic() < deadline, "a connection or a thread remains"
        await asyncio.sleep(0.05)
