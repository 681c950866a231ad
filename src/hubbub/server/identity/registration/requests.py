"""Registration requests that wait for an operator or were rejected, and operations on invites, for other slices."""

from hubbub.protocol import errors
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.identity.registration import store
from hubbub.server.identity.registration.store import (
    RegistrationInviteRow,
    RegistrationRequestRow,
    delete_invite,
    delete_request,
    find_invite,
    find_request,
    list_requests,
    list_usable,
    reject_request,
)

__all__ = [
    "RegistrationInviteRow",
    "RegistrationRequestRow",
    "create",
    "delete_invite",
    "delete_request",
    "find_invite",
    "find_request",
    "list_requests",
    "list_usable",
    "reject_request",
    "require_approved",
]
"""The interface for other slices, including operations on invites."""


def create(call: Call, user_id: UserId, message: str) -> None:
    """Store the request of a new account."""
    store.insert_request(call.tx, RegistrationRequestRow(user_id, message.strip(), call.now_ms, None, None))


def require_approved(call: Call, user_id: UserId) -> None:
    """Reject the login of an account that is not approved; the error shows the state.

    Call this only after the caller has proven that the account belongs to them."""
    row = store.find_request(call.tx, user_id)
    if row is None:
        return
    if row.rejected_ms is None:
        raise errors.invalid(
            "login",
            "REGISTRATION_PENDING",
            "Your registration is waiting for the approval of an operator. Try again later.",
        )
    reason_text = "" if row.reason is None else f" Reason: {row.reason}"
    raise errors.invalid("login", "REGISTRATION_REJECTED", f"Your registration was rejected.{reason_text}")
