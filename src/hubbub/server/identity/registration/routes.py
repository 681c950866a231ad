"""HTTP handlers for the settings of the registration, and for the invites of users."""

from hubbub.protocol import errors
from hubbub.protocol.ids import Snowflake
from hubbub.protocol.resources import registration as wire
from hubbub.protocol.resources.registration import RegistrationMode
from hubbub.server.core.call import Call
from hubbub.server.core.slices import handles
from hubbub.server.identity.registration import actions, store


@handles(wire.GET_REGISTRATION_SETTINGS)
def get_registration_settings(call: Call) -> wire.RegistrationSettings:
    """Get the settings of the registration."""
    settings = call.config.registration
    return wire.RegistrationSettings(
        mode=actions.resolve_mode(call.config),
        email_required=bool(settings.allowed_email_domains),
        member_invites=_can_create_invites(call),
    )


def _can_create_invites(call: Call) -> bool:
    is_closed = actions.resolve_mode(call.config) is RegistrationMode.CLOSED
    return call.config.registration.allow_member_invites and not is_closed


@handles(wire.LIST_MY_REGISTRATION_INVITES)
def list_my_registration_invites(call: Call) -> list[wire.RegistrationInvite]:
    """List the registration invites of the current user that can be used."""
    return actions.view_invites(call, store.list_usable_by_creator(call.tx, call.user_id, call.now_ms))


@handles(wire.CREATE_MY_REGISTRATION_INVITE)
def create_my_registration_invite(call: Call, body: wire.CreateMyRegistrationInvite) -> wire.NewRegistrationInvite:
    """Create a registration invite of the current user.

    An invite with an address is sent by mail, at most 5 per hour. Its note is the address unless a note is given.
    """
    if not _can_create_invites(call):
        raise errors.FORBIDDEN(message="Only operators of this server can create invites.")
    if (
        len(store.list_usable_by_creator(call.tx, call.user_id, call.now_ms))
        >= call.config.registration.member_invites_max
    ):
        raise errors.invalid("note", "REGISTRATION_INVITES_MAX", "You have too many unused invites. Delete one first.")
    return actions.create_invite(
        call,
        creator_id=call.user_id,
        note=body.note,
        uses_max=1,
        days=wire.INVITE_DAYS_DEFAULT,
        email=body.email,
        is_creator_limited=True,
    )


@handles(wire.DELETE_MY_REGISTRATION_INVITE)
def delete_my_registration_invite(call: Call, registration_invite_id: Snowflake) -> None:
    """Delete a registration invite of the current user."""
    row = store.find_invite(call.tx, registration_invite_id)
    if row is None or row.creator_id != call.user_id:
        raise errors.NOT_FOUND()
    store.delete_invite(call.tx, row.id)
