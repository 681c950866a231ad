"""OAuth2 and OpenID Connect: authorization of applications by users, and their tokens."""

from collections.abc import Iterable
from typing import Any

from hubbub.protocol.scopes import SCOPES
from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ApplicationDeleting
from hubbub.server.identity.oauth2 import actions, ports, routes
from hubbub.server.identity.oauth2.actions import (
    authorize,
    deauthorize,
    deauthorize_all,
    deauthorize_all_users,
    issue_tokens,
)
from hubbub.server.identity.oauth2.clients import is_public_client
from hubbub.server.identity.oauth2.id_token_signatures import sign_id_token
from hubbub.server.identity.oauth2.ports import ExternalCredential, InstallationRequest
from hubbub.server.identity.oauth2.signals import ApplicationAuthorized, ApplicationDeauthorized
from hubbub.server.identity.oauth2.store import (
    AccessTokenRow,
    InstallationRow,
    delete_installation,
    delete_installations,
    filter_authorized,
    find_authorization,
    find_installation,
    find_valid_access_token,
    list_approved_scopes,
    list_guild_installations,
    list_installations,
    list_user_applications,
    upsert_installation,
)
from hubbub.server.identity.oauth2.store import approve_scopes as _insert_approved_scopes
from hubbub.server.identity.oauth2.views import export_data, granted_scopes, id_claims, public_applications
from hubbub.server.identity.users.signals import UserDeleted


def approve_scopes(call: Call, application_id: int, scopes: Iterable[str]) -> None:
    """Approve restricted scopes for an application; raise ValueError for an unknown scope."""
    names = list(scopes)
    for scope in names:
        if scope not in SCOPES:
            raise ValueError(f"unknown scope: {scope}")
    _insert_approved_scopes(call.tx, application_id, names)


def _ready_fields(call: Call) -> dict[str, Any]:
    # spec/gateway.md#4.3, spec/sdk.md#5.4: READY lists the expanded scopes, token responses the umbrella scope.
    return {"scopes": sorted(call.actor.scopes)} if call.actor.kind == "bearer" else {}


SLICE = Slice(
    name="oauth2",
    modules=(routes, ports),
    listeners={
        UserDeleted: actions.on_user_deleted,
        ApplicationDeleting: actions.on_application_deleting,
    },
    ready=_ready_fields,
)

__all__ = [
    "SLICE",
    "AccessTokenRow",
    "ApplicationAuthorized",
    "ApplicationDeauthorized",
    "ExternalCredential",
    "InstallationRequest",
    "InstallationRow",
    "list_user_applications",
    "approve_scopes",
    "list_approved_scopes",
    "authorize",
    "deauthorize",
    "deauthorize_all",
    "delete_installation",
    "delete_installations",
    "export_data",
    "find_valid_access_token",
    "find_authorization",
    "find_installation",
    "deauthorize_all_users",
    "id_claims",
    "is_public_client",
    "issue_tokens",
    "upsert_installation",
    "list_guild_installations",
    "list_installations",
    "filter_authorized",
    "ports",
    "public_applications",
    "granted_scopes",
    "sign_id_token",
]
