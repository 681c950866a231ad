"""OAuth2 and OpenID Connect: authorization of applications by users, and their tokens."""

from collections.abc import Iterable
from typing import Any

from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications.signals import ApplicationDeleting
from hubbub.server.identity.oauth2 import actions, installations, ports, routes
from hubbub.server.identity.oauth2.interface import authorizations, credentials
from hubbub.server.identity.oauth2.signals import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.identity.oauth2.store import approve_scopes as _insert_approved_scopes
from hubbub.server.identity.oauth2.store import list_approved_scopes
from hubbub.server.identity.oauth2.views import export_data, public_applications
from hubbub.server.identity.users.signals import UserDeleting


def approve_scopes(call: Call, application_id: int, scopes: Iterable[str]) -> None:
    """Approve restricted scopes for an application; raise ValueError for an unknown scope."""
    scope_names = list(scopes)
    for scope in scope_names:
        if scope not in SCOPES:
            raise ValueError(f"unknown scope: {scope}")
    _insert_approved_scopes(call.tx, application_id, scope_names)


def _ready_fields(call: Call) -> dict[str, Any]:
    # spec/gateway.md#4.3, spec/sdk.md#5.4: READY lists the expanded scopes, token responses the umbrella scope.
    return {"scopes": sorted(call.actor.scopes)} if call.actor.kind == "bearer" else {}


SLICE = Slice(
    name="oauth2",
    modules=(routes, ports),
    listeners={
        UserDeleting: actions.on_user_deleting,
        ApplicationDeleting: actions.on_application_deleting,
    },
    ready=_ready_fields,
)

__all__ = [
    "ApplicationAuthorized",
    "ApplicationDeauthorized",
    "SLICE",
    "approve_scopes",
    "authorizations",
    "credentials",
    "export_data",
    "installations",
    "list_approved_scopes",
    "ports",
    "public_applications",
]
