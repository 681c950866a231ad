"""User settings: preferences about who may contact a user."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources import users
from hubbub.server.resources.user_settings import actions, routes
from hubbub.server.resources.user_settings.store import find, find_some


def _ready(call: Call) -> dict[str, Any]:
    return {"user_settings": find(call.tx, call.user_id)} if call.actor.kind == "user" else {}


SLICE = Slice(
    name="user_settings",
    modules=(routes,),
    hears={users.UserDeleted: actions.forget, users.DataAsked: actions.harvest},
    ready=_ready,
)

__all__ = ["SLICE", "find", "find_some"]
