"""The callback queue of a game loop: the thread of callbacks, reset, network errors, and destroyed clients."""

import asyncio
import gc
import os
import random
import socket
import threading
import time
import weakref
from typing import Any

import psutil
import pytest

import hubbub.sdk as sdk
import hubbub.sdk.callback_queue
from hubbub.sdk import AuthorizationTokenType, Client, ClientCreateOptions, ClientStatus, ErrorType, LoggingSeverity
from hubbub.sdk.merges import Merges
from hubbub.sdk.voice import VoiceCalls
from tests.sdk import sdk_threads
from tests.sdk.game_loop import ResultRecorder, pump_until
from tests.sdk.players import create_game, create_player
from tests.world import WAIT_TIMEOUT_SECONDS, World

BEARER = AuthorizationTokenType.BEARER
NEVER_MS = 3_600_000
"""A timeout that no test reaches."""


async def test_completions_run_inside_the_pump_on_its_thread(world: World) -> None:
    mary = await create_player(world, await create_game(world), "mary", connect=False)

    def run_game() -> None:
        with Client(ClientCreateOptions(web_base=world.url)) as client:
            delivered_args: list[tuple[Any, ...]] = []
            is_pumping = False

            def on_done(*args: Any) -> None:
                delivered_args.append((is_pumping, threading.current_thread(), *args))

            operation = client.fetch_current_user(BEARER, mary.tokens["access_token"], on_done)
            operation.result(WAIT_TIMEOUT_SECONDS)
            assert delivered_args == []

            is_pumping = True
            assert client.run_callbacks() == 1
            [(was_pumping, thread, result, user_id, name)] = delivered_args
            assert was_pumping
            assert thread is threading.current_thread()
            assert result.successful
            assert (user_id, name) == (mary.id, "mary")
            assert client.run_callbacks() == 0

    await asyncio.to_thread(run_game)
    await mary.client.close()


async def test_a_game_loop_connects_and_receives_its_status(world: World) -> None:
    mary = await create_player(world, await create_game(world), "mary", connect=False)

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        statuses: list[ClientStatus] = []
        client.set_status_changed_callback(lambda status, *_: statuses.append(status))
        client.update_token(BEARER, mary.tokens["access_token"], lambda result: client.connect())
        pump_until(client, lambda: ClientStatus.READY in statuses)
        me = client.get_current_user_v2()
        assert me is not None
        assert me.username == "mary"
        client.close()
        assert me.id == 0
        assert me.username == ""
        assert sdk_threads.network_threads() == set()

    await asyncio.to_thread(run_game)
    await mary.client.close()


async def test_the_modules_pump_serves_all_clients_of_a_thread(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)

    def run_game() -> None:
        clients = [Client(ClientCreateOptions(web_base=world.url)) for _ in range(2)]
        delivered_args: list[Any] = []
        for client in clients:
            client.fetch_current_user(
                BEARER, mary.tokens["access_token"], lambda *args: delivered_args.append(args)
            ).result(WAIT_TIMEOUT_SECONDS)
        assert sdk.run_callbacks() == 2
        assert len(delivered_args) == 2
        for client in clients:
            client.close()

    await asyncio.to_thread(run_game)
    await mary.client.close()


def test_a_client_belongs_to_the_thread_that_created_it() -> None:
    client = Client()
    caught: list[BaseException] = []

    def use_client() -> None:
        for use in (client.run_callbacks, client.get_user_guilds):
            with pytest.raises(RuntimeError, match="another thread") as error_info:
                use()
            caught.append(error_info.value)

    thread = threading.Thread(target=use_client)
    thread.start()
    thread.join()

    assert len(caught) == 2
    client.close()


def test_a_free_threaded_client_can_be_used_from_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubbub.sdk.callback_queue, "_free_threaded", False)
    sdk.set_free_threaded()
    client, delivered_args = Client(), []
    client.set_user_updated_callback(delivered_args.append)
    client._core.emit("user_updated", 1)

    thread = threading.Thread(target=client.run_callbacks)
    thread.start()
    thread.join()

    assert delivered_args == [1]
    client.close()


def test_an_exception_in_a_callback_is_raised_and_later_callbacks_stay_queued() -> None:
    client = Client()
    delivered_args: list[int] = []

    def fail() -> None:
        raise ZeroDivisionError

    client._core.callback_queue.put(fail)
    client._core.callback_queue.put(delivered_args.append, 1)

    with pytest.raises(ZeroDivisionError):
        client.run_callbacks()
    client.run_callbacks()

    assert delivered_args == [1]
    client.close()


def test_setting_a_callback_replaces_and_adding_accumulates() -> None:
    client = Client()
    delivered_args: list[str] = []

    client.set_user_updated_callback(lambda _: delivered_args.append("first"))
    client.set_user_updated_callback(lambda _: delivered_args.append("second"))
    client._core.emit("user_updated", 1)
    for name in ("a", "b"):
        client.add_log_callback(lambda *_, name=name: delivered_args.append(name), LoggingSeverity.WARNING)
    client._core.logs.warning("something")
    client.run_callbacks()

    assert delivered_args == ["second", "a", "b"]
    client.close()


def test_reset_drops_queued_callbacks_and_listeners() -> None:
    client = Client()
    delivered_args: list[Any] = []
    client.set_user_updated_callback(delivered_args.append)
    client._core.emit("user_updated", 1)

    sdk.reset_callbacks()
    client._core.emit("user_updated", 2)
    client.run_callbacks()

    assert delivered_args == []
    client.close()


def test_reset_drops_pending_completions(monkeypatch: pytest.MonkeyPatch) -> None:
    client, request_started, request_released = Client(), threading.Event(), threading.Event()
    delivered_args: list[Any] = []

    class Callback:
        def __call__(self, *args: Any) -> None:
            delivered_args.append(args)

    async def list_devices(*_: Any) -> list[sdk.AudioDevice]:
        request_started.set()
        await asyncio.to_thread(request_released.wait, WAIT_TIMEOUT_SECONDS)
        return []

    monkeypatch.setattr(client._parts[VoiceCalls], "_fetch_devices", list_devices)
    callback = Callback()
    callback_ref = weakref.ref(callback)
    operation = client.get_input_devices(callback)
    call = client.start_call(5)
    assert call is not None
    call.set_status_changed_callback(callback)
    del callback
    assert request_started.wait(WAIT_TIMEOUT_SECONDS)

    sdk.reset_callbacks()
    gc.collect()
    assert callback_ref() is None
    request_released.set()

    # Awaiting the value directly is not a callback, so it still completes.
    assert operation.result(WAIT_TIMEOUT_SECONDS) == []
    assert client.run_callbacks() == 0
    client.get_input_devices(lambda *args: delivered_args.append(args)).result(WAIT_TIMEOUT_SECONDS)
    client.run_callbacks()
    assert delivered_args == [([],)]
    client.close()


async def test_a_merge_whose_callback_was_reset_is_aborted() -> None:
    merge_calls: list[str] = []
    async with Client() as client:
        merge_callback = client._core.hold_callback(lambda: merge_calls.append("merge"))
        sdk.reset_callbacks()

        with pytest.raises(sdk.SdkError) as caught:
            await client._parts[Merges].request_merge(merge_callback)

        assert client.run_callbacks() == 0
    assert (merge_calls, caught.value.result.type) == ([], ErrorType.ABORTED)


def test_reset_drops_callbacks_of_a_collected_client() -> None:
    delivered_args: list[Any] = []
    client = Client()
    client.close()
    client.get_user_guilds(lambda *args: delivered_args.append(args))
    del client
    gc.collect()

    sdk.reset_callbacks()

    assert sdk.run_callbacks() == 0
    assert delivered_args == []


def test_a_destroyed_client_rejects_new_operations() -> None:
    client = Client()
    delivered_args: list[Any] = []
    client.close()

    client.get_user_guilds(lambda *args: delivered_args.append(args))
    assert sdk.run_callbacks() == 1

    [(result, guilds)] = delivered_args
    assert (result.type, guilds) == (ErrorType.CLIENT_DESTROYED, [])
    assert client._core.callback_queue not in hubbub.sdk.callback_queue.all_queues()
    client.get_user_guilds(lambda *args: delivered_args.append(args))
    assert client.run_callbacks() == 1
    assert sdk.run_callbacks() == 0
    assert len(delivered_args) == 2


def test_an_unreachable_server_is_a_retryable_network_error() -> None:
    client = Client(ClientCreateOptions(web_base="http://127.0.0.1:9"))

    with pytest.raises(sdk.SdkError) as caught:
        client.refresh_token(1, "r" * 20).result(WAIT_TIMEOUT_SECONDS)

    assert (caught.value.result.type, caught.value.result.retryable) == (ErrorType.NETWORK_ERROR, True)
    client.close()


async def test_an_unresponsive_server_is_a_network_error_after_the_timeout() -> None:
    async def never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_respond, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}")
    client.set_http_request_timeout(50)

    with pytest.raises(sdk.SdkError) as caught:
        await client.refresh_token(1, "r" * 20)

    assert (caught.value.result.type, caught.value.result.retryable) == (ErrorType.NETWORK_ERROR, True)
    assert not caught.value.result.successful
    await client.close()
    server.close()


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
async def test_destroying_a_client_at_any_moment_leaves_no_thread_and_no_socket(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    process = psutil.Process(os.getpid())

    def count_sockets() -> int:
        return len(
            [
                connection
                for connection in process.net_connections()
                if connection.raddr and connection.raddr.port == port
            ]
        )

    port = int(world.url.rpartition(":")[2])
    random_source = random.Random(7)

    def run_game() -> None:
        for _ in range(12):
            client = Client(ClientCreateOptions(web_base=world.url))
            results = ResultRecorder()
            client.update_token(BEARER, mary.tokens["access_token"])
            client.connect()
            for _ in range(3):
                client.fetch_current_user(BEARER, mary.tokens["access_token"], results)
            time.sleep(random_source.random() * 0.15)
            client.close()
            sdk.run_callbacks()
            assert len(results.types) == 3
            assert set(results.types) <= {ErrorType.NONE, ErrorType.CLIENT_DESTROYED}

    await mary.client.close()
    previous_count = count_sockets()
    await asyncio.to_thread(run_game)

    # Only the SDK's threads count: the server in the same process starts threads of its own when it needs them.
    assert sdk_threads.network_threads() == set()
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while count_sockets() > previous_count or sdk_threads.background_threads():
        assert time.monotonic() < deadline, "a socket or a thread remains"
        await asyncio.sleep(0.05)


async def test_a_collected_client_leaves_no_thread(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)

    def run_game() -> None:
        client = Client(ClientCreateOptions(web_base=world.url))
        client.fetch_current_user(BEARER, mary.tokens["access_token"]).result(WAIT_TIMEOUT_SECONDS)
        assert len(sdk_threads.network_threads()) == 1
        del client
        gc.collect()
        assert sdk_threads.network_threads() == set()

    await asyncio.to_thread(run_game)
    await mary.client.close()


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
@pytest.mark.parametrize("closing_status", [ClientStatus.CONNECTING, ClientStatus.CONNECTED, ClientStatus.READY])
async def test_a_client_can_be_destroyed_by_its_own_callback_in_any_status(
    world: World, closing_status: ClientStatus
) -> None:
    mary = await create_player(world, await create_game(world), connect=False)

    def run_game() -> tuple[list[ClientStatus], list[ErrorType]]:
        client = Client(ClientCreateOptions(web_base=world.url))
        statuses: list[ClientStatus] = []
        results = ResultRecorder()

        def on_status_changed(status: ClientStatus, *_: Any) -> None:
            statuses.append(status)
            if status is closing_status:
                client.fetch_current_user(BEARER, mary.tokens["access_token"], results)
                client.close()

        client.set_status_changed_callback(on_status_changed)
        client.update_token(BEARER, mary.tokens["access_token"], lambda _: client.connect())
        pump_until(client, lambda: bool(results.types))
        assert sdk_threads.network_threads() == set()
        return statuses, results.types

    statuses, results = await asyncio.to_thread(run_game)

    assert closing_status in statuses
    assert results in ([ErrorType.NONE], [ErrorType.CLIENT_DESTROYED])
    await mary.client.close()


@pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)
async def test_the_games_thread_never_uses_a_socket(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run operations against a working and an unresponsive server.

    No socket is used on the game's thread, and all frames run while the requests to the second server are pending.
    """
    mary = await create_player(world, await create_game(world), connect=False)
    token = mary.tokens["access_token"]
    socket_calls: list[tuple[threading.Thread, str]] = []
    for name in ("connect", "connect_ex", "send", "sendall", "sendmsg", "recv", "recv_into"):
        monkeypatch.setattr(socket.socket, name, recording_function(socket_calls, name))
    monkeypatch.setattr(socket, "getaddrinfo", recording_function(socket_calls, "getaddrinfo", socket.getaddrinfo))

    async def never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_respond, "127.0.0.1", 0)
    unresponsive_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    def run_game(web_base: str, frame_count: int, status: ClientStatus) -> tuple[threading.Thread, int]:
        client = Client(ClientCreateOptions(web_base=web_base))
        client.set_http_request_timeout(NEVER_MS)
        client.update_token(BEARER, token, lambda _: client.connect())
        pump_until(client, lambda: client.get_status() is status)
        operations = []
        for frame in range(frame_count):
            client.run_callbacks()
            operations.append(client.fetch_current_user(BEARER, token))
            if client.get_status() is ClientStatus.READY:
                client.create_or_join_lobby(f"secret {frame}")
                client.update_rich_presence(sdk.Activity(name="Puddle", state=f"frame {frame}"))
            _ = client.get_relationships()
            time.sleep(1 / 60)
        pending_count = sum(not operation.done for operation in operations)
        client.close()
        sdk.run_callbacks()
        # Compare the thread object: its ID could have belonged to an earlier thread.
        return threading.current_thread(), pending_count

    first_game_thread, _ = await asyncio.to_thread(run_game, world.url, 60, ClientStatus.READY)
    assert {name for thread, name in socket_calls if thread != first_game_thread} >= {"send", "recv"}
    second_game_thread, pending_count = await asyncio.to_thread(
        run_game, unresponsive_url, 30, ClientStatus.DISCONNECTED
    )

    assert [name for thread, name in socket_calls if thread in (first_game_thread, second_game_thread)] == []
    assert pending_count == 30
    server.close()
    await mary.client.close()


def recording_function(socket_calls: list[tuple[threading.Thread, str]], name: str, function: Any = None) -> Any:
    original = function or getattr(socket.socket, name)

    def record_call(*args: Any, **kwargs: Any) -> Any:
        # Waking a loop from another thread uses a socket pair inside the process that never blocks.
        if not isinstance(args[0], socket.socket) or args[0].family != socket.AF_UNIX:
            socket_calls.append((threading.current_thread(), name))
        return original(*args, **kwargs)

    return record_call
