"""Tests of logins at external OpenID Connect providers: login, registration, links, second factors and invalid tokens."""

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import msgspec
import pytest
from joserfc.jwk import OctKey

from hubbub.protocol import codec
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import login_providers as wire
from hubbub.protocol.resources.features import Feature
from hubbub.server.core.config import Config, MailConfig
from hubbub.server.core.login_config import LoginConfig
from hubbub.server.core.mail import Mailbox
from hubbub.server.identity import accounts, features, users
from tests.fixtures.validator import ResponseMonitor
from tests.openid_provider import CLIENT_ID, CLIENT_SECRET, OpenIdProvider
from tests.server.identity.accounts import PASSWORD, create_user_with_password, enable_totp, totp_code
from tests.world import NOW_MS, Actor, ApiResponse, World, run_with_settings

StartWorld = Callable[..., Awaitable[World]]


@pytest.fixture
async def start_world(
    store_config: Config, provider: OpenIdProvider, response_monitor: ResponseMonitor
) -> AsyncIterator[StartWorld]:
    """A function that starts a platform with these settings of the provider."""
    async with AsyncExitStack() as stack:

        async def start(*, changes: dict[str, Any] | None = None, **settings: Any) -> World:
            login = LoginConfig(providers=(provider.settings(**settings),))
            config = msgspec.structs.replace(store_config, login=login, **(changes or {}))
            return await stack.enter_async_context(run_with_settings(config))

        yield start


async def complete_login(world: World, provider: OpenIdProvider, **changes: str) -> ApiResponse:
    """Log in at the provider and return the response of the platform; `changes` replace fields of the request."""
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    parameters = await provider.authorize(login_start["url"])
    return await world.request(
        "POST", "/auth/providers/login", json={"ticket": login_start["ticket"], **parameters, **changes}
    )


async def register_at_provider(world: World, provider: OpenIdProvider, username: str = "mary") -> Actor:
    """Register an account for the user of the provider."""
    registration = (await complete_login(world, provider)).ok()["registration"]
    body = {"ticket": registration["ticket"], "username": username}
    session = (await world.request("POST", "/auth/providers/register", json=body)).ok()
    return Actor(world, int(session["user_id"]), session["token"], username)


async def link_identity(user: Actor, provider: OpenIdProvider, **fields: Any) -> ApiResponse:
    """Link the user of the provider to an account and return the response."""
    body = {"provider_id": "work", "password": PASSWORD, **fields}
    login_start = (await user.post("/users/@me/login-identities/start", json=body)).ok()
    parameters = await provider.authorize(login_start["url"])
    return await user.post("/users/@me/login-identities", json={"ticket": login_start["ticket"], **parameters})


async def confirm_email(world: World, user: Actor, email: str = "mary@example.org") -> None:
    """Store a confirmed address of an account."""

    def confirm(call: Any) -> None:
        row = users.find(call.tx, user.id)
        assert row is not None
        users.profiles.set_email(call, row, email, is_verified=True)

    await world.write(confirm)


# Login and registration


async def test_a_user_of_a_provider_registers_with_a_chosen_username_and_logs_in_again(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()

    registration = (await complete_login(world, provider)).ok()["registration"]
    assert (registration["username"], registration["global_name"]) == ("mary.stone", "Mary Stone")
    body = {"ticket": registration["ticket"], "username": "mary", "global_name": "Mary"}
    session = (await world.request("POST", "/auth/providers/register", json=body)).ok()
    second_login = (await complete_login(world, provider)).ok()

    assert second_login["user_id"] == session["user_id"]
    assert second_login["registration"] is None
    own_user = (await world.request("GET", "/users/@me", headers={"Authorization": second_login["token"]})).ok()
    assert (own_user["username"], own_user["global_name"], own_user["email"], own_user["verified"]) == (
        "mary",
        "Mary",
        "mary@example.org",
        False,
    )


async def test_providers_are_listed_without_secrets(start_world: StartWorld) -> None:
    world = await start_world()

    assert (await world.request("GET", "/auth/providers")).ok() == [{"id": "work", "name": "Work"}]
    (await world.request("POST", "/auth/providers/other/start")).rejected(404, 0)


async def test_the_login_uses_pkce_state_nonce_and_the_client_secret(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    query = dict(parse_qsl(urlsplit(login_start["url"]).query))

    assert query["redirect_uri"] == f"{world.url}/login/callback/work"
    assert query["scope"] == "openid profile email"
    assert query["code_challenge_method"] == "S256"
    assert len({query["state"], query["nonce"], query["code_challenge"], login_start["ticket"]}) == 4
    (await complete_login(world, provider)).ok()
    headers, form = provider.token_requests[-1]
    assert headers["Authorization"].startswith("Basic ")
    assert CLIENT_SECRET not in str(form)


async def test_the_secret_is_sent_in_the_form_if_the_provider_requires_it(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    provider.discovery_overrides["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    world = await start_world()

    (await complete_login(world, provider)).ok()

    headers, form = provider.token_requests[-1]
    assert "Authorization" not in headers
    assert (form["client_id"], form["client_secret"]) == (CLIENT_ID, CLIENT_SECRET)


async def test_a_username_that_is_taken_is_not_suggested_and_is_rejected(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    await world.user("mary.stone")

    registration = (await complete_login(world, provider)).ok()["registration"]
    body = {"ticket": registration["ticket"], "username": "mary.stone"}
    response = await world.request("POST", "/auth/providers/register", json=body)

    assert registration["username"] == ""
    assert response.errors("username") == ["USERNAME_ALREADY_TAKEN"]
    (await world.request("POST", "/auth/providers/register", json={**body, "username": "mary"})).ok()
    response = await world.request("POST", "/auth/providers/register", json={**body, "username": "mary2"})
    assert response.errors("ticket") == ["PROVIDER_TICKET_INVALID"]


async def test_missing_claims_are_read_from_the_userinfo_endpoint_of_the_same_user(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    provider.userinfo = {"sub": provider.subject, **provider.claims}
    provider.claims = {}
    world = await start_world()

    registration = (await complete_login(world, provider)).ok()["registration"]
    assert (registration["username"], registration["email"]) == ("mary.stone", "mary@example.org")

    provider.userinfo["sub"] = "another user"
    registration = (await complete_login(world, provider)).ok()["registration"]
    assert (registration["username"], registration["email"]) == ("", None)


# Invalid responses


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://evil.example"},
        {"aud": "another-client"},
        {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"},
        {"azp": "another-client"},
        {"nonce": "another nonce"},
        {"nonce": None},
        {"exp": NOW_MS // 1000 - 1},
        {"iat": NOW_MS // 1000 + 3600},
        {"iat": None},
    ],
    ids=["issuer", "audience", "audiences", "authorized_party", "nonce", "no_nonce", "expired", "future", "no_time"],
)
async def test_an_invalid_id_token_is_rejected(
    start_world: StartWorld, provider: OpenIdProvider, changes: dict[str, Any]
) -> None:
    world = await start_world()
    provider.token_changes = changes

    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LOGIN_FAILED"]


async def test_a_token_without_a_signature_or_with_a_shared_secret_is_rejected(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    claims = {
        "iss": provider.url,
        "aud": CLIENT_ID,
        "sub": "subject-1",
        "iat": NOW_MS // 1000,
        "exp": NOW_MS // 1000 + 60,
    }
    token_segments = [
        base64.urlsafe_b64encode(codec.encode(segment)).rstrip(b"=").decode() for segment in ({"alg": "none"}, claims)
    ]
    provider.id_token = f"{token_segments[0]}.{token_segments[1]}."
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LOGIN_FAILED"]

    provider.id_token = None
    provider.keys["secret"] = OctKey.import_key(CLIENT_SECRET)
    provider.signing_key = "secret"
    provider.token_changes = {"alg": "HS256"}
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LOGIN_FAILED"]


@pytest.mark.parametrize("subject", ["", "x" * 256, "Mary\x00", "Märy"], ids=["empty", "long", "control", "unicode"])
async def test_an_invalid_subject_is_rejected(start_world: StartWorld, provider: OpenIdProvider, subject: str) -> None:
    world = await start_world()
    provider.subject = subject

    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LOGIN_FAILED"]


async def test_a_response_with_the_issuer_of_another_provider_is_rejected(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()

    assert (await complete_login(world, provider, iss="https://evil.example")).errors("code") == [
        "PROVIDER_LOGIN_FAILED"
    ]
    assert provider.token_requests == []


async def test_the_issuer_is_optional_unless_the_provider_announces_it(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    parameters = await provider.authorize(login_start["url"])
    del parameters["iss"]
    response = await world.request(
        "POST", "/auth/providers/login", json={"ticket": login_start["ticket"], **parameters}
    )
    assert response.errors("code") == ["PROVIDER_LOGIN_FAILED"]

    provider.discovery_overrides["authorization_response_iss_parameter_supported"] = False
    world.clock.advance(600_000)
    (await complete_login(world, provider)).ok()


async def test_a_provider_does_not_obtain_the_code_of_another_one(
    store_config: Config, provider: OpenIdProvider
) -> None:
    evil_provider = OpenIdProvider()
    await evil_provider.open()
    # Without the parameter `iss`, the redirect URI alone identifies the provider.
    provider.discovery_overrides["authorization_response_iss_parameter_supported"] = False
    evil_provider.discovery_overrides["authorization_response_iss_parameter_supported"] = False
    providers = (provider.settings(), evil_provider.settings(id="evil"))
    config = msgspec.structs.replace(store_config, login=LoginConfig(providers=providers))
    async with run_with_settings(config) as world:
        evil_login_start = (await world.request("POST", "/auth/providers/evil/start")).ok()
        honest_login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
        state = dict(parse_qsl(urlsplit(evil_login_start["url"]).query))["state"]
        query = dict(parse_qsl(urlsplit(honest_login_start["url"]).query)) | {"state": state}

        # The evil provider redirects the user to the honest one, with the state of the login at the evil one.
        parameters = await provider.authorize(f"{provider.url}/authorize?{urlencode(query)}")
        body = {"ticket": evil_login_start["ticket"], **parameters}
        response = await world.request("POST", "/auth/providers/login", json=body)

        assert parameters["provider_id"] == "work"
        assert response.errors("state") == ["PROVIDER_STATE_INVALID"]
        assert evil_provider.token_requests == []
    await evil_provider.close()


async def test_a_token_that_another_key_signed_is_rejected_and_a_new_key_is_fetched(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    (await complete_login(world, provider)).ok()
    published_keys = dict(provider.keys)
    provider.keys["forged"] = type(provider.keys["one"]).generate_key("P-256", parameters={"kid": "one"})
    provider.signing_key = "forged"
    provider.token_changes = {"header": {"kid": "one"}}
    # The published key "one" is cached, so the forged one is not accepted in its place.
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LOGIN_FAILED"]

    provider.keys = published_keys
    provider.token_changes = {}
    provider.add_ec_key("two")
    provider.signing_key = "two"
    world.clock.advance(60_000)
    assert (await complete_login(world, provider)).ok()["registration"] is not None


async def test_a_ticket_is_valid_once_for_its_state_and_for_ten_minutes(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    (await world.request("POST", "/auth/providers/login", json=body)).ok()

    response = await world.request("POST", "/auth/providers/login", json=body)
    assert response.errors("ticket") == ["PROVIDER_TICKET_INVALID"]
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    response = await world.request("POST", "/auth/providers/login", json={**body, "state": "another"})
    assert response.errors("state") == ["PROVIDER_STATE_INVALID"]
    response = await world.request("POST", "/auth/providers/login", json=body)
    assert response.errors("ticket") == ["PROVIDER_TICKET_INVALID"]
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    world.clock.advance(600_000)
    response = await world.request("POST", "/auth/providers/login", json=body)
    assert response.errors("ticket") == ["PROVIDER_TICKET_INVALID"]


async def test_a_code_that_the_provider_rejects_is_reported(start_world: StartWorld, provider: OpenIdProvider) -> None:
    world = await start_world()

    assert (await complete_login(world, provider, code="guessed")).errors("code") == ["PROVIDER_LOGIN_FAILED"]


async def test_a_provider_that_does_not_respond_is_reported(start_world: StartWorld, provider: OpenIdProvider) -> None:
    world = await start_world()
    await provider.close()

    response = await world.request("POST", "/auth/providers/work/start")

    assert response.errors("code") == ["PROVIDER_UNREACHABLE"]


async def test_a_discovery_document_with_an_invalid_endpoint_is_rejected(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    provider.discovery_overrides["token_endpoint"] = "ftp://127.0.0.1/token"
    world = await start_world()

    response = await world.request("POST", "/auth/providers/work/start")

    assert response.errors("code") == ["PROVIDER_UNREACHABLE"]


# Rules of the operator


async def test_only_verified_addresses_of_allowed_domains_log_in(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(allowed_email_domains=("example.org",))
    (await complete_login(world, provider)).ok()

    provider.claims["email_verified"] = False
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_EMAIL_NOT_ALLOWED"]
    provider.claims |= {"email": "mary@sub.example.org", "email_verified": True}
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_EMAIL_NOT_ALLOWED"]
    del provider.claims["email"]
    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_EMAIL_NOT_ALLOWED"]


async def test_without_registration_only_linked_identities_log_in(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(changes={"allow_registration": False})
    alice = await create_user_with_password(world)

    (await complete_login(world, provider)).rejected(403, 0)
    (await link_identity(alice, provider)).ok()
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)


async def test_auto_register_creates_accounts_although_registration_is_disabled(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(changes={"allow_registration": False}, auto_register=True)

    await register_at_provider(world, provider)
    provider.subject = "subject-2"
    await world.write(lambda call: features.switch(call, Feature.REGISTRATION, is_on=False, message=None))

    (await complete_login(world, provider)).rejected(400, 40006)


async def test_the_same_address_does_not_link_an_account_by_default(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)

    login_result = (await complete_login(world, provider)).ok()

    assert login_result["token"] is None
    user = await register_at_provider(world, provider)
    # The address belongs to the account that confirmed it.
    assert (await user.get("/users/@me")).ok()["email"] is None


async def test_a_trusted_address_links_the_account_that_confirmed_it(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(trust_email=True)
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)

    provider.claims["email_verified"] = False
    assert (await complete_login(world, provider)).ok()["registration"] is not None
    provider.claims["email_verified"] = True
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)
    # The identity is linked by its subject, so a changed address does not matter.
    provider.claims["email"] = "new@example.org"
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)


async def test_the_verification_of_another_address_does_not_count(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(trust_email=True, email_claim="upn")
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)
    provider.claims |= {"upn": "mary@example.org", "email": "attacker@example.com"}
    assert (await complete_login(world, provider)).ok()["registration"] is not None

    provider.claims["email"] = "mary@example.org"
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)


async def test_the_userinfo_endpoint_does_not_verify_another_address_of_the_id_token(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(trust_email=True)
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)
    provider.userinfo = {"sub": provider.subject, "email": "attacker@example.com", "email_verified": True}
    provider.claims = {"email": "mary@example.org"}
    assert (await complete_login(world, provider)).ok()["registration"] is not None

    provider.userinfo["email"] = "mary@example.org"
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)


async def test_an_unconfirmed_address_is_never_linked(start_world: StartWorld, provider: OpenIdProvider) -> None:
    mail = MailConfig(keep_in_memory=True)
    world = await start_world(changes={"mail": mail}, trust_email=True)
    body = {"username": "attacker", "password": PASSWORD, "email": "mary@example.org"}
    attacker = (await world.request("POST", "/auth/register", json=body)).ok()

    user = await register_at_provider(world, provider)

    assert str(user.id) != attacker["user_id"]
    own_user = (await user.get("/users/@me")).ok()
    assert (own_user["email"], own_user["verified"]) == ("mary@example.org", True)


async def test_a_trusted_address_does_not_bypass_the_authenticator_of_an_account(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(trust_email=True, second_factor_methods=("mfa",))
    provider.claims["amr"] = ["pwd", "mfa"]
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)
    await enable_totp(world, alice)

    assert (await complete_login(world, provider)).errors("code") == ["PROVIDER_LINK_REQUIRED"]


# Second factor and suspension


async def test_the_two_factor_code_is_required_unless_the_operator_trusts_the_method_of_the_provider(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world(second_factor_methods=("mfa",))
    alice = await create_user_with_password(world)
    (await link_identity(alice, provider)).ok()
    secret, _ = await enable_totp(world, alice)

    provider.claims["amr"] = ["pwd"]
    login_result = (await complete_login(world, provider)).ok()
    assert (login_result["token"], login_result["mfa"]) == (None, True)
    body = {"ticket": login_result["ticket"], "code": totp_code(world, secret)}
    assert (await world.request("POST", "/auth/mfa/totp", json=body)).ok()["user_id"] == str(alice.id)
    provider.claims["amr"] = ["pwd", "mfa"]
    assert (await complete_login(world, provider)).ok()["token"] is not None


async def test_a_suspended_account_cannot_log_in_with_a_provider(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    user = await register_at_provider(world, provider)
    await world.write(lambda call: accounts.ban(call, UserId(user.id), reason="spam"))

    assert (await complete_login(world, provider)).errors("login") == ["ACCOUNT_DISABLED"]


# Links


async def test_a_user_links_and_unlinks_an_identity_with_the_password(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    alice = await create_user_with_password(world)
    body = {"provider_id": "work", "password": "wrong password"}
    response = await alice.post("/users/@me/login-identities/start", json=body)
    assert response.errors("password") == ["PASSWORD_DOES_NOT_MATCH"]
    response = await alice.post("/users/@me/login-identities/start", json={"provider_id": "work"})
    assert response.errors("password") == ["BASE_TYPE_REQUIRED"]

    identity = (await link_identity(alice, provider)).ok()
    assert (identity["provider_name"], identity["name"]) == ("Work", "mary@example.org")
    assert (await complete_login(world, provider)).ok()["user_id"] == str(alice.id)
    methods = (await alice.get("/users/@me/login-methods")).ok()
    assert methods["has_password"] is True
    assert [linked_identity["id"] for linked_identity in methods["identities"]] == [identity["id"]]

    path = f"/users/@me/login-identities/{identity['id']}/delete"
    assert (await alice.post(path, json={})).errors("password") == ["BASE_TYPE_REQUIRED"]
    (await alice.post(path, json={"password": PASSWORD})).ok()
    assert (await complete_login(world, provider)).ok()["registration"] is not None


async def test_an_identity_belongs_to_one_account_and_a_link_to_the_user_who_started_it(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    alice, bob = await create_user_with_password(world), await create_user_with_password(world, "bob")
    (await link_identity(alice, provider)).ok()
    assert (await link_identity(bob, provider)).errors("code") == ["IDENTITY_IN_USE"]

    body = {"provider_id": "work", "password": PASSWORD}
    login_start = (await alice.post("/users/@me/login-identities/start", json=body)).ok()
    response = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    assert (await bob.post("/users/@me/login-identities", json=response)).errors("ticket") == [
        "PROVIDER_TICKET_INVALID"
    ]
    assert dict(parse_qsl(urlsplit(login_start["url"]).query))["prompt"] == "login"
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    response = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    assert (await bob.post("/users/@me/login-identities", json=response)).errors("ticket") == [
        "PROVIDER_TICKET_INVALID"
    ]


async def test_an_account_has_a_limited_number_of_linked_logins(
    start_world: StartWorld, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "LOGIN_IDENTITIES_MAX", 1)
    alice = await create_user_with_password(await start_world())
    (await link_identity(alice, provider)).ok()

    provider.subject = "another"
    assert (await link_identity(alice, provider)).errors("code") == ["IDENTITIES_MAX"]


async def test_an_account_without_a_password_sets_one_after_a_recent_login_and_then_unlinks(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    user = await register_at_provider(world, provider)
    [identity] = (await user.get("/users/@me/login-methods")).ok()["identities"]
    path = f"/users/@me/login-identities/{identity['id']}/delete"
    (await user.post(path, json={})).rejected(403, 0)
    response = await user.post("/users/@me/delete", json={"password": "anything"})
    assert response.errors("password") == ["PASSWORD_NOT_SET"]

    world.clock.advance(601_000)
    (await user.put("/auth/password", json={"new_password": PASSWORD})).rejected(403, 0)
    user.token = (await complete_login(world, provider)).ok()["token"]
    (await user.put("/auth/password", json={"new_password": PASSWORD})).ok()
    (await user.put("/auth/password", json={"new_password": "another password"})).rejected(403, 0)

    (await user.post(path, json={"password": PASSWORD})).ok()
    body = {"login": "mary", "password": PASSWORD}
    assert (await world.request("POST", "/auth/login", json=body)).ok()["user_id"] == str(user.id)


async def test_deleting_an_account_deletes_its_identities_and_the_export_lists_them(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()
    alice = await create_user_with_password(world)
    (await link_identity(alice, provider)).ok()

    [exported_identity] = (await alice.get("/users/@me/harvest")).ok()["records"]["login_identities"]
    assert (exported_identity["issuer"], exported_identity["subject"]) == (provider.url, provider.subject)
    (await alice.post("/users/@me/delete", json={"password": PASSWORD})).ok()

    assert (await complete_login(world, provider)).ok()["registration"] is not None


async def test_linking_and_unlinking_is_reported_by_mail(start_world: StartWorld, provider: OpenIdProvider) -> None:
    world = await start_world(changes={"mail": MailConfig(keep_in_memory=True)})
    alice = await create_user_with_password(world)
    await confirm_email(world, alice)
    identity = (await link_identity(alice, provider)).ok()
    (await alice.post(f"/users/@me/login-identities/{identity['id']}/delete", json={"password": PASSWORD})).ok()

    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert isinstance(world.app.mailer, Mailbox)
    subjects = [mail.subject for mail in world.app.mailer]
    assert subjects == ["Work was linked to your account", "Work was unlinked from your account"]


async def test_the_logout_url_of_the_provider_is_built_from_its_discovery_document(
    start_world: StartWorld, provider: OpenIdProvider
) -> None:
    world = await start_world()

    url = (await world.request("GET", "/auth/providers/work/logout")).ok()["url"]

    assert url.startswith(f"{provider.url}/logout?theme=dark&")
    assert dict(parse_qsl(urlsplit(url).query))["post_logout_redirect_uri"] == f"{world.url}/login"


# Backup codes


async def test_new_backup_codes_replace_the_earlier_ones(start_world: StartWorld) -> None:
    world = await start_world()
    alice = await create_user_with_password(world)
    body = {"password": PASSWORD, "code": "000000"}
    (await alice.post("/users/@me/mfa/backup-codes", json=body)).rejected(403, 0)
    _, [first_code, second_code, *_] = await enable_totp(world, alice)
    assert (await alice.post("/users/@me/mfa/backup-codes", json=body)).errors("code") == ["MFA_INVALID_CODE"]

    body = {"password": PASSWORD, "code": first_code}
    codes = (await alice.post("/users/@me/mfa/backup-codes", json=body)).ok()["backup_codes"]

    assert (await alice.get("/users/@me/login-methods")).ok()["backup_code_count"] == len(codes) == 10
    for code, is_accepted in ((second_code, False), (codes[0], True)):
        ticket = (await world.request("POST", "/auth/login", json={"login": "alice", "password": PASSWORD})).ok()[
            "ticket"
        ]
        response = await world.request("POST", "/auth/mfa/totp", json={"ticket": ticket, "code": code})
        assert (response.status == 200) is is_accepted
