"""Management of accounts for other slices: bans, sign-ins, confirmed addresses, credentials and deletion."""

from hubbub.server.identity.accounts.actions import (
    clear_expired_addresses,
    delete,
    record_confirmation,
    remove_foreign_credentials,
    sign_out,
)
from hubbub.server.identity.accounts.store import find_ban, list_banned_ids, list_sign_ins

__all__ = [
    "clear_expired_addresses",
    "delete",
    "find_ban",
    "list_banned_ids",
    "list_sign_ins",
    "record_confirmation",
    "remove_foreign_credentials",
    "sign_out",
]
