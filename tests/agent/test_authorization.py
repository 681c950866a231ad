"""Authorization of a game through the agent, authentication with the token, and consent prompts (spec/rpc.md#7)."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from hubbub.agent.consent import BrowserConsent, ConsentRequest, ConsentResponse, FixedConsent, TerminalConsent
from hubbub.protocol.rpc import CloseCode, RpcErrorCode
from tests import oauth
from tests.machine import CLOSE, FRAME, Machine, NewMachine
from tests.world import Actor, World

pytestmark = pytest.mark.parametrize("store_config", ["sqlite"], indirect=True)

PUBLIC_GAME = {"is_public": True, "redirect_uris": ("http://127.0.0.1/callback",), "name": "Puddle"}


@pytest.fixture
async def mary(world: World) -> Actor:
    """The user who is signed in to the agent."""
    return await world.user("mary")


@pytest.fixture
async def machine(mary: Actor, new_machine: NewMachine) -> Machine:
    """Mary's machine."""
    return await new_machine(mary)


def authorize_args(game: oauth.Client, scopes: Any = "identify", **fields: Any) -> dict[str, Any]:
    scopes = scopes.split() if isinstance(scopes, str) else scopes
    return {"client_id": str(game.id), "scopes": scopes, "response_type": "code", **fields}


async def test_consent_is_requested_and_the_code_is_exchanged_for_a_token(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)

    reply = await program.call("AUTHORIZE", authorize_args(game, "identify guilds"))

    (consent_request,) = machine.consent.requests
    assert (consent_request.application_name, consent_request.user_name) == ("Puddle", "mary")
    assert consent_request.scope_descriptions == ["See your username, avatar and banner", "See which guilds you are in"]
    assert reply["redirect_uri"] == game.redirect_uri
    tokens = (await game.exchange(reply["code"])).ok()
    assert tokens["scope"] == "identify guilds"
    authentication = await program.call("AUTHENTICATE", {"access_token": tokens["access_token"]})
    assert authentication["application"] == {
        "id": str(game.id),
        "name": "Puddle",
        "icon": None,
        "description": "",
        "rpc_origins": [],
    }
    assert (authentication["user"]["username"], sorted(authentication["scopes"])) == ("mary", ["guilds", "identify"])
    assert authentication["access_token"] == tokens["access_token"]
    assert authentication["expires"].startswith("2026-")


async def test_a_public_game_authorizes_with_pkce(world: World, machine: Machine) -> None:
    game = await oauth.create_application(world, **PUBLIC_GAME)
    game.redirect_uri = "http://127.0.0.1/callback"
    program = await machine.connect_program(game.id)
    verifier, challenge = oauth.create_pkce_pair()

    assert await program.call_error("AUTHORIZE", authorize_args(game)) == (RpcErrorCode.OAUTH2_ERROR, "invalid_request")
    reply = await program.call(
        "AUTHORIZE", authorize_args(game, code_challenge=challenge, code_challenge_method="S256")
    )

    assert (await game.exchange(reply["code"], code_verifier=verifier)).ok()["access_token"]


async def test_a_denied_consent_is_an_error(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    machine.consent.grants_consent = False

    assert await program.call_error("AUTHORIZE", authorize_args(game)) == (RpcErrorCode.OAUTH2_ERROR, "access_denied")


async def test_a_granted_scope_is_not_requested_again_with_prompt_none(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    await program.call("AUTHORIZE", authorize_args(game, "identify guilds", prompt="none"))
    assert len(machine.consent.requests) == 1

    assert (await program.call("AUTHORIZE", authorize_args(game, prompt="none")))["code"]
    assert len(machine.consent.requests) == 1
    await program.call("AUTHORIZE", authorize_args(game, prompt="consent"))
    await program.call("AUTHORIZE", authorize_args(game, "identify connections", prompt="none"))
    assert len(machine.consent.requests) == 3


async def test_an_rpc_token_skips_the_consent_once(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    rpc_token = (await game.post_form("/oauth2/token/rpc")).ok()["rpc_token"]

    assert (await program.call("AUTHORIZE", authorize_args(game, rpc_token=rpc_token)))["code"]
    assert machine.consent.requests == []
    assert await program.call_error("AUTHORIZE", authorize_args(game, rpc_token=rpc_token)) == (
        RpcErrorCode.OAUTH2_ERROR,
        "invalid_request",
    )
    assert await program.call_error("AUTHORIZE", authorize_args(game, rpc_token="invented")) == (
        RpcErrorCode.OAUTH2_ERROR,
        "invalid_request",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            {"scopes": ["identify"]},
            RpcErrorCode.INVALID_PAYLOAD,
            'child "client_id" fails because ["client_id" is required]',
        ),
        ({"client_id": "5", "scopes": ["identify"]}, RpcErrorCode.INVALID_CLIENT_ID, "Invalid Client ID"),
        ({"client_id": "GAME"}, RpcErrorCode.INVALID_PAYLOAD, 'child "scopes" fails because ["scopes" is required]'),
        (
            {"client_id": "GAME", "scopes": []},
            RpcErrorCode.INVALID_PAYLOAD,
            'child "scopes" fails because ["scopes" must contain at least 1 items]',
        ),
        (
            {"client_id": "GAME", "scopes": ["identify"], "prompt": "maybe"},
            RpcErrorCode.INVALID_PAYLOAD,
            "none, consent",
        ),
        ({"client_id": "GAME", "scopes": ["fly"]}, RpcErrorCode.OAUTH2_ERROR, "invalid_scope"),
        ({"client_id": "GAME", "scope": ["rpc"]}, RpcErrorCode.OAUTH2_ERROR, "invalid_scope"),
        (
            {"client_id": "GAME", "scopes": ["identify"], "response_type": "token"},
            RpcErrorCode.INVALID_PAYLOAD,
            "must be one of [code]",
        ),
        (
            {"client_id": "GAME", "scopes": ["identify"], "redirect_uri": "http://e.example"},
            RpcErrorCode.OAUTH2_ERROR,
            "invalid_request",
        ),
    ],
)
async def test_invalid_authorize_arguments_are_rejected(
    machine: Machine, game: oauth.Client, arguments: dict[str, Any], code: int, message: str
) -> None:
    program = await machine.connect_program(game.id)
    if arguments.get("client_id") == "GAME":
        arguments = arguments | {"client_id": str(game.id)}

    reply = await program.call_error("AUTHORIZE", arguments)

    assert reply[0] == code
    assert message in reply[1]
    assert machine.consent.requests == []


async def test_authenticate_rejects_tokens_of_other_applications_and_users(
    world: World, machine: Machine, game: oauth.Client
) -> None:
    other_application, zoe = await oauth.create_application(world), await world.user("zoe")
    program = await machine.connect_program(game.id)
    tokens = [
        "invented",
        machine.owner.token,
        (await world.bearer(machine.owner, other_application.id, "identify rpc")).token,
        (await world.bearer(zoe, game.id, "identify rpc")).token,
        (await world.bearer(machine.owner, game.id, "rpc")).token,
    ]

    for token in tokens:
        assert await program.call_error("AUTHENTICATE", {"access_token": token}) == (
            RpcErrorCode.INVALID_TOKEN,
            "Invalid access token",
        )
    assert (await program.call_error("AUTHENTICATE"))[0] == RpcErrorCode.INVALID_PAYLOAD
    assert (await program.call_error("GET_GUILDS"))[0] == RpcErrorCode.INVALID_PERMISSIONS


async def test_revoking_the_token_closes_the_connection(machine: Machine, game: oauth.Client) -> None:
    program = await machine.connect_program(game.id)
    reply = await program.call("AUTHORIZE", authorize_args(game))
    tokens = (await game.exchange(reply["code"])).ok()
    await program.call("AUTHENTICATE", {"access_token": tokens["access_token"]})
    unauthenticated_program = await machine.connect_program(game.id)

    (await game.post_form("/oauth2/token/revoke", token=tokens["access_token"])).ok()

    assert await program.read() == (CLOSE, {"code": CloseCode.TOKEN_REVOKED, "message": "Token Revoked"})
    assert await unauthenticated_program.call("SET_ACTIVITY") is None


async def test_an_expired_token_is_rejected(
    world: World, machine: Machine, game: oauth.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.write(
        lambda call: call.tx.run("INSERT INTO approved_scopes (application_id, scope) VALUES (?, 'rpc')", game.id)
    )
    program = await machine.connect_program(game.id)
    code = (await program.call("AUTHORIZE", authorize_args(game, "identify rpc")))["code"]
    await program.call("AUTHENTICATE", {"access_token": (await game.exchange(code)).ok()["access_token"]})
    assert await program.call("GET_GUILDS") == {"guilds": []}

    monkeypatch.setattr("hubbub.agent.commands.authorization.TOKEN_CHECK_INTERVAL_MS", -1)
    assert await program.call("GET_GUILDS") == {"guilds": []}
    world.clock.advance(8 * 86_400_000)

    program.write(FRAME, {"cmd": "GET_GUILDS", "nonce": "1"})
    assert (await program.read())[1]["code"] == CloseCode.TOKEN_REVOKED


async def test_a_game_receives_the_users_link_request(world: World, machine: Machine, game: oauth.Client) -> None:
    other_application = await oauth.create_application(world)
    program, other_program = await machine.connect_program(game.id), await machine.connect_program(other_application.id)
    assert await machine.agent.context.request_authorization(str(game.id)) == 0
    for connected_program in (program, other_program):
        await connected_program.subscribe("AUTHORIZE_REQUEST")
        await connected_program.subscribe("AUTHORIZE_REQUEST")

    assert await machine.agent.context.request_authorization(str(game.id)) == 1

    assert await program.next("AUTHORIZE_REQUEST") is None
    assert await program.call("UNSUBSCRIBE", evt="AUTHORIZE_REQUEST") == {"evt": "AUTHORIZE_REQUEST"}
    assert await machine.agent.context.request_authorization(str(game.id)) == 0
    await other_program.call("SET_ACTIVITY")
    assert other_program.events == []


# The consent prompt

CONSENT_REQUEST = ConsentRequest(
    "Puddle", "mary", ["See your name"], "http://platform.example/oauth2/authorize", {"state": "s"}
)


@pytest.mark.parametrize(
    ("line", "is_granted"), [("y", True), (" YES ", True), ("", False), ("n", False), ("sure", False)]
)
async def test_the_terminal_prompt_accepts_only_yes(line: str, is_granted: bool, store_config: object) -> None:
    output: list[str] = []

    async def answer(question: str) -> str:
        output.append(question)
        return line

    assert await TerminalConsent(answer, output.append).ask(CONSENT_REQUEST) == ConsentResponse(is_granted)
    assert output == ["Puddle requests access to the account mary:", "  - See your name", "Allow? [y/N] "]


async def test_a_closed_terminal_denies_consent(store_config: object) -> None:
    async def answer(question: str) -> str:
        raise EOFError

    assert await TerminalConsent(answer, lambda _: None).ask(CONSENT_REQUEST) == ConsentResponse(False)
    assert await FixedConsent(is_granted=True).ask(CONSENT_REQUEST) == ConsentResponse(True)
    assert await FixedConsent(is_granted=False).ask(CONSENT_REQUEST) == ConsentResponse(False)


async def test_browser_consent_returns_the_code(world: World, mary: Actor, new_machine: NewMachine) -> None:
    game = await oauth.create_application(world, **PUBLIC_GAME)
    machine = await new_machine(mary)
    program = await machine.connect_program(game.id)
    verifier, challenge = oauth.create_pkce_pair()
    loop = asyncio.get_running_loop()

    async def grant_consent(url: str) -> None:
        # Simulates the platform's page after the user agreed.
        query = urlsplit(url).query
        response = (await mary.post(f"/oauth2/authorize?{query}", json={"authorize": True})).ok()
        async with aiohttp.ClientSession() as session, session.get(response["url"]) as page:
            assert page.status == 200

    def open_url(url: str) -> None:
        assert url.startswith(f"{world.url}/oauth2/authorize?")
        asyncio.run_coroutine_threadsafe(grant_consent(url), loop)

    machine.agent.context.consent = BrowserConsent(open_url)

    reply = await program.call(
        "AUTHORIZE", authorize_args(game, code_challenge=challenge, code_challenge_method="S256")
    )

    game.redirect_uri = reply["redirect_uri"]
    assert parse_qs(urlsplit(game.redirect_uri).query) == {}
    assert (await game.exchange(reply["code"], code_verifier=verifier)).ok()["access_token"]
