"""The connection of a client: statuses, errors, threads, resumed sessions, disabled features and destroyed clients."""

import asyncio

import pytest

from hubbub.protocol.enums import CloseCode
from hubbub.sdk import AuthorizationTokenType, ClientError, ClientStatus, ClientThread, ErrorType, SdkError
from hubbub.sdk.connection import Connection
from tests.sdk.players import CallbackRecorder, create_game, create_player, new_client
from tests.world import World


async def test_the_current_user_is_available_after_connecting(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary", connect=False)
    status_events = mary.record_event("status_changed")

    assert mary.client.get_current_user_v2() is None
    placeholder_user = mary.client.get_current_user()
    assert (placeholder_user.id, placeholder_user.username) == (0, "")
    await mary.client.connect()

    assert mary.client.get_status() is ClientStatus.READY
    me = mary.client.get_current_user_v2()
    assert me is not None
    assert (me.id, me.username) == (mary.id, "mary")
    assert mary.client.get_current_user() == me
    assert mary.client.get_application_id() == application.id
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert [status for status, _, _ in status_events.calls] == [
        ClientStatus.CONNECTING,
        ClientStatus.CONNECTED,
        ClientStatus.READY,
    ]
    await mary.client.close()


async def test_threads_have_names_and_accept_priorities(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)

    assert [mary.client.thread_to_string(thread) for thread in ClientThread] == ["Client", "Voice", "Network"]
    assert mary.client.thread_to_string(99) == "unknown"  # type: ignore[arg-type]
    # Python threads have no priorities: the setting is stored, and the client works as before.
    for thread in ClientThread:
        mary.client.set_thread_priority(thread, 3)
    await mary.client.connect()
    assert mary.client.get_status() is ClientStatus.READY
    await mary.client.close()


async def test_disconnecting_ends_the_session(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    status_events = mary.record_event("status_changed")

    await mary.client.disconnect()

    assert mary.client.get_status() is ClientStatus.DISCONNECTED
    await status_events.next(lambda status, *_: status is ClientStatus.DISCONNECTED)
    assert [status for status, *_ in status_events.calls] == [ClientStatus.DISCONNECTING, ClientStatus.DISCONNECTED]
    await mary.client.close()


async def test_connecting_without_a_token_fails(world: World) -> None:
    client = new_client(world)
    status_events = CallbackRecorder()
    client.set_status_changed_callback(status_events)

    with pytest.raises(SdkError) as caught:
        await client.connect()

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    assert await status_events.next() == (ClientStatus.DISCONNECTED, ClientError.CONNECTION_FAILED, 0)
    await client.close()


async def test_an_invalid_token_ends_the_attempt_without_retry(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, connect=False)
    await mary.client.revoke_token(application.id, mary.tokens["access_token"])
    status_events = mary.record_event("status_changed")

    with pytest.raises(SdkError) as caught:
        await mary.client.connect()

    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED
    assert await status_events.next(lambda status, *_: status is ClientStatus.DISCONNECTED) == (
        ClientStatus.DISCONNECTED,
        ClientError.UNEXPECTED_CLOSE,
        CloseCode.AUTHENTICATION_FAILED,
    )
    await mary.client.close()


async def test_revoking_the_token_ends_a_running_session(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application)
    status_events = mary.record_event("status_changed")

    await mary.client.revoke_token(application.id, mary.tokens["access_token"])

    assert (await status_events.next(lambda status, *_: status is ClientStatus.DISCONNECTED))[1:] == (
        ClientError.UNEXPECTED_CLOSE,
        CloseCode.AUTHENTICATION_FAILED,
    )
    await mary.client.close()


async def test_a_lost_connection_is_resumed_without_missed_events(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    status_events, updated_events = mary.record_event("status_changed"), mary.record_event("user_updated")
    gateway = mary.client._parts[Connection].gateway
    session_id = gateway.session_id

    async def reconnect_immediately(_: float) -> None:
        # An event happens while the connection is down.
        (await mary.user.patch("/users/@me", json={"global_name": "Mary Shaw"})).ok()

    gateway.sleep = reconnect_immediately
    gateway._socket._conn.transport.abort()

    await status_events.next(lambda status, *_: status is ClientStatus.RECONNECTING)
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert gateway.session_id == session_id
    assert await updated_events.next() == mary.id
    me = mary.client.get_current_user_v2()
    assert me is not None
    assert me.display_name == "Mary Shaw"
    await mary.client.close()


async def test_operations_need_a_session(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)

    with pytest.raises(SdkError) as caught:
        await mary.client.create_or_join_lobby("secret")

    assert caught.value.result.type is ErrorType.CLIENT_NOT_READY
    await mary.client.close()


async def test_a_disabled_feature_reports_disabled(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    mary.client._core.disabled_functions = frozenset({"CreateOrJoinLobby"})
    recorder = CallbackRecorder()

    mary.client.create_or_join_lobby("secret", recorder)

    result, lobby_id = await recorder.next()
    assert (result.type, lobby_id) == (ErrorType.DISABLED, 0)
    await mary.client.close()


async def test_destroying_a_client_fails_a_pending_operation_once(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    recorder = CallbackRecorder()

    mary.client.fetch_current_user(AuthorizationTokenType.BEARER, mary.tokens["access_token"], recorder)
    operation = mary.client.get_user_guilds()
    await mary.client.close()

    result, user_id, name = await recorder.next()
    assert (result.type, user_id, name) == (ErrorType.CLIENT_DESTROYED, 0, "")
    with pytest.raises(SdkError):
        await operation
    await asyncio.sleep(0)
    assert len(recorder.calls) == 1
