"""Blocking calls in background threads: a closing client does not wait for them, and they do not keep it alive."""

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

import hubbub.sdk as sdk
from hubbub.sdk import (
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ClientCreateOptions,
    ClientStatus,
    ErrorType,
    SdkError,
)
from hubbub.sdk import gateway as sdk_gateway
from hubbub.sdk.daemon_threads import Resolver, run_in_daemon_thread
from tests.sdk import sdk_threads
from tests.sdk.test_callback_queue import ResultRecorder, pump_until
from tests.world import WAIT_TIMEOUT_SECONDS

NOWHERE = "http://social.invalid"


class Stuck:
    """A call that blocks until the test releases it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.over = False
        """Whether the call has returned. A client that closed before that did not wait for the call."""

    def __call__(self, *_: Any, **__: Any) -> list[Any]:
        self.begun.set()
        self.go.wait(WAIT_TIMEOUT_SECONDS)
        self.over = True
        return []


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    """A blocking call, released after the test so that its thread ends."""
    call = Stuck()
    yield call
    call.go.set()
    for thread in sdk_threads.background_threads():
        thread.join(WAIT_TIMEOUT_SECONDS)
    assert sdk_threads.background_threads() == set()


def ask(client: Client, ended: ResultRecorder) -> None:
    client.authorize(AuthorizationArgs(client_id=1, scopes="identify"), ended)


def look_up(client: Client, ended: ResultRecorder) -> None:
    client.refresh_token(1, "r" * 20, ended)


@pytest.mark.parametrize("begin", [ask, look_up])
def test_a_game_loop_does_not_wait_for_a_call_that_blocks(
    begin: Callable[[Client, ResultRecorder], None], stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    client, ended = Client(ClientCreateOptions(web_base=NOWHERE), open_browser=stuck), ResultRecorder()
    begin(client, ended)
    assert stuck.begun.wait(WAIT_TIMEOUT_SECONDS)
    core = weakref.ref(client._core)

    client.close()
    assert not stuck.over
    sdk.run_callbacks()

    assert ended.types == [ErrorType.CLIENT_DESTROYED]
    assert sdk_threads.network_threads() == set()
    [left] = sdk_threads.background_threads()
    assert left.daemon
    if begin is look_up:
        del client
        gc.collect()
        assert core() is None, "the thread that lingers holds the client"


@pytest.mark.parametrize("begin", [ask, look_up])
def test_an_asyncio_program_ends_while_a_call_blocks(
    begin: Callable[[Client, ResultRecorder], None], stuck: Stuck, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    ended = ResultRecorder()

    async def program() -> None:
        async with Client(ClientCreateOptions(web_base=NOWHERE), open_browser=stuck) as client:
            begin(client, ended)
            while not stuck.begun.is_set():
                await asyncio.sleep(0)

    # The loop waits for its default executor here, so the SDK must not use it.
    asyncio.run(program())

    assert not stuck.over
    assert ended.types == [ErrorType.CLIENT_DESTROYED]


async def test_cancelling_the_wait_does_not_affect_the_call(stuck: Stuck) -> None:
    waiting = asyncio.create_task(run_in_daemon_thread(stuck))
    while not stuck.begun.is_set():
        await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    [thread] = sdk_threads.background_threads()
    stuck.go.set()
    await asyncio.to_thread(thread.join, WAIT_TIMEOUT_SECONDS)
    assert not thread.is_alive()


async def test_an_exception_in_the_call_is_raised_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_in_daemon_thread(lambda: 1 // 0)
    assert await run_in_daemon_thread(max, 1, 2) == 2


async def test_a_browser_that_fails_to_open_is_reported() -> None:
    def broken(_: str) -> None:
        raise OSError("there is no browser")

    async with Client(ClientCreateOptions(web_base=NOWHERE), open_browser=broken) as client:
        with pytest.raises(SdkError, match="no browser"):
            await client.authorize(AuthorizationArgs(client_id=1, scopes="identify"))


async def test_host_names_are_resolved_in_a_background_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await Resolver().resolve("localhost", 80, socket.AF_INET)
    assert {(each["host"], each["port"], each["hostname"]) for each in found} == {("127.0.0.1", 80, "localhost")}

    original, asked = socket.getaddrinfo, []

    def without_network(*args: Any) -> Any:
        asked.append(args)
        if len(args) > 4:
            raise socket.gaierror("no address is configured")
        return original(*args)

    monkeypatch.setattr(socket, "getaddrinfo", without_network)
    assert await Resolver().resolve("localhost", 80, socket.AF_INET) == found
    with pytest.raises(socket.gaierror):
        await Resolver().resolve("social.invalid", 80, socket.AF_INET)
    assert len(asked) == 3


async def test_closing_does_not_wait_for_the_gateways_close_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    # A close that waits for the server would reach the deadline of this test.
    monkeypatch.setattr(sdk_gateway, "CLOSE_TIMEOUT_SECONDS", 10 * WAIT_TIMEOUT_SECONDS)
    over = asyncio.Event()

    async def grant(_: web.Request) -> web.Response:
        return web.json_response({"application": {"id": "1"}, "user": {"id": "2", "username": "mary"}, "scopes": []})

    async def gateway(request: web.Request) -> web.Response:
        return web.json_response({"url": str(request.url.with_scheme("ws").with_path("/socket"))})

    async def greet(request: web.Request) -> web.WebSocketResponse:
        connection = web.WebSocketResponse(timeout=0.1)
        await connection.prepare(request)
        await connection.send_json({"op": 10, "d": {"heartbeat_interval": 45_000}})
        # From here on the server reads nothing, not even a close frame.
        await over.wait()
        return connection

    app = web.Application()
    app.router.add_get("/api/v10/oauth2/@me", grant)
    app.router.add_get("/api/v10/gateway", gateway)
    app.router.add_get("/socket", greet)

    def play(url: str) -> None:
        client, ended = Client(url), ResultRecorder()
        client.update_token(AuthorizationTokenType.BEARER, "x" * 20)
        client.connect()
        pump_until(client, lambda: client.get_status() is ClientStatus.CONNECTED)
        client.fetch_current_user(AuthorizationTokenType.BEARER, "x" * 20, ended)
        client.close()
        assert sdk_threads.network_threads() == set()
        sdk.run_callbacks()
        assert len(ended.types) == 1

    async with TestServer(app) as server:
        async with asyncio.timeout(2 * WAIT_TIMEOUT_SECONDS):
            await asyncio.to_thread(play, str(server.make_url("/api/v10")))
        over.set()
