"""Threads in lists, with the reader's own memberships."""

from collections.abc import Collection, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from hubbub.protocol import wire as json
from hubbub.protocol.enums import ChannelType
from hubbub.protocol.permissions import can_see_thread
from hubbub.protocol.resources import threads as wire
from hubbub.protocol.resources.channels import Thread
from hubbub.server.core import access
from hubbub.server.core.access import GuildAccess, visible_channels
from hubbub.server.core.call import Call
from hubbub.server.core.realtime import GuildView
from hubbub.server.core.store import Tx
from hubbub.server.resources import channels
from hubbub.server.resources.channels import ChannelRow, ThreadMemberRow
from hubbub.server.resources.threads import store

PRIVATE: Final = ChannelType.PRIVATE_THREAD


def listed(tx: Tx, rows: Sequence[ChannelRow], user_id: int, *, more: bool = False) -> wire.ThreadList:
    """Some threads, and which of them the reader is in."""
    mine = store.memberships(tx, user_id, [row.id for row in rows])
    return wire.ThreadList(
        threads=[thread(row, mine.get(row.id)) for row in rows],
        members=[channels.thread_member(mine[row.id]) for row in rows if row.id in mine],
        has_more=more,
    )


def thread(row: ChannelRow, mine: ThreadMemberRow | None) -> Thread:
    """A thread for a reader, with their membership if they are in it."""
    return channels.thread(row, member=UNSET if mine is None else channels.thread_member(mine))


def created(row: ChannelRow, mine: ThreadMemberRow | None) -> wire.CreatedThread:
    """A thread for who has just started it."""
    return wire.CreatedThread(**msgspec.structs.asdict(thread(row, mine)))


def visible_active(tx: Tx, standing: GuildAccess) -> list[ChannelRow]:
    """The active threads of a guild that a member sees, newest first."""
    return _visible(tx, standing, store.list_active(tx, standing.guild_id))


def named(call: Call, guild_id: int, thread_ids: Collection[int]) -> list[Thread]:
    """Those of some threads of a guild that are still there and that the caller sees."""
    rows = sorted(channels.find_many(call.tx, thread_ids).values())
    return [channels.thread(row) for row in _visible(call.tx, access.guild(call, guild_id), rows)]


def _visible(tx: Tx, standing: GuildAccess, rows: Sequence[ChannelRow]) -> list[ChannelRow]:
    bits = visible_channels(tx, standing)
    mine = store.memberships(tx, standing.user_id, [row.id for row in rows if row.type == PRIVATE])
    return [
        row
        for row in rows
        if can_see_thread(bits.get(row.parent_id or 0, 0), private=row.type == PRIVATE, joined=row.id in mine)
    ]


def snapshot(call: Call, view: GuildView) -> dict[str, Any]:
    """What GUILD_CREATE tells one viewer of active threads: each with their membership, which leaves its ids to the thread."""
    rows = [row for row in store.list_active(call.tx, view.guild.id) if row.parent_id in view.visible]
    mine = store.memberships(call.tx, view.member.user_id, [row.id for row in rows])
    threads: list[dict[str, Any]] = []
    for row in rows:
        bits = view.permissions(row.parent_id or 0)
        if not can_see_thread(bits, private=row.type == PRIVATE, joined=row.id in mine):
            continue
        shown = msgspec.structs.asdict(channels.thread(row))
        keys = {key: value for key, value in shown.items() if value is not UNSET}
        if row.id in mine:
            keys["member"] = {"join_timestamp": json.timestamp(mine[row.id].joined_ms), "flags": mine[row.id].flags}
        threads.append(keys)
    return {"threads": threads}
