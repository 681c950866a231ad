"""Decisions of operators about accounts, and appeals against them. The public API does not have these routes."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.accounts import Login
from hubbub.protocol.resources.administration import PAGE_LIMIT_DEFAULT, READ_LIMIT, WRITE_LIMIT, PageLimit, Reason
from hubbub.protocol.resources.messages import MESSAGE_CREATE

APPEAL_MAX: Final = 2000
"""Maximum length of an appeal, in characters."""

AppealText = Annotated[str, Meta(min_length=1, max_length=APPEAL_MAX)]


class DecisionAction(StrEnum):
    """Action of an operator that affects an account."""

    WARN = "warn"
    """The account was warned."""
    DELETE_MESSAGE = "delete_message"
    """A message of the account was deleted."""
    SUSPEND_USER = "suspend_user"
    """The account was suspended."""
    SUSPEND_GUILD = "suspend_guild"
    """A guild that the account owns was suspended."""


class AppealState(StrEnum):
    """Progress of an appeal against a decision of an operator."""

    PENDING = "pending"
    """No operator has decided about the appeal."""
    GRANTED = "granted"
    """An operator reversed the decision."""
    REJECTED = "rejected"
    """An operator confirmed the decision."""


class Appeal(Struct, kw_only=True):
    """The appeal of an account against a decision."""

    text: str
    """Text of the appeal."""
    created_at: Timestamp
    """Time of the appeal."""
    state: AppealState
    """State of the appeal."""
    note: str | None
    """Answer of the operator; null while the appeal is pending or without an answer."""


class ModerationDecision(Struct, kw_only=True):
    """A decision of an operator about an account."""

    id: Snowflake
    """ID of the decision."""
    action: DecisionAction
    """Action of the operator."""
    subject: str
    """Text of the reported message, or name of the account or guild; empty for none."""
    reason: str | None
    """Reason that the operator gave; null for none."""
    created_at: Timestamp
    """Time of the decision."""
    ends_at: Timestamp | None
    """End of a suspension; null if it does not end by itself, and for other actions."""
    revoked: bool
    """Whether an operator reversed the decision."""
    appeal: Appeal | None
    """Appeal of the account; null if there is none. An account can appeal once."""


class AdministeredDecision(ModerationDecision, kw_only=True):
    """A decision with the fields that operators can read."""

    user_id: UserId
    """ID of the affected account."""
    username: str | None
    """Username of the affected account; null for a deleted account."""
    operator_id: UserId | None
    """ID of the operator; null for the command line."""
    operator_name: str | None
    """Username of the operator; null on the command line and for a deleted account."""
    case_id: Snowflake | None
    """ID of the case with the reports that led to the decision; null for a decision without reports."""


class CreateAppeal(Struct, kw_only=True):
    """Request body for appealing against a decision."""

    text: AppealText
    """Reasons why the decision should be reversed."""


class CreateAppealWithPassword(Login, kw_only=True):
    """Request body for appealing against the suspension of an account that cannot log in."""

    text: AppealText
    """Reasons why the suspension should be lifted."""


class ListDecisions(Struct, kw_only=True):
    """Query of the decisions of operators."""

    appeal: AppealState | None = None
    """Return decisions with an appeal in this state only."""
    user_id: UserId | None = None
    """Return decisions about this account only."""
    before: Snowflake | None = None
    """Return decisions with lower IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of decisions, 1 to 100."""


class DecideAppeal(Struct, kw_only=True):
    """Request body for deciding about an appeal."""

    grant: bool
    """Whether to reverse the decision."""
    note: Reason | None = None
    """Answer to the account; null or absent for none."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)

LIST_MY_DECISIONS = Operation(
    "GET", "/users/@me/decisions", result=list[ModerationDecision], auth=Auth.USER, limit=READ_LIMIT
)

CREATE_APPEAL = Operation(
    "POST",
    "/users/@me/decisions/{decision_id}/appeal",
    body=CreateAppeal,
    result=ModerationDecision,
    auth=Auth.USER,
    raises=(errors.FORBIDDEN, errors.NOT_FOUND),
    limit=RateLimit(5, 60.0),
)

AUTH_APPEAL = Operation(
    "POST",
    "/auth/appeal",
    body=CreateAppealWithPassword,
    result=ModerationDecision,
    auth=Auth.NONE,
    raises=(errors.FORBIDDEN,),
    limit=RateLimit(10, 60.0),
)

LIST_DECISIONS = Operation(
    "GET",
    "/admin/decisions",
    query=ListDecisions,
    result=list[AdministeredDecision],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

DECIDE_APPEAL = Operation(
    "POST",
    "/admin/decisions/{decision_id}/appeal",
    body=DecideAppeal,
    result=AdministeredDecision,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    emits=(MESSAGE_CREATE,),
    limit=WRITE_LIMIT,
)
