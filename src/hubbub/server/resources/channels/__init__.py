"""Channels of guilds, and the rows and views that threads and private channels share with them."""

from hubbub.server.resources.channels.facts import ChannelsDeleted
from hubbub.server.resources.channels.store import (
    ChannelRow,
    OverwriteRow,
    ThreadMemberRow,
    find,
    find_many,
    insert,
    list_of_guild,
    overwrites_of,
    overwrites_of_guild,
    set_last_pin,
    update,
)
from hubbub.server.resources.channels.views import (
    any_channel,
    channel,
    created_thread,
    hidden,
    partial,
    private,
    thread,
    thread_member,
)

__all__ = [
    "ChannelRow",
    "ChannelsDeleted",
    "OverwriteRow",
    "ThreadMemberRow",
    "any_channel",
    "channel",
    "created_thread",
    "find",
    "find_many",
    "hidden",
    "insert",
    "list_of_guild",
    "overwrites_of",
    "overwrites_of_guild",
    "partial",
    "private",
    "set_last_pin",
    "thread",
    "thread_member",
    "update",
]
