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
from hubbub.protocol.enums import GatewayOpcode
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
from tests.sdk.game_loop import ResultRecorder, pump_until
from tests.world import WAIT_TIMEOUT_SECONDS

UNREACHABLE_URL = "http://social.invalid"


class BlockingCall:
    """A call that blocks until the test releases it."""

    def __init__(self) -> None:
        self.started_event = threading.Event()
        self.released = threading.Event()
        self.has_returned = False
        """Whether the call has returned. A client that closed before that did not wait for the call."""

    def __call__(self, *_: Any, **__: Any) -> list[Any]:
        self.started_event.set()
        self.released.wait(WAIT_TIMEOUT_SECONDS)
        self.has_returned = True
        return []


@pytest.fixture
def blocking_call() -> Iterator[BlockingCall]:
    """A blocking call, released after the test so that its thread ends."""
    call = BlockingCall()
    yield call
    call.released.set()
    for thread in sdk_threads.background_threads():
        thread.join(WAIT_TIMEOUT_SECONDS)
    assert sdk_threads.background_threads() == set()


def start_authorization(client: Client, results: ResultRecorder) -> None:
    client.authorize(AuthorizationArgs(client_id=1, scopes="identify"), results)


def start_token_refresh(client: Client, results: ResultRecorder) -> None:
    client.refresh_token(1, "r" * 20, results)


@pytest.mark.parametrize("start_operation", [start_authorization, start_token_refresh])
def test_a_game_loop_does_not_wait_for_a_call_that_blocks(
    start_operation: Callable[[Client, ResultRecorder], None],
    blocking_call: BlockingCall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", blocking_call)
    client, results = (
        Client(ClientCreateOptions(web_base=UNREACHABLE_URL), open_browser=blocking_call),
        ResultRecorder(),
    )
    start_operation(client, results)
    assert blocking_call.started_event.wait(WAIT_TIMEOUT_SECONDS)
    core_ref = weakref.ref(client._core)

    client.close()
    assert not blocking_call.has_returned
    sdk.run_callbacks()

    assert results.types == [ErrorType.CLIENT_DESTROYED]
    assert sdk_threads.network_threads() == set()
    [remaining_thread] = sdk_threads.background_threads()
    assert remaining_thread.daemon
    if start_operation is start_token_refresh:
        del client
        gc.collect()
        assert core_ref() is None, "the remaining thread still references the client"


@pytest.mark.parametrize("start_operation", [start_authorization, start_token_refresh])
def test_an_asyncio_program_ends_while_a_call_blocks(
    start_operation: Callable[[Client, ResultRecorder], None],
    blocking_call: BlockingCall,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", blocking_call)
    results = ResultRecorder()

    async def program() -> None:
        async with Client(ClientCreateOptions(web_base=UNREACHABLE_URL), open_browser=blocking_call) as client:
            start_operation(client, results)
            while not blocking_call.started_event.is_set():
                await asyncio.sleep(0)

    # The loop waits for its default executor here, so the SDK must not use it.
    asyncio.run(program())

    assert not blocking_call.has_returned
    assert results.types == [ErrorType.CLIENT_DESTROYED]


async def test_cancelling_the_wait_does_not_affect_the_call(blocking_call: BlockingCall) -> None:
    task = asyncio.create_task(run_in_daemon_thread(blocking_call))
    while not blocking_call.started_event.is_set():
        await asyncio.sleep(0)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    [thread] = sdk_threads.background_threads()
    blocking_call.released.set()
    await asyncio.to_thread(thread.join, WAIT_TIMEOUT_SECONDS)
    assert not thread.is_alive()


async def test_an_exception_in_the_call_is_raised_to_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        await run_in_daemon_thread(lambda: 1 // 0)
    assert await run_in_daemon_thread(max, 1, 2) == 2


async def test_a_browser_that_fails_to_open_is_reported() -> None:
    def fail_to_open(_: str) -> None:
        raise OSError("there is no browser")

    async with Client(ClientCreateOptions(web_base=UNREACHABLE_URL), open_browser=fail_to_open) as client:
        with pytest.raises(SdkError, match="no browser"):
            await client.authorize(AuthorizationArgs(client_id=1, scopes="identify"))


async def test_host_names_are_resolved_in_a_background_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = await Resolver().resolve("localhost", 80, socket.AF_INET)
    assert {(address["host"], address["port"], address["hostname"]) for address in addresses} == {
        ("127.0.0.1", 80, "localhost")
    }

    original_getaddrinfo, lookups = socket.getaddrinfo, []

    def fail_with_flags(*args: Any) -> Any:
        lookups.append(args)
        if len(args) > 4:
            raise socket.gaierror("no address is configured")
        return original_getaddrinfo(*args)

    monkeypatch.setattr(socket, "getaddrinfo", fail_with_flags)
    assert await Resolver().resolve("localhost", 80, socket.AF_INET) == addresses
    with pytest.raises(socket.gaierror):
        await Resolver().resolve("social.invalid", 80, socket.AF_INET)
    assert len(lookups) == 3


async def test_closing_does_not_wait_for_the_gateways_close_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    # A close that waits for the server would reach the deadline of this test.
    monkeypatch.setattr(sdk_gateway, "CLOSE_TIMEOUT_SECONDS", 10 * WAIT_TIMEOUT_SECONDS)
    test_ended = asyncio.Event()

    async def get_authorization(_: web.Request) -> web.Response:
        return web.json_response({"application": {"id": "1"}, "user": {"id": "2", "username": "mary"}, "scopes": []})

    async def get_gateway(request: web.Request) -> web.Response:
        return web.json_response({"url": str(request.url.with_scheme("ws").with_path("/socket"))})

    async def serve_gateway(request: web.Request) -> web.WebSocketResponse:
        connection = web.WebSocketResponse(timeout=0.1)
        await connection.prepare(request)
        await connection.send_json({"op": GatewayOpcode.HELLO, "d": {"heartbeat_interval": 45_000}})
        # From here on the server reads nothing, not even a close frame.
        await test_ended.wait()
        return connection

    app = web.Application()
    app.router.add_get("/api/v10/oauth2/@me", get_authorization)
    app.router.add_get("/api/v10/gateway", get_gateway)
    app.router.add_get("/socket", serve_gateway)

    def run_game(url: str) -> None:
        client, results = Client(url), ResultRecorder()
        client.update_token(AuthorizationTokenType.BEARER, "x" * 20)
        client.connect()
        pump_until(client, lambda: client.get_status() is ClientStatus.CONNECTED)
        client.fetch_current_user(AuthorizationTokenType.BEARER, "x" * 20, results)
        client.close()
        assert sdk_threads.network_threads() == set()
        sdk.run_callbacks()
        assert len(results.types) == 1

    async with TestServer(app) as server:
        async with asyncio.timeout(2 * WAIT_TIMEOUT_SECONDS):
            await asyncio.to_thread(run_game, str(server.make_url("/api/v10")))
        test_ended.set()
