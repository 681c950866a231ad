"""SQL for reports and their cases."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hubbub.server.core.personal_data import OPERATOR_RECORD, Erasure, PersonalColumn
from hubbub.server.core.store import Tx, placeholders

TABLES: Final = ("report_cases", "reports")
"""Tables that only this slice writes."""
PERSONAL_DATA: Final = (
    PersonalColumn(
        column="report_cases.assignee_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.report_days`, because the case justifies a decision.",
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(
        column="report_cases.operator_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.report_days`, because the case justifies a decision.",
        omission=OPERATOR_RECORD,
    ),
    PersonalColumn(
        column="report_cases.target_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.report_days`, because the case justifies a decision.",
        omission="Reports about the account would reveal the reporters.",
    ),
    PersonalColumn(
        column="report_cases.user_id",
        erasure=Erasure.KEPT,
        reason="Kept until `retention.report_days`, because the case justifies a decision.",
        omission="Reports about the account would reveal the reporters.",
    ),
    PersonalColumn(
        column="reports.reporter_id",
        erasure=Erasure.CLEARED,
        reason="The case keeps its evidence until `retention.report_days`.",
        export="reports",
    ),
)
"""Columns of these tables that contain IDs of users."""


class CaseRow(NamedTuple):
    """A case: all reports about one object until a decision."""

    id: int
    target_kind: str
    """Value of `ReportTarget`."""
    target_id: int
    channel_id: int | None
    guild_id: int | None
    user_id: int | None
    """ID of the account that a decision affects: the author, the user or the owner of the guild.

    None if the author or user is a bot or webhook, or if the author was deleted."""
    title: str
    assignee_id: int | None = None
    report_count: int = 0
    action: str | None = None
    """Value of `CaseAction`; None for an open case."""
    note: str | None = None
    operator_id: int | None = None
    decided_ms: int | None = None
    """Time of the decision in Unix milliseconds; None for an open case."""
    decision_id: int | None = None


class ReportRow(NamedTuple):
    """A report that a user sent about an object, with its evidence."""

    id: int
    case_id: int
    reporter_id: int | None
    """ID of the reporter; None after the deletion of the account."""
    reason: str
    comment: str
    evidence: str
    """JSON of `Evidence`."""


_CASE_COLUMNS: Final = ", ".join(CaseRow._fields)
_REPORT_COLUMNS: Final = ", ".join(ReportRow._fields)


# Cases


def find_case(tx: Tx, case_id: int) -> CaseRow | None:
    return tx.find(CaseRow, f"SELECT {_CASE_COLUMNS} FROM report_cases WHERE id = ?", case_id)


def find_cases(tx: Tx, case_ids: Sequence[int]) -> dict[int, CaseRow]:
    """Return cases by ID; unknown IDs are absent."""
    if not case_ids:
        return {}
    rows = tx.fetch(
        CaseRow, f"SELECT {_CASE_COLUMNS} FROM report_cases WHERE id IN ({placeholders(case_ids)})", *case_ids
    )
    return {row.id: row for row in rows}


def find_open_case(tx: Tx, target_kind: str, target_id: int) -> CaseRow | None:
    """Return the open case about an object, or None."""
    return tx.find(
        CaseRow,
        f"SELECT {_CASE_COLUMNS} FROM report_cases WHERE target_kind = ? AND target_id = ? AND decided_ms IS NULL",
        target_kind,
        target_id,
    )


def list_cases(
    tx: Tx,
    *,
    is_open: bool | None,
    target_kind: str | None,
    reason: str | None,
    assignee_id: int | None,
    before_id: int | None,
    limit: int,
) -> list[CaseRow]:
    """Return cases, newest first; None for an argument means any."""
    conditions, parameters = ["1 = 1"], list[Any]()
    if is_open is not None:
        conditions.append(f"decided_ms IS {'NULL' if is_open else 'NOT NULL'}")
    if reason is not None:
        conditions.append("EXISTS (SELECT 1 FROM reports r WHERE r.case_id = report_cases.id AND r.reason = ?)")
        parameters.append(reason)
    for condition, value in (
        ("target_kind = ?", target_kind),
        ("assignee_id = ?", assignee_id),
        ("id < ?", before_id),
    ):
        if value is not None:
            conditions.append(condition)
            parameters.append(value)
    return tx.fetch(
        CaseRow,
        f"SELECT {_CASE_COLUMNS} FROM report_cases WHERE {' AND '.join(conditions)} ORDER BY id DESC LIMIT ?",
        *parameters,
        limit,
    )


def count_other_cases(tx: Tx, user_id: int, case_id: int) -> int:
    """Return the number of cases about an account, without the case `case_id`."""
    count: int = tx.value("SELECT COUNT(*) FROM report_cases WHERE user_id = ? AND id <> ?", user_id, case_id)
    return count


def insert_case(tx: Tx, row: CaseRow) -> None:
    tx.run(f"INSERT INTO report_cases ({_CASE_COLUMNS}) VALUES ({placeholders(row)})", *row)


def increment_report_count(tx: Tx, case_id: int) -> None:
    tx.run("UPDATE report_cases SET report_count = report_count + 1 WHERE id = ?", case_id)


def set_assignee(tx: Tx, case_id: int, user_id: int | None) -> None:
    """Store the operator who handles a case, or None."""
    tx.run("UPDATE report_cases SET assignee_id = ? WHERE id = ?", user_id, case_id)


def set_decision(tx: Tx, row: CaseRow) -> None:
    """Store the decision about a case."""
    tx.run(
        "UPDATE report_cases SET action = ?, note = ?, operator_id = ?, decided_ms = ?, decision_id = ? WHERE id = ?",
        row.action,
        row.note,
        row.operator_id,
        row.decided_ms,
        row.decision_id,
        row.id,
    )


# Reports


def find_own_report(tx: Tx, case_id: int, reporter_id: int) -> ReportRow | None:
    """Return the report of a user in a case, or None."""
    return tx.find(
        ReportRow,
        f"SELECT {_REPORT_COLUMNS} FROM reports WHERE case_id = ? AND reporter_id = ?",
        case_id,
        reporter_id,
    )


def insert_report(tx: Tx, row: ReportRow) -> None:
    tx.run(f"INSERT INTO reports ({_REPORT_COLUMNS}) VALUES ({placeholders(row)})", *row)


def update_report(tx: Tx, report_id: int, reason: str, comment: str) -> None:
    tx.run("UPDATE reports SET reason = ?, comment = ? WHERE id = ?", reason, comment, report_id)


def list_reports(tx: Tx, case_id: int, *, after_id: int = 0, limit: int) -> list[ReportRow]:
    """Return reports of a case with IDs above `after_id`, oldest first."""
    return tx.fetch(
        ReportRow,
        f"SELECT {_REPORT_COLUMNS} FROM reports WHERE case_id = ? AND id > ? ORDER BY id LIMIT ?",
        case_id,
        after_id,
        limit,
    )


def list_reports_of(tx: Tx, reporter_id: int, *, limit: int | None) -> list[ReportRow]:
    """Return the reports of a user, newest first. `limit` is None for all."""
    limits = () if limit is None else (limit,)
    return tx.fetch(
        ReportRow,
        f"SELECT {_REPORT_COLUMNS} FROM reports WHERE reporter_id = ? ORDER BY id DESC{' LIMIT ?' * len(limits)}",
        reporter_id,
        *limits,
    )


def find_reasons(tx: Tx, case_ids: Sequence[int]) -> dict[int, list[str]]:
    """Return the reasons of the reports by case, the most frequent first."""
    reasons_by_case: dict[int, list[str]] = {}
    if case_ids:
        rows = tx.all(
            f"SELECT case_id, reason, COUNT(*) FROM reports WHERE case_id IN ({placeholders(case_ids)}) "
            "GROUP BY case_id, reason ORDER BY 3 DESC, 2",
            *case_ids,
        )
        for case_id, reason, _ in rows:
            reasons_by_case.setdefault(case_id, []).append(reason)
    return reasons_by_case


def clear_reporter(tx: Tx, reporter_id: int) -> None:
    """Remove a user from their reports."""
    tx.run("UPDATE reports SET reporter_id = NULL WHERE reporter_id = ?", reporter_id)


def delete_decided_before(tx: Tx, before_ms: int, limit: int) -> int:
    """Delete at most `limit` cases that were decided before `before_ms`, with their reports; return the number of cases.

    `before_ms` is in Unix milliseconds."""
    rows = tx.all("SELECT id FROM report_cases WHERE decided_ms < ? ORDER BY decided_ms LIMIT ?", before_ms, limit)
    tx.run_many("DELETE FROM reports WHERE case_id = ?", rows)
    tx.run_many("DELETE FROM report_cases WHERE id = ?", rows)
    return len(rows)
