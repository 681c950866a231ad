"""Email addresses of accounts: confirmation, change and password reset. The public API does not have these routes."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources import oauth2, users
from hubbub.protocol.resources.accounts import LOGIN_LIMIT, EmailAddress, NewPassword, Password

CONFIRM_TOKEN_SECONDS: Final = 24 * 3600
"""Validity in seconds of the link that confirms an email address."""
RESET_TOKEN_SECONDS: Final = 3600
"""Validity in seconds of the link that resets a password."""

EMAIL_LIMIT = RateLimit(5, 60.0)
"""Limit of the operations that send an email."""

EmailToken = Annotated[str, Meta(min_length=1, max_length=128)]
"""The token in a link that was sent by email."""


class ForgotPassword(Struct, kw_only=True):
    """Request body for requesting a link that resets the password."""

    email: EmailAddress
    """Email address of the account."""


class ResetPassword(Struct, kw_only=True):
    """Request body for resetting the password with a link that was sent by email."""

    token: EmailToken
    """Token in the link that resets the password; valid for one hour and for one use."""
    password: NewPassword
    """New password, 8 to 128 characters."""


class ConfirmEmail(Struct, kw_only=True):
    """Request body for confirming an email address."""

    token: EmailToken
    """Token in the link that confirms the address; valid for 24 hours and for one use."""


class ChangeEmail(Struct, kw_only=True):
    """Request body for changing the email address."""

    password: Password
    """Current password."""
    email: EmailAddress
    """New email address."""


class EmailSettings(Struct, kw_only=True):
    """The email address of the current user."""

    email: str | None
    """Email address of the account; null if it has none."""
    verified: bool
    """Whether `email` is confirmed; false if the account has no email address."""
    pending_email: str | None
    """New email address that replaces `email` when the user confirms it; null if no change is pending."""
    mail_enabled: bool
    """Whether the server sends mail; without it, addresses cannot be confirmed and passwords cannot be reset."""


FORGOT_PASSWORD = Operation(
    "POST",
    "/auth/forgot",
    body=ForgotPassword,
    auth=Auth.ANONYMOUS,
    raises=(errors.FORBIDDEN,),
    limit=EMAIL_LIMIT,
)

RESET_PASSWORD = Operation(
    "POST",
    "/auth/reset",
    body=ResetPassword,
    auth=Auth.ANONYMOUS,
    limit=LOGIN_LIMIT,
    emits=(users.USER_UPDATE, oauth2.OAUTH2_TOKEN_REVOKE),
)

CONFIRM_EMAIL = Operation(
    "POST",
    "/auth/verify",
    body=ConfirmEmail,
    auth=Auth.USER | Auth.ANONYMOUS,
    limit=LOGIN_LIMIT,
    emits=(users.USER_UPDATE,),
)

GET_EMAIL = Operation("GET", "/users/@me/email", result=EmailSettings, auth=Auth.USER)

CHANGE_EMAIL = Operation(
    "POST",
    "/users/@me/email",
    body=ChangeEmail,
    result=EmailSettings,
    auth=Auth.USER,
    limit=EMAIL_LIMIT,
    emits=(users.USER_UPDATE,),
)

RESEND_CONFIRMATION = Operation(
    "POST",
    "/auth/verify/resend",
    auth=Auth.USER,
    raises=(errors.FORBIDDEN, errors.BAD_REQUEST),
    limit=EMAIL_LIMIT,
)
