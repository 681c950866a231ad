"""The list of SDK releases, with their files and dates."""

from hubbub.server.core.slices import Slice
from hubbub.server.identity.releases import routes

SLICE = Slice(name="releases", modules=(routes,))

__all__ = ["SLICE"]
