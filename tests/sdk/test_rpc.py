"""The chat client on the same machine, over the local RPC."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hubbub.sdk import (
    Activity,
    ActivityButton,
    ActivityTypes,
    AuthorizationArgs,
    Client,
    ErrorType,
    SdkError,
)
from tests.sdk.agent import USER, Agent
from tests.sdk.players import Heard


@pytest.fixture
async def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Agent]:
    """A chat client that runs."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    running = await Agent(tmp_path).start()
    yield running
    await running.stop()


def rpc_of(client: Client) -> object:
    from hubbub.sdk.authorization import Authorization

    return client._parts[Authorization]._rpc()


async def test_the_chat_client_is_asked_before_a_browser(agent: Agent) -> None:
    agent.answers["AUTHORIZE"] = {"code": "a-code-of-length"}
    client = Client(open_browser=lambda url: pytest.fail(f"a browser was opened: {url}"))
    verifier = client.create_authorization_code_verifier()

    code, redirect_uri = await client.authorize(
        AuthorizationArgs(client_id=99, scopes="openid identify", code_challenge=verifier.challenge)
    )

    asked = (await agent.next("AUTHORIZE"))["args"]
    assert agent.handshakes == [{"v": 1, "client_id": "99"}]
    assert (code, redirect_uri) == ("a-code-of-length", "http://127.0.0.1/callback")
    assert (asked["client_id"], asked["scopes"], asked["response_type"]) == ("99", ["openid", "identify"], "code")
    assert (asked["code_challenge"], asked["code_challenge_method"]) == (verifier.challenge.challenge, "S256")
    assert asked["pid"] == os.getpid()
    await client.close()


@pytest.mark.parametrize(
    ("answer", "type", "code"),
    [
        ((5000, "access_denied"), ErrorType.ABORTED, 0),
        ((5000, "invalid_scope"), ErrorType.AUTHORIZATION_FAILED, 0),
        ((4007, "Invalid client id"), ErrorType.RPC_ERROR, 4007),
    ],
)
async def test_its_refusals_are_told_apart(agent: Agent, answer: tuple[int, str], type: ErrorType, code: int) -> None:
    agent.answers["AUTHORIZE"] = answer
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.authorize(AuthorizationArgs(client_id=99, scopes="identify"))

    result = caught.value.result
    assert (result.type, result.error, result.error_code) == (type, answer[1], code)
    await client.close()


async def test_a_chat_client_that_refuses_the_handshake_is_an_rpc_error(agent: Agent) -> None:
    agent.refuses = (4000, "Invalid Client ID")
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.get_platform_client_connected_user(99)

    assert (caught.value.result.type, caught.value.result.error_code) == (ErrorType.RPC_ERROR, 4000)
    await client.close()


async def test_a_player_begins_to_link_in_the_chat_client_even_after_it_restarted(agent: Agent, tmp_path: Path) -> None:
    client = Client()
    client.set_application_id(99)
    rpc = rpc_of(client)
    rpc.look_again_s = 0.01  # type: ignore[attr-defined]
    heard = Heard()

    client.register_authorize_request_callback(heard)
    assert (await agent.next("SUBSCRIBE"))["evt"] == "AUTHORIZE_REQUEST"
    agent.say("AUTHORIZE_REQUEST", None)
    assert await heard.next() == ()

    await agent.stop()
    again = await Agent(tmp_path, index=1).start()
    assert (await again.next("SUBSCRIBE"))["evt"] == "AUTHORIZE_REQUEST"
    again.say("AUTHORIZE_REQUEST", None)
    assert await heard.next() == ()

    client.remove_authorize_request_callback()
    assert (await again.next("UNSUBSCRIBE"))["evt"] == "AUTHORIZE_REQUEST"
    await client.close()
    await again.stop()
    await agent.start()


async def test_presence_without_a_session_goes_through_the_chat_client(agent: Agent) -> None:
    client = Client()
    client.set_application_id(99)
    shown = Activity(name="Puddle", type=ActivityTypes.COMPETING, details="Jumping")
    shown.add_button(ActivityButton(label="Watch", url="https://puddle.example"))

    await client.update_rich_presence(shown)

    args = (await agent.next("SET_ACTIVITY"))["args"]
    assert args["pid"] == os.getpid()
    assert args["activity"] == {
        "name": "Puddle",
        "type": 5,
        "details": "Jumping",
        "buttons": [{"label": "Watch", "url": "https://puddle.example"}],
    }
    client.clear_rich_presence()
    assert (await agent.next("SET_ACTIVITY"))["args"]["activity"] is None
    await client.close()


async def test_without_session_and_chat_client_presence_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    client = Client()

    with pytest.raises(SdkError) as caught:
        await client.update_rich_presence(Activity(name="Puddle"))

    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    await client.close()


async def test_an_invite_accepted_in_the_chat_client_reaches_the_game(agent: Agent) -> None:
    client = Client()
    client.set_application_id(99)
    joined, with_application = Heard(), Heard()

    client.set_activity_join_callback(joined)
    client.set_activity_join_with_application_callback(with_application)
    assert (await agent.next("SUBSCRIBE"))["evt"] == "ACTIVITY_JOIN"
    agent.say("ACTIVITY_JOIN", {"secret": "come-in", "application_id": "100"})

    assert await joined.next() == "come-in"
    assert await with_application.next() == (100, "come-in")
    await client.close()


async def test_the_chat_clients_user_is_known(agent: Agent) -> None:
    client = Client()

    user = await client.get_platform_client_connected_user(99)

    assert user is not None
    assert (user.id, user.display_name) == (int(USER["id"] or 0), "Mary")
    await client.close()


async def test_a_ping_is_answered_with_its_own_words(agent: Agent) -> None:
    client = Client()
    await client.get_platform_client_connected_user(99)

    agent.ping()

    assert (await agent.next("opcode 4"))["data"] == "are you there"
    await client.close()


async def test_a_chat_client_that_goes_away_fails_what_waits(agent: Agent) -> None:
    client = Client()
    await client.get_platform_client_connected_user(99)
    rpc = rpc_of(client)

    async def gone() -> None:
        await rpc.command("NEVER")  # type: ignore[attr-defined]

    answers, agent.answers = agent.answers, {}
    waiting = asyncio.create_task(gone())
    await agent.next("NEVER")
    await waiting
    agent.answers = answers
    await agent.stop()
    with pytest.raises(SdkError) as caught:
        await client.update_rich_presence(Activity(name="Puddle"))
    assert caught.value.result.type is ErrorType.NETWORK_ERROR
    await client.close()
    await agent.start()
