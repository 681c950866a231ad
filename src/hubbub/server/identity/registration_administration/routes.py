"""HTTP handlers for the administration of registrations."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake, UserId
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.administration import PAGE_LIMIT_MAX, AdministrativeAction
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity import registration
from hubbub.server.identity.registration_administration import actions

# Invites


@handles(wire.LIST_REGISTRATION_INVITES)
def list_registration_invites(call: Call) -> list[wire.RegistrationInvite]:
    """List the registration invites that can be used.

    The list has at most 100 invites, newest first.
    """
    rows = registration.requests.list_usable(call.tx, call.now_ms, PAGE_LIMIT_MAX)
    return registration.actions.view_invites(call, rows)


@handles(wire.CREATE_REGISTRATION_INVITE)
def create_registration_invite(call: Call, body: wire.CreateRegistrationInvite) -> wire.NewRegistrationInvite:
    """Create a registration invite.

    An invite with an address is sent by mail. Its note is the address unless a note is given.
    """
    return actions.create_invite(
        call,
        note=body.note,
        uses_max=body.uses_max,
        days=body.expires_in_days,
        email=body.email,
        reason=body.reason,
    )


@handles(wire.DELETE_REGISTRATION_INVITE)
def delete_registration_invite(call: Call, registration_invite_id: Snowflake, body: AdministrativeAction) -> None:
    """Delete a registration invite."""
    row = registration.requests.find_invite(call.tx, registration_invite_id)
    if row is None:
        raise errors.NOT_FOUND()
    actions.delete_invite(call, row, reason=body.reason)


# Requests


@handles(wire.LIST_REGISTRATIONS)
def list_registrations(call: Call, query: wire.ListRegistrations) -> list[wire.RegistrationRequest]:
    """List the registrations that wait for approval or were rejected."""
    return actions.list_requests(call, query.state, after_id=query.after, limit=query.limit)


@handles(wire.APPROVE_REGISTRATION)
def approve_registration(call: Call, user_id: UserId, body: AdministrativeAction) -> None:
    """Approve a registration.

    The user can log in from now on, and is informed by mail if the address is confirmed.
    """
    actions.approve(call, actions.require_request(call, user_id), reason=body.reason)


@handles(wire.REJECT_REGISTRATION)
def reject_registration(call: Call, user_id: UserId, body: AdministrativeAction) -> None:
    """Reject a registration.

    The user sees the reason at the next login. The account exists until an operator deletes it, and can still be
    approved.
    """
    actions.reject(call, actions.require_request(call, user_id), reason=body.reason)
