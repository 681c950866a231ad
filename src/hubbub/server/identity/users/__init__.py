"""Users and bots: their profiles, and the signals about changed and deleted users."""

from typing import Any

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.users import ports, routes
from hubbub.server.identity.users.actions import (
    delete,
    publish_user,
    set_email,
    set_premium,
    set_primary_guild,
    update_profile,
)
from hubbub.server.identity.users.rules import clean_name, require_bot_name, require_username
from hubbub.server.identity.users.signals import UserChanged, UserDeleted
from hubbub.server.identity.users.store import (
    PUBLIC_FIELDS,
    UserRow,
    find,
    find_by_email,
    find_by_username,
    find_many,
    insert,
    list_by_primary_guild,
    set_mfa_enabled,
)
from hubbub.server.identity.users.views import deleted_user, my_user, premium_type_scope, user_view


def _ready_fields(call: Call) -> dict[str, Any]:
    row = find(call.tx, call.user_id)
    return {"user": my_user(row, call.actor, call.now_ms)} if row is not None else {}


SLICE = Slice(name="users", modules=(routes, ports), ready=_ready_fields)

__all__ = [
    "PUBLIC_FIELDS",
    "SLICE",
    "UserChanged",
    "UserDeleted",
    "UserRow",
    "ports",
    "publish_user",
    "update_profile",
    "clean_name",
    "delete",
    "find",
    "find_many",
    "find_by_email",
    "find_by_username",
    "deleted_user",
    "insert",
    "my_user",
    "require_bot_name",
    "premium_type_scope",
    "require_username",
    "set_email",
    "set_premium",
    "user_view",
    "set_primary_guild",
    "list_by_primary_guild",
    "set_mfa_enabled",
]
