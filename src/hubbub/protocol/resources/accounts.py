"""Accounts: registration, login, login sessions, passwords, two-factor authentication, deletion and data export.

The public API does not have these routes.
"""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources import users
from hubbub.protocol.resources.oauth2 import OAUTH2_TOKEN_REVOKE
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, MyUser, Username

PASSWORD_MIN = 8
"""Minimum length of a new password in characters."""
PASSWORD_MAX = 128
EMAIL_MAX = 254

REGISTER_LIMIT = RateLimit(5, 60.0)
LOGIN_LIMIT = RateLimit(10, 60.0)

NewPassword = Annotated[str, Meta(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX)]
"""A password to set."""
Password = Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)]
"""A password to check against the stored one; it may be shorter than a new password must be."""

TOTP_STEP_SECONDS: Final = 30
"""Time in seconds for which an authenticator app shows a code."""
TOTP_DIGITS: Final = 6
MFA_CODE_MAX: Final = 24
"""Maximum length of a two-factor code in a request; backup codes are longer than codes of an app."""
BACKUP_CODE_COUNT: Final = 10
MFA_TICKET_SECONDS: Final = 300
"""Validity in seconds of the ticket between the password and the two-factor code of a login."""
MFA_TICKETS_MAX: Final = 10
"""Maximum number of valid MFA tickets per user; a further login deletes the oldest."""
INVITE_CODE_MAX: Final = 64
"""Maximum length of the code of a registration invite in a request, in characters."""
REGISTRATION_MESSAGE_MAX: Final = 500
"""Maximum length of the message of a user who registers, in characters."""
RECENT_SIGN_IN_SECONDS: Final = 600
"""Maximum age in seconds of a login with which a user without a password confirms a sensitive action."""
SESSIONS_MAX: Final = 100
"""Maximum number of login sessions per user; a further login revokes the oldest."""

EmailAddress = Annotated[str, Meta(max_length=EMAIL_MAX, pattern=r"^[^@\s\"(),:;<>\[\\\]]+@[^@\s\"(),:;<>\[\\\]]+$")]
"""An email address without quotes, comments or a display name."""

MfaCode = Annotated[str, Meta(min_length=TOTP_DIGITS, max_length=MFA_CODE_MAX)]
"""Six-digit code of the authenticator app, or a backup code."""


class Register(Struct, kw_only=True):
    """Request body for registering an account."""

    username: Username
    """Unique username of the account."""
    password: NewPassword
    """Password of the account, 8 to 128 characters."""
    email: EmailAddress | None | UnsetType = UNSET
    """Email address of the account; absent or null for an account without one."""
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET
    """Display name of the user; absent or null shows the username instead."""
    locale: str | UnsetType = UNSET
    """Locale of the user; absent for `en-US`."""
    invite: Annotated[str, Meta(max_length=INVITE_CODE_MAX)] | None | UnsetType = UNSET
    """Code of a registration invite; absent or null for none."""
    message: Annotated[str, Meta(max_length=REGISTRATION_MESSAGE_MAX)] | UnsetType = UNSET
    """Message to the operators who approve the registration; absent for none."""
    accepted: dict[str, int] | UnsetType = UNSET
    """Accepted versions of the server's documents by kind, such as `terms`; required if the server has documents."""


class Login(Struct, kw_only=True):
    """Request body for logging in with a password."""

    login: Annotated[str, Meta(min_length=1, max_length=EMAIL_MAX)]
    """Username or email address of the account."""
    password: Password
    """Password of the account."""


class SessionToken(Struct, kw_only=True):
    """A new login session and its token."""

    user_id: UserId
    """ID of the user who owns the session."""
    token: str
    """Token of the session, sent as `Authorization: <token>` without a prefix."""


class RegistrationResult(Struct, kw_only=True):
    """Result of a registration: a session, or an account that an operator has to approve."""

    user_id: UserId
    """ID of the new user."""
    token: str | None
    """Token of the session; null until an operator approves the account."""
    pending: bool = False
    """Whether an operator has to approve the account before the user can log in."""


class LoginResult(Struct, kw_only=True):
    """Result of a login: a session, or a ticket when a two-factor code is still required."""

    user_id: UserId
    """ID of the user who logs in."""
    token: str | None
    """Token of the session; null while a two-factor code is required."""
    mfa: bool = False
    """Whether a two-factor code is required to complete the login."""
    ticket: str | UnsetType = UNSET
    """Ticket to send together with the two-factor code; valid for five minutes. Present only if `mfa` is true."""


class LoginWithCode(Struct, kw_only=True):
    """Request body for completing a login with a two-factor code."""

    ticket: Annotated[str, Meta(min_length=1, max_length=128)]
    """Ticket returned by the login request."""
    code: MfaCode
    """Code of the authenticator app, or an unused backup code."""


class AccountSession(Struct, kw_only=True):
    """A login session of the current user, with the client details recorded at login."""

    id: Snowflake
    """ID of the session."""
    created_at: str
    """Time of the login, ISO 8601."""
    current: bool
    """Whether the token of this session authenticates the request."""
    ip: str | None
    """IP address of the client at login; null if unknown."""
    user_agent: str | None
    """`User-Agent` header of the client at login; null if it sent none."""


class ChangePassword(Struct, kw_only=True):
    """Request body for changing the password."""

    password: Password
    """Current password."""
    new_password: NewPassword
    """New password, 8 to 128 characters."""


class SetPassword(Struct, kw_only=True):
    """Request body for setting the first password."""

    new_password: NewPassword
    """New password, 8 to 128 characters."""


class QrCode(Struct, kw_only=True):
    """A QR code as a vector graphic."""

    size: int
    """Width and height of the graphic with its border, in modules."""
    path: str
    """Dark modules as the path data of an SVG `path` element; one unit is one module."""


class TotpSecret(Struct, kw_only=True):
    """A new secret for an authenticator app; the server does not store it."""

    secret: str
    """Base32 secret of 160 bits, to type into an authenticator app."""
    otpauth_url: str
    """URL with the secret that authenticator apps open."""
    qr_code: QrCode
    """QR code of `otpauth_url`."""


class EnableTotp(Struct, kw_only=True):
    """Request body for enabling two-factor authentication."""

    password: Password
    """Current password."""
    secret: Annotated[str, Meta(min_length=26, max_length=128)]
    """Base32 secret of at least 128 bits: a new one from the server, or one that the client generated."""
    code: MfaCode
    """Current code that the authenticator app derives from the secret."""


class DisableTotp(Struct, kw_only=True):
    """Request body for disabling two-factor authentication."""

    password: Password
    """Current password."""
    code: MfaCode
    """Code of the authenticator app, or an unused backup code."""


class ReplaceBackupCodes(Struct, kw_only=True):
    """Request body for replacing the backup codes."""

    password: Password
    """Current password."""
    code: MfaCode
    """Code of the authenticator app, or an unused backup code."""


class BackupCodes(Struct, kw_only=True):
    """Backup codes for two-factor authentication."""

    backup_codes: list[str]
    """Ten single-use codes that replace a code of the authenticator app; returned only once."""


class DeleteAccount(Struct, kw_only=True):
    """Request body for deleting the current user's account."""

    password: Password
    """Current password."""
    code: MfaCode | UnsetType = UNSET
    """Code of the authenticator app, or an unused backup code; absent if two-factor authentication is disabled."""


class DataExport(Struct, kw_only=True):
    """Export of the data stored about a user; messages are exported by `GET /users/@me/harvest/messages`."""

    created_at: str
    """Time the account was created, ISO 8601."""
    user: MyUser
    """User whose data is exported."""
    sessions: list[AccountSession]
    """Login sessions of the user."""
    records: dict[str, Any]
    """Data that each resource stores about the user, by resource name."""


# The `user_agent` of an `AccountSession` comes from this header.
_LOGIN_HEADERS: Final = ("User-Agent",)

AUTH_REGISTER = Operation(
    "POST",
    "/auth/register",
    body=Register,
    result=RegistrationResult,
    status=201,
    auth=Auth.ANONYMOUS,
    raises=(errors.FORBIDDEN, errors.FEATURE_DISABLED),
    limit=REGISTER_LIMIT,
    headers=_LOGIN_HEADERS,
)

AUTH_LOGIN = Operation(
    "POST",
    "/auth/login",
    body=Login,
    result=LoginResult,
    auth=Auth.ANONYMOUS,
    limit=LOGIN_LIMIT,
    headers=_LOGIN_HEADERS,
)

AUTH_LOGIN_WITH_TOTP = Operation(
    "POST",
    "/auth/mfa/totp",
    body=LoginWithCode,
    result=SessionToken,
    auth=Auth.ANONYMOUS,
    limit=LOGIN_LIMIT,
    headers=_LOGIN_HEADERS,
)

AUTH_LOGOUT = Operation("POST", "/auth/logout", auth=Auth.USER)

LIST_AUTH_SESSIONS = Operation("GET", "/auth/sessions", result=list[AccountSession], auth=Auth.USER)

DELETE_AUTH_SESSION = Operation(
    "DELETE", "/auth/sessions/{session_id}", auth=Auth.USER, raises=(errors.UNKNOWN_SESSION,)
)

DELETE_OTHER_AUTH_SESSIONS = Operation("DELETE", "/auth/sessions", auth=Auth.USER)

CHANGE_PASSWORD = Operation("POST", "/auth/password", body=ChangePassword, auth=Auth.USER, limit=LOGIN_LIMIT)

SET_PASSWORD = Operation(
    "PUT",
    "/auth/password",
    body=SetPassword,
    auth=Auth.USER,
    raises=(errors.FORBIDDEN,),
    limit=LOGIN_LIMIT,
)

CREATE_TOTP_SECRET = Operation("POST", "/users/@me/mfa/totp/secret", result=TotpSecret, auth=Auth.USER)

ENABLE_TOTP = Operation(
    "POST",
    "/users/@me/mfa/totp/enable",
    body=EnableTotp,
    result=BackupCodes,
    auth=Auth.USER,
    limit=LOGIN_LIMIT,
    emits=(users.USER_UPDATE,),
)

DISABLE_TOTP = Operation(
    "POST",
    "/users/@me/mfa/totp/disable",
    body=DisableTotp,
    auth=Auth.USER,
    limit=LOGIN_LIMIT,
    emits=(users.USER_UPDATE,),
)

REPLACE_BACKUP_CODES = Operation(
    "POST",
    "/users/@me/mfa/backup-codes",
    body=ReplaceBackupCodes,
    result=BackupCodes,
    auth=Auth.USER,
    raises=(errors.FORBIDDEN,),
    limit=LOGIN_LIMIT,
)

DELETE_ACCOUNT = Operation(
    "POST",
    "/users/@me/delete",
    body=DeleteAccount,
    auth=Auth.USER,
    raises=(errors.MUST_TRANSFER_OWNERSHIP,),
    limit=LOGIN_LIMIT,
    emits=(OAUTH2_TOKEN_REVOKE,),
)

EXPORT_MY_DATA = Operation("GET", "/users/@me/harvest", result=DataExport, auth=Auth.USER)
