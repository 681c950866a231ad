"""SQL for operators, their audit log and scheduled deletions."""

from typing import Any, Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("operator_audit", "operators", "scheduled_deletions")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="operator_audit.operator_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.audit_days`.",
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(
        column="operator_audit.target_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.audit_days`.",
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(
        column="operators.granted_by", erasure=Erasure.KEPT, reason=OPERATOR_RECORD, omission=OPERATOR_RECORD
    ),
    PersonalColumn(column="operators.user_id", erasure=Erasure.DELETED, omission=OPERATOR_RECORD),
    PersonalColumn(
        column="scheduled_deletions.operator_id",
        erasure=Erasure.KEPT,
        reason="Deleted with the other account.",
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(column="scheduled_deletions.user_id", erasure=Erasure.DELETED, omission=OPERATOR_RECORD),
)
"""Columns of these tables that contain IDs of users."""


class OperatorRow(NamedTuple):
    """A user who administers the server."""

    user_id: int
    role: str
    """Value of `OperatorRole`."""
    granted_by: int | None
    """ID of the operator who granted the role; None for the command line."""
    granted_ms: int


class AuditRow(NamedTuple):
    """An entry of the audit log of operators."""

    id: int
    operator_id: int | None
    """ID of the operator; None for the command line, a job and the server itself."""
    action: str
    """Name of the action, such as `user.suspend`."""
    target_kind: str
    """Kind of the target, such as `user` or `feature`."""
    target_id: int | None
    """ID of the target; None if it has none."""
    target_name: str
    """Name of the target when the action was recorded; empty if it has none."""
    detail: str
    """Text for operators; may be empty."""
    reason: str | None


class DeletionRow(NamedTuple):
    """The scheduled deletion of an account."""

    user_id: int
    operator_id: int | None
    """ID of the operator; None for the command line."""
    reason: str
    created_ms: int
    due_ms: int
    has_suspended: int
    """Whether the scheduled deletion caused the suspension of the account; a restoration then ends the suspension."""


_OPERATOR_COLUMNS = ", ".join(OperatorRow._fields)
_AUDIT_COLUMNS = ", ".join(AuditRow._fields)
_DELETION_COLUMNS = ", ".join(DeletionRow._fields)


# Operators


def find_operator(tx: Tx, user_id: int) -> OperatorRow | None:
    return tx.find(OperatorRow, f"SELECT {_OPERATOR_COLUMNS} FROM operators WHERE user_id = ?", user_id)


def list_operators(tx: Tx) -> list[OperatorRow]:
    """Return all operators ordered by the time of their grant."""
    return tx.fetch(OperatorRow, f"SELECT {_OPERATOR_COLUMNS} FROM operators ORDER BY granted_ms, user_id")


def upsert_operator(tx: Tx, row: OperatorRow) -> None:
    """Insert an operator, or replace the role of an existing operator."""
    tx.run(
        f"INSERT INTO operators ({_OPERATOR_COLUMNS}) VALUES ({placeholders(row)}) ON CONFLICT (user_id) DO UPDATE "
        "SET role = excluded.role, granted_by = excluded.granted_by, granted_ms = excluded.granted_ms",
        *row,
    )


def delete_operator(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM operators WHERE user_id = ?", user_id)


# Audit log


def insert_audit(tx: Tx, row: AuditRow) -> None:
    tx.run(f"INSERT INTO operator_audit ({_AUDIT_COLUMNS}) VALUES ({placeholders(row)})", *row)


def list_audit(
    tx: Tx, *, before_id: int | None, operator_id: int | None, action: str | None, target_id: int | None, limit: int
) -> list[AuditRow]:
    """Return entries of the audit log, newest first; None for an argument means any."""
    conditions, parameters = ["1 = 1"], list[Any]()
    for condition, value in (
        ("id < ?", before_id),
        ("operator_id = ?", operator_id),
        ("action = ?", action),
        ("target_id = ?", target_id),
    ):
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    return tx.fetch(
        AuditRow,
        f"SELECT {_AUDIT_COLUMNS} FROM operator_audit WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",
        *parameters,
        limit,
    )


def delete_audit_before(tx: Tx, entry_id: int, limit: int) -> int:
    """Delete at most `limit` entries with an ID below `entry_id`. Return their number."""
    rows = tx.all("SELECT id FROM operator_audit WHERE id < ? ORDER BY id LIMIT ?", entry_id, limit)
    tx.run_many("DELETE FROM operator_audit WHERE id = ?", rows)
    return len(rows)


# Scheduled deletions


def find_deletion(tx: Tx, user_id: int) -> DeletionRow | None:
    """Return the scheduled deletion of an account, or None."""
    return tx.find(DeletionRow, f"SELECT {_DELETION_COLUMNS} FROM scheduled_deletions WHERE user_id = ?", user_id)


def list_deletions(tx: Tx, *, after_id: int, limit: int) -> list[DeletionRow]:
    """Return the scheduled deletions of accounts with IDs above `after_id`, by ascending ID."""
    return tx.fetch(
        DeletionRow,
        f"SELECT {_DELETION_COLUMNS} FROM scheduled_deletions WHERE user_id > ? ORDER BY user_id LIMIT ?",
        after_id,
        limit,
    )


def insert_deletion(tx: Tx, row: DeletionRow) -> None:
    tx.run(f"INSERT INTO scheduled_deletions ({_DELETION_COLUMNS}) VALUES ({placeholders(row)})", *row)


def delete_deletion(tx: Tx, user_id: int) -> None:
    tx.run("DELETE FROM scheduled_deletions WHERE user_id = ?", user_id)
