"""Pinned messages."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.pins import routes

SLICE = Slice(name="pins", modules=(routes,))

__all__ = ["SLICE"]
