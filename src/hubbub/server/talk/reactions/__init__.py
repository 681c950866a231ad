"""Reactions to messages. The messages slice shows them."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk import messages
from hubbub.server.talk.reactions import actions, routes

SLICE = Slice(
    name="reactions",
    modules=(routes,),
    listeners={messages.signals.MessagesDeleted: actions.on_messages_deleted},
)

__all__ = ["SLICE"]
