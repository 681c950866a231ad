"""Users who are added to a rehearsal, their tokens, and account bans."""

from datetime import datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hubbub.protocol import errors
from hubbub.protocol.control.declaration import control_operation
from hubbub.protocol.control.ready import WorldUser
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources.accounts import PASSWORD_MAX


class CreateUser(msgspec.Struct, kw_only=True):
    """A new user."""

    username: str
    global_name: str | None = None
    password: Annotated[str, Meta(min_length=1, max_length=PASSWORD_MAX)] | None = None
    """The password; by default a random one."""


class Token(msgspec.Struct, kw_only=True):
    """A new token of a user."""

    user_id: UserId
    token: str


class BanUser(msgspec.Struct, kw_only=True):
    """The end and the reason of an account ban."""

    until: datetime | None = None
    """The end of the ban; null for a permanent ban."""
    reason: Annotated[str, Meta(max_length=512)] | None = None


CREATE_USER: Final = control_operation("POST", "/users", body=CreateUser, result=WorldUser)
CREATE_TOKEN: Final = control_operation(
    "POST", "/users/{user_id}/tokens", errors.UNKNOWN_USER, errors.BOTS_CANNOT_USE_ENDPOINT, result=Token
)
BAN_USER: Final = control_operation("POST", "/users/{user_id}/ban", errors.UNKNOWN_USER, body=BanUser)
UNBAN_USER: Final = control_operation("DELETE", "/users/{user_id}/ban", errors.NOT_FOUND)
