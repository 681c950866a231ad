"""Applications: their settings, bots, keys, teams and testers."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.applications import keys, ports, routes, signals, teams, testers
from hubbub.server.identity.applications.interface import (
    access,
    administration,
    families,
    management,
    personal_data,
    settings,
)
from hubbub.server.identity.applications.store import ApplicationRow, find, find_by_bot, find_many
from hubbub.server.identity.applications.views import partial_application


def _ready_fields(call: Call) -> dict[str, Any]:
    """Return the READY fields: the application of an OAuth2 token, or of a bot."""
    if call.actor.kind == "bearer":
        row = find(call.tx, call.actor.application_id or 0)
        return {"application": partial_application(row, call.now_ms, for_oauth2=True)} if row is not None else {}
    row = find_by_bot(call.tx, call.user_id)
    return {"application": partial_application(row, call.now_ms)} if row is not None else {}


SLICE = Slice(
    name="applications",
    modules=(routes, ports),
    jobs=keys.JOBS,
    ready=_ready_fields,
)

__all__ = [
    "ApplicationRow",
    "SLICE",
    "access",
    "families",
    "find",
    "find_by_bot",
    "find_many",
    "management",
    "administration",
    "personal_data",
    "ports",
    "settings",
    "signals",
    "teams",
    "testers",
]
