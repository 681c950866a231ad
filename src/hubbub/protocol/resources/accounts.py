"""Accounts: how a person gets a token of their own. These routes are ours; the public description has none of them."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol.ids import UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.resources.users import GLOBAL_NAME_MAX, Username

PASSWORD_MIN = 8
PASSWORD_MAX = 128
EMAIL_MAX = 254

REGISTER_LIMIT = RateLimit(5, 60.0)
LOGIN_LIMIT = RateLimit(10, 60.0)


class Register(Struct, kw_only=True):
    """A new account."""

    username: Username
    password: Annotated[str, Meta(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX)]
    email: Annotated[str, Meta(max_length=EMAIL_MAX, pattern=r"^[^@\s]+@[^@\s]+$")] | None | UnsetType = UNSET
    global_name: Annotated[str, Meta(max_length=GLOBAL_NAME_MAX)] | None | UnsetType = UNSET


class Login(Struct, kw_only=True):
    """A name or an address, and its password."""

    login: Annotated[str, Meta(min_length=1, max_length=EMAIL_MAX)]
    password: Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)]


class Session(Struct, kw_only=True):
    """A signed-in person."""

    user_id: UserId
    token: str
    """Sent back as `Authorization: <token>`, without a prefix."""


AUTH_REGISTER = Operation(
    "POST", "/auth/register", body=Register, result=Session, status=201, auth=Auth.ANYONE, limit=REGISTER_LIMIT
)

AUTH_LOGIN = Operation("POST", "/auth/login", body=Login, result=Session, auth=Auth.ANYONE, limit=LOGIN_LIMIT)

AUTH_LOGOUT = Operation("POST", "/auth/logout", auth=Auth.USER)
"""Ends the token that the call carries; a bot is refused with 20001."""
