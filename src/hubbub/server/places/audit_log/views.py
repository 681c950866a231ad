"""Build the wire models of the audit log."""

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import AuditLogEntryId, Snowflake, UserId
from hubbub.protocol.resources import audit_log as wire
from hubbub.server.identity import users
from hubbub.server.places.audit_log.store import EntryRow


def audit_log(rows: Sequence[EntryRow], referenced_users: Iterable[users.UserRow]) -> wire.AuditLog:
    """Build a page of the audit log."""
    return wire.AuditLog(
        audit_log_entries=[entry(row) for row in rows],
        users=[users.user_view(user) for user in referenced_users],
    )


def entry(row: EntryRow) -> wire.AuditLogEntry:
    """Build an entry as it appears in a page of the audit log, without a guild ID."""
    return wire.AuditLogEntry(
        id=AuditLogEntryId(row.id),
        target_id=None if row.target_id is None else Snowflake(row.target_id),
        user_id=None if row.user_id is None else UserId(row.user_id),
        action_type=row.action_type,
        changes=UNSET if row.changes is None else codec.decode(row.changes, list[wire.AuditLogChange]),
        options=UNSET if row.options is None else codec.decode(row.options, dict[str, str]),
        reason=UNSET if row.reason is None else row.reason,
    )
