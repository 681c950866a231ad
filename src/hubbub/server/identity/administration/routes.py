"""HTTP handlers for operators and their audit log."""

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration as wire
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import users
from hubbub.server.identity.administration import operators, rules
from hubbub.server.identity.administration.audit_entries import audit


@handles(wire.GET_MY_OPERATOR)
def get_my_operator(call: Call) -> wire.Operator:
    """Get the operator role of the current user."""
    row = rules.require_operator(call, OperatorRole.AUDITOR)
    return operators.view(row, rules.require_user(call, row.user_id))


@handles(wire.LIST_OPERATORS)
def list_operators(call: Call) -> list[wire.Operator]:
    """List the operators of the server."""
    return operators.list_operators(call)


@handles(wire.SET_OPERATOR)
def set_operator(call: Call, user_id: UserId, body: wire.SetOperator) -> wire.Operator:
    """Set the operator role of a user.

    A new operator is logged out everywhere, so that a session that was opened without a two-factor code does not gain
    operator rights.
    """
    user = rules.require_user(call, user_id)
    return operators.view(operators.set_role(call, user, body.role, reason=body.reason), user)


@handles(wire.REMOVE_OPERATOR)
def remove_operator(call: Call, user_id: UserId, body: wire.AdministrativeAction) -> None:
    """Remove the operator role of a user.

    The role of the last owner cannot be removed.
    """
    user = users.find(call.tx, user_id)
    if user is None:
        raise errors.UNKNOWN_USER()
    operators.remove(call, user, reason=body.reason)


@handles(wire.LIST_OPERATOR_ACTIONS)
def list_operator_actions(call: Call, query: wire.ListOperatorAudit) -> list[wire.OperatorAuditEntry]:
    """List the actions of operators, newest first."""
    return audit.list_entries(call, query)
