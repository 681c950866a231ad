"""Accounts of users: registration, login, sessions, passwords, second factors and bans."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts import routes
from hubbub.server.identity.accounts.actions import (
    ban,
    create_user,
    is_email_registered,
    reset_password,
    set_password,
    sign_out,
    unban,
)
from hubbub.server.identity.accounts.passwords import hash_password, hash_password_weakly
from hubbub.server.identity.accounts.routes import require_password, run_with_mfa
from hubbub.server.identity.accounts.signals import (
    AccountBanned,
    AccountRegistered,
    AccountUnbanned,
    PasswordChanged,
    SecondFactorChanged,
    SignedIn,
)
from hubbub.server.identity.accounts.store import AccountBanRow, find_ban


def is_banned(call: Call, user_id: int) -> bool:
    """Return whether the account has a ban that has not ended."""
    return find_ban(call.tx, user_id, call.now_ms) is not None


SLICE = Slice(name="accounts", modules=(routes,))

__all__ = [
    "SLICE",
    "AccountBanned",
    "AccountRegistered",
    "PasswordChanged",
    "SecondFactorChanged",
    "SignedIn",
    "AccountUnbanned",
    "AccountBanRow",
    "ban",
    "require_password",
    "reset_password",
    "run_with_mfa",
    "create_user",
    "find_ban",
    "hash_password_weakly",
    "hash_password",
    "is_banned",
    "is_email_registered",
    "set_password",
    "sign_out",
    "unban",
]
