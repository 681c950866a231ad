"""A failing platform, simulated with the server's fault injection: game callbacks and SDK recovery."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from hubbub.protocol.control.faults import GatewayFault, HttpFault
from hubbub.protocol.enums import CloseCode
from hubbub.sdk import (
    AuthorizationTokenType,
    Client,
    ClientError,
    ClientStatus,
    ErrorType,
    HttpStatusCode,
    LoggingSeverity,
    SdkError,
    StatusType,
)
from hubbub.sdk.tokens import Tokens
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.config import GatewayConfig
from tests.sdk.players import (
    CallbackRecorder,
    Player,
    create_friends,
    create_game,
    create_player,
    gateway_of,
    joinable_activity,
    visible_activity,
)
from tests.world import NOW_MS, World, small_config

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

BEARER = AuthorizationTokenType.BEARER
FAILED, CLOSED = ClientError.CONNECTION_FAILED, ClientError.UNEXPECTED_CLOSE


def record_waits(client: Client) -> list[float]:
    """Record the reconnect delays of a client instead of sleeping; return the list that collects their seconds."""
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    gateway_of(client).sleep = wait
    return waits


@pytest.fixture
async def fast_heartbeat_world(store_config: Any, response_monitor: Any) -> AsyncIterator[World]:
    """A world with a one-second heartbeat interval, in which `CreateOrJoinLobby` is disabled."""
    settings = GatewayConfig(
        max_concurrency=100, drain_ms=0, heartbeat_interval_ms=1000, disabled_functions=("CreateOrJoinLobby",)
    )
    app = App(small_config(gateway=settings), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    async with aiohttp.ClientSession() as session:
        world = World(app, session)
        yield world
        await world.close()
    await app.stop()


# Before the session starts


@pytest.mark.parametrize(
    ("fault", "detail", "min_wait_seconds"),
    [
        (HttpFault(effect="status", status=503, route="/gateway"), 503, 0.5),
        (HttpFault(effect="status", status=429, retry_after=7.5, route="/oauth2/@me"), 429, 7.5),
        # The fault occurs twice, because aiohttp itself repeats a request on a reused connection.
        (HttpFault(effect="drop", route="/gateway", times=2), 0, 0.5),
    ],
)
async def test_the_client_retries_until_it_gets_a_gateway_url(
    world: World, fault: HttpFault, detail: int, min_wait_seconds: float
) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    status_events, waits = mary.record_event("status_changed"), record_waits(mary.client)
    world.app.faults.add(fault)

    await mary.client.connect()

    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert status_events.calls == [
        (ClientStatus.CONNECTING, ClientError.NONE, 0),
        (ClientStatus.HTTP_WAIT, FAILED, detail),
        (ClientStatus.CONNECTING, ClientError.NONE, 0),
        (ClientStatus.CONNECTED, ClientError.NONE, 0),
        (ClientStatus.READY, ClientError.NONE, 0),
    ]
    assert len(waits) == 1
    assert waits[0] >= min_wait_seconds
    await mary.client.close()


async def test_reconnect_delays_grow_with_jitter(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    waits, status_events = record_waits(mary.client), mary.record_event("status_changed")
    world.app.faults.add(GatewayFault(effect="close", code=CloseCode.UNKNOWN_ERROR, moment="identify", times=8))

    await mary.client.connect()

    max_waits = [min(60.0, 2.0**attempt) for attempt in range(8)]
    assert [max_wait / 2 <= wait <= max_wait for wait, max_wait in zip(waits, max_waits, strict=True)] == [True] * 8
    assert len({wait / max_wait for wait, max_wait in zip(waits, max_waits, strict=True)}) == 8
    assert (ClientStatus.RECONNECTING, CLOSED, CloseCode.UNKNOWN_ERROR) in status_events.calls

    # The delay starts small again after the client was Ready.
    assert world.app.gateway is not None
    world.app.gateway.apply_fault(GatewayFault(effect="drop", user_id=mary.id))
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert waits[8] <= 1.0
    await mary.client.close()


async def test_an_unresponsive_gateway_is_abandoned_after_the_timeout(world: World) -> None:
    async def never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(never_respond, "127.0.0.1", 0)
    mary = await create_player(world, await create_game(world))
    status_events, waits = mary.record_event("status_changed"), record_waits(mary.client)
    mary.client.set_http_request_timeout(200)
    gateway = gateway_of(mary.client)
    assert gateway._session is not None
    # The host of the session does not respond. The client then uses the generic host, which responds (SDK 1.6).
    gateway._session = gateway._session._replace(url=f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    assert world.app.gateway is not None
    world.app.gateway.apply_fault(GatewayFault(effect="drop", user_id=mary.id))

    await status_events.next(lambda status, *_: status is ClientStatus.READY)

    assert [error for status, error, _ in status_events.calls if status is ClientStatus.RECONNECTING] == [
        CLOSED,
        FAILED,
    ]
    assert len(waits) == 2
    await mary.client.close()
    server.close()


# During a session


@pytest.mark.parametrize(
    "code",
    [
        CloseCode.AUTHENTICATION_FAILED,
        CloseCode.INVALID_SHARD,
        CloseCode.SHARDING_REQUIRED,
        CloseCode.INVALID_API_VERSION,
        CloseCode.INVALID_INTENTS,
        CloseCode.DISALLOWED_INTENTS,
    ],
)
async def test_fatal_close_codes_end_the_connection(world: World, code: int) -> None:
    mary = await create_player(world, await create_game(world))
    status_events, waits = mary.record_event("status_changed"), record_waits(mary.client)
    assert world.app.gateway is not None

    world.app.gateway.apply_fault(GatewayFault(effect="close", code=code, user_id=mary.id))

    assert await status_events.next() == (ClientStatus.DISCONNECTED, CLOSED, code)
    assert (mary.client.get_status(), waits) == (ClientStatus.DISCONNECTED, [])
    # The game may connect again.
    await mary.client.connect()
    assert mary.client.get_status() is ClientStatus.READY
    await mary.client.close()


async def test_an_invalid_session_is_replaced_with_full_state(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    lobby_id = await mary.client.create_or_join_lobby("secret")
    await mary.client.set_online_status(StatusType.DND)
    status_events, lobby_events = mary.record_event("status_changed"), mary.record_event("lobby_created")
    record_waits(mary.client)
    previous_session_id = gateway_of(mary.client).session_id
    assert world.app.gateway is not None

    world.app.gateway.apply_fault(GatewayFault(effect="invalid_session", user_id=mary.id))

    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert [status for status, *_ in status_events.calls] == [
        ClientStatus.RECONNECTING,
        ClientStatus.CONNECTED,
        ClientStatus.READY,
    ]
    assert gateway_of(mary.client).session_id != previous_session_id
    assert (mary.client.get_lobby_ids(), lobby_events.calls) == ([lobby_id], [])
    await mary.client.close()


async def test_unacknowledged_heartbeats_cause_a_resume(fast_heartbeat_world: World) -> None:
    mary = await create_player(fast_heartbeat_world, await create_game(fast_heartbeat_world))
    status_events, log_lines = mary.record_event("status_changed"), CallbackRecorder()
    mary.client.add_log_callback(log_lines, LoggingSeverity.WARNING)
    record_waits(mary.client)
    session_id = gateway_of(mary.client).session_id
    assert fast_heartbeat_world.app.gateway is not None

    fast_heartbeat_world.app.gateway.apply_fault(GatewayFault(effect="delay", delay_ms=600_000, user_id=mary.id))

    await status_events.next(lambda status, *_: status is ClientStatus.RECONNECTING)
    await log_lines.next(lambda text, _: "heartbeat" in text)
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    assert gateway_of(mary.client).session_id == session_id
    await mary.client.close()


async def test_a_disabled_feature_fails_without_a_request(fast_heartbeat_world: World) -> None:
    mary = await create_player(fast_heartbeat_world, await create_game(fast_heartbeat_world))
    recorder = CallbackRecorder()

    mary.client.create_or_join_lobby("secret", recorder)

    result, lobby_id = await recorder.next()
    assert (result.type, lobby_id, result.status, result.retryable) == (
        ErrorType.DISABLED,
        0,
        HttpStatusCode.NONE,
        False,
    )
    assert await mary.client.get_user_guilds() == []
    await mary.client.close()


async def test_presence_set_while_disconnected_is_sent_after_resume(world: World) -> None:
    mary, zoe = await create_friends(world)
    changed_events = zoe.record_event("user_updated")
    gateway = gateway_of(mary.client)

    async def set_presence(_: float) -> None:
        assert mary.client.get_status() is ClientStatus.RECONNECTING
        await mary.client.update_rich_presence(joinable_activity())

    gateway.sleep = set_presence
    assert world.app.gateway is not None
    world.app.gateway.apply_fault(GatewayFault(effect="drop", user_id=mary.id))

    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    await mary.client.close()
    await zoe.client.close()


async def test_presence_set_right_after_connecting_is_sent_with_the_session(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    mary, zoe = await create_friends(world)
    await mary.client.disconnect()
    changed_events, status_events = zoe.record_event("user_updated"), mary.record_event("status_changed")

    connection_task = mary.client.connect()
    await mary.client.update_rich_presence(joinable_activity())

    assert mary.client.get_status() is ClientStatus.CONNECTING
    await connection_task
    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    await mary.client.close()
    await zoe.client.close()


@pytest.mark.parametrize("is_first_connect", [True, False])
async def test_presence_set_during_an_outage_is_sent_after_recovery(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_first_connect: bool
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    mary, zoe = await create_friends(world)
    changed_events, gateway = zoe.record_event("user_updated"), gateway_of(mary.client)
    seen_statuses: list[ClientStatus] = []

    async def set_presence(_: float) -> None:
        seen_statuses.append(mary.client.get_status())
        if seen_statuses[-1] is ClientStatus.HTTP_WAIT:
            await mary.client.update_rich_presence(joinable_activity())

    gateway.sleep = set_presence
    world.app.faults.add(HttpFault(effect="status", status=503, route="/gateway"))
    if is_first_connect:
        await mary.client.disconnect()
        await mary.client.connect()
    else:
        assert world.app.gateway is not None
        world.app.gateway.apply_fault(GatewayFault(effect="invalid_session", user_id=mary.id))

    await changed_events.next(lambda user_id: user_id == mary.id and visible_activity(zoe, mary) is not None)
    assert seen_statuses[-1] is ClientStatus.HTTP_WAIT
    await mary.client.close()
    await zoe.client.close()


# Requests


async def test_a_short_rate_limit_is_waited_out_without_an_error(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    mary.client._core.api._http._sleep = wait
    world.app.faults.add(HttpFault(effect="status", status=429, retry_after=0.75, route="/lobbies"))

    assert await mary.client.create_or_join_lobby("secret")

    assert waits == [0.75]
    await mary.client.close()


async def test_a_long_rate_limit_reports_retry_after(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    world.app.faults.add(HttpFault(effect="status", status=429, retry_after=3600, route="/lobbies", times=2))
    recorder = CallbackRecorder()

    mary.client.create_or_join_lobby("secret", recorder)
    result, lobby_id = await recorder.next()
    with pytest.raises(SdkError) as caught:
        await mary.client.create_or_join_lobby("secret")

    for rejection in (result, caught.value.result):
        assert (rejection.type, rejection.status, rejection.successful) == (
            ErrorType.HTTP_ERROR,
            HttpStatusCode.TOO_MANY_REQUESTS,
            False,
        )
        assert (rejection.retryable, rejection.retry_after) == (True, 3600.0)
        assert msgspec.json.decode(rejection.response_body)["retry_after"] == 3600.0
    assert lobby_id == 0
    await mary.client.close()


async def test_a_late_response_is_a_failure(world: World) -> None:
    mary = await create_player(world, await create_game(world))
    assert mary.client._core.api.timeout_ms == 30_000
    lobby_id = await mary.client.create_or_join_lobby("secret")
    mary.client.set_http_request_timeout(100)
    world.app.faults.add(
        HttpFault(effect="delay", delay_ms=2000, method="POST", route="/lobbies/{lobby_id}/messages", moment="after")
    )

    with pytest.raises(SdkError) as caught:
        await mary.client.send_lobby_message(lobby_id, "once")

    result = caught.value.result
    assert (result.type, result.retryable, result.status) == (ErrorType.NETWORK_ERROR, True, HttpStatusCode.NONE)
    with pytest.raises(ValueError, match="greater than 0"):
        mary.client.set_http_request_timeout(0)
    await mary.client.close()


# Tokens of a running session


async def test_a_renewed_token_does_not_interrupt_the_session(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application)
    status_events, session_id = mary.record_event("status_changed"), gateway_of(mary.client).session_id

    renewed_tokens = await mary.client.refresh_token(application.id, mary.tokens["refresh_token"])
    await mary.client.update_token(BEARER, renewed_tokens.access_token)

    assert await mary.client.create_or_join_lobby("secret")
    assert (status_events.calls, gateway_of(mary.client).session_id) == ([], session_id)
    await mary.client.close()


async def test_another_players_token_starts_a_new_session(world: World) -> None:
    application = await create_game(world)
    mary, zoe = await create_friends(world, application)
    recorder = mary.record_event("message_created")
    sent_id = await zoe.client.send_user_message(mary.id, "for mary alone")
    await recorder.next(lambda message_id: message_id == sent_id)
    rob = await create_player(world, application, "rob", connect=False)
    status_events = mary.record_event("status_changed")

    await mary.client.update_token(BEARER, rob.tokens["access_token"])

    await status_events.next(lambda status, *_: status is ClientStatus.READY)
    me = mary.client.get_current_user_v2()
    assert me is not None
    assert (me.id, me.username) == (rob.id, "rob")
    assert (mary.client.get_relationships(), mary.client.get_message_handle(sent_id)) == ([], None)
    for player in (mary, zoe, rob):
        await player.client.close()


async def test_a_revoked_token_gets_no_expiration_callback(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application)
    status_events, tokens = mary.record_event("status_changed"), tokens_of(mary)
    assert tokens._expiry_timer is not None

    await mary.client.revoke_token(application.id, mary.tokens["access_token"])

    await status_events.next(lambda status, *_: status is ClientStatus.DISCONNECTED)
    assert tokens._expiry_timer is None
    await mary.client.close()


def tokens_of(player: Player) -> Tokens:
    tokens: Tokens = player.client._parts[Tokens]
    return tokens
