"""Build the wire models of members and of their presences, and the memberships of a data export."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.ids import GuildId, RoleId, Timestamp, UserId
from hubbub.protocol.permissions import Permissions
from hubbub.protocol.resources import members as wire
from hubbub.protocol.resources import presence
from hubbub.protocol.resources.users import PartialUser
from hubbub.server.core.call import Call
from hubbub.server.core.presences import Presence
from hubbub.server.core.store import Tx
from hubbub.server.identity import users
from hubbub.server.places import guilds
from hubbub.server.places.members import store
from hubbub.server.places.members.store import MemberRow, Membership

__all__ = ["export_data", "find_partial_views", "find_views", "member", "partial_member", "presence_in_guild"]
"""The interface for other slices."""


def _optional_timestamp(time_ms: int | None) -> Timestamp | None:
    """Return Unix milliseconds as a timestamp; None for None and for 0."""
    return codec.timestamp(time_ms) if time_ms else None


def _member_fields(row: MemberRow, role_ids: tuple[RoleId, ...]) -> dict[str, Any]:
    """Return the fields that all wire models of a member share."""
    return {
        "roles": list(role_ids),
        "joined_at": codec.timestamp(row.joined_ms),
        "deaf": bool(row.deaf),
        "mute": bool(row.mute),
        "flags": row.flags,
        "nick": row.nick,
        "avatar": row.avatar,
        "banner": row.banner,
        "pending": bool(row.pending),
        "premium_since": _optional_timestamp(row.premium_since_ms),
        "communication_disabled_until": _optional_timestamp(row.timed_out_until_ms),
    }


def partial_member(row: MemberRow, role_ids: tuple[RoleId, ...]) -> wire.PartialMember:
    """Return a member without the user, as in messages and interactions."""
    return wire.PartialMember(**_member_fields(row, role_ids))


def member(membership: Membership, permissions: int | None = None) -> wire.Member:
    """Return a member. `permissions` is None unless the member is the caller, whose permissions are included."""
    return wire.Member(
        user=users.user_view(membership.user),
        permissions=UNSET if permissions is None else Permissions(permissions),
        **_member_fields(membership.row, membership.role_ids),
    )


def guild_member(membership: Membership) -> wire.GuildMember:
    """Return a member with the guild ID, as used in events."""
    return wire.GuildMember(
        guild_id=GuildId(membership.row.guild_id),
        user=users.user_view(membership.user),
        **_member_fields(membership.row, membership.role_ids),
    )


def find_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.Member]:
    """Build the members among `user_ids`, by user ID."""
    return {user_id: member(membership) for user_id, membership in store.find_many(tx, guild_id, user_ids).items()}


def find_partial_views(tx: Tx, guild_id: int, user_ids: Iterable[int]) -> dict[int, wire.PartialMember]:
    """Build the partial members among `user_ids`, by user ID. This takes one query less than `find_views`."""
    rows = store.find_rows(tx, guild_id, user_ids)
    role_ids_by_user = store.find_role_ids(tx, guild_id, rows)
    return {user_id: partial_member(row, role_ids_by_user.get(user_id, ())) for user_id, row in rows.items()}


def find_presences(call: Call, user_ids: Iterable[int]) -> list[presence.Presence]:
    """Return the presences of the online users among `user_ids`."""
    presences = (call.presences.find(user_id) for user_id in user_ids)
    return [presence_in_guild(user_presence) for user_presence in presences if user_presence is not None]


def presence_in_guild(user_presence: Presence) -> presence.Presence:
    """Return a presence as part of a guild's list, without its guild ID."""
    return presence.Presence(
        user=PartialUser(id=UserId(user_presence.user_id)),
        status=user_presence.status,
        activities=user_presence.activities,
        client_status=presence.ClientStatus(**user_presence.client_status),
    )


def export_data(call: Call, user_id: int) -> dict[str, Any]:
    """Return a user's guild memberships for their data export."""
    memberships = list(store.iterate_memberships(call.tx, user_id))
    guilds_by_id = guilds.find_many(call.tx, [membership.row.guild_id for membership in memberships])
    guild_records = [
        {
            "id": str(int(membership.row.guild_id)),
            "name": guilds_by_id[membership.row.guild_id].name if membership.row.guild_id in guilds_by_id else None,
            "nick": membership.row.nick,
            "roles": [str(int(role_id)) for role_id in membership.role_ids],
            "joined_at": codec.timestamp(membership.row.joined_ms),
        }
        for membership in memberships
    ]
    return {"guilds": guild_records}
