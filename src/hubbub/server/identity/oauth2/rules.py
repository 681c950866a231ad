"""Rules for authorization requests: scopes, redirect URIs, PKCE and installations."""

import re
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, codec, errors
from hubbub.protocol.enums import ApplicationIntegrationType, Scope, TeamRole
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.applications import InstallParams, IntegrationTypeConfiguration
from hubbub.protocol.scopes import (
    ALWAYS_PROMPTED_SCOPES,
    INSTALL_SCOPES,
    SCOPES,
    TESTER_SCOPES,
    expand_scopes,
    missing_approvals,
    parse_scopes,
)
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.oauth2 import store
from hubbub.server.identity.oauth2.client_requests import clients, redirects
from hubbub.server.identity.oauth2.client_requests.oauth_errors import (
    OAuthError,
    invalid_request,
    invalid_scope,
    unknown_client,
)

PARAMETER_LENGTH_MAX: Final = 2048
"""Maximum length of `state` and `nonce` in characters."""

_CHALLENGE_PATTERN: Final = re.compile(wire.CHALLENGE_PATTERN, re.ASCII)


class AuthorizationRequest(NamedTuple):
    """A validated authorization request."""

    application: ApplicationRow
    response_type: str | None
    """`code` or `token`; None if only an installation is requested."""
    scopes: tuple[str, ...]
    redirect_uri: str | None
    """Registered redirect URI; None only if `response_type` is None."""
    has_redirect_uri: bool
    """Whether the request contained the redirect URI."""
    state: str | None
    nonce: str | None
    code_challenge: str | None
    """PKCE challenge (RFC 7636), or None."""
    integration_type: int | None
    """0 for a guild, 1 for the user; None if nothing is installed."""
    permissions: int
    """Permissions requested for the bot."""

    @property
    def waits_for_code(self) -> bool:
        """Whether the bot joins the guild only when the code is exchanged."""
        return bool(self.application.bot_require_code_grant) and Scope.BOT in self.scopes


def require_valid_request(
    call: Call, query: wire.AuthorizeQuery, integration_type: int | UnsetType = UNSET
) -> AuthorizationRequest:
    """Return a validated authorization request, or raise an OAuth error.

    `integration_type` overrides the installation type of the query. The return URL of the error is set only if the
    requested redirect URI is registered."""
    row = applications.find(call.tx, query.client_id)
    if row is None or row.disabled:
        raise unknown_client()
    try:
        return _validate_request(call, query, row, integration_type)
    except OAuthError as error:
        error.return_url = _error_redirect_url(call, query, row, error)
        raise


def _error_redirect_url(call: Call, query: wire.AuthorizeQuery, row: ApplicationRow, error: OAuthError) -> str | None:
    """Return the redirect URL for an error, or None if the requested redirect URI is not registered."""
    if query.response_type is UNSET:
        return None
    try:
        redirect_uri = _require_redirect_uri(query, row, "code")
    except OAuthError:
        return None
    fields = {"error": error.error, "error_description": error.description, "iss": call.config.web_url}
    if isinstance(query.state, str) and len(query.state) <= PARAMETER_LENGTH_MAX:
        fields["state"] = query.state
    assert redirect_uri is not None
    append_fields = redirects.with_fragment if query.response_type == "token" else redirects.with_query
    return append_fields(redirect_uri, fields)


def _validate_request(
    call: Call, query: wire.AuthorizeQuery, row: ApplicationRow, integration_type: int | UnsetType
) -> AuthorizationRequest:
    for parameter in ("state", "nonce"):
        value = getattr(query, parameter)
        if isinstance(value, str) and len(value) > PARAMETER_LENGTH_MAX:
            raise invalid_request(f"{parameter} is too long")
    requested_type = integration_type if integration_type is not UNSET else query.integration_type
    scopes, permissions = _resolve_scopes_and_permissions(query, row, requested_type)
    require_requestable_scopes(call, row, scopes)
    require_family_head(row, scopes)
    response_type = _require_response_type(query, row, scopes)
    redirect_uri = _require_redirect_uri(query, row, response_type)
    request = AuthorizationRequest(
        application=row,
        response_type=response_type,
        scopes=scopes,
        redirect_uri=redirect_uri,
        has_redirect_uri=isinstance(query.redirect_uri, str),
        state=query.state if isinstance(query.state, str) else None,
        nonce=query.nonce if isinstance(query.nonce, str) else None,
        code_challenge=_require_code_challenge(query, row, response_type, redirect_uri),
        integration_type=_require_integration_type(row, scopes, requested_type),
        permissions=permissions,
    )
    require_installer(call, request)
    return request


def consume_rpc_token(call: Call, request: AuthorizationRequest, rpc_token: str) -> None:
    """Consume an RPC token of the application's backend (spec/rpc.md#7).

    Raise if it is invalid, or if messages.read is requested."""
    if Scope.MESSAGES_READ in request.scopes:
        raise invalid_scope("messages.read requires the user's consent")
    if not store.use_rpc_token(call.tx, rpc_token, request.application.id, call.now_ms):
        raise invalid_request("rpc_token is invalid or was already used")


# Scopes


def require_requestable_scopes(call: Call, row: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Raise invalid_scope unless all scopes exist and the application may request them."""
    for scope in scopes:
        if scope not in SCOPES:
            raise invalid_scope(f"The requested scope is invalid, unknown, or malformed: {scope[:64]}")
    unapproved_scopes = missing_approvals(scopes, row.flags, ())
    if row.flags & ApplicationFlags.EMBEDDED and not changes.RELATIONSHIPS_FOR_ACTIVITIES.is_active(call.now_ms):
        # Before `RELATIONSHIPS_FOR_ACTIVITIES`, an activity needed an approval for the scope. Since then, accepting the
        # social layer terms is enough.
        unapproved_scopes += [scope for scope in scopes if scope == Scope.RELATIONSHIPS_READ]
    if unapproved_scopes:
        approved_scopes = store.list_approved_scopes(call.tx, row.id)
        unapproved_scopes = [scope for scope in dict.fromkeys(unapproved_scopes) if scope not in approved_scopes]
        if unapproved_scopes and _is_developer_or_tester(call, row):
            unapproved_scopes = [scope for scope in unapproved_scopes if scope not in TESTER_SCOPES]
    if unapproved_scopes:
        raise invalid_scope(f"The application is not approved for {' '.join(unapproved_scopes)}")
    if Scope.BOT in scopes and row.bot_id is None:
        raise invalid_scope("The application has no bot")


def _is_developer_or_tester(call: Call, row: ApplicationRow) -> bool:
    """Return whether the caller is the application's owner, a member of its team or one of its testers."""
    actor = call.actor_or_none
    if actor is None or actor.kind != "user":
        return False
    return applications.access.is_developer_or_tester(call, row, actor.user_id)


def require_no_consent_scopes(scopes: tuple[str, ...]) -> None:
    """Raise invalid_scope for scopes that need the consent page, or that install the application."""
    for scope in scopes:
        if SCOPES[scope].code_only or scope in INSTALL_SCOPES:
            raise invalid_scope(f"{scope} cannot be granted with this grant type")


def require_no_client_credentials_scopes(scopes: tuple[str, ...]) -> None:
    """Raise invalid_scope for scopes that are only for the client credentials grant."""
    for scope in scopes:
        if SCOPES[scope].client_credentials_only:
            raise invalid_scope(f"{scope} requires the client_credentials grant")


def require_family_head(row: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Raise an error if a game of a publisher requests user scopes (spec/sdk.md#8.7).

    Users authorize the head of its family instead. The game may still be installed."""
    if row.parent_id is not None and not INSTALL_SCOPES.issuperset(scopes):
        raise OAuthError(wire.UNAUTHORIZED_CLIENT, "Users must authorize the publisher's application instead")


def describe_scopes(scopes: tuple[str, ...]) -> list[wire.ScopeDescription]:
    """Return the scopes with descriptions for the consent page."""
    return [wire.ScopeDescription(name=scope, description=SCOPES[scope].description) for scope in scopes]


def _resolve_scopes_and_permissions(
    query: wire.AuthorizeQuery, row: ApplicationRow, integration_type: int | UnsetType
) -> tuple[tuple[str, ...], int]:
    """Return the requested scopes and bot permissions. A query without scopes requests the scopes of the install parameters.

    Raise invalid_scope if the application has no install parameters either."""
    permissions = int(query.permissions) if query.permissions is not UNSET else 0
    if isinstance(query.scope, str) and query.scope.strip():
        return parse_scopes(query.scope), permissions
    install_params = _find_install_params(row, integration_type)
    if install_params is None:
        raise invalid_scope("scope is required")
    if query.permissions is UNSET:
        permissions = int(install_params.permissions)
    return parse_scopes(" ".join(install_params.scopes)), permissions


def decode_installation_types(row: ApplicationRow) -> dict[int, IntegrationTypeConfiguration]:
    """Return the settings of the installation types that an application supports, by installation type."""
    configurations = codec.decode(row.integration_types_config, dict[str, IntegrationTypeConfiguration])
    return {int(key): value for key, value in configurations.items()}


def _find_install_params(row: ApplicationRow, integration_type: int | UnsetType) -> InstallParams | None:
    configurations = decode_installation_types(row)
    selected_type = integration_type if isinstance(integration_type, int) else min(configurations, default=0)
    configuration = configurations.get(selected_type)
    if configuration is not None and configuration.oauth2_install_params is not UNSET:
        return configuration.oauth2_install_params
    return applications.settings.decode_settings(row).install_params


# Request parameters


def _require_response_type(query: wire.AuthorizeQuery, row: ApplicationRow, scopes: tuple[str, ...]) -> str | None:
    require_no_client_credentials_scopes(scopes)
    if query.response_type is UNSET:
        if not INSTALL_SCOPES.issuperset(scopes):
            raise invalid_request("response_type is required")
        response_type = None
    elif query.response_type in ("code", "token"):
        response_type = query.response_type
    else:
        raise OAuthError(wire.UNSUPPORTED_RESPONSE_TYPE, "response_type must be code or token")
    if response_type != "code":
        for scope in scopes:
            if SCOPES[scope].code_only:
                raise invalid_scope(f"{scope} requires response_type=code")
        if Scope.BOT in scopes and row.bot_require_code_grant:
            raise invalid_request("This bot requires response_type=code")
    return response_type


def _require_redirect_uri(query: wire.AuthorizeQuery, row: ApplicationRow, response_type: str | None) -> str | None:
    registered_uris = codec.decode(row.redirect_uris, list[str])
    if isinstance(query.redirect_uri, str):
        if not redirects.is_allowed_redirect(registered_uris, row.id, query.redirect_uri):
            raise invalid_request("redirect_uri is not registered for this application")
        return query.redirect_uri
    if response_type is None:
        return None
    if not registered_uris or not applications.settings.is_valid_redirect(registered_uris[0]):
        raise invalid_request("redirect_uri is required")
    return registered_uris[0]


def _require_code_challenge(
    query: wire.AuthorizeQuery, row: ApplicationRow, response_type: str | None, redirect_uri: str | None
) -> str | None:
    challenge = query.code_challenge if query.code_challenge is not UNSET else None
    has_custom_scheme = redirect_uri is not None and redirects.has_custom_scheme(redirect_uri)
    if response_type == "token" and has_custom_scheme:
        # Any program may register a custom scheme, and would receive the token in the URL.
        raise OAuthError(wire.UNAUTHORIZED_CLIENT, "A custom redirect_uri scheme requires response_type=code")
    if challenge is None:
        if query.code_challenge_method is not UNSET:
            raise invalid_request("code_challenge is required with code_challenge_method")
        if response_type == "code" and (has_custom_scheme or clients.is_public_client(row)):
            raise invalid_request("code_challenge is required")
        return None
    if query.code_challenge_method != "S256":
        raise invalid_request("code_challenge_method must be S256")
    if _CHALLENGE_PATTERN.fullmatch(challenge) is None:
        raise invalid_request("code_challenge must be a base64url-encoded SHA-256 hash")
    return challenge


def _require_integration_type(
    row: ApplicationRow, scopes: tuple[str, ...], requested_type: int | UnsetType
) -> int | None:
    if not INSTALL_SCOPES.intersection(scopes):
        return None
    supported_types = decode_installation_types(row)
    if isinstance(requested_type, int):
        if requested_type not in supported_types:
            raise invalid_request("The application does not support this installation type")
        if requested_type == ApplicationIntegrationType.USER_INSTALL and Scope.BOT in scopes:
            raise invalid_scope("The bot scope requires a guild installation")
        return requested_type
    if Scope.BOT in scopes or not supported_types:
        return ApplicationIntegrationType.GUILD_INSTALL
    return min(supported_types)


# Installation


def require_installer(call: Call, request: AuthorizationRequest) -> None:
    """Raise NOT_AUTHORIZED_ON_APPLICATION unless the caller may install the application.

    Only the owner and members of its team may install a private application."""
    if request.integration_type is not None and not request.application.bot_public:
        application = request.application
        is_member = applications.teams.has_role(call.tx, application.team_id, call.user_id, TeamRole.READ_ONLY)
        if call.user_id != application.owner_id and not is_member:
            raise errors.NOT_AUTHORIZED_ON_APPLICATION()


def are_scopes_granted(granted_scopes: str, scopes: tuple[str, ...]) -> bool:
    """Return whether the user already granted all of `scopes`, so that consent can be skipped.

    `granted_scopes` are the granted scopes, separated by spaces."""
    if ALWAYS_PROMPTED_SCOPES.intersection(scopes):
        return False
    return expand_scopes(parse_scopes(granted_scopes)) >= expand_scopes(scopes)
