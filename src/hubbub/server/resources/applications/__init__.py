"""Applications and their bots."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import routes, rules
from hubbub.server.resources.applications.actions import Created, change_settings, create, reset_bot_token
from hubbub.server.resources.applications.endpoints import interactions_ping
from hubbub.server.resources.applications.facts import EventWebhooksChanged, InteractionsEndpointChanged
from hubbub.server.resources.applications.rules import require_manager, require_own
from hubbub.server.resources.applications.store import (
    ApplicationRow,
    family,
    family_id,
    find,
    find_by_bot,
    find_many,
    ids_of_guild,
)
from hubbub.server.resources.applications.views import Settings, application, flagged, settings
from hubbub.server.resources.users import UserDeletionAsked


def _ready(call: Call) -> dict[str, Any]:
    if call.actor.kind == "bearer":
        row = find(call.tx, call.actor.application_id or 0)
        return {"application": flagged(row, named=True)} if row is not None else {}
    row = find_by_bot(call.tx, call.user_id)
    return {"application": flagged(row, call.now)} if row is not None else {}


SLICE = Slice(
    name="applications", modules=(routes,), hears={UserDeletionAsked: rules.require_no_application}, ready=_ready
)

__all__ = [
    "SLICE",
    "ApplicationRow",
    "Created",
    "EventWebhooksChanged",
    "InteractionsEndpointChanged",
    "Settings",
    "application",
    "change_settings",
    "create",
    "family",
    "family_id",
    "find",
    "find_by_bot",
    "find_many",
    "flagged",
    "ids_of_guild",
    "interactions_ping",
    "require_manager",
    "require_own",
    "reset_bot_token",
    "settings",
]
