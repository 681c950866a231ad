"""Accounts of users: registration, login, sessions, passwords, second factors and bans."""

from hubbub.server.core.call import Call
from hubbub.server.core.slices import Slice
from hubbub.server.resources.accounts import routes
from hubbub.server.resources.accounts.actions import ban, create, set_password, sign_out, unban
from hubbub.server.resources.accounts.facts import AccountBanned, AccountUnbanned
from hubbub.server.resources.accounts.passwords import hash_lightly, hash_password
from hubbub.server.resources.accounts.routes import confirmed
from hubbub.server.resources.accounts.store import BanRow, find_ban
from hubbub.server.resources.oauth2 import TokenAsked


def _refuse_banned(call: Call, signal: TokenAsked) -> None:
    signal.refused = find_ban(call.tx, signal.user_id, call.now) is not None


SLICE = Slice(name="accounts", modules=(routes,), hears={TokenAsked: _refuse_banned})

__all__ = [
    "SLICE",
    "AccountBanned",
    "AccountUnbanned",
    "BanRow",
    "ban",
    "confirmed",
    "create",
    "find_ban",
    "hash_lightly",
    "hash_password",
    "set_password",
    "sign_out",
    "unban",
]
