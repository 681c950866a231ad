"""Actions of `hubbub admin` on registrations that need an approval, and on invites to register."""

import argparse

import msgspec

from hubbub.protocol.resources import administration
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.accounts import EmailAddress
from hubbub.protocol.resources.registration import RegistrationState
from hubbub.server.commands.admin_actions import AdminError, action, parse_id, require_user
from hubbub.server.core.call import Call
from hubbub.server.identity import registration, registration_administration
from hubbub.server.identity.registration.requests import RegistrationRequestRow


@action("list-registrations")
def list_registrations(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the registrations in a state."""
    requests = registration_administration.list_requests(
        call, RegistrationState(arguments.state), after_id=None, limit=administration.PAGE_LIMIT_MAX
    )
    lines = [
        f"{request.username} {request.created_at}"
        + ("" if request.email is None else f" {request.email}")
        + (f": {' '.join(request.message.split())}" if request.message else "")
        for request in requests
    ]
    return lines or ["No registrations."]


@action("approve-registration")
def approve_registration(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Approve a registration, so that the user can log in."""
    registration_administration.approve(call, _require_request(call, arguments.username), reason=arguments.reason)
    return [f"Approved the registration of {arguments.username}."]


@action("reject-registration")
def reject_registration(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Reject a registration; the user sees the reason, if one is given."""
    registration_administration.reject(call, _require_request(call, arguments.username), reason=arguments.reason)
    return [f"Rejected the registration of {arguments.username}."]


@action("list-registration-invites")
def list_registration_invites(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Print the invites with which visitors can register."""
    rows = registration.requests.list_usable(call.tx, call.now_ms, administration.PAGE_LIMIT_MAX)
    lines = [
        f"{int(invite.id)} used {invite.uses} of {invite.uses_max or 'any number'}"
        + ("" if invite.expires_at is None else f", until {invite.expires_at}")
        + (f": {invite.note}" if invite.note else "")
        for invite in registration.actions.view_invites(call, rows)
    ]
    return lines or ["No invites."]


@action("create-registration-invite")
def create_registration_invite(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Create an invite, and print its code or send it by mail."""
    if not 0 <= arguments.uses <= wire.INVITE_USES_MAX or not 0 <= arguments.days <= wire.INVITE_DAYS_MAX:
        raise AdminError(f"--uses must be 0 to {wire.INVITE_USES_MAX} and --days 0 to {wire.INVITE_DAYS_MAX}")
    if len(arguments.note) > wire.INVITE_NOTE_MAX:
        raise AdminError(f"the note must have at most {wire.INVITE_NOTE_MAX} characters")
    invite = registration_administration.create_invite(
        call,
        note=arguments.note,
        uses_max=arguments.uses or None,
        days=arguments.days or None,
        email=_read_email(arguments.email),
        reason=arguments.reason,
    )
    if invite.code is None:
        return [f"id: {int(invite.id)}", f"The invite is sent to {arguments.email}."]
    return [f"id: {int(invite.id)}", f"code: {invite.code}", f"path: /register?invite={invite.code}"]


@action("delete-registration-invite")
def delete_registration_invite(call: Call, arguments: argparse.Namespace) -> list[str]:
    """Delete an invite, so that visitors can no longer register with it."""
    row = registration.requests.find_invite(call.tx, parse_id(arguments.invite_id))
    if row is None:
        raise AdminError("there is no such invite")
    registration_administration.delete_invite(call, row, reason=arguments.reason)
    return ["Deleted the invite."]


def _read_email(text: str | None) -> str | None:
    try:
        return msgspec.convert(text, EmailAddress | None)
    except msgspec.ValidationError:
        raise AdminError(f"{text} is not an email address") from None


def _require_request(call: Call, username: str) -> RegistrationRequestRow:
    row = registration.requests.find_request(call.tx, require_user(call, username).id)
    if row is None:
        raise AdminError(f"{username} is not waiting for approval")
    return row
