"""Wire models of reports and cases."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from hubbub.protocol import codec
from hubbub.protocol.ids import ChannelId, GuildId, Snowflake, UserId
from hubbub.protocol.resources import reports as wire
from hubbub.protocol.resources.reports import CaseAction, ReportReason, ReportState, ReportTarget
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.talk.reports import store
from hubbub.server.talk.reports.store import CaseRow, ReportRow

REPORTS_MAX: Final = 50
"""Maximum number of reports that are shown with a case."""
OWN_REPORTS_MAX: Final = 100
"""Maximum number of a user's own reports in a list or data export."""


def report(row: ReportRow, case: CaseRow) -> wire.Report:
    """Build the wire model of a report for its reporter."""
    return wire.Report(
        id=Snowflake(row.id),
        kind=ReportTarget(case.target_kind),
        target_id=Snowflake(case.target_id),
        reason=ReportReason(row.reason),
        comment=row.comment,
        created_at=codec.timestamp(Snowflake(row.id).created_ms),
        state=_state(case),
        has_violation=None if case.action is None else case.action != CaseAction.DISMISS,
    )


def own_reports(call: Call, user_id: int, limit: int | None = OWN_REPORTS_MAX) -> list[wire.Report]:
    """Build the wire models of a user's reports, newest first. `limit` is None for all."""
    rows = store.list_reports_of(call.tx, user_id, limit=limit)
    cases_by_id = store.find_cases(call.tx, [row.case_id for row in rows])
    return [report(row, cases_by_id[row.case_id]) for row in rows if row.case_id in cases_by_id]


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return the reports of a user for the data export, with their evidence. Reports about the user are not included."""
    rows = store.list_reports_of(call.tx, user_id, limit=None)
    evidence_by_report = {row.id: codec.decode(row.evidence, wire.Evidence) for row in rows}
    return {
        "reports": [
            msgspec.structs.asdict(report) | {"evidence": evidence_by_report[report.id]}
            for report in own_reports(call, user_id, limit=None)
        ]
    }


def case_list(call: Call, rows: Sequence[CaseRow]) -> list[wire.ReportCase]:
    """Build the wire models of cases, without their reports."""
    return [wire.ReportCase(**fields) for fields in _case_fields(call, rows)]


def case_details(call: Call, row: CaseRow) -> wire.ReportCaseDetails:
    """Build the wire model of a case with its oldest reports, at most `REPORTS_MAX`."""
    reports = store.list_reports(call.tx, row.id, limit=REPORTS_MAX)
    reporter_ids = [report.reporter_id for report in reports if report.reporter_id is not None]
    names_by_user_id = {user_id: user.username for user_id, user in users.find_many(call.tx, reporter_ids).items()}
    [fields] = _case_fields(call, [row])
    return wire.ReportCaseDetails(
        **fields,
        reports=[
            wire.CaseReport(
                id=Snowflake(report.id),
                reporter_id=None if report.reporter_id is None else UserId(report.reporter_id),
                reporter_name=None if report.reporter_id is None else names_by_user_id.get(report.reporter_id),
                reason=ReportReason(report.reason),
                comment=report.comment,
                created_at=codec.timestamp(Snowflake(report.id).created_ms),
                evidence=codec.decode(report.evidence, wire.Evidence),
            )
            for report in reports
        ],
        other_case_count=0 if row.user_id is None else store.count_other_cases(call.tx, row.user_id, row.id),
    )


def _case_fields(call: Call, rows: Sequence[CaseRow]) -> list[dict[str, Any]]:
    reasons_by_case = store.find_reasons(call.tx, [row.id for row in rows])
    user_ids = [user_id for row in rows for user_id in (row.assignee_id, row.operator_id) if user_id is not None]
    names_by_user_id = {user_id: user.username for user_id, user in users.find_many(call.tx, user_ids).items()}
    return [
        {
            "id": Snowflake(row.id),
            "kind": ReportTarget(row.target_kind),
            "target_id": Snowflake(row.target_id),
            "channel_id": None if row.channel_id is None else ChannelId(row.channel_id),
            "guild_id": None if row.guild_id is None else GuildId(row.guild_id),
            "user_id": None if row.user_id is None else UserId(row.user_id),
            "title": row.title,
            "state": _state(row),
            "reasons": [ReportReason(reason) for reason in reasons_by_case.get(row.id, [])],
            "report_count": row.report_count,
            "created_at": codec.timestamp(Snowflake(row.id).created_ms),
            "assignee_id": None if row.assignee_id is None else UserId(row.assignee_id),
            "assignee_name": None if row.assignee_id is None else names_by_user_id.get(row.assignee_id),
            "action": None if row.action is None else CaseAction(row.action),
            "note": row.note,
            "decided_at": None if row.decided_ms is None else codec.timestamp(row.decided_ms),
            "operator_name": None if row.operator_id is None else names_by_user_id.get(row.operator_id),
        }
        for row in rows
    ]


def _state(row: CaseRow) -> ReportState:
    return ReportState.OPEN if row.decided_ms is None else ReportState.DECIDED
