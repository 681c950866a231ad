"""A real OAuth2 client library, authlib, against the real server, including verification of ID tokens."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pytest
import requests
from authlib.common.errors import AuthlibBaseError
from authlib.common.security import generate_token
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.jwk import KeySet

from tests.oauth import Client, create_application, url_parameters
from tests.world import WAIT_TIMEOUT_SECONDS, Actor, World

Result = TypeVar("Result")

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def run_in_thread(function: Callable[..., Result], *arguments: Any, **options: Any) -> Result:
    """Run a blocking call of authlib or requests in a thread."""
    return await asyncio.to_thread(function, *arguments, **options)


async def fetch_metadata(world: World) -> Any:
    """Fetch the server's OpenID configuration."""
    response = await run_in_thread(
        requests.get, f"{world.url}/.well-known/openid-configuration", timeout=WAIT_TIMEOUT_SECONDS
    )
    return response.json()


async def grant_consent(world: World, user: Actor, authorization_url: str) -> str:
    """Follow the authorization URL as a user and consent; return the redirect URL."""
    split_url = urlsplit(authorization_url)
    assert f"{split_url.scheme}://{split_url.netloc}{split_url.path}" == f"{world.url}/oauth2/authorize"
    response = await user.post(f"/oauth2/authorize?{split_url.query}", json={"authorize": True})
    url: str = response.ok()["url"]
    return url


def create_oauth_session(client: Client, method: str, scope: str, **options: Any) -> OAuth2Session:
    """Create authlib's client for an application."""
    return OAuth2Session(
        str(client.id),
        None if method == "none" else client.secret,
        scope=scope,
        redirect_uri=client.redirect_uri,
        token_endpoint_auth_method=method,
        code_challenge_method="S256",
        **options,
    )


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post", "none"])
async def test_the_client_uses_the_code_flow_with_pkce_refresh_and_revocation(world: World, method: str) -> None:
    alice, client = await world.user(), await create_application(world, is_public=method == "none")
    server = await fetch_metadata(world)
    updated_tokens: list[Any] = []
    oauth = create_oauth_session(
        client,
        method,
        "identify guilds",
        token_endpoint=server["token_endpoint"],
        update_token=lambda updated, **_: updated_tokens.append(updated),
    )
    verifier = generate_token(48)

    authorization_url, state = oauth.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
    redirect_url = await grant_consent(world, alice, authorization_url)
    token = await run_in_thread(
        oauth.fetch_token,
        server["token_endpoint"],
        authorization_response=redirect_url,
        state=state,
        code_verifier=verifier,
    )

    assert token["scope"] == "identify guilds"
    me = await run_in_thread(oauth.get, f"{world.api}/users/@me")
    assert me.json()["id"] == str(alice.id)

    refreshed_tokens = await run_in_thread(
        oauth.refresh_token, server["token_endpoint"], refresh_token=token["refresh_token"]
    )
    assert refreshed_tokens["access_token"] != token["access_token"]
    assert updated_tokens == [refreshed_tokens]
    assert (await run_in_thread(oauth.get, f"{world.api}/users/@me/guilds")).status_code == 200

    revocation = await run_in_thread(
        oauth.revoke_token, server["revocation_endpoint"], token=refreshed_tokens["access_token"]
    )
    assert revocation.status_code == 200
    assert (await run_in_thread(oauth.get, f"{world.api}/users/@me")).status_code == 401
    with pytest.raises(OAuthError, match="invalid_grant"):
        await run_in_thread(
            oauth.refresh_token, server["token_endpoint"], refresh_token=refreshed_tokens["refresh_token"]
        )


async def test_the_client_rejects_a_forged_state(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    server = await fetch_metadata(world)
    oauth = create_oauth_session(client, "client_secret_basic", "identify")
    verifier = generate_token(48)
    authorization_url, _ = oauth.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
    redirect_url = await grant_consent(world, alice, authorization_url)

    with pytest.raises(AuthlibBaseError, match="mismatching_state"):
        await run_in_thread(
            oauth.fetch_token,
            server["token_endpoint"],
            authorization_response=redirect_url,
            state="forged",
            code_verifier=verifier,
        )


async def test_the_client_raises_the_errors_of_the_server(world: World) -> None:
    client = await create_application(world)
    server = await fetch_metadata(world)
    oauth = create_oauth_session(client, "client_secret_basic", "identify")

    with pytest.raises(OAuthError, match="invalid_grant"):
        await run_in_thread(oauth.fetch_token, server["token_endpoint"], code="guess", grant_type="authorization_code")
    unauthenticated_session = OAuth2Session(str(client.id), "guess", scope="identify")
    with pytest.raises(OAuthError, match="invalid_client"):
        await run_in_thread(
            unauthenticated_session.fetch_token, server["token_endpoint"], grant_type="client_credentials"
        )


async def test_the_client_uses_client_credentials(world: World) -> None:
    client = await create_application(world)
    server = await fetch_metadata(world)
    oauth = OAuth2Session(str(client.id), client.secret, scope="identify applications.commands.update")

    token = await run_in_thread(oauth.fetch_token, server["token_endpoint"], grant_type="client_credentials")

    assert "refresh_token" not in token
    assert (await run_in_thread(oauth.get, f"{world.api}/users/@me")).json()["id"] == str(client.owner.id)


async def test_the_client_uses_the_implicit_flow(world: World) -> None:
    alice, client = await world.user(), await create_application(world)
    oauth = OAuth2Session(str(client.id), scope="identify", redirect_uri=client.redirect_uri)
    server = await fetch_metadata(world)

    authorization_url, state = oauth.create_authorization_url(server["authorization_endpoint"], response_type="token")
    redirect_url = await grant_consent(world, alice, authorization_url)
    oauth.token_from_fragment(redirect_url, state)

    assert (await run_in_thread(oauth.get, f"{world.api}/users/@me")).json()["id"] == str(alice.id)


async def test_the_client_uses_the_device_flow(world: World) -> None:
    alice, client = await world.user(), await create_application(world, is_public=True)
    server = await fetch_metadata(world)
    form = {"client_id": str(client.id), "scope": "openid identify"}
    device = (
        await run_in_thread(
            requests.post, server["device_authorization_endpoint"], data=form, timeout=WAIT_TIMEOUT_SECONDS
        )
    ).json()
    oauth = OAuth2Session(str(client.id), token_endpoint_auth_method="none")

    async def poll() -> Any:
        return await run_in_thread(
            oauth.fetch_token, server["token_endpoint"], grant_type=DEVICE_GRANT, device_code=device["device_code"]
        )

    with pytest.raises(OAuthError, match="authorization_pending"):
        await poll()
    body = {"user_code": url_parameters(device["verification_uri_complete"])["user_code"], "result": "granted"}
    (await alice.post("/oauth2/device/finish", json=body)).ok()
    world.clock.advance(device["interval"] * 1000)
    token = await poll()

    assert {"refresh_token", "id_token"} <= set(token)


async def test_a_relying_party_verifies_the_id_token(world: World) -> None:
    alice, client = await world.user("alice"), await create_application(world)
    server = await fetch_metadata(world)
    oauth = create_oauth_session(client, "client_secret_basic", "openid identify email")
    verifier, nonce = generate_token(48), generate_token()

    authorization_url, state = oauth.create_authorization_url(
        server["authorization_endpoint"], code_verifier=verifier, nonce=nonce
    )
    assert create_s256_code_challenge(verifier) in authorization_url
    redirect_url = await grant_consent(world, alice, authorization_url)
    assert url_parameters(redirect_url)["iss"] == server["issuer"]
    token = await run_in_thread(
        oauth.fetch_token,
        server["token_endpoint"],
        authorization_response=redirect_url,
        state=state,
        code_verifier=verifier,
    )
    keys = KeySet.import_key_set(
        (await run_in_thread(requests.get, server["jwks_uri"], timeout=WAIT_TIMEOUT_SECONDS)).json()
    )
    decoded_token = jwt.decode(token["id_token"], keys, algorithms=server["id_token_signing_alg_values_supported"])
    claims = CodeIDToken(
        decoded_token.claims,
        decoded_token.header,
        options={
            "iss": {"essential": True, "value": server["issuer"]},
            "aud": {"essential": True, "value": str(client.id)},
            "sub": {"essential": True, "value": str(alice.id)},
        },
        params={"nonce": nonce, "client_id": str(client.id), "access_token": token["access_token"]},
    )

    claims.validate(now=world.clock.now_ms() // 1000)

    user_info = await run_in_thread(oauth.get, server["userinfo_endpoint"])
    assert user_info.json()["sub"] == claims["sub"]
    assert user_info.json()["preferred_username"] == claims["preferred_username"] == "alice"
