"""Rows, views, counts and changes of threads, and changes of other channels, for other slices.

The threads slice handles PATCH and DELETE of every channel, because the channel may be a thread."""

from hubbub.server.places.channels.actions import update_group
from hubbub.server.places.channels.routes import delete_guild_channel, update_guild_channel
from hubbub.server.places.channels.rules import consume_rename_quota
from hubbub.server.places.channels.store import (
    count_guild_threads,
    delete_threads,
    increment_message_counts,
    list_guild_channel_ids,
    subtract_message_count,
)
from hubbub.server.places.channels.views import thread_create_payload, thread_member

__all__ = [
    "consume_rename_quota",
    "count_guild_threads",
    "thread_create_payload",
    "delete_guild_channel",
    "delete_threads",
    "increment_message_counts",
    "list_guild_channel_ids",
    "subtract_message_count",
    "thread_member",
    "update_group",
    "update_guild_channel",
]
