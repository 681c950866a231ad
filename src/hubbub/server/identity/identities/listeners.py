"""Listeners of the identities slice, and its implementations of ports."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from hubbub.protocol import codec
from hubbub.protocol.ids import UserId
from hubbub.server.core.call import Call
from hubbub.server.identity import applications
from hubbub.server.identity.identities import actions, rules, store
from hubbub.server.identity.identities.signals import ProfileChanged
from hubbub.server.identity.oauth2 import ApplicationDeauthorized
from hubbub.server.identity.oauth2.interface.credentials import ExternalCredential
from hubbub.server.identity.users.signals import UserDeleting


def link_account(
    call: Call, application: applications.ApplicationRow, user_id: UserId, credential: ExternalCredential
) -> None:
    """Link a user's account with the identity of their credential when they authorize an application."""
    rules.require_provisional_accounts_enabled(application)
    if credential.verified is None:
        identity = actions.require_identity_of_token(call, application, credential.token)
        actions.link_identity(call, application, user_id, identity)
        return
    existing_identity = actions.find_identity(call, application.family_id, credential.verified)
    if existing_identity is None:
        actions.link_new_identity(call, application, user_id, credential.verified)
    else:
        actions.link_identity(call, application, user_id, existing_identity)


def on_application_deauthorized(call: Call, signal: ApplicationDeauthorized) -> None:
    """Detach a user's identities when the authorization of the head of a family was revoked.

    Revoking the authorization of another game of the family keeps the identities."""
    if applications.families.read_family_id(call.tx, signal.application_id) == signal.application_id:
        actions.detach_identities(call, signal.application_id, signal.user_id)


def on_user_deleting(call: Call, signal: UserDeleting) -> None:
    """Remove the identities and the merge records of a deleted user."""
    actions.remove_identities(call, signal.user_id)
    store.delete_merges(call.tx, signal.user_id)


def export_data(call: Call, user_id: UserId) -> dict[str, Any]:
    """Return a user's identities for their data export."""
    identities = [
        {
            "application_id": str(int(row.family_id)),
            "provider_type": row.provider_type,
            "provider_id": row.provider_id or None,
            "provider_issued_user_id": row.provider_user_id,
            "username": row.username,
            "metadata": codec.decode(row.metadata, dict[str, str]),
        }
        for family_id in store.list_family_ids(call.tx, user_id)
        for row in store.list_identities(call.tx, family_id, [user_id])
    ]
    return {"identities": identities}


def on_profile_changed(call: Call, signal: ProfileChanged) -> None:
    """Publish a changed profile to the user's own sessions in the game."""
    actions.publish_profile(call, signal.family_id, signal.user_id, [signal.user_id])


LISTENERS: Final[Mapping[type, Callable[[Call, Any], None]]] = {
    ApplicationDeauthorized: on_application_deauthorized,
    UserDeleting: on_user_deleting,
    ProfileChanged: on_profile_changed,
}
