"""Rows, views, counts and changes of threads, and changes of other channels, for other slices.

The threads slice handles PATCH and DELETE of every channel, because the channel may be a thread."""

from hubbub.server.places.channels.actions import update_group
from hubbub.server.places.channels.routes import delete_guild_channel, update_guild_channel
from hubbub.server.places.channels.rules import consume_rename_quota
from hubbub.server.places.channels.store import (
    ThreadMemberRow,
    adjust_thread_member_count,
    count_guild_threads,
    delete_threads,
    find_thread_member,
    increment_message_counts,
    subtract_message_count,
)
from hubbub.server.places.channels.views import created_thread, thread_member

__all__ = [
    "ThreadMemberRow",
    "adjust_thread_member_count",
    "consume_rename_quota",
    "count_guild_threads",
    "created_thread",
    "delete_guild_channel",
    "delete_threads",
    "find_thread_member",
    "increment_message_counts",
    "subtract_message_count",
    "thread_member",
    "update_group",
    "update_guild_channel",
]
