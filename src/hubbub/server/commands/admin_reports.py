"""Actions of `hubbub admin` on reports and appeals."""

import argparse

from hubbub.protocol.resources import administration
from hubbub.protocol.resources import reports as wire
from hubbub.protocol.resources.reports import CaseAction, ReportState
from hubbub.server.commands.admin_actions import AdminError, action, parse_future_time, parse_id
from hubbub.server.core.call import Call
from hubbub.server.identity import moderation_decisions
from hubbub.server.talk import reports


@action("list-reports")
def list_reports(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the reported objects in a state."""
    query = wire.ListReportCases(state=ReportState(arguments.state), limit=administration.PAGE_LIMIT_MAX)
    cases = reports.case_list(call, reports.search(call, query))
    lines = [
        f"{int(case.id)} {case.kind} {int(case.target_id)} ({case.report_count} reports: {', '.join(case.reasons)}): "
        + " ".join(case.title.split())
        for case in cases
    ]
    return lines or ["No reports found."]


@action("show-report")
def show_report(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print a reported object with its evidence."""
    case = reports.case_details(call, reports.require_case(call, parse_id(arguments.case_id)))
    lines = [f"{case.kind}: {int(case.target_id)}", f"state: {case.state}"]
    if case.action is not None:
        lines.append(f"decision: {case.action}")
    if case.reports and (message := case.reports[0].evidence.message) is not None:
        lines.append(f"author: {message.author_name} ({int(message.author_id)})")
        lines.append(f"text: {message.content}")
        lines += [f"file: {file.filename} ({file.size} bytes)" for file in message.files]
    else:
        lines.append(f"name: {case.title}")
    lines += [
        f"report of {report.reporter_name or 'a deleted account'}: {report.reason} {report.comment}".rstrip()
        for report in case.reports
    ]
    return lines


@action("decide-report")
def decide_report(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Close the reports of an object with a decision."""
    case = reports.decide(
        call,
        reports.require_case(call, parse_id(arguments.case_id)),
        CaseAction(arguments.decision),
        note=arguments.reason,
        ends_ms=None if arguments.until is None else parse_future_time(call, arguments.until),
        should_delete_message=arguments.delete_message,
    )
    return [f"Closed case {case.id} with the decision {arguments.decision}; the reporters are notified."]


@action("list-appeals")
def list_appeals(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the open appeals."""
    rows = moderation_decisions.list_page(
        call.tx, user_id=None, appeal_state="pending", before_id=None, limit=administration.PAGE_LIMIT_MAX
    )
    lines = [
        f"{int(decision.id)} {decision.username or int(decision.user_id)} {decision.action}: "
        + " ".join((decision.appeal.text if decision.appeal else "").split())
        for decision in moderation_decisions.administered_decisions(call, rows)
    ]
    return lines or ["No open appeals."]


@action("decide-appeal")
def decide_appeal(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Grant or reject an appeal."""
    row = moderation_decisions.require_decision(call, parse_id(arguments.decision_id))
    if row.appeal is None or row.appeal_outcome is not None:
        raise AdminError("no appeal against this decision is open")
    is_granted = arguments.outcome == "grant"
    moderation_decisions.decide_appeal(call, row, is_granted=is_granted, note=arguments.answer)
    return ["Granted the appeal; the decision is reversed." if is_granted else "Rejected the appeal."]
