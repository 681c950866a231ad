"""Attachments: files of messages, known by what they are, at addresses that are signed anew whenever they are shown."""

from hubbub.server.core.slices import Slice
from hubbub.server.resources.attachments import routes
from hubbub.server.resources.attachments.stored import Signer, StoredAttachment, clean_filename, describe, from_upload

SLICE = Slice(name="attachments", modules=(routes,))

__all__ = ["SLICE", "Signer", "StoredAttachment", "clean_filename", "describe", "from_upload"]
