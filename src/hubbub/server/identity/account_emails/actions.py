"""Enqueue mail, confirm and change email addresses, and reset passwords."""

import secrets
from typing import Any, Final

import msgspec

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import account_emails as wire
from hubbub.server.core.auth import hash_token
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts, registration, users
from hubbub.server.identity.account_emails import limits, store
from hubbub.server.identity.account_emails.store import EmailTokenRow, Purpose
from hubbub.server.identity.registration.requests import RegistrationInviteRow
from hubbub.server.identity.users import UserRow

CONFIRMATION_JOB: Final = "send_confirmation"
RESET_JOB: Final = "send_reset"
NOTICE_JOB: Final = "send_notice"
INVITE_JOB: Final = "send_invite"


class ConfirmationMail(msgspec.Struct, kw_only=True):
    """Payload of a job that sends the link that confirms a user's address."""

    user_id: UserId


class ResetMail(msgspec.Struct, kw_only=True):
    """Payload of a job that sends the link that resets a password, if an account has confirmed the address."""

    email: str
    requested_ms: int


class InviteMail(msgspec.Struct, kw_only=True):
    """Payload of a job that sends a registration invite."""

    invite_id: Snowflake
    email: str


class NoticeMail(msgspec.Struct, kw_only=True):
    """Payload of a job that reports an event of an account to its user."""

    template: str
    to: str
    username: str
    created_ms: int
    locale: str = "en-US"
    details: dict[str, str] = {}
    """Additional values for the template."""


# Jobs. Tokens are created by the job, so that they are stored as hashes only.


def enqueue_confirmation(call: Call, user_id: UserId) -> None:
    """Enqueue the mail that confirms the user's pending or unconfirmed address."""
    call.tx.enqueue(CONFIRMATION_JOB, ConfirmationMail(user_id=user_id), key=_job_key(call))


def enqueue_reset(call: Call, email: str) -> None:
    """Enqueue the mail that resets a password. The job finds out whether an account has this address."""
    call.tx.enqueue(RESET_JOB, ResetMail(email=email, requested_ms=call.now_ms), key=_job_key(call))


def enqueue_notice(call: Call, row: UserRow, template: str, **details: str) -> None:
    """Enqueue a notice to the user's confirmed address.

    Do nothing if the server sends no mail, the user has no confirmed address, or the user received too many notices."""
    if not call.config.mail.is_enabled or row.email is None or not row.verified:
        return
    if limits.try_consume(call, limits.notice_counter(row.id)):
        notice = NoticeMail(
            template=template,
            to=row.email,
            username=row.username,
            created_ms=call.now_ms,
            locale=row.locale,
            details=details,
        )
        call.tx.enqueue(NOTICE_JOB, notice, key=_job_key(call))


def enqueue_invite(call: Call, row: RegistrationInviteRow, email: str, *, is_creator_limited: bool) -> None:
    """Enqueue the mail with a registration invite. Raise RATE_LIMITED if too many mails were sent.

    `is_creator_limited` also counts the mail for the creator and the IP address, not only for the recipient."""
    counters = [limits.address_counter(email)]
    if is_creator_limited:
        counters += [limits.account_counter(call.user_id), limits.ip_counter(call.ip)]
    limits.consume(call, *counters)
    call.tx.enqueue(INVITE_JOB, InviteMail(invite_id=row.id, email=email), key=_job_key(call))


def notify_user(call: Call, user_id: UserId, template: str, **details: str) -> None:
    """Enqueue a notice to a user, if the user exists; see `enqueue_notice`."""
    row = users.find(call.tx, user_id)
    if row is not None:
        enqueue_notice(call, row, template, **details)


def _job_key(call: Call) -> str:
    # The concurrency group `mail/smtp/` limits the connections to the SMTP server. The ID makes the key unique, because jobs
    # with the same key run one after the other.
    return f"mail/smtp/{call.new_id(Snowflake)}"


# Links


def issue_token(call: Call, user_id: UserId, email: str, purpose: Purpose) -> str:
    """Issue the token of a link to this address. Earlier links of the user with this purpose become invalid."""
    token = secrets.token_urlsafe(32)
    lifetime_seconds = wire.RESET_TOKEN_SECONDS if purpose == "reset" else wire.CONFIRM_TOKEN_SECONDS
    row = EmailTokenRow(user_id, email)
    store.replace_token(call.tx, hash_token(token), row, purpose, call.now_ms + lifetime_seconds * 1000, call.now_ms)
    return token


def require_token(call: Call, token: str, purpose: Purpose) -> EmailTokenRow:
    """Return the user and address of the link with this token. Raise a form error if the token is unknown, used or expired."""
    row = store.find_token(call.tx, hash_token(token), purpose, call.now_ms)
    if row is None:
        raise errors.invalid("token", "EMAIL_TOKEN_INVALID", "This link is invalid or has expired. Request a new one.")
    return row


def reset_password(call: Call, token: str, password_hash: str) -> None:
    """Use a link: set the password, revoke all user tokens, and remove credentials that may belong to another person.

    A pending change of the address is canceled: the person who requested it may be the reason for the reset."""
    user_id = require_token(call, token, "reset").user_id
    row = users.find(call.tx, user_id)
    assert row is not None, "links are deleted with their user"
    accounts.management.remove_foreign_credentials(call, row)
    store.delete_pending_email(call.tx, user_id)
    store.delete_tokens(call.tx, user_id, "confirm")
    accounts.reset_password(call, user_id, password_hash)


def confirm_email(call: Call, token: str) -> None:
    """Use a link: confirm the address that it was sent to and make it the user's address.

    Raise a form error if the link is invalid, or another account confirmed the address."""
    user_id, email = require_token(call, token, "confirm")
    row = users.find(call.tx, user_id)
    if row is None or email != find_unconfirmed_email(call, row):
        raise errors.invalid("token", "EMAIL_TOKEN_INVALID", "This link is invalid or has expired. Request a new one.")
    if users.find_by_email(call.tx, email) is not None:
        raise errors.invalid("token", "EMAIL_ALREADY_REGISTERED", "Another account uses this email address.")
    if row.email is not None and row.email != email:
        enqueue_notice(call, row, "email_changed")
    store.delete_pending_email(call.tx, user_id)
    store.delete_tokens(call.tx, user_id)
    users.profiles.set_email(call, row, email, is_verified=True)
    accounts.management.record_confirmation(call, user_id)


# Addresses


def find_unconfirmed_email(call: Call, row: UserRow) -> str | None:
    """Return the address that the user can confirm: the pending address, or the unconfirmed address of the account, or None."""
    return store.find_pending_email(call.tx, row.id) or (None if row.verified else row.email)


def change_email(call: Call, row: UserRow, email: str) -> UserRow:
    """Change the address of an account and return its row, or raise a form error if the address is not allowed.

    With mail, the address is pending until it is confirmed; a change to the confirmed address cancels a pending change.
    Without mail, the address changes immediately and must not belong to another account."""
    registration.require_email_allowed(call, email)
    if not call.config.mail.is_enabled:
        if accounts.is_email_rejected(call, email) and email != row.email:
            raise errors.invalid("email", "EMAIL_ALREADY_REGISTERED", "Email is already registered.")
        return users.profiles.set_email(call, row, email, is_verified=False)
    limits.consume(call, limits.account_counter(row.id), limits.address_counter(email), limits.ip_counter(call.ip))
    store.delete_tokens(call.tx, row.id, "confirm")
    if row.verified and email == row.email:
        store.delete_pending_email(call.tx, row.id)
        return row
    store.upsert_pending_email(call.tx, row.id, email)
    enqueue_confirmation(call, row.id)
    return row


def delete_user_data(call: Call, user_id: UserId) -> None:
    """Delete the links, the pending address and the known clients of a user."""
    store.delete_tokens(call.tx, user_id)
    store.delete_pending_email(call.tx, user_id)
    store.delete_clients(call.tx, user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the address that a user has not confirmed yet, for the data export."""
    pending_email = store.find_pending_email(call.tx, user_id)
    return {"email_changes": [] if pending_email is None else [{"email": pending_email}]}
