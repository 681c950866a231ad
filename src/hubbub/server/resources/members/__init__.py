"""Members: users in a guild, with their nick, roles and standing there."""

from hubbub.server.resources.members.facts import MemberAdded, MemberRemoved, VoiceModerated, VoiceMoveRequested
from hubbub.server.resources.members.store import (
    MemberRow,
    Membership,
    find,
    find_many,
    find_roles,
    find_row,
    find_rows,
    is_banned,
    ranks,
)
from hubbub.server.resources.members.views import (
    find_partial_views,
    find_views,
    guild_member,
    member,
    partial_member,
    presence_in_guild,
)

__all__ = [
    "MemberAdded",
    "MemberRemoved",
    "MemberRow",
    "Membership",
    "VoiceModerated",
    "VoiceMoveRequested",
    "find",
    "find_many",
    "find_partial_views",
    "find_roles",
    "find_row",
    "find_rows",
    "find_views",
    "guild_member",
    "is_banned",
    "member",
    "partial_member",
    "presence_in_guild",
    "ranks",
]
