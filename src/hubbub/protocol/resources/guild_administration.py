"""Administration of guilds by the operators of the server. The public API does not have these routes."""

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from hubbub.protocol import errors
from hubbub.protocol.ids import GuildId, Snowflake, Timestamp, UserId
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
from hubbub.protocol.resources.guilds import GUILD_UPDATE


class GuildState(StrEnum):
    """State of guilds in a search."""

    SUSPENDED = "suspended"
    DELETING = "deleting"


class GuildSuspension(Struct, kw_only=True):
    """Reason and time of the suspension of a guild by an operator."""

    reason: str
    """Reason that the members see."""
    created_at: Timestamp
    """Time at which the guild was suspended."""


class AdministeredGuild(Struct, kw_only=True):
    """A guild with the fields that operators can read."""

    id: GuildId
    """ID of the guild."""
    name: str
    """Name of the guild."""
    icon: str | None
    """Hash of the icon; null if not set."""
    owner_id: UserId
    """ID of the owner."""
    owner_name: str | None
    """Username of the owner; null if the account does not exist anymore."""
    member_count: int
    """Number of members, including bots."""
    created_at: Timestamp
    """Time at which the guild was created."""
    suspension: GuildSuspension | None
    """Suspension of the guild; null if it is not suspended."""
    deletion: ScheduledDeletion | None
    """Scheduled deletion of the guild; null if there is none."""


class AdministeredGuildDetails(AdministeredGuild, kw_only=True):
    """A guild with its description, features and usage counts."""

    description: str | None
    """Description of the guild; null if not set."""
    features: list[str]
    """Enabled features of the guild."""
    channel_count: int
    """Number of channels, without threads."""
    thread_count: int
    """Number of threads."""
    message_count: int
    """Number of stored messages."""
    storage_bytes: int
    """Size of all uploaded files in bytes."""


class SearchGuilds(Struct, kw_only=True):
    """Query of a search for guilds."""

    query: Annotated[str, Meta(max_length=SEARCH_TEXT_MAX)] = ""
    """Part of the name, or the whole ID of the guild or of its owner; empty for all guilds."""
    state: GuildState | None = None
    """Return guilds in this state only."""
    after: Snowflake | None = None
    """Return guilds with higher IDs only."""
    limit: PageLimit = PAGE_LIMIT_DEFAULT
    """Maximum number of guilds, 1 to 100."""


class SuspendGuild(Struct, kw_only=True):
    """Request body for suspending a guild."""

    reason: Reason
    """Reason, which the members see."""


class AdministrativeGuildDeletion(Struct, kw_only=True):
    """Request body for deleting a guild as an operator."""

    reason: Reason
    """Reason, which the members see until the guild is deleted."""
    grace_days: Annotated[int, Meta(ge=0, le=GRACE_DAYS_MAX)] = GRACE_DAYS_DEFAULT
    """Number of days in which the guild can be restored, 0 to 90."""


class TransferGuild(Struct, kw_only=True):
    """Request body for making another member the owner of a guild."""

    owner_id: UserId
    """ID of the new owner, who must be a member."""
    reason: Reason | None = None
    """Reason for the operators' audit log; null or absent for none."""


_RAISES: Final = (errors.FORBIDDEN, errors.TWO_FACTOR_REQUIRED)
_GUILD_RAISES: Final = (*_RAISES, errors.UNKNOWN_GUILD)

SEARCH_GUILDS = Operation(
    "GET",
    "/admin/guilds",
    query=SearchGuilds,
    result=list[AdministeredGuild],
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_RAISES,
    limit=READ_LIMIT,
)

GET_ADMINISTERED_GUILD = Operation(
    "GET",
    "/admin/guilds/{guild_id}",
    result=AdministeredGuildDetails,
    auth=Auth.USER,
    operator=OperatorRole.AUDITOR,
    raises=_GUILD_RAISES,
    limit=READ_LIMIT,
)

SUSPEND_GUILD = Operation(
    "POST",
    "/admin/guilds/{guild_id}/suspend",
    body=SuspendGuild,
    result=AdministeredGuild,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_GUILD_RAISES,
    limit=WRITE_LIMIT,
)

UNSUSPEND_GUILD = Operation(
    "POST",
    "/admin/guilds/{guild_id}/unsuspend",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredGuild,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_GUILD_RAISES,
    limit=WRITE_LIMIT,
)

ADMINISTRATIVELY_DELETE_GUILD = Operation(
    "POST",
    "/admin/guilds/{guild_id}/delete",
    body=AdministrativeGuildDeletion,
    result=AdministeredGuild,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_GUILD_RAISES,
    limit=WRITE_LIMIT,
)

RESTORE_GUILD = Operation(
    "POST",
    "/admin/guilds/{guild_id}/restore",
    body=AdministrativeAction,
    optional_body=True,
    result=AdministeredGuild,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=_GUILD_RAISES,
    limit=WRITE_LIMIT,
)

TRANSFER_GUILD = Operation(
    "POST",
    "/admin/guilds/{guild_id}/transfer",
    body=TransferGuild,
    result=AdministeredGuild,
    auth=Auth.USER,
    operator=OperatorRole.MODERATOR,
    raises=(
        *_GUILD_RAISES,
        errors.UNKNOWN_MEMBER,
        errors.OWNERSHIP_CANNOT_GO_TO_BOT,
        errors.OWNER_CANNOT_BE_PENDING,
    ),
    emits=(GUILD_UPDATE,),
    limit=WRITE_LIMIT,
)
