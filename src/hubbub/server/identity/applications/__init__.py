"""Applications and their bots."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import ports, routes
from hubbub.server.identity.applications.actions import (
    CreatedApplication,
    add_bot,
    create,
    delete,
    reset_bot_token,
    reset_client_secret,
    revoke_bot_tokens,
    update,
    update_settings,
)
from hubbub.server.identity.applications.endpoints import interactions_ping, require_event_endpoint
from hubbub.server.identity.applications.redirects import is_valid_redirect, standard_redirect
from hubbub.server.identity.applications.rules import (
    measure_size,
    reject_application_owner,
    require_manager,
    require_own,
)
from hubbub.server.identity.applications.signals import (
    ActivitiesToggled,
    ApplicationDeleting,
    EventWebhooksChanged,
    IntentsEnabled,
    InteractionsEndpointChanged,
)
from hubbub.server.identity.applications.store import (
    TESTER_ACCEPTED,
    TESTER_INVITED,
    ApplicationRow,
    TesterRow,
    add_flag,
    delete_tester,
    delete_tester_from_all,
    find,
    find_by_bot,
    find_client_secret_hash,
    find_family_id,
    find_many,
    find_signing_key,
    find_tester,
    is_tester,
    list_child_ids,
    list_family_ids,
    list_ids_of_guild,
    list_of_owner,
    list_tested_applications,
    list_testers,
    save_tester,
    set_parent,
)
from hubbub.server.identity.applications.views import (
    ApplicationSettings,
    application,
    decode_settings,
    partial_application,
)


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the READY fields: the application of an OAuth2 token, or of a bot."""
    if call.actor.kind == "bearer":
        row = find(call.tx, call.actor.application_id or 0)
        return {"application": partial_application(row, call.now_ms, with_name=True)} if row is not None else {}
    row = find_by_bot(call.tx, call.user_id)
    return {"application": partial_application(row, call.now_ms)} if row is not None else {}


SLICE = Slice(
    name="applications",
    modules=(routes, ports),
    ready=_ready_fields,
)

__all__ = [
    "SLICE",
    "TESTER_ACCEPTED",
    "TESTER_INVITED",
    "ActivitiesToggled",
    "ApplicationDeleting",
    "ApplicationRow",
    "CreatedApplication",
    "EventWebhooksChanged",
    "InteractionsEndpointChanged",
    "IntentsEnabled",
    "ApplicationSettings",
    "TesterRow",
    "add_bot",
    "application",
    "update",
    "update_settings",
    "create",
    "delete",
    "delete_tester",
    "delete_tester_from_all",
    "list_family_ids",
    "find_family_id",
    "find",
    "find_by_bot",
    "find_many",
    "find_tester",
    "partial_application",
    "list_ids_of_guild",
    "interactions_ping",
    "is_valid_redirect",
    "is_tester",
    "save_tester",
    "list_of_owner",
    "list_testers",
    "list_tested_applications",
    "measure_size",
    "ports",
    "reject_application_owner",
    "require_manager",
    "require_own",
    "require_event_endpoint",
    "reset_bot_token",
    "revoke_bot_tokens",
    "reset_client_secret",
    "decode_settings",
    "standard_redirect",
    "add_flag",
    "list_child_ids",
    "set_parent",
    "find_signing_key",
    "find_client_secret_hash",
]
