"""SQL for decisions of operators about accounts, and for appeals."""

from typing import Any, Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("moderation_decisions",)
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="moderation_decisions.appeal_operator_id",
        erasure=Erasure.KEPT,
        reason=OPERATOR_RECORD,
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(
        column="moderation_decisions.operator_id",
        erasure=Erasure.KEPT,
        reason=OPERATOR_RECORD,
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(column="moderation_decisions.user_id", erasure=Erasure.DELETED, export="moderation_decisions"),
)
"""Columns of these tables that contain IDs of users."""


class DecisionRow(NamedTuple):
    """A decision of an operator about an account."""

    id: int
    user_id: int
    """ID of the affected account."""
    action: str
    """Value of `DecisionAction`."""
    subject: str
    """Text of a message, or name of an account or guild; may be empty."""
    reason: str | None
    operator_id: int | None
    """ID of the operator; None for the command line and the control API."""
    guild_id: int | None
    """ID of a suspended guild; None for other actions."""
    case_id: int | None
    """ID of the case with the reports; None for a decision without reports."""
    created_ms: int
    ends_ms: int | None = None
    """End of a suspension in Unix milliseconds; None if it does not end by itself."""
    revoked_ms: int | None = None
    """Time at which an operator reversed or replaced the decision, in Unix milliseconds, or None."""
    appeal: str | None = None
    """Text of the appeal, or None."""
    appealed_ms: int | None = None
    appeal_outcome: str | None = None
    """Value of `AppealState` after an operator decided about the appeal, otherwise None."""
    appeal_note: str | None = None
    appeal_operator_id: int | None = None
    appeal_decided_ms: int | None = None


_COLUMNS: Final = ", ".join(DecisionRow._fields)


def insert(tx: Tx, row: DecisionRow) -> None:
    tx.run(f"INSERT INTO moderation_decisions ({_COLUMNS}) VALUES ({placeholders(row)})", *row)


def find(tx: Tx, decision_id: int) -> DecisionRow | None:
    return tx.find(DecisionRow, f"SELECT {_COLUMNS} FROM moderation_decisions WHERE id = ?", decision_id)


def find_active_suspension(tx: Tx, user_id: int) -> DecisionRow | None:
    """Return the newest suspension of an account that was not reversed, or None. The suspension may have ended."""
    return tx.find(
        DecisionRow,
        f"SELECT {_COLUMNS} FROM moderation_decisions WHERE user_id = ? AND action = 'suspend_user' AND revoked_ms IS NULL "
        "ORDER BY id DESC LIMIT 1",
        user_id,
    )


def list_page(
    tx: Tx, *, user_id: int | None, appeal_state: str | None, before_id: int | None, limit: int
) -> list[DecisionRow]:
    """Return decisions, newest first; None for an argument means any."""
    conditions, parameters = ["1 = 1"], list[Any]()
    if appeal_state == "pending":
        conditions.append("appealed_ms IS NOT NULL AND appeal_outcome IS NULL")
    elif appeal_state is not None:
        conditions.append("appealed_ms IS NOT NULL AND appeal_outcome = ?")
        parameters.append(appeal_state)
    for condition, value in (("user_id = ?", user_id), ("id < ?", before_id)):
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    return tx.fetch(
        DecisionRow,
        f"SELECT {_COLUMNS} FROM moderation_decisions WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",
        *parameters,
        limit,
    )


def set_context(tx: Tx, decision_id: int, *, case_id: int, subject: str) -> None:
    """Store the case and the subject of a decision."""
    tx.run("UPDATE moderation_decisions SET case_id = ?, subject = ? WHERE id = ?", case_id, subject, decision_id)


def set_appeal(tx: Tx, decision_id: int, appeal_text: str, now_ms: int) -> None:
    tx.run("UPDATE moderation_decisions SET appeal = ?, appealed_ms = ? WHERE id = ?", appeal_text, now_ms, decision_id)


def set_outcome(
    tx: Tx, decision_id: int, *, outcome: str, note: str | None, operator_id: int | None, now_ms: int
) -> None:
    """Store the decision about an appeal."""
    tx.run(
        "UPDATE moderation_decisions SET appeal_outcome = ?, appeal_note = ?, appeal_operator_id = ?, "
        "appeal_decided_ms = ? WHERE id = ?",
        outcome,
        note,
        operator_id,
        now_ms,
        decision_id,
    )


def revoke(tx: Tx, decision_id: int, now_ms: int) -> None:
    """Mark a decision as reversed."""
    tx.run("UPDATE moderation_decisions SET revoked_ms = ? WHERE id = ?", now_ms, decision_id)


def revoke_suspensions(tx: Tx, user_id: int, now_ms: int) -> None:
    """Mark all suspensions of an account as reversed."""
    tx.run(
        "UPDATE moderation_decisions SET revoked_ms = ? WHERE user_id = ? AND action = 'suspend_user' AND revoked_ms IS NULL",
        now_ms,
        user_id,
    )


def delete_user_decisions(tx: Tx, user_id: int) -> None:
    """Delete all decisions about an account."""
    tx.run("DELETE FROM moderation_decisions WHERE user_id = ?", user_id)


def delete_before(tx: Tx, decision_id: int, now_ms: int, limit: int) -> int:
    """Delete at most `limit` decisions with an ID below `decision_id`, except suspensions in force. Return their number."""
    rows = tx.all(
        "SELECT id FROM moderation_decisions WHERE id < ? AND (action NOT IN ('suspend_user', 'suspend_guild') "
        "OR revoked_ms IS NOT NULL OR ends_ms <= ?) ORDER BY id LIMIT ?",
        decision_id,
        now_ms,
        limit,
    )
    tx.run_many("DELETE FROM moderation_decisions WHERE id = ?", rows)
    return len(rows)
