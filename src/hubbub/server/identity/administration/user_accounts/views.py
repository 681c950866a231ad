"""Wire models of accounts for operators."""

from collections.abc import Sequence

from hubbub.protocol import codec
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.operator_roles import OperatorRole
from hubbub.protocol.resources import administration as wire
from hubbub.protocol.resources.accounts import AccountSession
from hubbub.server.core.call import Call
from hubbub.server.identity import accounts
from hubbub.server.identity.administration import store
from hubbub.server.identity.users import UserRow


def user(call: Call, row: UserRow) -> wire.AdministeredUser:
    """Build the wire model of an account."""
    return wire.AdministeredUser(
        id=UserId(row.id),
        username=row.username,
        global_name=row.global_name,
        avatar=row.avatar,
        email=row.email,
        verified=bool(row.verified),
        mfa_enabled=bool(row.mfa_enabled),
        created_at=codec.timestamp(Snowflake(row.id).created_ms),
        operator_role=_role(call, row.id),
        suspension=_suspension(call, row.id),
        deletion=_deletion(call, row.id),
    )


def user_details(call: Call, row: UserRow) -> wire.AdministeredUserDetails:
    """Build the wire model of an account with its sessions."""
    user_view = user(call, row)
    fields = {name: getattr(user_view, name) for name in user_view.__struct_fields__}
    return wire.AdministeredUserDetails(**fields, sessions=sessions(call, row.id))


def users(call: Call, rows: Sequence[UserRow]) -> list[wire.AdministeredUser]:
    """Build the wire models of a page of accounts."""
    return [user(call, row) for row in rows]


def _role(call: Call, user_id: int) -> OperatorRole | None:
    row = store.find_operator(call.tx, user_id)
    return None if row is None else OperatorRole(row.role)


def _suspension(call: Call, user_id: int) -> wire.Suspension | None:
    row = accounts.management.find_ban(call.tx, user_id, call.now_ms)
    if row is None:
        return None
    return wire.Suspension(
        reason=row.reason,
        created_at=codec.timestamp(row.created_ms),
        ends_at=None if row.ends_ms is None else codec.timestamp(row.ends_ms),
    )


def _deletion(call: Call, user_id: int) -> wire.ScheduledDeletion | None:
    row = store.find_deletion(call.tx, user_id)
    if row is None:
        return None
    return wire.ScheduledDeletion(
        reason=row.reason, created_at=codec.timestamp(row.created_ms), due_at=codec.timestamp(row.due_ms)
    )


def sessions(call: Call, user_id: int) -> list[AccountSession]:
    """Build the wire models of the login sessions of a user."""
    actor = call.actor_or_none  # None on the command line.
    return [
        AccountSession(
            id=Snowflake(row.token_id),
            created_at=codec.timestamp(row.created_ms),
            current=actor is not None and row.token_id == actor.token_id,
            ip=row.ip,
            user_agent=row.user_agent or None,
        )
        for row in accounts.management.list_sign_ins(call.tx, user_id)
    ]
