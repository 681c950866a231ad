"""The audit log: who did what in a guild, and why."""

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
AUDIT_LOG_DAYS = 45
REASON_MAX = 512
"""Longer reasons are cut (http.md 1.4)."""


def oldest_entry(now_ms: int) -> AuditLogEntryId:
    """The smallest id that the log still tells at a moment."""
    return AuditLogEntryId.at(now_ms - AUDIT_LOG_DAYS * 24 * 3_600_000)


class AuditLogChange(Struct, kw_only=True):
    """One changed field; an absent value stands for null."""

    key: str | None
    """The field's name; `$add` and `$remove` for roles of a member."""
    new_value: Any = UNSET
    old_value: Any = UNSET


class AuditLogEntry(Struct, kw_only=True):
    """One deed."""

    id: AuditLogEntryId
    target_id: Snowflake | None
    user_id: UserId | None
    """Who did it."""
    action_type: int
    changes: list[AuditLogChange] | UnsetType = UNSET
    options: dict[str, str] | UnsetType = UNSET
    """What the change itself does not tell; strings, even for counts."""
    reason: str | UnsetType = UNSET


class GuildAuditLogEntry(AuditLogEntry, kw_only=True):
    """An entry as its event carries it, with its guild."""

    guild_id: GuildId


class AuditLog(Struct, kw_only=True):
    """A page of entries, and the objects they name."""

    audit_log_entries: list[AuditLogEntry]
    users: list[User]
    threads: list[Thread] = []
    integrations: list[dict[str, Any]] = []
    webhooks: list[Webhook] = []
    guild_scheduled_events: list[ScheduledEvent] = []
    application_commands: list[dict[str, Any]] = []
    auto_moderation_rules: list[AutoModerationRule] = []


class ListAuditLogEntries(Struct, kw_only=True):
    """A page of entries: newest first, or ascending with `after`."""

    user_id: UserId | UnsetType = UNSET
    target_id: Snowflake | UnsetType = UNSET
    action_type: Int32 | UnsetType = UNSET
    before: AuditLogEntryId | UnsetType = UNSET
    after: AuditLogEntryId | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=AUDIT_LOG_PAGE_MAX)] = AUDIT_LOG_PAGE_DEFAULT


GUILD_AUDIT_LOG_ENTRY_CREATE = Event(
    "GUILD_AUDIT_LOG_ENTRY_CREATE", GuildAuditLogEntry, intents=Intents.GUILD_MODERATION
)

LIST_GUILD_AUDIT_LOG_ENTRIES = Operation(
    "GET",
    "/guilds/{guild_id}/audit-logs",
    query=ListAuditLogEntries,
    result=AuditLog,
    needs=Permissions.VIEW_AUDIT_LOG,
    raises=(errors.UNKNOWN_GUILD, errors.MISSING_ACCESS, errors.MISSING_PERMISSIONS),
)
