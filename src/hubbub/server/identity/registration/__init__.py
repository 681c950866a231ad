"""Registration: its modes, invites of the server, and requests that wait for an operator."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.registration import actions, ports, requests, routes, store
from hubbub.server.identity.registration.actions import (
    export_data,
    require_email_allowed,
    require_open,
    resolve_mode,
    use_invite,
)
from hubbub.server.identity.users.signals import UserDeleting


def _on_user_deleting(call: Call, signal: UserDeleting) -> None:
    store.delete_request(call.tx, signal.user_id)
    store.delete_user_invites(call.tx, signal.user_id)


SLICE = Slice(name="registration", modules=(routes, ports), listeners={UserDeleting: _on_user_deleting})

__all__ = [
    "SLICE",
    "actions",
    "export_data",
    "ports",
    "resolve_mode",
    "require_email_allowed",
    "require_open",
    "requests",
    "use_invite",
]
