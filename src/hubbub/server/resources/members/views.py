"""A member on the wire: whole, beside a user told elsewhere, in an event; and their presence."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, UnsetType

from hubbub.protocol import wire as codec
from hubbub.protocol.ids import GuildId, RoleId, Timestamp, UserId
from hubbub.protocol.intents import Intents
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources import presence
from hubbub.protocol.resources.guilds import LARGE_GUILD
from hubbub.protocol.resources.users import PartialUser
from hubbub.server.core.call import Call
from hubbub.server.core.presences import Presence
from hubbub.server.core.realtime import GuildView
from hubbub.server.core.store import Tx
from hubbub.server.resources import guilds, users
from hubbub.server.resources.members import store
from hubbub.server.resources.members.store import MemberRow, Membership


def _time(ms: int | None) -> Timestamp | None:
    return codec.timestamp(ms) if ms else None


def partial_member(row: MemberRow, roles: tuple[RoleId, ...]) -> wire.PartialMember:
    """A member without the user, as messages and interactions carry them."""
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
        premium_since=_time(row.premium_since_ms),
        communication_disabled_until=_time(row.timed_out_until_ms),
    )


def member(found: Membership, permissions: int | None = None) -> wire.Member:
    """A member; `permissions` are their own in the guild, told to themselves alone."""
    row = found.row
    shown: Permissions | UnsetType = UNSET if permissions is None else Permissions(permissions)
    return wire.Member(
        user=users.user(found.user),
        roles=list(found.roles),
        joined_at=codec.timestamp(row.joined_ms),
        deaf=bool(row.deaf),
        mute=bool(row.mute),
        flags=row.flags,
        nick=row.nick,
        avatar=row.avatar,
        banner=row.banner,
        pending=bool(row.pending),
        premium_since=_time(row.premium_since_ms),
        communication_disabled_until=_time(row.timed_out_until_ms),
        permissions=shown,
    )


def guild_member(found: Membership) -> wire.GuildMember:
    """A member as events name them, with their guild."""
    row = found.row
    return wire.GuildMember(
        guild_id=GuildId(row.guild_id),
        user=users.user(found.user),
        roles=list(found.roles),
        joined_at=codec.timestamp(row.joined_ms),
        deaf=bool(row.deaf),
        mute=bool(row.mute),
        flags=row.flags,
        nick=row.nick,
        avatar=row.avatar,
        banner=row.banner,
        pending=bool(row.pending),
        premium_since=_time(row.premium_since_ms),
        communication_disabled_until=_time(row.timed_out_until_ms),
    )


def find_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.Member]:
    """Which of these users are members, as others see them, by user id, in three queries."""
    return {user_id: member(found) for user_id, found in store.find_many(tx, guild_id, user_ids).items()}


def find_partial_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.PartialMember]:
    """Which of these users are members, beside their users, by user id, in two queries."""
    rows = store.find_rows(tx, guild_id, user_ids)
    roles = store.find_roles(tx, guild_id, rows)
    return {user_id: partial_member(row, roles.get(user_id, ())) for user_id, row in rows.items()}


def snapshot(call: Call, view: GuildView) -> dict[str, Any]:
    """What GUILD_CREATE tells one viewer of the guild's people (gateway.md 4.4).

    The size is read again: the gateway's own copy of the guild does not follow everyone who comes and goes."""
    guild = guilds.find(call.tx, view.guild.id)
    size = guild.member_count if guild is not None else view.guild.member_count
    found = [found for found in _told(call, view, size) if found.row.user_id != view.member.user_id]
    own = store.find(call.tx, view.guild.id, view.member.user_id)
    people = [member(each) for each in ([own] if own is not None else []) + found]
    presences: list[presence.Presence] = []
    if view.intents & Intents.GUILD_PRESENCES:
        presences = presences_of(call, (each.user.id for each in people))
    return {
        "member_count": size,
        "large": size > view.large_threshold,
        "members": people,
        "presences": presences,
    }


def _told(call: Call, view: GuildView, size: int) -> list[Membership]:
    """Whom GUILD_CREATE tells of; the viewer is told in any case."""
    guild_id = view.guild.id
    watches = bool(view.intents & Intents.GUILD_PRESENCES)
    if size <= view.large_threshold and (watches or view.intents & Intents.GUILD_MEMBERS):
        return store.page(call.tx, guild_id, limit=wire.MEMBERS_PAGE_MAX)
    if not watches or size > LARGE_GUILD:
        ids = store.in_voice(call.tx, guild_id)
    else:
        ids = [
            user_id
            for user_id, noticed in store.noticed(call.tx, guild_id)
            if noticed or call.presences.find(user_id) is not None
        ]
    return list(store.find_many(call.tx, guild_id, ids).values())


def presences_of(call: Call, user_ids: Iterable[int]) -> list[presence.Presence]:
    """The presences of those who are there."""
    found = (call.presences.find(user_id) for user_id in user_ids)
    return [presence_in_guild(each) for each in found if each is not None]


def presence_in_guild(found: Presence) -> presence.Presence:
    """A presence inside a list that belongs to a guild."""
    return presence.Presence(
        user=PartialUser(id=UserId(found.user_id)),
        status=found.status,
        activities=found.activities,
        client_status=presence.ClientStatus(**found.client_status),
    )


def harvest(call: Call, asked: users.DataAsked) -> None:
    """Where a person is a member, for their copy of all that is kept of them."""
    found = list(store.everywhere(call.tx, asked.user_id))
    known = guilds.find_many(call.tx, [each.row.guild_id for each in found])
    asked.records["guilds"] = [
        {
            "id": str(int(each.row.guild_id)),
            "name": known[each.row.guild_id].name if each.row.guild_id in known else None,
            "nick": each.row.nick,
            "roles": [str(int(role)) for role in each.roles],
            "joined_at": codec.timestamp(each.row.joined_ms),
        }
        for each in found
    ]
