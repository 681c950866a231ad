"""Account linking through a browser or a device code, and the lifetime of the tokens."""

import asyncio
import re
import webbrowser
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from hubbub.sdk import (
    AuthorizationArgs,
    AuthorizationTokenType,
    Client,
    DeviceAuthorizationArgs,
    ErrorType,
    HttpStatusCode,
    IntegrationType,
    LoggingSeverity,
    SdkError,
)
from hubbub.sdk.tokens import Tokens
from tests.sdk.browsers import ConsentBrowser, skip_device_waits
from tests.sdk.players import CallbackRecorder, create_game, create_player, new_client
from tests.world import WAIT_TIMEOUT_SECONDS, World, wait_until

BEARER = AuthorizationTokenType.BEARER


async def authorize(client: Client, application_id: int, **overrides: Any) -> Any:
    """Request authorization with a new verifier; return the verifier and the result."""
    verifier = client.create_authorization_code_verifier()
    fields = {"client_id": application_id, "scopes": client.get_default_communication_scopes()}
    args = AuthorizationArgs(**(fields | {"code_challenge": verifier.challenge} | overrides))
    return verifier, await client.authorize(args)


async def test_a_player_links_an_account_in_a_browser(world: World) -> None:
    application, mary = await create_game(world), await world.user("mary")
    browser = ConsentBrowser(mary)
    client = new_client(world, open_browser=browser)

    verifier, (code, redirect_uri) = await authorize(client, application.id)
    tokens = await client.get_token(application.id, code, verifier.verifier, redirect_uri)

    query = browser.query
    assert browser.opened_urls[0].startswith(f"{world.url}/oauth2/authorize?")
    assert (query["client_id"], query["response_type"], query["scope"]) == (
        str(application.id),
        "code",
        "openid sdk.social_layer",
    )
    assert (query["code_challenge"], query["code_challenge_method"]) == (verifier.challenge.challenge, "S256")
    assert len(query["state"]) >= 43
    assert "nonce" not in query
    assert redirect_uri.startswith("http://127.0.0.1:")
    assert redirect_uri.endswith("/callback")
    assert (tokens.token_type, tokens.expires_in, tokens.scopes) == (BEARER, 604_800, "openid sdk.social_layer")
    assert await client.fetch_current_user(BEARER, tokens.access_token) == (mary.id, "mary")
    await asyncio.wait_for(wait_until(lambda: browser.pages), WAIT_TIMEOUT_SECONDS)
    assert "return to the game" in browser.pages[0]
    await client.close()


async def test_optional_authorization_fields_are_sent(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    browser = ConsentBrowser(mary)
    client = new_client(world, open_browser=browser)
    client.set_application_id(application.id)

    await authorize(client, 0, nonce="n" * 20, state="my state", integration_type=IntegrationType.USER_INSTALL)

    query = browser.query
    assert (query["client_id"], query["nonce"], query["state"], query["integration_type"]) == (
        str(application.id),
        "n" * 20,
        "my state",
        "1",
    )
    await client.close()


async def test_a_user_who_denies_consent_aborts_the_authorization(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    client = new_client(world, open_browser=ConsentBrowser(mary, grants=False))
    completion_recorder = CallbackRecorder()

    challenge = client.create_authorization_code_verifier().challenge
    client.authorize(
        AuthorizationArgs(client_id=application.id, scopes="identify", code_challenge=challenge), completion_recorder
    )

    result, code, redirect_uri = await completion_recorder.next()
    assert (result.type, result.error, code, redirect_uri) == (ErrorType.ABORTED, "access_denied", "", "")
    await client.close()


async def test_an_authorization_error_has_its_error_code(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    client = new_client(world, open_browser=ConsentBrowser(mary))

    with pytest.raises(SdkError) as caught:
        await authorize(client, application.id, scopes="identify wings")

    assert (caught.value.result.type, caught.value.result.error) == (ErrorType.AUTHORIZATION_FAILED, "invalid_scope")
    await client.close()


async def test_a_mismatched_state_is_rejected(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    client = new_client(world, open_browser=ConsentBrowser(mary, redirect_replacements={"state=": "state=x"}))

    with pytest.raises(SdkError) as caught:
        await authorize(client, application.id)

    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED
    assert "state" in caught.value.result.error
    await client.close()


async def test_an_authorization_can_be_aborted(world: World) -> None:
    application = await create_game(world)
    opened_event = asyncio.Event()
    loop = asyncio.get_running_loop()
    client = new_client(world, open_browser=lambda _: loop.call_soon_threadsafe(opened_event.set))

    authorization = client.authorize(AuthorizationArgs(client_id=application.id, scopes="identify"))
    await opened_event.wait()
    client.abort_authorize()

    with pytest.raises(SdkError) as caught:
        await authorization
    assert caught.value.result.type is ErrorType.ABORTED
    await client.close()


@pytest.mark.parametrize(("custom_scheme", "expected_scheme"), [("puddle", "puddle"), (None, "hubbub-{id}")])
async def test_a_custom_scheme_redirect_completes_the_authorization(
    world: World, custom_scheme: str | None, expected_scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = await create_game(world, redirect_uris=("puddle:/authorize/callback",))
    if custom_scheme is None:
        # Phones use the standard form, which the server accepts without registration.
        monkeypatch.setattr("hubbub.sdk.authorization.MOBILE_PLATFORMS", ("linux", "darwin", "win32"))
    mary = await world.user()
    browser = ConsentBrowser(mary)
    client = new_client(world, open_browser=browser)
    verifier = client.create_authorization_code_verifier()

    authorization = client.authorize(
        AuthorizationArgs(
            client_id=application.id,
            scopes="identify",
            code_challenge=verifier.challenge,
            custom_scheme_param=custom_scheme,
        )
    )
    await asyncio.wait_for(wait_until(lambda: browser.redirect_url), WAIT_TIMEOUT_SECONDS)
    client.handle_authorize_redirect(browser.redirect_url)

    if browser.redirect_url.startswith("http") or "error" in browser.redirect_url:
        pytest.fail(browser.redirect_url)
    code, redirect_uri = await authorization
    assert redirect_uri == f"{expected_scheme.format(id=application.id)}:/authorize/callback"
    await client.get_token(application.id, code, verifier.verifier, redirect_uri)
    await client.close()


async def test_scopes_and_an_application_are_required(world: World) -> None:
    client = new_client(world)

    for args in (AuthorizationArgs(client_id=5), AuthorizationArgs(scopes="identify")):
        with pytest.raises(SdkError) as caught:
            await client.authorize(args)
        assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    await client.close()


async def test_a_refresh_returns_new_tokens_and_invalidates_the_old(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, connect=False)

    renewed_tokens = await mary.client.refresh_token(application.id, mary.tokens["refresh_token"])

    assert {renewed_tokens.access_token, renewed_tokens.refresh_token}.isdisjoint(mary.tokens.values())
    with pytest.raises(SdkError) as caught:
        await mary.client.refresh_token(application.id, mary.tokens["refresh_token"])
    result = caught.value.result
    assert (result.type, result.error, result.status) == (
        ErrorType.HTTP_ERROR,
        "invalid_grant",
        HttpStatusCode.BAD_REQUEST,
    )
    assert '"error_description"' in result.response_body
    assert not result.retryable
    await mary.client.close()


async def test_a_revoked_token_is_rejected(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, connect=False)

    await mary.client.revoke_token(application.id, mary.tokens["refresh_token"])

    with pytest.raises(SdkError) as caught:
        await mary.client.fetch_current_user(BEARER, mary.tokens["access_token"])
    assert caught.value.result.status is HttpStatusCode.UNAUTHORIZED
    await mary.client.close()


async def test_a_refreshed_token_is_returned_with_its_type(world: World) -> None:
    application = await create_game(world)
    mary = await create_player(world, application, "mary", connect=False)
    completion_recorder, update_recorder = CallbackRecorder(), CallbackRecorder()

    mary.client.refresh_token(application.id, mary.tokens["refresh_token"], completion_recorder)
    result, access_token, _, token_type, _, _ = await completion_recorder.next()
    assert (result.type, token_type) == (ErrorType.NONE, BEARER)
    mary.client.update_token(token_type, access_token, update_recorder)

    assert (await update_recorder.next()).successful
    assert (await mary.client.fetch_current_user(token_type, access_token)).name == "mary"
    mary.client.refresh_token(application.id, "wrong" * 4, completion_recorder)
    assert (await completion_recorder.next())[1:] == ("", "", AuthorizationTokenType.USER, 0, "")
    await mary.client.close()


async def test_a_token_of_an_unknown_type_is_rejected() -> None:
    async def respond(_: web.Request) -> web.Response:
        return web.json_response({"access_token": "x" * 20, "token_type": "mac", "expires_in": 5, "scope": "openid"})

    app = web.Application()
    app.router.add_post("/api/v10/oauth2/token", respond)
    async with TestServer(app) as server, Client(str(server.make_url("/api/v10"))) as client:
        with pytest.raises(SdkError) as caught:
            await client.refresh_token(1, "r" * 20)

    assert caught.value.result.type is ErrorType.AUTHORIZATION_FAILED


async def test_update_token_accepts_only_bearer_tokens(world: World) -> None:
    client = new_client(world)

    with pytest.raises(SdkError) as caught:
        await client.update_token(AuthorizationTokenType.USER, "x" * 20)

    assert caught.value.result.type is ErrorType.VALIDATION_ERROR
    assert not client.is_authenticated()
    await client.close()


# Device authorization


async def test_a_device_gets_tokens_after_the_code_is_entered(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    opened_urls: list[str] = []
    client = new_client(world, open_browser=opened_urls.append)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        world.clock.advance(int(seconds * 1000))
        if len(waits) == 2:
            code = dict(parse_qsl(urlsplit(opened_urls[0]).query))["user_code"]
            (await mary.post("/oauth2/device/finish", json={"user_code": code, "result": "granted"})).ok()

    client._parts[Tokens].sleep = wait
    args = DeviceAuthorizationArgs(client_id=application.id, scopes="openid sdk.social_layer")
    tokens = await client.get_token_from_device(args)

    assert waits == [5, 5]
    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == mary.id
    await client.close()


async def test_a_device_that_polls_too_fast_slows_down(world: World) -> None:
    application = await create_game(world)
    client = new_client(world, open_browser=lambda _: None)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 4:
            client.abort_get_token_from_device()
            await asyncio.sleep(10)

    client._parts[Tokens].sleep = wait
    with pytest.raises(SdkError) as caught:
        await client.get_token_from_device(DeviceAuthorizationArgs(client_id=application.id, scopes="identify"))

    assert caught.value.result.type is ErrorType.ABORTED
    assert waits[0] == 5
    assert waits[-1] > 5
    await client.close()


async def test_a_denied_device_code_aborts_the_authorization(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    loop = asyncio.get_running_loop()

    async def deny_code(url: str) -> None:
        code = dict(parse_qsl(urlsplit(url).query))["user_code"]
        (await mary.post("/oauth2/device/finish", json={"user_code": code, "result": "denied"})).ok()

    client = new_client(
        world,
        open_browser=lambda url: asyncio.run_coroutine_threadsafe(deny_code(url), loop).result(WAIT_TIMEOUT_SECONDS),
    )
    skip_device_waits(world, client)

    with pytest.raises(SdkError) as caught:
        await client.get_token_from_device(DeviceAuthorizationArgs(client_id=application.id, scopes="identify"))

    assert (caught.value.result.type, caught.value.result.error) == (ErrorType.ABORTED, "access_denied")
    await client.close()


async def test_a_device_without_a_browser_shows_the_code_and_the_url(world: World) -> None:
    application, mary = await create_game(world), await world.user()
    log_recorder = CallbackRecorder()

    def fail_to_open(url: str) -> None:
        raise OSError("No browser could be started")

    client = new_client(world, open_browser=fail_to_open)
    client.add_log_callback(log_recorder, LoggingSeverity.WARNING)

    async def enter_code(seconds: float) -> None:
        world.clock.advance(int(seconds * 1000))
        text, _ = await log_recorder.next()
        match = re.search(r"code (\w{8}) at (\S+)", text)
        assert match is not None
        assert match[2] == f"{world.url}/activate"
        (await mary.post("/oauth2/device/finish", json={"user_code": match[1], "result": "granted"})).ok()

    client._parts[Tokens].sleep = enter_code

    tokens = await client.get_token_from_device(DeviceAuthorizationArgs(client_id=application.id, scopes="identify"))

    assert (await client.fetch_current_user(BEARER, tokens.access_token)).id == mary.id
    await client.close()


async def test_authorization_fails_immediately_when_no_browser_starts(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    application = await create_game(world)
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    client, log_recorder = new_client(world), CallbackRecorder()
    client.add_log_callback(log_recorder, LoggingSeverity.WARNING)

    with pytest.raises(SdkError) as caught:
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            await authorize(client, application.id)

    result = caught.value.result
    assert (result.type, result.error) == (ErrorType.AUTHORIZATION_FAILED, "No browser could be started")
    client.open_authorize_device_screen(application.id, "ABCD1234")
    text, severity = await log_recorder.next()
    assert severity is LoggingSeverity.WARNING
    assert "ABCD1234" in text
    await client.close()


# Expiration


async def test_the_expiration_callback_fires_once(world: World) -> None:
    mary = await create_player(world, await create_game(world), connect=False)
    expiration_events = mary.record_event("token_expiration")
    # All but nine minutes of the week have passed, which is inside the ten-minute warning period.
    world.clock.advance((604_800 - 540) * 1000)

    await mary.client.connect()

    assert await expiration_events.next() == ()
    assert len(expiration_events.calls) == 1
    await mary.client.close()
