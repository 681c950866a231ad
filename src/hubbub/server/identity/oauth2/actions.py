"""Grant, deny and revoke authorizations, install applications, and issue, rotate and revoke tokens."""

import secrets

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.enums import ApplicationIntegrationType, Scope
from hubbub.protocol.ids import ApplicationId, GuildId, Snowflake, UserId
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.scopes import expand_scopes, parse_scopes
from hubbub.server.core import auth
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GameFilter, UserAudience
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.oauth2 import installations, ports, store
from hubbub.server.identity.oauth2.client_requests import clients, redirects
from hubbub.server.identity.oauth2.client_requests.oauth_errors import invalid_scope
from hubbub.server.identity.oauth2.ports import InstallationRequest
from hubbub.server.identity.oauth2.rules import AuthorizationRequest
from hubbub.server.identity.oauth2.signals import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.identity.oauth2.store import AuthorizationRow, CodeRow, RefreshTokenRow
from hubbub.server.identity.users.signals import UserDeleting

USER_CODE_ALPHABET = "BCDFGHJKLMNPQRSTVWXZ23456789"
"""User code alphabet: no vowels, to avoid words, and no characters that look alike."""


def new_secret() -> str:
    """Return a random code or token with 256 bits."""
    return secrets.token_urlsafe(32)


# Authorization


def grant_authorization(
    call: Call, request: AuthorizationRequest, query: wire.AuthorizeQuery, body: wire.AuthorizeDecision
) -> str:
    """Install and authorize the application after the user's consent; return the URL to redirect to.

    The URL contains the code or the token that the request asked for."""
    guild_id: GuildId | None = None
    permissions = request.permissions
    if request.integration_type == ApplicationIntegrationType.GUILD_INSTALL:
        guild_id, permissions = _install_in_guild(call, request, query, body)
    elif request.integration_type == ApplicationIntegrationType.USER_INSTALL:
        install_for_user(call, request.application, request.scopes)
    channel_id = _require_webhook_channel(call, request, query, body)
    if request.response_type is not None or request.integration_type == ApplicationIntegrationType.USER_INSTALL:
        authorize(call, request.application, call.user_id, request.scopes)
    if not (request.integration_type == ApplicationIntegrationType.GUILD_INSTALL and request.waits_for_code):
        signal_authorized(call, request.application, request.scopes, request.integration_type, guild_id)
    if request.response_type is None:
        return authorized_page_url(call, request)
    guild_fields = {} if guild_id is None else {"guild_id": str(int(guild_id)), "permissions": str(permissions)}
    assert request.redirect_uri is not None
    if request.response_type == "token":
        token_result = issue_tokens(call, request.application, call.user_id, request.scopes, with_refresh_token=False)
        fields = {
            "token_type": token_result.token_type,
            "access_token": token_result.access_token,
            "expires_in": str(token_result.expires_in),
            "scope": token_result.scope,
            **guild_fields,
        }
        return redirects.with_fragment(request.redirect_uri, fields | _response_fields(call, request))
    code = _issue_code(call, request, guild_id, permissions, channel_id)
    return redirects.with_query(request.redirect_uri, {"code": code, **guild_fields} | _response_fields(call, request))


def deny_authorization(call: Call, request: AuthorizationRequest) -> str:
    """Return the redirect URL after the user denied the request."""
    fields = {"error": wire.ACCESS_DENIED, "error_description": wire.ACCESS_DENIED_DESCRIPTION} | _response_fields(
        call, request
    )
    if request.redirect_uri is None:
        return redirects.with_query(authorized_page_url(call, request), fields)
    if request.response_type == "token":
        return redirects.with_fragment(request.redirect_uri, fields)
    return redirects.with_query(request.redirect_uri, fields)


def authorized_page_url(call: Call, request: AuthorizationRequest) -> str:
    """Return the URL after an installation without a grant: the application's redirect URI, or a page of this server."""
    return request.redirect_uri or f"{call.config.web_url}/oauth2/authorized"


def _response_fields(call: Call, request: AuthorizationRequest) -> dict[str, str]:
    """Return the fields of every authorization response: `state`, and `iss` against mix-up attacks (RFC 9207)."""
    return ({} if request.state is None else {"state": request.state}) | {"iss": call.config.web_url}


def _install_in_guild(
    call: Call, request: AuthorizationRequest, query: wire.AuthorizeQuery, body: wire.AuthorizeDecision
) -> tuple[GuildId, int]:
    """Install the application in the chosen guild, unless that waits for the code.

    Return the guild and the permissions that the caller can grant."""
    guild_id = body.guild_id or query.guild_id
    if not isinstance(guild_id, GuildId):
        raise errors.invalid("guild_id", *errors.required())
    if query.disable_guild_select is True and query.guild_id is not UNSET and guild_id != query.guild_id:
        raise errors.invalid("guild_id", *errors.choices([str(int(query.guild_id))]))
    # A user may grant fewer permissions than requested, never more.
    permissions = request.permissions & int(body.permissions) if body.permissions is not UNSET else request.permissions
    installation = InstallationRequest(
        application=request.application, guild_id=guild_id, scopes=request.scopes, permissions=permissions
    )
    granted_permissions = ports.require_grantable_permissions(call, installation)
    if not request.waits_for_code:
        ports.install(call, installation)
    return guild_id, granted_permissions


def _require_webhook_channel(
    call: Call, request: AuthorizationRequest, query: wire.AuthorizeQuery, body: wire.AuthorizeDecision
) -> int | None:
    if Scope.WEBHOOK_INCOMING not in request.scopes:
        return None
    channel_id = body.webhook_channel_id or query.channel_id
    if not isinstance(channel_id, int):
        raise errors.invalid("webhook_channel_id", *errors.required())
    ports.check_webhook_channel(call, channel_id)
    return channel_id


def _issue_code(
    call: Call, request: AuthorizationRequest, guild_id: int | None, permissions: int, webhook_channel_id: int | None
) -> str:
    code = new_secret()
    row = CodeRow(
        hash=hash_token(code),
        application_id=request.application.id,
        user_id=call.user_id,
        scopes=" ".join(request.scopes),
        redirect_uri=request.redirect_uri or "",
        redirect_sent=int(request.has_redirect_uri),
        code_challenge=request.code_challenge,
        nonce=request.nonce,
        guild_id=guild_id,
        permissions=permissions,
        installs=int(request.waits_for_code),
        webhook_channel_id=webhook_channel_id,
        expires_ms=call.now_ms + wire.CODE_SECONDS * 1000,
    )
    store.insert_code(call.tx, row, call.now_ms)
    return code


def authorize(call: Call, application: ApplicationRow, user_id: int, scopes: tuple[str, ...]) -> None:
    """Store a user's authorization of an application. The scopes are added to the scopes that the user granted before."""
    previous_row = store.find_authorization(call.tx, user_id, application.id)
    granted_scopes = parse_scopes(f"{previous_row.scopes if previous_row is not None else ''} {' '.join(scopes)}")
    store.upsert_authorization(
        call.tx,
        AuthorizationRow(
            id=previous_row.id if previous_row is not None else call.new_id(Snowflake),
            user_id=user_id,
            application_id=application.id,
            scopes=" ".join(granted_scopes),
            created_ms=call.now_ms,
            changed_ms=call.now_ms,
        ),
    )


def install_for_user(call: Call, application: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Store the installation of the application for the caller, or replace the scopes of an existing one."""
    installations.upsert_installation(
        call.tx,
        installations.InstallationRow(
            application_id=application.id,
            integration_type=int(ApplicationIntegrationType.USER_INSTALL),
            target_id=call.user_id,
            user_id=call.user_id,
            scopes=" ".join(scopes),
            created_ms=call.now_ms,
        ),
    )


def signal_authorized(
    call: Call,
    application: ApplicationRow,
    scopes: tuple[str, ...],
    integration_type: int | None = None,
    guild_id: int | None = None,
) -> None:
    """Raise `ApplicationAuthorized` for the caller. Without an installation, the last two parameters are None."""
    call.notify(
        ApplicationAuthorized(
            application_id=ApplicationId(application.id),
            user_id=call.user_id,
            scopes=scopes,
            integration_type=integration_type,
            guild_id=None if guild_id is None else GuildId(guild_id),
        )
    )


# Tokens


def issue_tokens(
    call: Call,
    application: ApplicationRow,
    user_id: int,
    scopes: tuple[str, ...],
    *,
    with_refresh_token: bool,
    refresh_scopes: tuple[str, ...] | None = None,
    family_id: int | None = None,
) -> wire.TokenResult:
    """Issue an access token and, with `with_refresh_token`, its refresh token.

    `refresh_scopes` are the scopes of the refresh token, if the access token has fewer. `family_id` is the token family that
    the tokens continue; None starts a new family."""
    auth.delete_expired(call.tx, user_id, call.now_ms - store.USED_TOKEN_RETENTION_MS)
    if family_id is None:
        family_id = call.new_id(Snowflake)
    _revoke_excess_families(call, user_id, application.id, family_id)
    access_token = auth.issue(
        call.tx,
        kind="bearer",
        user_id=user_id,
        now=call.now_ms,
        ids=call.ids,
        application_id=application.id,
        scopes=expand_scopes(scopes),
        expires_ms=call.now_ms + wire.ACCESS_TOKEN_SECONDS * 1000,
        token_id=family_id,
    )
    token_result = wire.TokenResult(access_token=access_token, scope=" ".join(scopes))
    if with_refresh_token:
        token_result.refresh_token = new_secret()
        idle_lifetime_ms = wire.REFRESH_IDLE_SECONDS * 1000 if clients.is_public_client(application) else None
        row = RefreshTokenRow(
            hash=hash_token(token_result.refresh_token),
            family_id=family_id,
            user_id=user_id,
            application_id=application.id,
            scopes=" ".join(refresh_scopes or scopes),
            created_ms=call.now_ms,
            expires_ms=None if idle_lifetime_ms is None else call.now_ms + idle_lifetime_ms,
        )
        store.insert_refresh_token(call.tx, row)
    return token_result


def _revoke_excess_families(call: Call, user_id: int, application_id: int, new_family_id: int) -> None:
    """Revoke the oldest grants of a user and an application, so that the limit is kept with the new grant."""
    family_ids = set(store.list_token_family_ids(call.tx, user_id, application_id)) - {new_family_id}
    if len(family_ids) >= wire.GRANTS_MAX:
        for family_id in sorted(family_ids)[: len(family_ids) + 1 - wire.GRANTS_MAX]:
            revoke_family(call, user_id, family_id)
    for token_id in auth.list_excess_ids(
        call.tx, user_id, kind="bearer", application_id=application_id, tokens_max=wire.GRANTS_MAX
    ):
        if token_id != new_family_id:
            revoke_family(call, user_id, token_id)


def rotate_refresh_token(
    call: Call,
    application: ApplicationRow,
    row: RefreshTokenRow,
    scope: str | None,
    *,
    hidden_scopes: tuple[str, ...] = (),
) -> wire.TokenResult | None:
    """Exchange a refresh token for a new token pair; return None if it was already used.

    `scope` limits the scopes of the access token, separated by spaces; None requests all granted scopes. The access token
    keeps granted `hidden_scopes` in any case, and the result does not list them."""
    if not store.use_refresh_token(call.tx, row, call.now_ms):
        return None
    granted_scopes = parse_scopes(row.scopes)
    scopes = granted_scopes if scope is None else parse_scopes(scope)
    if not expand_scopes(scopes) <= expand_scopes(granted_scopes):
        raise invalid_scope("The requested scope exceeds the granted scope")
    # The new token keeps the ID of the old token, so a gateway session continues (spec/sdk.md#5.6) and still ends on
    # revocation. Tokens of a publisher's applications remain valid until they expire (spec/sdk.md#8.7).
    auth.delete_access_token(call.tx, row.user_id, row.family_id)
    auth.publish_actor_changed(call.tx, row.user_id)
    listed_scopes = tuple(name for name in scopes if name not in hidden_scopes)
    kept_hidden_scopes = tuple(name for name in hidden_scopes if name in granted_scopes)
    token_result = issue_tokens(
        call,
        application,
        row.user_id,
        listed_scopes + kept_hidden_scopes,
        with_refresh_token=True,
        refresh_scopes=granted_scopes,
        family_id=row.family_id,
    )
    token_result.scope = " ".join(listed_scopes)
    return token_result


# Revocation


def revoke_replayed_refresh_token(call: Call, row: RefreshTokenRow) -> None:
    """Revoke all tokens of a grant whose refresh token was used twice (RFC 9700 4.14).

    If the application has no other valid token of the user, its authorization ends."""
    revoke_family(call, row.user_id, row.family_id)
    if not store.has_valid_tokens(call.tx, row.user_id, row.application_id, call.now_ms):
        deauthorize(call, row.user_id, row.application_id, has_revoked_tokens=True)


def revoke_family(call: Call, user_id: int, family_id: int) -> None:
    """Revoke all tokens of a grant and end the gateway sessions that use them."""
    auth.revoke(call.tx, user_id, kind="bearer", token_id=family_id)
    # The access token may have expired while its session is still open.
    auth.end_sessions(call.tx, user_id, [family_id])
    store.delete_family(call.tx, family_id)


def deauthorize(call: Call, user_id: int, application_id: int, *, has_revoked_tokens: bool = False) -> bool:
    """Revoke an application's authorization and tokens for a user; return False if there were none.

    `has_revoked_tokens` is whether the caller has already revoked tokens of the authorization."""
    family_ids = store.list_token_family_ids(call.tx, user_id, application_id)
    revoked_count = auth.revoke(call.tx, user_id, kind="bearer", application_id=application_id)
    deleted_count = store.delete_grants(call.tx, user_id, application_id)
    if not revoked_count and not deleted_count and not has_revoked_tokens:
        return False
    if family_ids:
        auth.end_sessions(call.tx, user_id, family_ids)
    payload = wire.TokenRevoked(application_id=ApplicationId(application_id))
    audience = UserAudience.of(user_id, game_filter=GameFilter(application_id=application_id))
    call.tx.emit(wire.OAUTH2_TOKEN_REVOKE, payload, audience)
    call.notify(ApplicationDeauthorized(application_id=ApplicationId(application_id), user_id=UserId(user_id)))
    return True


def deauthorize_all(call: Call, user_id: int) -> None:
    """Revoke the authorizations and tokens of all applications for a user."""
    for application_id in store.list_authorized_application_ids(call.tx, user_id):
        deauthorize(call, user_id, application_id)


def deauthorize_all_users(call: Call, application_id: int) -> None:
    """Revoke all users' authorizations of an application."""
    for user_id in store.list_authorized_user_ids(call.tx, application_id):
        deauthorize(call, user_id, application_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the authorizations, codes, refresh tokens and installations of a deleted user."""
    store.delete_user_grants(call.tx, signal.user_id)
    installations.delete_installations(call.tx, signal.user_id)


def on_application_deleting(call: Call, signal: ApplicationDeleting) -> None:
    """Revoke all authorizations of an application before it is deleted.

    Delete its approved scopes, its codes and its installations for users."""
    for user_id in store.list_authorized_user_ids(call.tx, signal.row.id):
        deauthorize(call, user_id, signal.row.id)
    store.delete_application_data(call.tx, signal.row.id)
