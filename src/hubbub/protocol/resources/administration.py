"""Administration of the server by its operators. The public API does not have these routes.

Every operation requires a user who is an operator and has two-factor authentication enabled.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.accounts import AccountSession, DataExport
from hubbub.protocol.resources.data_exports import DataExportMessage, ListDataExportMessages

PAGE_LIMIT_MAX: Final = 100
"""Maximum number of entries in a page of a list."""
PAGE_LIMIT_DEFAULT: Final = 50
JOB_ERROR_MAX: Final = 500
"""Maximum length of the returned error of a job, in characters."""
REASON_MAX: Final = 512
"""Maximum length of the reason of an action, in characters."""
SEARCH_TEXT_MAX: Final = 100
"""Maximum length of a search text, in characters."""
GRACE_DAYS_DEFAULT: Final = 30
GRACE_DAYS_MAX: Final = 90
"""Maximum number of days between the deletion of an account, guild or application by an operator and its execution."""

READ_LIMIT = RateLimit(60, 60.0)
WRITE_LIMIT = RateLimit(30, 60.0)

Reason = Annotated[str, Meta(min_length=1, max_length=REASON_MAX, pattern=r"\S")]
"""Reason of an action, stored in the operator audit log."""
PageLimit = Annotated[int, Meta(ge=1, le=PAGE_LIMIT_MAX)]


class UserState(StrEnum):
    """State of accounts in a search."""

    SUSPENDED = "suspended"
    DELETING = "deleting"


class Operator(Struct, kw_only=True):
    """A user who administers the server."""

    user_id: UserId
    """ID of the user."""
    username: str
    """Username of the user."""
    role: OperatorRole
    """Role of the operator."""
    mfa_enabled: bool
    """Whether the user has two-factor authentication enabled, without which an operator cannot act."""
    granted_at: Timestamp
    """Time at which the role was granted."""


class SetOperator(Struct, kw_only=True):
    """Request body for granting or changing the role of an operator."""

    role: OperatorRole
    """New role of the user."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


class AdministrativeAction(Struct, kw_only=True):
    """Request body of an action that needs no input except a reason."""

    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


class OperatorAuditEntry(Struct, kw_only=True):
    """An action of an operator."""

    id: Snowflake
    """ID of the entry, which contains its time."""
    created_at: Timestamp
    """Time of the action."""
    operator_id: UserId | None
    """ID of the operator; null for an action on the command line."""
    operator_name: str | None
    """Current username of the operator; null on the command line and for a deleted account."""
    action: str
    """Name of the action, for example `user.suspend`."""
    target_kind: str
    """Kind of the target, for example `user`."""
    target_id: Snowflake | None
    """ID of the target; null if it has none."""
    target_name: str
    """Name of the target at the time of the action."""
    detail: str
    """Additional information about the action; empty for none."""
    reason: str | None
    """Reason that the operator gave; null for none."""


class ListOperatorAudit(Struct, kw_only=True):
    """Query of the operator audit log."""

    before: Snowflake | None = None
    """Return entries with lower IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of entries, 1 to 100."""
    operator_id: UserId | None = None
    """Return actions of this operator only."""
    action: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] | None = None
    """Return actions with this name only, for example `user.suspend`."""
    target_id: Snowflake | None = None
    """Return actions on this target only."""


class Suspension(Struct, kw_only=True):
    """The suspension of an account."""

    reason: str | None
    """Reason that the user sees at login; null for none."""
    created_at: Timestamp
    """Time at which the account was suspended."""
    ends_at: Timestamp | None
    """End of the suspension; null if it does not end by itself."""


class ScheduledDeletion(Struct, kw_only=True):
    """The scheduled deletion of an account, guild or application."""

    reason: str
    """Reason that the operator gave."""
    created_at: Timestamp
    """Time at which the deletion was scheduled."""
    due_at: Timestamp
    """Time at which the account, guild or application is deleted."""


class AdministeredUser(Struct, kw_only=True):
    """An account with the fields that operators can read."""

    id: UserId
    """ID of the user."""
    username: str
    """Username of the user."""
    global_name: str | None
    """Display name of the user; null if not set."""
    avatar: str | None
    """Hash of the avatar; null if not set."""
    email: str | None
    """Email address of the user; null if not set."""
    verified: bool
    """Whether the email address is confirmed."""
    mfa_enabled: bool
    """Whether two-factor authentication is enabled."""
    created_at: Timestamp
    """Time at which the account was created."""
    operator_role: OperatorRole | None
    """Role of the user as an operator; null if the user is not one."""
    suspension: Suspension | None
    """Suspension of the account; null if it is not suspended."""
    deletion: ScheduledDeletion | None
    """Scheduled deletion of the account; null if there is none."""


class AdministeredUserDetails(AdministeredUser, kw_only=True):
    """An account with its login sessions."""

    sessions: list[AccountSession]
    """Login sessions of the user, newest first."""


class SearchUsers(Struct, kw_only=True):
    """Query of a search for accounts."""

    query: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] = ""
    """Part of the username or display name, or the whole ID or email address; empty for all accounts."""
    username: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] | None = None
    """Return only the account with exactly this username; other filters are then ignored."""
    state: UserState | None = None
    """Return accounts in this state only; `query` is then ignored."""
    after: Snowflake | None = None
    """Return accounts with higher IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of accounts, 1 to 100."""


class SuspendUser(Struct, kw_only=True):
    """Request body for suspending an account."""

    reason: Reason
    """Reason, which the user sees at login."""
    ends_at: datetime | None = None
    """End of the suspension; null or absent for a suspension that does not end by itself."""


class DeleteUser(Struct, kw_only=True):
    """Request body for deleting an account."""

    reason: Reason
    """Reason for the audit log."""
    grace_days: Annotated[int, Meta(ge=0, le=GRACE_DAYS_MAX)] = GRACE_DAYS_DEFAULT
    """Number of days in which the account can be restored, 0 to 90."""


class JobState(StrEnum):
    """State of jobs that operators can retry."""

    FAILED = "failed"
    """Failed permanently; a worker tries the job again only if an operator retries it."""
    RETRYING = "retrying"
    """Failed at least once and waits for the next attempt."""


class JobQueue(Struct, kw_only=True):
    """Numbers of background jobs of one kind, for example deliveries of webhook events."""

    kind: str
    """Kind of the jobs."""
    waiting: int
    """Number of jobs that were not tried yet, including jobs that become due later."""
    retrying: int
    """Number of jobs that failed at least once and wait for the next attempt."""
    failed: int
    """Number of jobs that failed permanently."""
    oldest_due_at: Timestamp | None
    """Earliest due time of the unfinished jobs that are due; null if there is none. Jobs without a due time do not count."""


class AdministeredJob(Struct, kw_only=True):
    """A background job without its content, which may be private."""

    id: Snowflake
    """ID of the job."""
    kind: str
    """Kind of the job."""
    state: JobState
    """State of the job."""
    attempts: int
    """Number of attempts."""
    next_attempt_at: Timestamp | None
    """Time of the next attempt; null for a job that failed permanently."""
    error: str | None
    """Error of the last attempt; null if it was not stored."""


class ListJobs(Struct, kw_only=True):
    """Query of the background jobs."""

    state: JobState = JobState.FAILED
    """State of the jobs."""
    kind: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] | None = None
    """Return jobs of this kind only."""
    after: Snowflake | None = None
    """Return jobs with higher IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of jobs, 1 to 100."""


class RetriedJobs(Struct, kw_only=True):
    """Result of retrying the failed jobs of a kind."""

    count: int
    """Number of jobs that are tried again."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)
_USER_RAISES: Final = (*_RAISES, errors.UNKNOWN_USER)

GET_MY_OPERATOR = Operation(
    "GET",
    "/admin/operators/@me",
    result=Operator,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

LIST_OPERATORS = Operation(
    "GET",
    "/admin/operators",
    result=list[Operator],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

SET_OPERATOR = Operation(
    "PUT",
    "/admin/operators/{user_id}",
    body=SetOperator,
    result=Operator,
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

REMOVE_OPERATOR = Operation(
    "POST",
    "/admin/operators/{user_id}/remove",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

LIST_OPERATOR_ACTIONS = Operation(
    "GET",
    "/admin/audit-log",
    query=ListOperatorAudit,
    result=list[OperatorAuditEntry],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

SEARCH_USERS = Operation(
    "GET",
    "/admin/users",
    query=SearchUsers,
    result=list[AdministeredUser],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

GET_ADMINISTERED_USER = Operation(
    "GET",
    "/admin/users/{user_id}",
    result=AdministeredUserDetails,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_USER_RAISES,
    limit=READ_LIMIT,
)

SUSPEND_USER = Operation(
    "POST",
    "/admin/users/{user_id}/suspend",
    body=SuspendUser,
    result=AdministeredUser,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_USER_RAISES, errors.ACCOUNT_IS_PROVISIONAL),
    limit=WRITE_LIMIT,
)

UNSUSPEND_USER = Operation(
    "POST",
    "/admin/users/{user_id}/unsuspend",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredUser,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

END_USER_SESSIONS = Operation(
    "POST",
    "/admin/users/{user_id}/end-sessions",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

DELETE_USER = Operation(
    "POST",
    "/admin/users/{user_id}/delete",
    body=DeleteUser,
    result=AdministeredUser,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_USER_RAISES, errors.ACCOUNT_IS_PROVISIONAL, errors.MUST_TRANSFER_OWNERSHIP),
    limit=WRITE_LIMIT,
)

EXPORT_USER = Operation(
    "POST",
    "/admin/users/{user_id}/export",
    body=AdministrativeAction,
    optional_body=True,
    result=DataExport,
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

LIST_EXPORTED_MESSAGES = Operation(
    "GET",
    "/admin/users/{user_id}/export/messages",
    query=ListDataExportMessages,
    result=list[DataExportMessage],
    auth=Auth.USER,
    operator=OperatorRole.OWNER,
    raises=_USER_RAISES,
    limit=READ_LIMIT,
)

RESTORE_USER = Operation(
    "POST",
    "/admin/users/{user_id}/restore",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredUser,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_USER_RAISES,
    limit=WRITE_LIMIT,
)

LIST_JOB_QUEUES = Operation(
    "GET",
    "/admin/queues",
    result=list[JobQueue],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

RETRY_JOB_QUEUE = Operation(
    "POST",
    "/admin/queues/{job_kind}/retry",
    body=AdministrativeAction,
    optional_body=True,
    result=RetriedJobs,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_RAISES,
    limit=WRITE_LIMIT,
)

LIST_JOBS = Operation(
    "GET",
    "/admin/jobs",
    query=ListJobs,
    result=list[AdministeredJob],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

RETRY_JOB = Operation(
    "POST",
    "/admin/jobs/{job_id}/retry",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)

DISCARD_JOB = Operation(
    "POST",
    "/admin/jobs/{job_id}/discard",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)
