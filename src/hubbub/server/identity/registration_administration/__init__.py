"""Administration of registrations by operators: invites, and requests to approve."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.registration_administration import routes, signals
from hubbub.server.identity.registration_administration.actions import (
    approve,
    create_invite,
    delete_invite,
    list_requests,
    reject,
    require_request,
)

SLICE = Slice(name="registration_administration", modules=(routes,), tags={routes: "administration"})

__all__ = [
    "SLICE",
    "approve",
    "create_invite",
    "delete_invite",
    "list_requests",
    "reject",
    "require_request",
    "signals",
]
