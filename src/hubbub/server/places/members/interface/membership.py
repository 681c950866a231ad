"""Changes of members, and the checks and lookups that such changes need, for other slices."""

from hubbub.server.places.members.actions import (
    add,
    admit,
    delete_guild_members,
    grant_roles,
    insert_owner,
    remove,
    remove_many,
    transfer_membership,
    update,
)
from hubbub.server.places.members.rules import require_assignable_roles, require_can_join
from hubbub.server.places.members.store import find_ranks, find_row, is_banned, list_pending_ids

__all__ = [
    "add",
    "admit",
    "delete_guild_members",
    "find_ranks",
    "find_row",
    "grant_roles",
    "insert_owner",
    "is_banned",
    "list_pending_ids",
    "remove",
    "remove_many",
    "require_can_join",
    "require_assignable_roles",
    "transfer_membership",
    "update",
]
