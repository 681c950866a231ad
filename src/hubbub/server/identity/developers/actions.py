"""Request, decide and expire approvals, check the size of applications, and delete applications."""

from hubbub.protocol import changes
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import developers as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.core.clock import DAY_MS
from hubbub.server.identity import applications, identities, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.developers import rules, store
from hubbub.server.identity.developers.store import ApprovalRow

# Names of jobs are stored, so they do not change.
EXPIRE_GRANT_JOB = "developers.expire_grant"
CHECK_SIZE_JOB = "developers.check_size"
GRACE_PERIOD_KEY = ("reach", "users")
"""Kind and name of the approval row that stores the grace period of an application that has grown too large."""


def request_approval(call: Call, row: ApplicationRow, body: wire.RequestApproval) -> ApprovalRow:
    """Store an approval request of an application. A rehearsal has no operator and approves it immediately."""
    previous_approval = store.find_approval(call.tx, row.id, body.kind, body.name)
    approval = ApprovalRow(
        application_id=row.id,
        kind=body.kind,
        name=body.name,
        state="pending",
        reason=body.reason,
        requested_ms=call.now_ms,
        # While a renewal is pending, the current grant stays valid until its end.
        ends_ms=previous_approval.ends_ms if previous_approval is not None else None,
    )
    store.save_approval(call.tx, approval)
    return approve(call, row, body.kind, body.name) if call.config.control else approval


def approve(call: Call, row: ApplicationRow, kind: str, name: str) -> ApprovalRow:
    """Approve a request, or grant an approval without a request.

    The grant of a privileged intent ends after `INTENT_GRANT_DAYS` days; before 10 June 2026 it had no end."""
    previous_approval = store.find_approval(call.tx, row.id, kind, name)
    ends_ms = None
    if kind == "scope":
        oauth2.approve_scopes(call, row.id, [name])
    else:
        granted_flag = wire.PRIVILEGED_INTENTS[name].granted_flag
        starts_ms = call.now_ms
        # A renewal starts when the current grant ends.
        if previous_approval is not None and previous_approval.ends_ms is not None and row.flags & granted_flag:
            starts_ms = max(starts_ms, previous_approval.ends_ms)
        applications.management.update(call, row._replace(flags=row.flags | granted_flag))
        # spec/dated-changes.md#3: before 10 June 2026 grants did not expire.
        if changes.PRIVILEGED_INTENTS_BY_USERS.is_active(call.now_ms):
            ends_ms = starts_ms + wire.INTENT_GRANT_DAYS * DAY_MS
            call.tx.enqueue(
                EXPIRE_GRANT_JOB, [int(row.id), name], due_ms=ends_ms, key=f"{EXPIRE_GRANT_JOB}:{int(row.id)}:{name}"
            )
    return _save_decision(call, row, kind, name, previous_approval, "approved", ends_ms)


def deny(call: Call, row: ApplicationRow, kind: str, name: str) -> ApprovalRow:
    """Deny a request. A grant that was to be renewed stays valid until its end."""
    previous_approval = store.find_approval(call.tx, row.id, kind, name)
    return _save_decision(
        call,
        row,
        kind,
        name,
        previous_approval,
        "denied",
        previous_approval.ends_ms if previous_approval is not None else None,
    )


def _save_decision(
    call: Call,
    row: ApplicationRow,
    kind: str,
    name: str,
    previous_approval: ApprovalRow | None,
    state: str,
    ends_ms: int | None,
) -> ApprovalRow:
    approval = ApprovalRow(
        application_id=row.id,
        kind=kind,
        name=name,
        state=state,
        reason=previous_approval.reason if previous_approval is not None else "",
        requested_ms=previous_approval.requested_ms if previous_approval is not None else call.now_ms,
        decided_ms=call.now_ms,
        ends_ms=ends_ms,
    )
    store.save_approval(call.tx, approval)
    return approval


def delete(call: Call, row: ApplicationRow) -> None:
    """Delete an application.

    The players of an application without a publisher are deleted first, so that no provisional account is created for the
    identities of linked accounts."""
    if row.parent_id is None:
        identities.delete_players(call, row)
    applications.management.delete(call, row)


def expire_grant(call: Call, application_id: int, name: str) -> None:
    """Expire the grant of an intent: a small application keeps the intent without a grant, a large application loses it."""
    row = applications.find(call.tx, application_id)
    grant = store.find_approval(call.tx, application_id, "intent", name)
    if row is None or grant is None or grant.ends_ms is None or grant.ends_ms > call.now_ms:
        return
    intent = wire.PRIVILEGED_INTENTS[name]
    flags = row.flags & ~intent.granted_flag
    if applications.management.measure_size(call, row).requires_review:
        flags &= ~intent.limited_flag
    else:
        flags |= intent.limited_flag
        schedule_size_check(call, ApplicationId(row.id))
    applications.management.update(call, row._replace(flags=flags))
    state = "expired" if grant.state == "approved" else grant.state
    store.save_approval(call.tx, grant._replace(state=state, ends_ms=None))


def schedule_size_check(call: Call, application_id: ApplicationId) -> None:
    """Schedule the next daily check of an application that enabled intents itself and may grow too large."""
    key = f"{CHECK_SIZE_JOB}:{int(application_id)}"
    jobs.enqueue_once(call.tx, CHECK_SIZE_JOB, int(application_id), due_ms=call.now_ms + DAY_MS, key=key)


def check_size(call: Call, application_id: int) -> None:
    """Start, cancel or end the grace period in which an application that has grown too large must request a review.

    When the grace period ends, the application loses the intents for which it requested no review."""
    row = applications.find(call.tx, application_id)
    limited_intents = [] if row is None else rules.list_limited_intents(row)
    if row is None or not limited_intents:
        store.delete_approval(call.tx, application_id, *GRACE_PERIOD_KEY)
        return
    grace_period = store.find_approval(call.tx, row.id, *GRACE_PERIOD_KEY)
    if not applications.management.measure_size(call, row).requires_review:
        if grace_period is not None:
            store.delete_approval(call.tx, row.id, *GRACE_PERIOD_KEY)
    elif grace_period is None:
        ends_ms = call.now_ms + wire.INTENT_GRACE_DAYS * DAY_MS
        kind, name = GRACE_PERIOD_KEY
        store.save_approval(call.tx, ApprovalRow(row.id, kind, name, "open", "", call.now_ms, None, ends_ms))
    elif grace_period.ends_ms is not None and grace_period.ends_ms <= call.now_ms:
        approvals = store.list_approvals(call.tx, row.id)
        pending_intents = {
            name for (kind, name), approval in approvals.items() if kind == "intent" and approval.state == "pending"
        }
        flags = row.flags
        for name in limited_intents:
            # An intent with a pending request stays until the operator decides.
            if name not in pending_intents:
                flags &= ~wire.PRIVILEGED_INTENTS[name].limited_flag
        if flags != row.flags:
            applications.management.update(call, row._replace(flags=flags))
    schedule_size_check(call, ApplicationId(row.id))
