"""Request, grant and expire approvals, and delete applications."""

from hubbub.protocol import changes
from hubbub.protocol.ids import ApplicationId
from hubbub.protocol.resources import developers as wire
from hubbub.server.core import jobs
from hubbub.server.core.call import Call
from hubbub.server.identity import applications, identities, oauth2
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.developers import rules, store
from hubbub.server.identity.developers.store import ApprovalRow

EXPIRE_GRANT_JOB = "developers.lapse"
CHECK_SIZE_JOB = "developers.watch"
DAY_MS = 86_400_000

REACH_KEY = ("reach", "users")
"""Kind and name of the row that records since when an application is large."""


def request(call: Call, row: ApplicationRow, body: wire.RequestApproval) -> ApprovalRow:
    """Store an approval request. A rehearsal has no operator and approves it at once."""
    before = store.find_approval(call.tx, row.id, body.kind, body.name)
    requested = ApprovalRow(
        application_id=row.id,
        kind=body.kind,
        name=body.name,
        state="pending",
        reason=body.reason,
        requested_ms=call.now,
        # While a renewal is pending, the current grant stays valid until its end.
        ends_ms=before.ends_ms if before is not None else None,
    )
    store.save_approval(call.tx, requested)
    return approve(call, row, body.kind, body.name) if call.config.control else requested


def approve(call: Call, row: ApplicationRow, kind: str, name: str) -> ApprovalRow:
    """Approve a request, or grant an approval without one. A privileged intent is granted for a year."""
    before = store.find_approval(call.tx, row.id, kind, name)
    ends_ms = None
    if kind == "scope":
        oauth2.approve_scopes(call, row.id, [name])
    else:
        granted = wire.PRIVILEGED_INTENTS[name].granted_flag
        starts_ms = call.now
        if before is not None and before.ends_ms is not None and row.flags & granted:
            starts_ms = max(starts_ms, before.ends_ms)
        applications.change(call, row._replace(flags=row.flags | granted))
        # spec/dated-changes.md#3: before 10 June 2026 grants did not expire.
        if changes.PRIVILEGED_INTENTS_BY_USERS.is_active(call.now):
            ends_ms = starts_ms + wire.INTENT_GRANT_DAYS * DAY_MS
            call.tx.enqueue(
                EXPIRE_GRANT_JOB, [int(row.id), name], due_ms=ends_ms, key=f"{EXPIRE_GRANT_JOB}:{int(row.id)}:{name}"
            )
    return _decide(call, row, kind, name, before, "approved", ends_ms)


def deny(call: Call, row: ApplicationRow, kind: str, name: str) -> ApprovalRow:
    """Deny a request. A grant that was to be renewed stays valid until its end."""
    before = store.find_approval(call.tx, row.id, kind, name)
    return _decide(call, row, kind, name, before, "denied", before.ends_ms if before is not None else None)


def _decide(
    call: Call,
    row: ApplicationRow,
    kind: str,
    name: str,
    before: ApprovalRow | None,
    state: str,
    ends_ms: int | None,
) -> ApprovalRow:
    decided = ApprovalRow(
        application_id=row.id,
        kind=kind,
        name=name,
        state=state,
        reason=before.reason if before is not None else "",
        requested_ms=before.requested_ms if before is not None else call.now,
        decided_ms=call.now,
        ends_ms=ends_ms,
    )
    store.save_approval(call.tx, decided)
    return decided


def delete(call: Call, row: ApplicationRow) -> None:
    """Delete an application. Its players are deleted first, so that no replacement is created for linked accounts."""
    if row.parent_id is None:
        identities.delete_players(call, row)
    applications.delete(call, row)


def expire_grant(call: Call, application_id: int, name: str) -> None:
    """Expire a granted intent: a small application keeps it as its own toggle, a large one loses it."""
    row = applications.find(call.tx, application_id)
    grant = store.find_approval(call.tx, application_id, "intent", name)
    if row is None or grant is None or grant.ends_ms is None or grant.ends_ms > call.now:
        return
    intent = wire.PRIVILEGED_INTENTS[name]
    flags = row.flags & ~intent.granted_flag
    if applications.measure_size(call, row).is_free:
        flags |= intent.limited_flag
        schedule_size_check(call, ApplicationId(row.id))
    else:
        flags &= ~intent.limited_flag
    applications.change(call, row._replace(flags=flags))
    state = "lapsed" if grant.state == "approved" else grant.state
    store.save_approval(call.tx, grant._replace(state=state, ends_ms=None))


def schedule_size_check(call: Call, application_id: ApplicationId) -> None:
    """Schedule the daily check of an application that toggled intents itself and may grow too large."""
    key = f"{CHECK_SIZE_JOB}:{int(application_id)}"
    jobs.enqueue_once(call.tx, CHECK_SIZE_JOB, int(application_id), due_ms=call.now + DAY_MS, key=key)


def check_size(call: Call, application_id: int) -> None:
    """Start, cancel or end the grace period in which a grown application must request a review."""
    row = applications.find(call.tx, application_id)
    limited = [] if row is None else rules.limited_intents(row)
    if row is None or not limited:
        store.delete_approval(call.tx, application_id, *REACH_KEY)
        return
    since = store.find_approval(call.tx, row.id, *REACH_KEY)
    if applications.measure_size(call, row).is_free:
        if since is not None:
            store.delete_approval(call.tx, row.id, *REACH_KEY)
    elif since is None:
        ends_ms = call.now + wire.INTENT_GRACE_DAYS * DAY_MS
        kind, name = REACH_KEY
        store.save_approval(call.tx, ApprovalRow(row.id, kind, name, "open", "", call.now, None, ends_ms))
    elif since.ends_ms is not None and since.ends_ms <= call.now:
        approvals = store.list_approvals(call.tx, row.id)
        pending = {name for (kind, name), each in approvals.items() if kind == "intent" and each.state == "pending"}
        flags = row.flags
        for name in limited:
            # An intent with a pending request stays until the operator decides.
            if name not in pending:
                flags &= ~wire.PRIVILEGED_INTENTS[name].limited_flag
        if flags != row.flags:
            applications.change(call, row._replace(flags=flags))
    schedule_size_check(call, ApplicationId(row.id))
