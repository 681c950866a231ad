"""Accounts of users: registration, login, sessions, passwords, second factors, bans and deletion."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts import logins, management, ports, routes, signals
from hubbub.server.identity.accounts.actions import (
    ban,
    create_user,
    is_email_rejected,
    require_not_banned,
    reset_password,
    set_password,
    sign_in,
    unban,
)
from hubbub.server.identity.accounts.credentials import passwords
from hubbub.server.identity.accounts.store import find_ban


def is_banned(call: Call, user_id: int) -> bool:
    """Return whether the account has a ban that has not ended."""
    return find_ban(call.tx, user_id, call.now_ms) is not None


SLICE = Slice(name="accounts", modules=(routes, ports))

__all__ = [
    "SLICE",
    "ban",
    "create_user",
    "is_banned",
    "is_email_rejected",
    "logins",
    "management",
    "passwords",
    "ports",
    "require_not_banned",
    "reset_password",
    "set_password",
    "sign_in",
    "signals",
    "unban",
]
