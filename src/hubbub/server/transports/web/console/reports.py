"""The report and appeal pages of the operator console."""

from typing import Any, Final
from urllib.parse import urlencode

from aiohttp import web

from hubbub.protocol.errors import ApiError
from hubbub.protocol.resources import moderation_decisions, reports
from hubbub.protocol.resources.administration import Operator
from hubbub.protocol.resources.reports import ReportTarget
from hubbub.server.core.translation import gettext, gettext_noop
from hubbub.server.transports.web.console.common import CONSOLE_PATH, PAGE_SIZE, console_page, render, render_errors
from hubbub.server.transports.web.page_requests import PageRequest

PATH: Final = "/reports"
"""Path of the page, relative to `CONSOLE_PATH`."""
CASE_PATH: Final = PATH + r"/{case_id:\d{1,19}}"
APPEALS_PATH: Final = "/appeals"

STATES: Final = (("open", gettext_noop("Not decided")), ("decided", gettext_noop("Decided")), ("", gettext_noop("All")))
KINDS: Final = (
    ("", gettext_noop("All")),
    ("message", gettext_noop("Messages")),
    ("user", gettext_noop("Users")),
    ("guild", gettext_noop("Guilds")),
)
AGES: Final = (
    ("", gettext_noop("Any")),
    ("24", gettext_noop("Older than a day")),
    ("168", gettext_noop("Older than a week")),
)
"""Minimum ages of cases in hours, with their labels."""
REASONS: Final = (
    ("spam", gettext_noop("Spam or scam")),
    ("harassment", gettext_noop("Harassment")),
    ("hate", gettext_noop("Hate")),
    ("violence", gettext_noop("Violence")),
    ("sexual_content", gettext_noop("Sexual content")),
    ("minor_safety", gettext_noop("Danger to minors")),
    ("self_harm", gettext_noop("Self-harm")),
    ("malware", gettext_noop("Harmful file or link")),
    ("impersonation", gettext_noop("Impersonation")),
    ("illegal", gettext_noop("Other illegal content")),
    ("other", gettext_noop("Other")),
)
ACTION_LABELS: Final = {
    "dismiss": gettext_noop("Dismiss the reports"),
    "warn": gettext_noop("Warn the account"),
    "delete_message": gettext_noop("Delete the message"),
    "suspend_user": gettext_noop("Suspend the account"),
    "suspend_guild": gettext_noop("Suspend the guild"),
}
"""Labels of actions to choose."""
OUTCOME_LABELS: Final = {
    "dismiss": gettext_noop("Dismissed"),
    "warn": gettext_noop("Warning of the account"),
    "delete_message": gettext_noop("Deleted message"),
    "suspend_user": gettext_noop("Suspension of the account"),
    "suspend_guild": gettext_noop("Suspension of the guild"),
}
"""Labels of actions that were taken."""
APPEAL_STATES: Final = (
    ("pending", gettext_noop("Not decided")),
    ("granted", gettext_noop("Granted")),
    ("rejected", gettext_noop("Rejected")),
)
DECISION_FIELDS: Final = ("action", "note", "ends_at", "delete_message")


@console_page("GET", PATH)
async def list_cases(request: PageRequest, operator: Operator) -> web.Response:
    """List the reported objects."""
    choices = {"state": STATES, "kind": KINDS, "reason": (("", gettext_noop("All")), *REASONS), "age": AGES}
    # Without the filter `state` the page shows the open cases.
    chosen_filters = {"state": "open"} | {
        name: request.query_parameter(name) for name in choices if name in request.http_request.query
    }
    filters = {name: value for name, value in chosen_filters.items() if value and value in dict(choices[name])}
    query = {"limit": [str(PAGE_SIZE + 1)]}
    for name, value in filters.items():
        query["older_than_hours" if name == "age" else name] = [value]
    before = request.query_parameter("before")
    if before.isascii() and before.isdigit():
        query["before"] = [before]
    found_cases = await request.call(reports.LIST_REPORT_CASES, query=query)
    cases, next_path = found_cases[:PAGE_SIZE], None
    if len(found_cases) > PAGE_SIZE:
        # An absent state would mean the open cases, so all cases need an empty one.
        parameters = {"state": "", **filters, "before": str(int(cases[-1].id))}
        next_path = f"{CONSOLE_PATH}{PATH}?{urlencode(parameters)}"
    return render(
        request,
        "reports.html",
        operator,
        cases=cases,
        choices=choices,
        filters=filters,
        next_path=next_path,
        reasons=dict(REASONS),
        outcome_labels=OUTCOME_LABELS,
    )


@console_page("GET", CASE_PATH)
async def show_case(request: PageRequest, operator: Operator) -> web.Response:
    """Show a reported object with its evidence and the decisions of operators."""
    return render(request, "report.html", operator, **await _case_context(request))


@console_page("POST", CASE_PATH + "/assign")
async def assign_case(request: PageRequest, operator: Operator) -> web.Response:
    """Assign a case to the operator, or remove the assignment."""
    is_assigned = request.form.text("assigned") == "1"
    await request.call(reports.ASSIGN_REPORT_CASE, request.path_parameter("case_id"), body={"assigned": is_assigned})
    notice = gettext("The case is assigned to you.") if is_assigned else gettext("The case is assigned to no operator.")
    return request.redirect(_case_path(request), notice=notice)


@console_page("POST", CASE_PATH + "/decide")
async def decide_case(request: PageRequest, operator: Operator) -> web.Response:
    """Save the decision about a case, or show the form again with its errors."""
    form = request.form
    body: dict[str, Any] = {"action": form.text("action"), "note": form.optional("note")}
    if form.checked("delete_message") and body["action"] in ("warn", "suspend_user"):
        body["delete_message"] = True
    if body["action"] == "suspend_user" and form.trimmed("ends_at"):
        body["ends_at"] = f"{form.trimmed('ends_at')}T00:00:00Z"
    try:
        await request.call(reports.DECIDE_REPORT_CASE, request.path_parameter("case_id"), body=body)
    except ApiError as error:
        return render_errors(
            request, "report.html", error, operator, fields=DECISION_FIELDS, **await _case_context(request)
        )
    return request.redirect(CONSOLE_PATH + PATH, notice=gettext("Decision saved. The reporters are notified."))


@console_page("GET", APPEALS_PATH)
async def list_appeals(request: PageRequest, operator: Operator) -> web.Response:
    """List the appeals against decisions."""
    return render(request, "appeals.html", operator, **await _appeals_context(request))


@console_page("POST", APPEALS_PATH + r"/{decision_id:\d{1,19}}")
async def decide_appeal(request: PageRequest, operator: Operator) -> web.Response:
    """Grant or reject an appeal."""
    is_granted = request.form.text("grant") == "1"
    body = {"grant": is_granted, "note": request.form.optional("note")}
    try:
        await request.call(moderation_decisions.DECIDE_APPEAL, request.path_parameter("decision_id"), body=body)
    except ApiError as error:
        context = await _appeals_context(request)
        return render_errors(request, "appeals.html", error, operator, fields=(), **context)
    notice = gettext("Appeal granted. The decision is reversed.") if is_granted else gettext("Appeal rejected.")
    return request.redirect(CONSOLE_PATH + APPEALS_PATH, notice=notice)


def _case_path(request: PageRequest) -> str:
    return f"{CONSOLE_PATH}{PATH}/{request.path_parameter('case_id')}"


async def _case_context(request: PageRequest) -> dict[str, Any]:
    case = await request.call(reports.GET_REPORT_CASE, request.path_parameter("case_id"))
    action_names = ["dismiss"]
    if case.user_id is not None:
        action_names += ["warn", "suspend_user"]
    if case.kind == ReportTarget.MESSAGE:
        action_names.append("delete_message")
    if case.guild_id is not None:
        action_names.append("suspend_guild")
    distinct_evidence: list[reports.Evidence] = []
    for report in case.reports:
        # Most reports of one case have the same evidence.
        if report.evidence not in distinct_evidence:
            distinct_evidence.append(report.evidence)
    return {
        "case": case,
        "distinct_evidence": distinct_evidence,
        "reasons": dict(REASONS),
        "outcome_labels": OUTCOME_LABELS,
        "action_choices": [(name, gettext(label)) for name, label in ACTION_LABELS.items() if name in action_names],
    }


async def _appeals_context(request: PageRequest) -> dict[str, Any]:
    state = request.query_parameter("state")
    state = state if state in dict(APPEAL_STATES) else "pending"
    query = {"appeal": [state], "limit": [str(PAGE_SIZE + 1)]}
    before = request.query_parameter("before")
    if before.isascii() and before.isdigit():
        query["before"] = [before]
    decisions = await request.call(moderation_decisions.LIST_DECISIONS, query=query)
    next_path = None
    if len(decisions) > PAGE_SIZE:
        parameters = urlencode({"state": state, "before": str(int(decisions[PAGE_SIZE - 1].id))})
        next_path = f"{CONSOLE_PATH}{APPEALS_PATH}?{parameters}"
    return {
        "decisions": decisions[:PAGE_SIZE],
        "state": state,
        "states": APPEAL_STATES,
        "next_path": next_path,
        "outcome_labels": OUTCOME_LABELS,
    }
