"""Users and bots."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.users import routes
from hubbub.server.resources.users.actions import announce, change, delete, set_premium, wear
from hubbub.server.resources.users.facts import DataAsked, UserChanged, UserDeleted, UserDeletionAsked
from hubbub.server.resources.users.rules import clean_name, require_username
from hubbub.server.resources.users.store import SHOWN, UserRow, find, find_many, find_person, insert, wearers
from hubbub.server.resources.users.views import gone, my_user, user


def _ready(call: Call) -> dict[str, Any]:
    row = find(call.tx, call.user_id)
    return {"user": my_user(row, call.actor, call.now)} if row is not None else {}


SLICE = Slice(name="users", modules=(routes,), ready=_ready)

__all__ = [
    "SHOWN",
    "SLICE",
    "DataAsked",
    "UserChanged",
    "UserDeleted",
    "UserDeletionAsked",
    "UserRow",
    "announce",
    "change",
    "clean_name",
    "delete",
    "find",
    "find_many",
    "find_person",
    "gone",
    "insert",
    "my_user",
    "require_username",
    "set_premium",
    "user",
    "wear",
    "wearers",
]
