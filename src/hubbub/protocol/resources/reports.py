"""Reports of messages, users and guilds to the operators of the server. The public API does not have these routes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import ChannelId, GuildId, MessageId, Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation, RateLimit
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import PAGE_LIMIT_DEFAULT, READ_LIMIT, WRITE_LIMIT, PageLimit, Reason
from hubbub.protocol.resources.messages import MESSAGE_CREATE, MESSAGE_DELETE

REPORT_COMMENT_MAX: Final = 1000
"""Maximum length of the comment of a report, in characters."""
REPORT_CONTEXT_MAX: Final = 5
"""Maximum number of messages around a reported message that a report contains."""
AGE_HOURS_MAX: Final = 8760
"""Maximum age of cases in a filter, in hours."""


class ReportTarget(StrEnum):
    """Kind of a reported object."""

    MESSAGE = "message"
    USER = "user"
    GUILD = "guild"


class ReportReason(StrEnum):
    """Rule violation that a user reports to the operators."""

    SPAM = "spam"
    """Unwanted advertising, scams or repeated messages."""
    HARASSMENT = "harassment"
    """Insults, bullying or unwanted contact."""
    HATE = "hate"
    """Hate against a group of people."""
    VIOLENCE = "violence"
    """Threats or glorification of violence."""
    SEXUAL_CONTENT = "sexual_content"
    """Sexual content in the wrong place or without consent."""
    MINOR_SAFETY = "minor_safety"
    """Danger to minors."""
    SELF_HARM = "self_harm"
    """Danger that a user harms themselves."""
    MALWARE = "malware"
    """Harmful files or links."""
    IMPERSONATION = "impersonation"
    """A false identity."""
    ILLEGAL = "illegal"
    """Other illegal content."""
    OTHER = "other"
    """Another reason, explained in the comment."""


class ReportState(StrEnum):
    """State of a report or case."""

    OPEN = "open"
    DECIDED = "decided"


class CaseAction(StrEnum):
    """Decision of an operator about a case."""

    DISMISS = "dismiss"
    """No violation of the rules."""
    WARN = "warn"
    """Warn the account in a direct message of the system."""
    DELETE_MESSAGE = "delete_message"
    """Delete the reported message and notify its author."""
    SUSPEND_USER = "suspend_user"
    """Suspend the account."""
    SUSPEND_GUILD = "suspend_guild"
    """Suspend the reported guild, or the guild of the reported message."""


class CreateReport(Struct, kw_only=True):
    """Request body for reporting a message, user or guild."""

    kind: ReportTarget
    """Kind of the reported object."""
    id: Snowflake
    """ID of the message, user or guild."""
    channel_id: ChannelId | UnsetType = UNSET
    """ID of the channel of a reported message; required for a message."""
    reason: ReportReason
    """Reason of the report."""
    comment: Annotated[str, Meta(max_length=REPORT_COMMENT_MAX)] = ""
    """Explanation for the operators; empty or absent for none."""


class Report(Struct, kw_only=True):
    """A report with the fields that its reporter can read."""

    id: Snowflake
    """ID of the report."""
    kind: ReportTarget
    """Kind of the reported object."""
    target_id: Snowflake
    """ID of the message, user or guild."""
    reason: ReportReason
    """Reason of the report."""
    comment: str
    """Explanation for the operators; empty for none."""
    created_at: Timestamp
    """Time of the report."""
    state: ReportState
    """Whether an operator decided about the report."""
    has_violation: bool | None
    """Whether the operators found a violation of the rules; null while the report is open."""


class EvidenceFile(Struct, kw_only=True):
    """A file of a message at the time of a report."""

    id: Snowflake
    """ID of the attachment."""
    filename: str
    """Name of the file."""
    size: int
    """Size of the file in bytes."""
    content_type: str | None
    """Media type of the file; null if unknown."""
    key: str
    """Key of the file in the file store. The file is deleted with its message."""


class EvidenceMessage(Struct, kw_only=True):
    """A message at the time of a report."""

    id: MessageId
    """ID of the message."""
    author_id: UserId
    """ID of the author."""
    author_name: str
    """Name of the author."""
    content: str
    """Text of the message, with the texts of forwarded messages and embeds."""
    edited: bool
    """Whether the message was edited before the report."""
    files: list[EvidenceFile]
    """Files of the message."""


class Evidence(Struct, kw_only=True):
    """A reported object at the time of a report, as far as its reporter could see it."""

    name: str
    """Username of the author or user, or name of the guild."""
    description: str = ""
    """Profile text of the user or description of the guild; empty for none."""
    image: str | None = None
    """Hash of the avatar or icon; null if not set."""
    channel_name: str | None = None
    """Name of the channel of a message; null for a private channel and other objects."""
    guild_name: str | None = None
    """Name of the guild of a message; null outside of guilds."""
    message: EvidenceMessage | None = None
    """The reported message; null for other objects."""
    context: list[EvidenceMessage] = []
    """Messages before and after the reported message, oldest first; empty if the reporter cannot read them."""


class CaseReport(Struct, kw_only=True):
    """A report with the fields that operators can read."""

    id: Snowflake
    """ID of the report."""
    reporter_id: UserId | None
    """ID of the reporter; null after the deletion of the account."""
    reporter_name: str | None
    """Username of the reporter; null for a deleted account."""
    reason: ReportReason
    """Reason of the report."""
    comment: str
    """Explanation of the reporter; empty for none."""
    created_at: Timestamp
    """Time of the report."""
    evidence: Evidence
    """The reported object at the time of the report."""


class ReportCase(Struct, kw_only=True):
    """All reports on one object until a decision."""

    id: Snowflake
    """ID of the case."""
    kind: ReportTarget
    """Kind of the reported object."""
    target_id: Snowflake
    """ID of the message, user or guild."""
    channel_id: ChannelId | None
    """ID of the channel of a message; null for other objects."""
    guild_id: GuildId | None
    """ID of the guild; null for a user and for a message outside of guilds."""
    user_id: UserId | None
    """ID of the account that a decision affects; null for a message of a bot or webhook."""
    title: str
    """Text of the message, or name of the user or guild, at the time of the first report."""
    state: ReportState
    """Whether an operator decided about the case."""
    reasons: list[ReportReason]
    """Reasons of the reports, the most frequent first."""
    report_count: int
    """Number of reports."""
    created_at: Timestamp
    """Time of the first report."""
    assignee_id: UserId | None
    """ID of the operator who handles the case; null for none."""
    assignee_name: str | None
    """Username of the operator who handles the case; null for none and for a deleted account."""
    action: CaseAction | None
    """Decision of the operator; null for an open case."""
    note: str | None
    """Reason of the decision, which the affected account sees; null for none."""
    decided_at: Timestamp | None
    """Time of the decision; null for an open case."""
    operator_name: str | None
    """Username of the deciding operator; null for an open case, on the command line and for a deleted account."""


class ReportCaseDetails(ReportCase, kw_only=True):
    """A case with its reports."""

    reports: list[CaseReport]
    """Reports of the case, oldest first, at most 50."""
    other_case_count: int
    """Number of other cases about the same account."""


class ListReportCases(Struct, kw_only=True):
    """Query of the reported objects."""

    state: ReportState | None = None
    """Return cases in this state only."""
    kind: ReportTarget | None = None
    """Return cases about objects of this kind only."""
    reason: ReportReason | None = None
    """Return cases with a report for this reason only."""
    assignee_id: UserId | None = None
    """Return cases of this operator only."""
    older_than_hours: Annotated[int, Meta(ge=0, le=AGE_HOURS_MAX)] | None = None
    """Return cases whose first report is older only, 0 to 8760 hours."""
    before: Snowflake | None = None
    """Return cases with lower IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of cases, 1 to 100."""


class AssignReportCase(Struct, kw_only=True):
    """Request body for assigning a case."""

    assigned: bool
    """Whether the caller handles the case; false if no operator does."""


class DecideReportCase(Struct, kw_only=True):
    """Request body for deciding about a case."""

    action: CaseAction
    """Decision about the case."""
    note: Reason | None = None
    """Reason, which the affected account sees. Required for every action except `dismiss`."""
    delete_message: bool = False
    """Whether to delete the reported message too, with the actions `warn` and `suspend_user`."""
    ends_at: datetime | None = None
    """End of the suspension of an account; null or absent for a suspension that does not end by itself."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)

CREATE_REPORT = Operation(
    "POST",
    "/reports",
    body=CreateReport,
    result=Report,
    status=201,
    auth=Auth.USER,
    raises=(
        errors.UNKNOWN_CHANNEL,
        errors.UNKNOWN_GUILD,
        errors.UNKNOWN_MESSAGE,
        errors.UNKNOWN_USER,
        errors.MISSING_ACCESS,
    ),
    limit=RateLimit(10, 600.0),
)

LIST_MY_REPORTS = Operation("GET", "/users/@me/reports", result=list[Report], auth=Auth.USER, limit=READ_LIMIT)

LIST_REPORT_CASES = Operation(
    "GET",
    "/admin/reports",
    query=ListReportCases,
    result=list[ReportCase],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

GET_REPORT_CASE = Operation(
    "GET",
    "/admin/reports/{case_id}",
    result=ReportCaseDetails,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=READ_LIMIT,
)

ASSIGN_REPORT_CASE = Operation(
    "POST",
    "/admin/reports/{case_id}/assign",
    body=AssignReportCase,
    result=ReportCase,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)

DECIDE_REPORT_CASE = Operation(
    "POST",
    "/admin/reports/{case_id}/decide",
    body=DecideReportCase,
    result=ReportCase,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_RAISES, errors.NOT_FOUND, errors.UNKNOWN_GUILD, errors.UNKNOWN_USER),
    emits=(MESSAGE_CREATE, MESSAGE_DELETE),
    limit=WRITE_LIMIT,
)
