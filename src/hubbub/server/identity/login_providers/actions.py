"""Start and complete logins at providers, and link and unlink identities."""

import hmac
import secrets
from typing import Any

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import login_providers as wire
from hubbub.protocol.resources.features import Feature
from hubbub.protocol.resources.registration import RegistrationMode
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.login_config import LoginProviderConfig
from hubbub.server.identity import accounts, features, legal_documents, registration, users
from hubbub.server.identity.login_providers import claims, store
from hubbub.server.identity.login_providers.claims import ProviderUser
from hubbub.server.identity.login_providers.signals import IdentityLinked, IdentityUnlinked
from hubbub.server.identity.login_providers.store import AttemptRow, LoginIdentityRow, LoginRegistrationRow
from hubbub.server.identity.users.signals import UserDeleting


def require_provider(call: Call, provider_id: str) -> LoginProviderConfig:
    """Return a provider of the configuration, or raise NOT_FOUND."""
    provider = call.config.login.find(provider_id)
    if provider is None:
        raise errors.NOT_FOUND()
    return provider


# Started logins


def new_attempt(provider: LoginProviderConfig, state: str, user_id: UserId | None) -> AttemptRow:
    """Return a new attempt to log in; `user_id` is the user who links an identity, or None."""
    return AttemptRow(
        provider_id=provider.id,
        state_hash=hash_token(state),
        nonce=secrets.token_urlsafe(32),
        verifier=secrets.token_urlsafe(48),
        user_id=user_id,
    )


def save_attempt(call: Call, attempt: AttemptRow) -> str:
    """Store an attempt and return its ticket."""
    ticket = secrets.token_urlsafe(32)
    expires_ms = call.now_ms + wire.LOGIN_ATTEMPT_SECONDS * 1000
    store.insert_attempt(call.tx, hash_token(ticket), attempt, expires_ms, call.now_ms)
    return ticket


def consume_attempt(call: Call, ticket: str, user_id: UserId | None) -> tuple[LoginProviderConfig, AttemptRow]:
    """Return the attempt of a ticket and its provider; the ticket becomes invalid.

    Raise a form error if the ticket is not valid for the user."""
    attempt = store.consume_attempt(call.tx, hash_token(ticket), call.now_ms)
    provider = None if attempt is None else call.config.login.find(attempt.provider_id)
    if attempt is None or provider is None or attempt.user_id != user_id:
        raise errors.invalid("ticket", "PROVIDER_TICKET_INVALID", "The login has expired. Start again.")
    return provider, attempt


def require_response_of(attempt: AttemptRow, body: wire.CompleteProviderLogin) -> None:
    """Raise a form error if the response belongs to another login or came to the redirect URI of another provider.

    The redirect URIs differ so that a provider cannot obtain the code of another provider (RFC 9700 4.4)."""
    if attempt.provider_id != body.provider_id or not hmac.compare_digest(attempt.state_hash, hash_token(body.state)):
        raise errors.invalid("state", "PROVIDER_STATE_INVALID", "This response belongs to another login. Start again.")


def require_allowed(provider: LoginProviderConfig, user: ProviderUser) -> None:
    """Reject a user without a verified email address of an allowed domain, if the operator limits the domains."""
    if not claims.is_allowed(provider, user):
        raise errors.invalid(
            "code",
            "PROVIDER_EMAIL_NOT_ALLOWED",
            "Your email address at the login provider cannot be used here. Use an account with another address.",
        )


# Identities


def find_or_link(call: Call, provider: LoginProviderConfig, user: ProviderUser) -> LoginIdentityRow | None:
    """Return the identity of a user, or None if it belongs to no account.

    An unknown identity is linked to the account that confirmed the same address, if the operator trusts the addresses of
    the provider. Raise a form error for a banned account, and for an account with an authenticator, which the provider
    alone must not replace (decisions/0143)."""
    row = store.find_by_subject(call.tx, user.issuer, user.subject)
    if row is not None or not provider.trust_email or user.email is None or not user.is_email_verified:
        return row
    owner = users.find_by_email(call.tx, user.email)
    if owner is None or owner.bot:
        return None
    if owner.mfa_enabled:
        raise errors.invalid(
            "code",
            "PROVIDER_LINK_REQUIRED",
            "Your account has two-factor authentication. Log in with your password and link this login in the account settings.",
        )
    accounts.require_not_banned(call, owner.id)
    accounts.management.remove_foreign_credentials(call, owner)
    return link(call, provider, user, owner.id)


def link(call: Call, provider: LoginProviderConfig, user: ProviderUser, user_id: UserId) -> LoginIdentityRow:
    """Link an identity to an existing account and report it, or raise a form error."""
    existing_identity = store.find_by_subject(call.tx, user.issuer, user.subject)
    if existing_identity is not None:
        if existing_identity.user_id == user_id:
            return existing_identity
        raise errors.invalid(
            "code", "IDENTITY_IN_USE", "This login is linked to another account. Unlink it there first."
        )
    if len(store.list_by_user(call.tx, user_id)) >= wire.LOGIN_IDENTITIES_MAX:
        raise errors.invalid("code", "IDENTITIES_MAX", "Your account has too many linked logins. Unlink one first.")
    row = _insert_identity(call, user.issuer, user.subject, user.label, user_id)
    call.notify(IdentityLinked(user_id=user_id, provider_name=provider.name))
    return row


def _insert_identity(call: Call, issuer: str, subject: str, name: str, user_id: UserId) -> LoginIdentityRow:
    row = LoginIdentityRow(
        id=call.new_id(Snowflake),
        user_id=user_id,
        issuer=issuer,
        subject=subject,
        name=name,
        created_ms=call.now_ms,
        used_ms=None,
    )
    store.insert(call.tx, row)
    return row


def unlink(call: Call, identity_id: int) -> None:
    """Unlink an identity of the caller. Raise NOT_FOUND if there is none, and FORBIDDEN if it is the last way to log in."""
    row = store.find(call.tx, call.user_id, identity_id)
    if row is None:
        raise errors.NOT_FOUND()
    if not accounts.logins.has_password(call, call.user_id) and len(store.list_by_user(call.tx, call.user_id)) == 1:
        raise errors.FORBIDDEN(message="This is your only way to log in. Set a password first.")
    store.delete(call.tx, row.id)
    call.notify(IdentityUnlinked(user_id=call.user_id, provider_name=_resolve_provider_name(call, row.issuer)))


# Registration


def require_registration_allowed(call: Call, provider: LoginProviderConfig) -> None:
    """Reject the registration of a new account if the settings or a feature switch do not allow it."""
    if registration.resolve_mode(call.config) is RegistrationMode.CLOSED and not provider.auto_register:
        raise errors.FORBIDDEN(
            message="No account is linked with this login. Log in another way and link it in the account settings."
        )
    features.require_enabled(call, Feature.REGISTRATION)


def start_registration(call: Call, provider: LoginProviderConfig, user: ProviderUser) -> wire.ProviderRegistration:
    """Store an identity without an account until its user has chosen a username."""
    require_registration_allowed(call, provider)
    ticket = secrets.token_urlsafe(32)
    row = LoginRegistrationRow(
        provider.id, user.issuer, user.subject, user.label, user.email, int(user.is_email_verified)
    )
    expires_ms = call.now_ms + wire.PROVIDER_REGISTRATION_SECONDS * 1000
    store.insert_registration(call.tx, hash_token(ticket), row, expires_ms, call.now_ms)
    is_username_free = bool(user.username) and users.names.find_by_username(call.tx, user.username) is None
    return wire.ProviderRegistration(
        ticket=ticket,
        username=user.username if is_username_free else "",
        global_name=user.global_name,
        email=user.email,
    )


def register(call: Call, body: wire.RegisterWithProvider, locale: str) -> tuple[UserId, bool]:
    """Create the account of an identity, without a password.

    Return its ID and whether an operator has to approve it."""
    ticket_hash = hash_token(body.ticket)
    row = store.find_registration(call.tx, ticket_hash, call.now_ms)
    provider = None if row is None else call.config.login.find(row.provider_id)
    if row is None or provider is None or store.find_by_subject(call.tx, row.issuer, row.subject) is not None:
        raise errors.invalid("ticket", "PROVIDER_TICKET_INVALID", "The login has expired. Start again.")
    require_registration_allowed(call, provider)
    legal_documents.require_accepted(call, body.accepted)
    is_pending = not provider.auto_register and registration.use_invite(call, body.invite)
    email = row.email
    is_email_confirmed = provider.trust_email and bool(row.email_verified)
    if not provider.auto_register:
        registration.require_email_allowed(call, email)
    # The user does not choose the address here, so a used address is left out instead of rejected.
    if email is not None and (accounts.is_email_rejected(call, email) or users.find_by_email(call.tx, email)):
        email = None
    user = accounts.create_user(
        call,
        body.username,
        email=email,
        is_email_confirmed=is_email_confirmed,
        global_name=body.global_name,
        locale=locale,
    )
    store.delete_registration(call.tx, ticket_hash)
    legal_documents.accept(call, user.id, body.accepted)
    identity = _insert_identity(call, row.issuer, row.subject, row.name, user.id)
    store.record_use(call.tx, identity.id, call.now_ms)
    call.notify(accounts.signals.AccountRegistered(user_id=user.id, email=None if is_email_confirmed else user.email))
    return user.id, is_pending


# Views


def view(call: Call, row: LoginIdentityRow) -> wire.LoginIdentity:
    """Build the wire model of an identity."""
    provider = call.config.login.find_by_issuer(row.issuer)
    return wire.LoginIdentity(
        id=Snowflake(row.id),
        provider_id=None if provider is None else provider.id,
        provider_name=_resolve_provider_name(call, row.issuer),
        name=row.name,
        created_at=codec.timestamp(row.created_ms),
        last_used_at=None if row.used_ms is None else codec.timestamp(row.used_ms),
    )


def _resolve_provider_name(call: Call, issuer: str) -> str:
    provider = call.config.login.find_by_issuer(issuer)
    return issuer if provider is None else provider.name


def delete_identities(call: Call, user_id: UserId) -> None:
    """Unlink all identities of a user."""
    store.delete_by_user(call.tx, user_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Delete the identities of a deleted user."""
    delete_identities(call, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the external identities of a user for the export of their data."""
    return {
        "login_identities": [
            {
                "issuer": row.issuer,
                "subject": row.subject,
                "name": row.name,
                "created_at": codec.timestamp(row.created_ms),
            }
            for row in store.list_by_user(call.tx, user_id)
        ]
    }
