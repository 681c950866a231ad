"""Rules of administration: the rights of the roles, and the accounts that are protected."""

from typing import Final

from hubbub.protocol import errors
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.server.core.call import Call
from hubbub.server.identity import users
from hubbub.server.identity.administration import store
from hubbub.server.identity.administration.store import OperatorRow
from hubbub.server.identity.users import UserRow

_ROLE_RANKS: Final = {OperatorRole.AUDITOR: 0, OperatorRole.MODERATOR: 1, OperatorRole.OWNER: 2}


def includes_role(role: str, required_role: OperatorRole) -> bool:
    """Return whether a role includes the rights of another."""
    return _ROLE_RANKS[OperatorRole(role)] >= _ROLE_RANKS[required_role]


def require_operator(call: Call, required_role: OperatorRole) -> OperatorRow:
    """Return the caller as an operator, or reject the request.

    The caller needs two-factor authentication for every operation, including reads (decisions/0113)."""
    row = store.find_operator(call.tx, call.user_id)
    if row is None:
        raise errors.FORBIDDEN(message="Only operators of this server can do this.")
    user = users.find(call.tx, call.user_id)
    if user is None or not user.mfa_enabled:
        raise errors.TWO_FACTOR_REQUIRED()
    if not includes_role(row.role, required_role):
        raise errors.FORBIDDEN(message=f"This requires the operator role {required_role.value}.")
    return row


def require_user(call: Call, user_id: int) -> UserRow:
    """Return a user who is not a bot, or raise UNKNOWN_USER."""
    row = users.find(call.tx, user_id)
    if row is None or row.bot:
        raise errors.UNKNOWN_USER()
    return row


def require_not_operator(call: Call, user_id: int) -> None:
    """Reject an action on the account of an operator, whose role an owner must remove first."""
    if store.find_operator(call.tx, user_id) is not None:
        raise errors.FORBIDDEN(message="This user is an operator. Remove the operator role first.")


def require_other_owner(call: Call, user_id: int) -> None:
    """Reject a change after which the server would have no owner."""
    owner_ids = {row.user_id for row in store.list_operators(call.tx) if row.role == OperatorRole.OWNER}
    if owner_ids == {user_id}:
        raise errors.FORBIDDEN(message="This is the last owner. Make another operator an owner first.")
