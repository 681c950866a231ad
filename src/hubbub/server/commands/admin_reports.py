"""Actions of `hubbub admin` on reports and appeals."""

import argparse

from hubbub.protocol.ids import UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration
from hubbub.protocol.resources import reports as wire
from hubbub.protocol.resources.reports import CaseAction, ReportState
from hubbub.server.commands.admin_actions import AdminError, action, parse_future_time, parse_id, require_user
from hubbub.server.core.call import Call
from hubbub.server.identity import administration as operator_administration
from hubbub.server.identity import moderation_decisions
from hubbub.server.talk import reports


@action("list-reports")
def list_reports(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the reported objects in a state."""
    assignee = None if arguments.assignee is None else require_user(call, arguments.assignee)
    query = wire.ListReportCases(
        state=ReportState(arguments.state),
        assignee_id=None if assignee is None else UserId(assignee.id),
        limit=administration.PAGE_LIMIT_MAX,
    )
    cases = reports.case_list(call, reports.search(call, query))
    lines = [
        f"{int(case.id)} {case.kind} {int(case.target_id)} ({case.report_count} reports: {', '.join(case.reasons)}): "
        + " ".join(case.title.split())
        + ("" if case.assignee_name is None else f" (assigned to {case.assignee_name})")
        for case in cases
    ]
    return lines or ["No reports found."]


@action("show-report")
def show_report(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print a reported object with its evidence."""
    case = reports.case_details(call, reports.require_case(call, parse_id(arguments.case_id)))
    lines = [f"{case.kind}: {int(case.target_id)}", f"state: {case.state}"]
    if case.assignee_name is not None:
        lines.append(f"assigned to: {case.assignee_name}")
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


@action("assign-report")
def assign_report(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Assign the reports of an object to an operator who can decide about them."""
    user = require_user(call, arguments.username)
    roles = {operator.username: operator.role for operator in operator_administration.operators.list_operators(call)}
    if user.username not in roles or not operator_administration.rules.includes_role(
        roles[user.username], OperatorRole.MODERATOR
    ):
        raise AdminError(f"{user.username} is not a moderator or owner; see hubbub admin list-operators")
    case = reports.require_case(call, parse_id(arguments.case_id))
    reports.assign(call, case, user.id, detail=f"to {user.username}")
    return [f"Assigned case {case.id} to {user.username}."]


@action("unassign-report")
def unassign_report(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Assign the reports of an object to no operator."""
    case = reports.assign(call, reports.require_case(call, parse_id(arguments.case_id)), None)
    return [f"Case {case.id} is not assigned to an operator any more."]


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


@action("list-decisions")
def list_decisions(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the decisions about accounts, newest first."""
    user = None if arguments.user is None else require_user(call, arguments.user)
    rows = moderation_decisions.list_page(
        call.tx,
        user_id=None if user is None else user.id,
        appeal_state=None,
        before_id=None,
        limit=administration.PAGE_LIMIT_MAX,
    )
    lines = [
        f"{int(decision.id)} {decision.username or int(decision.user_id)} {decision.action}: "
        + " ".join((decision.reason or "without a reason").split())
        for decision in moderation_decisions.administered_decisions(call, rows)
    ]
    return lines or ["No decisions found."]


@action("decide-appeal")
def decide_appeal(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Grant or reject an appeal."""
    row = moderation_decisions.require_decision(call, parse_id(arguments.decision_id))
    if row.appeal is None or row.appeal_outcome is not None:
        raise AdminError("no appeal against this decision is open")
    is_granted = arguments.outcome == "grant"
    moderation_decisions.decide_appeal(call, row, is_granted=is_granted, note=arguments.answer)
    return ["Granted the appeal; the decision is reversed." if is_granted else "Rejected the appeal."]
