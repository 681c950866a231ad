"""Reads of stored messages, nonces, and rules for sending and reading messages: the interface for other slices."""

from hubbub.server.core.call import Call
from hubbub.server.talk.messages import store
from hubbub.server.talk.messages.content.records import MessageRow
from hubbub.server.talk.messages.drafts.nonces import claim_nonce
from hubbub.server.talk.messages.reads.data_export import list_user_messages
from hubbub.server.talk.messages.rules import (
    MESSAGE_CHANNEL_TYPES,
    can_read_history,
    has_attachment,
    require_can_send,
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
    "claim_nonce",
    "find_ephemeral",
    "find_many",
    "get",
    "has_attachment",
    "list_after",
    "list_around",
    "list_newest",
    "list_user_messages",
    "list_recipients",
    "require_can_send",
]


def list_around(
    call: Call, channel_id: int, message_id: int, *, before_limit: int, after_limit: int
) -> list[MessageRow]:
    """Return the messages around a message, oldest first, without the message itself.

    There are at most `before_limit` messages before it and `after_limit` messages after it."""
    earlier_rows = store.list_history_before(call.tx, channel_id, before_limit, message_id)
    later_rows = store.list_history_after(call.tx, channel_id, after_limit, message_id)
    rows_by_id = store.find_many(call.tx, channel_id, [row[0] for row in (*earlier_rows, *later_rows)])
    return [rows_by_id[listed_id] for listed_id in sorted(rows_by_id)]
