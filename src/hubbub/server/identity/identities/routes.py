"""HTTP handlers for provisional accounts, identities, profiles and child tokens."""

from typing import Any

from msgspec import UNSET

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, UserId
from hubbub.protocol.resources import identities as wire
from hubbub.protocol.resources.identity_providers import PLATFORM_BOT
from hubbub.protocol.resources.users import User
from hubbub.protocol.scopes import expand_scopes
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Response, handles
from hubbub.server.identity import applications, identity_providers, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.identities import actions, rules, store, views
from hubbub.server.identity.identities.store import IdentityRow
from hubbub.server.identity.identity_providers import InvalidCredential, VerifiedIdentity
from hubbub.server.identity.users import UserRow

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers that prevent caching of token responses."""

TokenWithClaims = tuple[wire.ProvisionalToken, dict[str, Any]]
"""A token response, and the claims of its ID token, which is signed after the transaction."""


# Provisional accounts


@handles(wire.PARTNER_SDK_TOKEN)
async def partner_sdk_token(operation: AsyncOperation, body: wire.ExternalCredentials) -> Response:
    """Get a provisional account token.

    The external credential identifies the player; an account is created if there is none."""
    verified_identity = await _verify_credential(operation, body)

    def issue_token(call: Call) -> TokenWithClaims:
        application = rules.require_client(call, body.client_id, body.client_secret)
        row = actions.find_or_create_provisional(call, application, verified_identity)
        # spec/sdk.md#8.1: with OIDC a client that has a secret also gets a refresh token.
        is_oidc = body.external_auth_type == "OIDC"
        has_refresh_token = is_oidc and not oauth2.credentials.is_public_client(application)
        return _issue_with_claims(call, application, row, with_refresh_token=has_refresh_token)

    return await _sign_response(operation, await operation.write(issue_token))


@handles(wire.BOT_PARTNER_SDK_TOKEN)
async def bot_partner_sdk_token(operation: AsyncOperation, body: wire.CreateProvisionalToken) -> Response:
    """Get a provisional account token as a bot.

    The application's server identifies the player."""

    def issue_token(call: Call) -> TokenWithClaims:
        application = rules.require_bot_application(call)
        name = body.preferred_global_name if isinstance(body.preferred_global_name, str) else None
        verified_identity = VerifiedIdentity(provider_type=PLATFORM_BOT, user_id=body.external_user_id, name=name)
        if isinstance(body.provisional_user_id, UserId):
            row = actions.attach_identity(call, application, verified_identity, body.provisional_user_id)
        else:
            row = actions.find_or_create_provisional(call, application, verified_identity)
        return _issue_with_claims(call, application, row)

    return await _sign_response(operation, await operation.write(issue_token))


async def _verify_credential(operation: AsyncOperation, body: wire.ExternalCredentials) -> VerifiedIdentity:
    """Verify the external credential, after the client has authenticated."""
    application = await operation.read(lambda call: rules.require_client(call, body.client_id, body.client_secret))
    if body.external_auth_type not in identity_providers.VERIFIERS:
        # A type that is not in VERIFIERS is an access token of this server. A client could renew such a token with itself
        # forever, so the application's server uses the bot endpoint instead.
        raise errors.invalid("external_auth_type", *errors.choices(list(identity_providers.VERIFIERS)))
    return await identity_providers.verify(operation, application.id, body.external_auth_type, body.external_auth_token)


def _issue_with_claims(
    call: Call, application: ApplicationRow, row: UserRow, *, with_refresh_token: bool = False
) -> TokenWithClaims:
    provisional_token = actions.issue_provisional_token(call, application, row, with_refresh_token=with_refresh_token)
    claims = oauth2.credentials.id_claims(
        call.config,
        row,
        application.id,
        expand_scopes(wire.PROVISIONAL_SCOPES),
        now_ms=call.now_ms,
        nonce=None,
        access_token=provisional_token.access_token,
    )
    return provisional_token, claims


async def _sign_response(operation: AsyncOperation, token_and_claims: TokenWithClaims) -> Response:
    provisional_token, claims = token_and_claims
    provisional_token.id_token = await oauth2.credentials.sign_id_token(operation, claims)
    return Response(200, provisional_token, NO_STORE)


# Unlinking


@handles(wire.PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT)
async def partner_sdk_unmerge_provisional_account(operation: AsyncOperation, body: wire.ExternalCredentials) -> None:
    """Unmerge a provisional account.

    Unlink the full account that has the identity of the external credential."""
    verified_identity = await _verify_credential(operation, body)

    def unmerge_account(call: Call) -> None:
        application = rules.require_client(call, body.client_id, body.client_secret)
        identity = _require_identity(actions.find_identity(call, application.family_id, verified_identity))
        _unmerge_identity(call, identity)

    await operation.write(unmerge_account)


@handles(wire.BOT_PARTNER_SDK_UNMERGE_PROVISIONAL_ACCOUNT)
def bot_partner_sdk_unmerge_provisional_account(call: Call, body: wire.UnmergeProvisionalAccount) -> None:
    """Unmerge a provisional account as a bot.

    Unlink the full account that has the given identity."""
    application = rules.require_bot_application(call)
    verified_identity = VerifiedIdentity(provider_type=PLATFORM_BOT, user_id=body.external_user_id)
    _unmerge_identity(call, _require_identity(actions.find_identity(call, application.family_id, verified_identity)))


def _require_identity(identity: IdentityRow | None) -> IdentityRow:
    if identity is None:
        raise errors.UNKNOWN_USER()
    return identity


def _unmerge_identity(call: Call, identity: IdentityRow) -> None:
    if store.find_provisional(call.tx, identity.user_id) is not None:
        raise errors.ACCOUNT_IS_PROVISIONAL()
    actions.unmerge(call, identity.family_id, UserId(identity.user_id))


# Account


@handles(wire.UPDATE_MY_ACCOUNT)
def update_my_account(call: Call, body: wire.UpdateAccount) -> User:
    """Update the account of the current user."""
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    if body.global_name is not UNSET:
        row = actions.set_display_name(call, body.global_name)
    return users.user_view(row)


# Child tokens


@handles(wire.PARTNER_SDK_CHILD_TOKEN)
def partner_sdk_child_token(call: Call, body: wire.ExchangeChildToken) -> Response:
    """Exchange a publisher's token for a child token."""
    parent_token = oauth2.credentials.find_valid_access_token(call.tx, body.parent_access_token, call.now_ms)
    parent = None if parent_token is None else applications.find(call.tx, parent_token.application_id)
    if parent_token is None or parent is None or not rules.is_publisher(parent.flags):
        raise InvalidCredential()
    rules.require_secret(call, parent, body.parent_client_secret)
    child = applications.find(call.tx, body.child_application_id)
    if child is None or child.parent_id != parent.id:
        raise errors.UNKNOWN_APPLICATION()
    return Response(200, actions.issue_child_token(call, child, parent_token), NO_STORE)


@handles(wire.GET_PUBLISHER_LINK)
def get_publisher_link(call: Call, application_id: ApplicationId) -> wire.PublisherLink:
    """Get the publisher link of an application.

    An operator sets the publisher link. The caller must be the application's bot, its owner, or an admin or developer
    of its team.
    """
    row = applications.access.require_manager(call, application_id)
    return wire.PublisherLink(
        application_id=ApplicationId(row.id),
        parent_id=None if row.parent_id is None else ApplicationId(row.parent_id),
        child_ids=applications.families.list_child_ids(call.tx, row.id),
    )


# Profiles


@handles(wire.GET_USER_IDENTITY_PROFILE)
def get_user_identity_profile(
    call: Call, application_id: ApplicationId, user_id: UserId, external_user_id: str
) -> wire.IdentityProfile:
    """Get the identity profile of a player."""
    return views.identity_profile(_require_player_identity(call, application_id, user_id, external_user_id))


@handles(wire.UPDATE_USER_IDENTITY_PROFILE)
def update_user_identity_profile(
    call: Call,
    application_id: ApplicationId,
    user_id: UserId,
    external_user_id: str,
    body: wire.UpdateIdentityProfile,
) -> wire.IdentityProfile:
    """Update the identity profile of a player."""
    row = _require_player_identity(call, application_id, user_id, external_user_id)
    return views.identity_profile(actions.update_profile(call, row, body))


def _require_player_identity(call: Call, application_id: int, user_id: int, external_user_id: str) -> IdentityRow:
    application = applications.access.require_manager(call, application_id)
    rows = store.list_identities(call.tx, application.family_id, [user_id])
    matching_rows = [row for row in rows if row.provider_user_id == external_user_id]
    # Several providers may know the same ID; the application's own identities come first.
    matching_rows.sort(key=lambda row: row.provider_type != PLATFORM_BOT)
    return _require_identity(matching_rows[0] if matching_rows else None)


@handles(wire.LIST_APPLICATION_IDENTITIES, writes=False)
def list_application_identities(call: Call, body: wire.ListApplicationIdentities) -> list[wire.ApplicationIdentity]:
    """List the external IDs of users.

    Users unknown to the calling application are left out."""
    rows = store.list_identities(call.tx, call.actor.family_id or 0, body.user_ids)
    return [
        wire.ApplicationIdentity(user_id=UserId(row.user_id), external_user_id=row.provider_user_id) for row in rows
    ]
