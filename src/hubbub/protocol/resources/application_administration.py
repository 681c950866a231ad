"""Administration of applications by the operators of the server. The public API does not have these routes."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import ApplicationId, Snowflake, Timestamp, UserId
from hubbub.protocol.operation import Auth, Operation
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources.administration import (
    GRACE_DAYS_DEFAULT,
    GRACE_DAYS_MAX,
    PAGE_LIMIT_DEFAULT,
    READ_LIMIT,
    SEARCH_TEXT_MAX,
    WRITE_LIMIT,
    AdministrativeAction,
    PageLimit,
    Reason,
    ScheduledDeletion,
)


class DisabledState(Struct, kw_only=True):
    """The reason why an application is disabled, and the time at which it was disabled."""

    reason: str
    """Reason that the operator gave."""
    created_at: Timestamp
    """Time at which the application was disabled."""


class AdministeredApplication(Struct, kw_only=True):
    """An application with the fields that operators can read."""

    id: ApplicationId
    """ID of the application."""
    name: str
    """Name of the application."""
    icon: str | None
    """Hash of the icon; null if not set."""
    owner_id: UserId
    """ID of the owner."""
    owner_name: str | None
    """Username of the owner; null if the account does not exist anymore."""
    bot_id: UserId | None
    """User ID of the bot; null if the application has none."""
    created_at: Timestamp
    """Time at which the application was created."""
    disabled: DisabledState | None
    """Reason why the application is disabled, with the time; null if it is enabled."""
    deletion: ScheduledDeletion | None = None
    """Scheduled deletion of the application, which is disabled until then; null if none is scheduled."""


class AdministeredApplicationDetails(AdministeredApplication, kw_only=True):
    """An application with its usage counts."""

    description: str
    """Description of the application; may be empty."""
    guild_count: int
    """Number of guilds of which the bot is a member."""
    user_install_count: int
    """Number of users who installed the application for themselves."""
    user_authorization_count: int
    """Number of users who authorized the application."""
    command_count: int
    """Number of commands in all scopes."""
    token_count: int
    """Number of tokens that have not expired, including the token of the bot."""


class SearchApplications(Struct, kw_only=True):
    """Query of a search for applications."""

    query: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] = ""
    """Part of the name, or the whole ID of the application or of its owner; empty for all applications."""
    disabled: bool = False
    """Return disabled applications only."""
    after: Snowflake | None = None
    """Return applications with higher IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of applications, 1 to 100."""


class DisableApplication(Struct, kw_only=True):
    """Request body for disabling an application."""

    reason: Reason
    """Reason for the audit log."""


class AdministrativeApplicationDeletion(Struct, kw_only=True):
    """Request body for deleting an application."""

    reason: Reason
    """Reason for the audit log."""
    grace_days: Annotated[int, Meta(ge=0, le=GRACE_DAYS_MAX)] = GRACE_DAYS_DEFAULT
    """Number of days in which the application can be restored, 0 to 90."""
    delete_messages: bool = False
    """Whether the messages of the bot, and everything else that it wrote, are deleted, too."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)
_APPLICATION_RAISES: Final = (*_RAISES, errors.UNKNOWN_APPLICATION)

SEARCH_APPLICATIONS = Operation(
    "GET",
    "/admin/applications",
    query=SearchApplications,
    result=list[AdministeredApplication],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

GET_ADMINISTERED_APPLICATION = Operation(
    "GET",
    "/admin/applications/{application_id}",
    result=AdministeredApplicationDetails,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_APPLICATION_RAISES,
    limit=READ_LIMIT,
)

DISABLE_APPLICATION = Operation(
    "POST",
    "/admin/applications/{application_id}/disable",
    body=DisableApplication,
    result=AdministeredApplication,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_APPLICATION_RAISES,
    limit=WRITE_LIMIT,
)

ENABLE_APPLICATION = Operation(
    "POST",
    "/admin/applications/{application_id}/enable",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredApplication,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_APPLICATION_RAISES,
    limit=WRITE_LIMIT,
)

ADMINISTRATIVELY_DELETE_APPLICATION = Operation(
    "POST",
    "/admin/applications/{application_id}/delete",
    body=AdministrativeApplicationDeletion,
    result=AdministeredApplication,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_APPLICATION_RAISES,
    limit=WRITE_LIMIT,
)

RESTORE_APPLICATION = Operation(
    "POST",
    "/admin/applications/{application_id}/restore",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredApplication,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_APPLICATION_RAISES,
    limit=WRITE_LIMIT,
)
