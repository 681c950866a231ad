"""Build the wire models of members and of their presences."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, RoleId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources import presence
from hubbub.protocol.resources.guilds import LARGE_GUILD_MEMBERS
from hubbub.protocol.resources.users import PartialUser
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.presences import Presence
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.places.members import store
from hubbub.server.places.members.store import MemberRow, Membership


def _timestamp(ms: int | None) -> Timestamp | None:
    return codec.timestamp(ms) if ms else None


def partial_member(row: MemberRow, roles: tuple[RoleId, ...]) -> wire.PartialMember:
    """Return a member without the user, as in messages and interactions."""
    return wire.PartialMember(
        roles=list(roles),
        joined_at=codec.timestamp(row.joined_ms),
        deaf=bool(row.deaf),
        mute=bool(row.mute),
        flags=row.flags,
        nick=row.nick,
        avatar=row.avatar,
        banner=row.banner,
        pending=bool(row.pending),
        premium_since=_timestamp(row.premium_since_ms),
        communication_disabled_until=_timestamp(row.timed_out_until_ms),
    )


def member(membership: Membership, permissions: int | None = None) -> wire.Member:
    """Return a member; `permissions` are included only for the member themselves."""
    row = membership.row
    own_permissions: Permissions | UnsetType = UNSET if permissions is None else Permissions(permissions)
    return wire.Member(
        user=users.user(membership.user),
        roles=list(membership.roles),
        joined_at=codec.timestamp(row.joined_ms),
        deaf=bool(row.deaf),
        mute=bool(row.mute),
        flags=row.flags,
        nick=row.nick,
        avatar=row.avatar,
        banner=row.banner,
        pending=bool(row.pending),
        premium_since=_timestamp(row.premium_since_ms),
        communication_disabled_until=_timestamp(row.timed_out_until_ms),
        permissions=own_permissions,
    )


def guild_member(membership: Membership) -> wire.GuildMember:
    """Return a member with the guild ID, as used in events."""
    row = membership.row
    return wire.GuildMember(
        guild_id=GuildId(row.guild_id),
        user=users.user(membership.user),
        roles=list(membership.roles),
        joined_at=codec.timestamp(row.joined_ms),
        deaf=bool(row.deaf),
        mute=bool(row.mute),
        flags=row.flags,
        nick=row.nick,
        avatar=row.avatar,
        banner=row.banner,
        pending=bool(row.pending),
        premium_since=_timestamp(row.premium_since_ms),
        communication_disabled_until=_timestamp(row.timed_out_until_ms),
    )


def find_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.Member]:
    """Return the views of those users who are members, by user ID, in three queries."""
    return {user_id: member(found) for user_id, found in store.find_many(tx, guild_id, user_ids).items()}


def find_partial_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.PartialMember]:
    """Return partial views of those users who are members, by user ID, in two queries."""
    rows = store.find_rows(tx, guild_id, user_ids)
    roles = store.find_roles(tx, guild_id, rows)
    return {user_id: partial_member(row, roles.get(user_id, ())) for user_id, row in rows.items()}


def guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the members and presences of GUILD_CREATE for one viewer (spec/gateway.md#4.4).

    The member count is read from the database, since the gateway's copy is not updated on every change."""
    guild = guilds.find(call.tx, view.guild.id)
    size = guild.member_count if guild is not None else view.guild.member_count
    found = [found for found in _included_members(call, view, size) if found.row.user_id != view.member.user_id]
    own = store.find(call.tx, view.guild.id, view.member.user_id)
    member_views = [member(each) for each in ([own] if own is not None else []) + found]
    presences: list[presence.Presence] = []
    if view.intents & Intents.GUILD_PRESENCES:
        presences = presences_of(call, (each.user.id for each in member_views))
    return {
        "member_count": size,
        "large": size > view.large_threshold,
        "members": member_views,
        "presences": presences,
    }


def _included_members(call: Call, view: GuildView, size: int) -> list[Membership]:
    """Return the members that GUILD_CREATE includes, not counting the viewer."""
    guild_id = view.guild.id
    with_presences = bool(view.intents & Intents.GUILD_PRESENCES)
    if size <= view.large_threshold and (with_presences or view.intents & Intents.GUILD_MEMBERS):
        return store.list_page(call.tx, guild_id, limit=wire.MEMBERS_PAGE_MAX)
    if not with_presences or size > LARGE_GUILD_MEMBERS:
        ids = store.connected_ids(call.tx, guild_id)
    else:
        ids = [
            user_id
            for user_id, noticed in store.list_with_prominence(call.tx, guild_id)
            if noticed or call.presences.find(user_id) is not None
        ]
    return list(store.find_many(call.tx, guild_id, ids).values())


def presences_of(call: Call, user_ids: Iterable[int]) -> list[presence.Presence]:
    """Return the presences of those users who are online."""
    found = (call.presences.find(user_id) for user_id in user_ids)
    return [presence_in_guild(each) for each in found if each is not None]


def presence_in_guild(found: Presence) -> presence.Presence:
    """Return a presence as part of a guild's list, without its guild ID."""
    return presence.Presence(
        user=PartialUser(id=UserId(found.user_id)),
        status=found.status,
        activities=found.activities,
        client_status=presence.ClientStatus(**found.client_status),
    )


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's guild memberships for their data export."""
    found = list(store.memberships_of_user(call.tx, user_id))
    guilds_by_id = guilds.find_many(call.tx, [each.row.guild_id for each in found])
    memberships = [
        {
            "id": str(int(each.row.guild_id)),
            "name": guilds_by_id[each.row.guild_id].name if each.row.guild_id in guilds_by_id else None,
            "nick": each.row.nick,
            "roles": [str(int(role)) for role in each.roles],
            "joined_at": codec.timestamp(each.row.joined_ms),
        }
        for each in found
    ]
    return {"guilds": memberships}
