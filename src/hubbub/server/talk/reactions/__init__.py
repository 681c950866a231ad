"""Reactions to messages. The messages slice shows them, and deletes them with their message."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.reactions import routes

SLICE = Slice(name="reactions", modules=(routes,))

__all__ = ["SLICE"]
