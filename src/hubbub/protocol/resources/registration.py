"""Registration of users: modes, invites of the server, and requests that operators approve.

The public API does not have these routes.
"""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.accounts import EmailAddress
from hubbub.protocol.resources.administration import (
    PAGE_LIMIT_DEFAULT,
    READ_LIMIT,
    WRITE_LIMIT,
    AdministrativeAction,
    PageLimit,
    Reason,
)

INVITE_NOTE_MAX: Final = 100
"""Maximum length of the note of a registration invite, in characters."""
INVITE_USES_MAX: Final = 10_000
"""Maximum number of registrations with one invite."""
INVITE_DAYS_MAX: Final = 365
"""Maximum validity of a registration invite, in days."""
INVITE_DAYS_DEFAULT: Final = 7


class RegistrationMode(StrEnum):
    """Condition under which visitors can register."""

    OPEN = "open"
    """Every visitor can register."""
    INVITE = "invite"
    """Visitors with a registration invite can register."""
    APPROVAL = "approval"
    """Visitors can register, and log in when an operator has approved them. An invite replaces the approval."""
    CLOSED = "closed"
    """Visitors cannot register."""


class RegistrationSettings(Struct, kw_only=True):
    """Conditions under which visitors can create an account, for the registration form."""

    mode: RegistrationMode
    """Condition under which visitors can register."""
    email_required: bool
    """Whether an email address is required."""
    member_invites: bool
    """Whether users can create registration invites."""


class RegistrationInvite(Struct, kw_only=True):
    """An invite with which visitors register."""

    id: Snowflake
    """ID of the invite."""
    note: str
    """Note of the creator; empty for none."""
    uses: int
    """Number of registrations with the invite."""
    uses_max: int | None
    """Maximum number of registrations; null for no limit."""
    created_at: Timestamp
    """Time at which the invite was created."""
    expires_at: Timestamp | None
    """Time at which the invite expires; null if it does not expire."""
    creator_id: UserId | None
    """ID of the creator; null for the command line."""
    creator_name: str | None
    """Username of the creator; null for the command line."""


class NewRegistrationInvite(RegistrationInvite, kw_only=True):
    """A new invite with its code, which is shown once."""

    code: str | None
    """Code of the invite, of which only the hash is stored; null if the invite was sent by mail."""
    url: str | None
    """URL of the registration page with the code; null if the invite was sent by mail."""


class CreateRegistrationInvite(Struct, kw_only=True):
    """Request body for creating a registration invite as an operator."""

    note: Annotated[str, Meta(max_length=INVITE_NOTE_MAX)] = ""
    """Note, for example the recipient; empty or absent for none."""
    email: EmailAddress | None = None
    """Address to which the link is sent by mail; null or absent returns the link instead."""
    uses_max: Annotated[int, Meta(ge=1, le=INVITE_USES_MAX)] | None = 1
    """Maximum number of registrations; null for no limit, absent for one."""
    expires_in_days: Annotated[int, Meta(ge=1, le=INVITE_DAYS_MAX)] | None = INVITE_DAYS_DEFAULT
    """Validity in days; null for no limit, absent for seven."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


class CreateMyRegistrationInvite(Struct, kw_only=True):
    """Request body for creating a registration invite as a user; it is valid for seven days and one registration."""

    note: Annotated[str, Meta(max_length=INVITE_NOTE_MAX)] = ""
    """Note, for example the recipient; empty or absent for none."""
    email: EmailAddress | None = None
    """Address to which the link is sent by mail; null or absent returns the link instead."""


class RegistrationState(StrEnum):
    """State of a request for registration."""

    PENDING = "pending"
    REJECTED = "rejected"


class RegistrationRequest(Struct, kw_only=True):
    """A registered account that an operator has to approve or has rejected."""

    id: UserId
    """ID of the user."""
    username: str
    """Username of the account."""
    email: str | None
    """Email address of the account; null for none."""
    email_confirmed: bool
    """Whether the user confirmed the address."""
    message: str
    """Message of the user to the operators; empty for none."""
    created_at: Timestamp
    """Time of the registration."""
    state: RegistrationState
    """State of the request."""
    reason: str | None
    """Reason of a rejection, which the user sees; null for none."""


class ListRegistrations(Struct, kw_only=True):
    """Query of the requests for registration."""

    state: RegistrationState = RegistrationState.PENDING
    """State of the requests."""
    after: UserId | None = None
    """Return requests of users with higher IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of requests, 1 to 100."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)

GET_REGISTRATION_SETTINGS = Operation(
    "GET", "/auth/registration", result=RegistrationSettings, auth=Auth.NONE, limit=READ_LIMIT
)

LIST_MY_REGISTRATION_INVITES = Operation(
    "GET", "/users/@me/registration-invites", result=list[RegistrationInvite], auth=Auth.USER, limit=READ_LIMIT
)

CREATE_MY_REGISTRATION_INVITE = Operation(
    "POST",
    "/users/@me/registration-invites",
    body=CreateMyRegistrationInvite,
    result=NewRegistrationInvite,
    status=201,
    auth=Auth.USER,
    raises=(errors.FORBIDDEN,),
    limit=WRITE_LIMIT,
)

DELETE_MY_REGISTRATION_INVITE = Operation(
    "DELETE",
    "/users/@me/registration-invites/{registration_invite_id}",
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
    limit=WRITE_LIMIT,
)

LIST_REGISTRATION_INVITES = Operation(
    "GET",
    "/admin/registration-invites",
    result=list[RegistrationInvite],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

CREATE_REGISTRATION_INVITE = Operation(
    "POST",
    "/admin/registration-invites",
    body=CreateRegistrationInvite,
    result=NewRegistrationInvite,
    status=201,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_RAISES,
    limit=WRITE_LIMIT,
)

DELETE_REGISTRATION_INVITE = Operation(
    "POST",
    "/admin/registration-invites/{registration_invite_id}/delete",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)

LIST_REGISTRATIONS = Operation(
    "GET",
    "/admin/registrations",
    query=ListRegistrations,
    result=list[RegistrationRequest],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

APPROVE_REGISTRATION = Operation(
    "POST",
    "/admin/registrations/{user_id}/approve",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)

REJECT_REGISTRATION = Operation(
    "POST",
    "/admin/registrations/{user_id}/reject",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)
