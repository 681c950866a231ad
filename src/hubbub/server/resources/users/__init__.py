"""Users: people and bots."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.users import routes
from hubbub.server.resources.users.facts import UserChanged
from hubbub.server.resources.users.rules import clean_name, require_username
from hubbub.server.resources.users.store import UserRow, find, find_many, find_person, insert
from hubbub.server.resources.users.views import my_user, user

SLICE = Slice(name="users", modules=(routes,))

__all__ = [
    "SLICE",
    "UserChanged",
    "UserRow",
    "clean_name",
    "find",
    "find_many",
    "find_person",
    "insert",
    "my_user",
    "require_username",
    "user",
]
