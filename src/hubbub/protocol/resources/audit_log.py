"""Audit log: administrative actions in a guild, with the users who performed them and their reasons."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from hubbub.protocol import errors
from hubbub.protocol.ids import AuditLogEntryId, GuildId, Snowflake, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.numbers import Int32
from hubbub.protocol.operation import Event, Operation
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources.auto_moderation import AutoModerationRule
from hubbub.protocol.resources.channels import Thread
from hubbub.protocol.resources.scheduled_events import ScheduledEvent
from hubbub.protocol.resources.users import User
from hubbub.protocol.resources.webhooks import Webhook

AUDIT_LOG_PAGE_MAX = 100
AUDIT_LOG_PAGE_DEFAULT = 50
AUDIT_LOG_RETENTION_DAYS = 45
"""Days for which an entry is kept."""
REASON_MAX = 512
"""Maximum length of a reason in characters; longer reasons are truncated. The specification gives no value (spec/http.md#1.4)."""


def oldest_entry_id(now_ms: int) -> AuditLogEntryId:
    """Return the smallest entry ID within the retention period that ends at `now_ms`, in Unix milliseconds."""
    return AuditLogEntryId.at(now_ms - AUDIT_LOG_RETENTION_DAYS * 24 * 3_600_000)


class AuditLogChange(Struct, kw_only=True):
    """A changed property of an audit log entry's target."""

    key: str | None
    """Name of the property, or `$add` and `$remove` for the roles of a member.

    Never null, although the public API allows null."""
    new_value: Any = UNSET
    """Value after the change; absent if the property was removed."""
    old_value: Any = UNSET
    """Value before the change; absent if the property was not set."""


class AuditLogEntry(Struct, kw_only=True):
    """An administrative action in a guild."""

    id: AuditLogEntryId
    """ID of the entry."""
    target_id: Snowflake | None
    """ID of the affected object; null if the action has no single target."""
    user_id: UserId | None
    """ID of the user or bot who performed the action; null if the platform did."""
    action_type: int
    """Type of the action; an `AuditLogAction`."""
    changes: list[AuditLogChange] | UnsetType = UNSET
    """Changed properties of the target; absent if there are none."""
    options: dict[str, str] | UnsetType = UNSET
    """Additional details that depend on the action type; all values are strings, counts included. Absent if there are none."""
    reason: str | UnsetType = UNSET
    """Reason that the user or bot gave, 1 to 512 characters; absent if none."""


class GuildAuditLogEntry(AuditLogEntry, kw_only=True):
    """An audit log entry as the gateway event contains it."""

    guild_id: GuildId
    """ID of the guild."""


class AuditLog(Struct, kw_only=True):
    """A page of audit log entries and the objects that they refer to."""

    audit_log_entries: list[AuditLogEntry]
    """Audit log entries of the page."""
    users: list[User]
    """Users who performed the actions or are their targets."""
    threads: list[Thread] = []
    """Threads that the entries refer to."""
    integrations: list[dict[str, Any]] = []
    """Partial integrations that the entries refer to."""
    webhooks: list[Webhook] = []
    """Webhooks that the entries refer to."""
    guild_scheduled_events: list[ScheduledEvent] = []
    """Scheduled events that the entries refer to."""
    application_commands: list[dict[str, Any]] = []
    """Application commands that the entries refer to."""
    auto_moderation_rules: list[AutoModerationRule] = []
    """Auto moderation rules that the entries refer to."""


class ListAuditLogEntries(Struct, kw_only=True):
    """Query parameters for listing audit log entries, newest first, or oldest first with `after`."""

    user_id: UserId | UnsetType = UNSET
    """Only entries of actions by this user."""
    target_id: Snowflake | UnsetType = UNSET
    """Only entries about this target."""
    action_type: Int32 | UnsetType = UNSET
    """Only entries of this action type, an `AuditLogAction`."""
    before: AuditLogEntryId | UnsetType = UNSET
    """Only entries with a lower ID than this."""
    after: AuditLogEntryId | UnsetType = UNSET
    """Only entries with a higher ID than this, oldest first."""
    limit: Annotated[int, Meta(ge=1, le=AUDIT_LOG_PAGE_MAX)] = AUDIT_LOG_PAGE_DEFAULT
    """Maximum number of entries to return, 1 to 100; 50 if absent."""


GUILD_AUDIT_LOG_ENTRY_CREATE = Event(
    "GUILD_AUDIT_LOG_ENTRY_CREATE",
    GuildAuditLogEntry,
    "Sent when an entry is added to a guild's audit log, to members with VIEW_AUDIT_LOG.",
    intents=Intents.GUILD_MODERATION,
)

LIST_GUILD_AUDIT_LOG_ENTRIES = Operation(
    "GET",
    "/guilds/{guild_id}/audit-logs",
    query=ListAuditLogEntries,
    result=AuditLog,
    needs=Permissions.VIEW_AUDIT_LOG,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)
