"""Create, sign in, secure, ban and delete user accounts."""

import logging
import secrets

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.flags import UserFlags
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import accounts as wire
from hubbub.server.core import auth
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.config_sections import compute_expiry_cutoff_ms
from hubbub.server.identity import oauth2, registration, users
from hubbub.server.identity.accounts import ports, store
from hubbub.server.identity.accounts.credentials import totp
from hubbub.server.identity.accounts.signals import (
    AccountUnbanned,
    PasswordChanged,
    SecondFactorChanged,
    SignedIn,
)
from hubbub.server.identity.accounts.store import AccountBanRow
from hubbub.server.identity.users import UserRow

log = logging.getLogger(__name__)

USER_AGENT_MAX = 256
"""Maximum stored length of a User-Agent header, in characters."""


def create_user(
    call: Call,
    username: str,
    *,
    user_id: UserId | None = None,
    email: str | None | UnsetType = UNSET,
    is_email_confirmed: bool = False,
    global_name: str | None | UnsetType = UNSET,
    locale: str = "en-US",
) -> UserRow:
    """Create a user with a unique username, or raise form errors if the username or email address is rejected.

    Without `user_id`, a new ID is generated. For `email` and `global_name`, UNSET and None both mean that the user has
    none. A confirmed address must not belong to another account."""
    valid_username = users.names.require_username(username)
    form = errors.FormErrors()
    if users.names.find_by_username(call.tx, valid_username) is not None:
        form.add("username", "USERNAME_ALREADY_TAKEN", "Username is unavailable.")
    email_address = email.lower() if isinstance(email, str) else None
    if email_address is not None and is_email_rejected(call, email_address):
        form.add("email", "EMAIL_ALREADY_REGISTERED", "Email is already registered.")
    form.raise_if_any()
    row = UserRow(
        id=user_id or call.new_id(UserId),
        username=valid_username,
        discriminator="0",
        global_name=users.names.clean_name(global_name) if isinstance(global_name, str) else None,
        email=email_address,
        locale=locale,
        verified=int(is_email_confirmed and email_address is not None),
    )
    users.insert(call.tx, row)
    return row


def is_email_rejected(call: Call, email: str) -> bool:
    """Return whether a server that sends no mail rejects an address because an account has it.

    On a server that sends mail, the result is always False: a rejection would reveal which addresses have accounts, and
    only the owner of an address can confirm it."""
    return not call.config.mail.is_enabled and store.is_email_registered(call.tx, email)


def set_password(call: Call, user_id: UserId, password_hash: str) -> None:
    """Store the hash of a user's password. The tokens of the user stay valid."""
    store.set_password_hash(call.tx, user_id, password_hash, call.now_ms)


# Sign-ins


def admit(call: Call, user_id: UserId, *, is_pending: bool, message: str | UnsetType) -> wire.RegistrationResult:
    """Sign a new account in, or store the request if an operator has to approve it."""
    if is_pending:
        registration.requests.create(call, user_id, message if isinstance(message, str) else "")
        return wire.RegistrationResult(user_id=user_id, token=None, pending=True)
    return wire.RegistrationResult(user_id=user_id, token=sign_in(call, user_id))


def sign_in(call: Call, user_id: UserId) -> str:
    """Issue a user token and record the IP address and user agent that requested it.

    Revoke the user's oldest tokens so that at most SESSIONS_MAX remain."""
    for excess_id in auth.list_excess_ids(call.tx, user_id, kind="user", tokens_max=wire.SESSIONS_MAX):
        sign_out(call, user_id, token_id=excess_id)
    token_id = call.new_id(Snowflake)
    token = auth.issue(call.tx, kind="user", user_id=user_id, now=call.now_ms, ids=call.ids, token_id=token_id)
    user_agent = call.headers.get("User-Agent", "")[:USER_AGENT_MAX]
    store.insert_sign_in(call.tx, token_id, user_id, call.ip, user_agent)
    call.notify(SignedIn(user_id=user_id, ip=call.ip, user_agent=user_agent))
    return token


def sign_out(call: Call, user_id: UserId, *, token_id: int | None = None, except_id: int | None = None) -> int:
    """Revoke user tokens: the token `token_id`, all tokens except `except_id`, or all tokens if both are None.

    Return the number of revoked tokens."""
    revoked_count = auth.revoke(call.tx, user_id, kind="user", token_id=token_id, except_id=except_id)
    store.delete_ended_sign_ins(call.tx, user_id)
    return revoked_count


def issue_mfa_ticket(call: Call, user_id: UserId) -> str:
    """Issue an MFA ticket to a user who logged in with a password or a provider and still has to send a code."""
    ticket = secrets.token_urlsafe(32)
    store.insert_ticket(call.tx, hash_token(ticket), user_id, call.now_ms + wire.MFA_TICKET_SECONDS * 1000, call.now_ms)
    return ticket


def require_recent_sign_in(call: Call) -> None:
    """Reject a session that is too old for an action that a stolen token alone must not allow.

    Accounts without a password prove their identity by a new login."""
    signed_in_ms = Snowflake(call.actor.token_id).created_ms
    if call.now_ms - signed_in_ms > wire.RECENT_SIGN_IN_SECONDS * 1000:
        raise errors.FORBIDDEN(message="Log out, log in again, and repeat this within 10 minutes.")


def change_password(call: Call, user_id: UserId, password_hash: str) -> None:
    """Store a new password and revoke every user token except the caller's."""
    set_password(call, user_id, password_hash)
    sign_out(call, user_id, except_id=call.actor.token_id)
    call.notify(PasswordChanged(user_id=user_id))


def reset_password(call: Call, user_id: UserId, password_hash: str) -> None:
    """Store a new password for a user who forgot theirs, and revoke every user token."""
    set_password(call, user_id, password_hash)
    sign_out(call, user_id)
    call.notify(PasswordChanged(user_id=user_id))


# Accounts with the address of another person (decisions/0153)


def record_confirmation(call: Call, user_id: UserId) -> None:
    """Record whether the caller who confirmed the address of an account has a session of the account.

    Without one, the account may have been created by another person than the owner of the address."""
    actor = call.actor_or_none
    if actor is not None and actor.user_id == user_id:
        store.delete_confirmation(call.tx, user_id)
    else:
        store.insert_confirmation(call.tx, user_id, call.now_ms)


def remove_foreign_credentials(call: Call, row: UserRow) -> bool:
    """Remove all credentials of an account if its address was confirmed without a session of the account.

    Call this when the caller has proven to own the address. The credentials are the password, sessions, the authenticator,
    passkeys, linked logins and authorizations of applications. Return whether they were removed."""
    if not store.delete_confirmation(call.tx, row.id):
        return False
    store.delete_password(call.tx, row.id)
    sign_out(call, row.id)
    if store.find_authenticator(call.tx, row.id) is not None:
        disable_totp(call, row)
    oauth2.authorizations.deauthorize_all(call, row.id)
    ports.remove_credentials(call, row.id)
    call.tx.after_commit.append(lambda: _log_removal(row.id))
    return True


def _log_removal(user_id: int) -> None:
    log.warning(
        "Removed all credentials of user %s: the owner of the email address took over the account, and the address had been "
        "confirmed without a session of the account",
        user_id,
    )


# Bans


def ban(call: Call, user_id: UserId, *, ends_ms: int | None = None, reason: str | None = None) -> None:
    """Ban an account until `ends_ms` (Unix milliseconds), or permanently if `ends_ms` is None.

    Revoke every user token of the account, and the tokens of its bots and of applications. Lifting the ban does not restore
    tokens."""
    row = users.find(call.tx, user_id)
    if row is None or row.bot:
        raise errors.UNKNOWN_USER()
    if row.flags & UserFlags.PROVISIONAL_ACCOUNT:
        raise errors.ACCOUNT_IS_PROVISIONAL()
    store.upsert_ban(call.tx, AccountBanRow(user_id, reason, call.now_ms, ends_ms))
    sign_out(call, user_id)
    ports.revoke_tokens(call, user_id)


def unban(call: Call, user_id: UserId) -> bool:
    """Lift the ban of an account and send the signal `AccountUnbanned`. Return False if the account was not banned."""
    if store.find_ban(call.tx, user_id, call.now_ms) is None:
        return False
    store.delete_ban(call.tx, user_id)
    call.notify(AccountUnbanned(user_id=user_id))
    return True


def require_not_banned(call: Call, user_id: UserId) -> None:
    """Reject a banned account; the error shows the end and the reason of the ban.

    Call this only after the caller has proven that the account belongs to them."""
    row = store.find_ban(call.tx, user_id, call.now_ms)
    if row is not None:
        end_text = "" if row.ends_ms is None else f" until {codec.timestamp(row.ends_ms)[:16].replace('T', ' ')} UTC"
        reason_text = "" if row.reason is None else f" Reason: {row.reason}"
        appeal_sentence = ports.describe_appeal(call, user_id)
        raise errors.invalid(
            "login", "ACCOUNT_DISABLED", f"This account is suspended{end_text}. {appeal_sentence}{reason_text}"
        )


def require_admitted(call: Call, user_id: UserId) -> None:
    """Reject the login of an account that is banned or not approved; the error shows the state.

    Call this only after the caller has proven that the account belongs to them."""
    require_not_banned(call, user_id)
    registration.requests.require_approved(call, user_id)


def delete(call: Call, user_id: UserId) -> None:
    """Delete an account: revoke its authorizations, delete its credentials and send the signal `users.signals.UserDeleting`.

    Raise an error if the account may not be deleted, for example because it owns a guild."""
    users.ports.check_deletion(call, user_id)
    oauth2.authorizations.deauthorize_all(call, user_id)
    store.delete_credentials(call.tx, user_id)
    users.delete(call, user_id)


# Retention


def clear_expired_addresses(call: Call, limit: int) -> bool:
    """Remove the IP addresses and user agents of old sign-ins. Return whether there may be more."""
    cutoff_ms = compute_expiry_cutoff_ms(call.now_ms, call.config.retention.address_days)
    return cutoff_ms is not None and store.clear_addresses_before(call.tx, Snowflake.at(cutoff_ms), limit) == limit


# Second factor


def consume_code(call: Call, user_id: UserId, code: str) -> bool:
    """Consume a code of the user's authenticator or a backup code.

    Return False if the code is wrong or was already used."""
    authenticator = store.find_authenticator(call.tx, user_id)
    if authenticator is None:
        return False
    step = totp.find_step(authenticator.secret, code, call.now_ms)
    if step is not None:
        return store.consume_step(call.tx, user_id, step)
    return store.consume_backup_code(call.tx, user_id, hash_token(totp.normalize_code(code)))


def enable_totp(call: Call, row: UserRow, secret: str, step: int) -> list[str]:
    """Enable the second factor and return the new backup codes.

    `step` is the time step of the code that confirmed the secret; its code cannot be used again."""
    store.insert_authenticator(call.tx, row.id, secret, step)
    codes = replace_backup_codes(call, row.id)
    _set_mfa_enabled(call, row, is_enabled=True)
    return codes


def replace_backup_codes(call: Call, user_id: UserId) -> list[str]:
    """Store new backup codes and return them; earlier backup codes become invalid."""
    codes = [totp.new_backup_code() for _ in range(wire.BACKUP_CODE_COUNT)]
    store.set_backup_codes(call.tx, user_id, [hash_token(totp.normalize_code(code)) for code in codes])
    return codes


def disable_totp(call: Call, row: UserRow) -> None:
    """Delete the authenticator and the backup codes, publish the user and send the signal `SecondFactorChanged`."""
    store.delete_authenticator(call.tx, row.id)
    _set_mfa_enabled(call, row, is_enabled=False)


def _set_mfa_enabled(call: Call, row: UserRow, *, is_enabled: bool) -> None:
    users.profiles.set_mfa_enabled(call.tx, row.id, is_enabled)
    users.profiles.publish_user(call, row._replace(mfa_enabled=int(is_enabled)))
    call.notify(SecondFactorChanged(user_id=row.id, is_enabled=is_enabled))
