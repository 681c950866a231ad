"""Reactions to messages. How a message shows them is with the messages; they go with it when it is deleted."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.reactions import routes

SLICE = Slice(name="reactions", modules=(routes,))

__all__ = ["SLICE"]
