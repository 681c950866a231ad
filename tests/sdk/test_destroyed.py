"""Destroying a client at any moment: each waiter gets ClientDestroyed once, and no thread, task or socket remains."""

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
from hubbub.sdk import (
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    ClientStatus,
    DeviceAuthorizationArgs,
    ErrorType,
)
from hubbub.server.core.faults import Fault, GatewayFault, HttpFault
from tests.machine import NewMachine
from tests.sdk import sdk_threads
from tests.sdk.players import game, player
from tests.sdk.test_callback_queue import ResultRecorder, pump_until
from tests.sdk.test_provisional import provisional_token
from tests.world import WAIT_TIMEOUT_SECONDS, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

BEARER = AuthorizationTokenType.BEARER
LATE_MS = 90_000
"""Longer than any of these tests runs, so that a request is certainly pending."""


@pytest.fixture(autouse=True)
def nothing_is_left(recwarn: pytest.WarningsRecorder) -> Iterator[None]:
    """Check that the test leaves no warning, thread or listening port behind."""
    # Collect the garbage of earlier tests now, so that its warnings are not counted.
    gc.collect()
    recwarn.clear()
    before = listening()
    yield
    gc.collect()
    assert sdk_threads.network_threads() == set()
    assert listening() <= before
    assert [str(each.message) for each in recwarn if issubclass(each.category, ResourceWarning)] == []


def listening() -> set[int]:
    """Return the ports that this process listens on."""
    found = psutil.Process(os.getpid()).net_connections("tcp")
    return {each.laddr.port for each in found if each.status == psutil.CONN_LISTEN}


def connected(port: int) -> int:
    """Return the number of connections of this process to a port."""
    found = psutil.Process(os.getpid()).net_connections("tcp")
    return len([each for each in found if each.raddr and each.raddr.port == port and each.status != "TIME_WAIT"])


def destroy_while(
    world: World, token: str, condition: Callable[[Client], bool], begin: Callable[[Client], Any]
) -> ResultRecorder:
    """Run a game loop until a condition holds, then close its client in the middle of a frame."""
    client = Client(ClientCreateOptions(web_base=world.url))
    client.update_token(BEARER, token).result(WAIT_TIMEOUT_SECONDS)
    begin(client)
    pump_until(client, lambda: condition(client))
    ended = ResultRecorder()
    for _ in range(3):
        client.fetch_current_user(BEARER, token, ended)
    # The requests are delayed by LATE_MS, so they would succeed if closing waited for them.
    client.close()
    sdk.run_callbacks()
    client.run_callbacks()
    return ended


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        (ClientStatus.CONNECTING, [HttpFault(effect="delay", delay_ms=LATE_MS, route="/gateway")]),
        (ClientStatus.HTTP_WAIT, [HttpFault(effect="status", status=503, route="/gateway", times=None)]),
        (ClientStatus.CONNECTED, [GatewayFault(effect="delay", delay_ms=LATE_MS, moment="identify")]),
        (ClientStatus.RECONNECTING, [GatewayFault(effect="close", moment="identify", times=None)]),
        (ClientStatus.READY, []),
        (ClientStatus.DISCONNECTED, [GatewayFault(effect="close", code=4004, moment="identify")]),
    ],
)
async def test_pending_operations_fail_once_in_every_status(
    world: World, status: ClientStatus, faults: list[Fault]
) -> None:
    mary = await player(world, await game(world), connect=False)
    await mary.client.close()
    for fault in (*faults, HttpFault(effect="delay", delay_ms=LATE_MS, route="/users/@me", times=3)):
        world.app.faults.add(fault)
    connects = ClientStatus.CONNECTING
    seen: list[ClientStatus] = []

    def begin(client: Client) -> None:
        client.set_status_changed_callback(lambda now, *_: seen.append(now))
        client.connect()

    ended = await asyncio.to_thread(
        destroy_while,
        world,
        mary.tokens["access_token"],
        lambda client: connects in seen and client.get_status() is status,
        begin,
    )

    assert ended.types == [ErrorType.CLIENT_DESTROYED] * 3


async def test_destroying_during_browser_authorization(world: World) -> None:
    application = await game(world)
    opened: list[str] = []
    ended = ResultRecorder()

    def play() -> None:
        client = Client(ClientCreateOptions(web_base=world.url), open_browser=opened.append)
        client.authorize(AuthorizationArgs(client_id=application.id, scopes="identify"), ended)
        pump_until(client, lambda: bool(opened))
        port = int(opened[0].partition("127.0.0.1%3A")[2].partition("%2F")[0])
        # A browser opens connections that it may never use.
        with socket.create_connection(("127.0.0.1", port)) as idle:
            client.close()
            idle.settimeout(WAIT_TIMEOUT_SECONDS)
            try:
                assert idle.recv(1) == b""
            except ConnectionResetError:
                pass  # The connection was closed before the listener accepted it.
        assert port not in listening()
        sdk.run_callbacks()

    await asyncio.to_thread(play)

    assert ended.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_during_device_authorization(world: World) -> None:
    application = await game(world)
    opened: list[str] = []
    ended = ResultRecorder()

    def play() -> None:
        client = Client(ClientCreateOptions(web_base=world.url), open_browser=opened.append)
        client.get_token_from_device(DeviceAuthorizationArgs(client_id=application.id, scopes="identify"), ended)
        pump_until(client, lambda: bool(opened))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(play)

    assert ended.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_during_account_linking(world: World) -> None:
    application = await game(world)
    token = (await provisional_token(application, "hero-1")).ok()["access_token"]
    mary = await player(world, application)
    guild = await world.guild(mary.user)
    assert application.bot is not None
    me = await mary.client.fetch_current_user(BEARER, token)
    members = [{"id": str(mary.id), "flags": 1}, {"id": str(me.id)}]
    lobby_id = int((await application.bot.post("/lobbies", json={"members": members})).ok()["id"])
    await mary.client.link_channel_to_lobby(lobby_id, guild.general)
    asked: list[str] = []
    ended = ResultRecorder()

    def play() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        client.update_token(BEARER, token, lambda _: client.connect())
        pump_until(client, lambda: lobby_id in client.get_lobby_ids())
        pump_until(client, lambda: client.get_status() is ClientStatus.READY)
        client.join_linked_lobby_guild(lobby_id, lambda: asked.append("merge"), ended)
        pump_until(client, lambda: bool(asked))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(play)

    assert (asked, ended.types) == (["merge"], [ErrorType.CLIENT_DESTROYED])
    await mary.client.close()


async def test_destroying_while_the_chat_client_is_busy(
    world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, application = await new_machine(await world.user()), await game(world)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    machine.consent.release = asyncio.Event()
    ended = ResultRecorder()

    def play() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        client.set_application_id(application.id)
        challenge = client.create_authorization_code_verifier().challenge
        client.authorize(AuthorizationArgs(scopes="identify", code_challenge=challenge), ended)
        pump_until(client, lambda: bool(machine.consent.requests))
        client.close()
        sdk.run_callbacks()

    await asyncio.to_thread(play)

    assert ended.types == [ErrorType.CLIENT_DESTROYED]


async def test_destroying_closes_all_connections_to_the_platform(world: World) -> None:
    mary = await player(world, await game(world), connect=False)
    await mary.client.close()
    port = int(world.url.rpartition(":")[2])
    before = connected(port)

    for _ in range(3):
        await asyncio.to_thread(
            destroy_while,
            world,
            mary.tokens["access_token"],
            lambda client: client.get_status() is ClientStatus.READY,
            lambda client: client.connect(),
        )

    end = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while connected(port) > before or sdk_threads.network_threads() or sdk_threads.background_threads():
        assert time.monotonic() < end, "a connection or a thread is left"
        await asyncio.sleep(0.05)
