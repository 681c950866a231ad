"""Reactions to messages. How a message shows them is with the messages; they go with it when it is deleted."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.reactions import routes
from hubbub.server.resources.reactions.emoji import is_unicode

SLICE = Slice(name="reactions", modules=(routes,))

__all__ = ["SLICE", "is_unicode"]
