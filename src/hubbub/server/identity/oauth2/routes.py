"""HTTP handlers for OAuth2 and OpenID Connect."""

from msgspec import UNSET

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import ApplicationIntegrationType, Scope
from hubbub.protocol.ids import ApplicationId, Snowflake
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.scopes import parse_scopes
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import applications, features, identity_providers, users
from hubbub.server.identity.oauth2 import actions, grants, ports, rules, store, views
from hubbub.server.identity.oauth2.client_requests.oauth_errors import NO_STORE, OAuthError
from hubbub.server.identity.oauth2.ports import ExternalCredential
from hubbub.server.identity.oauth2.signatures import id_token_signatures, keys
from hubbub.server.identity.oauth2.store import AuthorizationRow

# Consent


@handles(wire.PREVIEW_OAUTH2_AUTHORIZATION)
def preview_oauth2_authorization(call: Call, query: wire.AuthorizeQuery) -> wire.AuthorizationPreview:
    """Preview an OAuth2 authorization.

    The response contains the content of the consent page: the application, its owner, the scopes and possible guilds."""
    request = rules.require_valid_request(call, query)
    user = users.find(call.tx, call.user_id)
    if user is None:
        raise errors.UNAUTHORIZED()
    authorization = store.find_authorization(call.tx, call.user_id, request.application.id)
    preview = wire.AuthorizationPreview(
        application=views.public_applications(call.tx, [request.application], call.now_ms)[0],
        owner=views.owner(call.tx, request.application),
        user=users.user_view(user),
        scopes=rules.describe_scopes(request.scopes),
        redirect_uri=request.redirect_uri,
        authorized=authorization is not None and rules.are_scopes_granted(authorization.scopes, request.scopes),
        prompt=query.prompt if isinstance(query.prompt, str) else "consent",
    )
    if request.integration_type is not None:
        preview.integration_type = request.integration_type
        preview.permissions = Permissions(request.permissions)
    if request.integration_type == ApplicationIntegrationType.GUILD_INSTALL:
        preview.guilds = ports.list_guilds_to_install_in(call)
    return preview


@handles(wire.AUTHORIZE_OAUTH2_APPLICATION)
def authorize_oauth2_application(
    call: Call, query: wire.AuthorizeQuery, body: wire.AuthorizeDecision
) -> wire.AuthorizeResult:
    """Authorize an application, or deny the request.

    Adding the application to a guild requires MANAGE_GUILD there; the scope `webhook.incoming` requires
    MANAGE_WEBHOOKS in the channel.
    """
    if body.authorize:
        features.require_enabled(call, Feature.APPLICATIONS)
    request = rules.require_valid_request(call, query, body.integration_type)
    if isinstance(query.rpc_token, str):
        rules.consume_rpc_token(call, request, query.rpc_token)
    url = (
        actions.grant_authorization(call, request, query, body)
        if body.authorize
        else actions.deny_authorization(call, request)
    )
    return wire.AuthorizeResult(url=url)


# Token endpoint


@handles(wire.EXCHANGE_OAUTH2_TOKEN)
async def exchange_oauth2_token(operation: AsyncOperation, body: wire.TokenRequest) -> Response:
    """Exchange a grant for OAuth2 tokens.

    The grant is an authorization code, a refresh token, a device code or client credentials."""
    credential = await _verify_external_credential(operation, body)
    outcome = await operation.write(lambda call: grants.exchange_grant(call, body, credential))
    if isinstance(outcome, OAuthError):
        raise outcome
    if outcome.claims is not None:
        outcome.result.id_token = await id_token_signatures.sign_id_token(operation, outcome.claims)
    return Response(200, outcome.result, NO_STORE)


async def _verify_external_credential(operation: AsyncOperation, body: wire.TokenRequest) -> ExternalCredential | None:
    """Verify the external credential of a token request with its provider.

    Return None if the request has no credential, or if the grant would fail or is pending. A type that is not an identity
    provider is an access token of a provisional account; it is returned in `token` and verified when the accounts are
    merged."""
    auth_type, token = body.external_auth_type, body.external_auth_token
    if auth_type is UNSET and token is UNSET:
        return None
    client = await operation.read(lambda call: grants.resolve_linking_client(call, body))
    if client is None or not isinstance(auth_type, str) or not isinstance(token, str):
        return None
    if auth_type not in identity_providers.VERIFIERS:
        return ExternalCredential(verified=None, token=token)
    try:
        verified_identity = await identity_providers.verify(operation, client.id, auth_type, token)
    except errors.ApiError as error:
        if identity_providers.is_credential_error(error):
            raise identity_providers.InvalidCredential() from None
        raise
    return ExternalCredential(verified=verified_identity, token="")


@handles(wire.REVOKE_OAUTH2_TOKEN)
def revoke_oauth2_token(call: Call, body: wire.RevokeRequest) -> Response:
    """Revoke an OAuth2 token.

    All tokens of the token's user and application are revoked."""
    grants.revoke_tokens(call, body)
    return Response(200, wire.RevokeResult(), NO_STORE)


@handles(wire.CREATE_RPC_TOKEN)
def create_rpc_token(call: Call, body: wire.RpcTokenRequest) -> Response:
    """Create an RPC token.

    An RPC token lets a program skip one consent prompt of the local agent."""
    return Response(200, grants.issue_rpc_token(call, body), NO_STORE)


@handles(wire.AUTHORIZE_OAUTH2_DEVICE)
def authorize_oauth2_device(call: Call, body: wire.DeviceRequest) -> Response:
    """Start a device authorization.

    The response contains a device code and a user code for a device without a browser."""
    return Response(200, grants.start_device_authorization(call, body), NO_STORE)


# Device verification


@handles(wire.VERIFY_OAUTH2_DEVICE, writes=False)
def verify_oauth2_device(call: Call, body: wire.VerifyDevice) -> wire.DeviceVerification:
    """Get the authorization request of a device by its user code."""
    device_and_application = grants.find_device_and_application(call, body.user_code)
    if device_and_application is None:
        raise _invalid_user_code_error()
    row, application = device_and_application
    return wire.DeviceVerification(
        client_id=ApplicationId(application.id),
        application=views.public_applications(call.tx, [application], call.now_ms)[0],
        owner=views.owner(call.tx, application),
        scopes=rules.describe_scopes(parse_scopes(row.scopes)),
        type=row.state,
    )


@handles(wire.FINISH_OAUTH2_DEVICE)
def finish_oauth2_device(call: Call, body: wire.DeviceDecision) -> None:
    """Approve or deny a device authorization."""
    device_and_application = grants.find_device_and_application(call, body.user_code)
    if device_and_application is None:
        raise _invalid_user_code_error()
    row, application = device_and_application
    if not store.record_device_decision(call.tx, row, body.result, call.user_id):
        raise _invalid_user_code_error()
    if body.result == "granted":
        scopes = parse_scopes(row.scopes)
        actions.authorize(call, application, call.user_id, scopes)
        actions.signal_authorized(call, application, scopes)


def _invalid_user_code_error() -> errors.ApiError:
    return errors.invalid("user_code", "INVALID_USER_CODE", "This code is invalid or has expired.")


# Current token


@handles(wire.GET_MY_OAUTH2_AUTHORIZATION)
def get_my_oauth2_authorization(call: Call) -> wire.CurrentAuthorization:
    """Get the authorization of the current access token."""
    actor = call.actor
    row = None if actor.application_id is None else applications.find(call.tx, actor.application_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    expires_ms = store.find_access_token_expiry(call.tx, actor.token_id, actor.user_id) or call.now_ms
    user = users.find(call.tx, actor.user_id) if Scope.IDENTIFY in actor.scopes else None
    return wire.CurrentAuthorization(
        application=views.authorized_application(call.tx, row, call.now_ms),
        scopes=views.granted_scopes(actor.scopes),
        expires=codec.timestamp(expires_ms),
        user=users.user_view(user) if user is not None else UNSET,
    )


@handles(wire.GET_OPENID_CONNECT_USERINFO)
def get_openid_connect_userinfo(call: Call) -> wire.UserInfo:
    """Get the OpenID Connect claims of the current user."""
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    return views.user_info(call.config, row, call.actor.scopes)


# Keys


@handles(wire.GET_PUBLIC_KEYS)
async def get_public_keys(operation: AsyncOperation) -> wire.PublicKeys:
    """Get the public keys that verify ID tokens.

    A key is created if the server has none that may sign."""
    await id_token_signatures.find_or_create_signing_key(operation)
    rows = await operation.read(lambda call: store.list_keys(call.tx, call.now_ms - keys.PUBLICATION_PERIOD_MS))
    return wire.PublicKeys(keys=[keys.build_public_key(row.kid, row.jwk) for row in rows])


# Authorizations of the current user


@handles(wire.LIST_OAUTH2_AUTHORIZATIONS)
def list_oauth2_authorizations(call: Call) -> list[wire.Authorization]:
    """List the current user's authorizations."""
    return views.authorizations(call.tx, store.list_authorizations(call.tx, call.user_id), call.now_ms)


@handles(wire.GET_OAUTH2_AUTHORIZATION)
def get_oauth2_authorization(call: Call, authorization_id: Snowflake) -> wire.Authorization:
    """Get an authorization of the current user."""
    return views.authorizations(call.tx, [_require_own_authorization(call, authorization_id)], call.now_ms)[0]


@handles(wire.DELETE_OAUTH2_AUTHORIZATION)
def delete_oauth2_authorization(call: Call, authorization_id: Snowflake) -> None:
    """Delete an authorization.

    All tokens of the application for the current user are revoked."""
    row = _require_own_authorization(call, authorization_id)
    actions.deauthorize(call, row.user_id, row.application_id)


@handles(wire.LIST_APPLICATION_OAUTH2_AUTHORIZATIONS)
def list_application_oauth2_authorizations(call: Call, application_id: ApplicationId) -> list[wire.Authorization]:
    """List the current user's authorizations of an application.

    The list has at most one entry: the caller's own authorization.
    """
    if applications.find(call.tx, application_id) is None:
        raise errors.UNKNOWN_APPLICATION()
    row = store.find_authorization(call.tx, call.user_id, application_id)
    return views.authorizations(call.tx, [] if row is None else [row], call.now_ms)


def _require_own_authorization(call: Call, authorization_id: int) -> AuthorizationRow:
    row = store.find_authorization_by_id(call.tx, authorization_id, call.user_id)
    if row is None:
        raise errors.UNKNOWN_TOKEN()
    return row
