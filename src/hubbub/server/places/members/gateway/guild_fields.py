"""Fields of members in GUILD_CREATE."""

from typing import Any

from hubbub.protocol.intents import Intents
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources import presence
from hubbub.protocol.resources.guilds import LARGE_GUILD_MEMBERS
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.places import guilds
from hubbub.server.places.members import store, views
from hubbub.server.places.members.store import Membership


def guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the members and presences of GUILD_CREATE for one viewer (spec/gateway.md#4.4).

    The member count is read from the database, since the gateway's copy is not updated on every change."""
    guild = guilds.find(call.tx, view.guild.id)
    member_count = guild.member_count if guild is not None else view.guild.member_count
    other_memberships = [
        membership
        for membership in _included_members(call, view, member_count)
        if membership.row.user_id != view.member.user_id
    ]
    own_membership = store.find(call.tx, view.guild.id, view.member.user_id)
    member_views = [
        views.member(membership)
        for membership in ([own_membership] if own_membership is not None else []) + other_memberships
    ]
    presences: list[presence.Presence] = []
    if view.intents & Intents.GUILD_PRESENCES:
        presences = views.find_presences(call, (member_view.user.id for member_view in member_views))
    return {
        "member_count": member_count,
        "large": member_count > view.large_threshold,
        "members": member_views,
        "presences": presences,
    }


def _included_members(call: Call, view: GuildView, member_count: int) -> list[Membership]:
    """Return the members that GUILD_CREATE includes for a viewer. The viewer may be missing."""
    guild_id = view.guild.id
    includes_presences = bool(view.intents & Intents.GUILD_PRESENCES)
    if member_count <= view.large_threshold and (includes_presences or view.intents & Intents.GUILD_MEMBERS):
        return store.list_page(call.tx, guild_id, limit=wire.MEMBERS_PAGE_MAX)
    if not includes_presences or member_count > LARGE_GUILD_MEMBERS:
        user_ids = store.list_connected_ids(call.tx, guild_id)
    else:
        user_ids = [
            user_id
            for user_id, is_prominent in store.list_ids_with_prominence(call.tx, guild_id)
            if is_prominent or call.presences.find(user_id) is not None
        ]
    return list(store.find_many(call.tx, guild_id, user_ids).values())
