"""The typing indicator, which is published but not stored."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.typing import routes

SLICE = Slice(name="typing", modules=(routes,))

__all__ = ["SLICE"]
