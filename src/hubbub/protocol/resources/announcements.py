"""Announcements of operators to all users. The public API does not have these routes."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, Timestamp
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import (
    PAGE_LIMIT_DEFAULT,
    READ_LIMIT,
    WRITE_LIMIT,
    AdministrativeAction,
    PageLimit,
    Reason,
)

ANNOUNCEMENT_CONTENT_MAX: Final = 500
"""Maximum length of an announcement, in characters."""
ANNOUNCEMENT_DAYS_MAX: Final = 366
"""Maximum number of days for which an announcement is shown."""


class AnnouncementLevel(StrEnum):
    """Importance of an announcement."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


class AnnouncementState(StrEnum):
    """State of an announcement: before, in or after the period in which it is shown."""

    SCHEDULED = "scheduled"
    ACTIVE = "active"
    ENDED = "ended"


class Announcement(Struct, kw_only=True):
    """An announcement with the fields that users can read."""

    id: Snowflake
    """ID of the announcement."""
    level: AnnouncementLevel
    """Importance of the announcement."""
    content: str
    """Text of the announcement."""
    starts_at: Timestamp
    """Time from which the announcement is shown."""
    ends_at: Timestamp
    """Time until which the announcement is shown."""


class AdministeredAnnouncement(Announcement, kw_only=True):
    """An announcement with the fields that operators can read."""

    state: AnnouncementState
    """Whether the announcement is scheduled, shown or over."""
    dismissal_count: int
    """Number of users who dismissed the announcement."""


class CreateAnnouncement(Struct, kw_only=True):
    """Request body for creating an announcement."""

    content: Annotated[str, Meta(min_length=1, max_length=ANNOUNCEMENT_CONTENT_MAX)]
    """Text of the announcement."""
    level: AnnouncementLevel = AnnouncementLevel.INFO
    """Importance of the announcement."""
    starts_at: datetime | None = None
    """Time from which the announcement is shown; null or absent for now."""
    ends_at: datetime
    """Time until which the announcement is shown."""
    reason: Reason | None = None
    """Reason for the audit log; null or absent for none."""


class ListAnnouncements(Struct, kw_only=True):
    """Query parameters for listing announcements in any state, newest first."""

    before: Snowflake | None = None
    """Return announcements with lower IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of announcements, 1 to 100."""


_OPERATOR_ERRORS: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)

LIST_MY_ANNOUNCEMENTS = Operation(
    "GET", "/users/@me/announcements", result=list[Announcement], auth=Auth.USER, limit=READ_LIMIT
)

DISMISS_ANNOUNCEMENT = Operation(
    "POST",
    "/users/@me/announcements/{announcement_id}/dismiss",
    auth=Auth.USER,
    raises=(errors.NOT_FOUND,),
    limit=READ_LIMIT,
)

LIST_ANNOUNCEMENTS = Operation(
    "GET",
    "/admin/announcements",
    query=ListAnnouncements,
    result=list[AdministeredAnnouncement],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_OPERATOR_ERRORS,
    limit=READ_LIMIT,
)

CREATE_ANNOUNCEMENT = Operation(
    "POST",
    "/admin/announcements",
    body=CreateAnnouncement,
    result=AdministeredAnnouncement,
    status=201,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_OPERATOR_ERRORS,
    limit=WRITE_LIMIT,
)

END_ANNOUNCEMENT = Operation(
    "POST",
    "/admin/announcements/{announcement_id}/end",
    body=AdministrativeAction,
    optional_body=True,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(*_OPERATOR_ERRORS, errors.NOT_FOUND),
    limit=WRITE_LIMIT,
)
