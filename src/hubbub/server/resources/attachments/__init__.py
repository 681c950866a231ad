"""Attachments of messages, served at signed URLs that expire."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.attachments import routes
from hubbub.server.resources.attachments.stored import Signer, StoredAttachment, clean_filename, describe, from_upload

SLICE = Slice(name="attachments", modules=(routes,))

__all__ = ["SLICE", "Signer", "StoredAttachment", "clean_filename", "describe", "from_upload"]
