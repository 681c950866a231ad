"""Lookups and counts of members and of a user's guilds, the member count and the guild limit, for other slices."""

from hubbub.server.places.guilds.rules import guilds_max
from hubbub.server.places.guilds.store import (
    adjust_member_count,
    count_online,
    count_user_guilds,
    is_member,
    list_member_ids,
    list_user_guild_ids,
)

__all__ = [
    "adjust_member_count",
    "count_user_guilds",
    "count_online",
    "guilds_max",
    "is_member",
    "list_user_guild_ids",
    "list_member_ids",
]
