"""Accounts of users: registration, login, sessions, passwords, second factors and bans."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts import management, passwords, ports, routes, signals
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
from hubbub.server.identity.accounts.routes import record_login, require_password, run_with_mfa, verify_credentials
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
    "management",
    "passwords",
    "ports",
    "record_login",
    "require_not_banned",
    "require_password",
    "reset_password",
    "run_with_mfa",
    "set_password",
    "sign_in",
    "signals",
    "unban",
    "verify_credentials",
]
