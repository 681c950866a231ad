"""Management of accounts for other slices: bans, sign-ins, confirmed addresses, credentials and deletion."""

from hubbub.server.identity.accounts.actions import (
    clear_expired_addresses,
    delete,
    record_confirmation,
    remove_foreign_credentials,
    sign_out,
)
from hubbub.server.identity.accounts.store import (
    find_ban,
    find_session_user,
    list_banned_ids,
    list_sign_ins,
    search_sign_ins,
)

__all__ = [
    "clear_expired_addresses",
    "delete",
    "find_ban",
    "find_session_user",
    "list_banned_ids",
    "list_sign_ins",
    "record_confirmation",
    "remove_foreign_credentials",
    "search_sign_ins",
    "sign_out",
]
