"""The audit log of operators: every change that an operator makes is recorded in its transaction."""

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import administration as wire
from hubbub.server.core.call import Call
from hubbub.server.core.config_sections import compute_expiry_cutoff_ms
from hubbub.server.identity import users
from hubbub.server.identity.administration import store
from hubbub.server.identity.administration.store import AuditRow

__all__ = ["delete_expired", "format_time", "list_entries", "log_action"]
"""The interface for the command line and other slices."""


def log_action(
    call: Call,
    action: str,
    target_kind: str,
    *,
    target_id: int | None = None,
    target_name: str = "",
    detail: str = "",
    reason: str | None = None,
) -> None:
    """Record an action of the caller. A call without a caller is the command line, a job or the server itself."""
    store.insert_audit(
        call.tx,
        AuditRow(
            id=call.new_id(Snowflake),
            operator_id=call.user_id_or_none,
            action=action,
            target_kind=target_kind,
            target_id=target_id,
            target_name=target_name,
            detail=detail,
            reason=reason,
        ),
    )


def format_time(time_ms: int) -> str:
    """Format Unix milliseconds for the detail of an entry, such as `2026-11-17 20:05 UTC`."""
    return f"{codec.timestamp(time_ms)[:16].replace('T', ' ')} UTC"


def list_entries(call: Call, query: wire.ListOperatorAudit) -> list[wire.OperatorAuditEntry]:
    """Return entries of the audit log, newest first."""
    rows = store.list_audit(
        call.tx,
        before_id=query.before,
        operator_id=query.operator_id,
        action=query.action,
        target_id=query.target_id,
        limit=query.limit,
    )
    operators_by_id = users.find_many(call.tx, [row.operator_id for row in rows if row.operator_id is not None])
    return [
        wire.OperatorAuditEntry(
            id=Snowflake(row.id),
            created_at=codec.timestamp(Snowflake(row.id).created_ms),
            operator_id=None if row.operator_id is None else UserId(row.operator_id),
            operator_name=operators_by_id[row.operator_id].username if row.operator_id in operators_by_id else None,
            action=row.action,
            target_kind=row.target_kind,
            target_id=None if row.target_id is None else Snowflake(row.target_id),
            target_name=row.target_name,
            detail=row.detail,
            reason=row.reason,
        )
        for row in rows
    ]


def delete_expired(call: Call, limit: int) -> bool:
    """Delete entries that are older than the setting allows. Return whether there may be more."""
    cutoff_ms = compute_expiry_cutoff_ms(call.now_ms, call.config.retention.audit_days)
    return cutoff_ms is not None and store.delete_audit_before(call.tx, Snowflake.at(cutoff_ms), limit) == limit
