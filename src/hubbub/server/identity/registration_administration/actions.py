"""Create and delete registration invites, and approve and reject registrations, with entries in the audit log."""

from hubbub.protocol import codec, errors
from hubbub.protocol.ids import UserId
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.registration import RegistrationState
from hubbub.server.core.call import Call
from hubbub.server.identity import administration, registration, users
from hubbub.server.identity.registration.requests import RegistrationInviteRow, RegistrationRequestRow
from hubbub.server.identity.registration_administration.signals import RegistrationApproved, RegistrationRejected


def create_invite(
    call: Call, *, note: str, uses_max: int | None, days: int | None, email: str | None, reason: str | None
) -> wire.NewRegistrationInvite:
    """Create an invite of the caller; a call without a caller is the command line."""
    invite = registration.actions.create_invite(
        call, creator_id=call.user_id_or_none, note=note, uses_max=uses_max, days=days, email=email
    )
    administration.audit.log_action(
        call,
        "registration_invite.create",
        "registration_invite",
        target_id=invite.id,
        target_name=invite.note,
        detail=f"uses: {'no limit' if uses_max is None else uses_max}",
        reason=reason,
    )
    return invite


def delete_invite(call: Call, row: RegistrationInviteRow, *, reason: str | None) -> None:
    """Delete an invite and record it in the audit log."""
    registration.requests.delete_invite(call.tx, row.id)
    administration.audit.log_action(
        call,
        "registration_invite.delete",
        "registration_invite",
        target_id=row.id,
        target_name=row.note,
        reason=reason,
    )


def require_request(call: Call, user_id: int) -> RegistrationRequestRow:
    """Return the request of a user, or raise NOT_FOUND."""
    row = registration.requests.find_request(call.tx, user_id)
    if row is None:
        raise errors.NOT_FOUND()
    return row


def list_requests(
    call: Call, state: RegistrationState, *, after_id: int | None, limit: int
) -> list[wire.RegistrationRequest]:
    """Return requests in a state, oldest first."""
    rows = registration.requests.list_requests(
        call.tx, is_rejected=state is RegistrationState.REJECTED, after_id=after_id or 0, limit=limit
    )
    accounts_by_id = users.find_many(call.tx, [row.user_id for row in rows])
    return [
        wire.RegistrationRequest(
            id=UserId(row.user_id),
            username=accounts_by_id[row.user_id].username,
            email=accounts_by_id[row.user_id].email,
            email_confirmed=bool(accounts_by_id[row.user_id].verified),
            message=row.message,
            created_at=codec.timestamp(row.created_ms),
            state=RegistrationState.PENDING if row.rejected_ms is None else RegistrationState.REJECTED,
            reason=row.reason,
        )
        for row in rows
        if row.user_id in accounts_by_id
    ]


def approve(call: Call, row: RegistrationRequestRow, *, reason: str | None) -> None:
    """Approve a registration. The user can log in."""
    registration.requests.delete_request(call.tx, row.user_id)
    _log_action(call, "registration.approve", row, reason)
    call.notify(RegistrationApproved(user_id=row.user_id))


def reject(call: Call, row: RegistrationRequestRow, *, reason: str | None) -> None:
    """Reject a registration. The user sees the reason at the next login."""
    registration.requests.reject_request(call.tx, row.user_id, reason, call.now_ms)
    _log_action(call, "registration.reject", row, reason)
    call.notify(RegistrationRejected(user_id=row.user_id, reason=reason))


def _log_action(call: Call, action: str, row: RegistrationRequestRow, reason: str | None) -> None:
    user = users.find(call.tx, row.user_id)
    username = "" if user is None else user.username
    administration.audit.log_action(call, action, "user", target_id=row.user_id, target_name=username, reason=reason)
