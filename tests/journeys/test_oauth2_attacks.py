"""Known attacks on OAuth2 (RFC 9700) and on login, and the redirect URIs that are allowed."""

import logging
from typing import Any

import pytest

from hubbub.protocol.ids import UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import oauth2 as wire
from hubbub.server.core import logs
from hubbub.server.identity import accounts, applications
from hubbub.server.identity.accounts import passwords
from hubbub.server.identity.oauth2 import ApplicationDeauthorized
from hubbub.server.identity.oauth2.client_requests import redirects
from tests.oauth import REDIRECT, assert_oauth2_error, create_application, create_pkce_pair, url_parameters
from tests.world import World

LOOPBACK_REDIRECT = "http://127.0.0.1/callback"


async def test_an_injected_code_is_rejected(world: World) -> None:
    """A stolen code is used in another session or by another client."""
    alice, client, other_client = await world.user(), await create_application(world), await create_application(world)
    _, challenge = create_pkce_pair()
    other_verifier, _ = create_pkce_pair()
    code = await client.request_code(alice, code_challenge=challenge, code_challenge_method="S256")

    assert_oauth2_error(await other_client.exchange(code), "invalid_grant")
    assert_oauth2_error(await other_client.exchange(code, code_verifier=other_verifier), "invalid_grant")
    assert_oauth2_error(await client.exchange(code, code_verifier=other_verifier), "invalid_grant")
    assert_oauth2_error(await client.exchange(code, code_verifier="short"), "invalid_grant")
    assert_oauth2_error(await client.exchange(code), "invalid_grant")


async def test_a_replayed_code_revokes_the_tokens_of_the_code(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    code = await client.request_code(alice)
    tokens = (await client.exchange(code)).ok()

    assert_oauth2_error(await client.exchange(code), "invalid_grant")

    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant")


async def test_a_code_replayed_by_another_client_revokes_nothing(world: World) -> None:
    alice, client, other_client = await world.user(), await create_application(world), await create_application(world)
    code = await client.request_code(alice)
    tokens = (await client.exchange(code)).ok()

    assert_oauth2_error(await other_client.exchange(code), "invalid_grant")

    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()


async def test_a_pkce_downgrade_is_rejected(world: World) -> None:
    """The challenge is removed from the request or weakened, and the client sends its verifier as usual."""
    alice, client, public_client = (
        await world.user(),
        await create_application(world),
        await create_application(world, is_public=True),
    )
    verifier, _ = create_pkce_pair()

    code_without_challenge = await client.request_code(alice)
    assert_oauth2_error(await client.exchange(code_without_challenge, code_verifier=verifier), "invalid_grant")
    assert_oauth2_error(await public_client.authorize(alice), "invalid_request")
    for method in (None, "plain", "s256"):
        parameters = {"code_challenge": verifier, "code_challenge_method": method}
        assert_oauth2_error(await public_client.authorize(alice, **parameters), "invalid_request")


REGISTERED_REDIRECTS = ("https://game.example/callback", "https://game.example/a?b=c", LOOPBACK_REDIRECT)


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    "redirect_uri",
    [
        "https://evil.example/callback",
        "https://game.example.evil.example/callback",
        "https://game.example@evil.example/callback",
        "https://evil.example\\@game.example/callback",
        "https://game.example/callback/",
        "https://game.example/callback/../evil",
        "https://game.example/callback?next=https://evil.example",
        "https://game.example/callback#fragment",
        "https://game.example/CALLBACK",
        "https://GAME.example/callback",
        "https://game.example:443/callback",
        "https://game.example:8443/callback",
        "https://game.example/callback%2f",
        "https://game.example/callback\n",
        "http://game.example/callback",
        "//game.example/callback",
        "/callback",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1:80@evil.example/callback",
        "http://evil@127.0.0.1/callback",
        "http://127.0.0.1:8080/other",
        "http://localhost/callback",
        "http://127.0.0.2/callback",
        "https://127.0.0.1/callback",
        "http://127.0.0.1:99999999/callback",
        "evil:/authorize/callback",
        "hubbub-1:/authorize/callback",
        "",
    ],
)
async def test_a_redirect_uri_that_resembles_a_registered_one_is_rejected(world: World, redirect_uri: str) -> None:
    alice, client = await world.user(), await create_application(world, redirect_uris=REGISTERED_REDIRECTS)

    for response in (
        await alice.get(client.authorize_path(redirect_uri=redirect_uri)),
        await alice.post(client.authorize_path(redirect_uri=redirect_uri), json={"authorize": True}),
        await alice.post(client.authorize_path(redirect_uri=redirect_uri), json={"authorize": False}),
    ):
        assert_oauth2_error(response, "invalid_request")
        assert "Location" not in response.headers


async def test_a_denied_request_cannot_be_an_open_redirect(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    for scope in ("identify", "wings"):
        parameters = {"redirect_uri": "https://evil.example/", "scope": scope}
        response = await alice.post(client.authorize_path(**parameters), json={"authorize": False})
        assert response.status == 400
        assert "evil.example" not in response.body.decode()


async def test_the_redirect_of_the_exchange_must_be_that_of_the_request(world: World) -> None:
    alice, client = await world.user(), await create_application(world, redirect_uris=(REDIRECT, LOOPBACK_REDIRECT))

    assert_oauth2_error(
        await client.exchange(await client.request_code(alice), redirect_uri=LOOPBACK_REDIRECT), "invalid_grant"
    )
    assert_oauth2_error(await client.exchange(await client.request_code(alice), redirect_uri=None), "invalid_grant")
    loopback_code = await client.request_code(alice, redirect_uri="http://127.0.0.1:5001/callback")
    assert_oauth2_error(
        await client.exchange(loopback_code, redirect_uri="http://127.0.0.1:5002/callback"), "invalid_grant"
    )
    (await client.exchange(loopback_code, redirect_uri="http://127.0.0.1:5001/callback")).ok()


@pytest.mark.one_postgres_case
@pytest.mark.parametrize(
    ("registered_uri", "requested_uri"),
    [
        ("http://127.0.0.1/callback", "http://127.0.0.1:51234/callback"),
        ("http://127.0.0.1:3000/callback", "http://127.0.0.1/callback"),
        ("http://[::1]/callback", "http://[::1]:51234/callback"),
        ("http://localhost:3000/a?b=c", "http://localhost:4000/a?b=c"),
    ],
)
async def test_a_loopback_redirect_may_have_any_port(world: World, registered_uri: str, requested_uri: str) -> None:
    alice, client = await world.user(), await create_application(world, redirect_uris=(registered_uri,))

    assert (await client.authorize(alice, redirect_uri=requested_uri)).ok()["url"].startswith(requested_uri)


async def test_custom_schemes_need_pkce(world: World) -> None:
    alice, client = await world.user(), await create_application(world, redirect_uris=("mygame:/authorize/callback",))
    verifier, challenge = create_pkce_pair()

    for uri in ("mygame:/authorize/callback", f"hubbub-{client.id}:/authorize/callback"):
        assert_oauth2_error(await client.authorize(alice, redirect_uri=uri), "invalid_request")
        assert_oauth2_error(
            await client.authorize(alice, redirect_uri=uri, response_type="token"), "unauthorized_client"
        )
        parameters = {"redirect_uri": uri, "code_challenge": challenge, "code_challenge_method": "S256"}
        url = (await client.authorize(alice, **parameters)).ok()["url"]
        assert url.startswith(f"{uri}?code=")
        (await client.exchange(url_parameters(url)["code"], redirect_uri=uri, code_verifier=verifier)).ok()


@pytest.mark.parametrize(
    "uri",
    ["javascript:/authorize/callback", "data:/authorize/callback", "mygame://authorize/callback", "mygame:x", "a b"],
)
def test_schemes_that_a_browser_executes_cannot_be_registered(uri: str) -> None:
    assert not applications.settings.is_valid_redirect(uri)
    assert not redirects.is_allowed_redirect([uri], 1, uri)


async def test_a_replayed_refresh_token_revokes_its_family(world: World) -> None:
    """A refresh token is stolen; the attacker and the client both use it, and the server cannot distinguish them."""
    signals = world.record_signals(ApplicationDeauthorized)
    alice, client = await world.user(), await create_application(world)
    first_tokens, other_tokens = await client.request_tokens(alice), await client.request_tokens(alice)
    second_tokens = (await client.refresh(first_tokens["refresh_token"])).ok()
    third_tokens = (await client.refresh(second_tokens["refresh_token"])).ok()

    error = assert_oauth2_error(await client.refresh(first_tokens["refresh_token"]), "invalid_grant")

    assert error == wire.INVALID_REFRESH_TOKEN_DESCRIPTION
    assert_oauth2_error(await client.refresh(third_tokens["refresh_token"]), "invalid_grant")
    (await client.bearer(alice, third_tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    # Tokens of another grant stay valid, and so does the authorization.
    last_tokens = (await client.refresh(other_tokens["refresh_token"])).ok()
    assert len((await alice.get("/oauth2/tokens")).ok()) == 1
    assert signals == []

    # With the last grant the authorization ends, and the application receives the event.
    assert_oauth2_error(await client.refresh(other_tokens["refresh_token"]), "invalid_grant")
    (await client.bearer(alice, last_tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert (await alice.get("/oauth2/tokens")).ok() == []
    assert [(signal.application_id, signal.user_id) for signal in signals] == [(client.id, alice.id)]


async def test_the_issuer_in_responses_prevents_a_mix_up(world: World) -> None:
    """A client of two servers must know which of them responded (RFC 9207)."""
    alice, client = await world.user(), await create_application(world)
    issuer = (await world.request("GET", f"{world.url}/.well-known/openid-configuration")).ok()["issuer"]

    granted_url = (await client.authorize(alice)).ok()["url"]
    implicit_url = (await client.authorize(alice, response_type="token")).ok()["url"]
    denied_url = (await alice.post(client.authorize_path(), json={"authorize": False})).ok()["url"]

    assert [url_parameters(url)["iss"] for url in (granted_url, implicit_url, denied_url)] == [issuer] * 3


async def test_a_token_or_secret_in_the_url_is_rejected(world: World) -> None:
    """RFC 9700 4.3.2: URLs are logged in many places, so secrets must not be in them."""
    alice, client = await world.user(), await create_application(world)
    token = (await client.request_tokens(alice))["access_token"]

    (await world.request("GET", f"/users/@me?access_token={token}")).rejected(401, 0)
    code = await client.request_code(alice)
    query = f"grant_type=authorization_code&code={code}&client_id={client.id}&client_secret={client.secret}"
    response = await world.request("POST", f"/oauth2/token?{query}")
    assert (response.status, response.json["error"]) == (400, "invalid_request")


async def test_tokens_and_secrets_are_not_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    alice, client = await world.user(), await create_application(world)
    caplog.set_level(logging.DEBUG)

    verifier, challenge = create_pkce_pair()
    url = (await client.authorize(alice, code_challenge=challenge, code_challenge_method="S256")).ok()["url"]
    code = url_parameters(url)["code"]
    tokens = (await client.exchange(code, code_verifier=verifier)).ok()
    await client.exchange(code, code_verifier=verifier)
    await client.refresh(tokens["refresh_token"])

    secret_values = (code, verifier, client.secret, tokens["access_token"], tokens["refresh_token"])
    for record in caplog.records:
        if record.name.startswith("hubbub"):
            assert not any(secret in record.getMessage() for secret in secret_values)
    # If a library logs a whole URL or form, the log handler's filter redacts it.
    cleaned_text = logs.Secrets().clean(
        f"GET {url} refresh_token={tokens['refresh_token']} client_secret={client.secret}"
    )
    assert not any(secret in cleaned_text for secret in secret_values)


async def test_a_refresh_or_code_exchange_cannot_add_scopes(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    tokens = await client.request_tokens(alice, "identify")

    assert_oauth2_error(await client.refresh(tokens["refresh_token"], scope="identify guilds"), "invalid_scope")
    assert (await client.exchange(await client.request_code(alice), scope="identify guilds")).ok()[
        "scope"
    ] == "identify"


async def test_a_token_of_another_application_is_rejected(world: World) -> None:
    """RFC 9700 4.8: a token of another application is passed to this one."""
    alice, evil_client = await world.user(), await create_application(world)
    victim_client = await create_application(world)
    guild = await world.guild(alice)
    await victim_client.authorize(
        alice,
        "bot",
        response_type=None,
        permissions=Permissions.CREATE_INSTANT_INVITE,
        body={"guild_id": str(guild.id)},
    )
    bob = await world.user()
    token = (await evil_client.request_tokens(bob, "guilds.join"))["access_token"]
    assert victim_client.bot is not None

    response = await victim_client.bot.put(f"/guilds/{guild.id}/members/{bob.id}", json={"access_token": token})

    response.rejected(401, 50025)


async def test_refresh_and_access_tokens_are_not_interchangeable(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    tokens = await client.request_tokens(alice)

    (await client.bearer(alice, tokens["refresh_token"]).get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await client.refresh(tokens["access_token"]), "invalid_grant")
    (await world.request("GET", "/users/@me", headers={"Authorization": tokens["access_token"]})).rejected(401, 0)
    (await world.request("GET", "/users/@me", headers={"Authorization": f"Bot {tokens['access_token']}"})).rejected(
        401, 0
    )


async def test_an_application_cannot_grant_itself_more_with_a_token(world: World) -> None:
    """Only the user can consent: no access token may do it for them."""
    alice, client = await world.user(), await create_application(world)
    bearer = client.bearer(alice, (await client.request_tokens(alice))["access_token"])

    (await bearer.get(client.authorize_path("guilds"))).rejected(401, 0)
    (await bearer.post(client.authorize_path("guilds"), json={"authorize": True})).rejected(401, 0)
    (await bearer.get("/oauth2/tokens")).rejected(401, 0)
    (await bearer.get("/auth/sessions")).rejected(401, 0)


async def test_a_banned_owner_gets_no_token_with_client_credentials(world: World) -> None:
    client = await create_application(world)
    response = await client.post_form("/oauth2/token", grant_type="client_credentials", scope="identify")
    token = response.ok()["access_token"]

    await world.write(lambda call: accounts.ban(call, UserId(client.owner.id)))

    assert (await client.bearer(client.owner, token).get("/users/@me")).status == 401
    assert_oauth2_error(
        await client.post_form("/oauth2/token", grant_type="client_credentials", scope="identify"), "invalid_grant"
    )
    await world.write(lambda call: accounts.unban(call, UserId(client.owner.id)))
    (await client.post_form("/oauth2/token", grant_type="client_credentials", scope="identify")).ok()


async def test_login_time_does_not_reveal_whether_a_user_exists(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """User enumeration by timing: an unknown name costs one password hash of the same cost as a known one."""
    hash_parameters: list[str] = []
    verify = passwords._HASHER.verify

    def record_and_verify(_: Any, stored_hash: str, password: str) -> bool:
        hash_parameters.append(stored_hash.rsplit("$", 2)[0])
        return verify(stored_hash, password)

    body = {"username": "known", "email": "known@example.com", "password": "correct horse battery"}
    (await world.request("POST", "/auth/register", json={**body, "consent": True})).ok()
    monkeypatch.setattr(type(passwords._HASHER), "verify", record_and_verify)
    for login in ("known@example.com", "unknown@example.com"):
        await world.request("POST", "/auth/login", json={"login": login, "password": "wrong horse battery"})

    assert len(hash_parameters) == 2
    assert hash_parameters[0] == hash_parameters[1]
