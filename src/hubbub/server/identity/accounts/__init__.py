"""Accounts of users: registration, login, sessions, passwords, second factors and bans."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.identity.accounts import routes
from hubbub.server.identity.accounts.actions import ban, create, set_password, sign_out, unban
from hubbub.server.identity.accounts.passwords import hash_password, hash_password_weakly
from hubbub.server.identity.accounts.routes import with_mfa
from hubbub.server.identity.accounts.signals import AccountBanned, AccountUnbanned
from hubbub.server.identity.accounts.store import AccountBanRow, find_ban
from hubbub.server.identity.oauth2 import TokenRequested


def _refuse_banned(call: Call, signal: TokenRequested) -> None:
    signal.refused = find_ban(call.tx, signal.user_id, call.now) is not None


SLICE = Slice(name="accounts", modules=(routes,), listeners={TokenRequested: _refuse_banned})

__all__ = [
    "SLICE",
    "AccountBanned",
    "AccountUnbanned",
    "AccountBanRow",
    "ban",
    "with_mfa",
    "create",
    "find_ban",
    "hash_password_weakly",
    "hash_password",
    "set_password",
    "sign_out",
    "unban",
]
