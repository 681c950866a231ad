"""Approvals and testers on the wire."""

from collections.abc import Sequence
from typing import Any, cast

from msgspec import UNSET

from hubbub.protocol import wire as json
from hubbub.protocol.ids import AssetId, Timestamp
from hubbub.protocol.resources import developers as wire
from hubbub.protocol.scopes import SCOPES, missing_approvals
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.resources import applications, oauth2, users
from hubbub.server.resources.applications import ApplicationRow, TesterRow
from hubbub.server.resources.developers import store
from hubbub.server.resources.developers.actions import REACH
from hubbub.server.resources.developers.store import ApprovalRow, AssetRow


def approvals(call: Call, row: ApplicationRow) -> wire.Approvals:
    """All that an application may have to ask for."""
    asked = store.list_approvals(call.tx, row.id)
    approved = oauth2.approved_scopes(call.tx, row.id)
    size = applications.measure(call, row)
    since = asked.get(REACH)
    reach = wire.Reach(
        counted=size.counted,
        count=size.found,
        free_below=size.free_below,
        free=size.free,
        lapses_at=_time(since.ends_ms) if since is not None and not size.free else None,
    )
    return wire.Approvals(
        reach=reach,
        intents=[_intent(row, name, asked.get(("intent", name)), free=size.free) for name in wire.PRIVILEGED_INTENTS],
        scopes=[
            _scope(row, name, asked.get(("scope", name)), approved) for name, rule in SCOPES.items() if rule.approval
        ],
    )


def approval(call: Call, row: ApplicationRow, kind: str, name: str) -> wire.Approval:
    """One of them."""
    shown = approvals(call, row)
    return next(each for each in (*shown.intents, *shown.scopes) if (each.kind, each.name) == (kind, name))


def _intent(row: ApplicationRow, name: str, asked: ApprovalRow | None, *, free: bool) -> wire.Approval:
    intent = wire.PRIVILEGED_INTENTS[name]
    state = "none" if asked is None else asked.state
    if row.flags & intent.granted and state not in ("pending", "denied"):
        state = "approved"
    elif free and state != "pending":
        state = "open"
    return _approval(
        "intent", name, intent.words, state, asked, enabled=bool(row.flags & (intent.granted | intent.limited))
    )


def _scope(row: ApplicationRow, name: str, asked: ApprovalRow | None, approved: set[str]) -> wire.Approval:
    if name in approved:
        state = "approved"
    elif not missing_approvals([name], row.flags, ()):
        state = "open"
    else:
        state = "none" if asked is None else asked.state
    return _approval("scope", name, SCOPES[name].words, state, asked)


def _approval(
    kind: wire.ApprovalKind, name: str, words: str, state: str, asked: ApprovalRow | None, *, enabled: Any = UNSET
) -> wire.Approval:
    shown = wire.Approval(kind=kind, name=str(name), description=words, state=cast(Any, state), enabled=enabled)
    if asked is not None:
        shown.reason = asked.reason
        shown.requested_at = _time(asked.requested_ms)
        shown.decided_at = _time(asked.decided_ms)
        shown.ends_at = _time(asked.ends_ms)
    return shown


def testers(tx: Tx, rows: Sequence[TesterRow]) -> list[wire.Tester]:
    """Testers, as far as the people are still there."""
    people = users.find_many(tx, [row.user_id for row in rows])
    return [
        wire.Tester(user=users.user(people[row.user_id]), state=cast(Any, row.state))
        for row in rows
        if row.user_id in people
    ]


def asset(row: AssetRow) -> wire.Asset:
    """A picture."""
    return wire.Asset(id=AssetId(row.id), type=row.type, name=row.name)


def _time(ms: int | None) -> Timestamp | None:
    return None if ms is None else json.timestamp(ms)
