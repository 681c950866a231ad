"""Users and bots: their profiles, and the signals about changed and deleted users."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users import names, ports, routes, signals
from hubbub.server.identity.users.actions import delete
from hubbub.server.identity.users.interface import profiles
from hubbub.server.identity.users.store import PUBLIC_FIELDS, UserRow, find, find_by_email, find_many, insert
from hubbub.server.identity.users.views import deleted_user, my_user, user_view


def _ready_fields(call: Call) -> dict[str, Any]:
    row = find(call.tx, call.user_id)
    return {"user": my_user(row, call.actor, call.now_ms)} if row is not None else {}


SLICE = Slice(name="users", modules=(routes, ports), ready=_ready_fields)

__all__ = [
    "PUBLIC_FIELDS",
    "SLICE",
    "UserRow",
    "delete",
    "deleted_user",
    "find",
    "find_by_email",
    "find_many",
    "insert",
    "my_user",
    "names",
    "ports",
    "profiles",
    "signals",
    "user_view",
]
