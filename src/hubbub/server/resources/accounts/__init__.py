"""Accounts: how a person registers, logs in and gets tokens of their own, and how they look after them."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.accounts import routes
from hubbub.server.resources.accounts.actions import create, set_password, sign_out
from hubbub.server.resources.accounts.passwords import hash_lightly, hash_password

SLICE = Slice(name="accounts", modules=(routes,))

__all__ = ["SLICE", "create", "hash_lightly", "hash_password", "set_password", "sign_out"]
