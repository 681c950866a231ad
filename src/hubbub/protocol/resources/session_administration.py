"""Administration of login sessions by operators. The public API does not have these routes."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.accounts import AccountSession
from hubbub.protocol.resources.administration import (
    PAGE_LIMIT_DEFAULT,
    READ_LIMIT,
    WRITE_LIMIT,
    AdministrativeAction,
    PageLimit,
)

ADDRESS_TEXT_MAX: Final = 45
"""Maximum length of an address in a search, in characters: that of the longest IPv6 address."""


class AdministeredSession(AccountSession, kw_only=True):
    """A login session with its user."""

    user_id: UserId
    """ID of the user."""
    username: str
    """Username of the user."""


class ListSessions(Struct, kw_only=True):
    """Query of the login sessions."""

    address: Annotated[str, Meta(max_length=ADDRESS_TEXT_MAX)] = ""
    """IP address of the login, or its beginning and `*`, such as `192.0.2.*`; empty for all sessions."""
    user_id: UserId | None = None
    """Return sessions of this user only."""
    before: Snowflake | None = None
    """Return sessions with lower IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of sessions, 1 to 100."""


LIST_SESSIONS = Operation(
    "GET",
    "/admin/sessions",
    query=ListSessions,
    result=list[AdministeredSession],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=(errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED),
    limit=READ_LIMIT,
)

END_SESSION = Operation(
    "POST",
    "/admin/sessions/{session_id}/end",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED, errors.UNKNOWN_SESSION),
    limit=WRITE_LIMIT,
)
