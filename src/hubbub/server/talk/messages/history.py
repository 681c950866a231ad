"""Stored messages, and the rules for reading and classifying them."""

from hubbub.server.core.call import Call
from hubbub.server.places.guild_administration import GuildUsage
from hubbub.server.talk.messages import files, store
from hubbub.server.talk.messages.nonces import find_duplicate
from hubbub.server.talk.messages.rules import (
    MESSAGE_CHANNEL_TYPES,
    can_read_history,
    has_attachment,
    require_send,
)
from hubbub.server.talk.messages.store import (
    count_after,
    find,
    find_ephemeral,
    find_many,
    get,
    list_after,
    list_history_after,
    list_history_before,
    list_newest,
    list_recipients,
)

__all__ = [
    "MESSAGE_CHANNEL_TYPES",
    "can_read_history",
    "count_after",
    "count_guild_contents",
    "find",
    "find_duplicate",
    "find_ephemeral",
    "find_many",
    "get",
    "has_attachment",
    "list_after",
    "list_history_after",
    "list_history_before",
    "list_newest",
    "list_recipients",
    "require_send",
]


def count_guild_contents(call: Call, guild_id: int) -> GuildUsage:
    """Return the number of messages in a guild and the size of its uploaded files in bytes."""
    return GuildUsage(
        message_count=store.count_in_guild(call.tx, guild_id),
        storage_bytes=files.guild_usage(call.tx, guild_id).bytes,
    )
