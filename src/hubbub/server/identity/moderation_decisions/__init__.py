"""Decisions of operators about accounts: warnings, deleted messages and suspensions, and appeals against them."""

from hubbub.protocol.resources.moderation_decisions import DecisionAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts.signals import AccountUnbanned
from hubbub.server.identity.administration.signals import UserSuspended
from hubbub.server.identity.moderation_decisions import actions, admin_routes, ports, routes, store
from hubbub.server.identity.moderation_decisions.actions import (
    decide_appeal,
    delete_expired,
    describe_appeal,
    record,
    require_decision,
)
from hubbub.server.identity.moderation_decisions.store import (
    DecisionRow,
    find_active_suspension,
    list_page,
    set_context,
)
from hubbub.server.identity.moderation_decisions.views import administered_decisions, export_data
from hubbub.server.identity.users.signals import UserDeleting


def _on_user_suspended(call: Call, signal: UserSuspended) -> None:
    # A changed suspension replaces the earlier decision, against which an appeal would have no effect.
    store.revoke_suspensions(call.tx, signal.user_id, call.now_ms)
    actions.record(call, signal.user_id, DecisionAction.SUSPEND_USER, reason=signal.reason, ends_ms=signal.ends_ms)


def _on_account_unbanned(call: Call, signal: AccountUnbanned) -> None:
    store.revoke_suspensions(call.tx, signal.user_id, call.now_ms)


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.delete_user_decisions(call.tx, signal.user_id)


SLICE = Slice(
    name="moderation_decisions",
    modules=(routes, admin_routes, ports),
    tags={admin_routes: "administration"},
    listeners={
        UserSuspended: _on_user_suspended,
        AccountUnbanned: _on_account_unbanned,
        UserDeleting: _on_user_deleting,
    },
)

__all__ = [
    "DecisionRow",
    "SLICE",
    "administered_decisions",
    "decide_appeal",
    "delete_expired",
    "describe_appeal",
    "export_data",
    "find_active_suspension",
    "list_page",
    "ports",
    "record",
    "require_decision",
    "set_context",
]
