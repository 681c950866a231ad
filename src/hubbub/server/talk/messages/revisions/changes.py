"""Functions that update, delete and reassign stored messages: the interface for other slices."""

from hubbub.server.talk.messages.actions import (
    delete,
    delete_batch_by_author,
    delete_for_operator,
    extend_ephemeral,
    remove_file,
    set_link_previews,
    set_pinned,
    update,
)
from hubbub.server.talk.messages.revisions.claims import list_authored, reassign_messages
from hubbub.server.talk.messages.revisions.edits import complete_deferred, edit, set_flags
from hubbub.server.talk.messages.store import reassign_author, set_reacted

__all__ = [
    "complete_deferred",
    "delete",
    "delete_batch_by_author",
    "delete_for_operator",
    "edit",
    "extend_ephemeral",
    "list_authored",
    "reassign_author",
    "reassign_messages",
    "remove_file",
    "set_flags",
    "set_link_previews",
    "set_pinned",
    "set_reacted",
    "update",
]
