"""Guilds that users and bots are members of, for slices of lower tiers through their ports and for other slices."""

from collections.abc import Collection

from hubbub.protocol.ids import ApplicationId
from hubbub.server.core.call import Call
from hubbub.server.core.store import Tx
from hubbub.server.identity import applications
from hubbub.server.places.members import store

__all__ = [
    "count_guilds",
    "count_reachable_users",
    "filter_member_guilds",
    "have_mutual_guild",
    "list_application_ids",
]


def have_mutual_guild(call: Call, user_id: int, other_id: int) -> bool:
    """Return whether two users are members of the same guild."""
    return store.have_mutual_guild(call.tx, user_id, other_id)


def filter_member_guilds(call: Call, user_id: int, guild_ids: Collection[int]) -> set[int]:
    """Return the IDs of the given guilds that a user is a member of."""
    return store.filter_member_guilds(call.tx, user_id, guild_ids)


def count_guilds(call: Call, bot_id: int) -> int:
    """Return the number of guilds a bot is in."""
    return store.count_guilds(call.tx, bot_id)


def count_reachable_users(call: Call, bot_id: int) -> int:
    """Return the number of distinct users in the guilds of a bot."""
    return store.count_reachable_users(call.tx, bot_id)


def list_application_ids(tx: Tx, guild_id: int, limit: int) -> list[ApplicationId]:
    """List the IDs of at most `limit` applications whose bots are in a guild, in the order in which the bots joined."""
    return applications.management.list_ids_by_bots(tx, store.list_bot_ids(tx, guild_id, limit))
