"""Stored messages, and the rules for reading and classifying them."""

from hubbub.server.talk.messages.nonces import find_duplicate
from hubbub.server.talk.messages.rules import (
    MESSAGE_CHANNEL_TYPES,
    can_read_history,
    has_attachment,
)
from hubbub.server.talk.messages.store import (
    count_after,
    find,
    find_ephemeral,
    find_many,
    get,
    list_after,
    list_newest,
    list_recipients,
)

__all__ = [
    "MESSAGE_CHANNEL_TYPES",
    "can_read_history",
    "count_after",
    "find",
    "find_duplicate",
    "find_ephemeral",
    "find_many",
    "get",
    "has_attachment",
    "list_after",
    "list_newest",
    "list_recipients",
]
