"""Invites: codes that let people into a guild or a group."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.invites import routes

SLICE = Slice(name="invites", modules=(routes,))

__all__ = ["SLICE"]
