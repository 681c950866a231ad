"""Build the wire models of approvals, testers and assets."""

from collections.abc import Sequence
from typing import Any, cast

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import AssetId, Timestamp
from hubbub.protocol.resources import developers as wire
from hubbub.protocol.scopes import SCOPES, missing_approvals
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications, oauth2, users
from hubbub.server.identity.applications import ApplicationRow
from hubbub.server.identity.applications.testers import TesterRow
from hubbub.server.identity.developers import store
from hubbub.server.identity.developers.actions import GRACE_PERIOD_KEY
from hubbub.server.identity.developers.store import ApprovalRow, AssetRow


def approvals(call: Call, row: ApplicationRow) -> wire.Approvals:
    """Build the approvals that an application has or could request."""
    requests = store.list_approvals(call.tx, row.id)
    approved_scopes = oauth2.list_approved_scopes(call.tx, row.id)
    application_size = applications.management.measure_size(call, row)
    grace_period = requests.get(GRACE_PERIOD_KEY)
    reach = wire.ApplicationReach(
        counted=application_size.unit,
        count=application_size.current_count,
        free_below=application_size.review_count_min,
        free=not application_size.requires_review,
        expires_at=_timestamp_or_none(grace_period.ends_ms)
        if grace_period is not None and application_size.requires_review
        else None,
    )
    return wire.Approvals(
        reach=reach,
        intents=[
            _intent_approval(
                row, name, requests.get(("intent", name)), requires_review=application_size.requires_review
            )
            for name in wire.PRIVILEGED_INTENTS
        ],
        scopes=[
            _scope_approval(row, name, requests.get(("scope", name)), approved_scopes)
            for name, scope_rule in SCOPES.items()
            if scope_rule.requires_approval
        ],
    )


def approval(call: Call, row: ApplicationRow, kind: str, name: str) -> wire.Approval:
    """Build the approval of one scope or intent."""
    all_approvals = approvals(call, row)
    return next(
        candidate
        for candidate in (*all_approvals.intents, *all_approvals.scopes)
        if (candidate.kind, candidate.name) == (kind, name)
    )


def _intent_approval(
    row: ApplicationRow, name: str, request: ApprovalRow | None, *, requires_review: bool
) -> wire.Approval:
    intent = wire.PRIVILEGED_INTENTS[name]
    state = "none" if request is None else request.state
    if row.flags & intent.granted_flag and state not in ("pending", "denied"):
        state = "approved"
    elif not requires_review and state != "pending":
        state = "open"
    return _approval_view(
        "intent",
        name,
        intent.description,
        state,
        request,
        is_enabled=bool(row.flags & (intent.granted_flag | intent.limited_flag)),
    )


def _scope_approval(
    row: ApplicationRow, name: str, request: ApprovalRow | None, approved_scopes: set[str]
) -> wire.Approval:
    if name in approved_scopes:
        state = "approved"
    elif not missing_approvals([name], row.flags, ()):
        state = "open"
    else:
        state = "none" if request is None else request.state
    return _approval_view("scope", name, SCOPES[name].description, state, request)


def _approval_view(
    kind: wire.ApprovalKind,
    name: str,
    description: str,
    state: str,
    request: ApprovalRow | None,
    *,
    is_enabled: Any = UNSET,
) -> wire.Approval:
    view = wire.Approval(kind=kind, name=str(name), description=description, state=cast(Any, state), enabled=is_enabled)
    if request is not None:
        view.reason = request.reason
        view.requested_at = _timestamp_or_none(request.requested_ms)
        view.decided_at = _timestamp_or_none(request.decided_ms)
        view.ends_at = _timestamp_or_none(request.ends_ms)
    return view


def testers(tx: Tx, rows: Sequence[TesterRow]) -> list[wire.Tester]:
    """Build testers. Deleted users are left out."""
    users_by_id = users.find_many(tx, [row.user_id for row in rows])
    return [
        wire.Tester(user=users.user_view(users_by_id[row.user_id]), state=cast(Any, row.state))
        for row in rows
        if row.user_id in users_by_id
    ]


def asset(row: AssetRow) -> wire.Asset:
    """Build a rich presence asset."""
    return wire.Asset(id=AssetId(row.id), type=row.type, name=row.name)


def _timestamp_or_none(time_ms: int | None) -> Timestamp | None:
    return None if time_ms is None else codec.timestamp(time_ms)
