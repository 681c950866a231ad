"""HTTP handlers for email addresses of accounts and for password reset."""

from hubbub.protocol import errors
from hubbub.protocol.resources import account_emails as wire
from hubbub.server.core.async_operation import AsyncOperation
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import accounts, users
from hubbub.server.identity.account_emails import actions, limits, store
from hubbub.server.identity.users import UserRow


@handles(wire.FORGOT_PASSWORD)
def forgot_password(call: Call, body: wire.ForgotPassword) -> None:
    """Request a link that resets the password.

    The response is the same whether or not an account has the address. Only a confirmed address receives a link. A
    server that sends no mail rejects the request with 403.
    """
    _require_mail(call)
    email = body.email.lower()
    limits.consume(call, limits.ip_counter(call.ip), limits.address_counter(email))
    # The job looks the address up, so neither the response nor its time reveals whether an account has it.
    actions.enqueue_reset(call, email)


@handles(wire.RESET_PASSWORD)
async def reset_password(operation: AsyncOperation, body: wire.ResetPassword) -> None:
    """Reset the password with a link that was sent by email.

    All login sessions of the user are revoked. Two-factor authentication stays enabled. If the address was confirmed by a
    client without a session of the account, all other credentials are removed too: the authenticator, passkeys, linked
    logins, and authorizations of applications.
    """
    # Validate the token before the expensive hash; `actions.reset_password` validates it again inside the transaction.
    await operation.read(lambda call: actions.require_token(call, body.token, "reset"))
    password_hash = await operation.run_in_thread(accounts.passwords.hash_password, body.password)
    await operation.write(lambda call: actions.reset_password(call, body.token, password_hash))


@handles(wire.CONFIRM_EMAIL)
def confirm_email(call: Call, body: wire.ConfirmEmail) -> None:
    """Confirm an email address with a link that was sent to it.

    A token of the account is optional. It proves that the owner of the address is the user of the account.
    """
    actions.confirm_email(call, body.token)


@handles(wire.GET_EMAIL)
def get_email(call: Call) -> wire.EmailSettings:
    """Get the email address of the current user."""
    return _show_settings(call, _require_own_user(call))


@handles(wire.CHANGE_EMAIL)
async def change_email(operation: AsyncOperation, body: wire.ChangeEmail) -> wire.EmailSettings:
    """Change the email address of the current user.

    The address changes when the user opens the link that is sent to it, and immediately on a server that sends no
    mail.
    """
    await accounts.logins.require_password(operation, body.password)

    def change(call: Call) -> wire.EmailSettings:
        return _show_settings(call, actions.change_email(call, _require_own_user(call), body.email.lower()))

    return await operation.write(change)


@handles(wire.RESEND_CONFIRMATION)
def resend_confirmation(call: Call) -> None:
    """Send the link that confirms the email address again."""
    _require_mail(call)
    row = _require_own_user(call)
    email = actions.find_unconfirmed_email(call, row)
    if email is None:
        raise errors.BAD_REQUEST(message="You have no email address to confirm.")
    limits.consume(call, limits.account_counter(row.id), limits.address_counter(email), limits.ip_counter(call.ip))
    actions.enqueue_confirmation(call, row.id)


def _require_mail(call: Call) -> None:
    if not call.config.mail.is_enabled:
        raise errors.FORBIDDEN(message="This server does not send mail. Ask the operator of the server for help.")


def _require_own_user(call: Call) -> UserRow:
    row = users.find(call.tx, call.user_id)
    if row is None:
        raise errors.UNAUTHORIZED()
    return row


def _show_settings(call: Call, row: UserRow) -> wire.EmailSettings:
    return wire.EmailSettings(
        email=row.email,
        verified=bool(row.verified),
        pending_email=store.find_pending_email(call.tx, row.id),
        mail_enabled=call.config.mail.is_enabled,
    )
