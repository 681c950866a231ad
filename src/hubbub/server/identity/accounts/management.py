"""Management of accounts by operators and by retention: bans, sign-ins and deletion."""

from hubbub.server.identity.accounts.actions import clear_expired_addresses, delete, sign_out
from hubbub.server.identity.accounts.store import find_ban, list_banned_ids, list_sign_ins

__all__ = ["clear_expired_addresses", "delete", "find_ban", "list_banned_ids", "list_sign_ins", "sign_out"]
