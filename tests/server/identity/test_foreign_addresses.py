"""Accounts that were created with the address of another person: the owner of the address takes the account over."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from hubbub.server.core import relying_party
from hubbub.server.core.config import Config, MailConfig
from hubbub.server.core.login_config import LoginConfig
from hubbub.server.core.mail import Mailbox
from tests.authenticator import Authenticator
from tests.fixtures.validator import ResponseMonitor
from tests.oauth import create_application
from tests.openid_provider import OpenIdProvider
from tests.server.identity.accounts import PASSWORD, enable_totp, log_in, totp_code
from tests.smtp import token_in
from tests.world import Actor, ApiResponse, World, run_with_settings

ORIGIN, RP_ID = "https://chat.example", "chat.example"
MARY_EMAIL, NEW_PASSWORD = "mary@example.org", "password of mary"


@pytest.fixture
async def mail_world(
    store_config: Config,
    provider: OpenIdProvider,
    response_monitor: ResponseMonitor,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[World]:
    """A platform with mail, passkeys and a provider whose addresses the operator trusts."""
    party = relying_party.RelyingParty(RP_ID, ORIGIN)
    monkeypatch.setattr(relying_party, "find_relying_party", lambda web_url: party)
    login = LoginConfig(providers=(provider.settings(trust_email=True),))
    mail = MailConfig(keep_in_memory=True)
    async with run_with_settings(msgspec.structs.replace(store_config, login=login, mail=mail)) as world:
        yield world


async def read_token(world: World, subject: str) -> str:
    """Send all mail, and return the token in the newest mail with this subject."""
    assert world.app.worker is not None
    await world.app.worker.run_due()
    assert isinstance(world.app.mailer, Mailbox)
    return token_in([mail for mail in world.app.mailer if subject in mail.subject][-1].text)


async def register_attacker(world: World) -> Actor:
    """Register an account with the address of Mary, which is not confirmed."""
    body = {"username": "attacker", "password": PASSWORD, "email": MARY_EMAIL}
    session = (await world.request("POST", "/auth/register", json=body)).ok()
    return Actor(world, int(session["user_id"]), session["token"], "attacker")


async def add_passkey(user: Actor) -> Authenticator:
    authenticator = Authenticator(origin=ORIGIN, rp_id=RP_ID)
    challenge = (await user.post("/users/@me/passkeys/challenge", json={"password": PASSWORD})).ok()
    body = {"ticket": challenge["ticket"], "name": "Laptop", "credential": authenticator.create(challenge["options"])}
    (await user.post("/users/@me/passkeys", json=body)).ok()
    return authenticator


async def log_in_with_passkey(world: World, authenticator: Authenticator) -> ApiResponse:
    challenge = (await world.request("POST", "/auth/passkeys/challenge")).ok()
    body = {"ticket": challenge["ticket"], "credential": authenticator.get(challenge["options"])}
    return await world.request("POST", "/auth/passkeys", json=body)


async def link_provider(user: Actor, provider: OpenIdProvider) -> None:
    body = {"provider_id": "work", "password": PASSWORD}
    login_start = (await user.post("/users/@me/login-identities/start", json=body)).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    (await user.post("/users/@me/login-identities", json=body)).ok()


async def log_in_at_provider(world: World, provider: OpenIdProvider) -> Any:
    login_start = (await world.request("POST", "/auth/providers/work/start")).ok()
    body = {"ticket": login_start["ticket"], **await provider.authorize(login_start["url"])}
    return (await world.request("POST", "/auth/providers/login", json=body)).ok()


async def reset_password(world: World) -> None:
    """Reset the password with the link that Mary receives."""
    (await world.request("POST", "/auth/forgot", json={"email": MARY_EMAIL})).ok()
    body = {"token": await read_token(world, "Reset"), "password": NEW_PASSWORD}
    (await world.request("POST", "/auth/reset", json=body)).ok()


async def test_the_owner_of_an_address_resets_the_password_of_an_account_that_another_person_created(
    mail_world: World, provider: OpenIdProvider, caplog: pytest.LogCaptureFixture
) -> None:
    attacker = await register_attacker(mail_world)
    token = await read_token(mail_world, "Confirm")
    (await mail_world.request("POST", "/auth/verify", json={"token": token})).ok()
    provider.claims["email"] = "attacker@example.com"
    await link_provider(attacker, provider)
    authenticator = await add_passkey(attacker)
    game = await create_application(mail_world)
    tokens = await game.request_tokens(attacker)
    bearer = game.bearer(attacker, tokens["access_token"])
    await enable_totp(mail_world, attacker)

    with caplog.at_level(logging.WARNING):
        await reset_password(mail_world)

    assert f"Removed all credentials of user {attacker.id}" in caplog.text
    login = (await log_in(mail_world, MARY_EMAIL, NEW_PASSWORD)).ok()
    assert (login["user_id"], login["mfa"]) == (str(attacker.id), False)
    assert (await log_in(mail_world, "attacker")).errors("login") == ["INVALID_LOGIN"]
    (await attacker.get("/users/@me")).rejected(401, 0)
    (await bearer.get("/users/@me")).rejected(401, 0)
    assert (await game.refresh(tokens["refresh_token"])).status == 400
    assert (await log_in_with_passkey(mail_world, authenticator)).status == 400
    assert (await log_in_at_provider(mail_world, provider))["registration"] is not None


async def test_credentials_stay_if_the_address_was_confirmed_in_a_session_of_the_account(
    mail_world: World, provider: OpenIdProvider
) -> None:
    mary = await register_attacker(mail_world)
    (await mary.post("/auth/verify", json={"token": await read_token(mail_world, "Confirm")})).ok()
    provider.claims["email"] = "other@example.com"
    await link_provider(mary, provider)
    secret, _ = await enable_totp(mail_world, mary)

    await reset_password(mail_world)

    login = (await log_in(mail_world, MARY_EMAIL, NEW_PASSWORD)).ok()
    body = {"ticket": login["ticket"], "code": totp_code(mail_world, secret)}
    (await mail_world.request("POST", "/auth/mfa/totp", json=body)).ok()
    assert (await log_in_at_provider(mail_world, provider))["user_id"] == str(mary.id)


async def test_a_second_reset_keeps_the_credentials_of_the_owner(mail_world: World) -> None:
    attacker = await register_attacker(mail_world)
    token = await read_token(mail_world, "Confirm")
    (await mail_world.request("POST", "/auth/verify", json={"token": token})).ok()
    await reset_password(mail_world)
    session = (await log_in(mail_world, MARY_EMAIL, NEW_PASSWORD)).ok()
    mary = Actor(mail_world, attacker.id, session["token"], "attacker")
    (await mary.post("/auth/password", json={"password": NEW_PASSWORD, "new_password": PASSWORD})).ok()
    await enable_totp(mail_world, mary)

    await reset_password(mail_world)

    assert (await log_in(mail_world, MARY_EMAIL, NEW_PASSWORD)).ok()["mfa"] is True


async def test_a_login_with_a_trusted_address_removes_the_credentials_of_another_person(
    mail_world: World, provider: OpenIdProvider
) -> None:
    attacker = await register_attacker(mail_world)
    token = await read_token(mail_world, "Confirm")
    (await mail_world.request("POST", "/auth/verify", json={"token": token})).ok()
    authenticator = await add_passkey(attacker)

    login_result = await log_in_at_provider(mail_world, provider)

    assert login_result["user_id"] == str(attacker.id)
    (await attacker.get("/users/@me")).rejected(401, 0)
    assert (await log_in(mail_world, "attacker")).errors("login") == ["INVALID_LOGIN"]
    assert (await log_in_with_passkey(mail_world, authenticator)).status == 400
