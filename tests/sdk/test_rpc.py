"""The chat client on the same machine: the SDK and the real agent over local RPC."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from hubbub.agent import commands
from hubbub.agent.terminal import Terminal
from hubbub.protocol import rpc
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
from tests.sdk.players import CallbackRecorder, game, new_client
from tests.world import WAIT_TIMEOUT_SECONDS, World, befriend

BEARER = AuthorizationTokenType.BEARER


@pytest.fixture
async def machine(world: World, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Mary's machine, which this process runs on."""
    machine = await new_machine(await world.user("mary"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(machine.directory))
    return machine


def rpc_of(client: Client) -> Any:
    return client._parts[Authorization]._rpc()


def client_of(world: World, application: oauth.Client, **more: Any) -> Client:
    """Create a client without a session."""
    client = new_client(world, **more)
    client.set_application_id(application.id)
    return client


async def until(holds: Any) -> None:
    """Wait for something that the agent is about to do."""
    async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


def subscribed(machine: Machine, event: str) -> bool:
    return any(each.event == event for link in machine.agent.context.connections for each in link.subscriptions)


async def test_authorization_prefers_the_chat_client_over_a_browser(world: World, machine: Machine) -> None:
    puddle = await game(world)
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


async def test_the_authorization_request_carries_the_process_id(
    world: World, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    authorize = commands.HANDLERS["AUTHORIZE"]

    async def record_authorize(desk: Any, link: Any, request: Any) -> Any:
        asked.append(request.args["pid"])
        return await authorize(desk, link, request)

    monkeypatch.setitem(commands.HANDLERS, "AUTHORIZE", record_authorize)
    client = client_of(world, await game(world))
    verifier = client.create_authorization_code_verifier()
    args = AuthorizationArgs(scopes="identify", code_challenge=verifier.challenge)

    await client.authorize(args)
    client.set_game_window_pid(4711)
    await client.authorize(args)

    assert asked == [os.getpid(), 4711]
    await client.close()


async def test_chat_client_errors_are_distinguished(world: World, machine: Machine) -> None:
    puddle, other = await game(world), await game(world)
    client = client_of(world, puddle)
    verifier = client.create_authorization_code_verifier()

    async def refused(scopes: str, client_id: int) -> tuple[ErrorType, str, int]:
        args = AuthorizationArgs(client_id=client_id, scopes=scopes, code_challenge=verifier.challenge)
        with pytest.raises(SdkError) as caught:
            await client.authorize(args)
        return caught.value.result.type, caught.value.result.error, caught.value.result.error_code

    machine.consent.grants_consent = False
    assert await refused("identify", puddle.id) == (ErrorType.ABORTED, "access_denied", 0)
    assert await refused("fly", puddle.id) == (ErrorType.AUTHORIZATION_FAILED, "invalid_scope", 0)
    # Another application uses its own connection; this one stays with Puddle.
    assert await refused("identify", other.id) == (ErrorType.ABORTED, "access_denied", 0)
    with pytest.raises(SdkError) as caught:
        await rpc_of(client).command("AUTHORIZE", {"client_id": str(other.id), "scopes": ["identify"]})
    result = caught.value.result
    assert (result.type, result.error, result.error_code) == (ErrorType.RPC_ERROR, "Invalid Client ID", 4007)
    await client.close()


async def test_a_chat_client_that_refuses_the_handshake_is_an_rpc_error(machine: Machine) -> None:
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.get_platform_client_connected_user(99)

    assert (caught.value.result.type, caught.value.result.error_code) == (ErrorType.RPC_ERROR, 4000)
    assert caught.value.result.error == "Invalid Client ID"
    await client.close()


async def test_linking_can_start_in_the_chat_client_even_after_a_restart(world: World, machine: Machine) -> None:
    puddle = await game(world)
    client = client_of(world, puddle)
    rpc_of(client).look_again_s = 0.01
    recorder = CallbackRecorder()

    client.register_authorize_request_callback(recorder)
    await until(lambda: subscribed(machine, "AUTHORIZE_REQUEST"))
    assert await machine.agent.context.request_authorization(str(puddle.id)) == 1
    assert await recorder.next() == ()

    await machine.stop()
    await machine.start(1)
    await until(lambda: subscribed(machine, "AUTHORIZE_REQUEST"))
    await machine.agent.context.request_authorization(str(puddle.id))
    assert await recorder.next() == ()

    client.remove_authorize_request_callback()
    await until(lambda: not subscribed(machine, "AUTHORIZE_REQUEST"))
    await client.close()


async def test_a_linked_game_gets_no_link_request(world: World, machine: Machine) -> None:
    puddle = await game(world)
    client = client_of(world, puddle, open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
    recorder, logged = CallbackRecorder(), list[str]()
    terminal, desk = Terminal(write_line=logged.append), machine.agent.context

    client.register_authorize_request_callback(recorder)
    await until(lambda: subscribed(machine, "AUTHORIZE_REQUEST"))
    # Granting the `identify` scope does not link an account.
    await puddle.request_tokens(machine.owner, "identify")
    await terminal.run_command(desk, "games", "")
    await terminal.run_command(desk, "link", str(puddle.id))
    await recorder.next()
    verifier = client.create_authorization_code_verifier()
    scopes = client.get_default_communication_scopes()
    await client.authorize(AuthorizationArgs(scopes=scopes, code_challenge=verifier.challenge))
    await terminal.run_command(desk, "games", "")
    await terminal.run_command(desk, "link", str(puddle.id))

    assert logged == [
        f"  Puddle ({puddle.id}), can be linked",
        "  The game will ask for access in a moment.",
        f"  Puddle ({puddle.id}), linked",
        "  This game cannot be linked now. Type `games` to see which games can.",
    ]
    assert len(recorder.all) == 1
    await client.close()


async def test_presence_without_a_session_goes_through_the_chat_client(world: World, machine: Machine) -> None:
    puddle, zoe = await game(world), await world.user("zoe")
    await befriend(machine.owner, zoe)
    friend = await zoe.connect()
    client = client_of(world, puddle)
    shown = Activity(name="Puddle II", type=ActivityTypes.COMPETING, details="Jumping")
    shown.add_button(ActivityButton(label="Watch", url="https://puddle.example"))

    await client.update_rich_presence(shown)

    (seen,) = (await friend.next("PRESENCE_UPDATE", lambda data: data["activities"]))["activities"]
    assert (seen["name"], seen["type"], seen["details"], seen["buttons"]) == ("Puddle II", 5, "Jumping", ["Watch"])
    (kept,) = machine.agent.context.activities._activities
    assert kept.pid == os.getpid()
    client.clear_rich_presence()
    await friend.next("PRESENCE_UPDATE", lambda data: not data["activities"])
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
    client, logged = Client(debug=True), CallbackRecorder()
    client.add_log_callback(logged, LoggingSeverity.INFO)

    client.clear_rich_presence()

    _, severity = await logged.next(lambda text, _: "presence" in text or "unexpected exception" in text)
    assert severity is LoggingSeverity.INFO
    await client.close()


async def test_an_invite_accepted_in_the_chat_client_joins_the_game(
    world: World, machine: Machine, new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    puddle, zoe = await game(world), await world.user("zoe")
    await befriend(machine.owner, zoe)
    elsewhere = await new_machine(zoe)
    host, guest = client_of(world, puddle), client_of(world, puddle)
    joined, with_application = CallbackRecorder(), CallbackRecorder()
    party = ActivityParty(id="party-1", current_size=1, max_size=4)
    shown = Activity(name="Puddle", party=party, secrets=ActivitySecrets(join="come-in"))

    await host.update_rich_presence(shown)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(elsewhere.directory))
    guest.set_activity_join_callback(joined)
    guest.set_activity_join_with_application_callback(with_application)
    await until(lambda: subscribed(elsewhere, "ACTIVITY_JOIN"))
    await host.send_activity_invite(zoe.id, "come and play")
    await until(lambda: elsewhere.agent.context.invites)
    (message_id,) = elsewhere.agent.context.invites
    await Terminal(write_line=lambda _: None).run_command(elsewhere.agent.context, "accept", message_id)

    assert await joined.next() == "come-in"
    assert await with_application.next() == (puddle.id, "come-in")
    await host.close()
    await guest.close()


async def test_the_chat_clients_user_is_known(world: World, machine: Machine) -> None:
    puddle = await game(world)
    (await machine.owner.patch("/users/@me", json={"global_name": "Mary the Great"})).ok()
    await until(lambda: machine.agent.account.state.user["global_name"])
    client = Client()

    user = await client.get_platform_client_connected_user(puddle.id)

    assert user is not None
    assert (user.id, user.display_name) == (machine.owner.id, "Mary the Great")
    await client.close()


async def test_a_game_with_presence_authorizes_for_its_publisher(world: World, machine: Machine) -> None:
    puddle, publisher = await game(world), await game(world, name="Pond")
    client = client_of(world, puddle, open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
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
    assert sorted(int(link.application_id) for link in machine.agent.context.connections) == sorted(
        [puddle.id, publisher.id]
    )
    # Presence set by the first application is cleared for the first, whatever the client uses now.
    client.set_application_id(publisher.id)
    await client._parts[Presence]._clear_locally()
    assert machine.agent.context.activities._activities == {}
    await client.close()


async def test_a_disconnecting_chat_client_fails_pending_requests(world: World, machine: Machine) -> None:
    client = client_of(world, await game(world))
    verifier = client.create_authorization_code_verifier()
    machine.consent.release = asyncio.Event()
    args = AuthorizationArgs(scopes="identify", code_challenge=verifier.challenge)

    async def ask() -> None:
        await client.authorize(args)

    waiting = asyncio.create_task(ask())
    await until(lambda: machine.consent.requests)

    await machine.stop()

    with pytest.raises(SdkError) as caught:
        await waiting
    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    with pytest.raises(SdkError) as caught:
        await client.update_rich_presence(Activity(name="Puddle"))
    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    await client.close()


async def test_a_ping_is_answered_with_its_payload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Hubbub's agent never sends a ping; another chat client may.
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def read(reader: asyncio.StreamReader) -> bytes:
        return await reader.readexactly(rpc.HEADER.unpack(await reader.readexactly(rpc.HEADER.size))[1])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read(reader)
        user = {"id": "4711", "username": "mary"}
        ready = {"cmd": "DISPATCH", "evt": "READY", "data": {"v": 1, "user": user}, "nonce": None}
        writer.write(rpc.encode_frame(1, ready) + rpc.encode_frame(3, "are you there"))
        answered.set_result(await read(reader))
        writer.close()

    async with await asyncio.start_unix_server(serve, str(tmp_path / "hubbub-ipc-0")):
        client = Client()
        await client.get_platform_client_connected_user(99)
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            assert await answered == b'"are you there"'
        await client.close()
