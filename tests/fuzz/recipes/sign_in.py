"""Recipes for login, external login providers, registration, tokens sent by mail, OAuth2 and credentials of games."""

from typing import Any

from hubbub.server.core.mail import Mailbox
from tests.fuzz.platform import Platform
from tests.fuzz.recipes.accounts import create_account, create_passkey
from tests.fuzz.recipes.registry import ValidRequest, recipe
from tests.issuer import configure_issuer, request_token
from tests.oauth import Client, create_application
from tests.players import create_provisional_player, create_social_game, link_account, request_bot_token
from tests.server.identity.accounts import PASSWORD, enable_totp, log_in, totp_code
from tests.server.identity.test_account_links import create_family
from tests.smtp import token_in
from tests.world import Actor


@recipe("auth_login")
async def _login(platform: Platform) -> ValidRequest:
    return ValidRequest(body={"login": (await create_account(platform)).name, "password": PASSWORD})


@recipe("auth_logout", "list_auth_sessions", "delete_other_auth_sessions")
async def _session(platform: Platform) -> ValidRequest:
    return ValidRequest(await create_account(platform))


@recipe("delete_auth_session")
async def _other_session(platform: Platform) -> ValidRequest:
    user = await create_account(platform)
    (await log_in(platform.world, user.name)).ok()
    sessions = (await user.get("/auth/sessions")).ok()
    return ValidRequest(user, {"session_id": sessions[-1]["id"]})


@recipe("auth_login_with_totp")
async def _second_factor(platform: Platform) -> ValidRequest:
    user = await create_account(platform)
    secret, _ = await enable_totp(platform.world, user)
    ticket = (await log_in(platform.world, user.name)).ok()["ticket"]
    return ValidRequest(body={"ticket": ticket, "code": totp_code(platform.world, secret)})


@recipe("start_passkey_login", "get_registration_settings")
async def _passkey_challenge(platform: Platform) -> ValidRequest:
    return ValidRequest()


@recipe("auth_login_with_passkey")
async def _passkey_login(platform: Platform) -> ValidRequest:
    _, authenticator, _ = await create_passkey(platform)
    challenge = (await platform.world.request("POST", "/auth/passkeys/challenge")).ok()
    return ValidRequest(body={"ticket": challenge["ticket"], "credential": authenticator.get(challenge["options"])})


# Logins at external providers


async def _complete_at_provider(platform: Platform, start: Any) -> dict[str, str]:
    """Log in at the provider as a new user, and return the body that completes a started login."""
    platform.issuer.subject = platform.builder.unused_name("subject")
    return {"ticket": start["ticket"], **await platform.issuer.authorize(start["url"])}


async def _start_link(platform: Platform) -> tuple[Actor, dict[str, str]]:
    user = await create_account(platform)
    body = {"provider_id": "work", "password": PASSWORD}
    start = (await user.post("/users/@me/login-identities/start", json=body)).ok()
    return user, await _complete_at_provider(platform, start)


@recipe("list_login_providers", "start_provider_login", "get_provider_logout")
async def _login_provider(platform: Platform) -> ValidRequest:
    return ValidRequest(values={"provider_id": "work"})


@recipe("auth_login_with_provider")
async def _provider_login(platform: Platform) -> ValidRequest:
    start = (await platform.world.request("POST", "/auth/providers/work/start")).ok()
    return ValidRequest(body=await _complete_at_provider(platform, start))


async def delete_documents(platform: Platform) -> None:
    """Delete the documents of the server, which registrations would have to accept."""
    await platform.world.write(lambda call: call.tx.run("DELETE FROM legal_documents"))


async def _start_provider_registration(platform: Platform) -> dict[str, str]:
    await delete_documents(platform)
    request = await _provider_login(platform)
    result = (await platform.world.request("POST", "/auth/providers/login", json=request.body)).ok()
    return {"ticket": result["registration"]["ticket"], "username": platform.builder.unused_name("new")}


@recipe("auth_register_with_provider")
async def _provider_registration(platform: Platform) -> ValidRequest:
    return ValidRequest(body=await _start_provider_registration(platform))


@recipe("set_password")
async def _first_password(platform: Platform) -> ValidRequest:
    body = await _start_provider_registration(platform)
    session = (await platform.world.request("POST", "/auth/providers/register", json=body)).ok()
    user = Actor(platform.world, int(session["user_id"]), session["token"], body["username"])
    return ValidRequest(user, body={"new_password": PASSWORD})


@recipe("get_login_methods")
async def _login_methods(platform: Platform) -> ValidRequest:
    return ValidRequest(await create_account(platform))


@recipe("start_identity_link")
async def _identity_link(platform: Platform) -> ValidRequest:
    return ValidRequest(await create_account(platform), body={"provider_id": "work", "password": PASSWORD})


@recipe("create_login_identity")
async def _login_identity(platform: Platform) -> ValidRequest:
    user, body = await _start_link(platform)
    return ValidRequest(user, body=body)


@recipe("delete_login_identity")
async def _existing_login_identity(platform: Platform) -> ValidRequest:
    user, body = await _start_link(platform)
    identity = (await user.post("/users/@me/login-identities", json=body)).ok()
    return ValidRequest(user, {"identity_id": identity["id"]}, {"password": PASSWORD})


# Registration


@recipe("auth_register")
async def _registration(platform: Platform) -> ValidRequest:
    await delete_documents(platform)
    return ValidRequest(body={"username": platform.builder.unused_name("new"), "password": PASSWORD})


async def _mail_token(platform: Platform, *, resets_password: bool = False) -> tuple[Any, str]:
    """Register an account with an email address. Return the response and the token of the newest mail.

    The mail confirms the address or, if `resets_password`, resets the password."""
    world, name = platform.world, platform.builder.unused_name("mail")
    email = f"{name}@example.org"
    body = {"username": name, "password": PASSWORD, "email": email}
    await _reset_limits(platform)
    await delete_documents(platform)
    session = (await world.request("POST", "/auth/register", json=body)).ok()
    token = await _newest_token(platform)
    if resets_password:
        (await world.request("POST", "/auth/verify", json={"token": token})).ok()
        (await world.request("POST", "/auth/forgot", json={"email": email})).ok()
        token = await _newest_token(platform)
    return session, token


async def _reset_limits(platform: Platform) -> None:
    """Delete the counts of requested mails, so that no limit applies to the next request."""
    await platform.world.write(lambda call: call.tx.run("DELETE FROM email_limits"))


async def _newest_token(platform: Platform) -> str:
    await platform.world.run_due_jobs()
    mailbox = platform.world.app.mailer
    assert isinstance(mailbox, Mailbox)
    return token_in(list(mailbox)[-1].text)


@recipe("confirm_email")
async def _confirmation(platform: Platform) -> ValidRequest:
    return ValidRequest(body={"token": (await _mail_token(platform))[1]})


@recipe("resend_confirmation")
async def _second_confirmation(platform: Platform) -> ValidRequest:
    session, _ = await _mail_token(platform)
    user = await platform.world.user()
    user.id, user.token = int(session["user_id"]), session["token"]
    await _reset_limits(platform)
    return ValidRequest(user)


@recipe("forgot_password")
async def _forgotten_password(platform: Platform) -> ValidRequest:
    await _reset_limits(platform)
    return ValidRequest(body={"email": "unknown@example.org"})


@recipe("reset_password")
async def _password_reset(platform: Platform) -> ValidRequest:
    return ValidRequest(
        body={"token": (await _mail_token(platform, resets_password=True))[1], "password": PASSWORD + "!"}
    )


# OAuth2


def _credentials(client: Client) -> dict[str, str]:
    return {"client_id": str(client.id), "client_secret": client.secret}


@recipe("preview_oauth2_authorization")
async def _consent(platform: Platform) -> ValidRequest:
    client = await create_application(platform.world)
    query = {
        "client_id": str(client.id),
        "scope": "identify",
        "response_type": "code",
        "redirect_uri": client.redirect_uri,
    }
    return ValidRequest(platform.owner, query=query)


@recipe("authorize_oauth2_device")
async def _device(platform: Platform) -> ValidRequest:
    client = await create_application(platform.world)
    return ValidRequest(body=_credentials(client) | {"scope": "identify"})


async def _create_user_code(platform: Platform) -> str:
    client = await create_application(platform.world)
    return str((await client.post_form("/oauth2/device/authorize", scope="identify")).ok()["user_code"])


@recipe("verify_oauth2_device")
async def _device_code(platform: Platform) -> ValidRequest:
    return ValidRequest(platform.owner, body={"user_code": await _create_user_code(platform)})


@recipe("finish_oauth2_device")
async def _device_decision(platform: Platform) -> ValidRequest:
    user_code = await _create_user_code(platform)
    (await platform.owner.post("/oauth2/device/verify", json={"user_code": user_code})).ok()
    return ValidRequest(platform.owner, body={"user_code": user_code, "result": "granted"})


@recipe("exchange_oauth2_token")
async def _code(platform: Platform) -> ValidRequest:
    client = await create_application(platform.world)
    code = await client.request_code(platform.owner)
    grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": client.redirect_uri}
    return ValidRequest(body=_credentials(client) | grant)


@recipe("revoke_oauth2_token")
async def _access_token(platform: Platform) -> ValidRequest:
    client = await create_application(platform.world)
    tokens = await client.request_tokens(platform.owner)
    return ValidRequest(body=_credentials(client) | {"token": tokens["access_token"]})


@recipe("create_rpc_token")
async def _rpc_token(platform: Platform) -> ValidRequest:
    return ValidRequest(body=_credentials(await create_application(platform.world)))


@recipe("get_oauth2_authorization", "delete_oauth2_authorization")
async def _authorization(platform: Platform) -> ValidRequest:
    user = await platform.world.user()
    await (await create_application(platform.world)).request_tokens(user)
    [authorization] = (await user.get("/oauth2/tokens")).ok()
    return ValidRequest(user, {"authorization_id": authorization["id"]})


# Credentials of games


@recipe("partner_sdk_token")
async def _external_credential(platform: Platform) -> ValidRequest:
    client = await create_social_game(platform.world)
    (await configure_issuer(client, platform.issuer)).ok()
    now = platform.world.clock.now_ms() // 1000
    token = platform.issuer.sign_token("player", iat=now, exp=now + 3600)
    external = {"external_auth_type": "OIDC", "external_auth_token": token}
    return ValidRequest(body=_credentials(client) | external)


@recipe("partner_sdk_unmerge_provisional_account")
async def _external_merge(platform: Platform) -> ValidRequest:
    request = await _external_credential(platform)
    client = Client(
        platform.world, int(request.body["client_id"]), request.body["client_secret"], platform.owner, platform.bot
    )
    token = request.body["external_auth_token"]
    (await request_token(client, token)).ok()
    await link_account(client, await platform.world.user(), token, "OIDC")
    return request


@recipe("bot_partner_sdk_token")
async def _bot_token(platform: Platform) -> ValidRequest:
    client = await create_social_game(platform.world)
    return ValidRequest(client.bot, body={"external_user_id": "hero-1"})


@recipe("bot_partner_sdk_unmerge_provisional_account")
async def _bot_merge(platform: Platform) -> ValidRequest:
    client = await create_social_game(platform.world)
    token = (await request_bot_token(client, "hero-1")).ok()["access_token"]
    await link_account(client, await platform.world.user(), token)
    return ValidRequest(client.bot, body={"external_user_id": "hero-1"})


@recipe("partner_sdk_child_token")
async def _child_token(platform: Platform) -> ValidRequest:
    parent, child, _ = await create_family(platform.world)
    tokens = await parent.request_tokens(await platform.world.user(), "sdk.social_layer")
    body = {
        "parent_access_token": tokens["access_token"],
        "child_application_id": str(child.id),
        "parent_client_secret": parent.secret,
    }
    return ValidRequest(body=body)


@recipe("get_user_identity_profile", "update_user_identity_profile")
async def _identity_profile(platform: Platform) -> ValidRequest:
    client = await create_social_game(platform.world)
    player = await create_provisional_player(client, "hero-1")
    values = {"application_id": client.id, "user_id": player.id, "external_user_id": "hero-1"}
    return ValidRequest(client.bot, values, {"username": "Hero"})
