"""The authorization code flow with PKCE at a provider (OpenID Connect Core 3.1, RFC 7636)."""

import base64
import hashlib
import hmac
import logging
from typing import Any, Final
from urllib.parse import quote_plus, urlencode, urlsplit

from hubbub.protocol import codec, errors
from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import login_providers as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.login_config import LoginProviderConfig
from hubbub.server.core.outbound_http import DOCUMENT_HEADERS, OutboundResponse, UnreachableError
from hubbub.server.identity import identity_providers
from hubbub.server.identity.login_providers import claims
from hubbub.server.identity.login_providers.claims import ProviderUser
from hubbub.server.identity.login_providers.store import AttemptRow

log = logging.getLogger(__name__)

CALLBACK_PATH: Final = "/login/callback"
"""Path of the pages to which providers redirect; the ID of the provider follows."""
SUBJECT_MAX: Final = 255
"""Maximum length of the ID of a user, in ASCII characters (OpenID Connect Core 2)."""
TIMEOUT_SECONDS: Final = 10.0
"""Timeout of requests to the token and userinfo endpoints, in seconds."""


async def build_login_url(
    operation: AsyncOperation, provider: LoginProviderConfig, attempt: AttemptRow, state: str, web_url: str, now_ms: int
) -> str:
    """Return the URL at which the user logs in. A user who links an identity has to log in again at the provider."""
    discovery = await _fetch_discovery(operation, provider, now_ms)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": _build_redirect_uri(provider, web_url),
        "scope": " ".join(provider.scopes),
        "state": state,
        "nonce": attempt.nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if attempt.user_id is not None:
        query["prompt"] = "login"
    return _add_query(discovery.authorization_endpoint, query)


async def build_logout_url(
    operation: AsyncOperation, provider: LoginProviderConfig, web_url: str, now_ms: int
) -> str | None:
    """Return the URL that ends the session at the provider, or None if the provider has none."""
    discovery = await _fetch_discovery(operation, provider, now_ms)
    if not _is_usable_endpoint(provider, discovery.end_session_endpoint):
        return None
    query = {"client_id": provider.client_id, "post_logout_redirect_uri": f"{web_url}/login"}
    return _add_query(discovery.end_session_endpoint, query)


async def redeem_code(
    operation: AsyncOperation,
    provider: LoginProviderConfig,
    attempt: AttemptRow,
    body: wire.CompleteProviderLogin,
    web_url: str,
    now_ms: int,
) -> ProviderUser:
    """Exchange a code for an ID token and return its user, or raise a form error."""
    discovery = await _fetch_discovery(operation, provider, now_ms)
    # RFC 9207: a provider that announces `iss` must send it.
    if body.iss != provider.issuer and (isinstance(body.iss, str) or discovery.has_response_issuer):
        log.warning("A response for the login provider %s has another issuer", provider.id)
        raise _login_failed_error()
    tokens = await _request_tokens(operation, provider, discovery, attempt, body.code, web_url)
    try:
        token = identity_providers.jwts.parse_token(claims.read_text(tokens, "id_token"))
        if token.issuer != provider.issuer:
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        if (
            provider.client_id not in token.audiences
            or token.claims.get("azp", provider.client_id) != provider.client_id
        ):
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        cache = operation.outbound.operator_client.cache
        await identity_providers.jwts.require_valid_signature(cache, token, discovery.jwks_uri, now_ms)
        identity_providers.jwts.require_valid_claims(token, now_ms)
    except ApiError as error:
        log.warning("The ID token of the login provider %s is invalid: %s", provider.id, error.describe())
        raise _login_failed_error() from None
    if not hmac.compare_digest(claims.read_text(token.claims, "nonce").encode(), attempt.nonce.encode()):
        log.warning("The ID token of the login provider %s has another nonce", provider.id)
        raise _login_failed_error()
    if len(token.subject) > SUBJECT_MAX or not (token.subject.isascii() and token.subject.isprintable()):
        log.warning("The ID token of the login provider %s has an invalid subject", provider.id)
        raise _login_failed_error()
    all_claims = token.claims
    if claims.needs_userinfo(provider, all_claims) and _is_usable_endpoint(provider, discovery.userinfo_endpoint):
        userinfo = await _request_userinfo(
            operation, provider, discovery, claims.read_text(tokens, "access_token"), now_ms
        )
        # A response for another user may have been substituted (OpenID Connect Core 5.3.2).
        if userinfo.get("sub") == token.subject:
            all_claims = claims.merge(userinfo, token.claims)
    return claims.read_user(provider, token.subject, all_claims)


async def _fetch_discovery(
    operation: AsyncOperation, provider: LoginProviderConfig, now_ms: int
) -> identity_providers.oidc.Discovery:
    cache = operation.outbound.operator_client.cache
    try:
        discovery = await identity_providers.oidc.fetch_discovery(cache, provider.issuer, now_ms, is_strict=False)
    except ApiError:
        log.warning("The discovery document of the login provider %s cannot be used", provider.id)
        raise unreachable_error() from None
    endpoints = (discovery.authorization_endpoint, discovery.token_endpoint, discovery.jwks_uri)
    if not all(_is_usable_endpoint(provider, url) for url in endpoints):
        log.warning("The discovery document of the login provider %s has an invalid endpoint", provider.id)
        raise unreachable_error()
    return discovery


async def _request_tokens(
    operation: AsyncOperation,
    provider: LoginProviderConfig,
    discovery: identity_providers.oidc.Discovery,
    attempt: AttemptRow,
    code: str,
    web_url: str,
) -> dict[str, Any]:
    form_fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _build_redirect_uri(provider, web_url),
        "code_verifier": attempt.verifier,
    }
    methods = discovery.token_endpoint_auth_methods_supported
    has_basic = provider.client_secret is not None and "client_secret_basic" in methods
    response = await _send_token_request(operation, provider, discovery, form_fields, has_basic_credentials=has_basic)
    # A provider that supports both methods may accept only the one of the client's registration. It rejects the client
    # before it redeems the code, so that the code is still valid.
    if has_basic and "client_secret_post" in methods and _read_error(response) == "invalid_client":
        response = await _send_token_request(operation, provider, discovery, form_fields, has_basic_credentials=False)
    if response.status != 200:
        log.warning(
            "The token endpoint of the login provider %s responded with status %d, %s",
            provider.id,
            response.status,
            _read_error(response) or "without an error code",
        )
        raise _login_failed_error()
    return _decode_object(response)


async def _send_token_request(
    operation: AsyncOperation,
    provider: LoginProviderConfig,
    discovery: identity_providers.oidc.Discovery,
    form_fields: dict[str, str],
    *,
    has_basic_credentials: bool,
) -> OutboundResponse:
    """Send a form to the token endpoint with the credentials of the client, in a header or in the form."""
    headers = {**DOCUMENT_HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
    if has_basic_credentials:
        # RFC 6749 2.3.1 encodes both parts like form values.
        credentials = f"{quote_plus(provider.client_id)}:{quote_plus(provider.client_secret or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    else:
        form_fields = {**form_fields, "client_id": provider.client_id}
        if provider.client_secret is not None:
            form_fields["client_secret"] = provider.client_secret
    try:
        return await operation.outbound.operator_client.request(
            "POST",
            discovery.token_endpoint,
            headers=headers,
            body=urlencode(form_fields).encode(),
            timeout_seconds=TIMEOUT_SECONDS,
        )
    except UnreachableError as error:
        log.warning("The token endpoint of the login provider %s cannot be reached: %s", provider.id, error)
        raise unreachable_error() from None


async def _request_userinfo(
    operation: AsyncOperation,
    provider: LoginProviderConfig,
    discovery: identity_providers.oidc.Discovery,
    access_token: str,
    now_ms: int,
) -> dict[str, Any]:
    """Return the claims of the userinfo endpoint. They are optional, so a failure returns none."""
    try:
        response = await operation.outbound.operator_client.request(
            "GET",
            discovery.userinfo_endpoint,
            headers={**DOCUMENT_HEADERS, "Authorization": f"Bearer {access_token}"},
            timeout_seconds=TIMEOUT_SECONDS,
        )
    except (UnreachableError, ValueError):
        return {}
    if response.status != 200:
        return {}
    # If the client is registered for signed responses, the provider sends a JWT although the request accepts only JSON (OpenID
    # Connect Core 5.3.2).
    if response.content_type.partition(";")[0].strip().lower() == "application/jwt":
        return await _verify_userinfo(operation, provider, discovery, response.body, now_ms)
    return _decode_object(response)


async def _verify_userinfo(
    operation: AsyncOperation,
    provider: LoginProviderConfig,
    discovery: identity_providers.oidc.Discovery,
    body: bytes,
    now_ms: int,
) -> dict[str, Any]:
    """Return the claims of a signed response of the userinfo endpoint; none if it is invalid."""
    try:
        token = identity_providers.jwts.parse_token(body.decode("ascii", "replace").strip())
        if token.issuer != provider.issuer:
            raise errors.ID_TOKEN_ISSUER_MISMATCH()
        if provider.client_id not in token.audiences:
            raise errors.ID_TOKEN_AUDIENCE_MISMATCH()
        cache = operation.outbound.operator_client.cache
        await identity_providers.jwts.require_valid_signature(cache, token, discovery.jwks_uri, now_ms)
    except ApiError as error:
        log.warning("The userinfo of the login provider %s is invalid: %s", provider.id, error.describe())
        return {}
    return token.claims


def _read_error(response: OutboundResponse) -> str:
    """Return the error code of a response of the token endpoint; an empty string if it has none."""
    return claims.read_text(_decode_object(response), "error")[:64]


def _decode_object(response: OutboundResponse) -> dict[str, Any]:
    try:
        return codec.decode(response.body, dict[str, Any])
    except ValueError:
        return {}


def _is_usable_endpoint(provider: LoginProviderConfig, url: str) -> bool:
    """Return whether a URL of the discovery document can be used: with https if the issuer has it."""
    try:
        url_parts = urlsplit(url)
    except ValueError:
        return False
    is_https_required = provider.issuer.startswith("https://")
    return bool(url_parts.netloc) and url_parts.scheme in (("https",) if is_https_required else ("http", "https"))


def _build_redirect_uri(provider: LoginProviderConfig, web_url: str) -> str:
    return f"{web_url}{CALLBACK_PATH}/{provider.id}"


def _add_query(url: str, query: dict[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"


def unreachable_error() -> ApiError:
    """Return the error for a provider that does not respond or is misconfigured."""
    return errors.invalid(
        "code",
        "PROVIDER_UNREACHABLE",
        "The login provider cannot be reached. Try again in a minute, or log in another way.",
    )


def _login_failed_error() -> ApiError:
    return errors.invalid(
        "code", "PROVIDER_LOGIN_FAILED", "The login provider did not confirm your login. Start again."
    )
