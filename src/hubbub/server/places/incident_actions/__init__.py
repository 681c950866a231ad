"""Incident actions, which disable invites and direct messages of a guild temporarily."""

from hubbub.server.core.slices import Slice
from hubbub.server.places.incident_actions import routes

SLICE = Slice(name="incident_actions", modules=(routes,))

__all__ = ["SLICE"]
