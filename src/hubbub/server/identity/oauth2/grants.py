"""The token endpoint, with one function per grant, the revocation of tokens, RPC tokens and device authorizations.

A returned error commits the transaction; a raised error rolls it back."""

import base64
import hashlib
import hmac
import logging
import re
import secrets
from collections.abc import Callable
from typing import Any, Final, NamedTuple, get_args

import msgspec
from msgspec import UNSET, UnsetType

from hubbub.protocol.enums import ApplicationIntegrationType, Scope
from hubbub.protocol.errors import RATE_LIMITED, ApiError
from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import GuildId, Snowflake, UserId
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.guilds import Guild
from hubbub.protocol.resources.identities import CREDENTIAL_MAX, HIDDEN_PROVISIONAL_SCOPES, ExternalAuthType
from hubbub.protocol.scopes import expand_scopes, parse_scopes
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Actor, Call
from hubbub.server.identity import applications, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.oauth2 import actions, ports, rules, store, views
from hubbub.server.identity.oauth2.client_requests import clients
from hubbub.server.identity.oauth2.client_requests.oauth_errors import (
    OAuthError,
    invalid_grant,
    invalid_request,
    invalid_scope,
)
from hubbub.server.identity.oauth2.ports import ExternalCredential, InstallationRequest
from hubbub.server.identity.oauth2.store import CodeRow, DeviceAuthorizationRow

log = logging.getLogger(__name__)

USER_CODE_LENGTH: Final = 8
"""Number of characters of a user code."""

CAPACITY_RETRY_SECONDS: Final = 60.0
"""Time after which a client retries if its application has too many pending device codes or RPC tokens."""

_VERIFIER_PATTERN: Final = re.compile(wire.VERIFIER_PATTERN, re.ASCII)


class IssuedTokens(NamedTuple):
    """Issued tokens, and the claims of the ID token, which is signed later."""

    result: wire.TokenResult
    claims: dict[str, Any] | None = None
    """Claims of the ID token, or None if there is no ID token."""


ExchangeOutcome = IssuedTokens | OAuthError
"""Issued tokens, or an error that is raised after the transaction is committed."""


def exchange_grant(
    call: Call, body: wire.TokenRequest, credential: ExternalCredential | None = None
) -> ExchangeOutcome:
    """Exchange a grant for tokens.

    With an external credential, the user's account is also linked with the identity of the credential."""
    if body.grant_type is UNSET:
        raise invalid_request("grant_type is required")
    exchange = _GRANT_FUNCTIONS.get(body.grant_type)
    if exchange is None:
        raise OAuthError(wire.UNSUPPORTED_GRANT_TYPE, "The grant type is not supported")
    requires_secret = body.grant_type == "client_credentials"
    client = clients.require_client(call, body.client_id, body.client_secret, requires_secret=requires_secret)
    return exchange(call, client, body, credential)


def resolve_linking_client(call: Call, body: wire.TokenRequest) -> ApplicationRow | None:
    """Return the client whose external credential must be verified.

    Return None if the grant would fail or is pending, so that the provider is not contacted unnecessarily. Raise
    invalid_request if the external credential is malformed."""
    if (body.external_auth_type is UNSET) is not (body.external_auth_token is UNSET):
        raise invalid_request("external_auth_type and external_auth_token must be used together")
    if body.grant_type not in ("authorization_code", wire.DEVICE_GRANT):
        raise invalid_request("external_auth_token requires an authorization code or a device code")
    if body.external_auth_type not in get_args(ExternalAuthType):
        raise invalid_request("external_auth_type is not supported")
    if not isinstance(body.external_auth_token, str) or not 0 < len(body.external_auth_token) <= CREDENTIAL_MAX:
        raise invalid_request("external_auth_token is empty or too long")
    client = clients.require_client(call, body.client_id, body.client_secret)
    if body.grant_type == wire.DEVICE_GRANT:
        device_row = store.find_device(call.tx, body.device_code) if isinstance(body.device_code, str) else None
        is_grant_valid = (
            device_row is not None and device_row.application_id == client.id and device_row.state == "granted"
        )
    else:
        code_row = store.find_code(call.tx, body.code) if isinstance(body.code, str) else None
        is_grant_valid = code_row is not None and code_row.application_id == client.id and code_row.family_id is None
    return client if is_grant_valid else None


def _link_account(call: Call, client: ApplicationRow, user_id: int, credential: ExternalCredential | None) -> None:
    if credential is not None:
        ports.link_account(call, client, UserId(user_id), credential)


def _exchange_authorization_code(
    call: Call, client: ApplicationRow, body: wire.TokenRequest, credential: ExternalCredential | None
) -> ExchangeOutcome:
    code = _require_parameter("code", body.code)
    row = store.find_code(call.tx, code)
    if row is None or row.application_id != client.id:
        # Do not consume the code: it may be stolen, and its owner may still exchange it.
        raise invalid_grant(wire.INVALID_CODE_DESCRIPTION)
    if row.family_id is not None:
        return _revoke_replayed_code(call, row, row.family_id)
    if row.expires_ms <= call.now_ms:
        raise invalid_grant(wire.INVALID_CODE_DESCRIPTION)
    _require_same_redirect(row, body.redirect_uri)
    _require_verifier(row, body.code_verifier, has_secret=not _lacks_secret(call, body))
    family_id = call.new_id(Snowflake)
    if not store.use_code(call.tx, code, family_id):
        return invalid_grant(wire.INVALID_CODE_DESCRIPTION)
    scopes = parse_scopes(row.scopes)
    token_result = actions.issue_tokens(call, client, row.user_id, scopes, with_refresh_token=True, family_id=family_id)
    _apply_grant(call, client, row, scopes, token_result)
    _link_account(call, client, row.user_id, credential)
    claims = _id_token_claims(call, client, row.user_id, scopes, row.nonce, token_result.access_token)
    return IssuedTokens(token_result, claims)


def _revoke_replayed_code(call: Call, row: CodeRow, family_id: int) -> OAuthError:
    """Revoke the tokens of a code that was already exchanged, and return the error of the second exchange."""
    actions.revoke_family(call, row.user_id, family_id)
    return invalid_grant(wire.INVALID_CODE_DESCRIPTION)


def _lacks_secret(call: Call, body: wire.TokenRequest) -> bool:
    """Return whether the request contains neither an Authorization header nor a client secret."""
    return "Authorization" not in call.headers and not body.client_secret


def _require_same_redirect(row: CodeRow, redirect_uri: str | UnsetType) -> None:
    if redirect_uri is UNSET and not row.redirect_sent:
        return
    if redirect_uri != row.redirect_uri:
        raise invalid_grant('Invalid "redirect_uri" in request.')


def _require_verifier(row: CodeRow, verifier: str | UnsetType, *, has_secret: bool) -> None:
    """Verify PKCE (RFC 7636). `has_secret` is the opposite of `_lacks_secret`; PKCE is required if it is False.

    A verifier without a challenge is rejected too, which prevents downgrade attacks."""
    if row.code_challenge is None:
        if verifier is not UNSET or not has_secret:
            raise invalid_grant('Invalid "code_verifier" in request.')
        return
    if verifier is UNSET or _VERIFIER_PATTERN.fullmatch(verifier) is None:
        raise invalid_grant('Invalid "code_verifier" in request.')
    computed_challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    if not hmac.compare_digest(computed_challenge, row.code_challenge.encode()):
        raise invalid_grant('Invalid "code_verifier" in request.')


def _apply_grant(
    call: Call, client: ApplicationRow, row: CodeRow, scopes: tuple[str, ...], token_result: wire.TokenResult
) -> None:
    """Install the application and create the webhook as the user who granted them.

    Raise invalid_grant if the user no longer has the permissions."""
    granter_call = call.acting_as(Actor(user_id=UserId(row.user_id), kind="user"))
    try:
        if row.guild_id is not None:
            guild_id = GuildId(row.guild_id)
            request = InstallationRequest(
                application=client, guild_id=guild_id, scopes=scopes, permissions=row.permissions
            )
            if row.installs:
                token_result.guild = _with_wide_permissions(ports.install(granter_call, request))
                actions.signal_authorized(
                    granter_call, client, scopes, ApplicationIntegrationType.GUILD_INSTALL, guild_id
                )
            else:
                ports.require_grantable_permissions(granter_call, request)
                if guild := ports.find_installed_guild(granter_call, client.id, guild_id):
                    token_result.guild = _with_wide_permissions(guild)
        if row.webhook_channel_id is not None:
            token_result.webhook = ports.create_webhook(granter_call, client, row.webhook_channel_id)
    except ApiError:
        raise invalid_grant("The user can no longer grant this request") from None


def _with_wide_permissions(guild: Guild) -> Guild:
    """Return the guild of a token response, whose roles have their permissions in both forms (spec/http.md#1.1)."""
    roles = [msgspec.structs.replace(role, permissions_new=role.permissions) for role in guild.roles]
    return msgspec.structs.replace(guild, roles=roles)


def _exchange_refresh_token(
    call: Call, client: ApplicationRow, body: wire.TokenRequest, _: ExternalCredential | None
) -> ExchangeOutcome:
    row = store.find_refresh_token(call.tx, _require_parameter("refresh_token", body.refresh_token))
    if row is None or row.application_id != client.id:
        raise invalid_grant(wire.INVALID_REFRESH_TOKEN_DESCRIPTION)
    if row.expires_ms is not None and row.expires_ms <= call.now_ms:
        raise invalid_grant(wire.INVALID_REFRESH_TOKEN_DESCRIPTION)
    user = users.find(call.tx, row.user_id)
    if user is None:
        raise invalid_grant(wire.INVALID_REFRESH_TOKEN_DESCRIPTION)
    scope = body.scope if isinstance(body.scope, str) and body.scope.strip() else None
    is_provisional = bool(user.flags & UserFlags.PROVISIONAL_ACCOUNT)
    hidden_scopes = HIDDEN_PROVISIONAL_SCOPES if is_provisional else ()
    token_result = actions.rotate_refresh_token(call, client, row, scope, hidden_scopes=hidden_scopes)
    if token_result is None:
        actions.revoke_replayed_refresh_token(call, row)
        return invalid_grant(wire.INVALID_REFRESH_TOKEN_DESCRIPTION)
    if is_provisional:
        # spec/sdk.md#8.1: this grant is deprecated; clients should send a new credential of the provider instead.
        log.info("Deprecated: a provisional account's token was refreshed", extra={"application": int(client.id)})
    return IssuedTokens(token_result)


def _exchange_client_credentials(
    call: Call, client: ApplicationRow, body: wire.TokenRequest, _: ExternalCredential | None
) -> ExchangeOutcome:
    scopes = parse_scopes(_require_parameter("scope", body.scope))
    if not scopes:
        raise invalid_scope("scope is required")
    rules.require_requestable_scopes(call, client, scopes)
    rules.require_no_consent_scopes(scopes)
    if ports.is_banned(call, client.owner_id):
        # A ban revokes the owner's tokens immediately, and prevents new tokens.
        raise invalid_grant("The account that owns this application is closed")
    return IssuedTokens(actions.issue_tokens(call, client, client.owner_id, scopes, with_refresh_token=False))


def _exchange_device_code(
    call: Call, client: ApplicationRow, body: wire.TokenRequest, credential: ExternalCredential | None
) -> ExchangeOutcome:
    row = store.find_device(call.tx, _require_parameter("device_code", body.device_code))
    if row is None or row.application_id != client.id:
        raise invalid_grant('Invalid "device_code" in request.')
    if row.expires_ms <= call.now_ms:
        raise OAuthError(wire.EXPIRED_TOKEN, "The device code has expired")
    if row.polled_ms and call.now_ms < row.polled_ms + row.interval_seconds * 1000:
        store.record_poll(call.tx, row, row.interval_seconds + wire.DEVICE_INTERVAL_SECONDS, call.now_ms)
        return OAuthError(wire.SLOW_DOWN, "Polling too frequently")
    if row.state == "pending":
        store.record_poll(call.tx, row, row.interval_seconds, call.now_ms)
        return OAuthError(wire.AUTHORIZATION_PENDING, "The user has not yet responded to the request")
    if not store.delete_device(call.tx, row):
        raise invalid_grant('Invalid "device_code" in request.')
    if row.state != "granted" or row.user_id is None:
        return OAuthError(wire.ACCESS_DENIED, wire.ACCESS_DENIED_DESCRIPTION)
    scopes = parse_scopes(row.scopes)
    token_result = actions.issue_tokens(call, client, row.user_id, scopes, with_refresh_token=True)
    _link_account(call, client, row.user_id, credential)
    return IssuedTokens(
        token_result, _id_token_claims(call, client, row.user_id, scopes, None, token_result.access_token)
    )


_GrantFunction = Callable[[Call, ApplicationRow, wire.TokenRequest, ExternalCredential | None], ExchangeOutcome]

_GRANT_FUNCTIONS: Final[dict[str, _GrantFunction]] = {
    "authorization_code": _exchange_authorization_code,
    "refresh_token": _exchange_refresh_token,
    "client_credentials": _exchange_client_credentials,
    wire.DEVICE_GRANT: _exchange_device_code,
}


def _require_parameter(name: str, value: str | UnsetType) -> str:
    if not isinstance(value, str) or not value:
        raise invalid_request(f"{name} is required")
    return value


def _id_token_claims(
    call: Call,
    client: ApplicationRow,
    user_id: int,
    scopes: tuple[str, ...],
    nonce: str | None,
    access_token: str,
) -> dict[str, Any] | None:
    """Return the claims of the ID token, or None if the openid scope was not granted."""
    row = users.find(call.tx, user_id)
    if Scope.OPENID not in scopes or row is None:
        return None
    return views.id_claims(
        call.config, row, client.id, expand_scopes(scopes), now_ms=call.now_ms, nonce=nonce, access_token=access_token
    )


# Revocation


def revoke_tokens(call: Call, body: wire.RevokeRequest) -> None:
    """Revoke all tokens of the user and application that a token belongs to (RFC 7009). Ignore an unknown token.

    Raise if the token belongs to another client."""
    client = clients.require_client(call, body.client_id, body.client_secret)
    token = _require_parameter("token", body.token)
    token_owner = store.find_access_token_owner(call.tx, token)
    if token_owner is None:
        refresh_token_row = store.find_refresh_token(call.tx, token)
        token_owner = (
            None if refresh_token_row is None else (refresh_token_row.user_id, refresh_token_row.application_id)
        )
    if token_owner is None:
        return
    user_id, application_id = token_owner
    if application_id != client.id:
        raise OAuthError(wire.UNAUTHORIZED_CLIENT, "The token was issued to another client")
    actions.deauthorize(call, user_id, application_id)


# The local agent


def issue_rpc_token(call: Call, body: wire.RpcTokenRequest) -> wire.RpcTokenResult:
    """Issue an RPC token to a backend that authenticates with a client secret (spec/rpc.md#7)."""
    client = clients.require_client(call, body.client_id, body.client_secret, requires_secret=True)
    _require_device_capacity(call, client, store.RPC_TOKEN_STATE)
    token = actions.new_secret()
    store.insert_rpc_token(call.tx, token, client.id, call.now_ms, call.now_ms + wire.RPC_TOKEN_SECONDS * 1000)
    return wire.RpcTokenResult(rpc_token=token)


# Devices


def start_device_authorization(call: Call, body: wire.DeviceRequest) -> wire.DeviceResult:
    """Issue a device code and a user code for a device without a browser (RFC 8628)."""
    client = clients.require_client(call, body.client_id, body.client_secret)
    scopes = parse_scopes(body.scope) if isinstance(body.scope, str) else ()
    if not scopes:
        raise invalid_scope("scope is required")
    rules.require_requestable_scopes(call, client, scopes)
    rules.require_no_consent_scopes(scopes)
    rules.require_no_client_credentials_scopes(scopes)
    rules.require_family_head(client, scopes)
    _require_device_capacity(call, client, "pending")
    device_code = actions.new_secret()
    while True:
        user_code = "".join(secrets.choice(actions.USER_CODE_ALPHABET) for _ in range(USER_CODE_LENGTH))
        row = DeviceAuthorizationRow(
            hash=hash_token(device_code),
            user_code=user_code,
            application_id=client.id,
            scopes=" ".join(scopes),
            state="pending",
            user_id=None,
            interval_seconds=wire.DEVICE_INTERVAL_SECONDS,
            polled_ms=0,
            expires_ms=call.now_ms + wire.DEVICE_CODE_SECONDS * 1000,
        )
        if store.insert_device(call.tx, row, call.now_ms):
            break
    page_url = f"{call.config.web_url}/activate"
    return wire.DeviceResult(
        device_code=device_code,
        user_code=user_code,
        verification_uri=page_url,
        verification_uri_complete=f"{page_url}?user_code={user_code}",
    )


def _require_device_capacity(call: Call, client: ApplicationRow, state: str) -> None:
    """Reject a new device code or RPC token of an application that has too many in this state."""
    if store.count_devices(call.tx, client.id, state, call.now_ms) >= wire.PENDING_CODES_MAX:
        raise RATE_LIMITED(retry_after=CAPACITY_RETRY_SECONDS, **{"global": False})


def find_device_and_application(call: Call, user_code: str) -> tuple[DeviceAuthorizationRow, ApplicationRow] | None:
    """Return the device with a user code, and its application; None if the code is unknown or expired."""
    row = store.find_device_by_user_code(call.tx, re.sub(r"[\s-]", "", user_code).upper())
    if row is None or row.expires_ms <= call.now_ms:
        return None
    application = applications.find(call.tx, row.application_id)
    return None if application is None else (row, application)
