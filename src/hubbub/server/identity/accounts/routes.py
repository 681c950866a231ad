"""HTTP handlers for registration, login, sessions, passwords, second factors, account deletion and data export."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec, errors
from hubbub.protocol.enums import LOCALES
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import accounts as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import legal_documents, registration, users
from hubbub.server.identity.accounts import actions, store
from hubbub.server.identity.accounts.credentials import passwords, throttle, totp
from hubbub.server.identity.accounts.signals import AccountRegistered, BackupCodesReplaced
from hubbub.server.identity.accounts.store import CredentialsRow
from hubbub.server.identity.users import UserRow

T = TypeVar("T")


@handles(wire.AUTH_REGISTER)
async def auth_register(operation: AsyncOperation, body: wire.Register) -> wire.RegistrationResult:
    """Register an account and sign it in.

    If an operator has to approve the account, the response contains no token."""
    await operation.read(registration.require_open)
    locale = "en-US" if body.locale is UNSET else body.locale
    if locale not in LOCALES:
        raise errors.invalid("locale", *errors.choices(sorted(LOCALES)))
    # Validate the name before the expensive hash; `actions.create_user` validates it again inside the transaction.
    users.names.require_username(body.username)
    password_hash = await operation.run_in_thread(passwords.hash_password, body.password)

    def register(call: Call) -> wire.RegistrationResult:
        registration.require_open(call)
        registration.require_email_allowed(call, body.email)
        legal_documents.require_accepted(call, body.accepted)
        is_pending = registration.use_invite(call, body.invite)
        row = actions.create_user(call, body.username, email=body.email, global_name=body.global_name, locale=locale)
        actions.set_password(call, row.id, password_hash)
        call.notify(AccountRegistered(user_id=row.id, email=row.email))
        legal_documents.accept(call, row.id, body.accepted)
        return actions.admit(call, row.id, is_pending=is_pending, message=body.message)

    return await operation.write(register)


@handles(wire.AUTH_LOGIN)
async def auth_login(operation: AsyncOperation, body: wire.Login) -> wire.LoginResult:
    """Log in with a username or email address.

    If the account has an authenticator, the response contains an MFA ticket instead of a token."""
    user_id = await verify_credentials(operation, body)

    def complete_login(call: Call) -> wire.LoginResult:
        record_login(call, body, user_id)
        actions.require_admitted(call, user_id)
        if store.find_authenticator(call.tx, user_id) is not None:
            return wire.LoginResult(
                user_id=user_id, token=None, mfa=True, ticket=actions.issue_mfa_ticket(call, user_id)
            )
        return wire.LoginResult(user_id=user_id, token=actions.sign_in(call, user_id))

    return await operation.write(complete_login)


async def verify_credentials(operation: AsyncOperation, body: wire.Login) -> UserId:
    """Return the ID of the user with a login and a password, or raise form errors.

    The attempt counts as failed until `record_login`, which the caller runs in its transaction."""
    login = _clean_login(body)

    def load_credentials(call: Call) -> CredentialsRow | None:
        credentials = store.find_credentials(call.tx, login)
        login_counter = throttle.login_counter(login, None if credentials is None else credentials.user_id)
        throttle.record_attempt(call, login_counter, throttle.ip_counter(call.ip))
        return credentials

    credentials = await operation.write(load_credentials)
    stored_hash = None if credentials is None else credentials.password_hash
    if not await operation.run_in_thread(passwords.verify, stored_hash, body.password) or credentials is None:
        form = errors.FormErrors()
        for field in ("login", "password"):
            form.add(field, "INVALID_LOGIN", "Login or password is invalid.")
        raise form.error()
    return credentials.user_id


def record_login(call: Call, body: wire.Login, user_id: UserId) -> None:
    """Record that the attempt of `verify_credentials` had the right password."""
    throttle.record_success(call, throttle.login_counter(_clean_login(body), user_id), throttle.ip_counter(call.ip))


def _clean_login(body: wire.Login) -> str:
    return body.login.strip().lower()


@handles(wire.AUTH_LOGIN_WITH_TOTP)
async def auth_login_with_totp(operation: AsyncOperation, body: wire.LoginWithCode) -> wire.SessionToken:
    """Complete a login with an MFA code."""
    ticket_hash = hash_token(body.ticket)

    def resolve_ticket(call: Call) -> UserId:
        user_id = store.find_ticket_user_id(call.tx, ticket_hash, call.now_ms)
        if user_id is None:
            raise errors.invalid("ticket", "MFA_INVALID_TICKET", "Log in again.")
        throttle.record_attempt(call, throttle.mfa_counter(user_id), throttle.ip_counter(call.ip))
        return user_id

    user_id = await operation.write(resolve_ticket)

    def complete_login(call: Call) -> wire.SessionToken:
        if not actions.consume_code(call, user_id, body.code):
            raise _invalid_code_error()
        if not store.delete_ticket(call.tx, ticket_hash):
            raise errors.invalid("ticket", "MFA_INVALID_TICKET", "Log in again.")
        throttle.record_success(call, throttle.mfa_counter(user_id), throttle.ip_counter(call.ip))
        actions.require_admitted(call, user_id)
        return wire.SessionToken(user_id=user_id, token=actions.sign_in(call, user_id))

    return await operation.write(complete_login)


@handles(wire.AUTH_LOGOUT)
def auth_logout(call: Call) -> None:
    """Log out: revoke the caller's token."""
    actions.sign_out(call, call.user_id, token_id=call.actor.token_id)


# Sessions


@handles(wire.LIST_AUTH_SESSIONS)
def list_auth_sessions(call: Call) -> list[wire.AccountSession]:
    """List the sessions of the current user."""
    return [
        wire.AccountSession(
            id=Snowflake(row.token_id),
            created_at=codec.timestamp(row.created_ms),
            current=row.token_id == call.actor.token_id,
            ip=row.ip,
            user_agent=row.user_agent or None,
        )
        for row in store.list_sign_ins(call.tx, call.user_id)
    ]


@handles(wire.DELETE_AUTH_SESSION)
def delete_auth_session(call: Call, session_id: Snowflake) -> None:
    """Delete a session of the current user."""
    if not actions.sign_out(call, call.user_id, token_id=session_id):
        raise errors.UNKNOWN_SESSION()


@handles(wire.DELETE_OTHER_AUTH_SESSIONS)
def delete_other_auth_sessions(call: Call) -> None:
    """Delete all other sessions of the current user.

    Every login session of the user is revoked except the one that makes the request.
    """
    actions.sign_out(call, call.user_id, except_id=call.actor.token_id)


# Password


@handles(wire.CHANGE_PASSWORD)
async def change_password(operation: AsyncOperation, body: wire.ChangePassword) -> None:
    """Change the password of the current user.

    Every login session of the user is revoked except the one that makes the request.
    """
    user_id = await require_password(operation, body.password)
    password_hash = await operation.run_in_thread(passwords.hash_password, body.new_password)
    await operation.write(lambda call: actions.change_password(call, user_id, password_hash))


async def require_password(operation: AsyncOperation, password: str) -> UserId:
    """Return the caller's user ID, or raise a form error if the password is wrong.

    Handlers call it for actions that a stolen token alone must not allow."""

    def load_password_hash(call: Call) -> tuple[UserId, str | None]:
        throttle.record_attempt(call, throttle.password_counter(call.user_id), throttle.ip_counter(call.ip))
        return call.user_id, store.find_password_hash(call.tx, call.user_id)

    user_id, stored_hash = await operation.write(load_password_hash)
    if stored_hash is None:
        raise errors.invalid(
            "password", "PASSWORD_NOT_SET", "Your account has no password. Set one in the account settings first."
        )
    if not await operation.run_in_thread(passwords.verify, stored_hash, password):
        raise errors.invalid("password", "PASSWORD_DOES_NOT_MATCH", "Password does not match.")
    await operation.write(
        lambda call: throttle.record_success(call, throttle.password_counter(user_id), throttle.ip_counter(call.ip))
    )
    return user_id


@handles(wire.SET_PASSWORD)
async def set_password(operation: AsyncOperation, body: wire.SetPassword) -> None:
    """Set the password of an account that has none.

    An account that was registered with an external provider has no password. The session must be at most ten
    minutes old. All other sessions of the user are revoked.
    """

    def require_no_password(call: Call) -> None:
        if has_password(call, call.user_id):
            raise errors.FORBIDDEN(message="Your account has a password. Change it instead.")
        actions.require_recent_sign_in(call)

    await operation.read(require_no_password)
    password_hash = await operation.run_in_thread(passwords.hash_password, body.new_password)

    def store_password(call: Call) -> None:
        require_no_password(call)
        actions.change_password(call, call.user_id, password_hash)

    await operation.write(store_password)


async def require_reauthentication(operation: AsyncOperation, password: str | UnsetType) -> UserId:
    """Return the caller's user ID, or raise a form error if the password is missing or wrong.

    An account without a password needs a recent login instead."""
    if await operation.read(lambda call: has_password(call, call.user_id)):
        if password is UNSET:
            raise errors.invalid("password", *errors.required())
        return await require_password(operation, password)

    def require_recent_login(call: Call) -> UserId:
        actions.require_recent_sign_in(call)
        return call.user_id

    return await operation.read(require_recent_login)


def has_password(call: Call, user_id: int) -> bool:
    return store.find_password_hash(call.tx, user_id) is not None


def has_authenticator(call: Call, user_id: int) -> bool:
    """Return whether a login of the account needs a two-factor code."""
    return store.find_authenticator(call.tx, user_id) is not None


def count_backup_codes(call: Call, user_id: int) -> int:
    """Return the number of unused backup codes of an account."""
    return store.count_backup_codes(call.tx, user_id)


# Second factor


@handles(wire.CREATE_TOTP_SECRET)
def create_totp_secret(call: Call) -> wire.TotpSecret:
    """Create a secret for two-factor authentication.

    The response contains the secret and its QR code. The server stores nothing until `enable_totp` receives the
    secret.
    """
    secret = totp.new_secret()
    url = totp.build_otpauth_url(secret, _require_own_user(call).username, host=urlsplit(call.config.web_url).netloc)
    return wire.TotpSecret(secret=secret, otpauth_url=url, qr_code=totp.draw_qr_code(url))


@handles(wire.ENABLE_TOTP)
async def enable_totp(operation: AsyncOperation, body: wire.EnableTotp) -> wire.BackupCodes:
    """Enable two-factor authentication.

    The response contains the backup codes. Every later login requires a code."""
    secret = totp.clean_secret(body.secret)
    if secret is None:
        raise errors.invalid("secret", *errors.regex())
    await require_password(operation, body.password)

    def enable(call: Call) -> wire.BackupCodes:
        row = _require_own_user(call)
        if row.mfa_enabled:
            raise errors.invalid("secret", "MFA_ALREADY_ENABLED", "This account already has an authenticator.")
        step = totp.find_step(secret, body.code, call.now_ms)
        if step is None:
            raise _invalid_code_error()
        return wire.BackupCodes(backup_codes=actions.enable_totp(call, row, secret, step))

    return await operation.write(enable)


@handles(wire.DISABLE_TOTP)
async def disable_totp(operation: AsyncOperation, body: wire.DisableTotp) -> None:
    """Disable two-factor authentication.

    The request must contain the password and a two-factor code or backup code."""
    user_id = await require_password(operation, body.password)
    await operation.write(lambda call: throttle.record_attempt(call, throttle.mfa_counter(user_id)))

    def disable(call: Call) -> None:
        if not actions.consume_code(call, user_id, body.code):
            raise _invalid_code_error()
        throttle.record_success(call, throttle.mfa_counter(user_id))
        actions.disable_totp(call, _require_own_user(call))

    await operation.write(disable)


@handles(wire.REPLACE_BACKUP_CODES)
async def replace_backup_codes(operation: AsyncOperation, body: wire.ReplaceBackupCodes) -> wire.BackupCodes:
    """Replace the backup codes of the current user.

    The earlier backup codes become invalid. The request is rejected with 403 if the user has no two-factor
    authentication.
    """

    def require_authenticator(call: Call) -> None:
        if not has_authenticator(call, call.user_id):
            raise errors.FORBIDDEN(message="Enable two-factor authentication first.")

    await operation.read(require_authenticator)
    user_id = await require_password(operation, body.password)
    await operation.write(lambda call: throttle.record_attempt(call, throttle.mfa_counter(user_id)))

    def replace(call: Call) -> wire.BackupCodes:
        if not actions.consume_code(call, user_id, body.code):
            raise _invalid_code_error()
        throttle.record_success(call, throttle.mfa_counter(user_id))
        call.notify(BackupCodesReplaced(user_id=user_id))
        return wire.BackupCodes(backup_codes=actions.replace_backup_codes(call, user_id))

    return await operation.write(replace)


# Deletion and data export


@handles(wire.DELETE_ACCOUNT)
async def delete_account(operation: AsyncOperation, body: wire.DeleteAccount) -> None:
    """Delete the account of the current user permanently.

    The messages remain, attributed to a deleted user. The user must transfer or delete their guilds and
    applications first.
    """
    user_id = await require_password(operation, body.password)
    await operation.write(lambda call: throttle.record_attempt(call, throttle.mfa_counter(user_id)))

    def delete(call: Call) -> None:
        if store.find_authenticator(call.tx, user_id) is not None:
            if body.code is UNSET:
                raise errors.invalid("code", *errors.required())
            if not actions.consume_code(call, user_id, body.code):
                raise _invalid_code_error()
        throttle.record_success(call, throttle.mfa_counter(user_id))
        actions.delete(call, user_id)

    await operation.write(delete)


@handles(wire.EXPORT_MY_DATA, long=True)
def export_my_data(call: Call) -> wire.DataExport:
    """Get the stored data of the current user, except their messages."""
    row = _require_own_user(call)
    records: dict[str, Any] = {}
    for sections in users.ports.export_data(call, row.id):
        records |= sections
    return wire.DataExport(
        created_at=codec.timestamp(Snowflake(row.id).created_ms),
        user=users.my_user(row, call.actor),
        sessions=list_auth_sessions(call),
        records=records,
    )


async def run_with_mfa(operation: AsyncOperation, code: str | UnsetType, action: Callable[[Call], T]) -> T:
    """Run `action` in a write transaction, after verifying the MFA code if the caller has an authenticator.

    Use it for actions that a token alone must not allow. Raise TWO_FACTOR_REQUIRED if the code is missing. Each code is
    accepted once."""

    def start_verification(call: Call) -> bool:
        if store.find_authenticator(call.tx, call.user_id) is None:
            return False
        if not isinstance(code, str) or not code.strip():
            raise errors.TWO_FACTOR_REQUIRED()
        throttle.record_attempt(call, throttle.mfa_counter(call.user_id))
        return True

    is_code_required = await operation.write(start_verification)

    def verify_and_run(call: Call) -> T:
        if is_code_required:
            assert isinstance(code, str)
            if not actions.consume_code(call, call.user_id, code):
                raise _invalid_code_error()
            throttle.record_success(call, throttle.mfa_counter(call.user_id))
        return action(call)

    return await operation.write(verify_and_run)


def _require_own_user(call: Call) -> UserRow:
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    return row


def _invalid_code_error() -> errors.ApiError:
    return errors.invalid("code", "MFA_INVALID_CODE", "Invalid two-factor code.")
