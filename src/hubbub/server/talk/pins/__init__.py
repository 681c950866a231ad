"""Pins of channels: operations that pin and unpin messages and list the pinned ones."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.pins import routes

SLICE = Slice(name="pins", modules=(routes,))

__all__ = ["SLICE"]
