"""What an application may ask a person for, and what a person may grant."""

import re
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from hubbub.protocol import changes, errors
from hubbub.protocol import wire as json
from hubbub.protocol.enums import Scope
from hubbub.protocol.flags import ApplicationFlags
from hubbub.protocol.resources import oauth2 as wire
from hubbub.protocol.resources.applications import InstallParams, IntegrationTypeConfiguration
from hubbub.protocol.scopes import (
    ALWAYS_ASKED,
    FOR_TESTERS,
    INSTALLING,
    SCOPES,
    expand,
    missing_approvals,
    parse_scopes,
)
from hubbub.server.core.call import Call
from hubbub.server.resources import applications
from hubbub.server.resources.applications import ApplicationRow
from hubbub.server.resources.oauth2 import clients, redirects, store
from hubbub.server.resources.oauth2.refusals import (
    OAuthError,
    invalid_request,
    invalid_scope,
    unknown_client,
)

TEXT_MAX: Final = 2048
"""How long `state` and `nonce` may be."""

_CHALLENGE: Final = re.compile(wire.CHALLENGE_PATTERN, re.ASCII)


class Request(NamedTuple):
    """What an application asks for, once it is known to be sound."""

    application: ApplicationRow
    response_type: str | None
    """None where nothing but an installation is asked for."""
    scopes: tuple[str, ...]
    redirect_uri: str | None
    redirect_sent: bool
    state: str | None
    nonce: str | None
    code_challenge: str | None
    integration_type: int | None
    """0 in a guild, 1 for the person; None where nothing is installed."""
    permissions: int
    """What the bot asks for."""

    @property
    def waits_for_code(self) -> bool:
        """Whether the bot joins only when the code is exchanged."""
        return bool(self.application.bot_require_code_grant) and Scope.BOT in self.scopes


def require_request(call: Call, query: wire.AuthorizeQuery, integration_type: int | UnsetType = UNSET) -> Request:
    """What is asked; raises in OAuth's words, and never sends anybody to an address that is not registered."""
    row = applications.find(call.tx, query.client_id)
    if row is None:
        raise unknown_client()
    try:
        return _read_request(call, query, row, integration_type)
    except OAuthError as error:
        error.return_url = _way_back(call, query, row, error)
        raise


def _way_back(call: Call, query: wire.AuthorizeQuery, row: ApplicationRow, error: OAuthError) -> str | None:
    """Where a person may take a refusal: to the redirect that was asked for if it is registered, and else nowhere."""
    if query.response_type is UNSET:
        return None
    try:
        redirect_uri = _redirect_uri(query, row, "code")
    except OAuthError:
        return None
    fields = {"error": error.error, "error_description": error.description, "iss": call.config.web_url}
    if isinstance(query.state, str) and len(query.state) <= TEXT_MAX:
        fields["state"] = query.state
    assert redirect_uri is not None
    join = redirects.with_fragment if query.response_type == "token" else redirects.with_query
    return join(redirect_uri, fields)


def _read_request(
    call: Call, query: wire.AuthorizeQuery, row: ApplicationRow, integration_type: int | UnsetType
) -> Request:
    for name in ("state", "nonce"):
        value = getattr(query, name)
        if isinstance(value, str) and len(value) > TEXT_MAX:
            raise invalid_request(f"{name} is too long")
    chosen = integration_type if integration_type is not UNSET else query.integration_type
    scopes, permissions = _scopes(query, row, chosen)
    require_scopes(call, row, scopes)
    require_head(row, scopes)
    response_type = _response_type(query, row, scopes)
    redirect_uri = _redirect_uri(query, row, response_type)
    request = Request(
        application=row,
        response_type=response_type,
        scopes=scopes,
        redirect_uri=redirect_uri,
        redirect_sent=isinstance(query.redirect_uri, str),
        state=query.state if isinstance(query.state, str) else None,
        nonce=query.nonce if isinstance(query.nonce, str) else None,
        code_challenge=_code_challenge(query, row, response_type, redirect_uri),
        integration_type=_integration_type(row, scopes, chosen),
        permissions=permissions,
    )
    require_installer(call, request)
    return request


def require_vouched(call: Call, request: Request, rpc_token: str) -> None:
    """Raise unless the application's backend gave this word, which is then used up; never for reading messages (rpc.md 7)."""
    if Scope.MESSAGES_READ in request.scopes:
        raise invalid_scope("messages.read is granted by the person themselves")
    if not store.use_rpc_token(call.tx, rpc_token, request.application.id, call.now):
        raise invalid_request("rpc_token is unknown or used up")


# Scopes


def require_scopes(call: Call, row: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Raise invalid_scope unless all are known and this application may ask for them."""
    for scope in scopes:
        if scope not in SCOPES:
            raise invalid_scope(f"The requested scope is invalid, unknown, or malformed: {scope[:64]}")
    missing = missing_approvals(scopes, row.flags, ())
    if row.flags & ApplicationFlags.EMBEDDED and not changes.RELATIONSHIPS_FOR_ACTIVITIES.active(call.now):
        # Since then the terms of the social layer are enough for an activity; before, each was approved by itself.
        missing += [scope for scope in scopes if scope == Scope.RELATIONSHIPS_READ]
    if missing:
        approved = store.approved_scopes(call.tx, row.id)
        missing = [scope for scope in dict.fromkeys(missing) if scope not in approved]
        if missing and _tries(call, row):
            missing = [scope for scope in missing if scope not in FOR_TESTERS]
    if missing:
        raise invalid_scope(f"The application is not approved for {' '.join(missing)}")
    if Scope.BOT in scopes and row.bot_id is None:
        raise invalid_scope("The application has no bot")


def _tries(call: Call, row: ApplicationRow) -> bool:
    """Whether the caller is the application's owner or a tester of it."""
    actor = call.find_actor
    if actor is None or actor.kind != "user":
        return False
    return actor.user_id == row.owner_id or applications.is_tester(call.tx, row.id, actor.user_id)


def require_granted_alone(scopes: tuple[str, ...]) -> None:
    """Raise for scopes that need a person in front of the consent page, or more than a token."""
    for scope in scopes:
        if SCOPES[scope].code_only or scope in INSTALLING:
            raise invalid_scope(f"{scope} cannot be granted in this way")


def require_for_people(scopes: tuple[str, ...]) -> None:
    """Raise for scopes that only an application itself can have."""
    for scope in scopes:
        if SCOPES[scope].client_credentials_only:
            raise invalid_scope(f"{scope} is granted to applications themselves only")


def require_head(row: ApplicationRow, scopes: tuple[str, ...]) -> None:
    """Raise for a publisher's game that asks people in: only its publisher does (sdk.md 8.7). It may still be installed."""
    if row.parent_id is not None and not INSTALLING.issuperset(scopes):
        raise OAuthError(wire.UNAUTHORIZED_CLIENT, "People are let in by the publisher's application")


def in_words(scopes: tuple[str, ...]) -> list[wire.ScopeInWords]:
    """Scopes for the person who is asked."""
    return [wire.ScopeInWords(name=scope, description=SCOPES[scope].words) for scope in scopes]


def _scopes(
    query: wire.AuthorizeQuery, row: ApplicationRow, integration_type: int | UnsetType
) -> tuple[tuple[str, ...], int]:
    permissions = int(query.permissions) if query.permissions is not UNSET else 0
    if isinstance(query.scope, str) and query.scope.strip():
        return parse_scopes(query.scope), permissions
    install = _install_params(row, integration_type)
    if install is None:
        raise invalid_scope("scope is required")
    if query.permissions is UNSET:
        permissions = int(install.permissions)
    return parse_scopes(" ".join(install.scopes)), permissions


def contexts(row: ApplicationRow) -> dict[int, IntegrationTypeConfiguration]:
    """Where an application can be installed, with what it asks for there."""
    kept = json.decode(row.integration_types_config, dict[str, IntegrationTypeConfiguration])
    return {int(key): value for key, value in kept.items()}


def _install_params(row: ApplicationRow, integration_type: int | UnsetType) -> InstallParams | None:
    supported = contexts(row)
    chosen = integration_type if isinstance(integration_type, int) else min(supported, default=0)
    configured = supported.get(chosen)
    if configured is not None and configured.oauth2_install_params is not UNSET:
        return configured.oauth2_install_params
    return applications.settings(row).install_params


# The request


def _response_type(query: wire.AuthorizeQuery, row: ApplicationRow, scopes: tuple[str, ...]) -> str | None:
    require_for_people(scopes)
    if query.response_type is UNSET:
        if not INSTALLING.issuperset(scopes):
            raise invalid_request("response_type is required")
        response_type = None
    elif query.response_type in ("code", "token"):
        response_type = query.response_type
    else:
        raise OAuthError(wire.UNSUPPORTED_RESPONSE_TYPE, "response_type must be code or token")
    if response_type != "code":
        for scope in scopes:
            if SCOPES[scope].code_only:
                raise invalid_scope(f"{scope} needs response_type=code")
        if Scope.BOT in scopes and row.bot_require_code_grant:
            raise invalid_request("The bot joins with response_type=code only")
    return response_type


def _redirect_uri(query: wire.AuthorizeQuery, row: ApplicationRow, response_type: str | None) -> str | None:
    registered = json.decode(row.redirect_uris, list[str])
    if isinstance(query.redirect_uri, str):
        if not redirects.matches(registered, row.id, query.redirect_uri):
            raise invalid_request("redirect_uri is not registered for this application")
        return query.redirect_uri
    if response_type is None:
        return None
    if not registered or not applications.is_sound_redirect(registered[0]):
        raise invalid_request("redirect_uri is required")
    return registered[0]


def _code_challenge(
    query: wire.AuthorizeQuery, row: ApplicationRow, response_type: str | None, redirect_uri: str | None
) -> str | None:
    challenge = query.code_challenge if query.code_challenge is not UNSET else None
    custom = redirect_uri is not None and redirects.is_custom(redirect_uri)
    if response_type == "token" and custom:
        # Any program may claim a scheme, and a token in the address would be its own.
        raise OAuthError(wire.UNAUTHORIZED_CLIENT, "A custom scheme needs response_type=code")
    if challenge is None:
        if query.code_challenge_method is not UNSET:
            raise invalid_request("code_challenge is required with code_challenge_method")
        if response_type == "code" and (custom or clients.is_public(row)):
            raise invalid_request("code_challenge is required")
        return None
    if query.code_challenge_method != "S256":
        raise invalid_request("code_challenge_method must be S256")
    if _CHALLENGE.fullmatch(challenge) is None:
        raise invalid_request("code_challenge is not a base64url SHA-256")
    return challenge


def _integration_type(row: ApplicationRow, scopes: tuple[str, ...], chosen: int | UnsetType) -> int | None:
    if not INSTALLING.intersection(scopes):
        return None
    supported = contexts(row)
    if isinstance(chosen, int):
        if chosen not in supported:
            raise invalid_request("The application cannot be installed there")
        if chosen == 1 and Scope.BOT in scopes:
            raise invalid_scope("A bot joins guilds, not users")
        return chosen
    if Scope.BOT in scopes or not supported:
        return 0
    return min(supported)


# Installing


def require_installer(call: Call, request: Request) -> None:
    """Raise unless the caller may install the application: a private one is for its owner."""
    if request.integration_type is not None and not request.application.bot_public:
        if call.user_id != request.application.owner_id:
            raise errors.NOT_AUTHORIZED_ON_APPLICATION()


def is_granted(granted: str, scopes: tuple[str, ...]) -> bool:
    """Whether a person granted all this before, so that they need not be asked again."""
    if ALWAYS_ASKED.intersection(scopes):
        return False
    return expand(parse_scopes(granted)) >= expand(scopes)
