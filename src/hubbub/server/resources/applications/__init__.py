"""Applications and their bots."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.applications import routes, rules
from hubbub.server.resources.applications.actions import Created, change_settings, create, reset_bot_token
from hubbub.server.resources.applications.facts import EventWebhooksChanged
from hubbub.server.resources.applications.rules import require_manager, require_own
from hubbub.server.resources.applications.store import (
    ApplicationRow,
    family,
    family_id,
    find,
    find_by_bot,
    find_many,
    install_for,
    is_installed_by,
    uninstall_for,
)
from hubbub.server.resources.applications.views import Settings, application, flagged, settings
from hubbub.server.resources.users import UserDeletionAsked


def _ready(call: Call) -> dict[str, Any]:
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
    "install_for",
    "is_installed_by",
    "require_manager",
    "require_own",
    "reset_bot_token",
    "settings",
    "uninstall_for",
]
