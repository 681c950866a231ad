"""OAuth2: consent, scopes, grants, refresh, revocation, authorizations, devices, OpenID Connect and limits.

One test is about private applications, which only their owner installs."""

import base64
from typing import Any

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from hubbub.protocol.enums import CloseCode, GatewayOpcode
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import oauth2 as wire
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.core.ports import PortError
from hubbub.server.identity import oauth2
from hubbub.server.identity.oauth2 import grants
from tests.oauth import (
    FORM_HEADERS,
    REDIRECT,
    assert_oauth2_error,
    create_application,
    create_pkce_pair,
    set_application_columns,
    url_parameters,
)
from tests.world import NOW_MS, World, small_config

DEVICE_GRANT_FIELDS: dict[str, Any] = {"grant_type": wire.DEVICE_GRANT}
DAY_MS = 86_400_000


# Consent


async def test_the_consent_data_names_the_application_and_its_scopes(world: World) -> None:
    alice, client = await world.user("alice"), await create_application(world)

    consent = (await alice.get(client.authorize_path("openid identify"))).ok()

    assert consent["application"]["id"] == str(client.id)
    assert consent["user"]["id"] == str(alice.id)
    assert [scope["name"] for scope in consent["scopes"]] == ["openid", "identify"]
    assert all(scope["description"] for scope in consent["scopes"])
    assert (consent["authorized"], consent["redirect_uri"], consent["prompt"]) == (False, REDIRECT, "consent")
    assert "guilds" not in consent


async def test_a_grant_redirects_with_code_state_and_issuer(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    url = (await client.authorize(alice, state="a b&c")).ok()["url"]

    assert url.startswith(REDIRECT + "?")
    fields = url_parameters(url)
    assert set(fields) == {"code", "state", "iss"}
    assert (fields["state"], fields["iss"]) == ("a b&c", world.url)


async def test_a_denial_redirects_with_access_denied(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    response = (await alice.post(client.authorize_path(state="s"), json={"authorize": False})).ok()

    fields = url_parameters(response["url"])
    assert (fields["error"], fields["state"]) == ("access_denied", "s")
    assert fields["error_description"] == wire.ACCESS_DENIED_DESCRIPTION
    assert (await alice.get("/oauth2/tokens")).ok() == []


async def test_granted_scopes_need_no_second_consent(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    await client.request_code(alice, "identify guilds")

    same_scopes = (await alice.get(client.authorize_path("identify", prompt="none"))).ok()
    more_scopes = (await alice.get(client.authorize_path("identify email", prompt="none"))).ok()

    assert (same_scopes["authorized"], more_scopes["authorized"]) == (True, False)


async def test_adding_a_bot_requires_consent_each_time(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    guild = await world.guild(alice)
    await client.request_code(alice, "bot identify", body={"guild_id": str(guild.id)})

    assert not (await alice.get(client.authorize_path("bot identify"))).ok()["authorized"]


@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"client_id": 1}, "invalid_client"),
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "id_token"}, "unsupported_response_type"),
        ({"scope": "identify wings"}, "invalid_scope"),
        ({"scope": "identify.premium"}, "invalid_scope"),
        ({"scope": "applications.commands.update"}, "invalid_scope"),
        ({"scope": "webhook.incoming", "response_type": "token"}, "invalid_scope"),
        ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
        ({"code_challenge": "a" * 43}, "invalid_request"),
        ({"code_challenge": "a" * 43, "code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": "S256"}, "invalid_request"),
        ({"nonce": "n" * 3000}, "invalid_request"),
    ],
)
async def test_an_invalid_request_is_rejected_without_redirecting(
    world: World, parameters: dict[str, Any], error: str
) -> None:
    alice, client = await world.user(), await create_application(world)

    for response in (await alice.get(client.authorize_path(**parameters)), await client.authorize(alice, **parameters)):
        assert_oauth2_error(response, error)
        assert "url" not in response.json
        # RFC 6749 4.1.2.1: an error is returned only to the registered redirect URI.
        return_url = response.json.get("return_url")
        assert (return_url is None) == ("client_id" in parameters or parameters.get("response_type", "") is None)
        assert return_url is None or (return_url.startswith(REDIRECT) and url_parameters(return_url)["error"] == error)


async def test_bots_and_anonymous_callers_cannot_open_the_consent_request(world: World) -> None:
    client = await create_application(world)
    assert client.bot is not None

    (await client.bot.get(client.authorize_path())).rejected(403, 20001)
    (await world.request("GET", client.authorize_path())).rejected(401, 0)


async def test_a_request_without_a_redirect_uses_the_first_registered_one(world: World) -> None:
    alice, client = (
        await world.user(),
        await create_application(world, redirect_uris=(REDIRECT, "https://other.example/")),
    )

    url = (await client.authorize(alice, redirect_uri=None)).ok()["url"]

    assert url.startswith(f"{REDIRECT}?code=")
    (await client.exchange(url_parameters(url)["code"], redirect_uri=None)).ok()


async def test_an_application_without_redirects_cannot_get_a_code(world: World) -> None:
    alice, client = await world.user(), await create_application(world, redirect_uris=())

    assert_oauth2_error(await client.authorize(alice, redirect_uri=None), "invalid_request")


# Scopes


async def test_an_approved_application_can_request_more_scopes(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    assert_oauth2_error(await client.authorize(alice, "identify.premium"), "invalid_scope")

    await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["identify.premium"]))

    assert (await client.request_tokens(alice, "identify identify.premium"))["scope"] == "identify identify.premium"


async def test_an_unknown_scope_cannot_be_approved(world: World) -> None:
    client = await create_application(world)

    with pytest.raises(ValueError, match="wings"):
        await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["wings"]))


async def test_the_social_layer_flag_permits_single_social_scopes(world: World) -> None:
    alice = await world.user()
    plain_client = await create_application(world)
    social_client = await create_application(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED)

    assert_oauth2_error(await plain_client.authorize(alice, "relationships.read"), "invalid_scope")
    await social_client.request_code(alice, "relationships.read")


async def test_an_umbrella_scope_is_returned_as_requested_and_grants_its_members(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    tokens = await client.request_tokens(alice, "openid sdk.social_layer")
    bearer = client.bearer(alice, tokens["access_token"])

    assert tokens["scope"] == "openid sdk.social_layer"
    (await bearer.get("/users/@me")).ok()
    (await bearer.get("/users/@me/guilds")).ok()
    assert (await bearer.get("/oauth2/@me")).ok()["scopes"] == ["openid", "sdk.social_layer"]
    session = await bearer.connect(token=f"Bearer {bearer.token}")
    assert {"gateway.connect", "lobbies.write", "identify"} <= set(session.ready["scopes"])


async def test_the_alternative_spelling_of_the_commands_scope_is_accepted(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    consent = (await alice.get(client.authorize_path("application.commands identify", integration_type=1))).ok()

    assert [scope["name"] for scope in consent["scopes"]] == ["applications.commands", "identify"]


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("identify", "/users/@me"),
        ("guilds", "/users/@me/guilds"),
        ("guilds.members.read", "/users/@me/guilds/{guild}/member"),
        ("openid", "/oauth2/userinfo"),
    ],
)
async def test_a_token_is_limited_to_its_scopes(world: World, scope: str, path: str) -> None:
    alice, client = await world.user(), await create_application(world)
    guild = await world.guild(alice)
    path = path.format(guild=guild.id)

    allowed_bearer = client.bearer(alice, (await client.request_tokens(alice, scope))["access_token"])
    denied_bearer = client.bearer(alice, (await client.request_tokens(alice, "connections"))["access_token"])

    (await allowed_bearer.get(path)).ok()
    (await denied_bearer.get(path)).rejected(403, 50026)
    # This route accepts no bearer token.
    (await allowed_bearer.get(f"/guilds/{guild.id}/audit-logs")).rejected(401, 0)


async def test_the_email_is_visible_only_with_its_scope(world: World) -> None:
    client = await create_application(world)
    registration = {"username": "alice", "password": "correct horse", "email": "alice@example.org"}
    login_session = (await world.request("POST", "/auth/register", json=registration)).ok()
    alice = await world.user()
    alice.id, alice.token = int(login_session["user_id"]), login_session["token"]

    bearer_without_email = client.bearer(alice, (await client.request_tokens(alice, "identify"))["access_token"])
    bearer_with_email = client.bearer(alice, (await client.request_tokens(alice, "identify email"))["access_token"])

    assert "email" not in (await bearer_without_email.get("/users/@me")).ok()
    assert (await bearer_with_email.get("/users/@me")).ok()["email"] == "alice@example.org"


async def test_a_guilds_join_token_adds_its_owner_to_a_guild(world: World) -> None:
    alice, bob, client = await world.user(), await world.user(), await create_application(world)
    guild = await world.guild(alice)
    await client.authorize(alice, "bot", response_type=None, body={"guild_id": str(guild.id)}, permissions=1)
    assert client.bot is not None
    identify_token = (await client.request_tokens(bob, "identify"))["access_token"]
    join_token = (await client.request_tokens(bob, "guilds.join"))["access_token"]
    path = f"/guilds/{guild.id}/members/{bob.id}"

    (await client.bot.put(path, json={"access_token": identify_token})).rejected(403, 50026)
    assert (await client.bot.put(path, json={"access_token": join_token})).status == 201


async def test_the_gateway_requires_its_own_scope(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    token = (await client.request_tokens(alice, "identify"))["access_token"]

    socket = await world.client.ws_connect(f"{world.gateway}?v=10&encoding=json")
    await socket.receive_json()
    await socket.send_json(
        {"op": GatewayOpcode.IDENTIFY, "d": {"token": f"Bearer {token}", "properties": {}, "intents": 0}}
    )
    await socket.receive()

    assert socket.close_code == CloseCode.AUTHENTICATION_FAILED


# The code grant


async def test_a_code_is_exchanged_for_tokens_that_last_a_week(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    response = await client.exchange(await client.request_code(alice))
    tokens = response.ok()

    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 604_800, "identify")
    assert response.headers["Cache-Control"] == "no-store"
    assert "id_token" not in tokens
    bearer = client.bearer(alice, tokens["access_token"])
    assert (await bearer.get("/users/@me")).ok()["id"] == str(alice.id)
    world.clock.advance(604_800_000)
    (await bearer.get("/users/@me")).rejected(401, 0)


async def test_a_client_authenticates_in_the_header_or_the_form_but_not_both(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    basic = base64.b64encode(f"{client.id}:{client.secret}".encode()).decode()

    async def send(header: str, **fields: Any) -> Any:
        form = {"grant_type": "authorization_code", "redirect_uri": REDIRECT, **fields}
        return await world.request(
            "POST", "/oauth2/token", data=form, headers={**FORM_HEADERS, "Authorization": f"Basic {header}"}
        )

    (await send(basic, code=await client.request_code(alice))).ok()
    (await send(basic, code=await client.request_code(alice), client_id=str(client.id))).ok()
    assert_oauth2_error(await send(basic, code="x", client_secret=client.secret), "invalid_request")
    assert_oauth2_error(await send(basic, code="x", client_id="1"), "invalid_request")
    wrong_secret = await send(base64.b64encode(f"{client.id}:guess".encode()).decode(), code="x")
    assert_oauth2_error(wrong_secret, "invalid_client", 401)
    assert wrong_secret.headers["WWW-Authenticate"].startswith("Basic")
    assert_oauth2_error(await send("%%%", code="x"), "invalid_client", 401)


@pytest.mark.parametrize("fields", [{"client_id": "1"}, {"client_id": "x"}, {"client_secret": "guess"}, {}])
async def test_unknown_and_unauthenticated_clients_get_the_same_error(world: World, fields: dict[str, str]) -> None:
    client = await create_application(world)
    form = {"grant_type": "authorization_code", "code": "x", "client_id": str(client.id)} | fields

    response = await world.request("POST", "/oauth2/token", data=form, headers=FORM_HEADERS)

    assert assert_oauth2_error(response, "invalid_client", 401) == "Client authentication failed"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "invalid_request"),
        (DEVICE_GRANT_FIELDS, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "guess"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "guess"}, "invalid_grant"),
        (DEVICE_GRANT_FIELDS | {"device_code": "guess"}, "invalid_grant"),
    ],
)
async def test_missing_and_invalid_parameters_return_the_rfc_error_codes(
    world: World, fields: dict[str, Any], error: str
) -> None:
    client = await create_application(world)

    assert_oauth2_error(await client.post_form("/oauth2/token", **fields), error)


async def test_json_is_rejected_at_the_token_endpoint(world: World) -> None:
    client = await create_application(world)

    body = {"grant_type": "client_credentials", "client_id": str(client.id), "client_secret": client.secret}
    assert (await world.request("POST", "/oauth2/token", json=body)).status == 400


async def test_a_code_expires_after_ten_minutes(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    first_code, second_code = await client.request_code(alice), await client.request_code(alice)

    world.clock.advance(599_999)
    (await client.exchange(first_code)).ok()
    world.clock.advance(1)
    assert assert_oauth2_error(await client.exchange(second_code), "invalid_grant") == 'Invalid "code" in request.'


async def test_a_public_client_needs_pkce_instead_of_a_secret(world: World) -> None:
    alice, client = await world.user(), await create_application(world, is_public=True)

    tokens = await client.request_tokens(alice)
    refreshed_tokens = (await client.refresh(tokens["refresh_token"])).ok()

    assert (await client.bearer(alice, refreshed_tokens["access_token"]).get("/users/@me")).status == 200
    assert_oauth2_error(await client.authorize(alice), "invalid_request")


async def test_a_refresh_token_of_a_public_client_expires_when_unused(world: World) -> None:
    alice = await world.user()
    public_client, confidential_client = (
        await create_application(world, is_public=True),
        await create_application(world),
    )
    public_tokens, confidential_tokens = (
        await public_client.request_tokens(alice),
        await confidential_client.request_tokens(alice),
    )

    world.clock.advance(30 * DAY_MS)

    assert_oauth2_error(await public_client.refresh(public_tokens["refresh_token"]), "invalid_grant")
    (await confidential_client.refresh(confidential_tokens["refresh_token"])).ok()


# Refresh


async def test_refreshing_replaces_both_tokens(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    first_tokens = await client.request_tokens(alice, "identify guilds")

    second_tokens = (await client.refresh(first_tokens["refresh_token"])).ok()

    assert second_tokens["scope"] == "identify guilds"
    assert second_tokens["refresh_token"] != first_tokens["refresh_token"]
    (await client.bearer(alice, first_tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    (await client.bearer(alice, second_tokens["access_token"]).get("/users/@me")).ok()


async def test_refreshing_can_narrow_scopes_but_not_widen_them(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    first_tokens = await client.request_tokens(alice, "identify guilds")

    assert_oauth2_error(await client.refresh(first_tokens["refresh_token"], scope="identify email"), "invalid_scope")
    narrowed_tokens = (await client.refresh(first_tokens["refresh_token"], scope="identify")).ok()
    restored_tokens = (await client.refresh(narrowed_tokens["refresh_token"])).ok()

    assert (narrowed_tokens["scope"], restored_tokens["scope"]) == ("identify", "identify guilds")


async def test_a_gateway_session_survives_a_refresh_and_ends_on_revocation(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    first_tokens = await client.request_tokens(alice, "sdk.social_layer_presence")
    session = await client.bearer(alice, first_tokens["access_token"]).connect(
        token=f"Bearer {first_tokens['access_token']}"
    )

    second_tokens = (await client.refresh(first_tokens["refresh_token"])).ok()
    await session.wait_processed()
    (await client.post_form("/oauth2/token/revoke", token=second_tokens["access_token"])).ok()

    assert await session.wait_closed() == CloseCode.AUTHENTICATION_FAILED


async def test_another_clients_refresh_token_is_rejected(world: World) -> None:
    alice, client, other_client = await world.user(), await create_application(world), await create_application(world)
    tokens = await client.request_tokens(alice)

    assert_oauth2_error(await other_client.refresh(tokens["refresh_token"]), "invalid_grant")
    (await client.refresh(tokens["refresh_token"])).ok()


# Client credentials


async def test_client_credentials_act_as_the_application_owner(world: World) -> None:
    client = await create_application(world)

    tokens = (
        await client.post_form(
            "/oauth2/token", grant_type="client_credentials", scope="identify applications.commands.update"
        )
    ).ok()

    assert "refresh_token" not in tokens
    own_user = (await client.bearer(client.owner, tokens["access_token"]).get("/users/@me")).ok()
    assert own_user["id"] == str(client.owner.id)


async def test_client_credentials_fail_while_the_ban_check_is_unbound(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await create_application(world)
    monkeypatch.delitem(world.app.ports, oauth2.ports.is_banned)

    request = wire.TokenRequest(
        grant_type="client_credentials", client_id=str(client.id), client_secret=client.secret, scope="identify"
    )

    with pytest.raises(PortError):
        await world.write(lambda call: grants.exchange_grant(call, request))


async def test_client_credentials_require_the_secret_even_for_public_clients(world: World) -> None:
    client = await create_application(world, is_public=True)

    assert_oauth2_error(
        await client.post_form("/oauth2/token", grant_type="client_credentials", scope="identify"),
        "invalid_client",
        401,
    )


@pytest.mark.parametrize("scope", ["bot", "webhook.incoming", "role_connections.write", "wings", "rpc"])
async def test_some_scopes_are_unavailable_to_client_credentials(world: World, scope: str) -> None:
    client = await create_application(world)

    assert_oauth2_error(
        await client.post_form("/oauth2/token", grant_type="client_credentials", scope=scope), "invalid_scope"
    )


# Implicit


async def test_the_implicit_grant_puts_a_token_into_the_fragment(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    url = (await client.authorize(alice, response_type="token", state="s")).ok()["url"]

    assert url.startswith(REDIRECT + "#")
    fields = url_parameters(url)
    assert (fields["token_type"], fields["expires_in"], fields["scope"]) == ("Bearer", "604800", "identify")
    assert (fields["state"], "refresh_token" in fields) == ("s", False)
    (await client.bearer(alice, fields["access_token"]).get("/users/@me")).ok()


# Revocation


@pytest.mark.parametrize("token_type", ["access_token", "refresh_token"])
async def test_revoking_a_token_revokes_the_whole_authorization(world: World, token_type: str) -> None:
    alice, bob, client, other_client = (
        await world.user(),
        await world.user(),
        await create_application(world),
        await create_application(world),
    )
    first_tokens, second_tokens = await client.request_tokens(alice), await client.request_tokens(alice)
    bob_tokens, other_tokens = await client.request_tokens(bob), await other_client.request_tokens(alice)
    alice_session = await alice.connect()

    response = await client.post_form("/oauth2/token/revoke", token=first_tokens[token_type])

    assert (response.status, response.json) == (200, {})
    for tokens in (first_tokens, second_tokens):
        (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
        assert (
            assert_oauth2_error(await client.refresh(tokens["refresh_token"]), "invalid_grant")
            == wire.INVALID_REFRESH_TOKEN_DESCRIPTION
        )
    (await client.bearer(bob, bob_tokens["access_token"]).get("/users/@me")).ok()
    (await other_client.bearer(alice, other_tokens["access_token"]).get("/users/@me")).ok()
    assert (await alice_session.next("OAUTH2_TOKEN_REVOKE"))["application_id"] == str(client.id)


async def test_revoking_an_unknown_token_succeeds_and_another_clients_fails(world: World) -> None:
    alice, client, other_client = await world.user(), await create_application(world), await create_application(world)
    tokens = await client.request_tokens(alice)

    assert (await client.post_form("/oauth2/token/revoke", token="guess")).status == 200
    assert_oauth2_error(
        await other_client.post_form("/oauth2/token/revoke", token=tokens["access_token"]), "unauthorized_client"
    )
    assert_oauth2_error(
        await client.post_form("/oauth2/token/revoke", sends_secret=False, token="x"), "invalid_client", 401
    )
    assert_oauth2_error(await client.post_form("/oauth2/token/revoke"), "invalid_request")
    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()


async def test_a_pending_code_is_invalidated_with_the_authorization(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    tokens, code = await client.request_tokens(alice), await client.request_code(alice)

    (await client.post_form("/oauth2/token/revoke", token=tokens["access_token"])).ok()

    assert_oauth2_error(await client.exchange(code), "invalid_grant")


# Authorizations


async def test_users_list_and_delete_their_authorizations(world: World) -> None:
    alice, bob, client = await world.user(), await world.user(), await create_application(world)
    tokens = await client.request_tokens(alice, "identify")
    await client.request_tokens(alice, "guilds")

    [authorization] = (await alice.get("/oauth2/tokens")).ok()

    assert (authorization["application"]["id"], authorization["scopes"]) == (str(client.id), ["identify", "guilds"])
    assert (await alice.get(f"/oauth2/tokens/{authorization['id']}")).ok() == authorization
    assert (await alice.get(f"/oauth2/applications/{client.id}/tokens")).ok() == [authorization]
    assert (await bob.get(f"/oauth2/applications/{client.id}/tokens")).ok() == []
    (await alice.get("/oauth2/applications/1/tokens")).rejected(404, 10002)
    (await bob.get(f"/oauth2/tokens/{authorization['id']}")).rejected(404, 10012)
    (await bob.delete(f"/oauth2/tokens/{authorization['id']}")).rejected(404, 10012)
    (await alice.delete(f"/oauth2/tokens/{authorization['id']}")).ok()
    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert (await alice.get("/oauth2/tokens")).ok() == []


async def test_a_token_reads_its_own_authorization(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    bearer = client.bearer(alice, (await client.request_tokens(alice, "identify guilds"))["access_token"])
    bearer_without_identify = client.bearer(alice, (await client.request_tokens(alice, "guilds"))["access_token"])

    authorization = (await bearer.get("/oauth2/@me")).ok()

    assert (authorization["application"]["id"], authorization["application"]["hook"]) == (str(client.id), True)
    assert authorization["scopes"] == ["guilds", "identify"]
    assert authorization["user"]["id"] == str(alice.id)
    assert authorization["expires"].startswith("2026-11-25")
    assert "user" not in (await bearer_without_identify.get("/oauth2/@me")).ok()
    (await alice.get("/oauth2/@me")).rejected(403, 20002)


# Devices


async def test_a_device_gets_tokens_after_the_user_enters_its_code(world: World) -> None:
    alice, client = await world.user(), await create_application(world, is_public=True)
    device_authorization = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    assert (
        device_authorization["expires_in"],
        device_authorization["interval"],
        len(device_authorization["user_code"]),
    ) == (300, 5, 8)
    assert (
        device_authorization["verification_uri_complete"]
        == f"{world.url}/activate?user_code={device_authorization['user_code']}"
    )
    poll_fields = DEVICE_GRANT_FIELDS | {"device_code": device_authorization["device_code"]}

    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "authorization_pending")
    entered_code = f" {device_authorization['user_code'][:4].lower()}-{device_authorization['user_code'][4:]} "
    verification = (await alice.post("/oauth2/device/verify", json={"user_code": entered_code})).ok()
    assert (verification["client_id"], verification["type"]) == (str(client.id), "pending")
    (await alice.post("/oauth2/device/finish", json={"user_code": entered_code, "result": "granted"})).ok()
    world.clock.advance(5_000)
    tokens = (await client.post_form("/oauth2/token", **poll_fields)).ok()

    assert (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()["id"] == str(alice.id)
    (await client.refresh(tokens["refresh_token"])).ok()
    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "invalid_grant")
    assert len((await alice.get("/oauth2/tokens")).ok()) == 1


async def test_a_device_that_polls_too_often_gets_slow_down(world: World) -> None:
    client = await create_application(world, is_public=True)
    device_authorization = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    poll_fields = DEVICE_GRANT_FIELDS | {"device_code": device_authorization["device_code"]}

    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "authorization_pending")
    world.clock.advance(4_999)
    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "slow_down")
    world.clock.advance(5_000)
    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "slow_down")
    world.clock.advance(15_000)
    assert_oauth2_error(await client.post_form("/oauth2/token", **poll_fields), "authorization_pending")


async def test_a_device_is_rejected_when_denied_or_expired(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    denied_device, expired_device = [
        (await client.post_form("/oauth2/device/authorize", scope="identify")).ok() for _ in range(2)
    ]

    body = {"user_code": denied_device["user_code"], "result": "denied"}
    (await alice.post("/oauth2/device/finish", json=body)).ok()
    second_decision = await alice.post("/oauth2/device/finish", json=body)
    assert second_decision.errors("user_code") == ["INVALID_USER_CODE"]
    assert_oauth2_error(
        await client.post_form("/oauth2/token", **DEVICE_GRANT_FIELDS, device_code=denied_device["device_code"]),
        "access_denied",
    )
    world.clock.advance(300_000)
    assert_oauth2_error(
        await client.post_form("/oauth2/token", **DEVICE_GRANT_FIELDS, device_code=expired_device["device_code"]),
        "expired_token",
    )
    verification = await alice.post("/oauth2/device/verify", json={"user_code": expired_device["user_code"]})
    assert verification.errors("user_code") == ["INVALID_USER_CODE"]


@pytest.mark.parametrize("scope", [None, "wings", "bot", "webhook.incoming", "applications.commands.update"])
async def test_some_scopes_are_unavailable_to_devices(world: World, scope: str | None) -> None:
    client = await create_application(world)

    assert_oauth2_error(await client.post_form("/oauth2/device/authorize", scope=scope), "invalid_scope")


async def test_a_device_of_a_confidential_client_requires_the_secret(world: World) -> None:
    client = await create_application(world)

    assert_oauth2_error(
        await client.post_form("/oauth2/device/authorize", sends_secret=False, scope="identify"), "invalid_client", 401
    )


# OpenID Connect


async def test_an_id_token_verifies_with_the_published_keys(world: World) -> None:
    alice, client = await world.user("alice"), await create_application(world)

    tokens = await client.request_tokens(alice, "openid identify email", nonce="n-0S6")
    keys = KeySet.import_key_set((await world.request("GET", "/oauth2/keys")).ok())
    decoded_token = jwt.decode(tokens["id_token"], keys, algorithms=["RS256"])

    claims = decoded_token.claims
    now_seconds = world.clock.now_ms() // 1000
    assert decoded_token.header["kid"] in {key.kid for key in keys.keys}
    assert (claims["iss"], claims["sub"], claims["aud"]) == (world.url, str(alice.id), str(client.id))
    assert (claims["iat"], claims["exp"], claims["nonce"]) == (now_seconds, now_seconds + 604_800, "n-0S6")
    assert (claims["preferred_username"], claims["email_verified"]) == ("alice", False)
    user_claims = (await client.bearer(alice, tokens["access_token"]).get("/oauth2/userinfo")).ok()
    assert {name: claims[name] for name in user_claims} == user_claims


async def test_id_tokens_can_be_signed_with_es256(world: World) -> None:
    identity = msgspec.structs.replace(world.app.config.identity, id_token_algorithm="ES256")
    app = App(msgspec.structs.replace(small_config(), identity=identity), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    es256_world = World(app, world.client)
    user, client = await es256_world.user(), await create_application(es256_world)

    id_token = (await client.request_tokens(user, "openid"))["id_token"]

    keys = KeySet.import_key_set((await es256_world.request("GET", "/oauth2/keys")).ok())
    assert jwt.decode(id_token, keys, algorithms=["ES256"]).claims["sub"] == str(user.id)
    metadata = (await es256_world.request("GET", f"{es256_world.url}/.well-known/openid-configuration")).ok()
    assert metadata["id_token_signing_alg_values_supported"] == ["ES256"]
    await app.stop()


async def test_userinfo_contains_only_claims_of_granted_scopes(world: World) -> None:
    alice, client = await world.user(), await create_application(world)

    bearer = client.bearer(alice, (await client.request_tokens(alice, "openid"))["access_token"])

    assert (await bearer.get("/oauth2/userinfo")).ok() == {"sub": str(alice.id)}


async def test_keys_rotate_and_old_keys_stay_until_their_tokens_expire(world: World) -> None:
    async def list_key_ids() -> list[str]:
        return [key["kid"] for key in (await world.request("GET", "/oauth2/keys")).ok()["keys"]]

    [first_key_id] = await list_key_ids()
    assert await list_key_ids() == [first_key_id]
    world.clock.advance(90 * DAY_MS)
    second_key_id, old_key_id = await list_key_ids()
    assert old_key_id == first_key_id != second_key_id
    world.clock.advance(8 * DAY_MS)
    assert await list_key_ids() == [second_key_id]


async def test_the_discovery_document_describes_the_endpoints_and_their_algorithms(world: World) -> None:
    response = await world.request("GET", f"{world.url}/.well-known/openid-configuration")
    discovery_document = response.ok()

    assert discovery_document["issuer"] == world.url
    assert discovery_document["authorization_endpoint"] == f"{world.url}/oauth2/authorize"
    assert discovery_document["jwks_uri"] == f"{world.url}/api/oauth2/keys"
    assert discovery_document["id_token_signing_alg_values_supported"] == ["RS256"]
    assert discovery_document["code_challenge_methods_supported"] == ["S256"]
    assert {"openid", "email", "identify"} <= set(discovery_document["scopes_supported"])
    (await world.request("GET", discovery_document["jwks_uri"])).ok()
    (await world.request("GET", discovery_document["userinfo_endpoint"])).rejected(401, 0)
    alias_response = await world.request("GET", f"{world.url}/.well-known/oauth-authorization-server")
    assert alias_response.ok() == discovery_document


async def test_secrets_are_not_stored_in_plain_text(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    verifier, challenge = create_pkce_pair()
    code = await client.request_code(alice, code_challenge=challenge, code_challenge_method="S256")
    tokens = (await client.exchange(code, code_verifier=verifier)).ok()
    device_authorization = (await client.post_form("/oauth2/device/authorize", scope="identify")).ok()
    tables = ("authorizations", "authorization_codes", "refresh_tokens", "device_codes", "tokens", "installations")

    rows = await world.app.database.read(
        lambda tx: [row for table in tables for row in tx.all(f"SELECT * FROM {table}")]
    )

    stored_text = repr(rows)
    for secret in (
        code,
        verifier,
        tokens["access_token"],
        tokens["refresh_token"],
        device_authorization["device_code"],
        client.secret,
    ):
        assert secret not in stored_text


# Private applications


async def test_only_the_owner_installs_a_private_application(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    await set_application_columns(world, client, bot_public=0)
    guild = await world.guild(alice)
    body = {"guild_id": str(guild.id)}

    (await client.authorize(alice, "bot", response_type=None, body=body)).rejected(403, 20012)
    owner_guild = await world.guild(client.owner)
    (await client.authorize(client.owner, "bot", response_type=None, body={"guild_id": str(owner_guild.id)})).ok()
    # Other users can still sign in with a private application.
    await client.request_code(alice, "identify")


# Limits of credentials


async def test_the_oldest_unused_codes_end_above_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "CODES_MAX", 2)
    client, user, other_user = await create_application(world), await world.user(), await world.user()
    other_code = await client.request_code(other_user)
    codes = []
    for _ in range(3):
        codes.append(await client.request_code(user))
        world.clock.advance(1000)

    assert_oauth2_error(await client.exchange(codes[0]), "invalid_grant")
    for code in (*codes[1:], other_code):
        (await client.exchange(code)).ok()


async def test_the_oldest_grants_end_above_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "GRANTS_MAX", 2)
    client, other_client, user = await create_application(world), await create_application(world), await world.user()
    other_tokens = await other_client.request_tokens(user)
    first_tokens, second_tokens = await client.request_tokens(user), await client.request_tokens(user)
    # A refresh continues its grant and does not count as a new one.
    first_tokens = (await client.refresh(first_tokens["refresh_token"])).ok()
    third_tokens = await client.request_tokens(user)

    (await client.bearer(user, first_tokens["access_token"]).get("/users/@me")).rejected(401, 0)
    assert_oauth2_error(await client.refresh(first_tokens["refresh_token"]), "invalid_grant")
    for tokens in (second_tokens, third_tokens, other_tokens):
        (await client.bearer(user, tokens["access_token"]).get("/users/@me")).ok()


async def test_client_credentials_tokens_are_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "GRANTS_MAX", 2)
    client = await create_application(world)
    tokens = [
        (await client.post_form("/oauth2/token", grant_type="client_credentials", scope="identify")).ok()[
            "access_token"
        ]
        for _ in range(3)
    ]
    statuses = [(await client.bearer(client.owner, token).get("/users/@me")).status for token in tokens]
    assert statuses == [401, 200, 200]


async def test_pending_device_codes_are_limited(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PENDING_CODES_MAX", 2)
    client, other_client = await create_application(world), await create_application(world)
    path = "/oauth2/device/authorize"
    for _ in range(2):
        (await client.post_form(path, scope="identify")).ok()
    assert (await client.post_form(path, scope="identify")).status == 429
    (await other_client.post_form(path, scope="identify")).ok()
    world.clock.advance(wire.DEVICE_CODE_SECONDS * 1000)
    (await client.post_form(path, scope="identify")).ok()
