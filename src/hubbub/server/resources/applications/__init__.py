"""Applications and their bots."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import routes, rules
from hubbub.server.resources.applications.actions import (
    Created,
    add_bot,
    change,
    change_settings,
    create,
    delete,
    reset_bot_token,
    reset_client_secret,
)
from hubbub.server.resources.applications.endpoints import interactions_ping, require_takes_events
from hubbub.server.resources.applications.facts import (
    ActivitiesSwitched,
    ApplicationDeleting,
    EventWebhooksChanged,
    IntentsSwitched,
    InteractionsEndpointChanged,
)
from hubbub.server.resources.applications.redirects import is_sound_redirect, standard_redirect
from hubbub.server.resources.applications.rules import measure, require_manager, require_own
from hubbub.server.resources.applications.store import (
    ACCEPTED,
    INVITED,
    ApplicationRow,
    TesterRow,
    delete_tester,
    delete_testing,
    family,
    family_id,
    find,
    find_by_bot,
    find_many,
    find_tester,
    ids_of_guild,
    is_tester,
    keep_tester,
    list_of_owner,
    list_testers,
    list_testing,
)
from hubbub.server.resources.applications.views import Settings, application, flagged, settings
from hubbub.server.resources.users import UserDeletionAsked


def _ready(call: Call) -> dict[str, Any]:
    if call.actor.kind == "bearer":
        row = find(call.tx, call.actor.application_id or 0)
        return {"application": flagged(row, call.now, named=True)} if row is not None else {}
    row = find_by_bot(call.tx, call.user_id)
    return {"application": flagged(row, call.now)} if row is not None else {}


SLICE = Slice(
    name="applications", modules=(routes,), hears={UserDeletionAsked: rules.require_no_application}, ready=_ready
)

__all__ = [
    "SLICE",
    "ACCEPTED",
    "INVITED",
    "ActivitiesSwitched",
    "ApplicationDeleting",
    "ApplicationRow",
    "Created",
    "EventWebhooksChanged",
    "InteractionsEndpointChanged",
    "IntentsSwitched",
    "Settings",
    "TesterRow",
    "add_bot",
    "application",
    "change",
    "change_settings",
    "create",
    "delete",
    "delete_tester",
    "delete_testing",
    "family",
    "family_id",
    "find",
    "find_by_bot",
    "find_many",
    "find_tester",
    "flagged",
    "ids_of_guild",
    "interactions_ping",
    "is_sound_redirect",
    "is_tester",
    "keep_tester",
    "list_of_owner",
    "list_testers",
    "list_testing",
    "measure",
    "require_manager",
    "require_own",
    "require_takes_events",
    "reset_bot_token",
    "reset_client_secret",
    "settings",
    "standard_redirect",
]
