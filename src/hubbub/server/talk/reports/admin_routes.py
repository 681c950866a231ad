"""HTTP handlers of operators for reported objects."""

from typing import Final

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import reports as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.talk.reports import actions, store, views
from hubbub.server.talk.reports.store import CaseRow

HOUR_MS: Final = 3_600_000


@handles(wire.LIST_REPORT_CASES)
def list_report_cases(call: Call, query: wire.ListReportCases) -> list[wire.ReportCase]:
    """List the reported objects, newest first."""
    return views.case_list(call, search(call, query))


def search(call: Call, query: wire.ListReportCases) -> list[CaseRow]:
    """Return the cases that match a query, newest first."""
    before_id = query.before
    if query.older_than_hours is not None:
        newest_id = Snowflake.at(call.now_ms - query.older_than_hours * HOUR_MS)
        before_id = newest_id if before_id is None else min(before_id, newest_id)
    return store.list_cases(
        call.tx,
        is_open=None if query.state is None else query.state == wire.ReportState.OPEN,
        target_kind=None if query.kind is None else query.kind.value,
        reason=None if query.reason is None else query.reason.value,
        assignee_id=query.assignee_id,
        before_id=before_id,
        limit=query.limit,
    )


@handles(wire.GET_REPORT_CASE)
def get_report_case(call: Call, case_id: Snowflake) -> wire.ReportCaseDetails:
    """Get a reported object with its reports and their evidence."""
    return views.case_details(call, actions.require_case(call, case_id))


@handles(wire.ASSIGN_REPORT_CASE)
def assign_report_case(call: Call, case_id: Snowflake, body: wire.AssignReportCase) -> wire.ReportCase:
    """Assign a reported object to the current operator, or to none."""
    case = actions.assign(call, actions.require_case(call, case_id), int(call.user_id) if body.assigned else None)
    return views.case_list(call, [case])[0]


@handles(wire.DECIDE_REPORT_CASE)
def decide_report_case(call: Call, case_id: Snowflake, body: wire.DecideReportCase) -> wire.ReportCase:
    """Close the reports of an object with a decision.

    Reporters receive a direct message of the system about the outcome.
    """
    case = actions.decide(
        call,
        actions.require_case(call, case_id),
        body.action,
        note=body.note,
        ends_ms=None if body.ends_at is None else codec.milliseconds(body.ends_at),
        should_delete_message=body.delete_message,
    )
    return views.case_list(call, [case])[0]
