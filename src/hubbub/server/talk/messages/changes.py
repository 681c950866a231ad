"""Changes of stored messages."""

from hubbub.server.talk.messages.actions import (
    EPHEMERAL_LIFETIME_MS,
    delete,
    delete_by_author,
    remove,
    remove_file,
    set_pinned,
    update,
)
from hubbub.server.talk.messages.claims import list_authored, reassign_messages
from hubbub.server.talk.messages.edits import complete_deferred, edit, set_flags
from hubbub.server.talk.messages.store import extend_ephemeral, reassign_author, set_reacted

__all__ = [
    "EPHEMERAL_LIFETIME_MS",
    "complete_deferred",
    "delete",
    "delete_by_author",
    "edit",
    "extend_ephemeral",
    "list_authored",
    "reassign_author",
    "reassign_messages",
    "remove",
    "remove_file",
    "set_flags",
    "set_pinned",
    "set_reacted",
    "update",
]
