"""Create, link, merge and unlink provisional accounts, issue tokens, change profiles, and join publishers."""

import base64
import secrets
from collections.abc import Iterable
from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import ApplicationFlags, UserFlags
from hubbub.protocol.ids import ApplicationId, Snowflake, UserId
from hubbub.protocol.resources import identities as wire
from hubbub.protocol.resources.identity_providers import PLATFORM_BOT
from hubbub.protocol.resources.oauth2 import GRANTS_MAX
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX
from hubbub.server.core import auth
from hubbub.server.core.call import Call
from hubbub.server.core.event_dispatch import GameFilter, UserAudience
from hubbub.server.identity import accounts, applications, identity_providers, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.identities import rules, store, views
from hubbub.server.identity.identities.signals import AccountsMerged, AccountUnmerged, FamilyJoined, ProfileChanged
from hubbub.server.identity.identities.store import IdentityRow, MergeRow, ProvisionalRow
from hubbub.server.identity.identity_providers import VerifiedIdentity
from hubbub.server.identity.users import UserRow

USERNAME_TRIES_MAX: Final = 8
"""Maximum number of random usernames that are tried before USERNAME_GENERATION_FAILED is raised."""


# Provisional accounts


def create_provisional(
    call: Call, family_id: int, global_name: str | None, *, restricted_by: UserId | None = None
) -> UserRow:
    """Create a provisional account. It has no password and a generated username.

    `global_name` is cleaned and shortened. `restricted_by` is the banned account that the new account replaces, or
    None."""
    flags = UserFlags.PROVISIONAL_ACCOUNT
    row = UserRow(
        id=call.new_id(UserId),
        username=_generate_username(call),
        discriminator="0",
        global_name=_clean_display_name(global_name),
        flags=flags,
        public_flags=flags,
    )
    users.insert(call.tx, row)
    store.insert_provisional(call.tx, ProvisionalRow(row.id, family_id, restricted_by, call.now_ms))
    return row


def _generate_username(call: Call) -> str:
    for _ in range(USERNAME_TRIES_MAX):
        name = "provisional_" + base64.b32encode(secrets.token_bytes(10)).decode().lower()
        if users.names.find_by_username(call.tx, name) is None:
            return name
    raise errors.USERNAME_GENERATION_FAILED()


def _clean_display_name(text: str | None) -> str | None:
    return users.names.clean_name(text or "")[:GLOBAL_NAME_MAX].strip() or None


def find_or_create_provisional(call: Call, application: ApplicationRow, verified_identity: VerifiedIdentity) -> UserRow:
    """Return the provisional account of an identity, creating it if needed.

    Raise ACCOUNT_NOT_PROVISIONAL if a full account has the identity."""
    identity = find_identity(call, application.family_id, verified_identity)
    if identity is None:
        row = create_provisional(call, application.family_id, verified_identity.name)
        add_identity(call, application.family_id, verified_identity, row.id)
        return row
    user = users.find(call.tx, identity.user_id)
    if user is None or not rules.is_provisional(user):
        raise not_provisional_error(identity)
    return user


def not_provisional_error(identity: IdentityRow) -> errors.ApiError:
    """Return the error for an identity that a full account has."""
    return errors.ACCOUNT_NOT_PROVISIONAL(
        user_id=str(int(identity.user_id)),
        provider_type=identity.provider_type,
        provider_id=identity.provider_id or None,
        provider_issued_user_id=identity.provider_user_id,
    )


def find_identity(call: Call, family_id: int, verified_identity: VerifiedIdentity) -> IdentityRow | None:
    """Return the identity that a provider verified, or None."""
    return store.find_identity(
        call.tx, family_id, verified_identity.provider_type, verified_identity.provider_id, verified_identity.user_id
    )


def require_identity_of_token(call: Call, application: ApplicationRow, token: str) -> IdentityRow:
    """Return the identity that the application's server asserted for the account of an access token (spec/sdk.md#8.5).

    Raise `InvalidCredential` if the token is invalid, or if its account has no such identity."""
    access_token_row = oauth2.credentials.find_valid_access_token(call.tx, token, call.now_ms)
    if (
        access_token_row is None
        or applications.families.read_family_id(call.tx, access_token_row.application_id) != application.family_id
    ):
        raise identity_providers.InvalidCredential()
    rows = store.list_identities(call.tx, application.family_id, [access_token_row.user_id])
    for row in rows:
        if row.provider_type == PLATFORM_BOT:
            return row
    raise identity_providers.InvalidCredential()


def add_identity(call: Call, family_id: int, verified_identity: VerifiedIdentity, user_id: int) -> None:
    """Add a verified identity to an account."""
    row = IdentityRow(
        family_id=family_id,
        provider_type=verified_identity.provider_type,
        provider_id=verified_identity.provider_id,
        provider_user_id=verified_identity.user_id,
        user_id=UserId(user_id),
        username=verified_identity.name,
        metadata="{}",
        created_ms=call.now_ms,
    )
    store.insert_identity(call.tx, row)


def attach_identity(
    call: Call, application: ApplicationRow, verified_identity: VerifiedIdentity, provisional_id: int
) -> UserRow:
    """Add a verified identity to an existing provisional account.

    Raise UNKNOWN_USER if the family has no such account, and EXTERNAL_IDENTITY_EXISTS if another account has the identity."""
    row, provisional_row = users.find(call.tx, provisional_id), store.find_provisional(call.tx, provisional_id)
    if row is None or provisional_row is None or provisional_row.family_id != application.family_id:
        raise errors.UNKNOWN_USER()
    identity = find_identity(call, application.family_id, verified_identity)
    if identity is None:
        add_identity(call, application.family_id, verified_identity, row.id)
    elif identity.user_id != row.id:
        raise errors.EXTERNAL_IDENTITY_EXISTS()
    return row


def issue_provisional_token(
    call: Call, application: ApplicationRow, row: UserRow, *, with_refresh_token: bool = False
) -> wire.ProvisionalToken:
    """Issue a token for a provisional account. Its `id_token` is empty, because it is signed after the transaction."""
    token_scopes = wire.PROVISIONAL_SCOPES + wire.HIDDEN_PROVISIONAL_SCOPES
    token_result = oauth2.credentials.issue_tokens(
        call, application, row.id, token_scopes, with_refresh_token=with_refresh_token
    )
    return wire.ProvisionalToken(
        access_token=token_result.access_token,
        id_token="",
        scope=" ".join(wire.PROVISIONAL_SCOPES),
        refresh_token=token_result.refresh_token if isinstance(token_result.refresh_token, str) else None,
        scopes=list(wire.PROVISIONAL_SCOPES),
        expires_at_seconds=call.now_ms // 1000 + token_result.expires_in,
    )


def set_display_name(call: Call, global_name: str | None) -> UserRow:
    """Store the cleaned and shortened display name of the caller, and publish it."""
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    row = row._replace(global_name=_clean_display_name(global_name))
    users.profiles.update_profile(call, row)
    return row


def update_profile(call: Call, row: IdentityRow, body: wire.UpdateIdentityProfile) -> IdentityRow:
    """Update the username and metadata of a player's identity, and publish the profile. Absent fields keep their value."""
    if body.username is None or isinstance(body.username, str):
        row = row._replace(username=body.username or None)
    if body.metadata is None or isinstance(body.metadata, dict):
        row = row._replace(metadata=codec.encode(body.metadata or {}).decode())
    store.update_profile(call.tx, row)
    _notify_profile_changed(call, row.family_id, row.user_id)
    return row


def _notify_profile_changed(call: Call, family_id: int, user_id: int) -> None:
    call.notify(ProfileChanged(family_id=ApplicationId(family_id), user_id=UserId(user_id)))


def publish_profile(call: Call, family_id: int, user_id: int, recipient_ids: Iterable[int]) -> None:
    """Publish a player's profile to the OAuth2 sessions of the players `recipient_ids` in the family."""
    if recipients := frozenset(recipient_ids):
        profile = views.profile_change(call.tx, family_id, user_id)
        audience = UserAudience(recipients, game_filter=GameFilter(family_id=profile.application_id, oauth2_only=True))
        call.tx.emit(wire.USER_APPLICATION_IDENTITY_UPDATE, profile, audience)


# Linking


def link_identity(call: Call, application: ApplicationRow, user_id: UserId, identity: IdentityRow) -> None:
    """Link a full account with an identity by merging the provisional account that has the identity.

    Do nothing if the full account has the identity already. Raise if one of the accounts cannot be merged."""
    if identity.user_id == user_id:
        return
    user = users.find(call.tx, user_id)
    if user is None or rules.is_provisional(user):
        raise errors.MERGE_DESTINATION_PROVISIONAL()
    source_account = store.find_provisional(call.tx, identity.user_id)
    if source_account is None:
        raise errors.MERGE_SOURCE_NOT_PROVISIONAL()
    rules.require_unrestricted(call, source_account)
    family_id = application.family_id
    if store.list_identities(call.tx, family_id, [user_id]):
        raise errors.EXTERNAL_IDENTITY_EXISTS()
    rules.require_merge_allowance(call, application, user_id)
    source_id = UserId(source_account.user_id)
    merge_row = MergeRow(call.new_id(Snowflake), family_id, user_id, source_id, call.now_ms)
    store.insert_merge(call.tx, merge_row)
    store.move_identities(call.tx, family_id, source_id, user_id)
    call.notify(AccountsMerged(family_id=ApplicationId(family_id), source_id=source_id, user_id=user_id))
    _notify_profile_changed(call, family_id, user_id)
    _revoke_tokens(call, family_id, source_id)
    users.delete(call, source_id)
    payload = wire.MergeCompleted(merge_operation_id=Snowflake(merge_row.id), source_user_id=source_id)
    audience = UserAudience.of(user_id, game_filter=GameFilter(family_id=family_id, oauth2_only=True))
    call.tx.emit(wire.USER_MERGE_OPERATION_COMPLETED, payload, audience)


def link_new_identity(
    call: Call, application: ApplicationRow, user_id: UserId, verified_identity: VerifiedIdentity
) -> None:
    """Link a full account with an identity that no account has, so that there is nothing to merge.

    Raise if the account is provisional or has another identity in the family."""
    user = users.find(call.tx, user_id)
    if user is None or rules.is_provisional(user):
        raise errors.MERGE_DESTINATION_PROVISIONAL()
    if store.list_identities(call.tx, application.family_id, [user_id]):
        raise errors.EXTERNAL_IDENTITY_EXISTS()
    add_identity(call, application.family_id, verified_identity, user_id)
    _notify_profile_changed(call, application.family_id, user_id)


# Unlinking


def unmerge(call: Call, family_id: int, user_id: UserId) -> None:
    """Unlink a full account from a family: revoke its tokens and move its identities to a new provisional account."""
    oauth2.authorizations.deauthorize(call, user_id, family_id)
    # A listener of `ApplicationDeauthorized` has already detached the account, unless it had no authorization.
    detach_identities(call, family_id, user_id)


def detach_identities(call: Call, family_id: int, user_id: UserId) -> None:
    """Revoke a full account's tokens in a family, and move its identities, if any, to a new provisional account.

    Do nothing for a provisional account."""
    if store.find_provisional(call.tx, user_id) is not None:
        return
    _revoke_tokens(call, family_id, user_id)
    if not store.list_identities(call.tx, family_id, [user_id]):
        return
    user = users.find(call.tx, user_id)
    is_banned = accounts.is_banned(call, user_id)
    name = None if user is None else user.global_name
    row = create_provisional(call, family_id, name, restricted_by=user_id if is_banned else None)
    store.move_identities(call.tx, family_id, user_id, row.id)
    call.notify(
        AccountUnmerged(
            family_id=ApplicationId(family_id), user_id=user_id, provisional_id=row.id, is_restricted=is_banned
        )
    )
    _notify_profile_changed(call, family_id, user_id)


def remove_identities(call: Call, user_id: UserId) -> None:
    """Delete the identities of a provisional account, or detach the identities of a full account in all families."""
    if store.find_provisional(call.tx, user_id) is not None:
        store.delete_user_identities(call.tx, user_id)
        store.delete_provisional(call.tx, user_id)
        return
    for family_id in store.list_family_ids(call.tx, user_id):
        detach_identities(call, family_id, user_id)


def revoke_authorizations(call: Call, user_id: UserId) -> None:
    """Revoke the authorizations of a banned account and remove its identities."""
    oauth2.authorizations.deauthorize_all(call, user_id)
    # Families that know the account only by an identity have no authorization and send no signal.
    remove_identities(call, user_id)


def _revoke_tokens(call: Call, family_id: int, user_id: int) -> None:
    """Revoke the tokens of a user in every application of a family: one link covers all of them (spec/sdk.md#8.7)."""
    for application_id in applications.families.list_family_ids(call.tx, family_id):
        auth.revoke(call.tx, user_id, kind="bearer", application_id=application_id)


# Publishers


def join_family(call: Call, child: ApplicationRow, parent: ApplicationRow) -> None:
    """Make an application a publisher's game, permanently. Its own players are deleted (spec/sdk.md#8.7)."""
    call.notify(FamilyJoined(application_id=child.id, parent_id=parent.id))
    delete_players(call, child)
    applications.families.set_parent(call.tx, child.id, parent.id)
    applications.families.add_flag(call.tx, parent.id, ApplicationFlags.PARENT)
    for user_id, token_ids in store.list_token_ids_by_user(call.tx, parent.id).items():
        # The publisher's tokens remain valid only for the exchange for child tokens, so end their sessions.
        auth.publish_actor_changed(call.tx, user_id, revoked=token_ids)
    for row in (child, parent):
        if row.bot_id is not None:
            auth.publish_actor_changed(call.tx, row.bot_id)


def delete_players(call: Call, row: ApplicationRow) -> None:
    """Delete the identities, provisional accounts, authorizations and identity providers of an application.

    Full accounts of players are kept."""
    # Delete the identities first, so that deleting a user creates no replacement account.
    store.delete_identities(call.tx, row.id)
    for user_id in store.list_provisional_user_ids(call.tx, row.id):
        users.delete(call, user_id)
    oauth2.authorizations.deauthorize_all_users(call, row.id)
    identity_providers.delete_application_providers(call.tx, row.id)


def issue_child_token(
    call: Call, child: ApplicationRow, parent_token: oauth2.credentials.AccessTokenRow
) -> wire.ChildToken:
    """Issue a child token for a publisher's token. It expires, and is revoked, together with the publisher's token.

    Revoke the oldest tokens of the user and the game so that at most GRANTS_MAX remain."""
    for token_id in auth.list_excess_ids(
        call.tx, parent_token.user_id, kind="bearer", application_id=child.id, tokens_max=GRANTS_MAX
    ):
        auth.revoke(call.tx, parent_token.user_id, kind="bearer", token_id=token_id)
    scopes = frozenset(parent_token.scopes.split())
    access_token = auth.issue(
        call.tx,
        kind="bearer",
        user_id=parent_token.user_id,
        now=call.now_ms,
        ids=call.ids,
        application_id=child.id,
        scopes=scopes,
        expires_ms=parent_token.expires_ms,
        parent_id=parent_token.id,
    )
    remaining_ms = 0 if parent_token.expires_ms is None else parent_token.expires_ms - call.now_ms
    return wire.ChildToken(
        access_token=access_token,
        expires_in=remaining_ms // 1000,
        scope=" ".join(oauth2.credentials.granted_scopes(scopes)),
    )
