"""Create reports, assign, decide and delete cases, and notify reporters and affected accounts."""

from typing import Final

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import reports as wire
from hubbub.protocol.resources.moderation_decisions import DecisionAction
from hubbub.protocol.resources.reports import CaseAction, ReportTarget
from hubbub.server.core.call import Call
from hubbub.server.core.config_sections import compute_expiry_cutoff_ms
from hubbub.server.identity import administration, moderation_decisions, users
from hubbub.server.places import guild_administration, guilds
from hubbub.server.talk import direct_messages, messages
from hubbub.server.talk.reports import evidence, store
from hubbub.server.talk.reports.store import CaseRow, ReportRow

NOTIFY_REPORTERS_JOB: Final = "reports.notify_reporters"
"""Kind of the job that sends the outcome of a case to its reporters."""
NOTICES_BATCH_SIZE: Final = 50
"""Maximum number of reporters that receive a notice in one transaction."""


def create(call: Call, body: wire.CreateReport) -> tuple[ReportRow, CaseRow]:
    """Report an object. A second report of the caller in an open case replaces reason and comment of the first."""
    reported_object = evidence.collect(call, body)
    case = store.find_open_case(call.tx, body.kind.value, body.id)
    if case is None:
        case = CaseRow(
            id=call.new_id(Snowflake),
            target_kind=body.kind.value,
            target_id=body.id,
            channel_id=reported_object.channel_id,
            guild_id=reported_object.guild_id,
            user_id=reported_object.user_id,
            title=reported_object.title,
        )
        store.insert_case(call.tx, case)
    earlier_report = store.find_own_report(call.tx, case.id, call.user_id)
    comment = body.comment.strip()
    if earlier_report is not None:
        store.update_report(call.tx, earlier_report.id, body.reason.value, comment)
        return earlier_report._replace(reason=body.reason.value, comment=comment), case
    report = ReportRow(
        id=call.new_id(Snowflake),
        case_id=case.id,
        reporter_id=call.user_id,
        reason=body.reason.value,
        comment=comment,
        evidence=codec.encode(reported_object.evidence).decode(),
    )
    store.insert_report(call.tx, report)
    store.increment_report_count(call.tx, case.id)
    return report, case


def assign(call: Call, case: CaseRow, assignee_id: int | None, *, detail: str = "") -> CaseRow:
    """Assign an open case to an operator, or remove its assignee with None. `detail` is for the audit log of operators."""
    _require_open(case)
    if case.assignee_id != assignee_id:
        store.set_assignee(call.tx, case.id, assignee_id)
        _log_case_action(call, "report.unassign" if assignee_id is None else "report.assign", case, detail=detail)
    return case._replace(assignee_id=assignee_id)


def decide(
    call: Call,
    case: CaseRow,
    action: CaseAction,
    *,
    note: str | None = None,
    ends_ms: int | None = None,
    should_delete_message: bool = False,
) -> CaseRow:
    """Decide about a case, which closes all its reports, and notify the reporters.

    The actions WARN and DELETE_MESSAGE also send a direct message to the affected account. `should_delete_message` deletes
    the reported message in addition to WARN or SUSPEND_USER; that deletion is not mentioned to the account."""
    _require_open(case)
    _validate_decision(call, case, action, note=note, ends_ms=ends_ms, should_delete_message=should_delete_message)
    if should_delete_message or action == CaseAction.DELETE_MESSAGE:
        _delete_message(call, case)
    decision_id = _execute_action(call, case, action, note or "", ends_ms)
    decided_case = case._replace(
        action=action.value,
        note=note,
        operator_id=call.user_id_or_none,
        decided_ms=call.now_ms,
        decision_id=decision_id,
    )
    store.set_decision(call.tx, decided_case)
    detail = f"{action.value.replace('_', ' ')}{' and delete message' if should_delete_message else ''}"
    _log_case_action(call, "report.decide", case, detail=detail, reason=note)
    call.tx.enqueue(NOTIFY_REPORTERS_JOB, (case.id, 0))
    return decided_case


def notify_reporters(call: Call, case_id: int, after_report_id: int) -> None:
    """Send the outcome of a case to a batch of its reporters, and schedule the next batch if there may be one.

    The batch consists of the reports with IDs above `after_report_id`."""
    case = store.find_case(call.tx, case_id)
    if case is None or case.action is None:
        return
    reports = store.list_reports(call.tx, case_id, after_id=after_report_id, limit=NOTICES_BATCH_SIZE)
    outcome = (
        "They found no violation of the rules."
        if case.action == CaseAction.DISMISS
        else "They found a violation of the rules and took action. The reported user does not learn your name."
    )
    for report in reports:
        if report.reporter_id is not None:
            text = f"Thank you for your report. The operators of this server reviewed the {case.target_kind}. {outcome}"
            direct_messages.send_notice(call, report.reporter_id, text)
    if len(reports) == NOTICES_BATCH_SIZE:
        call.tx.enqueue(NOTIFY_REPORTERS_JOB, (case_id, reports[-1].id))


def delete_expired(call: Call, limit: int) -> bool:
    """Delete at most `limit` cases whose decision is older than `retention.report_days`. Return whether more may be left."""
    cutoff_ms = compute_expiry_cutoff_ms(call.now_ms, call.config.retention.report_days)
    return cutoff_ms is not None and store.delete_decided_before(call.tx, cutoff_ms, limit) == limit


def require_case(call: Call, case_id: int) -> CaseRow:
    """Return a case, or raise NOT_FOUND."""
    case = store.find_case(call.tx, case_id)
    if case is None:
        raise errors.NOT_FOUND()
    return case


def _require_open(case: CaseRow) -> None:
    if case.decided_ms is not None:
        raise errors.FORBIDDEN(message="An operator has already decided about this case.")


def _validate_decision(
    call: Call, case: CaseRow, action: CaseAction, *, note: str | None, ends_ms: int | None, should_delete_message: bool
) -> None:
    """Raise form errors if a decision does not fit the case."""
    form = errors.FormErrors()
    if action != CaseAction.DISMISS and not (note or "").strip():
        form.add("note", *errors.required())
    is_about_message = case.target_kind == ReportTarget.MESSAGE
    if action == CaseAction.DELETE_MESSAGE and not is_about_message:
        form.add("action", "NOT_A_MESSAGE", "Only a reported message can be deleted.")
    if action == CaseAction.SUSPEND_GUILD and case.guild_id is None:
        form.add("action", "NO_GUILD", "The reported object is not in a guild.")
    if action in (CaseAction.WARN, CaseAction.SUSPEND_USER) and case.user_id is None:
        form.add("action", "NO_ACCOUNT", "The author is a bot or webhook. Disable the application instead.")
    if should_delete_message and not is_about_message:
        form.add("delete_message", "NOT_A_MESSAGE", "Only a reported message can be deleted.")
    elif should_delete_message and action not in (CaseAction.WARN, CaseAction.SUSPEND_USER):
        form.add(
            "delete_message",
            "NOT_A_MESSAGE",
            "Only a warning or the suspension of an account can also delete the message.",
        )
    if ends_ms is not None and action != CaseAction.SUSPEND_USER:
        form.add("ends_at", "NOT_A_SUSPENSION", "Only the suspension of an account has an end.")
    elif ends_ms is not None and ends_ms <= call.now_ms:
        form.add("ends_at", "TIME_IN_PAST", "Choose a time in the future.")
    form.raise_if_any()


def _execute_action(call: Call, case: CaseRow, action: CaseAction, note: str, ends_ms: int | None) -> int | None:
    """Execute an action and return the ID of the moderation decision that it records about an account, or None.

    WARN and DELETE_MESSAGE send a direct message to the account. The slice `account_emails` reports a suspension."""
    if action == CaseAction.DISMISS:
        return None
    if action == CaseAction.SUSPEND_GUILD:
        guild = None if case.guild_id is None else guilds.find(call.tx, case.guild_id)
        if guild is None:
            raise errors.UNKNOWN_GUILD()
        guild_administration.suspend(call, guild, reason=note)
        return moderation_decisions.record(
            call,
            guild.owner_id,
            DecisionAction.SUSPEND_GUILD,
            reason=note,
            subject=guild.name,
            guild_id=guild.id,
            case_id=case.id,
        ).id
    user = None if case.user_id is None else users.find(call.tx, case.user_id)
    if user is None:
        if action == CaseAction.DELETE_MESSAGE:
            return None
        raise errors.UNKNOWN_USER()
    if action == CaseAction.SUSPEND_USER:
        administration.accounts.suspend(call, user, reason=note, ends_ms=ends_ms)
        suspension = moderation_decisions.find_active_suspension(call.tx, user.id)
        assert suspension is not None
        moderation_decisions.set_context(call.tx, suspension.id, case_id=case.id, subject=case.title)
        return suspension.id
    decision_action = DecisionAction(action.value)
    decision = moderation_decisions.record(
        call, user.id, decision_action, reason=note, subject=case.title, case_id=case.id
    )
    verb = "deleted your message" if action == CaseAction.DELETE_MESSAGE else "warned you"
    quoted_note = note.replace("\n", "\n> ")
    text = (
        f"The operators of this server {verb}. Reason:\n> {quoted_note}\n"
        f"You can appeal in your account settings: {call.config.web_url}/settings/account"
    )
    direct_messages.send_notice(call, user.id, text)
    return decision.id


def _delete_message(call: Call, case: CaseRow) -> None:
    """Delete the reported message, unless it is already deleted."""
    if case.channel_id is not None:
        row = messages.history.find(call.tx, case.channel_id, case.target_id)
        if row is not None:
            messages.changes.delete_for_operator(call, row)


def _log_case_action(call: Call, action: str, case: CaseRow, *, detail: str = "", reason: str | None = None) -> None:
    administration.audit.log_action(
        call,
        action,
        "report",
        target_id=case.id,
        target_name=f"{case.target_kind}: {case.title[:80]}",
        detail=detail,
        reason=reason,
    )
