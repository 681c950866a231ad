"""Find the threads that a member can see, and build the wire models of threads with the reader's memberships."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import codec
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import can_see_thread
from hubbub.protocol.resources import threads as wire
from hubbub.protocol.resources.channels import Thread
from hubbub.server.core.call import Call
from hubbub.server.core.gateway_queries import GuildView
from hubbub.server.core.store import Tx
from hubbub.server.places import channels
from hubbub.server.places.channels import ChannelRow
from hubbub.server.places.channels.thread_members import ThreadMemberRow
from hubbub.server.places.standing import GuildAccess, access
from hubbub.server.talk.threads import store

PRIVATE_THREAD: Final = ChannelType.PRIVATE_THREAD


def thread_list(tx: Tx, rows: Sequence[ChannelRow], user_id: int, *, has_more: bool = False) -> wire.ThreadList:
    """Return threads with the memberships of the user; `has_more` states whether more threads exist."""
    memberships = channels.thread_members.find_memberships(tx, user_id, [row.id for row in rows])
    return wire.ThreadList(
        threads=[thread(row, memberships.get(row.id)) for row in rows],
        members=[channels.thread_channels.thread_member(memberships[row.id]) for row in rows if row.id in memberships],
        has_more=has_more,
    )


def thread(row: ChannelRow, membership: ThreadMemberRow | None) -> Thread:
    """Return a thread with the reader's membership, if any."""
    return channels.views.thread(
        row, member=UNSET if membership is None else channels.thread_channels.thread_member(membership)
    )


def created_thread(row: ChannelRow, membership: ThreadMemberRow | None) -> wire.CreatedThread:
    """Return the response to the creation of a thread, with the creator's membership, if any."""
    return wire.CreatedThread(**msgspec.structs.asdict(thread(row, membership)))


def list_visible_active(tx: Tx, standing: GuildAccess) -> list[ChannelRow]:
    """Return the active threads of a guild that a member can see, newest first."""
    return _filter_visible(tx, standing, store.list_active(tx, standing.guild_id))


def list_by_ids(call: Call, guild_id: int, thread_ids: Collection[int]) -> list[Thread]:
    """Return the threads of a guild with the given IDs that still exist and that the caller can see."""
    rows = sorted(channels.find_many(call.tx, thread_ids).values())
    return [
        channels.views.thread(row) for row in _filter_visible(call.tx, access.get_guild_standing(call, guild_id), rows)
    ]


def _filter_visible(tx: Tx, standing: GuildAccess, rows: Sequence[ChannelRow]) -> list[ChannelRow]:
    permissions_by_channel = access.visible_channels(tx, standing)
    memberships = channels.thread_members.find_memberships(
        tx, standing.user_id, [row.id for row in rows if row.type == PRIVATE_THREAD]
    )
    return [
        row
        for row in rows
        if can_see_thread(
            permissions_by_channel.get(row.parent_id or 0, 0),
            is_private=row.type == PRIVATE_THREAD,
            is_member=row.id in memberships,
        )
    ]


def guild_create_fields(call: Call, view: GuildView) -> dict[str, Any]:
    """Return the GUILD_CREATE fields of threads for one member: the active threads that the member can see.

    A thread that the member has joined contains the membership, without the IDs that the payload already has."""
    rows = [row for row in store.list_active(call.tx, view.guild.id) if row.parent_id in view.visible]
    memberships = channels.thread_members.find_memberships(call.tx, view.member.user_id, [row.id for row in rows])
    threads: list[dict[str, Any]] = []
    for row in rows:
        permissions = view.channel_permissions(row.parent_id or 0)
        if not can_see_thread(permissions, is_private=row.type == PRIVATE_THREAD, is_member=row.id in memberships):
            continue
        fields = msgspec.structs.asdict(channels.views.thread(row))
        thread_fields = {key: value for key, value in fields.items() if value is not UNSET}
        if row.id in memberships:
            thread_fields["member"] = {
                "join_timestamp": codec.timestamp(memberships[row.id].joined_ms),
                "flags": memberships[row.id].flags,
            }
        threads.append(thread_fields)
    return {"threads": threads}
