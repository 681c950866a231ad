"""OAuth2: consent, grants, tokens, revocation, devices, OpenID Connect."""

import base64
from typing import Any

import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import oauth2 as wire
from hubbub.server.app import App
from hubbub.server.core.clock import ControlledClock
from hubbub.server.resources import oauth2
from tests.oauth import FORM, REDIRECT, application, edit, fields_of, pkce, refused
from tests.world import NOW_MS, World, small_config

DEVICE: dict[str, Any] = {"grant_type": wire.DEVICE_GRANT}
DAY_MS = 86_400_000


# Consent


async def test_a_person_sees_who_asks_for_what_before_they_answer(world: World) -> None:
    alice, client = await world.user("alice"), await application(world)

    shown = (await alice.get(client.address("openid identify"))).ok()

    assert shown["application"]["id"] == str(client.id)
    assert shown["user"]["id"] == str(alice.id)
    assert [scope["name"] for scope in shown["scopes"]] == ["openid", "identify"]
    assert all(scope["description"] for scope in shown["scopes"])
    assert (shown["authorized"], shown["redirect_uri"], shown["prompt"]) == (False, REDIRECT, "consent")
    assert "guilds" not in shown


async def test_a_grant_sends_the_person_back_with_a_code_the_state_and_the_issuer(world: World) -> None:
    alice, client = await world.user(), await application(world)

    url = (await client.ask(alice, state="a b&c")).ok()["url"]

    assert url.startswith(REDIRECT + "?")
    fields = fields_of(url)
    assert set(fields) == {"code", "state", "iss"}
    assert (fields["state"], fields["iss"]) == ("a b&c", world.url)


async def test_a_refusal_sends_the_person_back_with_access_denied(world: World) -> None:
    alice, client = await world.user(), await application(world)

    answer = (await alice.post(client.address(state="s"), json={"authorize": False})).ok()

    fields = fields_of(answer["url"])
    assert (fields["error"], fields["state"]) == ("access_denied", "s")
    assert fields["error_description"] == wire.DENIED
    assert (await alice.get("/oauth2/tokens")).ok() == []


async def test_what_was_granted_need_not_be_asked_again(world: World) -> None:
    alice, client = await world.user(), await application(world)
    await client.code(alice, "identify guilds")

    again = (await alice.get(client.address("identify", prompt="none"))).ok()
    more = (await alice.get(client.address("identify email", prompt="none"))).ok()

    assert (again["authorized"], more["authorized"]) == (True, False)


async def test_bots_and_webhooks_are_asked_for_each_time(world: World) -> None:
    alice, client = await world.user(), await application(world)
    guild = await world.guild(alice)
    await client.code(alice, "bot identify", body={"guild_id": str(guild.id)})

    assert not (await alice.get(client.address("bot identify"))).ok()["authorized"]


@pytest.mark.parametrize(
    ("more", "error"),
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
async def test_a_bad_request_is_refused_and_nobody_is_sent_anywhere(
    world: World, more: dict[str, Any], error: str
) -> None:
    alice, client = await world.user(), await application(world)

    for answer in (await alice.get(client.address(**more)), await client.ask(alice, **more)):
        refused(answer, error)
        assert "url" not in answer.json
        # RFC 6749 4.1.2.1: what may be taken back goes to the registered redirect only.
        back = answer.json.get("return_url")
        assert (back is None) == ("client_id" in more or more.get("response_type", "") is None)
        assert back is None or (back.startswith(REDIRECT) and fields_of(back)["error"] == error)


async def test_only_people_can_grant(world: World) -> None:
    client = await application(world)
    assert client.bot is not None

    (await client.bot.get(client.address())).refused(403, 20001)
    (await world.request("GET", client.address())).refused(401, 0)


async def test_without_a_redirect_the_first_registered_is_used(world: World) -> None:
    alice, client = await world.user(), await application(world, redirect_uris=(REDIRECT, "https://other.example/"))

    code = await client.code(alice, redirect_uri=None)

    (await client.exchange(code, redirect_uri=None)).ok()


async def test_an_application_without_redirects_cannot_get_a_code(world: World) -> None:
    alice, client = await world.user(), await application(world, redirect_uris=())

    refused(await client.ask(alice, redirect_uri=None), "invalid_request")


# Scopes


async def test_an_approved_application_may_ask_for_more(world: World) -> None:
    alice, client = await world.user(), await application(world)
    refused(await client.ask(alice, "identify.premium"), "invalid_scope")

    await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["identify.premium"]))

    assert (await client.tokens(alice, "identify identify.premium"))["scope"] == "identify identify.premium"


async def test_an_unknown_scope_cannot_be_approved(world: World) -> None:
    client = await application(world)

    with pytest.raises(ValueError, match="wings"):
        await world.write(lambda call: oauth2.approve_scopes(call, client.id, ["wings"]))


async def test_the_social_layer_opens_its_scopes_singly(world: World) -> None:
    alice = await world.user()
    plain = await application(world)
    social = await application(world, flags=ApplicationFlags.SOCIAL_LAYER_INTEGRATION_LIMITED)

    refused(await plain.ask(alice, "relationships.read"), "invalid_scope")
    await social.code(alice, "relationships.read")


async def test_an_umbrella_is_named_as_asked_and_allows_all_it_stands_for(world: World) -> None:
    alice, client = await world.user(), await application(world)

    tokens = await client.tokens(alice, "openid sdk.social_layer")
    game = client.bearer(alice, tokens["access_token"])

    assert tokens["scope"] == "openid sdk.social_layer"
    (await game.get("/users/@me")).ok()
    (await game.get("/users/@me/guilds")).ok()
    assert (await game.get("/oauth2/@me")).ok()["scopes"] == ["openid", "sdk.social_layer"]
    session = await game.connect(token=f"Bearer {game.token}")
    assert {"gateway.connect", "lobbies.write", "identify"} <= set(session.ready["scopes"])


async def test_the_other_spelling_of_the_commands_scope_is_understood(world: World) -> None:
    alice, client = await world.user(), await application(world)

    shown = (await alice.get(client.address("application.commands identify", integration_type=1))).ok()

    assert [scope["name"] for scope in shown["scopes"]] == ["applications.commands", "identify"]


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("identify", "/users/@me"),
        ("guilds", "/users/@me/guilds"),
        ("guilds.members.read", "/users/@me/guilds/{guild}/member"),
        ("openid", "/oauth2/userinfo"),
    ],
)
async def test_a_token_can_do_what_its_scopes_say_and_nothing_else(world: World, scope: str, path: str) -> None:
    alice, client = await world.user(), await application(world)
    guild = await world.guild(alice)
    path = path.format(guild=guild.id)

    allowed = client.bearer(alice, (await client.tokens(alice, scope))["access_token"])
    other = client.bearer(alice, (await client.tokens(alice, "connections"))["access_token"])

    (await allowed.get(path)).ok()
    (await other.get(path)).refused(403, 50026)
    # A route that no bearer may use.
    (await allowed.get(f"/guilds/{guild.id}/audit-logs")).refused(401, 0)


async def test_the_address_is_shown_with_its_scope_only(world: World) -> None:
    client = await application(world)
    registered = {"username": "alice", "password": "correct horse", "email": "alice@example.org"}
    made = (await world.request("POST", "/auth/register", json=registered)).ok()
    alice = await world.user()
    alice.id, alice.token = int(made["user_id"]), made["token"]

    without = client.bearer(alice, (await client.tokens(alice, "identify"))["access_token"])
    with_it = client.bearer(alice, (await client.tokens(alice, "identify email"))["access_token"])

    assert "email" not in (await without.get("/users/@me")).ok()
    assert (await with_it.get("/users/@me")).ok()["email"] == "alice@example.org"


async def test_a_token_brings_its_owner_into_a_guild(world: World) -> None:
    alice, bob, client = await world.user(), await world.user(), await application(world)
    guild = await world.guild(alice)
    await client.ask(alice, "bot", response_type=None, body={"guild_id": str(guild.id)}, permissions=1)
    assert client.bot is not None
    plain = (await client.tokens(bob, "identify"))["access_token"]
    joining = (await client.tokens(bob, "guilds.join"))["access_token"]
    path = f"/guilds/{guild.id}/members/{bob.id}"

    (await client.bot.put(path, json={"access_token": plain})).refused(403, 50026)
    assert (await client.bot.put(path, json={"access_token": joining})).status == 201


async def test_the_gateway_needs_a_scope_of_its_own(world: World) -> None:
    alice, client = await world.user(), await application(world)
    token = (await client.tokens(alice, "identify"))["access_token"]

    socket = await world.client.ws_connect(f"{world.gateway}?v=10&encoding=json")
    await socket.receive_json()
    await socket.send_json({"op": 2, "d": {"token": f"Bearer {token}", "properties": {}, "intents": 0}})
    await socket.receive()

    assert socket.close_code == 4004


# The code grant


async def test_a_code_becomes_tokens_that_last_a_week(world: World) -> None:
    alice, client = await world.user(), await application(world)

    answer = await client.exchange(await client.code(alice))
    tokens = answer.ok()

    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 604_800, "identify")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "id_token" not in tokens
    game = client.bearer(alice, tokens["access_token"])
    assert (await game.get("/users/@me")).ok()["id"] == str(alice.id)
    world.clock.advance(604_800_000)
    (await game.get("/users/@me")).refused(401, 0)


async def test_a_client_proves_itself_in_the_header_or_the_form_and_not_in_both(world: World) -> None:
    alice, client = await world.user(), await application(world)
    basic = base64.b64encode(f"{client.id}:{client.secret}".encode()).decode()

    async def send(header: str, **fields: Any) -> Any:
        form = {"grant_type": "authorization_code", "redirect_uri": REDIRECT, **fields}
        return await world.request(
            "POST", "/oauth2/token", data=form, headers={**FORM, "Authorization": f"Basic {header}"}
        )

    (await send(basic, code=await client.code(alice))).ok()
    (await send(basic, code=await client.code(alice), client_id=str(client.id))).ok()
    refused(await send(basic, code="x", client_secret=client.secret), "invalid_request")
    refused(await send(basic, code="x", client_id="1"), "invalid_request")
    wrong = await send(base64.b64encode(f"{client.id}:guess".encode()).decode(), code="x")
    refused(wrong, "invalid_client", 401)
    assert wrong.headers["WWW-Authenticate"].startswith("Basic")
    refused(await send("%%%", code="x"), "invalid_client", 401)


@pytest.mark.parametrize("fields", [{"client_id": "1"}, {"client_id": "x"}, {"client_secret": "guess"}, {}])
async def test_an_unknown_or_unproven_client_is_told_the_same(world: World, fields: dict[str, str]) -> None:
    client = await application(world)
    form = {"grant_type": "authorization_code", "code": "x", "client_id": str(client.id)} | fields

    answer = await world.request("POST", "/oauth2/token", data=form, headers=FORM)

    assert refused(answer, "invalid_client", 401) == "Client authentication failed"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "authorization_code"}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "invalid_request"),
        ({"grant_type": "client_credentials"}, "invalid_request"),
        (DEVICE, "invalid_request"),
        ({"grant_type": "authorization_code", "code": "guess"}, "invalid_grant"),
        ({"grant_type": "refresh_token", "refresh_token": "guess"}, "invalid_grant"),
        (DEVICE | {"device_code": "guess"}, "invalid_grant"),
    ],
)
async def test_what_is_missing_or_wrong_is_said_in_the_words_of_the_rfc(
    world: World, fields: dict[str, Any], error: str
) -> None:
    client = await application(world)

    refused(await client.post("/oauth2/token", **fields), error)


async def test_json_is_refused_at_the_token_endpoint(world: World) -> None:
    client = await application(world)

    body = {"grant_type": "client_credentials", "client_id": str(client.id), "client_secret": client.secret}
    assert (await world.request("POST", "/oauth2/token", json=body)).status == 400


async def test_a_code_ends_after_ten_minutes(world: World) -> None:
    alice, client = await world.user(), await application(world)
    early, late = await client.code(alice), await client.code(alice)

    world.clock.advance(599_999)
    (await client.exchange(early)).ok()
    world.clock.advance(1)
    assert refused(await client.exchange(late), "invalid_grant") == 'Invalid "code" in request.'


async def test_a_public_client_needs_no_secret_but_pkce(world: World) -> None:
    alice, client = await world.user(), await application(world, public=True)

    tokens = await client.tokens(alice)
    renewed = (await client.refresh(tokens["refresh_token"])).ok()

    assert (await client.bearer(alice, renewed["access_token"]).get("/users/@me")).status == 200
    refused(await client.ask(alice), "invalid_request")


async def test_a_public_client_keeps_its_refresh_token_only_while_it_uses_it(world: World) -> None:
    alice = await world.user()
    public, confidential = await application(world, public=True), await application(world)
    idle, kept = await public.tokens(alice), await confidential.tokens(alice)

    world.clock.advance(30 * DAY_MS)

    refused(await public.refresh(idle["refresh_token"]), "invalid_grant")
    (await confidential.refresh(kept["refresh_token"])).ok()


# Refresh


async def test_refreshing_replaces_both_tokens(world: World) -> None:
    alice, client = await world.user(), await application(world)
    first = await client.tokens(alice, "identify guilds")

    second = (await client.refresh(first["refresh_token"])).ok()

    assert second["scope"] == "identify guilds"
    assert second["refresh_token"] != first["refresh_token"]
    (await client.bearer(alice, first["access_token"]).get("/users/@me")).refused(401, 0)
    (await client.bearer(alice, second["access_token"]).get("/users/@me")).ok()


async def test_refreshing_may_ask_for_less_and_never_for_more(world: World) -> None:
    alice, client = await world.user(), await application(world)
    first = await client.tokens(alice, "identify guilds")

    refused(await client.refresh(first["refresh_token"], scope="identify email"), "invalid_scope")
    less = (await client.refresh(first["refresh_token"], scope="identify")).ok()
    again = (await client.refresh(less["refresh_token"])).ok()

    assert (less["scope"], again["scope"]) == ("identify", "identify guilds")


async def test_a_gateway_session_goes_on_when_its_token_is_refreshed_and_ends_with_a_revocation(world: World) -> None:
    alice, client = await world.user(), await application(world)
    first = await client.tokens(alice, "sdk.social_layer_presence")
    session = await client.bearer(alice, first["access_token"]).connect(token=f"Bearer {first['access_token']}")

    second = (await client.refresh(first["refresh_token"])).ok()
    await session.obeyed()
    (await client.post("/oauth2/token/revoke", token=second["access_token"])).ok()

    assert await session.closed() == 4004


async def test_another_clients_refresh_token_is_worth_nothing(world: World) -> None:
    alice, client, thief = await world.user(), await application(world), await application(world)
    tokens = await client.tokens(alice)

    refused(await thief.refresh(tokens["refresh_token"]), "invalid_grant")
    (await client.refresh(tokens["refresh_token"])).ok()


# Client credentials


async def test_an_application_acts_as_its_owner(world: World) -> None:
    client = await application(world)

    tokens = (
        await client.post(
            "/oauth2/token", grant_type="client_credentials", scope="identify applications.commands.update"
        )
    ).ok()

    assert "refresh_token" not in tokens
    me = (await client.bearer(client.owner, tokens["access_token"]).get("/users/@me")).ok()
    assert me["id"] == str(client.owner.id)


async def test_client_credentials_need_the_secret_even_of_a_public_client(world: World) -> None:
    client = await application(world, public=True)

    refused(
        await client.post("/oauth2/token", grant_type="client_credentials", scope="identify"), "invalid_client", 401
    )


@pytest.mark.parametrize("scope", ["bot", "webhook.incoming", "role_connections.write", "wings", "rpc"])
async def test_some_scopes_need_a_person(world: World, scope: str) -> None:
    client = await application(world)

    refused(await client.post("/oauth2/token", grant_type="client_credentials", scope=scope), "invalid_scope")


# Implicit


async def test_the_implicit_grant_puts_a_token_into_the_fragment(world: World) -> None:
    alice, client = await world.user(), await application(world)

    url = (await client.ask(alice, response_type="token", state="s")).ok()["url"]

    assert url.startswith(REDIRECT + "#")
    fields = fields_of(url)
    assert (fields["token_type"], fields["expires_in"], fields["scope"]) == ("Bearer", "604800", "identify")
    assert (fields["state"], "refresh_token" in fields) == ("s", False)
    (await client.bearer(alice, fields["access_token"]).get("/users/@me")).ok()


# Revocation


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
async def test_revoking_one_token_ends_all_of_that_person_and_application(world: World, which: str) -> None:
    alice, bob, client, other = (
        await world.user(),
        await world.user(),
        await application(world),
        await application(world),
    )
    first, second = await client.tokens(alice), await client.tokens(alice)
    bobs, elsewhere = await client.tokens(bob), await other.tokens(alice)
    phone = await alice.connect()

    answer = await client.post("/oauth2/token/revoke", token=first[which])

    assert (answer.status, answer.json) == (200, {})
    for tokens in (first, second):
        (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).refused(401, 0)
        assert refused(await client.refresh(tokens["refresh_token"]), "invalid_grant") == wire.INVALID_REFRESH_TOKEN
    (await client.bearer(bob, bobs["access_token"]).get("/users/@me")).ok()
    (await other.bearer(alice, elsewhere["access_token"]).get("/users/@me")).ok()
    assert (await phone.next("OAUTH2_TOKEN_REVOKE"))["application_id"] == str(client.id)


async def test_revoking_what_is_unknown_succeeds_and_what_is_anothers_does_not(world: World) -> None:
    alice, client, thief = await world.user(), await application(world), await application(world)
    tokens = await client.tokens(alice)

    assert (await client.post("/oauth2/token/revoke", token="guess")).status == 200
    refused(await thief.post("/oauth2/token/revoke", token=tokens["access_token"]), "unauthorized_client")
    refused(await client.post("/oauth2/token/revoke", secret=False, token="x"), "invalid_client", 401)
    refused(await client.post("/oauth2/token/revoke"), "invalid_request")
    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()


async def test_a_code_that_waits_dies_with_the_authorization(world: World) -> None:
    alice, client = await world.user(), await application(world)
    tokens, code = await client.tokens(alice), await client.code(alice)

    (await client.post("/oauth2/token/revoke", token=tokens["access_token"])).ok()

    refused(await client.exchange(code), "invalid_grant")


# What was granted


async def test_people_see_and_remove_what_they_let_in(world: World) -> None:
    alice, bob, client = await world.user(), await world.user(), await application(world)
    tokens = await client.tokens(alice, "identify")
    await client.tokens(alice, "guilds")

    [mine] = (await alice.get("/oauth2/tokens")).ok()

    assert (mine["application"]["id"], mine["scopes"]) == (str(client.id), ["identify", "guilds"])
    assert (await alice.get(f"/oauth2/tokens/{mine['id']}")).ok() == mine
    assert (await alice.get(f"/oauth2/applications/{client.id}/tokens")).ok() == [mine]
    assert (await bob.get(f"/oauth2/applications/{client.id}/tokens")).ok() == []
    (await alice.get("/oauth2/applications/1/tokens")).refused(404, 10002)
    (await bob.get(f"/oauth2/tokens/{mine['id']}")).refused(404, 10012)
    (await bob.delete(f"/oauth2/tokens/{mine['id']}")).refused(404, 10012)
    (await alice.delete(f"/oauth2/tokens/{mine['id']}")).ok()
    (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).refused(401, 0)
    assert (await alice.get("/oauth2/tokens")).ok() == []


async def test_a_token_knows_what_it_is(world: World) -> None:
    alice, client = await world.user(), await application(world)
    game = client.bearer(alice, (await client.tokens(alice, "identify guilds"))["access_token"])
    quiet = client.bearer(alice, (await client.tokens(alice, "guilds"))["access_token"])

    shown = (await game.get("/oauth2/@me")).ok()

    assert (shown["application"]["id"], shown["application"]["hook"]) == (str(client.id), True)
    assert shown["scopes"] == ["guilds", "identify"]
    assert shown["user"]["id"] == str(alice.id)
    assert shown["expires"].startswith("2026-11-25")
    assert "user" not in (await quiet.get("/oauth2/@me")).ok()
    (await alice.get("/oauth2/@me")).refused(403, 20002)


# Devices


async def test_a_device_gets_tokens_once_a_person_typed_its_code(world: World) -> None:
    alice, client = await world.user(), await application(world, public=True)
    begun = (await client.post("/oauth2/device/authorize", scope="identify")).ok()
    assert (begun["expires_in"], begun["interval"], len(begun["user_code"])) == (300, 5, 8)
    assert begun["verification_uri_complete"] == f"{world.url}/activate?user_code={begun['user_code']}"
    ask = DEVICE | {"device_code": begun["device_code"]}

    refused(await client.post("/oauth2/token", **ask), "authorization_pending")
    typed = f" {begun['user_code'][:4].lower()}-{begun['user_code'][4:]} "
    shown = (await alice.post("/oauth2/device/verify", json={"user_code": typed})).ok()
    assert (shown["client_id"], shown["type"]) == (str(client.id), "pending")
    (await alice.post("/oauth2/device/finish", json={"user_code": typed, "result": "granted"})).ok()
    world.clock.advance(5_000)
    tokens = (await client.post("/oauth2/token", **ask)).ok()

    assert (await client.bearer(alice, tokens["access_token"]).get("/users/@me")).ok()["id"] == str(alice.id)
    (await client.refresh(tokens["refresh_token"])).ok()
    refused(await client.post("/oauth2/token", **ask), "invalid_grant")
    assert len((await alice.get("/oauth2/tokens")).ok()) == 1


async def test_a_device_that_asks_too_often_is_slowed_down(world: World) -> None:
    client = await application(world, public=True)
    begun = (await client.post("/oauth2/device/authorize", scope="identify")).ok()
    ask = DEVICE | {"device_code": begun["device_code"]}

    refused(await client.post("/oauth2/token", **ask), "authorization_pending")
    world.clock.advance(4_999)
    refused(await client.post("/oauth2/token", **ask), "slow_down")
    world.clock.advance(5_000)
    refused(await client.post("/oauth2/token", **ask), "slow_down")
    world.clock.advance(15_000)
    refused(await client.post("/oauth2/token", **ask), "authorization_pending")


async def test_a_device_is_told_no_and_too_late(world: World) -> None:
    alice, client = await world.user(), await application(world)
    denied, late = [(await client.post("/oauth2/device/authorize", scope="identify")).ok() for _ in range(2)]

    body = {"user_code": denied["user_code"], "result": "denied"}
    (await alice.post("/oauth2/device/finish", json=body)).ok()
    again = await alice.post("/oauth2/device/finish", json=body)
    assert again.errors("user_code") == ["INVALID_USER_CODE"]
    refused(await client.post("/oauth2/token", **DEVICE, device_code=denied["device_code"]), "access_denied")
    world.clock.advance(300_000)
    refused(await client.post("/oauth2/token", **DEVICE, device_code=late["device_code"]), "expired_token")
    over = await alice.post("/oauth2/device/verify", json={"user_code": late["user_code"]})
    assert over.errors("user_code") == ["INVALID_USER_CODE"]


@pytest.mark.parametrize("scope", [None, "wings", "bot", "webhook.incoming", "applications.commands.update"])
async def test_a_device_cannot_ask_for_everything(world: World, scope: str | None) -> None:
    client = await application(world)

    refused(await client.post("/oauth2/device/authorize", scope=scope), "invalid_scope")


async def test_a_confidential_clients_device_needs_the_secret(world: World) -> None:
    client = await application(world)

    refused(await client.post("/oauth2/device/authorize", secret=False, scope="identify"), "invalid_client", 401)


# OpenID Connect


async def test_an_id_token_can_be_checked_with_our_keys(world: World) -> None:
    alice, client = await world.user("alice"), await application(world)

    tokens = await client.tokens(alice, "openid identify email", nonce="n-0S6")
    keys = KeySet.import_key_set((await world.request("GET", "/oauth2/keys")).ok())
    decoded = jwt.decode(tokens["id_token"], keys, algorithms=["RS256"])

    claims = decoded.claims
    now = world.clock.now_ms() // 1000
    assert decoded.header["kid"] in {key.kid for key in keys.keys}
    assert (claims["iss"], claims["sub"], claims["aud"]) == (world.url, str(alice.id), str(client.id))
    assert (claims["iat"], claims["exp"], claims["nonce"]) == (now, now + 604_800, "n-0S6")
    assert (claims["preferred_username"], claims["email_verified"]) == ("alice", False)
    info = (await client.bearer(alice, tokens["access_token"]).get("/oauth2/userinfo")).ok()
    assert {name: claims[name] for name in info} == info


async def test_an_operator_may_sign_with_es256(world: World) -> None:
    identity = msgspec.structs.replace(world.app.config.identity, id_token_algorithm="ES256")
    app = App(msgspec.structs.replace(small_config(), identity=identity), clock=ControlledClock(NOW_MS, running=False))
    await app.start()
    other = World(app, world.client)
    person, there = await other.user(), await application(other)

    signed = (await there.tokens(person, "openid"))["id_token"]

    keys = KeySet.import_key_set((await other.request("GET", "/oauth2/keys")).ok())
    assert jwt.decode(signed, keys, algorithms=["ES256"]).claims["sub"] == str(person.id)
    found = (await other.request("GET", f"{other.url}/.well-known/openid-configuration")).ok()
    assert found["id_token_signing_alg_values_supported"] == ["ES256"]
    await app.stop()


async def test_user_info_opens_with_scopes(world: World) -> None:
    alice, client = await world.user(), await application(world)

    only = client.bearer(alice, (await client.tokens(alice, "openid"))["access_token"])

    assert (await only.get("/oauth2/userinfo")).ok() == {"sub": str(alice.id)}


async def test_keys_change_and_old_ones_stay_until_what_they_signed_has_ended(world: World) -> None:
    async def kids() -> list[str]:
        return [key["kid"] for key in (await world.request("GET", "/oauth2/keys")).ok()["keys"]]

    [first] = await kids()
    assert await kids() == [first]
    world.clock.advance(90 * DAY_MS)
    second, still = await kids()
    assert still == first != second
    world.clock.advance(8 * DAY_MS)
    assert await kids() == [second]


async def test_discovery_names_every_endpoint(world: World) -> None:
    answer = await world.request("GET", f"{world.url}/.well-known/openid-configuration")
    found = answer.ok()

    assert found["issuer"] == world.url
    assert found["authorization_endpoint"] == f"{world.url}/oauth2/authorize"
    assert found["jwks_uri"] == f"{world.url}/api/oauth2/keys"
    assert found["id_token_signing_alg_values_supported"] == ["RS256"]
    assert found["code_challenge_methods_supported"] == ["S256"]
    assert {"openid", "email", "identify"} <= set(found["scopes_supported"])
    for name in ("userinfo_endpoint", "jwks_uri"):
        assert (await world.request("GET", found[name])).status in (200, 401)
    same = await world.request("GET", f"{world.url}/.well-known/oauth-authorization-server")
    assert same.ok() == found


async def test_nothing_that_opens_anything_is_kept_in_clear(world: World) -> None:
    alice, client = await world.user(), await application(world)
    verifier, challenge = pkce()
    code = await client.code(alice, code_challenge=challenge, code_challenge_method="S256")
    tokens = (await client.exchange(code, code_verifier=verifier)).ok()
    begun = (await client.post("/oauth2/device/authorize", scope="identify")).ok()
    tables = ("authorizations", "authorization_codes", "refresh_tokens", "device_codes", "tokens", "installations")

    rows = await world.app.database.read(
        lambda tx: [row for table in tables for row in tx.all(f"SELECT * FROM {table}")]
    )

    kept = repr(rows)
    for secret in (
        code,
        verifier,
        tokens["access_token"],
        tokens["refresh_token"],
        begun["device_code"],
        client.secret,
    ):
        assert secret not in kept


async def test_a_private_application_is_for_its_owner(world: World) -> None:
    alice, client = await world.user(), await application(world)
    await edit(world, client, bot_public=0)
    guild = await world.guild(alice)
    body = {"guild_id": str(guild.id)}

    (await client.ask(alice, "bot", response_type=None, body=body)).refused(403, 20012)
    theirs = await world.guild(client.owner)
    (await client.ask(client.owner, "bot", response_type=None, body={"guild_id": str(theirs.id)})).ok()
    # Signing in is another matter.
    await client.code(alice, "identify")
