"""Grant and remove the roles of operators."""

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration as wire
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts, users
from hubbub.server.identity.administration import rules, store
from hubbub.server.identity.administration.audit_entries import audit
from hubbub.server.identity.administration.store import OperatorRow
from hubbub.server.identity.users import UserRow

__all__ = ["list_operators", "remove", "set_role", "view"]
"""The interface for the command line and other slices."""


def set_role(call: Call, user: UserRow, role: OperatorRole, *, reason: str | None = None) -> OperatorRow:
    """Grant a role to a user or change it. Raise if the server would have no owner.

    A new operator is logged out everywhere: a session that was opened without a two-factor code must not gain rights."""
    if user.bot:
        raise errors.UNKNOWN_USER()
    previous_row = store.find_operator(call.tx, user.id)
    if previous_row is not None and previous_row.role == role:
        return previous_row
    if previous_row is not None and role != OperatorRole.OWNER:
        rules.require_other_owner(call, user.id)
    actor = call.actor_or_none
    row = OperatorRow(user.id, role.value, None if actor is None else actor.user_id, call.now_ms)
    store.upsert_operator(call.tx, row)
    if previous_row is None:
        accounts.management.sign_out(call, user.id)
    detail = f"to {role.value}" if previous_row is None else f"from {previous_row.role} to {role.value}"
    audit.log_action(
        call, "operator.set", "user", target_id=user.id, target_name=user.username, detail=detail, reason=reason
    )
    return row


def remove(call: Call, user: UserRow, *, reason: str | None = None) -> None:
    """Remove the role of an operator. Raise UNKNOWN_USER if the user is not an operator, FORBIDDEN for the last owner."""
    row = store.find_operator(call.tx, user.id)
    if row is None:
        raise errors.UNKNOWN_USER()
    rules.require_other_owner(call, user.id)
    store.delete_operator(call.tx, user.id)
    audit.log_action(
        call,
        "operator.remove",
        "user",
        target_id=user.id,
        target_name=user.username,
        detail=f"with the role {row.role}",
        reason=reason,
    )


def view(row: OperatorRow, user: UserRow) -> wire.Operator:
    """Build the wire model of an operator."""
    return wire.Operator(
        user_id=UserId(row.user_id),
        username=user.username,
        role=OperatorRole(row.role),
        mfa_enabled=bool(user.mfa_enabled),
        granted_at=codec.timestamp(row.granted_ms),
    )


def list_operators(call: Call) -> list[wire.Operator]:
    """Return every user who has a role, with the time at which it was granted."""
    rows = store.list_operators(call.tx)
    users_by_id = users.find_many(call.tx, [row.user_id for row in rows])
    return [view(row, users_by_id[row.user_id]) for row in rows if row.user_id in users_by_id]
