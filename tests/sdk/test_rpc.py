"""The chat client on the same machine: the SDK and the real agent over local RPC."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from hubbub.agent import commands
from hubbub.agent.terminal import Terminal
from hubbub.protocol import rpc
from hubbub.protocol.rpc import CloseCode, Opcode, RpcErrorCode
from hubbub.sdk import (
    Activity,
    ActivityButton,
    ActivityParty,
    ActivitySecrets,
    ActivityTypes,
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    ErrorType,
    LoggingSeverity,
    SdkError,
)
from hubbub.sdk.authorization import Authorization
from hubbub.sdk.presence import Presence
from tests import oauth
from tests.machine import Machine, NewMachine
from tests.sdk.players import CallbackRecorder, create_game, new_client
from tests.world import WAIT_TIMEOUT_SECONDS, World, befriend, wait_until

BEARER = AuthorizationTokenType.BEARER


@pytest.fixture
async def machine(world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Mary's machine, whose agent the SDK in this process finds."""
    machine = await new_machine(await world.user("mary"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    return machine


def rpc_of(client: Client) -> Any:
    return client._parts[Authorization]._rpc()


def new_application_client(world: World, application: oauth.Client, **client_options: Any) -> Client:
    """Create a client that has the ID of an application, and no session."""
    client = new_client(world, **client_options)
    client.set_application_id(application.id)
    return client


def is_subscribed(machine: Machine, event: str) -> bool:
    return any(
        subscription.event == event
        for connection in machine.agent.context.connections
        for subscription in connection.subscriptions
    )


async def test_authorization_prefers_the_chat_client_over_a_browser(world: World, machine: Machine) -> None:
    puddle = await create_game(world)
    client = new_client(world, open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
    verifier = client.create_authorization_code_verifier()

    code, redirect_uri = await client.authorize(
        AuthorizationArgs(client_id=puddle.id, scopes="openid identify", code_challenge=verifier.challenge)
    )

    (consent_request,) = machine.consent.requests
    assert (consent_request.application_name, consent_request.user_name) == ("Puddle", "mary")
    tokens = await client.get_token(puddle.id, code, verifier.verifier, redirect_uri)
    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == machine.owner.id
    await client.close()


async def test_the_authorization_request_contains_the_process_id(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    process_ids: list[Any] = []
    authorize = commands.HANDLERS["AUTHORIZE"]

    async def record_authorize(context: Any, connection: Any, request: Any) -> Any:
        process_ids.append(request.args["pid"])
        return await authorize(context, connection, request)

    monkeypatch.setitem(commands.HANDLERS, "AUTHORIZE", record_authorize)
    client = new_application_client(world, await create_game(world))
    verifier = client.create_authorization_code_verifier()
    args = AuthorizationArgs(scopes="identify", code_challenge=verifier.challenge)

    await client.authorize(args)
    client.set_game_window_pid(4711)
    await client.authorize(args)

    assert process_ids == [os.getpid(), 4711]
    await client.close()


async def test_chat_client_errors_are_distinguished(world: World, machine: Machine) -> None:
    puddle, other_game = await create_game(world), await create_game(world)
    client = new_application_client(world, puddle)
    verifier = client.create_authorization_code_verifier()

    async def authorization_error(scopes: str, client_id: int) -> tuple[ErrorType, str, int]:
        args = AuthorizationArgs(client_id=client_id, scopes=scopes, code_challenge=verifier.challenge)
        with pytest.raises(SdkError) as caught:
            await client.authorize(args)
        return caught.value.result.type, caught.value.result.error, caught.value.result.error_code

    machine.consent.grants_consent = False
    assert await authorization_error("identify", puddle.id) == (ErrorType.ABORTED, "access_denied", 0)
    assert await authorization_error("fly", puddle.id) == (ErrorType.AUTHORIZATION_FAILED, "invalid_scope", 0)
    # Another application uses a connection of its own; the first connection still belongs to Puddle.
    assert await authorization_error("identify", other_game.id) == (ErrorType.ABORTED, "access_denied", 0)
    with pytest.raises(SdkError) as caught:
        await rpc_of(client).command("AUTHORIZE", {"client_id": str(other_game.id), "scopes": ["identify"]})
    result = caught.value.result
    assert (result.type, result.error, result.error_code) == (
        ErrorType.RPC_ERROR,
        "Invalid Client ID",
        RpcErrorCode.INVALID_CLIENT_ID,
    )
    await client.close()


async def test_a_handshake_rejected_by_the_chat_client_is_an_rpc_error(machine: Machine) -> None:
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.get_platform_client_connected_user(99)

    assert (caught.value.result.type, caught.value.result.error_code) == (
        ErrorType.RPC_ERROR,
        CloseCode.INVALID_CLIENT_ID,
    )
    assert caught.value.result.error == "Invalid Client ID"
    await client.close()


async def test_linking_can_start_in_the_chat_client_even_after_a_restart(world: World, machine: Machine) -> None:
    puddle = await create_game(world)
    client = new_application_client(world, puddle)
    rpc_of(client).reconnect_seconds = 0.01
    recorder = CallbackRecorder()

    client.register_authorize_request_callback(recorder)
    await wait_until(lambda: is_subscribed(machine, "AUTHORIZE_REQUEST"))
    assert await machine.agent.context.request_authorization(str(puddle.id)) == 1
    assert await recorder.next() == ()

    await machine.stop()
    await machine.start(1)
    await wait_until(lambda: is_subscribed(machine, "AUTHORIZE_REQUEST"))
    await machine.agent.context.request_authorization(str(puddle.id))
    assert await recorder.next() == ()

    client.remove_authorize_request_callback()
    await wait_until(lambda: not is_subscribed(machine, "AUTHORIZE_REQUEST"))
    await client.close()


async def test_a_linked_game_gets_no_link_request(world: World, machine: Machine) -> None:
    puddle = await create_game(world)
    client = new_application_client(world, puddle, open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
    recorder, output = CallbackRecorder(), list[str]()
    terminal, context = Terminal(write_line=output.append), machine.agent.context

    client.register_authorize_request_callback(recorder)
    await wait_until(lambda: is_subscribed(machine, "AUTHORIZE_REQUEST"))
    # Granting the `identify` scope does not link an account.
    await puddle.request_tokens(machine.owner, "identify")
    await terminal.run_command(context, "games", "")
    await terminal.run_command(context, "link", str(puddle.id))
    await recorder.next()
    verifier = client.create_authorization_code_verifier()
    scopes = client.get_default_communication_scopes()
    await client.authorize(AuthorizationArgs(scopes=scopes, code_challenge=verifier.challenge))
    await terminal.run_command(context, "games", "")
    await terminal.run_command(context, "link", str(puddle.id))

    assert output == [
        f"  Puddle ({puddle.id}), can be linked",
        "  The game will ask for access in a moment.",
        f"  Puddle ({puddle.id}), linked",
        "  This game cannot be linked now. Type `games` to see which games can.",
    ]
    assert len(recorder.calls) == 1
    await client.close()


async def test_presence_without_a_session_goes_through_the_chat_client(world: World, machine: Machine) -> None:
    puddle, zoe = await create_game(world), await world.user("zoe")
    await befriend(machine.owner, zoe)
    zoe_session = await zoe.connect()
    client = new_application_client(world, puddle)
    activity = Activity(name="Puddle II", type=ActivityTypes.COMPETING, details="Jumping")
    activity.add_button(ActivityButton(label="Watch", url="https://puddle.example"))

    await client.update_rich_presence(activity)

    (visible,) = (await zoe_session.next("PRESENCE_UPDATE", lambda data: data["activities"]))["activities"]
    assert (visible["name"], visible["type"], visible["details"], visible["buttons"]) == (
        "Puddle II",
        ActivityTypes.COMPETING,
        "Jumping",
        ["Watch"],
    )
    (activity_key,) = machine.agent.context.activities._activities
    assert activity_key.pid == os.getpid()
    client.clear_rich_presence()
    await zoe_session.next("PRESENCE_UPDATE", lambda data: not data["activities"])
    await client.close()


async def test_without_session_and_chat_client_presence_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.update_rich_presence(Activity(name="Puddle"))

    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    assert client._parts[Presence].activity is None
    await client.close()


async def test_clearing_presence_without_session_and_chat_client_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    client, log_recorder = Client(), CallbackRecorder()
    client.add_log_callback(log_recorder, LoggingSeverity.INFO)

    client.clear_rich_presence()

    _, severity = await log_recorder.next(lambda text, _: "presence" in text or "unexpected exception" in text)
    assert severity is LoggingSeverity.INFO
    await client.close()


async def test_an_invite_accepted_in_the_chat_client_joins_the_game(
    world: World, machine: Machine, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    puddle, zoe = await create_game(world), await world.user("zoe")
    await befriend(machine.owner, zoe)
    zoe_machine = await new_machine(zoe)
    host, guest = new_application_client(world, puddle), new_application_client(world, puddle)
    join_recorder, application_join_recorder = CallbackRecorder(), CallbackRecorder()
    party = ActivityParty(id="party-1", current_size=1, max_size=4)
    activity = Activity(name="Puddle", party=party, secrets=ActivitySecrets(join="come-in"))

    await host.update_rich_presence(activity)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(zoe_machine.directory))
    guest.set_activity_join_callback(join_recorder)
    guest.set_activity_join_with_application_callback(application_join_recorder)
    await wait_until(lambda: is_subscribed(zoe_machine, "ACTIVITY_JOIN"))
    await host.send_activity_invite(zoe.id, "come and play")
    await wait_until(lambda: zoe_machine.agent.context.invites)
    (message_id,) = zoe_machine.agent.context.invites
    await Terminal(write_line=lambda _: None).run_command(zoe_machine.agent.context, "accept", message_id)

    assert await join_recorder.next() == "come-in"
    assert await application_join_recorder.next() == (puddle.id, "come-in")
    await host.close()
    await guest.close()


async def test_the_chat_clients_user_is_known(world: World, machine: Machine) -> None:
    puddle = await create_game(world)
    (await machine.owner.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
    await wait_until(lambda: machine.agent.account.state.user["global_name"])
    client = Client()

    user = await client.get_platform_client_connected_user(puddle.id)

    assert user is not None
    assert (user.id, user.display_name) == (machine.owner.id, "Mary the Great")
    await client.close()


async def test_a_game_with_presence_authorizes_for_its_publisher(world: World, machine: Machine) -> None:
    puddle, publisher = await create_game(world), await create_game(world, name="Pond")
    client = new_application_client(world, puddle, open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
    await client.update_rich_presence(Activity(name="Puddle", state="In the menu"))
    verifier = client.create_authorization_code_verifier()

    code, redirect_uri = await client.authorize(
        AuthorizationArgs(client_id=publisher.id, scopes="identify", code_challenge=verifier.challenge)
    )

    (consent_request,) = machine.consent.requests
    assert consent_request.application_name == "Pond"
    tokens = await client.get_token(publisher.id, code, verifier.verifier, redirect_uri)
    assert tokens.access_token
    await client.get_platform_client_connected_user(publisher.id)
    assert sorted(int(connection.application_id) for connection in machine.agent.context.connections) == sorted(
        [puddle.id, publisher.id]
    )
    # The presence is cleared for the application that set it, although the client now has another application ID.
    client.set_application_id(publisher.id)
    await client._parts[Presence]._clear_locally()
    assert machine.agent.context.activities._activities == {}
    await client.close()


async def test_a_disconnecting_chat_client_fails_pending_requests(world: World, machine: Machine) -> None:
    client = new_application_client(world, await create_game(world))
    verifier = client.create_authorization_code_verifier()
    machine.consent.release = asyncio.Event()
    args = AuthorizationArgs(scopes="identify", code_challenge=verifier.challenge)

    async def authorize() -> None:
        await client.authorize(args)

    task = asyncio.create_task(authorize())
    await wait_until(lambda: machine.consent.requests)

    await machine.stop()

    with pytest.raises(SdkError) as caught:
        await task
    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    with pytest.raises(SdkError) as caught:
        await client.update_rich_presence(Activity(name="Puddle"))
    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    await client.close()


async def test_a_ping_is_answered_with_its_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hubbub's agent never sends a ping; another chat client may.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    pong_body: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def read_body(reader: asyncio.StreamReader) -> bytes:
        return await reader.readexactly(rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))[1])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_body(reader)
        user = {"id": "4711", "username": "mary"}
        ready = {"cmd": "DISPATCH", "evt": "READY", "data": {"v": 1, "user": user}, "nonce": None}
        writer.write(rpc.encode_frame(Opcode.FRAME, ready) + rpc.encode_frame(Opcode.PING, "are you there"))
        pong_body.set_result(await read_body(reader))
        writer.close()

    async with await asyncio.start_unix_server(serve, str(tmp_path / "hubbub-ipc-0")):
        client = Client()
        await client.get_platform_client_connected_user(99)
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            assert await pong_body == b'"are you there"'
        await client.close()
