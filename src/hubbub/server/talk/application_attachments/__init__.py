"""Temporary files that applications upload to the CDN."""

from hubbub.server.core.slices import Slice
from hubbub.server.talk.application_attachments import routes

SLICE = Slice(name="application_attachments", modules=(routes,))

__all__ = ["SLICE"]
