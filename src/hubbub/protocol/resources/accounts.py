"""Accounts: how a person gets a token of their own. These routes are ours; the public description has none of them."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources import users
from hubbub.protocol.resources.oauth2 import OAUTH2_TOKEN_REVOKE
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, MyUser, Username

PASSWORD_MIN = 8
PASSWORD_MAX = 128
EMAIL_MAX = 254

REGISTER_LIMIT = RateLimit(5, 60.0)
LOGIN_LIMIT = RateLimit(10, 60.0)

NewPassword = Annotated[str, Meta(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX)]
Password = Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)]

TOTP_STEP_SECONDS: Final = 30
TOTP_DIGITS: Final = 6
BACKUP_CODES: Final = 10
MFA_TICKET_SECONDS: Final = 300

Code = Annotated[str, Meta(min_length=TOTP_DIGITS, max_length=24)]
"""Six digits of the authenticator, or a backup code."""


class Register(Struct, kw_only=True):
    """A new account."""

    username: Username
    password: NewPassword
    email: Annotated[str, Meta(max_length=EMAIL_MAX, pattern=r"^[^@\s]+@[^@\s]+$")] | None | UnsetType = UNSET
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET


class Login(Struct, kw_only=True):
    """A name or an address, and its password."""

    login: Annotated[str, Meta(min_length=1, max_length=EMAIL_MAX)]
    password: Password


class Session(Struct, kw_only=True):
    """A signed-in person."""

    user_id: UserId
    token: str
    """Sent back as `Authorization: <token>`, without a prefix."""


class LoginResult(Struct, kw_only=True):
    """A signed-in person, or one who still owes the code of their authenticator."""

    user_id: UserId
    token: str | None
    """Null where a code is still owed."""
    mfa: bool = False
    ticket: str | UnsetType = UNSET
    """Goes with the code; good for five minutes."""


class LoginWithCode(Struct, kw_only=True):
    """The second half of a login."""

    ticket: Annotated[str, Meta(min_length=1, max_length=128)]
    code: Code


class AccountSession(Struct, kw_only=True):
    """One of a person's own tokens, by what is known of how it was got."""

    id: Snowflake
    created_at: str
    current: bool
    """The one that asks."""
    ip: str | None
    user_agent: str | None


class ChangePassword(Struct, kw_only=True):
    """The old password and the new one."""

    password: Password
    new_password: NewPassword


class EnableTotp(Struct, kw_only=True):
    """An authenticator, proven by a code of it."""

    password: Password
    secret: Annotated[str, Meta(min_length=26, max_length=128)]
    """Base32, 128 bits at least; the person's own program makes it."""
    code: Code


class DisableTotp(Struct, kw_only=True):
    """That no code is wanted any more."""

    password: Password
    code: Code


class BackupCodes(Struct, kw_only=True):
    """Codes for the day the authenticator is lost, each good once; shown this once."""

    backup_codes: list[str]


class DeleteAccount(Struct, kw_only=True):
    """That a person wants to be gone, proven once more."""

    password: Password
    code: Code | UnsetType = UNSET
    """Of the authenticator, where there is one."""


class Harvest(Struct, kw_only=True):
    """What is kept of a person; their messages come in pages (`GET /users/@me/harvest/messages`)."""

    created_at: str
    """When the account was made."""
    user: MyUser
    sessions: list[AccountSession]
    records: dict[str, Any]
    """What each part of the platform keeps of them, by its name."""


# What a session was got with is shown to its owner.
_SIGNING_IN: Final = ("User-Agent",)

AUTH_REGISTER = Operation(
    "POST",
    "/auth/register",
    body=Register,
    result=Session,
    status=201,
    auth=Auth.ANYONE,
    raises=(errors.FORBIDDEN,),
    limit=REGISTER_LIMIT,
    headers=_SIGNING_IN,
)

AUTH_LOGIN = Operation(
    "POST",
    "/auth/login",
    body=Login,
    result=LoginResult,
    auth=Auth.ANYONE,
    limit=LOGIN_LIMIT,
    headers=_SIGNING_IN,
)

AUTH_LOGIN_WITH_TOTP = Operation(
    "POST",
    "/auth/mfa/totp",
    body=LoginWithCode,
    result=Session,
    auth=Auth.ANYONE,
    limit=LOGIN_LIMIT,
    headers=_SIGNING_IN,
)

AUTH_LOGOUT = Operation("POST", "/auth/logout", auth=Auth.USER)
"""Ends the token that the call carries; a bot is refused with 20001."""

LIST_AUTH_SESSIONS = Operation("GET", "/auth/sessions", result=list[AccountSession], auth=Auth.USER)

DELETE_AUTH_SESSION = Operation(
    "DELETE", "/auth/sessions/{session_id}", auth=Auth.USER, raises=(errors.UNKNOWN_SESSION,)
)

DELETE_OTHER_AUTH_SESSIONS = Operation("DELETE", "/auth/sessions", auth=Auth.USER)
"""Ends all but the one that asks."""

CHANGE_PASSWORD = Operation("POST", "/auth/password", body=ChangePassword, auth=Auth.USER, limit=LOGIN_LIMIT)
"""Ends all sessions but the one that asks."""

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

DELETE_ACCOUNT = Operation(
    "POST",
    "/users/@me/delete",
    body=DeleteAccount,
    auth=Auth.USER,
    raises=(errors.MUST_TRANSFER_OWNERSHIP,),
    limit=LOGIN_LIMIT,
    emits=(OAUTH2_TOKEN_REVOKE,),
)
"""For good: what the person wrote stays, by a deleted user. Their guilds and applications need another owner first."""

HARVEST = Operation("GET", "/users/@me/harvest", result=Harvest, auth=Auth.USER)
