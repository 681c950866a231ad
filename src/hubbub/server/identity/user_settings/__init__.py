"""User settings: privacy, custom status, guild folders, and the appearance of the chat client.

Privacy settings limit friend requests, direct messages, and the users who may join the parties of the user.
"""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity import users
from hubbub.server.identity.user_settings import actions, ports, routes
from hubbub.server.identity.user_settings.actions import export_data
from hubbub.server.identity.user_settings.store import find_many, read


def _ready_fields(call: Call) -> dict[str, Any]:
    return {"user_settings": actions.read_current(call, call.user_id)} if call.actor.kind == "user" else {}


SLICE = Slice(
    name="user_settings",
    modules=(routes, ports),
    listeners={users.signals.UserDeleting: actions.on_user_deleting},
    ready=_ready_fields,
)

__all__ = ["SLICE", "export_data", "find_many", "read"]
