"""Reactions to messages. The messages slice shows them."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk import messages
from hubbub.server.talk.reactions import actions, routes
from hubbub.server.talk.reactions.actions import delete_by_user, export_data, reassign_reactions
from hubbub.server.talk.reactions.archive import ARCHIVE

SLICE = Slice(
    name="reactions",
    archive=ARCHIVE,
    modules=(routes,),
    listeners={
        messages.signals.MessagesDeleted: actions.on_messages_deleted,
        messages.signals.MessagesImported: actions.on_messages_imported,
    },
)

__all__ = ["SLICE", "delete_by_user", "export_data", "reassign_reactions"]
